"""`fully_shard`: a module's parameters as DTensors, whole while the module runs."""
import kindling as torch
from kindling.distributed.device_mesh import init_device_mesh
from kindling.distributed.fsdp.fully_sharded_data_parallel import _cast
from kindling.distributed.tensor import DTensor, Shard, distribute_tensor


class UnshardHandle:
    """Of parameters that are on their way to be whole: they are."""

    def wait(self):
        """Returns at once."""


class FSDPModule:
    """What `fully_shard` puts before a module's class. On one rank nothing is sent, so what says when to send is taken and does nothing."""

    def unshard(self, async_op=False):
        """Nothing has to come from others."""
        return UnshardHandle() if async_op else None


def _taken(name):
    def take(self, *args, **kwargs):
        """Says when or how others would be asked."""

    take.__name__, take.__qualname__ = name, f"FSDPModule.{name}"
    setattr(FSDPModule, name, take)


for _each in """
reshard reset_iter_state set_all_reduce_hook set_allocate_memory_from_process_group_for_comm set_custom_all_gather set_custom_reduce_scatter
set_force_sum_reduction_for_comms set_gradient_divide_factor set_is_last_backward set_modules_to_backward_prefetch set_modules_to_forward_prefetch
set_post_optim_event set_reduce_scatter_divide_factor set_reduce_scatter_max_input_buffers set_reduce_scatter_unused_params set_requires_all_reduce
set_requires_gradient_sync set_reshard_after_backward set_reshard_after_forward set_separate_reduce_scatter_group set_symm_mem_for_comm
set_unshard_in_backward""".split():
    _taken(_each)


def fully_shard(module, *, mesh=None, reshard_after_forward=None, shard_placement_fn=None, mp_policy=None, offload_policy=None, ignored_params=None):
    """Makes the parameters of a module that no module inside has taken DTensors, and of its class an `FSDPModule`, too. The module itself is given back."""
    if isinstance(module, (torch.nn.ModuleList, torch.nn.ModuleDict)):
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")
    mesh = mesh or init_device_mesh("cpu", (1,))
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    ignored = set(map(id, ignored_params or ()))
    places, shared = [], {}
    for each in modules:
        if isinstance(each, FSDPModule):
            raise AssertionError("Each distinct composable distributed API can only be applied to a module once.")
        for owner in _unclaimed(each):
            for name, value in owner._parameters.items():
                if value is None or id(value) in ignored or isinstance(value, DTensor):
                    continue
                if id(value) not in shared:
                    placement = (shard_placement_fn and shard_placement_fn(value)) or Shard(0)
                    made = distribute_tensor(value.detach(), mesh, [placement] * mesh.ndim)
                    shared[id(value)] = torch.nn.Parameter(made, value.requires_grad)
                places.append((owner, name, shared[id(value)]))
    for owner, name, value in places:
        owner._parameters[name] = value
    for each in modules:
        each.__class__ = type(f"FSDP{type(each).__name__}", (FSDPModule, type(each)), {"__module__": type(each).__module__})
    _Running(places, mp_policy).watch(modules)
    return module


def _unclaimed(module):
    yield module
    for each in module.children():
        if not isinstance(each, FSDPModule):
            yield from _unclaimed(each)


class _Running:
    """Puts the whole parameters into their modules while these run, and takes them out again."""

    def __init__(self, places, policy):
        self.places, self.depth = places, 0
        self.dtype, self.output_dtype = (policy.param_dtype, policy.output_dtype) if policy is not None else (None, None)
        self.casts_inputs = policy is not None and policy.cast_forward_inputs

    def watch(self, modules):
        for each in modules:
            each.register_forward_pre_hook(self.begin, prepend=True, with_kwargs=True)
            each.register_forward_hook(self.end, always_call=True)

    def begin(self, module, args, kwargs):
        self.depth += 1
        if self.depth == 1:
            whole = {}
            for owner, name, value in self.places:
                if id(value) not in whole:
                    local = value.to_local()
                    whole[id(value)] = local.to(self.dtype) if self.dtype is not None and local.is_floating_point() else local
                owner._parameters[name] = whole[id(value)]
        if self.dtype is not None and self.casts_inputs:
            return _cast((args, kwargs), self.dtype)
        return None

    def end(self, module, args, output):
        self.depth -= 1
        if self.depth == 0:
            for owner, name, value in self.places:
                owner._parameters[name] = value
        return None if self.output_dtype is None else _cast(output, self.output_dtype)


def register_fsdp_forward_method(module, method_name):
    """Lets a method run like `forward`, with whole parameters."""
    if not isinstance(module, FSDPModule):
        return
    found = next(hook.__self__ for hook in module._forward_pre_hooks.values() if isinstance(getattr(hook, "__self__", None), _Running))
    function = getattr(module, method_name)

    def run(*args, **kwargs):
        args, kwargs = found.begin(module, args, kwargs) or (args, kwargs)
        output = None
        try:
            output = function(*args, **kwargs)
        finally:
            other = found.end(module, args, output)
        return output if other is None else other
    setattr(module, method_name, run)
