"""What `vmap` is made of, for packages that write one of their own: inputs, levels, results."""
import kindling as torch
from kindling import Tensor
from kindling.func._vmap import (_add_batch_dim, _check_out_dims, _inputs, _leave, _Level, _name, _outputs,
                                  _remove_batch_dim, vmap as _vmap)   # noqa: F401
from kindling.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = ["Tensor", "get_chunk_sizes", "restore_vmap", "tree_flatten", "tree_unflatten", "unwrap_batched", "vmap_impl",
           "vmap_increment_nesting", "wrap_batched"]

_get_name = _name
vmap_increment_nesting = _Level


def _process_batched_inputs(in_dims, args, func):
    """(how many slices, the dimension of each leaf, the leaves, their structure)."""
    flat, dims, spec, size = _inputs(func, in_dims, args)
    return size, dims, flat, spec


def _create_batched_inputs(flat_in_dims, flat_args, vmap_level, args_spec):
    return tree_unflatten([value if dim is None else _add_batch_dim(value, dim, vmap_level) for value, dim in zip(flat_args, flat_in_dims)], args_spec)


def _check_out_dims_is_int_or_int_pytree(out_dims, func):
    _check_out_dims(func, out_dims)


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    """All slices of one result, or what it is where it has none and `out_dim` is None."""
    if out_dim is not None and not isinstance(batched_output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(batched_output)}. Did you mean to set out_dims= to None "
                         "for output?")
    return _leave(name, batched_output, vmap_level, batch_size, out_dim)


def _unwrap_batched(batched_outputs, out_dims, vmap_level, batch_size, func):
    """All slices of all results."""
    values, form, places = _outputs(func, batched_outputs, out_dims)
    return tree_unflatten([_leave(func, value, vmap_level, batch_size, place) for value, place in zip(values, places)], form)


def vmap_impl(func, in_dims, out_dims, randomness, chunk_size, *args, **kwargs):
    return _vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)(*args, **kwargs)


def get_chunk_sizes(total_elems, chunk_size):
    """How many slices each chunk has."""
    return [chunk_size] * (total_elems // chunk_size) + [rest for rest in (total_elems % chunk_size,) if rest]


def restore_vmap(func, in_dims, batch_size, randomness):
    """`func` mapped over `batch_size` slices: its results with the slices' dimension wherever that is, and where that is (None: nowhere).

    Unlike `vmap` it takes what has no slices at all, and results that are no tensors.
    """
    def inner(*args, **kwargs):
        with _Level(batch_size, randomness) as level:
            return unwrap_batched(func(*wrap_batched(args, in_dims, level), **kwargs), level)
    return inner


def wrap_batched(args, bdims, level):
    flat, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(bdims, spec)
    assert dims is not None, "the dimensions do not have the structure of the arguments"
    return _create_batched_inputs(dims, flat, level, spec)


def unwrap_batched(args, level):
    """The results below a level, and the dimension of the slices in each."""
    flat, spec = tree_flatten(args)
    if not flat:
        return args, ()
    pairs = [torch._C._functorch._unwrap_batched(value, level) if isinstance(value, Tensor) else (value, None) for value in flat]
    return tuple(tree_unflatten(list(each), spec) for each in zip(*pairs))
