"""``vmap``: the mapped function gets batched tensors, each of which shows one slice and stands for all (core/batch.h)."""
import functools

from kindling import _C

_RANDOMNESS = {"error": 0, "different": 1, "same": 2}
_CODES = {**_RANDOMNESS, "first": 3}  # as the core has them; "first": the first form of vmap (torch._vmap_internals)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """``func`` for every slice of its inputs at once; the results of all slices.

    ``in_dims``: the dimension to run over, for each argument alike or one by one (nested as the arguments are; ``None`` hands an
    argument on whole). ``out_dims``: where the new dimension goes, for each result (``None``: a result that is the same for all slices).
    ``randomness``: "error" refuses draws of random numbers, "different" draws for each slice, "same" once for all. ``chunk_size``: so many
    slices at a time, for less memory.

    >>> torch.vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    return _mapped(func, in_dims, out_dims, randomness, chunk_size)


def _mapped(func, in_dims, out_dims, randomness, chunk_size=None):
    _check_out_dims(func, out_dims)

    def wrapped(*args, **kwargs):
        from kindling.utils._pytree import tree_unflatten
        flat, dims, spec, size = _inputs(func, in_dims, args)
        if chunk_size is None or size <= chunk_size:
            values, _, form = _map(func, flat, dims, spec, size, out_dims, randomness, kwargs)
        else:
            values, form = _chunks(func, flat, dims, spec, size, out_dims, randomness, kwargs, chunk_size)
        return tree_unflatten(values, form)
    try:
        return functools.wraps(func)(wrapped)
    except AttributeError:
        return wrapped


def _check_out_dims(func, out_dims):
    """Numbers or None, in any structure."""
    if isinstance(out_dims, int):
        return
    from kindling.utils._pytree import tree_leaves
    if not all(isinstance(leaf, int) or leaf is None for leaf in tree_leaves(out_dims)):
        raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints representing where in the "
                         "outputs the vmapped dimension should appear.")


def _name(func):
    return getattr(func, "__name__", repr(func))


def _is_batched_itself(value):
    """Whether it is a collection of tensors with a shape of its own, which `vmap` takes as one (tensordict's)."""
    return hasattr(type(value), "_add_batch_dim")


def _inputs(func, in_dims, args):
    """The arguments' leaves, the dimension of each (not negative, or None), their structure, and how many slices there are."""
    import kindling as torch
    from kindling.utils._pytree import _broadcast_to_and_flatten, tree_flatten
    call = f"vmap({_name(func)}, in_dims={in_dims}, ...)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"{call}(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
                         f"got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with "
                         "no inputs. The latter is unsupported.")
    flat, spec = tree_flatten(args, _is_batched_itself)
    dims = _broadcast_to_and_flatten(in_dims, spec, _is_batched_itself)
    if dims is None:
        raise ValueError(f"{call}(<inputs>): in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}.")
    sizes = []
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
        dims[place] = dim % value.dim()
        sizes.append(value.shape[dims[place]])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension")
    return flat, dims, spec, sizes[0]


class _Level:
    """A level for a `with` block; gives its number."""

    def __init__(self, size, randomness):
        self.size, self.randomness = size, randomness

    def __enter__(self):
        return _C._vmap_open(self.size, _CODES[self.randomness])

    def __exit__(self, kind, value, traceback):
        _C._vmap_close()


def _add_batch_dim(value, dim, depth):
    """What stands for all slices of `value` along `dim` at the open level `depth`."""
    return _C._vmap_wrap(value if dim == 0 else value.movedim(dim, 0), depth)


def _remove_batch_dim(value, depth, size, dim):
    """All slices of a result of the level `depth`, with their dimension at `dim`; `dim` None: of what is the same for all."""
    below, batched = _C._vmap_unwrap(value, depth)
    if dim is None:
        return below
    if not -below.dim() <= dim < below.dim() + (not batched):
        raise IndexError(f"Dimension out of range (expected to be in range of [{-below.dim() - (not batched)}, {below.dim() - batched}], but got {dim})")
    if batched:
        return below if dim == 0 else below.movedim(0, dim)
    return below.expand(size, *below.shape).movedim(0, dim)


def _enter(value, dim, depth):
    if dim is None:
        return value
    if _is_batched_itself(value):
        return value._add_batch_dim(in_dim=dim, vmap_level=depth)
    return _add_batch_dim(value, dim, depth)


def _map(func, flat, dims, spec, size, out_dims, randomness, kwargs):
    """One call of `func` for all slices: the leaves of what it gives, where each has its new dimension, and their structure."""
    from kindling.utils._pytree import tree_unflatten
    with _Level(size, randomness) as depth:
        result = func(*tree_unflatten([_enter(value, dim, depth) for value, dim in zip(flat, dims)], spec), **kwargs)
        values, form, places = _outputs(func, result, out_dims)
        return [_leave(func, value, depth, size, place) for value, place in zip(values, places)], places, form


def _outputs(func, result, out_dims):
    """A result's leaves, its structure, and where each leaf's new dimension goes."""
    import kindling as torch
    from kindling.utils._pytree import _broadcast_to_and_flatten, tree_flatten
    values, form = tree_flatten(result, _is_batched_itself)
    places = _broadcast_to_and_flatten(out_dims, form, _is_batched_itself)
    if places is None and isinstance(result, torch.Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        places = list(out_dims)
    if places is None:
        raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims}): out_dims is not compatible with the structure of `outputs`. out_dims "
                         f"has structure {tree_flatten(out_dims)[1]} but outputs has structure {form}.")
    for value, place in zip(values, places):
        if place is not None and not isinstance(value, torch.Tensor) and not _is_batched_itself(value):
            raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(value)}. Did you mean to set out_dims= to None "
                             "for output?")
    return values, form, places


def _leave(func, value, depth, size, place):
    if _is_batched_itself(value):
        return value if place is None else value._remove_batch_dim(vmap_level=depth, batch_size=size, out_dim=place)
    if place is None and _C._batch_of(value) is None:
        return value
    if place is None and _C._vmap_unwrap(value, depth)[1]:
        raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None")
    return _remove_batch_dim(value, depth, size, place)


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks=2):
    """`vmap` by so many parts of the slices, one after the other.

    >>> from functorch.experimental import chunk_vmap
    >>> chunk_vmap(torch.sum, chunks=2)(torch.ones(5, 3))
    tensor([3., 3., 3., 3., 3.])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    def wrapped(*args, **kwargs):
        size = _inputs(func, in_dims, args)[3]
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(1, -(-size // chunks)))(*args, **kwargs)
    return functools.wraps(func, assigned=[name for name in functools.WRAPPER_ASSIGNMENTS if hasattr(func, name)])(wrapped)


def _chunks(func, flat, dims, spec, size, out_dims, randomness, kwargs, chunk_size):
    """Some slices at a time; random numbers that are the same for all slices are so for all chunks."""
    import kindling as torch
    state = torch.get_rng_state() if randomness == "same" else None
    parts, places, form = [], None, None
    for start in range(0, size, chunk_size):
        if state is not None:
            torch.set_rng_state(state)
        count = min(chunk_size, size - start)
        some = [value if dim is None else value[(slice(None),) * dim + (slice(start, start + count),)] for value, dim in zip(flat, dims)]
        values, places, form = _map(func, some, dims, spec, count, out_dims, randomness, kwargs)
        parts.append(values)
    return [torch.cat(list(each), place) if place is not None else each[0] for each, place in zip(zip(*parts), places)], form


class VmapInfo(tuple):
    """What a rule is told: (batch_size, randomness)."""
    __slots__ = ()
    batch_size = property(lambda self: self[0])
    randomness = property(lambda self: self[1])

    def __new__(cls, batch_size, randomness):
        return tuple.__new__(cls, (batch_size, randomness))

    def __repr__(self):
        return f"VmapInfo(batch_size={self[0]}, randomness={self[1]!r})"


def _by_rule(rule, name, args):
    """What a rule written for slices along a dimension gives for batched arguments."""
    import kindling as torch
    from kindling.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
    flat, spec = tree_flatten(args)
    level = _C._vmap_newest(flat)      # a tensor of it: the vmap may have ended, of a backward
    below, dims = [], []
    for value in flat:
        value, batched = _C._vmap_unwrap(value, level) if isinstance(value, torch.Tensor) else (value, False)
        below.append(value)
        dims.append(0 if batched else None)
    info = VmapInfo(*_C._vmap_level(level))

    def call():
        return rule(info, tree_unflatten(dims, spec), *tree_unflatten(below, spec))
    made = _C._vmap_below(level, call, ())
    if not isinstance(made, tuple) or len(made) != 2:
        got = f"a {type(made)} instead" if not isinstance(made, tuple) else f"{len(made)} returns instead"
        raise RuntimeError("Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the "
                           f"output. Got {got}: {name}")
    outputs, form = tree_flatten(made[0])
    places = _broadcast_to_and_flatten(made[1], form)
    if places is None:
        raise RuntimeError("The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
                           f"out_dims={made[1]} to be compatible with the structure of `output`: {name}")
    return tree_unflatten([_C._vmap_wrap(value, level, False) if place is None else _C._vmap_wrap(_C._vmap_below(level, value.movedim, (place, 0)), level)
                           for value, place in zip(outputs, places)], form)


def _with_forward(cls, forward):
    """The same Function with another forward, which is not looked at a second time."""
    return type(cls.__name__, (cls,), {"_is_mapped": True, "__module__": cls.__module__, "forward": staticmethod(forward)})


def mapped_class(cls, args):
    """An `autograd.Function` whose forward goes by its own `vmap`; None where it has none, or nothing has a batch dimension."""
    from kindling.autograd import Function
    from kindling.utils._pytree import tree_flatten
    rule = cls.vmap
    if hasattr(cls, "_is_mapped"):
        return None
    if rule is Function.vmap:
        # A backward that runs under a vmap of its own (`is_grads_batched`) maps what it is made of.
        if not cls.generate_vmap_rule and _C._vmap_depth():
            raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap staticmethod or set "
                               "generate_vmap_rule=True. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html")
        return None
    if cls.generate_vmap_rule:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overriden vmap staticmethod. Please set "
                           "generate_vmap_rule=False or delete the overriden vmap staticmethod to avoid ambiguity.")
    flat = tree_flatten(args)[0]
    newest = _C._vmap_newest(flat)
    if newest is None or not any(_C._vmap_unwrap(value, newest)[1] for value in flat if _C._batch_of(value) is not None):
        return None
    return _with_forward(cls, lambda *inputs: _by_rule(rule, cls.__name__, inputs))


def class_above_graph(cls, args):
    """An `autograd.Function` that a graph of the newest level records, and one below: its forward is itself, recorded below."""
    import kindling as torch
    if hasattr(cls, "_is_mapped"):
        return None

    def below(*inputs):
        with torch.enable_grad():
            return cls.apply(*(_C._vmap_header(value) if isinstance(value, torch.Tensor) else value for value in inputs))
    return _with_forward(cls, below)
