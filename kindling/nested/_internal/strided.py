"""Nested tensors of layout `torch.strided`: parts of any sizes, one behind the other in a buffer, which is the tensor's own memory."""
import kindling as torch
from kindling import _C

Tensor, F = torch.Tensor, torch.nn.functional
_plain = _C.DisableTorchFunctionSubclass


class StridedNestedTensor(Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return _call(func, args, kwargs or {})

    @property
    def _buffer(self):
        with _plain():
            return self.as_subclass(Tensor)

    def values(self):
        """The elements of all parts, one behind the other."""
        return self._buffer

    def _parts(self):
        sizes = [_count(each) for each in self._sizes]
        return [part.view(size) for part, size in zip(self._buffer.split(sizes), self._sizes)] if sizes else []

    @property
    def shape(self):
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support sizes. Please file an issue.")

    def size(self, dim=None):
        """One size, where all parts have the same."""
        if dim is None:
            return self.shape
        dim = _dim(self, dim)
        if dim == 0:
            return len(self._sizes)
        found = {each[dim - 1] for each in self._sizes}
        if len(found) != 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return found.pop()

    def stride(self, dim=None):
        raise RuntimeError("Internal error: NestedTensorImpl doesn't support strides. Please file an issue.")

    def dim(self):
        """The parts' number of dimensions, and one."""
        return (len(self._sizes[0]) if self._sizes else 0) + 1

    ndimension = dim

    @property
    def ndim(self):
        return self.dim()

    @property
    def is_nested(self):
        return True

    def is_contiguous(self, memory_format=torch.contiguous_format):
        """True: the parts lie one behind the other."""
        return True

    def to_padded_tensor(self, padding, output_size=None):
        """The parts in a new first dimension, `padding` where they end early."""
        return _padded(self, padding, output_size)

    def _nested_tensor_size(self):
        """The sizes of the parts, a row each."""
        return torch.tensor([list(each) for each in self._sizes], dtype=torch.int64)

    def _nested_tensor_strides(self):
        """The strides of the parts, a row each."""
        return torch.tensor([list(torch.empty(each, device="meta").stride()) for each in self._sizes], dtype=torch.int64)

    def _nested_tensor_storage_offsets(self):
        """Where the parts begin."""
        return torch.tensor([0, *(_count(each) for each in self._sizes)][:-1]).cumsum(0)

    def __len__(self):
        return len(self.shape)

    def __iter__(self):
        return iter(self.shape)

    def __repr__(self, *, tensor_contents=None):
        def indented(text):
            return "\n".join("  " + line for line in text.split("\n"))
        with torch.no_grad():
            shown = [each.detach() for each in self._parts()]
        parts = ",\n".join(indented(repr(each.requires_grad_() if self.requires_grad and self.is_leaf else each)) for each in shown)
        history = f", grad_fn=<{type(self.grad_fn).__name__}>" if self.grad_fn is not None else ", requires_grad=True" if self.requires_grad else ""
        return f"nested_tensor([\n{parts}\n]{history})"

    __str__ = __repr__

    def __format__(self, spec):
        return repr(self)

    def tolist(self):
        """Nested lists of numbers."""
        return [each.tolist() for each in self._parts()]

    @property
    def grad(self):
        with _plain():
            found = Tensor.grad.__get__(self)
        return None if found is None else _make(found, self._sizes)

    @grad.setter
    def grad(self, value):
        with _plain():
            Tensor.grad.__set__(self, None if value is None else value.as_subclass(Tensor))

    def __deepcopy__(self, memo):
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = leaf(_make(self._buffer.detach().clone(), self._sizes), self.requires_grad)
        return found

    def __reduce_ex__(self, protocol):
        return _rebuild, (self._buffer.detach(), [tuple(each) for each in self._sizes], self.requires_grad)


StridedNestedTensor.__name__ = StridedNestedTensor.__qualname__ = "Tensor"     # PyTorch's have no class of their own


def _rebuild(buffer, sizes, requires_grad):
    return leaf(_make(buffer, [torch.Size(each) for each in sizes]), requires_grad)


def _count(size):
    result = 1
    for each in size:
        result *= each
    return result


def _dim(self, dim):
    count = self.dim()
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return dim % count


def _make(buffer, sizes):
    with _plain():
        result = buffer.as_subclass(Tensor).view_as(buffer).as_subclass(StridedNestedTensor)
    result._sizes = sizes
    return result


def leaf(nested, requires_grad):
    """A nested tensor without history."""
    if not requires_grad:
        return nested
    with _plain():
        result = Tensor._make_subclass(StridedNestedTensor, nested.detach().as_subclass(Tensor), True)
    result._sizes = nested._sizes
    return result


def from_list(tensors, dtype=None, device=None):
    """A nested tensor of tensors, with their history."""
    if not tensors:
        return _make(torch.empty(0, dtype=dtype, device=device), [])
    if len({each.dim() for each in tensors}) > 1:
        raise RuntimeError(f"All Tensors given to nested_tensor must have the same dimension. Found dimension {tensors[1].dim()} for Tensor at index 1 "
                           f"and dimension {tensors[0].dim()} for Tensor at index 0.")
    return _make(torch.cat([each.reshape(-1) for each in tensors]), [each.shape for each in tensors])


_PASSED = frozenset(
    "dtype device layout requires_grad grad_fn is_leaf is_cuda is_cpu is_meta is_sparse is_quantized requires_grad_ retain_grad retains_grad register_hook numel nelement "
    "is_floating_point is_complex is_signed element_size itemsize get_device backward data_ptr __hash__ untyped_storage is_inference is_conj is_neg "
    "is_sparse_csr _version is_pinned names __dir__ zero_ fill_ grad _is_view _base storage_offset is_tensor is_mkldnn is_xpu is_mps nbytes has_names".split())
_SERVED = {}


def _call(func, args, kwargs):
    name = func.__name__
    if name in ("__get__", "__set__"):
        what = getattr(func.__self__, "__name__", "")
        if what == "data" and name == "__get__":
            return _make(args[0]._buffer.detach(), args[0]._sizes)
        if name == "__get__" and what in ("T", "mT", "H", "mH", "real", "imag"):
            raise NotImplementedError(f"Could not run 'aten::{what}' with arguments from the 'NestedTensorCPU' backend.")
        with _plain():
            return func(*args, **kwargs)
    served = _SERVED.get(name)
    if served is not None:
        return served(func, *args, **kwargs)
    if name in _PASSED:
        with _plain():
            return func(*args, **kwargs)
    from .ops import _BINARY, _UNARY
    bare = name[:-1] if name[-1:] == "_" and name[-2:] != "__" else name
    if bare in _UNARY or bare in _BINARY:
        return _pointwise(func, name, args, kwargs)
    raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'NestedTensorCPU' backend: Kindling has no such operator for "
                              "nested tensors of layout torch.strided")


def _serves(*names):
    def keep(function):
        for each in names:
            _SERVED[each] = function
        return function
    return keep


def _pointwise(func, name, args, kwargs):
    nested = next(each for each in (*args, *kwargs.values()) if isinstance(each, StridedNestedTensor))
    given = [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor) and each.dim()]
    if all(isinstance(each, StridedNestedTensor) for each in given):
        if any(each._sizes != nested._sizes for each in given):
            raise RuntimeError(f"{name.strip('_')} does not support broadcasting when given a NestedTensor")
        if name[-1:] == "_" and name[:2] != "__":
            with _plain():
                func(*args, **kwargs)
            return args[0]
        taken = [each._buffer if isinstance(each, StridedNestedTensor) else each for each in args]
        keys = {key: each._buffer if isinstance(each, StridedNestedTensor) else each for key, each in kwargs.items()}
        return _make(func(*taken, **keys), nested._sizes)
    # A tensor with a number for each part, (B, 1, 1) or the parts' last sizes.
    parts = []
    for at in range(len(nested._sizes)):
        taken = []
        for each in args:
            if isinstance(each, StridedNestedTensor):
                each = each._parts()[at]
            elif isinstance(each, Tensor) and each.dim() == nested.dim() and each.size(0) == len(nested._sizes):
                each = each[at]
            elif isinstance(each, Tensor) and each.dim() >= nested.dim():
                raise RuntimeError(f"{name.strip('_')}: the dense tensor's shape {tuple(each.shape)} does not fit the nested tensor")
            taken.append(each)
        parts.append(func(*taken, **kwargs))
    return from_list(parts)


def _each(self, function):
    return from_list([function(each) for each in self._parts()], self.dtype, self.device)


@_serves("unbind")
def _unbind(func, self, dim=0):
    if _dim(self, dim):
        raise RuntimeError("NestedTensor can only be unbound along dimension 0 ")
    return tuple(self._parts())


@_serves("__getitem__", "select")
def _getitem(func, self, *index):
    if func.__name__ == "select":
        dim, at = _dim(self, index[0]), index[1]
        return self._parts()[at] if dim == 0 else _each(self, lambda part: part.select(dim - 1, at))
    index = index[0] if isinstance(index[0], tuple) else index
    if Ellipsis in index:
        at = index.index(Ellipsis)
        index = (*index[:at], *(slice(None),) * (self.dim() - len(index) + 1), *index[at + 1:])
    if index and isinstance(index[0], int):
        if not -len(self._sizes) <= index[0] < len(self._sizes):
            raise IndexError(f"index {index[0]} is out of bounds for dimension 0 with size {len(self._sizes)}")
        part = self._parts()[index[0]]
        return part[index[1:]] if len(index) > 1 else part
    if not index or index[0] == slice(None):
        return _each(self, lambda part: part[index[1:]])
    raise RuntimeError("NestedTensor can only be indexed by a number, or sliced as a whole, along dimension 0")


@_serves("transpose")
def _transpose(func, self, dim0, dim1):
    one, other = _dim(self, dim0), _dim(self, dim1)
    if one != other and 0 in (one, other):
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    return _each(self, lambda part: part.transpose(one - 1, other - 1) if one else part)


@_serves("view", "reshape")
def _reshape(func, self, *shape):
    shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if shape[0] not in (-1, len(self._sizes)):
        raise RuntimeError(f"{func.__name__}: For now nested {func.__name__} cannot change or infer the implicit batch dimension")
    wanted = list(shape[1:])
    def part_of(part):
        sizes = [part.size(at) if each == -1 and at < part.dim() else each for at, each in enumerate(wanted)]
        return part.reshape(sizes)
    return _each(self, part_of)


@_serves("chunk", "split")
def _chunk(func, self, count, dim=0):
    dim = _dim(self, dim)
    if dim == 0:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    parts = [func(each, count, dim - 1) for each in self._parts()]
    return tuple(from_list(list(each)) for each in zip(*parts))


@_serves("squeeze", "unsqueeze")
def _squeeze(func, self, dim):
    count = self.dim() + (func.__name__ == "unsqueeze")
    dim %= count
    if dim == 0:
        raise RuntimeError(f"For nested tensors, {func.__name__} on dimension 0 is not supported")
    return _each(self, lambda part: func(part, dim - 1))


@_serves("linear")
def _linear(func, input, weight, bias=None):
    return _each(input, lambda part: F.linear(part, weight, bias))


@_serves("embedding")
def _embedding(func, input, weight, *args, **kwargs):
    if not isinstance(input, StridedNestedTensor):
        input, weight = weight, input
    return _each(input, lambda part: F.embedding(part, weight, *args, **kwargs))


@_serves("softmax", "log_softmax")
def _softmax(func, self, dim=None, *args, **kwargs):
    kwargs.pop("_stacklevel", None)
    dim = _dim(self, dim)
    if dim == 0:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    return _each(self, lambda part: getattr(F, func.__name__)(part, dim - 1))


@_serves("layer_norm")
def _layer_norm(func, input, normalized_shape, weight=None, bias=None, eps=1e-5):
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    return _each(input, lambda part: F.layer_norm(part, normalized_shape, weight, bias, eps))


@_serves("matmul", "__matmul__", "bmm")
def _matmul(func, self, other):
    if not isinstance(self, StridedNestedTensor) or not isinstance(other, StridedNestedTensor):
        nested = isinstance(self, StridedNestedTensor)
        raise RuntimeError(f"Expected both to be nested, but got a {'nested' if nested else 'non-nested'} self and {'non-nested' if nested else 'nested'} other")
    if len(self._sizes) != len(other._sizes):
        raise RuntimeError(f"Expected size for the 1st dimension of 2nd input tensor to be: {len(self._sizes)} but got: {len(other._sizes)}.")
    return from_list([torch.matmul(a, b) for a, b in zip(self._parts(), other._parts())])


@_serves("scaled_dot_product_attention")
def _attention(func, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **kwargs):
    if attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: nested tensors take no attn_mask")
    parts = zip(query._parts(), key._parts(), value._parts())
    return from_list([F.scaled_dot_product_attention(q, k, v, None, dropout_p, is_causal, **kwargs) for q, k, v in parts])


@_serves("sum", "mean")
def _sum(func, self, dim=None, keepdim=False, **kwargs):
    if dim is None:
        raise NotImplementedError(f"Could not run 'aten::{func.__name__}' with arguments from the 'NestedTensorCPU' backend.")
    dims = [_dim(self, each) for each in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    if dims != [self.dim() - 1]:
        raise RuntimeError("NestedTensor only allows reduction of the last dimension for now.")
    return _each(self, lambda part: getattr(part, func.__name__)(-1, keepdim=True, **kwargs))


def _padded(self, padding, output_size):
    parts = self._parts()
    if not parts:
        return torch.empty(0, dtype=self.dtype, device=self.device)
    sizes = [max(each) for each in zip(*self._sizes)]
    if output_size is not None:
        wanted = list(output_size)
        if len(wanted) != len(sizes) + 1 or any(wide < size for wide, size in zip(wanted[1:], sizes)):
            raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
        sizes = wanted[1:]
    padded = []
    for part in parts:
        pads = [each for size, wide in zip(reversed(part.shape), reversed(sizes)) for each in (0, wide - size)]
        padded.append(F.pad(part, pads, value=padding))
    if output_size is not None and wanted[0] > len(padded):
        padded += [torch.full(sizes, padding, dtype=self.dtype)] * (wanted[0] - len(padded))
    return torch.stack(padded)


@_serves("contiguous")
def _contiguous(func, self, memory_format=None):
    return self


@_serves("equal")
def _equal(func, self, other):
    return self._sizes == other._sizes and torch.equal(self._buffer, other._buffer)


@_serves("cat")
def _cat(func, tensors, dim=0):
    if dim == 0:
        return from_list([part for each in tensors for part in each._parts()])
    return from_list([torch.cat(parts, dim - 1 if dim > 0 else dim) for parts in zip(*(each._parts() for each in tensors))])


def _nested_tensor_from_mask(t, mask, mask_check=True):
    """A nested tensor of the rows of a (batch, length, features) tensor up to where the mask ends."""
    if mask.dtype != torch.bool or mask.dim() != 2:
        raise RuntimeError("Expected mask to be of ScalarType Bool and of 2 dimensions")
    if t.dim() != 3 or t.shape[:2] != mask.shape:
        raise RuntimeError("Expected the first two dimensions of input and mask to be the same, and input of 3 dimensions")
    if mask_check and not _nested_tensor_from_mask_left_aligned(t, mask):
        raise RuntimeError("Expected mask to be left-aligned without gaps")
    return from_list([row[:count] for row, count in zip(t, mask.sum(1).tolist())])


def _nested_tensor_from_mask_left_aligned(t, mask):
    """Whether each row of the mask is True up to a place and False from there on."""
    return bool((mask[:, 1:] <= mask[:, :-1]).all()) if mask.dim() == 2 else False
