"""Modules as functions of their parameters."""
import kindling as torch


def functional_call(module: "torch.nn.Module", parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights: bool = True,
                    strict: bool = False):
    """The module's result with other parameters and buffers, given by name in one dict or in several.

    >>> linear = torch.nn.Linear(1, 1)
    >>> torch.func.functional_call(linear, {"weight": torch.ones(1, 1), "bias": torch.ones(1)}, torch.ones(1))
    tensor([2.])
    """
    given = parameter_and_buffer_dicts
    if isinstance(given, (list, tuple)):
        if not all(isinstance(each, dict) for each in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for each in given for name in each]
        twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if twice:
            raise ValueError(f"{twice} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: value for each in given for name, value in each.items()}
    elif not isinstance(given, dict):
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}")
    from kindling.nn.utils.stateless import _functional_call

    return _functional_call(module, given, () if args is None else args, {} if kwargs is None else kwargs, tie_weights=tie_weights,
                            strict=strict)


def stack_module_state(models):
    """(parameters, buffers) of several modules of one class, each stacked, by name: what `vmap` over `functional_call` takes.

    >>> params, buffers = torch.func.stack_module_state([torch.nn.Linear(1, 1) for _ in range(3)])
    >>> params["weight"].shape
    torch.Size([3, 1, 1])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or all(not model.training for model in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(tensors):
        tensors = tuple(tensors)
        if all(tensor.requires_grad for tensor in tensors):
            return torch.stack(tensors).detach().requires_grad_()
        if any(tensor.requires_grad for tensor in tensors):
            raise RuntimeError("Expected parameters from each model to have the same .requires_grad")
        return torch.stack(tensors)

    found = []
    for members in ("named_parameters", "named_buffers"):
        each = [dict(getattr(model, members)()) for model in models]
        found.append({name: stacked(values[name] for values in each) for name in each[0]})
    return tuple(found)


def replace_all_batch_norm_modules_(root: "torch.nn.Module") -> "torch.nn.Module":
    """Batch norms below `root` without running statistics, which transforms cannot write; the module itself.

    >>> norm = torch.func.replace_all_batch_norm_modules_(torch.nn.BatchNorm1d(2))
    >>> norm.running_mean is None
    True
    """
    for module in root.modules():
        batch_norm_without_running_stats(module)
    return root


def batch_norm_without_running_stats(module):
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.track_running_stats:
        module.running_mean = module.running_var = module.num_batches_tracked = None
        module.track_running_stats = False


def debug_unwrap(tensor: torch.Tensor, *, recurse: bool = True) -> torch.Tensor:
    """The tensor that one inside of a transform stands for, below all of them or (not `recurse`) below the innermost."""
    from kindling._functorch import _native
    while _native.is_functorch_wrapped_tensor(tensor):
        tensor = _native.get_unwrapped(tensor)
        if not recurse:
            break
    return tensor
