"""RAdam: Adam with a rectified start."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_betas, _check_capturable, _check_foreach, _check_lr,
                                      _check_not_negative, _check_steps, _decay, _default_to_fused_or_foreach,
                                      _new_scalar, _RuleOptimizer, _to_scalar, _view_as_real, _zeros_like)

__all__ = ["RAdam", "radam"]


class RAdam(_RuleOptimizer):
    """RAdam (Liu et al., 2019): Adam that takes plain momentum steps until the mean of squares can be trusted.

    `decoupled_weight_decay` shrinks the parameter itself, as AdamW does.  ValueError for options out of range.
    """
    _late_options = {**_RuleOptimizer._late_options, "decoupled_weight_decay": False}
    _no_sparse = "RAdam does not support sparse gradients"

    def __init__(self, params, lr: float | torch.Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False):
        _check_lr(lr)
        _check_not_negative(epsilon=eps)
        _check_betas(betas)
        _check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "maximize": maximize, "foreach": foreach, "capturable": capturable,
                                  "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})

    def _new_state(self, param, grad, group):
        return {"step": _new_scalar(0.0, param, group), "exp_avg": _zeros_like(param), "exp_avg_sq": _zeros_like(param)}

    def _update(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        radam(params, grads, [state["exp_avg"] for state in states], [state["exp_avg_sq"] for state in states],
              [state["step"] for state in states], group["decoupled_weight_decay"], group["foreach"],
              group["differentiable"], group["capturable"], False, group["maximize"], beta1=beta1, beta2=beta2,
              lr=group["lr"], weight_decay=group["weight_decay"], eps=group["eps"])


def radam(params, grads, exp_avgs, exp_avg_sqs, state_steps, decoupled_weight_decay=False, foreach=None,
          differentiable=False, capturable=False, has_complex=False, maximize=False, *, beta1, beta2, lr, weight_decay,
          eps):
    """One step of RAdam on lists of parameters, gradients and states."""
    _check_steps(state_steps)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    if not params:
        return
    if foreach:
        _check_foreach(differentiable)
    if capturable:
        _check_capturable(params, state_steps, supports_xla=not foreach)
    if foreach and not capturable:
        _multi_tensor_radam(params, grads, exp_avgs, exp_avg_sqs, state_steps, beta1, beta2, _to_scalar(lr),
                            weight_decay, eps, decoupled_weight_decay, maximize)
    else:
        _single_tensor_radam(params, grads, exp_avgs, exp_avg_sqs, state_steps, beta1, beta2, _to_scalar(lr),
                             weight_decay, eps, decoupled_weight_decay, maximize, differentiable, capturable)


def _rectification(rho_t, rho_inf):
    return ((rho_t - 4) * (rho_t - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho_t)) ** 0.5


def _single_tensor_radam(params, grads, exp_avgs, exp_avg_sqs, state_steps, beta1, beta2, lr, weight_decay, eps,
                         decoupled_weight_decay, maximize, differentiable, capturable):
    rho_inf = 2 / (1 - beta2) - 1
    for param, grad, exp_avg, exp_avg_sq, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps):
        if maximize:
            grad = -grad
        if param.is_complex():
            param, grad, exp_avg, exp_avg_sq = map(torch.view_as_real, (param, grad, exp_avg, exp_avg_sq))
        step += 1
        count = step if capturable else step.item()
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction2 = 1 - beta2 ** count
        mean = exp_avg / (1 - beta1 ** count)
        rho_t = rho_inf - 2 * count * (beta2 ** count) / correction2
        if not capturable and rho_t <= 5.0:
            param.add_(mean * lr, alpha=-1.0)
            continue
        root = exp_avg_sq.sqrt()
        root = root.add(eps) if differentiable else root.add_(eps)
        adaptive = correction2 ** 0.5 / root
        if capturable:
            # A choice the host may not see: both are computed.
            factor = torch.where(rho_t > 5.0, _rectification(rho_t, rho_inf) * adaptive, 1.0)
            param.add_(mean * lr * factor, alpha=-1.0)
        else:
            param.add_(mean * lr * adaptive * _rectification(rho_t, rho_inf), alpha=-1.0)


def _multi_tensor_radam(params, grads, exp_avgs, exp_avg_sqs, state_steps, beta1, beta2, lr, weight_decay, eps,
                        decoupled_weight_decay, maximize):
    rho_inf = 2 / (1 - beta2) - 1
    for (params, grads, exp_avgs, exp_avg_sqs, steps), _ in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, exp_avgs, exp_avg_sqs, state_steps]).values():
        torch._foreach_add_(steps, 1)
        _view_as_real(params, grads, exp_avgs, exp_avg_sqs)
        if decoupled_weight_decay and weight_decay != 0:
            torch._foreach_mul_(params, 1 - lr * weight_decay)
            grads, _ = _decay(params, grads, 0, maximize)
        else:
            grads, _ = _decay(params, grads, weight_decay, maximize)
        torch._foreach_lerp_(exp_avgs, grads, 1 - beta1)
        torch._foreach_mul_(exp_avg_sqs, beta2)
        torch._foreach_addcmul_(exp_avg_sqs, grads, grads, 1 - beta2)
        rectified, plain = [], []
        for step in steps:
            count = step.item()
            rho_t = rho_inf - 2 * count * (beta2 ** count) / (1 - beta2 ** count)
            rect = _rectification(rho_t, rho_inf) if rho_t > 5 else 0
            correction1 = 1 - beta1 ** count
            plain.append((lr * (0 if rect > 0 else 1.0) / correction1) * -1)
            rectified.append(((1 - beta2 ** count) ** 0.5) * (lr * rect / correction1) * -1)
        # size = rectified / (sqrt(v) + eps) + plain, where one of the two is zero.
        sizes = torch._foreach_sqrt(exp_avg_sqs)
        torch._foreach_add_(sizes, eps)
        torch._foreach_div_(sizes, rectified)
        torch._foreach_reciprocal_(sizes)
        torch._foreach_add_(sizes, plain)
        torch._foreach_addcmul_(params, exp_avgs, sizes)
