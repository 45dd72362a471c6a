"""Stochastic gradient descent."""
import kindling as torch
from kindling.optim.optimizer import (Optimizer, _check_fused, _check_lr, _check_no_scaling, _decay,
                                      _default_to_fused_or_foreach, _device_dtype_check_for_fused, _evaluate,
                                      _registered_kernel, _to_scalar, _unscaled, _use_grad_for_differentiable)

__all__ = ["SGD", "sgd"]


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with (Nesterov) momentum.

    The momentum buffer starts as the first gradient, undamped: `buf = momentum * buf + (1 - dampening) * grad`, and the
    parameter moves by `-lr * buf`.  ValueError for negative options, or Nesterov without momentum or with dampening.

        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        >>> optimizer.zero_grad(); loss_fn(model(x), y).backward(); optimizer.step()
    """

    def __init__(self, params, lr: float | torch.Tensor = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float | torch.Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None):
        _check_lr(lr)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
                                  "differentiable": differentiable, "fused": fused})
        _check_fused(self, fused, foreach, differentiable)
        self._need_device_dtype_check_for_fused = bool(fused)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("nesterov", False), ("maximize", False), ("foreach", None), ("differentiable", False),
                                ("fused", False)):
                group.setdefault(name, value)

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """Updates the parameters once.  `closure`, if given, evaluates the model again and returns the loss."""
        loss = _evaluate(closure)
        states = self.state
        for group in self.param_groups:
            momentum = group["momentum"]
            params, grads, buffers = [], [], []
            sparse = False
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if group["fused"] and getattr(self, "_need_device_dtype_check_for_fused", True):
                    _device_dtype_check_for_fused(param)
                    self._need_device_dtype_check_for_fused = False
                params.append(param)
                grads.append(grad)
                sparse = sparse or grad.is_sparse
                if momentum != 0:
                    buffers.append(states[param].get("momentum_buffer"))
            sgd(params, grads, buffers, sparse, group["foreach"], group["fused"], getattr(self, "grad_scale", None),
                getattr(self, "found_inf", None), weight_decay=group["weight_decay"], momentum=momentum, lr=group["lr"],
                dampening=group["dampening"], nesterov=group["nesterov"], maximize=group["maximize"])
            if momentum != 0:
                for param, buffer in zip(params, buffers):
                    states[param]["momentum_buffer"] = buffer
        return loss


def sgd(params, d_p_list, momentum_buffer_list, has_sparse_grad=False, foreach=None, fused=None, grad_scale=None,
        found_inf=None, *, weight_decay, momentum, lr, dampening, nesterov, maximize):
    """One step of SGD on lists of parameters, gradients and momentum buffers (None before their first step)."""
    if foreach is None and fused is None:
        fused, foreach = _default_to_fused_or_foreach(params, False)
    if not params:
        return
    if fused:
        _fused_sgd(params, d_p_list, momentum_buffer_list, grad_scale, found_inf, weight_decay, momentum, lr, dampening,
                   nesterov, maximize, has_sparse_grad)
        return
    _check_no_scaling(grad_scale, found_inf)
    update = params, d_p_list, momentum_buffer_list, weight_decay, momentum, _to_scalar(lr), dampening, nesterov, maximize
    if not _in_one_pass(*update):
        (_multi_tensor_sgd if foreach else _single_tensor_sgd)(*update)


def _in_one_pass(params, grads, buffers, weight_decay, momentum, lr, dampening, nesterov, maximize):
    """Whether the step could be done as one kernel a parameter, with the bits of the single operators."""
    own = buffers if momentum != 0 else []
    if not (torch._C._are_plain(params, grads, own)
            and all(isinstance(value, (float, int)) for value in (weight_decay, momentum, lr, dampening))):
        return False
    torch._fused_sgd_(params, grads, own, weight_decay=weight_decay, momentum=momentum, lr=lr, dampening=dampening,
                      nesterov=bool(nesterov), maximize=bool(maximize), is_first_step=False)
    return True


def _single_tensor_sgd(params, grads, buffers, weight_decay, momentum, lr, dampening, nesterov, maximize):
    lr_has_grad = isinstance(lr, torch.Tensor) and lr.requires_grad
    decay_has_grad = isinstance(weight_decay, torch.Tensor) and weight_decay.requires_grad
    minus_lr, fresh = -lr, 1 - dampening
    for index, param in enumerate(params):
        grad = -grads[index] if maximize else grads[index]
        if decay_has_grad:
            grad = grad.addcmul(param.clone(), weight_decay)
        elif weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        if momentum != 0:
            buffer = buffers[index]
            if buffer is None:
                buffer = buffers[index] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=fresh)
            grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
        if lr_has_grad:
            param.addcmul_(grad, lr, value=-1)
        else:
            param.add_(grad, alpha=minus_lr)


def _multi_tensor_sgd(params, grads, buffers, weight_decay, momentum, lr, dampening, nesterov, maximize):
    groups = Optimizer._group_tensors_by_device_and_dtype([params, grads, buffers], with_indices=True)
    for (params, grads, own), indices in groups.values():
        grads, writable = _decay(params, grads, weight_decay, maximize)
        if momentum != 0:
            if all(buffer is not None for buffer in own):
                torch._foreach_mul_(own, momentum)
                torch._foreach_add_(own, grads, alpha=1 - dampening)
            else:
                for at, (buffer, grad) in enumerate(zip(own, grads)):
                    if buffer is None:
                        own[at] = buffers[indices[at]] = grad.detach().clone()
                    else:
                        buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
            if not nesterov:
                grads = own
            elif writable:
                torch._foreach_add_(grads, own, alpha=momentum)
            else:
                grads = torch._foreach_add(grads, own, alpha=momentum)
        if any(grad.is_sparse for grad in grads):
            for param, grad in zip(params, grads):
                param.add_(grad, alpha=-lr)
        else:
            torch._foreach_add_(params, grads, alpha=-lr)


def _fused_sgd(params, grads, buffers, grad_scale, found_inf, weight_decay, momentum, lr, dampening, nesterov, maximize,
               has_sparse_grad):
    if has_sparse_grad:
        raise RuntimeError("`_fused_sgd` does not support sparse gradients")
    kernel = _registered_kernel("_fused_sgd_")
    if kernel is None:
        if _unscaled(grads, grad_scale, found_inf):
            _single_tensor_sgd(params, grads, buffers, weight_decay, momentum, _to_scalar(lr), dampening, nesterov,
                               maximize)
        return
    first = momentum != 0 and all(buffer is None for buffer in buffers)
    if first:
        buffers[:] = [torch.empty_like(grad) for grad in grads]
    for (device, _), ((params, grads, own), _) in Optimizer._group_tensors_by_device_and_dtype(
            [params, grads, buffers]).items():
        kernel(params, grads, own if momentum != 0 else [], weight_decay=weight_decay, momentum=momentum, lr=lr,
               dampening=dampening, nesterov=nesterov, maximize=maximize, is_first_step=first,
               grad_scale=None if grad_scale is None else grad_scale.to(device),
               found_inf=None if found_inf is None else found_inf.to(device))
