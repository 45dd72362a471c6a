"""Batches from lists of samples, and tensors from what a dataset gives."""
import sys
from _collections_abc import Mapping, MutableMapping, MutableSequence, Sequence

import kindling as torch

default_collate_err_msg_format = ("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
                                  "found {}")


def __getattr__(name):
    if name != "np_str_obj_array_pattern":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import re
    return globals().setdefault(name, re.compile(r"[SaUO]"))        # kinds of NumPy's arrays that have no numbers


def _copied(container, items):
    """A copy of a dict- or list-like `container` with the given new items; TypeError if its class has no such way."""
    if isinstance(container, (MutableMapping, MutableSequence)):
        # Copied first and then filled, so that what a subclass carries besides its items stays.
        from copy import copy
        clone = copy(container)
        if isinstance(container, MutableMapping):
            clone.update(items)
        else:
            for place, item in enumerate(items):
                clone[place] = item
        return clone
    return type(container)(items)


def _mapped(container, function, *, keep_tuples):
    """`container` with `function` applied to each item, in the same class if that allows it."""
    if isinstance(container, Mapping):
        items = {key: function(container[key]) for key in container}
        if type(container) is dict:
            return items
    elif isinstance(container, tuple):
        items = [function(item) for item in container]
        if hasattr(container, "_fields"):
            return type(container)(*items)
        return type(container)(items) if keep_tuples else items
    else:
        items = [function(item) for item in container]
        if type(container) is list:
            return items
    try:
        return _copied(container, items)
    except TypeError:
        return items


def _holds_text_or_objects(dtype):
    return any(letter in dtype.str for letter in "SaUO")


def default_convert(data):
    """Numpy arrays and scalars as tensors, in containers of any depth; the rest as it is.  Plain tuples become lists.

    What a loader does with samples that it does not batch.
    """
    kind = type(data)
    if isinstance(data, torch.Tensor) or isinstance(data, (str, bytes)) and kind.__module__ != "numpy":
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        if kind.__name__ == "ndarray" and _holds_text_or_objects(data.dtype):
            return data
        return torch.as_tensor(data)
    if isinstance(data, (Mapping, tuple, Sequence)) and not isinstance(data, (str, bytes)):
        return _mapped(data, default_convert, keep_tuples=False)
    return data


def collate(batch, *, collate_fn_map=None):
    """One batch from a list of samples: by the function for the first sample's class, or item by item in containers.

    `collate_fn_map` gives functions by class or tuple of classes, called as `function(batch, collate_fn_map=...)`.
    RuntimeError for sequences of unequal length, TypeError for samples of no known class.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if collate_fn_map is default_collate_fn_map:
            _know_numpy()
        function = collate_fn_map.get(kind)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)
        for each in collate_fn_map:
            if isinstance(first, each):
                return collate_fn_map[each](batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        items = {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first}
        if kind is dict:
            return items
    elif isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*[collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)])
    elif isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        items = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        if kind is list or isinstance(first, tuple):
            return items
    else:
        raise TypeError(default_collate_err_msg_format.format(kind))
    try:
        return _copied(first, items)
    except TypeError:
        return items


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Tensors stacked along a new first dimension; RuntimeError for nested and sparse ones."""
    first = batch[0]
    if first.is_nested:
        raise RuntimeError("Batches of nested tensors are not currently supported by the default collate_fn; please "
                           "provide a custom collate_fn to handle them appropriately.")
    if first.layout is not torch.strided:
        raise RuntimeError("Batches of sparse tensors are not currently supported by the default collate_fn; please "
                           "provide a custom collate_fn to handle them appropriately.")
    return torch.stack(list(batch), 0)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Numpy arrays as one tensor; TypeError for arrays of text or objects."""
    if _holds_text_or_objects(batch[0].dtype):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([torch.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """Numpy scalars as one tensor."""
    return torch.as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    """Floats as one tensor of float64."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Integers or booleans as one tensor."""
    return torch.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Text as it is."""
    return batch


default_collate_fn_map = {torch.Tensor: collate_tensor_fn, float: collate_float_fn, int: collate_int_fn,
                          str: collate_str_fn, bytes: collate_str_fn}
_knows_numpy = False


def _know_numpy():
    """Adds numpy's classes, once numpy is loaded: who never used it has no arrays."""
    global _knows_numpy
    numpy = None if _knows_numpy else sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "object_"):
        return
    _knows_numpy = True
    # Before float and str, of which some of numpy's scalars are kinds too.
    known = dict(default_collate_fn_map)
    default_collate_fn_map.clear()
    default_collate_fn_map[torch.Tensor] = known.pop(torch.Tensor, collate_tensor_fn)
    default_collate_fn_map[numpy.ndarray] = collate_numpy_array_fn
    default_collate_fn_map[(numpy.bool_, numpy.number, numpy.object_)] = collate_numpy_scalar_fn
    default_collate_fn_map.update(known)


def default_collate(batch):
    """One batch from a list of samples: tensors, arrays and numbers as tensors with a new first dimension.

    Text stays a list; dicts, named tuples, tuples and lists are collated item by item (tuples become lists).

        >>> default_collate([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
        {'a': tensor([1, 2]), 'b': ['x', 'y']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
