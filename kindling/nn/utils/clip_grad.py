"""Gradient clipping. The operators on lists (`foreach`) give the same numbers; they are used where asked for."""
import kindling as torch

__all__ = ["clip_grad_norm_", "clip_grad_norm", "clip_grad_value_", "get_total_norm", "clip_grads_with_norm_"]


def _as_list(tensors):
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _by_place(tensors):
    """The tensors grouped by device and dtype, in order of appearance."""
    groups = {}
    for tensor in tensors:
        groups.setdefault((tensor.device, tensor.dtype), []).append(tensor)
    return groups.values()


def get_total_norm(tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> torch.Tensor:
    """The norm of all tensors taken as one vector. RuntimeError for a non-finite one if error_if_nonfinite."""
    with torch.no_grad():
        tensors = _as_list(tensors)
        norm_type = float(norm_type)
        if len(tensors) == 0:
            return torch.tensor(0.0)
        device = tensors[0].device
        norms = []
        if foreach:
            for group in _by_place(tensors):
                norms.extend(torch._foreach_norm(group, norm_type))
        else:
            norms = [torch.linalg.vector_norm(tensor, norm_type) for tensor in tensors]
        total = torch.linalg.vector_norm(torch.stack([norm.to(device) for norm in norms]), norm_type)
        if error_if_nonfinite and torch.logical_or(total.isnan(), total.isinf()):
            raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
                               "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
                               "anyway, set `error_if_nonfinite=False`")
        return total


_get_total_norm = get_total_norm


def clip_grads_with_norm_(parameters, max_norm: float, total_norm: torch.Tensor, foreach: bool | None = None) -> None:
    """Scales all gradients by max_norm / total_norm where that is below 1, in place."""
    with torch.no_grad():
        grads = [parameter.grad for parameter in _as_list(parameters) if parameter.grad is not None]
        if len(grads) == 0:
            return
        factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        # Multiplied even by 1: looking at the factor would make the device wait.
        if foreach:
            for group in _by_place(grads):
                torch._foreach_mul_(group, factor.to(group[0].device))
        else:
            for grad in grads:
                grad.mul_(factor.to(grad.device))


_clip_grads_with_norm_ = clip_grads_with_norm_


def clip_grad_norm_(parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> torch.Tensor:
    """Scales the gradients so that their norm, taken as one vector, is at most max_norm; answers the norm before.

    RuntimeError for a non-finite norm if error_if_nonfinite.
    """
    if not isinstance(parameters, torch.Tensor):
        is_generator = hasattr(parameters, "__next__")
        parameters = list(parameters)
        if is_generator and len(parameters) == 0:
            import warnings
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    parameters = _as_list(parameters)
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> torch.Tensor:
    """Old name of clip_grad_norm_."""
    import warnings
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value: float, foreach: bool | None = None) -> None:
    """Limits every element of the gradients to [-clip_value, clip_value]."""
    with torch.no_grad():
        clip_value = float(clip_value)
        grads = [parameter.grad for parameter in _as_list(parameters) if parameter.grad is not None]
        if foreach:
            for group in _by_place(grads):
                torch._foreach_clamp_min_(group, -clip_value)
                torch._foreach_clamp_max_(group, clip_value)
        else:
            for grad in grads:
                grad.clamp_(min=-clip_value, max=clip_value)
