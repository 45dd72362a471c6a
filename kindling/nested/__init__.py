"""Nested tensors: several tensors of different sizes as one (torch.nested)."""
import kindling as torch
from kindling import Tensor

__all__ = ["to_padded_tensor", "as_nested_tensor", "nested_tensor", "nested_tensor_from_jagged", "narrow", "masked_select"]

__getattr__, __dir__ = torch._lazy_parts(globals(), {}, ("_internal",))


def _jagged():
    """The module of nested tensors with layout jagged, which needs this package to be there."""
    from ._internal import nested_tensor
    return nested_tensor


def _layout(layout):
    layout = torch.strided if layout is None else layout
    if layout not in (torch.strided, torch.jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    return layout == torch.jagged


def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A nested tensor with copies of the tensors (or nested lists of numbers) in a list; it has no history."""
    jagged = _layout(layout)
    tensors = _listed(tensor_list, dtype, device)
    if jagged:
        return _jagged().from_list([each.detach() for each in tensors], requires_grad)
    from ._internal import strided
    result = strided.from_list([each.detach() for each in tensors], dtype, device)
    return strided.leaf(result, requires_grad)


def _listed(values, dtype, device):
    if isinstance(values, Tensor) and values.dim():
        values = values.unbind()
    if not isinstance(values, (list, tuple)):
        raise TypeError("nested_tensor(): argument 'tensor_list' (position 1) must be list")
    found = []
    for each in values:
        if isinstance(each, Tensor):
            found.append(each.to(dtype=dtype or each.dtype, device=device))
        else:
            found.append(torch.tensor(each, dtype=dtype, device=device))
    return found


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """A nested tensor of tensors in a list, or of the rows of a tensor; gradients go to them."""
    jagged = _layout(layout)
    if not isinstance(ts, (Tensor, list, tuple)) or isinstance(ts, (list, tuple)) and not all(isinstance(each, Tensor) for each in ts):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, Tensor) and ts.is_nested:
        if ts.layout == (torch.jagged if jagged else torch.strided):
            return ts.to(device=device or ts.device, dtype=dtype or ts.dtype)
        raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
    if isinstance(ts, Tensor):
        if ts.dim() < 2 and jagged or ts.dim() < 1:
            raise RuntimeError(f"as_nested_tensor(): Expected tensor argument to have dim() > {1 if jagged else 0}")
        ts = ts.to(device=device or ts.device, dtype=dtype or ts.dtype)
        if jagged:
            offsets = torch.arange(ts.size(0) + 1, device=ts.device) * ts.size(1)
            return _jagged().make(ts.reshape(-1, *ts.shape[2:]), offsets, None, 1, ts.size(1), ts.size(1))
        ts = list(ts.unbind())
    tensors = [each.to(device=device or each.device, dtype=dtype or each.dtype) for each in ts]
    if jagged:
        return _jagged().from_list(tensors, None)
    from ._internal import strided
    return strided.from_list(tensors, dtype, device)


def to_padded_tensor(input, padding, output_size=None, out=None):
    """The parts one behind the other in a new first dimension, `padding` where they end early."""
    return input.to_padded_tensor(padding, output_size) if out is None else out.copy_(input.to_padded_tensor(padding, output_size))


def nested_tensor_from_jagged(values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None):
    """A view of packed elements: `offsets` says where each part begins, `lengths` how long it is."""
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)), None
    jagged_dim = 1 if jagged_dim is None else jagged_dim
    return _jagged().make(values, offsets, lengths, jagged_dim, min_seqlen, max_seqlen)


def narrow(tensor, dim, start, length, layout=torch.strided):
    """For each row of a tensor, the places from `start` on, `length` of them, along dimension 1; a view with layout jagged."""
    if not isinstance(start, (int, Tensor)):
        raise RuntimeError("start must be an integer or a tensor")
    if not isinstance(length, (int, Tensor)):
        raise RuntimeError("length must be an integer or a tensor")
    if not _layout(layout):
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor([each.narrow(dim, start, length) for each in tensor.unbind()], layout=torch.strided)
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    rows = tensor.size(0)
    start, length = (each.expand(rows) if isinstance(each, Tensor) else torch.full((rows,), each, device=tensor.device) for each in (start, length))
    width = tensor.size(1)
    begins = torch.arange(rows, device=tensor.device) * width + start
    last = begins[-1:] + length[-1:]
    packed = tensor.contiguous().view(-1, *tensor.shape[2:])
    if bool((length == width).all()) and bool((start == 0).all()):
        return _jagged().make(packed, torch.cat([begins, last]), None, 1)
    return _jagged().make(packed, torch.cat([begins, last]), length, 1)


def masked_select(tensor, mask):
    """The elements that a mask selects, a part for each row, with layout jagged."""
    if tensor.layout != torch.strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}")
    if mask.layout != torch.strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided mask, given: {mask.layout}")
    values = tensor.masked_select(mask)
    whole = mask.expand(torch.broadcast_shapes(tensor.shape, mask.shape))
    lengths = whole.flatten(1).sum(1) if whole.dim() > 1 else whole.sum(0, keepdim=True)
    return _jagged().make(values, torch.nn.functional.pad(lengths.cumsum(0), (1, 0)), None, 1)
