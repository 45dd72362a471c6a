"""Calling a module with other parameters than its own."""
import kindling as torch

__all__ = ["functional_call"]


_MISSING = object()


def _owner(module, name):
    """The module that holds a dotted name, and the last part."""
    path, _, last = name.rpartition(".")
    if last == "":
        raise KeyError('tensor name can\'t be empty string ""')
    owner = module
    for part in path.split(".") if path else ():
        owner = getattr(owner, part, None) if part in owner._modules else None
        if owner is None:
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
    return owner, last


def _swap(owner, name, value):
    """Puts a tensor in place of parameter, buffer or attribute `name`; answers where it was held, and the former."""
    if value is not None and not isinstance(value, torch.Tensor):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    for held in (owner._parameters, owner._buffers):
        if name in held:
            former = held[name]
            held[name] = value
            return held, former
    # A name that the module does not have is given to it for the time of the call.
    former = getattr(owner, name, _MISSING)
    if former is _MISSING:
        setattr(owner, name, value)
        return None, former
    if former is not None and not isinstance(former, torch.Tensor):
        raise TypeError(f"attribute `{name}`: {former} is not an instance of torch.Tensor")
    setattr(owner, name, value)
    return None, former


def _tied_names(module):
    """Every name of a parameter or buffer, with all names of the same tensor."""
    by_tensor = {}
    for members in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, tensor in members:
            by_tensor.setdefault(id(tensor), []).append(name)
    return {name: names for names in by_tensor.values() for name in names}


def _untie(module, given):
    """`given` with every other name of the same tensor added. ValueError where tied names get different tensors."""
    tied = _tied_names(module)
    full = dict(given)
    for name, value in given.items():
        names = tied.get(name, (name,))
        conflicting = [other for other in names if other in given and given[other] is not value]
        if conflicting:
            clash = sorted({name, *conflicting})
            raise ValueError(f"functional_call got multiple values for keys {clash}, which are tied. Consider using "
                             "tie_weights=False")
        for other in names:
            full[other] = value
    return full


def _functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    known = {name for members in (module.named_parameters(remove_duplicate=False),
                                  module.named_buffers(remove_duplicate=False)) for name, _ in members}
    given = _untie(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        unexpected = [name for name in parameters_and_buffers if name not in known]
        missing = [name for name in known if name not in given]
        problems = []
        if unexpected:
            problems.append("Unexpected key(s): {}.".format(", ".join(map(repr, sorted(unexpected)))))
        if missing:
            problems.append("Missing key(s): {}.".format(", ".join(map(repr, sorted(missing)))))
        if problems:
            raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(),
                                                                                   "\n\t".join(problems)))
    swapped = []
    try:
        for name, value in given.items():
            owner, last = _owner(module, name)
            swapped.append((owner, last, name, *_swap(owner, last, value)))
        return module(*args, **(kwargs or {}))
    finally:
        for owner, last, name, held, former in reversed(swapped):
            current = getattr(owner, last, None)
            # A buffer that the call replaced is handed back to the caller's dictionary.
            if name in parameters_and_buffers:
                parameters_and_buffers[name] = current
            if held is not None:
                held[last] = former
            elif former is _MISSING:
                delattr(owner, last)
            else:
                setattr(owner, last, former)


def functional_call(module: "torch.nn.Module", parameters_and_buffers: dict[str, torch.Tensor], args=None, kwargs=None, *,
                    tie_weights: bool = True, strict: bool = False):
    """module(*args, **kwargs) with these parameters and buffers, by dotted name, in place of its own.

    Tied tensors are replaced together unless tie_weights=False. With `strict` every name must be given: RuntimeError.
    """
    import warnings
    warnings.warn("This API is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. Please "
                  "use torch.func.functional_call instead which is a drop-in replacement for this API.", FutureWarning,
                  stacklevel=2)
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
