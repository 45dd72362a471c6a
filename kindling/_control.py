"""Functions over functions: ``vmap`` (one call for each slice), ``cond`` and ``while_loop``, which run as plain Python."""


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """``func`` for each slice of its inputs, the results stacked.

    ``in_dims``: the dimension to run over, for each argument alike or one by one (nested as the arguments are; ``None`` hands an
    argument on whole). ``out_dims``: where the new dimension goes, for each result. ``randomness``: "error", "different" or "same"
    draws for each slice. Each slice is a call of its own: right, differentiable, and slow for many slices; ``chunk_size`` is accepted.

    >>> torch.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapped(*args, **kwargs):
        return _map(func, in_dims, out_dims, randomness, args, kwargs)
    import functools
    try:
        return functools.wraps(func)(wrapped)
    except AttributeError:
        return wrapped


def _name(func):
    return getattr(func, "__name__", repr(func))


def _is_batched_itself(value):
    """Whether it is a collection of tensors with a shape of its own, which `vmap` takes as one (tensordict's)."""
    return hasattr(type(value), "_add_batch_dim")


def _slice(value, dim, index):
    if not _is_batched_itself(value):
        return value.select(dim, index)
    return value[(slice(None),) * (dim % value.dim()) + (index,)]


def _map(func, in_dims, out_dims, randomness, args, kwargs):
    import kindling as torch
    from kindling.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

    call = f"vmap({_name(func)}, in_dims={in_dims}, ...)"
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(f"{call}(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
                         f"got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with "
                         "no inputs. The latter is unsupported.")
    flat, spec = tree_flatten(args, _is_batched_itself)
    dims = _broadcast_to_and_flatten(in_dims if isinstance(in_dims, int) else tuple(in_dims), spec, _is_batched_itself)
    if dims is None:
        raise ValueError(f"{call}(<inputs>): in_dims is not compatible with the structure of inputs. in_dims has structure "
                         f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}.")
    size = None
    for place, (value, dim) in enumerate(zip(flat, dims)):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(f"{call}(<inputs>): Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
        if not isinstance(value, torch.Tensor) and not _is_batched_itself(value):
            raise ValueError(f"{call}(<inputs>): Got in_dim={dim} for an input but the input is of type {type(value)}. We cannot vmap over "
                             "non-Tensor arguments, please use None as the respective in_dim")
        if not -value.dim() <= dim < value.dim():
            raise ValueError(f"{call}(<inputs>): Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {value.dim()} "
                             f"so expected in_dim to satisfy -{value.dim()} <= in_dim < {value.dim()}.")
        if size is not None and value.shape[dim] != size:
            raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                             f"{[v.shape[d] for v, d in zip(flat, dims) if d is not None]} for the mapped dimension")
        size = value.shape[dim]
    if size is None:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    state = torch.get_rng_state() if randomness != "different" else None
    results, form = [], None
    for i in range(size):
        if i and randomness == "same":
            torch.set_rng_state(state)
        each = func(*tree_unflatten([v if d is None else _slice(v, d, i) for v, d in zip(flat, dims)], spec), **kwargs)
        values, form = tree_flatten(each, _is_batched_itself)
        for value in values:
            if not isinstance(value, torch.Tensor) and not _is_batched_itself(value):
                raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(value)}.")
        results.append(values)
    if size == 0:
        raise ValueError("vmap: there are no slices to run over: the result's shape would be unknown")
    if randomness == "error" and not torch.equal(torch.get_rng_state(), state):
        torch.set_rng_state(state)
        raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
                           "randomness flags on vmap or perform the randomness operation out of vmap")
    places = _broadcast_to_and_flatten(out_dims, form, _is_batched_itself)
    if places is None:
        raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims}): out_dims is not compatible with the structure of outputs. out_dims "
                         f"has structure {tree_flatten(out_dims)[1]} but outputs has structure {form}.")
    return tree_unflatten([torch.stack(list(each), place) if place is not None else each[0]
                           for each, place in zip(zip(*results), places)], form)


def cond(pred, true_fn, false_fn, operands=()):
    """``true_fn(*operands)`` or ``false_fn(*operands)``, by ``pred``: a bool or a tensor of one element.

    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.zeros(1),))
    tensor([1.])
    """
    import kindling as torch

    if not isinstance(pred, (bool, int, torch.Tensor, torch.SymBool)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got "
                           f"{operands}.")
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """``carried = body_fn(*carried)`` while ``cond_fn(*carried)``; the last ones."""
    if not callable(cond_fn):
        raise RuntimeError("Expect cond_fn to be callable.")
    if not callable(body_fn):
        raise RuntimeError("Expect body_fn to be callable.")
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        carried = body_fn(*carried)
        carried = tuple(carried) if isinstance(carried, (tuple, list)) else (carried,)
    return carried
