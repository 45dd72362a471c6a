"""States of models and optimisers under the names that the model has without wrappers, and back."""
import typing  # noqa: F401    dataclasses asks it where it is among the modules, and another thread may be halfway through it
from dataclasses import dataclass

import kindling as torch

__all__ = ["StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict", "set_optimizer_state_dict",
           "set_state_dict"]


@dataclass
class StateDictOptions:
    """How states are given and taken."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _plain(name):
    """A name without what wrappers put into it."""
    for each in ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "_orig_mod."):
        name = name.replace(each, "")
    return name


def _unwrapped(model):
    """The module inside DistributedDataParallel."""
    return model.module if isinstance(model, torch.nn.parallel.DistributedDataParallel) else model


def _given(value, options):
    if isinstance(value, dict):
        return type(value)((key, _given(each, options)) for key, each in value.items())
    if isinstance(value, list):
        return [_given(each, options) for each in value]
    if isinstance(value, torch.Tensor):
        if options.full_state_dict and hasattr(value, "full_tensor"):
            value = value.full_tensor()
        return value.cpu() if options.cpu_offload else value
    return value


def _frozen(model):
    return {_plain(name) for name, value in model.named_parameters() if not value.requires_grad}


def get_model_state_dict(model, *, submodules=None, options=None):
    """The state of a model, or of some of its modules."""
    options = options or StateDictOptions()
    model = _unwrapped(model)
    state = {_plain(name): value for name, value in model.state_dict().items()}
    if options.ignore_frozen_params:
        state = {name: value for name, value in state.items() if name not in _frozen(model)}
    if submodules:
        found = {}
        for path, module in model.named_modules():
            if module in submodules:
                path = _plain(path + ".")
                found.update((name if options.keep_submodule_prefixes else name[len(path):], value) for name, value in state.items() if name.startswith(path))
        state = found
    return _given(state, options)


def set_model_state_dict(model, model_state_dict, *, options=None):
    """Gives a model its state; the names that were missing and those too many."""
    options = options or StateDictOptions()
    model = _unwrapped(model)
    names = {_plain(name): name for name in torch.nn.Module.state_dict(model)}
    state = {names.get(name, name): value for name, value in model_state_dict.items()}
    own = model.state_dict()
    for name, value in state.items():
        if hasattr(own.get(name), "device_mesh") and not hasattr(value, "device_mesh"):
            from kindling.distributed.tensor import distribute_tensor
            state[name] = distribute_tensor(value.detach(), own[name].device_mesh, own[name].placements)
    return model.load_state_dict(state, strict=options.strict)


def _initialized(optimizer):
    """Makes the state of an optimiser that has made no step, by one that changes nothing."""
    if optimizer.state:
        return
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    if any(each.grad is not None for each in parameters):
        return
    rates = [group["lr"] for group in optimizer.param_groups if "lr" in group]
    for each in parameters:
        if each.requires_grad:
            each.grad = torch.zeros_like(each)
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = torch.tensor(0.0) if isinstance(group["lr"], torch.Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip([group for group in optimizer.param_groups if "lr" in group], rates):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _listed(optimizers):
    return (optimizers,) if isinstance(optimizers, torch.optim.Optimizer) else tuple(optimizers)


def _numbered(model, optimizer):
    """The name of each number in an optimiser's state."""
    names = {id(value): _plain(name) for name, value in model.named_parameters()}
    return dict(enumerate(names[id(each)] for group in optimizer.param_groups for each in group["params"]))


def _keyed(state, keys):
    groups = [{**group, "params": [keys[each] for each in group["params"]]} for group in state["param_groups"]]
    return {"state": {keys[key]: value for key, value in state["state"].items()}, "param_groups": groups}


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None):
    """The state of optimisers, with names of parameters in the place of numbers."""
    options = options or StateDictOptions()
    model = _unwrapped(model)
    whole = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        _initialized(optimizer)
        state = _keyed(optimizer.state_dict(), _numbered(model, optimizer))
        whole["state"].update(state["state"])
        whole["param_groups"] += state["param_groups"]
    if submodules:
        wanted = {_plain(f"{path}.{name}") for path, module in model.named_modules() if module in submodules for name, _ in module.named_parameters()}
        whole["state"] = {name: value for name, value in whole["state"].items() if name in wanted}
        whole["param_groups"] = [{**group, "params": [name for name in group["params"] if name in wanted]} for group in whole["param_groups"]]
    whole = _given(whole, options)
    return _flat(whole) if options.flatten_optimizer_state_dict else whole


def _flat(whole):
    found = {f"state.{name}.{key}": value for name, values in whole["state"].items() for key, value in values.items()}
    for group in whole["param_groups"]:
        for name in group["params"]:
            found.update((f"param_groups.{name}.{key}", value) for key, value in group.items() if key != "params")
    return found


def _unflat(flat, model, optimizer):
    state, groups = {}, []
    numbers = iter(_numbered(model, optimizer).values())
    for group in optimizer.param_groups:
        names = [next(numbers) for _ in group["params"]]
        for name in names:
            begin = f"state.{name}."
            values = {key[len(begin):]: value for key, value in flat.items() if key.startswith(begin)}
            if values:
                state[name] = values
        groups.append({"params": names, **{key: flat[f"param_groups.{names[0]}.{key}"] for key in group if key != "params" and names}})
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None):
    """Gives optimisers their state, from one with names of parameters."""
    model = _unwrapped(model)
    for optimizer in _listed(optimizers):
        _initialized(optimizer)
        state = optim_state_dict if "param_groups" in optim_state_dict else _unflat(optim_state_dict, model, optimizer)
        numbers = {name: number for number, name in _numbered(model, optimizer).items()}
        saved = {name: group for group in state["param_groups"] for name in group["params"]}
        names = iter(numbers)
        groups = []
        for group in optimizer.param_groups:
            own = [next(names) for _ in group["params"]]
            groups.append({**saved.get(own[0] if own else None, group), "params": own})
        optimizer.load_state_dict(_keyed({"state": {name: value for name, value in state["state"].items() if name in numbers}, "param_groups": groups}, numbers))


def get_state_dict(model, optimizers, *, submodules=None, options=None):
    """The states of a model and of its optimisers."""
    return (get_model_state_dict(model, submodules=submodules, options=options),
            get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options))


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Gives a model and its optimisers their states."""
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
