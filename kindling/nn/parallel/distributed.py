"""Training over several processes, which this build has not: the class is there for isinstance, annotations and subclasses."""
from kindling.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over processes: none can be made, as there is no group of processes."""

    def __init__(self, module=None, *args, **kwargs):
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


DistributedDataParallelCPU = DistributedDataParallel
