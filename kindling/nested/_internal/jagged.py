"""Nested tensors of layout `torch.jagged`: parts that differ in one dimension, packed along it in one tensor.

The tensor's own elements are the packed ones, `values()`, so its gradient and history are theirs; offsets, lengths and the place of
the jagged dimension stand beside it. Every operator comes to `__torch_function__` and is looked up in `ops.py`.
"""
import weakref

import kindling as torch
from kindling import _C

Tensor = torch.Tensor
_plain = _C.DisableTorchFunctionSubclass

# Sizes of jagged dimensions by the tensor of offsets (or lengths) that they belong to.
_numbers = {}
_last = 0


class NestedInt:
    """The size of a jagged dimension, times a number: equal for tensors of the same offsets."""

    __slots__ = ("number", "factor")

    def __init__(self, number, factor=1):
        self.number, self.factor = number, factor

    def __repr__(self):
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"

    def __eq__(self, other):
        return isinstance(other, NestedInt) and (self.number, self.factor) == (other.number, other.factor)

    def __hash__(self):
        return hash((self.number, self.factor))

    def __mul__(self, other):
        return NestedInt(self.number, self.factor * other) if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__

    def __ge__(self, other):
        if isinstance(other, int) and other <= 2:
            return True     # as PyTorch, which takes it for more than 1
        return NotImplemented if not isinstance(other, NestedInt) else self == other

    def __gt__(self, other):
        return True if isinstance(other, int) and other <= 1 else NotImplemented

    def __lt__(self, other):
        return False if isinstance(other, int) and other <= 2 else NotImplemented

    def __le__(self, other):
        return False if isinstance(other, int) and other <= 1 else NotImplemented


NestedInt.__name__ = NestedInt.__qualname__ = "SymInt"
NestedInt.__module__ = "torch"


class NestedSize(tuple):
    """The shape of a nested tensor."""

    def __repr__(self):
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def numel(self):
        """The product of the sizes."""
        result = 1
        for each in self:
            result = result * each
        return result

    def __getitem__(self, index):
        found = tuple.__getitem__(self, index)
        return NestedSize(found) if isinstance(index, slice) else found


NestedSize.__name__ = NestedSize.__qualname__ = "Size"
NestedSize.__module__ = "torch"


def _number(tensor):
    """The number of a jagged size."""
    global _last
    key = id(tensor)
    found = _numbers.get(key)
    if found is None or found[0]() is not tensor:
        _last += 1
        found = _numbers[key] = weakref.ref(tensor, lambda _, key=key: _numbers.pop(key, None)), _last
    return found[1]


class NestedTensor(Tensor):
    _operators = None       # ops.py, which stands on this file

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls._operators.call(func, args, kwargs or {})

    def __new__(cls, values, offsets, *, lengths=None, _ragged_idx=1, _metadata_cache=None, requires_grad=False):
        return make(values, offsets, lengths, _ragged_idx)

    def __init__(self, *args, **kwargs):
        pass

    @property
    def _values(self):
        with _plain():
            return self.as_subclass(Tensor)

    def values(self):
        """The packed elements."""
        return self._values

    def offsets(self):
        """Where each part begins, and where the last one ends."""
        return self._offsets

    def lengths(self):
        """How long each part is, where they do not lie one behind the other; None otherwise."""
        return self._lengths

    def _part_lengths(self):
        return self._lengths if self._lengths is not None else self._offsets.diff()

    def _spans(self):
        """[(begin, length)] of the parts."""
        spans = self.__dict__.get("_known_spans")
        if spans is None:
            begins, lengths = self._offsets.tolist(), self._part_lengths().tolist()
            spans = self._known_spans = list(zip(begins, lengths))
        return spans

    @property
    def _max_seqlen(self):
        if self._longest is None:
            self._longest = max((length for _, length in self._spans()), default=0)
        return self._longest

    @property
    def _min_seqlen(self):
        if self._shortest is None:
            self._shortest = min((length for _, length in self._spans()), default=0)
        return self._shortest

    _maybe_max_seqlen, _maybe_min_seqlen = _max_seqlen, _min_seqlen

    def _get_max_seqlen(self):
        return self._max_seqlen

    def _get_min_seqlen(self):
        return self._min_seqlen

    def _jagged_size(self):
        return NestedInt(_number(self._lengths if self._lengths is not None else self._offsets))

    @property
    def shape(self):
        sizes = list(self._values.shape)
        sizes[self._ragged_idx - 1] = self._jagged_size()
        return NestedSize([self._offsets.size(0) - 1, *sizes])

    _size = shape

    def size(self, dim=None):
        """The shape, or one size."""
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim=None):
        """Strides, in terms of the packed elements'."""
        strides = list(self._values.stride())
        strides = (strides[self._ragged_idx - 1] * self._jagged_size(), *strides)
        return strides if dim is None else strides[dim]

    @property
    def _strides(self):
        return self.stride()

    def dim(self):
        """The number of dimensions, the parts' and one."""
        return self._values.dim() + 1

    ndimension = dim

    @property
    def ndim(self):
        return self.dim()

    @property
    def layout(self):
        return torch.jagged

    @property
    def is_nested(self):
        return True

    def numel(self):
        """The number of elements of all parts."""
        if self._lengths is None:
            return self._values.numel()
        row = 1
        for at, size in enumerate(self._values.shape):
            row *= size if at != self._ragged_idx - 1 else 1
        return row * sum(length for _, length in self._spans())

    nelement = numel

    def is_contiguous(self, memory_format=torch.contiguous_format):
        """Whether the parts lie one behind the other, in rows."""
        return self._lengths is None and self._values.is_contiguous()

    def to_padded_tensor(self, padding, output_size=None):
        """The parts in a new first dimension, `padding` where they end early."""
        return self._operators.padded(self, padding, output_size)

    def view(self, *shape):
        """The same elements in another shape; -1 or the jagged size stands for the jagged dimension."""
        return self._operators.reshaped("view", self, *shape)

    def reshape(self, *shape):
        """As `view`, with a copy where it is needed."""
        return self._operators.reshaped("reshape", self, *shape)

    def expand(self, *shape):
        """The parts with dimensions of size 1 repeated."""
        return self._operators.expanded("expand", self, *shape)

    def __len__(self):
        return self._offsets.size(0) - 1

    def __iter__(self):
        return iter(self.unbind())

    def __repr__(self, *, tensor_contents=None):
        history = f", grad_fn={self.grad_fn}" if self.grad_fn is not None else ", requires_grad=True" if self.requires_grad else ""
        sizes = ", ".join(map(repr, self.shape))
        return f"NestedTensor(size=({sizes}), offsets={self._offsets}{history}, contiguous={self.is_contiguous()})"

    __str__ = __repr__

    def __format__(self, spec):
        return repr(self)

    def tolist(self):
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got NestedTensor")

    def numpy(self, *, force=False):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __array__(self, dtype=None):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    @property
    def grad(self):
        with _plain():
            found = Tensor.grad.__get__(self)
        return None if found is None else like(self, found.as_subclass(Tensor) if type(found) is not Tensor else found)

    @grad.setter
    def grad(self, value):
        with _plain():
            Tensor.grad.__set__(self, None if value is None else value.as_subclass(Tensor))

    def __deepcopy__(self, memo):
        from copy import deepcopy
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.")
        found = memo.get(id(self))
        if found is None:
            lengths = None if self._lengths is None else deepcopy(self._lengths, memo)
            found = make(self._values.detach().clone(), deepcopy(self._offsets, memo), lengths, self._ragged_idx, self._shortest, self._longest)
            found = memo[id(self)] = found.requires_grad_(self.requires_grad)
        return found

    def __setstate__(self, state):
        """What PyTorch's files say beside the call that makes the tensor: the same once more."""

    def __reduce_ex__(self, protocol):
        known = {} if self._shortest is None or self._longest is None else {"min_seqlen": torch.empty(0, self._shortest), "max_seqlen": torch.empty(0, self._longest)}
        return _rebuild_njt, ({"values": self._values.detach(), "offsets": self._offsets, "lengths": self._lengths, "_ragged_idx": self._ragged_idx,
                               "_metadata_cache": known, "requires_grad": self.requires_grad},)


def _rebuild_njt(constructor_kwargs):
    """A nested tensor from what a file says of it; PyTorch's files name this function."""
    given = dict(constructor_kwargs)
    known = given.get("_metadata_cache") or {}
    shortest, longest = (None if known.get(each) is None else int(known[each].shape[1]) for each in ("min_seqlen", "max_seqlen"))
    found = make(given["values"], given["offsets"], given.get("lengths"), given.get("_ragged_idx", 1), shortest, longest)
    return found.requires_grad_(bool(given.get("requires_grad", False)))


def make(values, offsets, lengths=None, ragged=1, shortest=None, longest=None):
    """A nested tensor over packed elements; its history is theirs."""
    if isinstance(offsets, NestedTensor) or offsets.dim() != 1 or offsets.dtype not in (torch.int32, torch.int64):
        raise RuntimeError("Expected offsets to be a 1D tensor of int32 or int64")
    if values.dim() < 1:
        raise RuntimeError("Expected values to have at least one dimension")
    ragged = ragged % (values.dim() + 1)
    if ragged == 0:
        raise RuntimeError("Expected jagged dimension to be other than the batch dimension")
    result = values.as_subclass(NestedTensor)
    if result is values:
        result = values.view_as(values).as_subclass(NestedTensor)
    result._offsets, result._lengths, result._ragged_idx, result._shortest, result._longest = offsets, lengths, ragged, shortest, longest
    return result


def like(nested, values, ragged=None):
    """Packed elements with the parts of a nested tensor."""
    result = make(values, nested._offsets, nested._lengths, nested._ragged_idx if ragged is None else ragged, nested._shortest, nested._longest)
    if "_known_spans" in nested.__dict__:
        result._known_spans = nested._known_spans
    return result


def from_list(tensors, requires_grad):
    """Tensors, packed. With `requires_grad` None the history of the tensors goes on, else the result is a leaf."""
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    if len({(each.dtype, each.device, each.dim()) for each in tensors}) != 1 or tensors[0].dim() < 1:
        raise RuntimeError("When constructing a nested tensor, all tensors in list must have the same dim" if len({each.dim() for each in tensors}) > 1
                           else "When constructing a nested tensor, all tensors in list must have the same dtype and device, and at least one dimension")
    differ = [dim for dim in range(tensors[0].dim()) if len({each.size(dim) for each in tensors}) > 1]
    if len(differ) > 1:
        raise RuntimeError("Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout only "
                           f"represents shapes of the form (B, *_0, *_1, ..., *_P, j, *_Q, ...), where one dimension differs; got {[tuple(each.shape) for each in tensors]}")
    at = differ[0] if differ else 0
    lengths = [each.size(at) for each in tensors]
    values = torch.cat(tensors, at)
    offsets = torch.tensor([0, *lengths], device=values.device).cumsum(0)
    result = make(values, offsets, None, at + 1, min(lengths), max(lengths))
    if requires_grad:
        result.requires_grad_(True)
    return result
