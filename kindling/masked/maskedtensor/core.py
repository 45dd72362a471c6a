"""MaskedTensor: data and a mask of the elements that count. Operators come to `__torch_function__` and are looked up by name."""
import kindling as torch
from kindling import _C

__all__ = ["MaskedTensor", "is_masked_tensor"]

Tensor = torch.Tensor
_plain = _C.DisableTorchFunctionSubclass


def is_masked_tensor(obj, /):
    """Whether it is a masked tensor."""
    return isinstance(obj, MaskedTensor)


def _checked(data, mask):
    if not isinstance(data, Tensor) or isinstance(data, MaskedTensor):
        raise TypeError("data must be a Tensor")
    if not isinstance(mask, Tensor) or isinstance(mask, MaskedTensor):
        raise TypeError("mask must be a Tensor")
    if data.layout != mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if mask.dtype != torch.bool:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in (torch.float16, torch.float32, torch.float64, torch.bool, torch.int8, torch.int16, torch.int32, torch.int64):
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")


def _warn():
    from kindling._common.warn import once
    once("masked.prototype", "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github "
         "issue for features requests and see our documentation on the torch.masked module for further information about the project.",
         UserWarning, 4)


class MaskedTensor(Tensor):
    @staticmethod
    def __new__(cls, data, mask, requires_grad=False):
        _checked(data, mask)
        _warn()
        result = Tensor._make_subclass(cls, data.detach().clone(), requires_grad)
        result._masked_mask = mask.detach().clone()
        return result

    def __init__(self, *args, **kwargs):
        pass

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return _call(func, args, kwargs or {})

    @property
    def _masked_data(self):
        with _plain():
            return self.as_subclass(Tensor)

    def get_data(self):
        """The data, those that do not count among them."""
        return self._masked_data

    def get_mask(self):
        """The mask: True where an element counts."""
        return self._masked_mask

    def to_tensor(self, value):
        """The data, with a value where elements do not count."""
        data, mask = self._dense()
        return torch.where(mask, data, torch.full((), value, dtype=data.dtype) if not isinstance(value, Tensor) else value)

    def _dense(self):
        """Data and mask, strided."""
        data, mask = self._masked_data, self._masked_mask
        return (data, mask) if data.layout == torch.strided else (data.to_dense(), mask.to_dense())

    def is_sparse_coo(self):
        """Whether data and mask are sparse, in coordinates."""
        return self.layout == torch.sparse_coo

    def is_sparse_csr(self):
        """Whether data and mask are sparse, by rows."""
        return self.layout == torch.sparse_csr

    @property
    def is_sparse(self):
        return self.layout in (torch.sparse_coo, torch.sparse_csr)

    @classmethod
    def unary(cls, fn, data, mask):
        """A masked tensor of what a function makes of the data."""
        return made(fn(data), mask)

    @property
    def grad(self):
        with _plain():
            found = Tensor.grad.__get__(self)
        return None if found is None else made(found.as_subclass(Tensor), self._masked_mask)

    @grad.setter
    def grad(self, value):
        with _plain():
            Tensor.grad.__set__(self, None if value is None else value.as_subclass(Tensor))

    def __len__(self):
        return len(self._masked_data)

    def __repr__(self, *, tensor_contents=None):
        with torch.no_grad():
            data, mask = self._dense()
            form = "{0:8.4f}" if data.is_floating_point() else "{0}"
            text = _text(data, mask, form)
        if data.dim() == 0:
            return f"MaskedTensor({text}, {bool(mask)})"
        return f"MaskedTensor(\n{_indented(text)}\n)"

    __str__ = __repr__

    def __format__(self, spec):
        return repr(self)

    def tolist(self):
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got MaskedTensor")

    def numpy(self, *, force=False):
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __deepcopy__(self, memo):
        found = memo.get(id(self))
        if found is None:
            if not self.is_leaf:
                raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.")
            found = memo[id(self)] = MaskedTensor(self._masked_data.detach(), self._masked_mask, self.requires_grad)
        return found

    def __reduce_ex__(self, protocol):
        return MaskedTensor, (self._masked_data.detach(), self._masked_mask, self.requires_grad)


def _indented(text):
    return "\n".join("  " + line for line in text.split("\n"))


def _text(data, mask, form):
    if data.dim() == 0:
        return form.format(data.item()) if mask.item() else "--"
    if data.dim() == 1:
        return "[" + ", ".join(form.format(value) if here else "      --" for value, here in zip(data.tolist(), mask.tolist())) + "]"
    return "[\n" + ",\n".join(_indented(_text(row, here, form)) for row, here in zip(data, mask)) + "\n]"


def made(data, mask):
    """A masked tensor over data, with its history."""
    _warn()
    result = data.as_subclass(MaskedTensor)
    if result is data:
        result = data.view_as(data).as_subclass(MaskedTensor)
    result._masked_mask = mask
    return result


_HEADERS = frozenset(
    "size dim ndimension ndim numel nelement stride shape device dtype layout is_contiguous storage_offset data_ptr untyped_storage element_size itemsize nbytes "
    "requires_grad grad_fn is_leaf is_cuda is_cpu is_meta is_quantized _version get_device is_floating_point is_complex is_signed requires_grad_ "
    "retain_grad retains_grad register_hook backward __hash__ is_inference is_conj is_neg is_nested is_mkldnn is_mps is_xpu names has_names output_nr "
    "is_tensor is_pinned is_shared is_same_size _is_view _base __dir__ register_post_accumulate_grad_hook".split())
_UNARY = frozenset(
    "abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil clamp clip conj_physical cos cosh deg2rad "
    "digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit i0 isnan nan_to_num neg negative positive pow rad2deg "
    "reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square tan tanh trunc __neg__ __abs__ __invert__ __pow__ "
    "detach clone contiguous to type float double half int long short bool char byte cpu ones_like float_power dropout_ alias".split())
_BINARY = frozenset(
    "add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide floor_divide fmod logaddexp logaddexp2 mul multiply "
    "nextafter remainder sub subtract true_divide eq ne le ge greater greater_equal gt less_equal lt less maximum minimum fmax fmin not_equal rsub "
    "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__ __mod__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ "
    "__and__ __or__ __xor__ __rand__ __ror__ __rxor__ __rpow__ __div__".split())
# Data and mask go the same way.
_SHAPES = frozenset(
    "select transpose t view reshape unsqueeze expand expand_as index __getitem__ split chunk narrow flatten view_as reshape_as swapaxes swapdims "
    "unflatten movedim index_select permute squeeze".split())
_REDUCTIONS = frozenset("sum mean amin amax argmin argmax prod all norm var std".split())


def _call(func, args, kwargs):
    name = func.__name__
    if name in ("__get__", "__set__"):
        what = getattr(func.__self__, "__name__", "")
        if name == "__get__" and what in ("data", "T", "mT", "H", "mH", "real", "imag"):
            data = args[0]._masked_data.detach() if what == "data" else getattr(args[0]._masked_data, what)
            return made(data, getattr(args[0]._masked_mask, what) if "T" in what or "H" in what else args[0]._masked_mask)
        with _plain():
            return func(*args, **kwargs)
    if name in _HEADERS:
        with _plain():
            return func(*args, **kwargs)
    bare = name[:-1] if name[-1:] == "_" and name[-2:] != "__" else name
    if name in _SHAPES:
        return _reshaped(func, args, kwargs)
    if name in _REDUCTIONS:
        return _reduced(name, *args, **kwargs)
    if bare in _UNARY or bare in _BINARY:
        return _pointwise(func, name, bare, args, kwargs)
    if name == "__rdiv__":    # a number through the tensor
        return args[0].reciprocal() * args[1]
    served = _OTHERS.get(name)
    if served is None:
        raise TypeError(f"Multiple dispatch failed for 'torch._ops.aten.{name}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
                        "  - tensor subclass <class 'torch.masked.maskedtensor.core.MaskedTensor'>")
    return served(*args, **kwargs)


def _same_masks(one, other):
    if one is other:
        return
    one, other = (each if each.layout == torch.strided else each.to_dense() for each in (one, other))
    if one.shape != other.shape or not torch.equal(one, other):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")


def _pointwise(func, name, bare, args, kwargs):
    if bare in _BINARY and kwargs:
        raise ValueError("len(kwargs) must equal 0")
    first = next(each for each in (*args, *kwargs.values()) if isinstance(each, MaskedTensor))
    for each in args:
        if isinstance(each, MaskedTensor):
            if each.layout != first.layout:
                raise ValueError(f"`a` and `b` must have the same layout. Got {first.layout} and {each.layout}")
            _same_masks(first._masked_mask, each._masked_mask)
    in_place = name != bare
    if first.layout != torch.strided:
        dense = [each.to_dense() if isinstance(each, MaskedTensor) else each for each in args]
        result = func(*dense, **kwargs).to_sparse_like(first)
        return args[0]._masked_data.copy_(result._masked_data) and args[0] if in_place else result
    if in_place:
        taken = [each._masked_data if isinstance(each, MaskedTensor) else each for each in args[1:]]
        with _plain():
            func(args[0], *taken, **kwargs)
        return args[0]
    taken = [each._masked_data if isinstance(each, MaskedTensor) else each for each in args]
    result = func(*taken, **{key: each._masked_data if isinstance(each, MaskedTensor) else each for key, each in kwargs.items()})
    if result.shape != first._masked_mask.shape:
        raise ValueError("data.size() must equal mask.size()" if result.dim() == first._masked_mask.dim() else "data.dim() must equal mask.dim()")
    return made(result, first._masked_mask)


def _reshaped(func, args, kwargs):
    self = args[0]
    if not isinstance(self, MaskedTensor):
        raise TypeError(f"{func.__name__}: expected a masked tensor first")
    rest = [each._masked_data if isinstance(each, MaskedTensor) else each for each in args[1:]]
    data, mask = func(self._masked_data, *rest, **kwargs), func(self._masked_mask, *rest, **kwargs)
    if isinstance(data, (tuple, list)):
        return tuple(made(one, here) for one, here in zip(data, mask))
    return made(data, mask)


def _reduced(name, self, *args, **kwargs):
    from kindling import masked
    data, mask = self._dense()
    if name == "norm" and "p" in kwargs:
        raise TypeError("_reduce_dim_args() got an unexpected keyword argument 'p'")
    dim = kwargs.pop("dim", args[0] if args else None)
    keepdim = kwargs.pop("keepdim", args[1] if len(args) > 1 else False)
    if name == "all":
        found, kept = (torch.where(mask, data, torch.ones((), dtype=data.dtype)).to(torch.bool), mask)
        found = found.all() if dim is None else found.all(dim, keepdim)
    else:
        reduce, kept = getattr(masked, name), mask
        if name == "norm":
            found = reduce(data, 2.0, dim, keepdim=keepdim, mask=mask, **kwargs)
        else:
            found = reduce(data, dim, keepdim=keepdim, mask=mask, **kwargs)
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        kept = kept.any().reshape(found.shape)
    else:
        for each in sorted((each % max(mask.dim(), 1) for each in (dim if isinstance(dim, (tuple, list)) else (dim,))), reverse=True):
            kept = kept.any(each, keepdim)
    return made(found, kept)


def _softmax(self, dim=None, *args, dtype=None, _stacklevel=3, **kwargs):
    from kindling import masked
    data, mask = self._dense()
    return made(masked.softmax(data, dim, dtype=dtype, mask=mask), mask)


def _where(condition, input, other):
    if not (isinstance(input, MaskedTensor) and isinstance(other, MaskedTensor)):
        masked = input if isinstance(input, MaskedTensor) else other
        input, other = (each if isinstance(each, MaskedTensor) else made(each, masked._masked_mask) for each in (input, other))
    if isinstance(condition, MaskedTensor):
        condition = condition._masked_data
    mask = torch.where(condition, input._masked_mask, other._masked_mask)
    return made(torch.where(condition, input._masked_data, other._masked_data), mask)


def _joined(name):
    def join(tensors, dim=0):
        if not all(isinstance(each, MaskedTensor) for each in tensors):
            raise TypeError(f"{name}(): expected masked tensors alone")
        combine = getattr(torch, name)
        return made(combine([each._masked_data for each in tensors], dim), combine([each._masked_mask for each in tensors], dim))
    return join


def _as_sparse(self, form):
    if self.layout != torch.strided and form(self._masked_mask).layout == self.layout:
        return self
    data, mask = self._dense()
    sparse = form(mask)
    values = torch.where(mask, data, torch.zeros((), dtype=data.dtype))
    # Elements that count are kept where they are 0, too.
    if sparse.layout == torch.sparse_coo:
        places = sparse.coalesce().indices()
        return made(torch.sparse_coo_tensor(places, values[tuple(places)], data.shape, is_coalesced=True), sparse.coalesce())
    rows, columns = mask.nonzero(as_tuple=True)
    return made(torch.sparse_csr_tensor(sparse.crow_indices(), sparse.col_indices(), values[rows, columns], data.shape), sparse)


def _to_sparse(self, *args, **kwargs):
    return _as_sparse(self, lambda mask: mask.to_sparse() if mask.layout == torch.strided else mask)


def _to_sparse_csr(self, *args, **kwargs):
    return _as_sparse(self, lambda mask: mask.to_sparse_csr() if mask.layout == torch.strided else mask)


def _to_dense(self, *args, **kwargs):
    return made(*self._dense()) if self.layout != torch.strided else self


def _to_sparse_like(self, other):
    return _to_sparse(self) if other.layout == torch.sparse_coo else _to_sparse_csr(self)


def _item(self):
    return self._masked_data.item()


def _bool(self):
    return bool(self._masked_data)


def _values(name):
    def parts(self):
        return made(getattr(self._masked_data, name)(), getattr(self._masked_mask, name)())
    return parts


def _grad(outputs, inputs, *args, **kwargs):
    with _plain():
        found = torch.autograd.grad(outputs, inputs, *args, **kwargs)
    return tuple(made(each.as_subclass(Tensor), one._masked_mask) if isinstance(one, MaskedTensor) and each is not None else each
                 for one, each in zip(inputs, found))


_OTHERS = {"softmax": _softmax, "_softmax": _softmax, "where": _where, "cat": _joined("cat"), "stack": _joined("stack"), "concat": _joined("cat"),
           "to_sparse": _to_sparse, "to_sparse_coo": _to_sparse, "to_sparse_csr": _to_sparse_csr, "to_dense": _to_dense, "item": _item,
           "__bool__": _bool, "__float__": _item, "__int__": lambda self: int(_item(self)), "values": _values("values"), "_values": _values("_values"),
           "indices": lambda self: self._masked_data.indices(), "_indices": lambda self: self._masked_data._indices(), "grad": _grad,
           "crow_indices": lambda self: self._masked_data.crow_indices(), "col_indices": lambda self: self._masked_data.col_indices()}
MaskedTensor.to_sparse_like = _to_sparse_like
