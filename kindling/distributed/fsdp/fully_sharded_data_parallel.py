"""Models whose parameters are spread over processes: with one process each has them whole, under their own names."""
import enum

import kindling as torch
from kindling.distributed import distributed_c10d as _c10d
from kindling.distributed.fsdp import wrap
from kindling.distributed.fsdp.api import (FullOptimStateDictConfig, FullStateDictConfig, LocalOptimStateDictConfig, LocalStateDictConfig, MixedPrecision,
                                           ShardedOptimStateDictConfig, ShardedStateDictConfig, ShardingStrategy, StateDictSettings, StateDictType)
from kindling.distributed.utils import _Inside, _Nothing

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType"]

_CONFIGS = {StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
            StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
            StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig)}


class OptimStateKeyType(enum.Enum):
    """How the keys of an optimiser's state name parameters."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


class FullyShardedDataParallel(_Inside, torch.nn.Module):
    """A module whose parameters are spread over the processes of a group: of one, so that each is there as it is.

    Parameters keep their names and shapes, as with `use_orig_params=True`. `mixed_precision` computes with parameters, inputs and buffers of
    its dtypes.
    """

    _name = "_fsdp_wrapped_module"

    def __init__(self, module, process_group=None, sharding_strategy=None, cpu_offload=None, auto_wrap_policy=None, backward_prefetch=None,
                 mixed_precision=None, ignored_modules=None, param_init_fn=None, device_id=None, sync_module_states=False, forward_prefetch=False,
                 limit_all_gathers=True, use_orig_params=False, ignored_states=None, device_mesh=None):
        group = _c10d._group(process_group if not isinstance(process_group, tuple) else process_group[0])
        super().__init__()
        ignored = list(ignored_modules or ()) + [each for each in ignored_states or () if isinstance(each, torch.nn.Module)]
        below = {each for start in ignored for each in start.modules()}
        kept = {id(each) for each in ignored_states or () if isinstance(each, torch.nn.Parameter)} | {
            id(each) for start in below for each in start._parameters.values()}
        if auto_wrap_policy is not None:
            given = {"process_group": process_group, "mixed_precision": mixed_precision, "param_init_fn": param_init_fn, "ignored_modules": ignored_modules,
                     "ignored_states": ignored_states}
            if mixed_precision is not None and mixed_precision.param_dtype is not None:
                _keep_whole(module, mixed_precision._module_classes_to_ignore, below, {**given, "mixed_precision": None})
            wrap._apply(module, auto_wrap_policy, FullyShardedDataParallel, given, below)
        for each in module.modules():
            if isinstance(each, FullyShardedDataParallel):
                each._is_root = False
        self._is_root = True
        self._fsdp_wrapped_module = module
        self.process_group, self.sharding_strategy = group, ShardingStrategy.NO_SHARD
        self.mixed_precision = mixed_precision if mixed_precision is not None else MixedPrecision()
        self._settings = StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())
        self._materialize(param_init_fn)
        self._full_buffers = {}     # the dtypes of buffers that were lowered: a state_dict has them so
        self._lowered = self._own(kept) if self.mixed_precision.param_dtype is not None else []
        if self.mixed_precision.buffer_dtype is not None:
            own = set(self._mine())
            for path, each in module.named_modules():
                for name, value in each._buffers.items() if each in own else ():
                    if value is not None and value.is_floating_point():
                        self._full_buffers[(f"{path}.{name}" if path else name).replace(self._name + ".", "")] = value.dtype
                        each._buffers[name] = value.to(self.mixed_precision.buffer_dtype)
        self._hide()
        self._register_state_dict_hook(_full_buffers)

    @property
    def module(self):
        """The module inside."""
        inside = self._fsdp_wrapped_module
        return inside.module if isinstance(inside, _Inside) and hasattr(type(inside), "module") else inside

    def _mine(self):
        """The modules whose parameters no wrapper below has."""
        left = [self._fsdp_wrapped_module]
        while left:
            each = left.pop()
            if not isinstance(each, FullyShardedDataParallel):
                yield each
                left += each.children()

    def _materialize(self, init):
        for each in self._mine():
            if any(value is not None and value.is_meta for value in each._parameters.values()):
                if init is not None:
                    init(each)
                else:
                    each.to_empty(device="cpu", recurse=False)
                    with torch.no_grad():
                        each.reset_parameters()

    def _own(self, kept):
        """(the module, the name) of each parameter that computes in another precision."""
        return [(each, name) for each in self._mine() for name, value in each._parameters.items()
                if value is not None and value.is_floating_point() and id(value) not in kept]

    def forward(self, *args, **kwargs):
        dtype = self.mixed_precision.param_dtype
        if dtype is None:
            return self._fsdp_wrapped_module(*args, **kwargs)
        if self.mixed_precision.cast_root_forward_inputs if self._is_root else self.mixed_precision.cast_forward_inputs:
            args, kwargs = _cast((args, kwargs), dtype)
        full = [(each, name, each._parameters[name]) for each, name in self._lowered]
        lowered = {id(value): value.to(dtype) for _, _, value in full}      # a parameter of two modules is one
        try:
            for each, name, value in full:
                each._parameters[name] = lowered[id(value)]
            return self._fsdp_wrapped_module(*args, **kwargs)
        finally:
            for each, name, value in full:
                each._parameters[name] = value

    def check_is_root(self):
        """Whether no other wrapper is around this one."""
        return self._is_root

    @staticmethod
    def fsdp_modules(module, root_only=False):
        """The wrappers in a module."""
        return [each for each in module.modules() if isinstance(each, FullyShardedDataParallel) and (each._is_root or not root_only)]

    def named_parameters(self, *args, **kwargs):
        """Names and parameters; inside `summon_full_params`, names as the module inside has them."""
        for name, value in torch.nn.Module.named_parameters(self, *args, **kwargs):
            yield self._shown(name), value

    def named_buffers(self, *args, **kwargs):
        """Names and buffers; inside `summon_full_params`, names as the module inside has them."""
        for name, value in super().named_buffers(*args, **kwargs):
            yield self._shown(name), value

    def _shown(self, name):
        return name.replace(self._name + ".", "") if _Summoned.inside else name

    def no_sync(self):
        """A block in which gradients are not averaged over processes."""
        return _Nothing()

    @staticmethod
    def summon_full_params(module, recurse=True, writeback=True, rank0_only=False, offload_to_cpu=False, with_grads=False):
        """A block in which each process has the parameters whole, as it has anyhow."""
        return _Summoned()

    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        """Scales the gradients so that their norm together is at most `max_norm`; the norm before."""
        if not self._is_root:
            raise RuntimeError("`clip_grad_norm_()` should only be called on the root FSDP instance")
        return torch.nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)

    def register_comm_hook(self, state, hook):
        """Takes a function that would send gradients: there is nobody to send them to."""
        if not self._is_root:
            raise AssertionError("register_comm_hook can only be called on a root instance.")

    @staticmethod
    def set_state_dict_type(module, state_dict_type, state_dict_config=None, optim_state_dict_config=None):
        """Says how the wrappers of a module give their state; what was said before."""
        kind, other = _CONFIGS[state_dict_type]
        for given, wanted in ((state_dict_config, kind), (optim_state_dict_config, other)):
            if given is not None and type(given) is not wanted:
                raise RuntimeError(f"Expected state_dict_config of type {wanted} but got {type(given)}")
        before = None
        for each in FullyShardedDataParallel.fsdp_modules(module):
            before = before or each._settings
            each._settings = StateDictSettings(state_dict_type, state_dict_config or kind(), optim_state_dict_config or other())
        return before

    @staticmethod
    def get_state_dict_type(module):
        """How the wrappers of a module give their state."""
        return FullyShardedDataParallel.fsdp_modules(module)[0]._settings

    @staticmethod
    def state_dict_type(module, state_dict_type, state_dict_config=None, optim_state_dict_config=None):
        """A block in which the wrappers of a module give their state in that way."""
        return _Settings(module, state_dict_type, state_dict_config, optim_state_dict_config)

    @staticmethod
    def optim_state_dict(model, optim, optim_state_dict=None, group=None):
        """The state of an optimiser with names in the place of numbers."""
        state = optim.state_dict() if optim_state_dict is None else optim_state_dict
        return _keyed(state, _names(model, optim))

    @staticmethod
    def optim_state_dict_to_load(model, optim, optim_state_dict, is_named_optimizer=False, load_directly=False, group=None):
        """What `optim.load_state_dict` takes, from a state with names."""
        state = _keyed(optim_state_dict, {name: number for number, name in _names(model, optim).items()})
        if load_directly:
            optim.load_state_dict(state)
        return state

    @staticmethod
    def full_optim_state_dict(model, optim, optim_input=None, rank0_only=True, group=None):
        return FullyShardedDataParallel.optim_state_dict(model, optim)

    @staticmethod
    def sharded_optim_state_dict(model, optim, group=None):
        return FullyShardedDataParallel.optim_state_dict(model, optim)

    @staticmethod
    def shard_full_optim_state_dict(full_optim_state_dict, model, optim_input=None, optim=None):
        return FullyShardedDataParallel.optim_state_dict_to_load(model, optim, full_optim_state_dict)

    @staticmethod
    def flatten_sharded_optim_state_dict(sharded_optim_state_dict, model, optim):
        return FullyShardedDataParallel.optim_state_dict_to_load(model, optim, sharded_optim_state_dict)

    @staticmethod
    def rekey_optim_state_dict(optim_state_dict, optim_state_key_type, model, optim_input=None, optim=None):
        """The state with names in the place of numbers, or numbers in the place of names."""
        if optim is None:
            names = {number: name.replace("_fsdp_wrapped_module.", "") for number, (name, _) in enumerate(model.named_parameters())}
        else:
            names = _names(model, optim)
        by_name = any(isinstance(each, str) for group in optim_state_dict["param_groups"] for each in group["params"])
        if by_name == (optim_state_key_type.name == "PARAM_NAME"):
            return optim_state_dict
        return _keyed(optim_state_dict, {name: number for number, name in names.items()} if by_name else names)

    @staticmethod
    def scatter_full_optim_state_dict(full_optim_state_dict, model, optim_input=None, optim=None, group=None):
        return FullyShardedDataParallel.optim_state_dict_to_load(model, optim, full_optim_state_dict)


def _full_buffers(module, state_dict, prefix, *details):
    for name, dtype in module._full_buffers.items():
        if prefix + name in state_dict:
            state_dict[prefix + name] = state_dict[prefix + name].to(dtype)
    return state_dict


class _Summoned(_Nothing):
    """The block of `summon_full_params`."""

    inside = 0

    def __enter__(self):
        _Summoned.inside += 1

    def __exit__(self, *details):
        _Summoned.inside -= 1
        return False


class _Settings(_Nothing):
    """The block of `state_dict_type`."""

    def __init__(self, *given):
        super().__init__()
        self._given = given

    def __enter__(self):
        self._before = FullyShardedDataParallel.set_state_dict_type(*self._given)

    def __exit__(self, *details):
        if self._before:
            each = self._before
            FullyShardedDataParallel.set_state_dict_type(self._given[0], each.state_dict_type, each.state_dict_config, each.optim_state_dict_config)
        return False


def _keep_whole(module, classes, ignored, given):
    """Wraps modules of some classes (batch normalisation) by themselves: they compute in float, and give what dtype they got."""
    classes = (torch.nn.modules.batchnorm._BatchNorm,) if classes is None else tuple(classes)
    chosen = {each: given for each in module.modules() if isinstance(each, classes) and each is not module and each not in ignored}
    for each in chosen:
        given_as = []

        def before(module, args, kwargs, given_as=given_as):
            given_as.append(next((value.dtype for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor) and value.is_floating_point()), None))
            return _cast((args, kwargs), torch.float32)

        def after(module, args, output, given_as=given_as):
            dtype = given_as.pop()
            return None if dtype is None else _cast(output, dtype)
        each.register_forward_pre_hook(before, with_kwargs=True)
        each.register_forward_hook(after)
    wrap._wrap_chosen(module, chosen, FullyShardedDataParallel, {module})


def _names(model, optim):
    """The name of each number that the optimiser's state has for a parameter."""
    names = {id(value): name.replace("_fsdp_wrapped_module.", "").replace("_checkpoint_wrapped_module.", "") for name, value in model.named_parameters()}
    order = [each for group in optim.param_groups for each in group["params"]]
    return {number: names[id(each)] for number, each in enumerate(order)}


def _keyed(state, keys):
    groups = [{**group, "params": [keys[each] for each in group["params"]]} for group in state["param_groups"]]
    return {**state, "state": {keys[key]: value for key, value in state["state"].items()}, "param_groups": groups}


def _cast(values, dtype):
    from kindling.utils._pytree import tree_map
    return tree_map(lambda each: each.to(dtype) if isinstance(each, torch.Tensor) and each.is_floating_point() else each, values)
