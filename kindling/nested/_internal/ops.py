"""Operators on nested tensors of layout `torch.jagged`, by the name of the function that was called."""
import kindling as torch
from kindling import _C

from .jagged import NestedInt, NestedTensor, from_list, like

Tensor, F = torch.Tensor, torch.nn.functional
_plain = _C.DisableTorchFunctionSubclass

# What the class itself answers, or what holds for the packed elements as it does for the whole.
_PASSED = frozenset(
    "dtype device requires_grad grad_fn is_leaf is_cuda is_cpu is_meta is_sparse is_quantized requires_grad_ retain_grad retains_grad register_hook "
    "register_post_accumulate_grad_hook is_floating_point is_complex is_signed element_size itemsize get_device backward data_ptr __hash__ "
    "untyped_storage storage storage_offset is_inference is_conj is_neg is_sparse_csr is_mkldnn is_mps is_xpu _version is_pinned is_shared "
    "names has_names share_memory_ is_same_size output_nr _backward_hooks __dir__ __subclasscheck__ is_tensor _is_view _base _typed_storage "
    "nbytes detach_ zero_ fill_ normal_ uniform_ bernoulli_ is_distributed is_xla is_ipu is_maia is_vulkan is_mtia dim_order".split())
# One tensor of the same shape for one (and numbers): pointwise, random, copies.
_UNARY = frozenset(
    "abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh bernoulli bitwise_not ceil celu clamp_min clamp_max "
    "clip cos cosh conj deg2rad detach digamma dropout alpha_dropout feature_alpha_dropout elu erf erfc erfinv exp exp2 expm1 "
    "fix floor frac gelu hardshrink hardsigmoid hardswish hardtanh i0 isfinite isinf isnan isneginf isposinf isreal leaky_relu lgamma log log10 "
    "log1p log2 logical_not logit logsigmoid mish mul_ nan_to_num native_dropout neg negative positive rad2deg real imag reciprocal relu relu6 rrelu round rsqrt "
    "selu sgn sigmoid sign signbit silu sin sinc sinh softplus softshrink softsign sqrt square tan tanh tanhshrink threshold trunc clone to type "
    "float double half bfloat16 int long short bool char byte cpu cuda empty_like zeros_like ones_like full_like rand_like randn_like randint_like "
    "__neg__ __abs__ __invert__ __pos__ detach_copy alias special_expit type_as requires_grad pin_memory dropout1d".split())
_BINARY = frozenset(
    "add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow rsub atan2 arctan2 maximum minimum fmax fmin eq ne lt le gt ge greater "
    "greater_equal less less_equal not_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor where masked_fill clamp lerp addcmul "
    "addcdiv xlogy copysign hypot nextafter heaviside bitwise_left_shift bitwise_right_shift logaddexp logaddexp2 float_power prelu isclose "
    "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__ __mod__ __pow__ __rpow__ __eq__ __ne__ __lt__ __le__ "
    "__gt__ __ge__ __and__ __or__ __xor__ __rand__ __ror__ __rxor__ __div__ __rdiv__ __rmod__ copy_ mse_loss l1_loss smooth_l1_loss huber_loss "
    "binary_cross_entropy_with_logits".split())
_SERVED = {}


def call(func, args, kwargs):
    name = func.__name__
    if name in ("__get__", "__set__"):
        what = getattr(func.__self__, "__name__", "")
        if name == "__get__" and what == "mT" and what in _SERVED:
            return _SERVED[what](func, *args)
        if what == "data" and name == "__get__":
            return like(args[0], args[0]._values.detach())
        if name == "__get__" and what in ("T", "H", "mH", "real", "imag"):
            raise NotImplementedError(f"aten.{what}: not supported for NestedTensor in Kindling")
        with _plain():
            return func(*args, **kwargs)
    served = _SERVED.get(name)
    if served is not None:
        return served(func, *args, **kwargs)
    bare = name[:-1] if name[-1:] == "_" and name[-2:] != "__" else name
    if name in _PASSED:
        with _plain():
            return func(*args, **kwargs)
    if bare in _UNARY or bare in _BINARY:
        return _pointwise(func, name, args, kwargs)
    raise NotImplementedError(f"aten.{name}: not supported for NestedTensor in Kindling")


def serves(*names):
    def keep(function):
        for each in names:
            _SERVED[each] = function
        return function
    return keep


def _first(args, kwargs):
    for each in (*args, *kwargs.values()):
        if isinstance(each, NestedTensor):
            return each
    raise RuntimeError("expected a nested tensor")


def _pointwise(func, name, args, kwargs):
    nested = _first(args, kwargs)
    if name[-1:] == "_" and name[:2] != "__" and isinstance(args[0], NestedTensor) and name != "copy_":
        taken = [_beside(nested, name, each) for each in args[1:]]
        with _plain():
            func(args[0], *taken, **kwargs)
        return args[0]
    values = [_beside(nested, name, each) for each in args]
    keys = {key: _beside(nested, name, each) for key, each in kwargs.items()}
    result = func(*values, **keys)
    if name == "copy_" or name[-1:] == "_" and name[:2] != "__":
        return args[0]
    if not isinstance(result, Tensor) or result.shape != nested._values.shape and result.numel() != nested._values.numel():
        return result
    return like(nested, result)


def _beside(nested, name, value):
    """What stands for an operand where the packed elements stand for a nested tensor."""
    if isinstance(value, NestedTensor):
        if value is not nested and not _same_parts(nested, value):
            raise RuntimeError(f"cannot call binary pointwise function {_overload(name)} with inputs of shapes "
                               f"{tuple(nested.shape)} and {tuple(value.shape)}")
        return value._values
    if not isinstance(value, Tensor) or value.dim() == 0:
        return value
    dims, ragged = nested.dim(), nested._ragged_idx
    if value.dim() > dims:
        raise RuntimeError(f"cannot call binary pointwise function {_overload(name)} with inputs of shapes {tuple(nested.shape)} and {tuple(value.shape)}")
    whole = value.reshape((1,) * (dims - value.dim()) + tuple(value.shape))
    if whole.size(ragged) == 1 and whole.size(0) == 1:
        return whole.squeeze(0)
    if whole.size(0) == len(nested) and whole.size(ragged) == nested._max_seqlen and nested._lengths is None:
        lengths = nested._offsets.diff()        # a padded tensor: its elements where there are places
        places = torch.cat([torch.arange(length) for length in lengths.tolist()])
        return whole.movedim(ragged, 1)[_rows(nested), places].movedim(0, ragged - 1)
    if whole.size(0) not in (1, len(nested)) or whole.size(ragged) != 1:
        raise RuntimeError(f"cannot call binary pointwise function {_overload(name)} with inputs of shapes {tuple(nested.shape)} and {tuple(value.shape)}")
    if nested._lengths is not None:
        raise RuntimeError(f"{name}: a tensor with a number for each part needs parts that lie one behind the other; call contiguous() first")
    rows = whole.squeeze(ragged)[_rows(nested)]         # the parts' numbers, once for each place
    return rows.movedim(0, ragged - 1)


def _overload(name):
    return name.strip("_") + ".Tensor"


def _rows(nested):
    """For each place along the packed dimension, the part that it belongs to."""
    return torch.repeat_interleave(torch.arange(len(nested), device=nested._offsets.device), nested._offsets.diff())


def _same_parts(one, other):
    if one.dim() != other.dim() or one._ragged_idx != other._ragged_idx:
        return False
    return one._jagged_size() == other._jagged_size()


def _dim(nested, dim, extra=0):
    count = nested.dim() + extra
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return dim % count


def _inner(nested, dim, what, extra=0):
    """The dimension of the packed elements that one of the nested tensor is; neither the batch nor the jagged one."""
    dim = _dim(nested, dim, extra)
    if dim == 0 or dim == nested._ragged_idx and not extra:
        raise RuntimeError(f"{what}(): not supported for NestedTensor on {'dim=0' if dim == 0 else 'ragged dim'}")
    return dim - 1


# ---- parts

@serves("unbind")
def _unbind(func, self, dim=0):
    if _dim(self, dim) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    values, at = self._values, self._ragged_idx - 1
    return tuple(values.narrow(at, begin, length) for begin, length in self._spans())


def _each(self, function):
    """A nested tensor of what a function makes of each part."""
    parts = [function(each) for each in self.unbind()]
    at = self._ragged_idx - 1
    if self._lengths is None:
        return like(self, torch.cat(parts, at))
    return from_list(parts, None)


@serves("__getitem__")
def _getitem(func, self, index):
    index = index if isinstance(index, tuple) else (index,)
    if any(isinstance(each, (list, Tensor)) for each in index):
        if len(index) == 1 and isinstance(index[0], NestedTensor) and index[0].dtype == torch.bool:
            return self._values[_beside(self, "index", index[0])]
        raise NotImplementedError("aten.index.Tensor")
    if Ellipsis in index:
        at = index.index(Ellipsis)
        missing = self.dim() - sum(each is not None for each in index) + 1
        index = (*index[:at], *(slice(None),) * missing, *index[at + 1:])
    first = index[0] if index else slice(None)
    if isinstance(first, int):
        size = len(self)
        if not -size <= first < size:
            raise IndexError(f"index {first} is out of bounds for dimension 0 with size {size}")
        begin, length = self._spans()[first]
        part = self._values.narrow(self._ragged_idx - 1, begin, length)
        return part[index[1:]] if len(index) > 1 else part
    if first != slice(None):
        raise RuntimeError("slice(): not supported for NestedTensor on dim=0")
    ragged, dim = self._ragged_idx, 1
    for each in index[1:]:
        if dim == self._ragged_idx and each is not None and each != slice(None):
            raise RuntimeError(f"{'select' if isinstance(each, int) else 'slice'}(): not supported for NestedTensor on dim={dim}")
        if dim <= self._ragged_idx:
            ragged += each is None
            ragged -= isinstance(each, int) and dim < self._ragged_idx
        dim += each is not None
    return like(self, self._values[index[1:]], ragged)


@serves("select")
def _select(func, self, dim, index):
    if _dim(self, dim) == 0:
        return self[index]
    at = _inner(self, dim, "select")
    return like(self, self._values.select(at, index), self._ragged_idx - (at + 1 < self._ragged_idx))


@serves("narrow")
def _narrow(func, self, dim, start, length):
    return like(self, self._values.narrow(_inner(self, dim, "narrow"), start, length))


@serves("index_select", "gather", "cumsum", "cumprod", "flip", "sort", "argsort", "topk", "diff", "roll")
def _along_inner(func, self, *args, **kwargs):
    name = func.__name__
    dim = kwargs.pop("dim", None)
    args = list(args)
    place = {"topk": 1}.get(name, 0)
    if dim is None:
        if name in ("sort", "argsort", "topk") and len(args) <= place:
            dim = -1
        else:
            dim = args.pop(place)
    args = [_beside(self, name, each) if isinstance(each, NestedTensor) else each for each in args]
    if _dim(self, dim if isinstance(dim, int) else dim[0]) == self._ragged_idx and name not in ("gather", "index_select", "topk"):
        return _each(self, lambda part: getattr(torch, name)(part, *args, dim=self._ragged_idx - 1, **kwargs))
    at = _inner(self, dim, name) if isinstance(dim, int) else [_inner(self, each, name) for each in dim]
    if name == "flip":
        return like(self, self._values.flip(at))
    if name == "roll":
        return like(self, self._values.roll(*args, dims=at))
    result = getattr(torch, name)(self._values, *args[:place], dim=at, **kwargs) if place else getattr(torch, name)(
        *(self._values, at, *args) if name in ("index_select", "gather") else (self._values,), **({} if name in ("index_select", "gather") else {"dim": at}), **kwargs)
    return tuple(like(self, each) for each in result) if isinstance(result, tuple) else like(self, result)


@serves("chunk")
def _chunk(func, self, chunks, dim=0):
    if _dim(self, dim):
        return tuple(like(self, each) for each in self._values.chunk(chunks, _inner(self, dim, "chunk")))
    size = -(-len(self) // chunks)
    return tuple(from_list(list(self.unbind()[at:at + size]), None) for at in range(0, len(self), size))


@serves("split", "split_with_sizes", "tensor_split")
def _split(func, self, sizes, dim=0):
    name = func.__name__
    return tuple(like(self, each) for each in getattr(self._values, name)(sizes, dim=_inner(self, dim, name)))


@serves("cat", "concat", "concatenate")
def _cat(func, tensors, dim=0, **kwargs):
    nested = next(each for each in tensors if isinstance(each, NestedTensor))
    at = _inner(nested, dim, "cat")
    for each in tensors:
        if not isinstance(each, NestedTensor) or not _same_parts(nested, each):
            raise RuntimeError("cat(): expected nested tensors with the same jagged dimension")
    return like(nested, torch.cat([each._values for each in tensors], at))


@serves("stack")
def _stack(func, tensors, dim=0, **kwargs):
    nested = next(each for each in tensors if isinstance(each, NestedTensor))
    dim = _dim(nested, dim, 1)
    if dim == 0 or any(not isinstance(each, NestedTensor) or not _same_parts(nested, each) for each in tensors):
        raise RuntimeError("stack(): not supported for NestedTensor on dim=0, or for others than nested tensors with the same jagged dimension")
    return like(nested, torch.stack([each._values for each in tensors], dim - 1), nested._ragged_idx + (dim <= nested._ragged_idx))


# ---- shapes

@serves("transpose", "swapaxes", "swapdims")
def _transpose(func, self, dim0, dim1):
    one, other = _dim(self, dim0), _dim(self, dim1)
    if one == other:
        return like(self, self._values.view_as(self._values))
    if 0 in (one, other):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    ragged = {one: other, other: one}.get(self._ragged_idx, self._ragged_idx)
    return like(self, self._values.transpose(one - 1, other - 1), ragged)


@serves("mT")
def _matrix_transpose(func, self):
    return self.transpose(-2, -1)


@serves("permute")
def _permute(func, self, *dims):
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    dims = [_dim(self, each) for each in dims]
    if sorted(dims) != list(range(self.dim())):
        raise RuntimeError(f"permute(): expected the {self.dim()} dimensions of the nested tensor, got {tuple(dims)}")
    if dims[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    return like(self, self._values.permute([each - 1 for each in dims[1:]]), dims.index(self._ragged_idx))


@serves("movedim", "moveaxis")
def _movedim(func, self, source, destination):
    order = [each for each in range(self.dim()) if each != _dim(self, source)]
    order.insert(_dim(self, destination), _dim(self, source))
    return self.permute(*order)


@serves("view", "reshape")
def _view(func, self, *shape):
    return reshaped(func.__name__, self, *shape)


def reshaped(name, self, *shape):
    """`view` or `reshape`"""
    shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, NestedInt)) else shape
    if isinstance(shape, torch.dtype):
        return like(self, self._values.view(shape))
    shape, ragged, size = list(shape), self._ragged_idx, self._jagged_size()
    known = [at for at, each in enumerate(shape) if isinstance(each, NestedInt)]
    words = f"{name}(): cannot view shape {tuple(self.shape)} as {tuple(shape)}"
    if len(known) > 1 or known and shape[known[0]] != size:
        raise RuntimeError(words)
    if known:
        at = known[0]
    else:
        if len(shape) <= ragged or shape[ragged] != -1:
            raise RuntimeError(words)
        at = ragged
    if not shape or shape[0] not in (len(self), -1) or at == 0:
        raise RuntimeError(words)
    values = self._values
    before, after = 1, 1
    for each in shape[1:at]:
        before *= each
    for each in values.shape[:ragged - 1]:
        after *= each
    if before != after:         # what lies before the jagged dimension stays before it
        raise RuntimeError(words)
    wanted = [*shape[1:at], values.size(ragged - 1), *shape[at + 1:]]
    return like(self, getattr(values, name)(wanted), at)


@serves("view_as", "reshape_as")
def _view_as(func, self, other):
    return getattr(self, func.__name__[:-3])(*other.shape)


@serves("expand", "expand_as")
def _expand(func, self, *shape):
    return expanded(func.__name__, self, *shape)


def expanded(name, self, *shape):
    """`expand` or `expand_as`"""
    if name == "expand_as":
        shape = shape[0].shape
    shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, NestedInt)) else shape
    if len(shape) != self.dim() or shape[0] not in (-1, len(self)) or isinstance(shape[self._ragged_idx], int) and shape[self._ragged_idx] != -1:
        raise RuntimeError(f"expand(): cannot expand shape {tuple(self.shape)} -> {tuple(shape)}")
    return like(self, self._values.expand([-1 if isinstance(each, NestedInt) else each for each in shape[1:]]))


@serves("unflatten")
def _unflatten(func, self, dim, sizes):
    dim = _dim(self, dim)
    if dim <= self._ragged_idx:
        raise RuntimeError(f"unflatten(): only supported for dimensions behind the jagged one of NestedTensor, got dim={dim}")
    return like(self, self._values.unflatten(dim - 1, sizes))


@serves("flatten")
def _flatten(func, self, start_dim=0, end_dim=-1):
    start, end = _dim(self, start_dim), _dim(self, end_dim)
    if start == end:
        return like(self, self._values)
    if start <= self._ragged_idx <= end or start == 0:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    return like(self, self._values.flatten(start - 1, end - 1), self._ragged_idx - (end - start if end < self._ragged_idx else 0))


@serves("unsqueeze")
def _unsqueeze(func, self, dim):
    dim = _dim(self, dim, 1)
    if dim == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return like(self, self._values.unsqueeze(dim - 1), self._ragged_idx + (dim <= self._ragged_idx))


@serves("squeeze")
def _squeeze(func, self, dim=None):
    dims = range(1, self.dim()) if dim is None else [_dim(self, each) for each in (dim if isinstance(dim, (tuple, list)) else (dim,))]
    gone = [each for each in dims if each not in (0, self._ragged_idx) and self._values.size(each - 1) == 1]
    if not gone:
        return like(self, self._values)
    return like(self, self._values.squeeze([each - 1 for each in gone]), self._ragged_idx - sum(each < self._ragged_idx for each in gone))


@serves("contiguous")
def _contiguous(func, self, memory_format=torch.contiguous_format):
    if self.is_contiguous():
        return self
    if self._lengths is not None:
        parts = [each.transpose(0, self._ragged_idx - 1) for each in self.unbind()]
        return from_list([each.transpose(0, self._ragged_idx - 1) for each in parts], None)
    return like(self, self._values.contiguous())


def padded(self, padding, output_size=None):
    """`to_padded_tensor`"""
    if self.dim() < 2:
        raise RuntimeError("to_padded_tensor(): expected at least two dimensions")
    values = self._values.movedim(self._ragged_idx - 1, 0)
    longest = self._max_seqlen
    if output_size is not None:
        wanted = list(output_size)
        if len(wanted) != self.dim() or wanted[0] != len(self):
            raise RuntimeError(f"to_padded_tensor(): expected output_size of {self.dim()} sizes, the first {len(self)}, got {tuple(wanted)}")
        longest = wanted[self._ragged_idx]
    spans = self._spans()
    cut = longest < self._max_seqlen
    if cut:
        spans = [(begin, min(length, longest)) for begin, length in spans]
    where = torch.cat([torch.arange(begin, begin + length) for begin, length in spans]) if self._lengths is not None or cut else None
    rows = torch.repeat_interleave(torch.arange(len(spans)), torch.tensor([length for _, length in spans]))
    places = torch.cat([torch.arange(length) for _, length in spans]) if spans else rows
    packed = values if where is None else values[where]
    out = torch.full((len(spans), longest, *values.shape[1:]), padding, dtype=values.dtype, device=values.device)
    return out.index_put((rows, places), packed).movedim(1, self._ragged_idx)


# ---- reductions

_IDENTITY = ("sum", "mean", "amax", "amin", "prod", "all", "any", "logsumexp", "var", "std", "argmax", "argmin", "max", "min", "norm", "nansum",
             "count_nonzero", "var_mean", "std_mean", "median", "quantile")


@serves(*_IDENTITY)
def _reduce(func, self, *args, **kwargs):
    name = func.__name__
    args, kwargs = list(args), dict(kwargs)
    if name in ("max", "min") and args and isinstance(args[0], Tensor):
        return _pointwise(func, name, (self, *args), kwargs)
    given = []
    if name in ("norm",):
        given = [args.pop(0)] if args else [kwargs.pop("p", 2)]
    dim = kwargs.pop("dim", None)
    if dim is None and args:
        dim = args.pop(0)
    keepdim = kwargs.pop("keepdim", args.pop(0) if args and isinstance(args[0], bool) else False)
    values = self._values
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        if self._lengths is not None:
            values = torch.cat([each.movedim(self._ragged_idx - 1, 0) for each in self.unbind()])
        return getattr(torch, name)(values, *given, **kwargs)
    ragged = self._ragged_idx
    dims = sorted({_dim(self, each) for each in (dim if isinstance(dim, (tuple, list)) else (dim,))})
    several = isinstance(dim, (tuple, list))
    reduce = getattr(torch, name)
    if 0 in dims and ragged not in dims:
        raise RuntimeError(f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors")
    if 0 in dims:
        if self._lengths is not None:
            values = torch.cat(self.unbind(), ragged - 1)
        result = reduce(values, *given, dim=[each - 1 for each in dims[1:]] if several and len(dims) > 2 else dims[-1] - 1 if len(dims) == 2 else [
            each - 1 for each in dims if each], keepdim=keepdim, **kwargs)
        return result.unsqueeze(0) if keepdim else result
    if ragged in dims:
        if len(dims) > 1:
            raise AssertionError("Cannot reduce on both ragged and non-batch dimensions without also reducing on batch")
        parts = [reduce(each, *given, dim=ragged - 1, keepdim=keepdim, **kwargs) for each in self.unbind()]
        if isinstance(parts[0], Tensor):
            return torch.stack(parts)
        return type(parts[0])([torch.stack([each[at] for each in parts]) for at in range(len(parts[0]))])
    inner = [each - 1 for each in dims]
    result = reduce(values, *given, dim=inner if several else inner[0], keepdim=keepdim, **kwargs)
    at = ragged if keepdim else ragged - sum(each < ragged for each in dims)
    return like(self, result, at) if isinstance(result, Tensor) else type(result)([like(self, each, at) for each in result])


@serves("softmax", "log_softmax", "_softmax", "_log_softmax", "softmin")
def _softmax(func, self, dim=None, *args, **kwargs):
    name = func.__name__.lstrip("_")
    if dim is None:
        raise RuntimeError(f"{name}(): expected a dimension")
    dim = _dim(self, dim)
    kwargs.pop("_stacklevel", None)
    dtype = kwargs.get("dtype", args[-1] if args and isinstance(args[-1], torch.dtype) else None)
    kwargs = {} if dtype is None else {"dtype": dtype}
    if dim == 0:
        raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
    run = getattr(F, name)
    if dim == self._ragged_idx:
        return _each(self, lambda part: run(part, dim - 1, **kwargs))
    return like(self, run(self._values, dim - 1, **kwargs))


# ---- layers

@serves("linear")
def _linear(func, input, weight, bias=None):
    if not isinstance(input, NestedTensor):
        raise NotImplementedError("linear(): expected a nested tensor as input alone")
    return like(input, F.linear(input._values, weight, bias))


@serves("embedding")
def _embedding(func, input, weight, *args, **kwargs):
    if isinstance(input, Tensor) and not isinstance(input, NestedTensor):       # the operator has the weight first
        input, weight = weight, input
    return like(input, F.embedding(input._values, weight, *args, **kwargs))


@serves("layer_norm", "rms_norm", "group_norm", "native_layer_norm")
def _layer_norm(func, input, normalized_shape, *args, **kwargs):
    name = func.__name__
    if name == "group_norm":
        raise RuntimeError("group_norm(): not supported for NestedTensor")
    shape = tuple(normalized_shape) if isinstance(normalized_shape, (tuple, list, torch.Size)) else (normalized_shape,)
    if input.dim() - len(shape) <= input._ragged_idx:
        raise RuntimeError(f"{name}(): normalizing over ragged dim not supported for nested tensors")
    return like(input, getattr(F, name)(input._values, shape, *args, **kwargs))


@serves("matmul", "__matmul__", "bmm", "__rmatmul__")
def _matmul(func, self, other):
    if func.__name__ == "__rmatmul__":
        self, other = other, self
    words = f"matmul(): not supported between inputs of shapes {tuple(self.shape)} and {other.shape if isinstance(other, Tensor) else other}"
    if isinstance(self, NestedTensor) and isinstance(other, NestedTensor):
        if self._jagged_size() != other._jagged_size():
            raise RuntimeError(words)
        one, two = self.dim() - 1 == self._ragged_idx, other.dim() - 2 == other._ragged_idx
        if one and two:                         # the jagged dimension is summed away
            return torch.stack([torch.matmul(a, b) for a, b in zip(self.unbind(), other.unbind())])
        if self._ragged_idx < self.dim() - 2 and other._ragged_idx == self._ragged_idx and self.dim() == other.dim():
            return like(self, torch.matmul(self._values, other._values))
        raise RuntimeError(words)
    if not isinstance(self, NestedTensor):
        if other._ragged_idx < other.dim() - 2 and self.dim() <= 2:
            return like(other, torch.matmul(self, other._values))
        if other._ragged_idx == other.dim() - 1 and (self.dim() == 2 or self.dim() == other.dim()):
            parts = self.unbind() if self.dim() == other.dim() else [self] * len(other)
            return like(other, torch.cat([torch.matmul(a, b) for a, b in zip(parts, other.unbind())], other._ragged_idx - 1))
        raise RuntimeError(words)
    if other.dim() <= 2 and self._ragged_idx < self.dim() - 1:
        return like(self, torch.matmul(self._values, other))
    if other.dim() == self.dim() and other.size(0) == len(self) and self._ragged_idx == self.dim() - 2:
        return like(self, torch.cat([torch.matmul(a, b) for a, b in zip(self.unbind(), other.unbind())], self._ragged_idx - 1))
    raise RuntimeError(words)


@serves("scaled_dot_product_attention")
def _attention(func, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if not all(isinstance(each, NestedTensor) for each in (query, key, value)):
        raise ValueError("Expected query, key, and value to all be nested or all non-nested, but got "
                         f"query.is_nested: {query.is_nested}, key.is_nested: {key.is_nested}, and value.is_nested: {value.is_nested} instead.")
    if attn_mask is not None:
        raise ValueError("Expected attn_mask to be None for nested tensors; masks of nested tensors are not there")
    if query.dim() not in (3, 4) or any(each.dim() != query.dim() for each in (key, value)):
        raise ValueError(f"Expected query, key, and value to have the same 3 or 4 dimensions, but got {query.dim()}, {key.dim()}, {value.dim()}")
    if query.dim() == 4 and query._ragged_idx != 2:
        raise ValueError("Expected query, key and value to have the jagged dimension behind the heads: call transpose(1, 2) first")
    options = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
    if enable_gqa:
        options["enable_gqa"] = True
    parts = []
    for q, k, v in zip(query.unbind(), key.unbind(), value.unbind()):
        parts.append(F.scaled_dot_product_attention(q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), **options).squeeze(0))
    # Elements lie as they do in the parts' usual form, a row of all heads for each place.
    at = query._ragged_idx - 1
    packed = torch.cat([each.movedim(at, 0) for each in parts]).movedim(0, at)
    return like(query, packed) if query._lengths is None else from_list(parts, None)


@serves("equal")
def _equal(func, self, other):
    if not (isinstance(self, NestedTensor) and isinstance(other, NestedTensor)):
        return False
    return len(self) == len(other) and all(torch.equal(a, b) for a, b in zip(self.unbind(), other.unbind()))


@serves("allclose")
def _allclose(func, self, other, *args, **kwargs):
    return len(self) == len(other) and all(torch.allclose(a, b, *args, **kwargs) for a, b in zip(self.unbind(), other.unbind()))


@serves("item")
def _item(func, self):
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return self._values.item()


@serves("grad")
def _grad(func, outputs, inputs, *args, **kwargs):
    with _plain():
        found = func(outputs, inputs, *args, **kwargs)
    return tuple(like(one, each.as_subclass(Tensor)) if isinstance(one, NestedTensor) and each is not None else each for one, each in zip(inputs, found))


@serves("broadcast_tensors")
def _broadcast(func, *tensors):
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    nested = _first(tensors, {})
    return tuple(each if isinstance(each, NestedTensor) else like(nested, _beside(nested, "broadcast_tensors", each).expand_as(nested._values)) for each in tensors)


@serves("normalize", "cosine_similarity", "pad", "one_hot")
def _by_values(func, self, *args, **kwargs):
    name = func.__name__
    if name == "normalize":
        p, dim = kwargs.pop("p", args[0] if args else 2.0), kwargs.pop("dim", args[1] if len(args) > 1 else 1)
        return like(self, F.normalize(self._values, p, _inner(self, dim, name), **kwargs))
    if name == "one_hot":
        return like(self, F.one_hot(self._values, *args, **kwargs))
    raise NotImplementedError(f"{name}(): not supported for NestedTensor in Kindling")


@serves("new_empty", "new_zeros", "new_ones", "new_full", "new_tensor")
def _new(func, self, *args, **kwargs):
    return getattr(self._values, func.__name__)(*args, **kwargs)
