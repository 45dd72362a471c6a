"""Adadelta."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_capturable, _check_foreach, _check_lr, _check_not_negative,
                                      _check_steps, _decay, _default_to_fused_or_foreach, _new_scalar, _RuleOptimizer,
                                      _to_scalar, _view_as_real, _zeros_like)

__all__ = ["Adadelta", "adadelta"]


class Adadelta(_RuleOptimizer):
    """Adadelta (Zeiler, 2012): gradients scaled by the ratio of the running roots of past steps and past gradients.

    ValueError for negative options, or `rho` outside 0 to 1.
    """
    _no_sparse = "Adadelta does not support sparse gradients"

    def __init__(self, params, lr: float | torch.Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False):
        _check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        _check_not_negative(epsilon=eps, weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
                                  "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _new_state(self, param, grad, group):
        return {"step": _new_scalar(0.0, param, group), "square_avg": _zeros_like(param),
                "acc_delta": _zeros_like(param)}

    def _update(self, group, params, grads, states):
        adadelta(params, grads, [state["square_avg"] for state in states], [state["acc_delta"] for state in states],
                 [state["step"] for state in states], group["capturable"], group["foreach"], group["differentiable"],
                 lr=group["lr"], rho=group["rho"], eps=group["eps"], weight_decay=group["weight_decay"],
                 maximize=group["maximize"])


def adadelta(params, grads, square_avgs, acc_deltas, state_steps, capturable=False, foreach=None, differentiable=False,
             has_complex=False, *, lr, rho, eps, weight_decay, maximize):
    """One step of Adadelta on lists of parameters, gradients and states."""
    _check_steps(state_steps)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    if foreach:
        _check_foreach(differentiable)
    if capturable:
        _check_capturable(params, state_steps, supports_xla=False)
    update = _multi_tensor_adadelta if foreach and not capturable else _single_tensor_adadelta
    update(params, grads, square_avgs, acc_deltas, state_steps, _to_scalar(lr), rho, eps, weight_decay, maximize,
           differentiable)


def _single_tensor_adadelta(params, grads, square_avgs, acc_deltas, state_steps, lr, rho, eps, weight_decay, maximize,
                            differentiable):
    for param, grad, square_avg, acc_delta, step in zip(params, grads, square_avgs, acc_deltas, state_steps):
        step += 1
        if maximize:
            grad = -grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if param.is_complex():
            param, grad, square_avg, acc_delta = map(torch.view_as_real, (param, grad, square_avg, acc_delta))
        square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        root = square_avg.add(eps).sqrt_()
        delta = acc_delta.add(eps).sqrt_()
        if differentiable:
            delta = delta.clone()
        delta.div_(root).mul_(grad)
        acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-lr)


def _multi_tensor_adadelta(params, grads, square_avgs, acc_deltas, state_steps, lr, rho, eps, weight_decay, maximize,
                           differentiable):
    for (params, grads, square_avgs, acc_deltas, steps), _ in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, square_avgs, acc_deltas, state_steps]).values():
        _view_as_real(params, grads, square_avgs, acc_deltas)
        torch._foreach_add_(steps, 1)
        grads, _ = _decay(params, grads, weight_decay, maximize)
        torch._foreach_mul_(square_avgs, rho)
        torch._foreach_addcmul_(square_avgs, grads, grads, value=1 - rho)
        roots = torch._foreach_add(square_avgs, eps)
        torch._foreach_sqrt_(roots)
        deltas = torch._foreach_add(acc_deltas, eps)
        torch._foreach_sqrt_(deltas)
        torch._foreach_div_(deltas, roots)
        torch._foreach_mul_(deltas, grads)
        torch._foreach_mul_(acc_deltas, rho)
        torch._foreach_addcmul_(acc_deltas, deltas, deltas, value=1 - rho)
        torch._foreach_add_(params, deltas, alpha=-lr)
