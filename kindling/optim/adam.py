"""Adam, and the update that AdamW shares."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _RuleOptimizer, _check_betas, _check_capturable, _check_foreach,
                                      _check_fused, _check_no_scaling, _check_not_negative, _check_steps, _decay,
                                      _default_to_fused_or_foreach, _device_dtype_check_for_fused, _new_scalar,
                                      _registered_kernel, _to_scalar, _unscaled, _view_as_real, _zeros_like)

__all__ = ["Adam", "adam"]


class Adam(_RuleOptimizer):
    """Adam (Kingma and Ba, 2014): steps by running means of the gradient and of its square, corrected for their start.

    `amsgrad` divides by the largest mean of squares so far; `decoupled_weight_decay` shrinks the parameter itself, as
    AdamW does.  `lr` and `betas` may be tensors of one element.  ValueError for options out of range.
    """
    _late_options = {"amsgrad": False, "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
                     "decoupled_weight_decay": False, "fused": None}
    _no_sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(self, params, lr: float | torch.Tensor = 1e-3, betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False):
        Tensor = torch.Tensor
        if isinstance(lr, Tensor):
            if foreach and not capturable:
                raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
            if lr.numel() != 1:
                raise ValueError("Tensor lr must be 1-element")
        if not 0.0 <= lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        _check_not_negative(epsilon=eps)
        _check_betas(betas)
        _check_not_negative(weight_decay=weight_decay)
        if not any(isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for index, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if foreach and not capturable:
                    raise ValueError(f"betas[{index}] as a Tensor is not supported for capturable=False and "
                                     "foreach=True")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{index}] must be 1-element")
        super().__init__(params, {"lr": lr, "betas": tuple(map(_to_scalar, betas)), "eps": eps,
                                  "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
                                  "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
                                  "fused": fused, "decoupled_weight_decay": decoupled_weight_decay})
        _check_fused(self, fused, foreach, differentiable)

    def _new_state(self, param, grad, group):
        if group["fused"]:
            _device_dtype_check_for_fused(param)
        state = {"step": _new_scalar(0.0, param, group), "exp_avg": _zeros_like(param),
                 "exp_avg_sq": _zeros_like(param)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = _zeros_like(param)
        return state

    def _update(self, group, params, grads, states):
        lr, amsgrad, differentiable = group["lr"], group["amsgrad"], group["differentiable"]
        steps = [state["step"] for state in states]
        if differentiable and any(step.requires_grad for step in steps):
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        if group["foreach"] and not group["capturable"] and isinstance(lr, torch.Tensor):
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        beta1, beta2 = group["betas"]
        adam(params, grads, [state["exp_avg"] for state in states], [state["exp_avg_sq"] for state in states],
             [state["max_exp_avg_sq"] for state in states] if amsgrad else [], steps, group["foreach"],
             group["capturable"], differentiable, group["fused"], getattr(self, "grad_scale", None),
             getattr(self, "found_inf", None), None, group["decoupled_weight_decay"], amsgrad=amsgrad, beta1=beta1,
             beta2=beta2, lr=lr, weight_decay=group["weight_decay"], eps=group["eps"], maximize=group["maximize"])


def adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, foreach=None, capturable=False,
         differentiable=False, fused=None, grad_scale=None, found_inf=None, has_complex=False,
         decoupled_weight_decay=False, *, amsgrad, beta1, beta2, lr, weight_decay, eps, maximize):
    """One step of Adam on lists of parameters, gradients and states; `state_steps` are 0-d tensors."""
    _check_steps(state_steps)
    if fused is None and foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
        # A tensor for a rate must not be read on the host, which the lists of step sizes would do.
        foreach = foreach and not (isinstance(lr, torch.Tensor) and not capturable)
    if not params:
        return
    if fused:
        if differentiable:
            raise RuntimeError("Adam with fused=True does not support differentiable=True")
        _fused_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, grad_scale, found_inf,
                    decoupled_weight_decay, amsgrad, _to_scalar(beta1), _to_scalar(beta2), lr, weight_decay, eps,
                    maximize)
        return
    if capturable:
        _check_capturable(params, state_steps, supports_xla=not foreach)
    _check_no_scaling(grad_scale, found_inf)
    lr, beta1, beta2 = _to_scalar(lr), _to_scalar(beta1), _to_scalar(beta2)
    if not (capturable or differentiable) and _in_one_pass(
            params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, beta1, beta2, lr, weight_decay,
            eps, maximize, decoupled_weight_decay):
        return
    if foreach:
        _check_foreach(differentiable)
        if not capturable:
            for name, value, error in (("lr", lr, RuntimeError), ("beta1", beta1, ValueError),
                                       ("beta2", beta2, ValueError)):
                if isinstance(value, torch.Tensor):
                    raise error(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
            _multi_tensor_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, beta1,
                               beta2, lr, weight_decay, eps, maximize, decoupled_weight_decay)
            return
    if capturable or differentiable or isinstance(beta1, torch.Tensor) or isinstance(beta2, torch.Tensor):
        _tensor_valued_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, beta1, beta2,
                            lr, weight_decay, eps, maximize, capturable, differentiable, decoupled_weight_decay)
    else:
        _single_tensor_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, beta1, beta2,
                            lr, weight_decay, eps, maximize, decoupled_weight_decay)


def _in_one_pass(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, beta1, beta2, lr,
                 weight_decay, eps, maximize, decoupled_weight_decay):
    """Whether the step could be done as one kernel a parameter: seven passes less, and the same bits."""
    if not (torch._C._are_plain(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs) and torch._C._are_plain(state_steps)
            and all(isinstance(value, (float, int)) for value in (beta1, beta2, lr, weight_decay, eps))):
        return False
    torch._adam_(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr=lr, beta1=beta1, beta2=beta2,
                 weight_decay=weight_decay, eps=eps, amsgrad=bool(amsgrad), maximize=bool(maximize),
                 decoupled_weight_decay=bool(decoupled_weight_decay))
    return True


def _single_tensor_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, beta1, beta2, lr,
                        weight_decay, eps, maximize, decoupled_weight_decay):
    maximum, view_as_real = torch.maximum, None
    fresh1, fresh2 = 1 - beta1, 1 - beta2
    decays = weight_decay != 0
    for index, (param, grad, exp_avg, exp_avg_sq, step) in enumerate(
            zip(params, grads, exp_avgs, exp_avg_sqs, state_steps)):
        if maximize:
            grad = -grad
        step += 1
        if decays:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        largest = max_exp_avg_sqs[index] if amsgrad else None
        if param.is_complex():
            view_as_real = view_as_real or torch.view_as_real
            param, grad = view_as_real(param), view_as_real(grad)
            exp_avg, exp_avg_sq = view_as_real(exp_avg), view_as_real(exp_avg_sq)
            if amsgrad:
                largest = view_as_real(largest)
        exp_avg.lerp_(grad, fresh1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=fresh2)
        count = step.item()
        step_size = lr / (1 - beta1 ** count)
        if amsgrad:
            maximum(largest, exp_avg_sq, out=largest)
            exp_avg_sq = largest
        denom = (exp_avg_sq.sqrt() / (1 - beta2 ** count) ** 0.5).add_(eps)
        param.addcdiv_(exp_avg, denom, value=-step_size)


def _tensor_valued_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, beta1, beta2, lr,
                        weight_decay, eps, maximize, capturable, differentiable, decoupled_weight_decay):
    """The same step where betas are tensors, the step must stay on the device, or autograd watches."""
    Tensor = torch.Tensor

    def needs_grad(value):
        return differentiable and isinstance(value, Tensor) and value.requires_grad

    for index, (param, grad, exp_avg, exp_avg_sq, step) in enumerate(
            zip(params, grads, exp_avgs, exp_avg_sqs, state_steps)):
        if maximize:
            grad = -grad
        step += 1
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            elif needs_grad(weight_decay):
                grad = grad.addcmul(param.clone(), weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        largest = max_exp_avg_sqs[index] if amsgrad else None
        if param.is_complex():
            param, grad = torch.view_as_real(param), torch.view_as_real(grad)
            exp_avg, exp_avg_sq = torch.view_as_real(exp_avg), torch.view_as_real(exp_avg_sq)
            if amsgrad:
                largest = torch.view_as_real(largest)
        own_beta1 = beta1.to(device=param.device, dtype=param.dtype) if isinstance(beta1, Tensor) else beta1
        exp_avg.lerp_(grad, 1 - own_beta1)
        if needs_grad(beta2):
            exp_avg_sq.lerp_(torch.square(grad), weight=1 - beta2)
        else:
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if capturable or differentiable:
            # The step count changes in place at the next step, so a power that autograd keeps needs a copy.
            correction1 = 1 - beta1 ** (step.clone() if needs_grad(beta1) else step)
            correction2 = 1 - beta2 ** (step.clone() if needs_grad(beta2) else step)
            minus_size = (lr / correction1).neg()
            if amsgrad:
                largest.copy_(torch.maximum(largest.clone() if differentiable else largest, exp_avg_sq))
                exp_avg_sq = largest
            denom = (exp_avg_sq.sqrt() / (correction2.sqrt() * minus_size)).add_(eps / minus_size)
            param.addcdiv_(exp_avg.clone() if differentiable else exp_avg, denom)
        else:
            count = step.item()
            step_size = lr / (1 - beta1 ** count)
            if amsgrad:
                torch.maximum(largest, exp_avg_sq, out=largest)
                exp_avg_sq = largest
            denom = (exp_avg_sq.sqrt() / (1 - beta2 ** count) ** 0.5).add_(eps)
            param.addcdiv_(exp_avg, denom, value=-step_size)


def _multi_tensor_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, beta1, beta2, lr,
                       weight_decay, eps, maximize, decoupled_weight_decay):
    for (params, grads, exp_avgs, exp_avg_sqs, largest, steps), _ in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps]).values():
        _view_as_real(params, grads, exp_avgs, exp_avg_sqs, *([largest] if amsgrad else []))
        torch._foreach_add_(steps, 1)
        if decoupled_weight_decay and weight_decay != 0:
            torch._foreach_mul_(params, 1 - lr * weight_decay)
            grads, _ = _decay(params, grads, 0, maximize)
        else:
            grads, _ = _decay(params, grads, weight_decay, maximize)
        torch._foreach_lerp_(exp_avgs, grads, 1 - beta1)
        torch._foreach_mul_(exp_avg_sqs, beta2)
        torch._foreach_addcmul_(exp_avg_sqs, grads, grads, 1 - beta2)
        counts = [step.item() for step in steps]
        if amsgrad:
            torch._foreach_maximum_(largest, exp_avg_sqs)
            exp_avg_sqs = largest
        denoms = torch._foreach_sqrt(exp_avg_sqs)
        torch._foreach_div_(denoms, [(1 - beta2 ** count) ** 0.5 for count in counts])
        torch._foreach_add_(denoms, eps)
        torch._foreach_addcdiv_(params, exp_avgs, denoms, [lr / (1 - beta1 ** count) * -1 for count in counts])


def _fused_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, grad_scale, found_inf,
                decoupled_weight_decay, amsgrad, beta1, beta2, lr, weight_decay, eps, maximize):
    kernel = _registered_kernel("_fused_adamw_" if decoupled_weight_decay else "_fused_adam_")
    if kernel is None:
        if _unscaled(grads, grad_scale, found_inf):
            _single_tensor_adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, amsgrad, beta1,
                                beta2, lr, weight_decay, eps, maximize, decoupled_weight_decay)
        return
    for (device, _), ((params, grads, exp_avgs, exp_avg_sqs, largest, steps), _) in (
            Optimizer._group_tensors_by_device_and_dtype(
                [params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps]).items()):
        if isinstance(lr, torch.Tensor) and lr.device.type != "cpu":
            lr = lr.to(device=device, non_blocking=True)
        skipped = None if found_inf is None else found_inf.to(device, non_blocking=True)
        torch._foreach_add_(steps, 1)
        kernel(params, grads, exp_avgs, exp_avg_sqs, largest, steps, amsgrad=amsgrad, lr=lr, beta1=beta1, beta2=beta2,
               weight_decay=weight_decay, eps=eps, maximize=maximize,
               grad_scale=None if grad_scale is None else grad_scale.to(device, non_blocking=True), found_inf=skipped)
        if skipped is not None:
            torch._foreach_sub_(steps, [skipped] * len(steps))
