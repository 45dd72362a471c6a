"""RMSprop."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_capturable, _check_foreach, _check_lr, _check_not_negative,
                                      _check_steps, _decay, _default_to_fused_or_foreach, _new_scalar, _RuleOptimizer,
                                      _to_scalar, _view_as_real, _zeros_like)

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(_RuleOptimizer):
    """RMSprop (Hinton): the gradient divided by the root of its running mean of squares, plus `eps`.

    `centered` uses the variance instead of the mean of squares; `momentum` accumulates the divided gradients.
    ValueError for negative options.
    """
    _late_options = {"momentum": 0, "centered": False, **_RuleOptimizer._late_options}
    _no_sparse = "RMSprop does not support sparse gradients"

    def __init__(self, params, lr: float | torch.Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0, centered: bool = False,
                 capturable: bool = False, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False):
        _check_lr(lr)
        _check_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                                  "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable})

    def _new_state(self, param, grad, group):
        state = {"step": _new_scalar(0.0, param, group), "square_avg": _zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = _zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = _zeros_like(param)
        return state

    def _update(self, group, params, grads, states):
        momentum, centered = group["momentum"], group["centered"]
        rmsprop(params, grads, [state["square_avg"] for state in states],
                [state["grad_avg"] for state in states] if centered else [],
                [state["momentum_buffer"] for state in states] if momentum > 0 else [],
                [state["step"] for state in states], group["foreach"], group["maximize"], group["differentiable"],
                group["capturable"], lr=group["lr"], alpha=group["alpha"], eps=group["eps"],
                weight_decay=group["weight_decay"], momentum=momentum, centered=centered)


def rmsprop(params, grads, square_avgs, grad_avgs, momentum_buffer_list, state_steps, foreach=None, maximize=False,
            differentiable=False, capturable=False, has_complex=False, *, lr, alpha, eps, weight_decay, momentum,
            centered):
    """One step of RMSprop on lists of parameters, gradients and states."""
    _check_steps(state_steps)
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    if not params:
        return
    if foreach:
        _check_foreach(differentiable)
    if capturable:
        _check_capturable(params, state_steps)
    update = _multi_tensor_rmsprop if foreach and not capturable else _single_tensor_rmsprop
    update(params, grads, square_avgs, grad_avgs, momentum_buffer_list, state_steps, _to_scalar(lr), alpha, eps,
           weight_decay, momentum, centered, maximize, differentiable)


def _single_tensor_rmsprop(params, grads, square_avgs, grad_avgs, buffers, state_steps, lr, alpha, eps, weight_decay,
                           momentum, centered, maximize, differentiable):
    for index, (param, grad, square_avg, step) in enumerate(zip(params, grads, square_avgs, state_steps)):
        if maximize:
            grad = -grad
        step += 1
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        grad_avg = grad_avgs[index] if centered else None
        buffer = buffers[index] if momentum > 0 else None
        if param.is_complex():
            param, grad, square_avg = map(torch.view_as_real, (param, grad, square_avg))
            grad_avg = torch.view_as_real(grad_avg) if centered else None
            buffer = torch.view_as_real(buffer) if momentum > 0 else None
        square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if centered:
            grad_avg.lerp_(grad, 1 - alpha)
            root = square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt_()
        else:
            root = square_avg.sqrt()
        # Autograd keeps the root's value, so it must not change under its feet.
        root = root.add(eps) if differentiable else root.add_(eps)
        if momentum > 0:
            buffer.mul_(momentum).addcdiv_(grad, root)
            param.add_(buffer, alpha=-lr)
        else:
            param.addcdiv_(grad, root, value=-lr)


def _multi_tensor_rmsprop(params, grads, square_avgs, grad_avgs, buffers, state_steps, lr, alpha, eps, weight_decay,
                          momentum, centered, maximize, differentiable):
    for (params, grads, square_avgs, grad_avgs, buffers, steps), _ in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, square_avgs, grad_avgs, buffers, state_steps]).values():
        _view_as_real(params, grads, square_avgs, *([grad_avgs] if centered else []),
                      *([buffers] if momentum > 0 else []))
        torch._foreach_add_(steps, 1)
        grads, _ = _decay(params, grads, weight_decay, maximize)
        torch._foreach_mul_(square_avgs, alpha)
        torch._foreach_addcmul_(square_avgs, grads, grads, value=1 - alpha)
        if centered:
            torch._foreach_lerp_(grad_avgs, grads, 1 - alpha)
            roots = torch._foreach_addcmul(square_avgs, grad_avgs, grad_avgs, value=-1)
            torch._foreach_sqrt_(roots)
        else:
            roots = torch._foreach_sqrt(square_avgs)
        torch._foreach_add_(roots, eps)
        if momentum > 0:
            torch._foreach_mul_(buffers, momentum)
            torch._foreach_addcdiv_(buffers, grads, roots)
            torch._foreach_add_(params, buffers, alpha=-lr)
        else:
            torch._foreach_addcdiv_(params, grads, roots, value=-lr)
