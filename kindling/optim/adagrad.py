"""Adagrad."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _RuleOptimizer, _check_foreach, _check_fused, _check_lr,
                                      _check_no_scaling, _check_not_negative, _check_steps, _decay,
                                      _default_to_fused_or_foreach, _device_dtype_check_for_fused, _new_scalar,
                                      _registered_kernel, _to_scalar, _unscaled, _view_as_real)

__all__ = ["Adagrad", "adagrad"]


class Adagrad(_RuleOptimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011): gradients divided by the root of the sum of all their squares.

    Gradients may be sparse, without weight decay.  ValueError for negative options.
    """
    _late_options = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(self, params, lr: float | torch.Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0, eps: float = 1e-10,
                 foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False, fused: bool | None = None):
        _check_lr(lr)
        _check_not_negative(lr_decay=lr_decay, weight_decay=weight_decay,
                            initial_accumulator_value=initial_accumulator_value, epsilon=eps)
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
                                  "maximize": maximize, "differentiable": differentiable, "fused": fused})
        _check_fused(self, fused, foreach, differentiable)
        self._need_device_dtype_check_for_fused = bool(fused)
        # Made now, not at the first step, so that `share_memory` can hand it to other processes before training.
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(self._new_state(param, None, group))

    def share_memory(self):
        """Moves the sums of squares into shared memory."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _new_state(self, param, grad, group):
        start = self.defaults["initial_accumulator_value"]
        return {"step": _new_scalar(0.0, param, group),
                "sum": torch.full_like(param, complex(start, start) if param.is_complex() else start,
                                       memory_format=torch.preserve_format)}

    def _update(self, group, params, grads, states):
        if group["fused"] and getattr(self, "_need_device_dtype_check_for_fused", True):
            _device_dtype_check_for_fused(params[0])
            self._need_device_dtype_check_for_fused = False
        adagrad(params, grads, [state["sum"] for state in states], [state["step"] for state in states], group["fused"],
                getattr(self, "grad_scale", None), getattr(self, "found_inf", None),
                any(grad.is_sparse for grad in grads), group["foreach"], group["differentiable"],
                any(param.is_complex() for param in params), lr=group["lr"], weight_decay=group["weight_decay"],
                lr_decay=group["lr_decay"], eps=group["eps"], maximize=group["maximize"])


def adagrad(params, grads, state_sums, state_steps, fused=None, grad_scale=None, found_inf=None, has_sparse_grad=False,
            foreach=None, differentiable=False, has_complex=False, *, lr, weight_decay, lr_decay, eps, maximize):
    """One step of Adagrad on lists of parameters, gradients and states."""
    _check_steps(state_steps)
    if fused is None and foreach is None:
        _, foreach = _default_to_fused_or_foreach(params, differentiable)
    if not params:
        return
    if fused:
        _fused_adagrad(params, grads, state_sums, state_steps, grad_scale, found_inf, lr, weight_decay, lr_decay, eps,
                       has_sparse_grad, maximize, differentiable, has_complex)
        return
    if foreach:
        _check_foreach(differentiable)
    _check_no_scaling(grad_scale, found_inf)
    (_multi_tensor_adagrad if foreach else _single_tensor_adagrad)(
        params, grads, state_sums, state_steps, _to_scalar(lr), weight_decay, lr_decay, eps, maximize, differentiable)


def _make_sparse(grad, grad_indices, values):
    return torch.sparse_coo_tensor(grad_indices, values, grad.size())


def _single_tensor_adagrad(params, grads, state_sums, state_steps, lr, weight_decay, lr_decay, eps, maximize,
                           differentiable):
    for param, grad, state_sum, step in zip(params, grads, state_sums, state_steps):
        step += 1
        if maximize:
            grad = -grad
        sparse = grad.is_sparse
        if weight_decay != 0:
            if sparse:
                raise RuntimeError("weight_decay option is not compatible with sparse gradients")
            grad = grad.add(param, alpha=weight_decay)
        rate = lr / (1 + (step.item() - 1) * lr_decay)
        if sparse:
            grad = grad.coalesce()
            indices, values = grad._indices(), grad._values()
            state_sum.add_(_make_sparse(grad, indices, values.pow(2)))
            roots = state_sum.sparse_mask(grad)._values().sqrt_().add_(eps)
            param.add_(_make_sparse(grad, indices, values / roots), alpha=-rate)
            continue
        if param.is_complex():
            param, grad, state_sum = map(torch.view_as_real, (param, grad, state_sum))
        state_sum.addcmul_(grad, grad, value=1)
        root = state_sum.sqrt() + eps if differentiable else state_sum.sqrt().add_(eps)
        param.addcdiv_(grad, root, value=-rate)


def _multi_tensor_adagrad(params, grads, state_sums, state_steps, lr, weight_decay, lr_decay, eps, maximize,
                          differentiable):
    for (params, grads, sums, steps), _ in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, state_sums, state_steps]).values():
        if any(grad.is_sparse for grad in grads):
            _single_tensor_adagrad(params, grads, sums, steps, lr, weight_decay, lr_decay, eps, maximize,
                                   differentiable)
            continue
        _view_as_real(params, grads, sums)
        torch._foreach_add_(steps, 1)
        grads, writable = _decay(params, grads, weight_decay, maximize)
        rates = [-lr / (1 + (step.item() - 1) * lr_decay) for step in steps]
        torch._foreach_addcmul_(sums, grads, grads, value=1)
        roots = torch._foreach_sqrt(sums)
        torch._foreach_add_(roots, eps)
        if writable:
            torch._foreach_mul_(grads, rates)
        else:
            grads = torch._foreach_mul(grads, rates)
        torch._foreach_addcdiv_(params, grads, roots)


def _fused_adagrad(params, grads, state_sums, state_steps, grad_scale, found_inf, lr, weight_decay, lr_decay, eps,
                   has_sparse_grad, maximize, differentiable, has_complex):
    if has_sparse_grad or has_complex:
        raise RuntimeError("`fused` does not support sparse grad or complex param")
    if differentiable:
        raise RuntimeError("adagrad with fused=True does not support differentiable=True")
    kernel = _registered_kernel("_fused_adagrad_")
    if kernel is None:
        if _unscaled(grads, grad_scale, found_inf):
            _single_tensor_adagrad(params, grads, state_sums, state_steps, _to_scalar(lr), weight_decay, lr_decay, eps,
                                   maximize, False)
        return
    for (device, _), ((params, grads, sums, steps), _) in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, state_sums, state_steps]).items():
        if isinstance(lr, torch.Tensor) and lr.device.type != "cpu":
            lr = lr.to(device=device, non_blocking=True)
        skipped = None if found_inf is None else found_inf.to(device, non_blocking=True)
        torch._foreach_add_(steps, 1)
        kernel(params, grads, sums, steps, lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, eps=eps,
               maximize=maximize, found_inf=skipped,
               grad_scale=None if grad_scale is None else grad_scale.to(device, non_blocking=True))
        if skipped is not None:
            torch._foreach_sub_(steps, [skipped] * len(steps))
