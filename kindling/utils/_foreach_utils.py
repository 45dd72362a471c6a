"""Which tensors may be updated as lists, and lists by kind."""
from kindling import Tensor
from kindling.optim.optimizer import _FOREACH_DEVICES, _FUSED_DEVICES, Optimizer

_foreach_supported_types = [Tensor]


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """{(device, dtype): (the lists, cut down to the entries of that kind, their indices)}, by the first list."""
    return Optimizer._group_tensors_by_device_and_dtype(tensorlistlist, with_indices)


def _get_foreach_kernels_supported_devices():
    return list(_FOREACH_DEVICES)


def _get_fused_kernels_supported_devices():
    return list(_FUSED_DEVICES)


def _device_has_foreach_support(device):
    return device.type in (*_FOREACH_DEVICES, "cpu")


def _has_foreach_support(tensors, device):
    return _device_has_foreach_support(device) and all(each is None or type(each) in _foreach_supported_types for each in tensors)
