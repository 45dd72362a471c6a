"""Training over several processes: in a world of one, gradients are what the module itself gives."""
from kindling.distributed import distributed_c10d as _c10d
from kindling.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class _Block:
    def __enter__(self):
        return None

    def __exit__(self, *details):
        return False


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over the processes of a group: with one process, those of the module.

    Hooks of communication and joins are taken and have nothing to do. RuntimeError for a module without parameters that require gradients.
    """

    def __init__(self, module=None, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, init_sync=True, process_group=None,
                 bucket_cap_mb=None, find_unused_parameters=False, check_reduction=False, gradient_as_bucket_view=False, static_graph=False, **options):
        group = _c10d._group(process_group)
        super().__init__()
        if not any(each.requires_grad for each in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
        if device_ids:
            raise ValueError("DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules "
                             "or CPU modules, but got device_ids for a module on the CPU")
        self.module, self.dim, self.device_ids, self.output_device = module, dim, None, None
        self.process_group, self.device, self.device_type = group, next(module.parameters()).device, "cpu"
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.gradient_as_bucket_view, self.static_graph = gradient_as_bucket_view, static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    def no_sync(self):
        """A block in which gradients are not averaged."""
        return _Block()

    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """A block in which processes may have different numbers of inputs."""
        return _Block()

    def register_comm_hook(self, state, hook):
        """Takes a function that would send gradients: there is nobody to send them to."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")

    def will_sync_module_buffers(self):
        return False

    def scatter(self, inputs, kwargs, device_ids):
        return (inputs,), (kwargs,)

    def gather(self, outputs, output_device):
        return outputs[0]


DistributedDataParallelCPU = DistributedDataParallel
