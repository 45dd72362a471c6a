"""Data parallelism over the devices of one process; on the CPU a pass-through."""
import kindling as torch
from kindling.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Runs a module on this process's devices. Without a CUDA device it calls the module as it is."""

    __class_getitem__ = classmethod(type(list[int]))  # types.GenericAlias, without importing a module for it

    def __init__(self, module, device_ids=None, output_device: int | torch.device | None = None, dim: int = 0):
        super().__init__()
        self.module = module
        self.device_ids = []
        self.dim = dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """module(*inputs, **module_kwargs), on this process's devices."""
    if not isinstance(inputs, tuple):
        inputs = (inputs,) if inputs is not None else ()
    return module(*inputs, **(module_kwargs or {}))
