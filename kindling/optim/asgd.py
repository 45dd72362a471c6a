"""Averaged stochastic gradient descent."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_capturable, _check_foreach, _check_lr, _check_not_negative,
                                      _decay, _default_to_fused_or_foreach, _get_scalar_dtype, _RuleOptimizer,
                                      _to_scalar, _view_as_real, _zeros_like)

__all__ = ["ASGD", "asgd"]


class ASGD(_RuleOptimizer):
    """Averaged SGD (Polyak and Juditsky, 1992): SGD that keeps the mean of the parameters from step `t0` on in `ax`.

    ValueError for a negative rate or weight decay.
    """
    _scalar_state = ("step", "eta", "mu")
    _no_sparse = "ASGD does not support sparse gradients"

    def __init__(self, params, lr: float | torch.Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False):
        _check_lr(lr)
        _check_not_negative(weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                                  "capturable": capturable})

    def _new_state(self, param, grad, group):
        at = {"device": param.device, "dtype": _get_scalar_dtype()}
        return {"step": torch.zeros((), **at),
                "eta": torch.as_tensor(_to_scalar(group["lr"]), **at).clone().detach(),
                "mu": torch.ones((), **at), "ax": _zeros_like(param)}

    def _update(self, group, params, grads, states):
        asgd(params, grads, [state["ax"] for state in states], [state["mu"] for state in states],
             [state["eta"] for state in states], [state["step"] for state in states], group["foreach"],
             group["maximize"], group["differentiable"], group["capturable"], lambd=group["lambd"], lr=group["lr"],
             t0=group["t0"], alpha=group["alpha"], weight_decay=group["weight_decay"])


def asgd(params, grads, axs, mus, etas, state_steps, foreach=None, maximize=False, differentiable=False,
         capturable=False, has_complex=False, *, lambd, lr, t0, alpha, weight_decay):
    """One step of ASGD on lists of parameters, gradients and states."""
    if foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    if not params:
        return
    if foreach:
        _check_foreach(differentiable)
    if capturable:
        _check_capturable(params, mus, etas, state_steps, names=", mus, etas, and state_steps",
                          supports_xla=not foreach)
    if foreach and not capturable:
        _multi_tensor_asgd(params, grads, axs, mus, etas, state_steps, lambd, _to_scalar(lr), t0, alpha, weight_decay,
                           maximize)
    else:
        _single_tensor_asgd(params, grads, axs, mus, etas, state_steps, lambd, _to_scalar(lr), t0, alpha, weight_decay,
                            maximize, capturable)


def _single_tensor_asgd(params, grads, axs, mus, etas, state_steps, lambd, lr, t0, alpha, weight_decay, maximize,
                        capturable):
    for param, grad, ax, mu, eta, step in zip(params, grads, axs, mus, etas, state_steps):
        if maximize:
            grad = -grad
        if param.is_complex():
            param, grad, ax = map(torch.view_as_real, (param, grad, ax))
        step += 1
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if capturable:
            param.mul_(1 - lambd * eta)
            param.addcmul_(grad, eta, value=-1)
            ax.add_(param.sub(ax).mul_(mu))
            eta.copy_(lr / ((1 + lambd * lr * step) ** alpha))
            mu.copy_(1 / torch.maximum(step - t0, torch.ones_like(step)))
            continue
        rate = eta.item()
        param.mul_(1 - lambd * rate)
        param.add_(grad, alpha=-rate)
        if mu.item() != 1:
            ax.add_(param.sub(ax).mul_(mu))
        else:
            ax.copy_(param)
        count = step.item()
        eta.copy_(torch.as_tensor(lr / ((1 + lambd * lr * count) ** alpha)))
        mu.copy_(torch.as_tensor(1 / max(1, count - t0)))


def _multi_tensor_asgd(params, grads, axs, mus, etas, state_steps, lambd, lr, t0, alpha, weight_decay, maximize):
    for (device, _), ((params, grads, axs, mus, etas, steps), _) in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, axs, mus, etas, state_steps]).items():
        _view_as_real(params, grads, axs)
        torch._foreach_add_(steps, 1)
        grads, writable = _decay(params, grads, weight_decay, maximize)
        # Where the gradients are already ours, with the weight decay in them, the decay term goes on top in place.
        if writable and weight_decay != 0:
            torch._foreach_add_(grads, params, alpha=lambd)
        else:
            grads = torch._foreach_add(grads, params, alpha=lambd)
        torch._foreach_addcmul_(params, grads, etas, value=-1)
        torch._foreach_addcmul_(axs, torch._foreach_sub(params, axs), mus)
        torch._foreach_copy_(etas, [torch.as_tensor(lr / ((1 + lambd * lr * step) ** alpha), device=device)
                                    for step in steps])
        torch._foreach_copy_(mus, [torch.as_tensor(1 / max(1, step.item() - t0), device=device) for step in steps])
