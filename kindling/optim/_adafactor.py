"""Adafactor."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_steps, _decay, _new_scalar, _RuleOptimizer, _to_scalar,
                                      _zeros_like)

__all__ = ["Adafactor", "adafactor"]


class Adafactor(_RuleOptimizer):
    """Adafactor (Shazeer and Stern, 2018): for matrices, only row and column means of the squares are kept.

    `lr` bounds the relative step and scales the weight decay; `eps` is (for the division, for the size of the
    parameter), the first by default the dtype's machine epsilon; `d` clips the update's root mean square.
    ValueError for options out of range; RuntimeError in `step` for complex parameters and sparse gradients.
    """
    _late_options = {"foreach": None}
    _no_sparse = "Adafactor does not support sparse gradients"

    def __init__(self, params, lr: float | torch.Tensor = 1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *, foreach: bool | None = None,
                 maximize: bool = False):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
                                  "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize})

    def _new_state(self, param, grad, group):
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state = {"step": _new_scalar(0.0, param, group)}
        if grad.dim() > 1:
            rows, columns = list(grad.shape), list(grad.shape)
            rows[-1] = columns[-2] = 1
            state["row_var"], state["col_var"] = grad.new_zeros(rows), grad.new_zeros(columns)
        else:
            state["variance"] = _zeros_like(grad)
        return state

    def _update(self, group, params, grads, states):
        eps1, eps2 = group["eps"]
        adafactor(params, grads, [state.get("row_var") for state in states], [state.get("col_var") for state in states],
                  [state.get("variance") for state in states], [state["step"] for state in states], group["foreach"],
                  getattr(self, "grad_scale", None), getattr(self, "found_inf", None), d=group["d"], lr=group["lr"],
                  beta2_decay=group["beta2_decay"], weight_decay=group["weight_decay"], eps1=eps1, eps2=eps2,
                  maximize=group["maximize"])


def adafactor(params, grads, row_vars, col_vars, variances, state_steps, foreach=None, grad_scale=None, found_inf=None,
              has_complex=False, *, d, lr, beta2_decay, weight_decay, eps1, eps2, maximize):
    """One step of Adafactor on lists of parameters, gradients and states; None where a parameter has no such state."""
    _check_steps(state_steps)
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    (_multi_tensor_adafactor if foreach else _single_tensor_adafactor)(
        params, grads, row_vars, col_vars, variances, state_steps, d, _to_scalar(lr), beta2_decay, weight_decay, eps1,
        eps2, maximize)


def _single_tensor_adafactor(params, grads, row_vars, col_vars, variances, state_steps, d, lr, beta2_decay,
                             weight_decay, eps1, eps2, maximize):
    for param, grad, row_var, col_var, variance, step in zip(params, grads, row_vars, col_vars, variances, state_steps):
        if maximize:
            grad = -grad
        if eps1 is None:
            eps1 = torch.finfo(param.dtype).eps
        step += 1
        count = step.item()
        fresh = count ** beta2_decay
        size = max(eps2, param.norm(2).item() / param.numel() ** 0.5) * min(lr, 1 / count ** 0.5)
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        if grad.dim() > 1:
            row_var.lerp_(torch.norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1)), fresh)
            col_var.lerp_(torch.norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2)), fresh)
            estimate = row_var @ col_var
            estimate.div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            variance.lerp_(grad * grad, fresh)
            estimate = variance.clone()
        update = estimate.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        denom = max(1.0, update.norm(2).item() / ((update.numel() ** 0.5) * d))
        param.add_(update, alpha=-size / denom)


def _multi_tensor_adafactor(params, grads, row_vars, col_vars, variances, state_steps, d, lr, beta2_decay, weight_decay,
                            eps1, eps2, maximize):
    kinds = {}
    for (_, dtype), (lists, _) in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, row_vars, col_vars, variances, state_steps]).items():
        for entry in zip(*lists):
            kinds.setdefault((entry[0].device, dtype, entry[1].dim() > 1), []).append(entry)
    for (_, dtype, matrices), entries in kinds.items():
        params, grads, row_vars, col_vars, variances, steps = map(list, zip(*entries))
        if eps1 is None:
            eps1 = torch.finfo(dtype).eps
        grads, _ = _decay(params, grads, 0, maximize)
        torch._foreach_add_(steps, 1.0)
        counts = [step.item() for step in steps]
        fresh = [count ** beta2_decay for count in counts]
        sizes = [max(eps2, param.norm(2).item() / param.numel() ** 0.5) * min(lr, 1 / count ** 0.5)
                 for param, count in zip(params, counts)]
        if weight_decay != 0:
            torch._foreach_mul_(params, 1 - lr * weight_decay)
        if matrices:
            for dim, means in ((-1, row_vars), (-2, col_vars)):
                squares = [torch.norm(grad, dim=dim, keepdim=True) for grad in grads]
                torch._foreach_mul_(squares, squares)
                torch._foreach_div_(squares, [grad.size(dim) for grad in grads])
                torch._foreach_lerp_(means, squares, fresh)
            estimates = [row_var @ col_var for row_var, col_var in zip(row_vars, col_vars)]
            row_means = [row_var.mean(dim=-2, keepdim=True) for row_var in row_vars]
            torch._foreach_clamp_min_(row_means, eps1)
            torch._foreach_div_(estimates, row_means)
        else:
            torch._foreach_lerp_(variances, torch._foreach_mul(grads, grads), fresh)
            estimates = [variance.clone() for variance in variances]
        torch._foreach_clamp_min_(estimates, eps1 * eps1)
        torch._foreach_rsqrt_(estimates)
        torch._foreach_mul_(estimates, grads)
        torch._foreach_mul_(estimates, [-size / max(1.0, update.norm(2).item() / ((update.numel() ** 0.5) * d))
                                        for size, update in zip(sizes, estimates)])
        torch._foreach_add_(params, estimates)
