"""Adamax: Adam by the infinity norm."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_betas, _check_capturable, _check_foreach, _check_lr,
                                      _check_not_negative, _check_steps, _decay, _default_to_fused_or_foreach,
                                      _get_value, _new_scalar, _RuleOptimizer, _to_scalar, _view_as_real, _zeros_like)

__all__ = ["Adamax", "adamax"]


class Adamax(_RuleOptimizer):
    """Adamax (Kingma and Ba, 2014): Adam that divides by a decaying maximum of the gradients instead of their mean.

    ValueError for options out of range.
    """
    _no_sparse = "Adamax does not support sparse gradients"

    def __init__(self, params, lr: float | torch.Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False):
        _check_lr(lr)
        _check_not_negative(epsilon=eps)
        _check_betas(betas)
        _check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                                  "capturable": capturable})

    def _new_state(self, param, grad, group):
        return {"step": _new_scalar(0.0, param, group), "exp_avg": _zeros_like(param), "exp_inf": _zeros_like(param)}

    def _update(self, group, params, grads, states):
        beta1, beta2 = group["betas"]
        adamax(params, grads, [state["exp_avg"] for state in states], [state["exp_inf"] for state in states],
               [state["step"] for state in states], group["foreach"], group["maximize"], group["differentiable"],
               group["capturable"], eps=group["eps"], beta1=beta1, beta2=beta2, lr=group["lr"],
               weight_decay=group["weight_decay"])


def adamax(params, grads, exp_avgs, exp_infs, state_steps, foreach=None, maximize=False, differentiable=False,
           capturable=False, has_complex=False, *, eps, beta1, beta2, lr, weight_decay):
    """One step of Adamax on lists of parameters, gradients and states."""
    _check_steps(state_steps)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    if foreach:
        _check_foreach(differentiable)
    if capturable:
        _check_capturable(params, state_steps, supports_xla=not foreach)
    if foreach and not capturable:
        _multi_tensor_adamax(params, grads, exp_avgs, exp_infs, state_steps, eps, beta1, beta2, _to_scalar(lr),
                             weight_decay, maximize)
    else:
        _single_tensor_adamax(params, grads, exp_avgs, exp_infs, state_steps, eps, beta1, beta2, _to_scalar(lr),
                              weight_decay, maximize, differentiable, capturable)


def _single_tensor_adamax(params, grads, exp_avgs, exp_infs, state_steps, eps, beta1, beta2, lr, weight_decay, maximize,
                          differentiable, capturable):
    for param, grad, exp_avg, exp_inf, step in zip(params, grads, exp_avgs, exp_infs, state_steps):
        if maximize:
            grad = -grad
        step += 1
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if param.is_complex():
            param, grad, exp_avg, exp_inf = map(torch.view_as_real, (param, grad, exp_avg, exp_inf))
        exp_avg.lerp_(grad, 1 - beta1)
        if differentiable:
            both = torch.cat([exp_inf.mul_(beta2).unsqueeze(0), grad.abs().add_(eps).unsqueeze_(0)], 0)
            exp_inf.copy_(torch.amax(both, 0, keepdim=False))
        else:
            torch.maximum(exp_inf.mul_(beta2), grad.abs().add_(eps), out=exp_inf)
        if capturable:
            correction = beta1 ** step - 1
            param.addcdiv_(exp_avg, exp_inf * correction.div_(lr))
        else:
            param.addcdiv_(exp_avg, exp_inf, value=-(lr / (1 - beta1 ** step.item())))


def _multi_tensor_adamax(params, grads, exp_avgs, exp_infs, state_steps, eps, beta1, beta2, lr, weight_decay, maximize):
    for (params, grads, exp_avgs, exp_infs, steps), _ in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, exp_avgs, exp_infs, state_steps]).values():
        _view_as_real(params, grads, exp_avgs, exp_infs)
        torch._foreach_add_(steps, 1)
        grads, writable = _decay(params, grads, weight_decay, maximize)
        torch._foreach_lerp_(exp_avgs, grads, 1 - beta1)
        torch._foreach_mul_(exp_infs, beta2)
        if writable:
            torch._foreach_abs_(grads)
        else:
            grads = torch._foreach_abs(grads)
        torch._foreach_add_(grads, eps)
        torch._foreach_maximum_(exp_infs, grads)
        torch._foreach_addcdiv_(params, exp_avgs, exp_infs,
                                [_get_value(lr) / (1 - beta1 ** step.item()) * -1 for step in steps])
