"""Resilient backpropagation."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_capturable, _check_foreach, _check_lr, _check_steps,
                                      _default_to_fused_or_foreach, _new_scalar, _RuleOptimizer, _to_scalar,
                                      _view_as_real, _zeros_like)

__all__ = ["Rprop", "rprop"]


class Rprop(_RuleOptimizer):
    """Rprop (Riedmiller and Braun, 1993): a step size for every element, grown or shrunk by the gradient's sign alone.

    `etas` are the shrinking and growing factors, `step_sizes` the smallest and largest size.  ValueError for a
    negative rate, or `etas` that are not on their sides of 1.
    """
    _no_sparse = "Rprop does not support sparse gradients"

    def __init__(self, params, lr: float | torch.Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2), step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False):
        _check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _new_state(self, param, grad, group):
        lr = group["lr"]
        return {"step": _new_scalar(0.0, param, group), "prev": _zeros_like(param),
                "step_size": torch.full_like(grad, complex(lr, lr) if param.is_complex() else _to_scalar(lr))}

    def _update(self, group, params, grads, states):
        etaminus, etaplus = group["etas"]
        smallest, largest = group["step_sizes"]
        rprop(params, grads, [state["prev"] for state in states], [state["step_size"] for state in states],
              [state["step"] for state in states], group["foreach"], group["capturable"], group["maximize"],
              group["differentiable"], step_size_min=smallest, step_size_max=largest, etaminus=etaminus,
              etaplus=etaplus)


def rprop(params, grads, prevs, step_sizes, state_steps, foreach=None, capturable=False, maximize=False,
          differentiable=False, has_complex=False, *, step_size_min, step_size_max, etaminus, etaplus):
    """One step of Rprop on lists of parameters, gradients and states."""
    _check_steps(state_steps)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    if not params:
        return
    if foreach:
        _check_foreach(differentiable)
    if capturable:
        _check_capturable(params, state_steps)
    if foreach:
        _multi_tensor_rprop(params, grads, prevs, step_sizes, state_steps, step_size_min, step_size_max, etaminus,
                            etaplus, maximize)
    else:
        _single_tensor_rprop(params, grads, prevs, step_sizes, state_steps, step_size_min, step_size_max, etaminus,
                             etaplus, maximize, differentiable)


def _factors(sign, etaminus, etaplus):
    """1, or the growing or shrinking factor, by the sign of the gradient times the one before."""
    sign.copy_(torch.where(sign.gt(0), etaplus, sign))
    sign.copy_(torch.where(sign.lt(0), etaminus, sign))
    sign.copy_(torch.where(sign.eq(0), 1, sign))
    return sign


def _single_tensor_rprop(params, grads, prevs, step_sizes, state_steps, smallest, largest, etaminus, etaplus, maximize,
                         differentiable):
    for param, grad, prev, step_size, step in zip(params, grads, prevs, step_sizes, state_steps):
        if maximize:
            grad = -grad
        step += 1
        if param.is_complex():
            param, grad, prev, step_size = map(torch.view_as_real, (param, grad, prev, step_size))
        factor = _factors(grad.mul(prev.clone() if differentiable else prev).sign(), etaminus, etaplus)
        step_size.mul_(factor).clamp_(smallest, largest)
        # Where the sign turned, this step is left out, and the next one counts as a fresh start.
        grad = torch.where(factor.eq(etaminus), 0, grad)
        param.addcmul_(grad.sign(), step_size, value=-1)
        prev.copy_(grad)


def _multi_tensor_rprop(params, grads, prevs, step_sizes, state_steps, smallest, largest, etaminus, etaplus, maximize):
    for (params, grads, prevs, step_sizes, steps), _ in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, prevs, step_sizes, state_steps]).values():
        torch._foreach_add_(steps, 1)
        _view_as_real(params, grads, prevs, step_sizes)
        factors = torch._foreach_mul(grads, prevs)
        torch._foreach_copy_(prevs, grads)
        if maximize:
            torch._foreach_neg_(factors)
            torch._foreach_neg_(prevs)
        torch._foreach_sign_(factors)
        for factor in factors:
            _factors(factor, etaminus, etaplus)
        torch._foreach_mul_(step_sizes, factors)
        for step_size in step_sizes:
            step_size.clamp_(smallest, largest)
        for factor, prev in zip(factors, prevs):
            prev.copy_(torch.where(factor.eq(etaminus), 0, prev))
        torch._foreach_addcmul_(params, [prev.sign() for prev in prevs], step_sizes, value=-1)
