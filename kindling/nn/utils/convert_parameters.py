"""Parameters as one vector, and back."""
import kindling as torch


def _check_param_device(param, old_param_device):
    """The device (-1 for the CPU) of the parameter; TypeError if the earlier ones had another."""
    device = param.get_device() if param.is_cuda else -1
    if old_param_device is not None and old_param_device != device:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return device


def parameters_to_vector(parameters) -> torch.Tensor:
    """All parameters flattened into one vector."""
    device, parts = None, []
    for param in parameters:
        device = _check_param_device(param, device)
        parts.append(param.view(-1))
    return torch.cat(parts)


def vector_to_parameters(vec: torch.Tensor, parameters) -> None:
    """Takes one vector's pieces as the parameters' data. TypeError if it is no tensor."""
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    device, start = None, 0
    for param in parameters:
        device = _check_param_device(param, device)
        end = start + param.numel()
        param.data = vec[start:end].view_as(param).data
        start = end
