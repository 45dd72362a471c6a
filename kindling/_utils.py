"""How tensors are taken apart for pickling and put together again: the functions that torch's files name.

A file says `torch._utils._rebuild_tensor_v2` and so on; `kindling/_saving/unpickle.py` and `kindling/serialization.py` map
those names to the functions here. Backward hooks, which files of old versions may hold, are left out. Nothing here trusts sizes, strides or offsets: a view that its storage does not hold
is refused, because `set_` would otherwise grow the storage.
"""
from _collections import OrderedDict

import kindling as torch
from kindling.storage import TypedStorage, _storage_name

_LIMIT = 1 << 63


def _storage_parts(storage):
    """(untyped storage, dtype or None) of a typed or an untyped storage."""
    untyped = getattr(storage, "_untyped_storage", None)
    if untyped is not None:
        return untyped, storage.dtype
    if not hasattr(storage, "nbytes") or isinstance(storage, torch.Tensor):
        raise RuntimeError(f"rebuilding a tensor: expected a storage, got {type(storage).__name__}")
    return storage, None


def _whole(values, what):
    if not isinstance(values, (tuple, list)):
        raise RuntimeError(f"rebuilding a tensor: {what} must be a tuple, not {type(values).__name__}")
    for v in values:
        if type(v) is not int or not 0 <= v < _LIMIT:
            raise RuntimeError(f"rebuilding a tensor: {what} must hold whole numbers from 0 up to 2**63 - 1")
    return tuple(values)


def _checked_view(offset, size, stride, elements):
    """Refuses a view that needs more than `elements` elements; RuntimeError names the numbers that clash."""
    size, stride = _whole(size, "its size"), _whole(stride, "its stride")
    (offset,) = _whole((offset,), "its storage offset")
    if len(size) != len(stride):
        raise RuntimeError(f"rebuilding a tensor: {len(size)} sizes but {len(stride)} strides")
    if len(size) > 64:
        raise RuntimeError(f"rebuilding a tensor: it has {len(size)} dimensions; 64 is the limit")
    needed = offset
    if 0 not in size:
        needed = offset + 1
        for n, s in zip(size, stride):
            needed += (n - 1) * s
    elif elements == 0:
        needed = 0  # torch writes empty views of empty storages at any offset
    if needed > elements:
        raise RuntimeError(f"rebuilding a tensor: size {size}, stride {stride} and offset {offset} need {needed} "
                           f"elements, but the storage has {elements}")
    return offset, size, stride


def _rebuild_tensor(storage, storage_offset, size, stride, dtype=None):
    """A tensor over a storage (shared with every other tensor over it)."""
    untyped, stored = _storage_parts(storage)
    tensor = torch.empty((0,), dtype=_kind(dtype or stored), device=untyped.device)
    offset, size, stride = _checked_view(storage_offset, size, stride, untyped.nbytes() // tensor.element_size())
    return tensor.set_(untyped, offset, size, stride)


def _finish(tensor, requires_grad, metadata):
    if metadata:
        if type(metadata) is not dict:
            raise RuntimeError("rebuilding a tensor: its metadata must be a dict")
        if metadata.get("conj"):
            tensor = torch.conj(tensor)
        if metadata.get("neg"):
            tensor = torch._neg_view(tensor)
    if _flag(requires_grad):
        tensor.requires_grad_(True)
    return tensor


def _flag(requires_grad):
    if type(requires_grad) is not bool:
        raise RuntimeError("rebuilding a tensor: requires_grad must be True or False")
    return requires_grad


def _kind(dtype):
    if not isinstance(dtype, torch.dtype):
        raise RuntimeError("rebuilding a tensor: its dtype is missing")
    return dtype


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """A tensor as nearly every torch file describes it: a typed storage and a view of it."""
    return _finish(_rebuild_tensor(storage, storage_offset, size, stride), requires_grad, metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    """As v2, for dtypes that have no storage class (uint16, uint32, uint64): the storage is untyped."""
    return _finish(_rebuild_tensor(storage, storage_offset, size, stride, dtype), requires_grad, metadata)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    """A tensor of the meta device: shape and dtype only."""
    return torch.empty_strided(_whole(size, "its size"), _whole(stride, "its stride"), dtype=_kind(dtype),
                               device="meta", requires_grad=_flag(requires_grad))


def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    """A tensor of a device that has no storages, from its CPU copy."""
    if not isinstance(data, torch.Tensor) or not isinstance(device, (str, torch.device)):
        raise RuntimeError("rebuilding a tensor: expected a tensor and a device")
    tensor = data.to(dtype=_kind(dtype), device=device)
    return tensor.requires_grad_(_flag(requires_grad))


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    """As `_rebuild_device_tensor_from_cpu_tensor`, from a NumPy array."""
    return _rebuild_device_tensor_from_cpu_tensor(torch.from_numpy(data), dtype, device, requires_grad)


def _rebuild_sparse_tensor(layout, data):
    """A sparse tensor from its indices and values, which are checked: a file can hold any."""
    if layout == torch.sparse_coo:
        indices, values, size, *rest = data
        coalesced = rest[0] if rest else None
        return torch.sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=coalesced)
    compressed, plain, values, size = data
    return torch.sparse_compressed_tensor(compressed, plain, values, size, layout=layout, check_invariants=True)


def _rebuild_qtensor(storage, storage_offset, size, stride, quantizer_params, requires_grad, backward_hooks):
    """A quantised tensor: whole numbers, and (scheme, scale, zero point) or (scheme, scales, zero points, axis)."""
    from kindling._quantized import tensor as _quantized
    dtype = _kind(storage.dtype)
    if dtype not in _quantized.RANGES or not isinstance(quantizer_params, tuple) or not quantizer_params:
        raise RuntimeError("rebuilding a quantised tensor: its dtype or its scheme is missing")
    plain = _rebuild_tensor(storage, storage_offset, size, stride, _quantized.RANGES[dtype][0])
    scheme, *rest = quantizer_params
    if scheme == torch.per_tensor_affine and len(rest) == 2 and isinstance(rest[0], float) and isinstance(rest[1], int):
        return _quantized.make(plain, dtype, _quantized.Quantizer(scheme, *rest))
    if scheme in (torch.per_channel_affine, torch.per_channel_affine_float_qparams) and len(rest) == 3:
        scales, zeros, axis = rest
        if isinstance(scales, (list, tuple)):
            scales, zeros = torch.tensor(scales, dtype=torch.float64), torch.tensor(zeros, dtype=torch.int64)
        if type(axis) is int and 0 <= axis < plain.dim() and isinstance(scales, torch.Tensor) and isinstance(zeros, torch.Tensor) and (
                scales.shape == zeros.shape == (plain.size(axis),)):
            return _quantized.make(plain, dtype, _quantized.Quantizer(scheme, scales, zeros, axis))
    raise RuntimeError(f"Can't deserialize quantized tensor with qscheme {scheme}")


def _rebuild_wrapper_subclass(cls, dtype, size, stride, storage_offset, layout, device, requires_grad):
    """An instance of a wrapper subclass: no data of its own."""
    return torch.Tensor._make_wrapper_subclass(
        cls, _whole(size, "its size"), strides=_whole(stride, "its stride"), dtype=dtype,
        storage_offset=storage_offset, layout=layout, device=device, requires_grad=requires_grad)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """An nn.Parameter over a tensor."""
    return torch.nn.Parameter(data, _flag(requires_grad))


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    """An nn.Parameter with the Python attributes it had."""
    return _set_obj_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor of a subclass, or one with Python attributes."""
    result = func(*args)
    if type(result) is not new_type:
        result = result.as_subclass(new_type)
    setstate = getattr(new_type, "__setstate__", None)
    if setstate is not None and setstate is not getattr(torch.Tensor, "__setstate__", None):
        result.__setstate__(state)
        return result
    return _set_obj_state(result, state)


def _get_obj_state(obj):
    """What pickling keeps of an object's Python attributes: its `__dict__`, or (`__dict__`, slots)."""
    getstate = getattr(obj, "__getstate__", None)
    if getstate is not None:
        return getstate()
    from copyreg import _slotnames
    slots = {name: getattr(obj, name) for name in _slotnames(type(obj)) if hasattr(obj, name)}
    return (obj.__dict__, slots) if slots else obj.__dict__


def _set_obj_state(obj, state):
    """Undoes `_get_obj_state`. Attribute names must be strings and not special (`__class__` and the like)."""
    parts = state if isinstance(state, tuple) else (state, None)
    if len(parts) != 2:
        raise RuntimeError("rebuilding a tensor: its state must be a dict or a pair of dicts")
    for part in parts:
        if not part:
            continue
        if not isinstance(part, dict):
            raise RuntimeError(f"rebuilding a tensor: its state must be a dict, not {type(part).__name__}")
        for name, value in part.items():
            if type(name) is not str or name.startswith("__"):
                raise RuntimeError("rebuilding a tensor: an attribute has a name that is not allowed")
            setattr(obj, name, value)
    return obj


def _reduce_tensor(tensor, protocol=2):
    """`Tensor.__reduce_ex__`: how any tensor is pickled, in torch's form.

    Returns (function, arguments). Backward hooks are not kept, as in torch. Raises NotImplementedError for layouts
    that cannot be written.
    """
    recorder = torch._C._record_sizes(None)       # a pickle holds numbers, where sizes are symbols, too
    try:
        if "_quantizer" in tensor.__dict__:
            return _reduce_quantized(tensor)
        function, args = _reduce_plain(tensor)
    finally:
        torch._C._record_sizes(recorder)
    state = _get_obj_state(tensor)
    if type(tensor) is torch.Tensor and not state:
        return function, args
    return _rebuild_from_type_v2, (function, type(tensor), args, state)


def _reduce_quantized(tensor):
    from kindling._quantized.tensor import numbers
    plain, quantizer = numbers(tensor), tensor._quantizer
    how = quantizer.scheme, quantizer.scale, quantizer.zero_point, *(() if quantizer.axis is None else (quantizer.axis,))
    storage = TypedStorage(wrap_storage=plain.untyped_storage(), dtype=tensor.dtype)
    return _rebuild_qtensor, (storage, plain.storage_offset(), tuple(plain.size()), plain.stride(), how, False, OrderedDict())


def _reduce_plain(tensor):
    layout = tensor.layout
    if layout == torch.sparse_coo:
        return _rebuild_sparse_tensor, (layout, (tensor._indices(), tensor._values(), tensor.size(),
                                                 tensor.is_coalesced()))
    if layout != torch.strided:
        rows = layout in (torch.sparse_csr, torch.sparse_bsr)
        parts = (tensor.crow_indices(), tensor.col_indices()) if rows else (tensor.ccol_indices(), tensor.row_indices())
        return _rebuild_sparse_tensor, (layout, (*parts, tensor.values(), tensor.size()))
    if tensor.device.type == "meta":
        return _rebuild_meta_tensor_no_storage, (tensor.dtype, tuple(tensor.size()), tensor.stride(),
                                                 tensor.requires_grad)
    cls = type(tensor)
    if cls is not torch.Tensor and getattr(cls, "__torch_dispatch__", None) is not getattr(
            torch.Tensor, "__torch_dispatch__", None) and tensor.data_ptr() == 0:
        return _rebuild_wrapper_subclass, (cls, tensor.dtype, tuple(tensor.size()), tensor.stride(),
                                           tensor.storage_offset(), layout, tensor.device, tensor.requires_grad)
    untyped = tensor.untyped_storage()
    args = tensor.storage_offset(), tuple(tensor.size()), tensor.stride(), tensor.requires_grad, OrderedDict()
    if _storage_name(tensor.dtype) is None:
        function, args = _rebuild_tensor_v3, (untyped, *args, tensor.dtype)
    else:
        function, args = _rebuild_tensor_v2, (TypedStorage(wrap_storage=untyped, dtype=tensor.dtype), *args)
    metadata = {}
    if tensor.is_conj():
        metadata["conj"] = True
    if tensor.is_neg():
        metadata["neg"] = True
    return function, (*args, metadata) if metadata else args


def _reduce_parameter(parameter, protocol=2):
    """`nn.Parameter.__reduce_ex__`: the data, whether it takes a gradient, and Python attributes if there are any."""
    state = _get_obj_state(parameter)
    args = parameter.data, parameter.requires_grad, OrderedDict()
    return (_rebuild_parameter_with_state, (*args, state)) if state else (_rebuild_parameter, args)


def _element_size(dtype):
    """Bytes of an element."""
    if not isinstance(dtype, torch.dtype):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _flatten_dense_tensors(tensors):
    """The elements of tensors of one dtype, one after the other."""
    return tensors[0].contiguous().view(-1) if len(tensors) == 1 else torch.cat([each.contiguous().view(-1) for each in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Views of a flat tensor with the shapes of tensors."""
    views, start = [], 0
    for each in tensors:
        views.append(flat.narrow(0, start, each.numel()).view(each.shape))
        start += each.numel()
    return tuple(views)


def _take_tensors(tensors, size_limit):
    """Lists of tensors of one type, each of at most so many bytes if it has more than one."""
    by_type = {}
    for each in tensors:
        held = by_type.setdefault(each.type(), [[], 0])
        size = each.numel() * each.element_size()
        if held[0] and held[1] + size > size_limit:
            yield held[0]
            held[:] = [], 0
        held[0].append(each)
        held[1] += size
    for held, _ in by_type.values():
        if held:
            yield held


def _reorder_tensors_as(tensors, ordered_tensors):
    """The tensors, of which those of one type stand in order, in the order of types of others."""
    by_type = {}
    for each in tensors:
        by_type.setdefault(each.type(), []).append(each)
    by_type = {kind: iter(each) for kind, each in by_type.items()}
    return tuple(next(by_type[each.type()]) for each in ordered_tensors)


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a device of an accelerator; -1 for the CPU where that is allowed."""
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type == "cpu":
            if allow_cpu:
                return -1
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        if device.index is not None:
            return device.index
    if isinstance(device, int):
        return device
    if optional:
        return 0
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")


def _get_available_device_type():
    """The type of an accelerator that is there, or None."""
    return next((each for each in ("cuda", "xpu", "mps", "mtia") if getattr(torch, each).is_available()), None)


def _get_device_attr(get_member):
    kind = _get_available_device_type()
    return get_member(getattr(torch, kind)) if kind else None


def _get_all_device_indices():
    return _get_device_attr(lambda module: list(range(module.device_count())))


def _get_current_device_index():
    return _get_device_attr(lambda module: module.current_device())


def _get_device_module(device_type):
    """The module of a kind of device; RuntimeError if there is none."""
    module = getattr(torch, device_type, None)
    if module is None:
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'.")
    return module


def is_compiling():
    """False."""
    return False


def _import_dotted_name(name):
    first, *others = name.split(".")
    value = __import__(first)
    for each in others:
        value = getattr(value, each)
    return value


class classproperty:
    """A property of a class itself."""

    def __init__(self, func):
        self.func = func

    def __get__(self, instance, owner):
        return self.func(owner)


class KeyErrorMessage(str):
    """Text that is shown as it is, where KeyError would show it quoted."""

    __slots__ = ()
    __repr__ = str.__str__


class ExceptionWrapper:
    """An exception, as its class and formatted traceback, and where it was raised, to be raised again in another thread or process."""

    def __init__(self, exc_info=None, where="in background"):
        import sys
        import traceback
        exc_info = exc_info or sys.exc_info()
        self.exc_type, self.exc_msg, self.where = exc_info[0], "".join(traceback.format_exception(*exc_info)), where

    def reraise(self):
        """Raises an exception of the same class, with the traceback in its message."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:       # its class wants other arguments
            raise RuntimeError(message) from None
        raise error
