"""Data parallelism over the devices of one process; on the CPU a pass-through."""
from kindling.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel", "replicate", "scatter", "parallel_apply", "gather",
           "DistributedDataParallel"]


class DataParallel(Module):
    """Runs a module on this process's devices. Without a CUDA device it calls the module as it is."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
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


def __getattr__(name):
    if name in ("replicate", "scatter", "parallel_apply", "gather", "DistributedDataParallel"):
        raise AttributeError(f"torch.nn.parallel.{name} needs more than one device, which is not there yet")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
