"""Quantised tensors: whole numbers in memory, and the scale and zero point that make real numbers of them.

A quantised tensor is a tensor of int8, uint8 or int32 whose class says the rest: `dtype` is qint8, quint8 or qint32, and what is
called with it comes to `__torch_function__`. Shapes change and copies are made here; other operators refuse, as PyTorch's do
where they have no quantised kernel.
"""
import math

import kindling as torch
from kindling import _C

Tensor = torch.Tensor
_AFFINE, _CHANNEL, _FLOAT = torch.per_tensor_affine, torch.per_channel_affine, torch.per_channel_affine_float_qparams
# By dtype: the dtype of the numbers in memory, the least and the greatest.
RANGES = {torch.qint8: (torch.int8, -128, 127), torch.quint8: (torch.uint8, 0, 255), torch.qint32: (torch.int32, -2**31, 2**31 - 1)}
_plain = _C.DisableTorchFunctionSubclass


class Quantizer:
    """What makes real numbers of whole ones; `axis` is None for one scale."""

    def __init__(self, scheme, scale, zero_point, axis=None):
        self.scheme, self.scale, self.zero_point, self.axis = scheme, scale, zero_point, axis

    def __eq__(self, other):
        if self.scheme != other.scheme or self.axis != other.axis:
            return False
        if self.axis is None:
            return (self.scale, self.zero_point) == (other.scale, other.zero_point)
        return torch.equal(self.scale, other.scale) and torch.equal(self.zero_point, other.zero_point)

    def real(self, numbers):
        """The real numbers of whole ones, in float32."""
        if self.axis is None:
            return (numbers.to(torch.int32) - self.zero_point).to(torch.float32) * _single(self.scale)
        scale, zero = (_along(each, self.axis, numbers.dim()) for each in (self.scale, self.zero_point))
        if self.scheme == _FLOAT:
            return (numbers.to(torch.float32) - zero.to(torch.float32)) * scale.to(torch.float32)
        return ((numbers.to(torch.float64) - zero.to(torch.float64)) * scale.to(torch.float64)).to(torch.float32)


def _single(number):
    """The float32 next to a number, as a Python one."""
    return torch.tensor(number, dtype=torch.float32).item()


def _along(values, axis, dims):
    return values.reshape([-1 if at == axis else 1 for at in range(dims)])


class QuantizedTensor(Tensor):
    __module__ = "torch"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__
        if name == "__get__":
            name = getattr(func.__self__, "__name__", "")
            if name in ("T", "mT", "H", "mH"):
                return args[0].t() if args[0].dim() == 2 else args[0].permute(*range(args[0].dim() - 1, -1, -1))
            if name in ("data",):
                return args[0].detach()
        elif name in _SHAPES:
            return _reshaped(func, name, args, kwargs)
        elif name in _POINTWISE or name in _REFUSED:
            served = _POINTWISE.get(name)
            if served is None:
                raise NotImplementedError(_no_kernel(name))
            return served(*args, **kwargs)
        elif name not in _HEADERS:
            raise NotImplementedError(_no_kernel(name))
        with _plain():
            return func(*args, **kwargs)

    @property
    def dtype(self):
        return self._quantized_dtype

    @property
    def is_quantized(self):
        return True

    def qscheme(self):
        """The quantisation scheme."""
        return self._quantizer.scheme

    def q_scale(self):
        """The scale of a tensor that has one."""
        self._whole("q_scale")
        return self._quantizer.scale

    def q_zero_point(self):
        """The zero point of a tensor that has one."""
        self._whole("q_zero_point")
        return self._quantizer.zero_point

    def q_per_channel_scales(self):
        """The scales of a tensor quantised along a dimension."""
        self._channels("q_per_channel_scales")
        return self._quantizer.scale

    def q_per_channel_zero_points(self):
        """The zero points of a tensor quantised along a dimension."""
        self._channels("q_per_channel_zero_points")
        return self._quantizer.zero_point

    def q_per_channel_axis(self):
        """The dimension along which scales differ."""
        self._channels("q_per_channel_axis")
        return self._quantizer.axis

    def _whole(self, name):
        if self._quantizer.axis is not None:
            raise RuntimeError(f"Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.  ({name})")

    def _channels(self, name):
        if self._quantizer.axis is None:
            raise RuntimeError("Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == "
                               f"kPerChannelAffineFloatQParams to be true, but got false.  ({name})")

    def int_repr(self):
        """The whole numbers, copied."""
        return numbers(self).clone(memory_format=torch.contiguous_format)

    def dequantize(self):
        """The real numbers, in float32."""
        return self._quantizer.real(numbers(self))

    def __repr__(self, *, tensor_contents=None):
        from kindling import _tensor_str
        with torch.no_grad(), _plain():
            text = _tensor_str._tensor_text(self._quantizer.real(numbers(self)), 7)
            quantizer = self._quantizer
            parts = [f"size={tuple(self.shape)}", f"dtype={self._quantized_dtype}", f"quantization_scheme={quantizer.scheme}"]
            if quantizer.axis is None:
                parts += [f"scale={quantizer.scale}", f"zero_point={quantizer.zero_point}"]
            else:
                parts += [f"scale={quantizer.scale}", f"zero_point={quantizer.zero_point}", f"axis={quantizer.axis}"]
            return _tensor_str._add_suffixes("tensor(" + text, parts, 7, False)

    __str__ = __repr__

    def __format__(self, spec):
        return object.__format__(self, spec)

    def __deepcopy__(self, memo):
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = make(numbers(self).clone(), self._quantized_dtype, self._quantizer)
        return found

    def __iter__(self):
        return iter(self.unbind(0))


def _no_kernel(name):
    return (f"Could not run 'aten::{name.strip('_') if name[:2] == '__' else name}' with arguments from the 'QuantizedCPU' backend: "
            "Kindling computes with quantised tensors in quantised linear layers alone; call dequantize() first")


def make(plain, dtype, quantizer):
    """A quantised tensor over whole numbers."""
    result = Tensor._make_subclass(QuantizedTensor, plain)
    result._quantized_dtype, result._quantizer = dtype, quantizer
    return result


def numbers(tensor):
    """The whole numbers of a quantised tensor, in its own memory."""
    with _plain():
        return tensor.as_subclass(Tensor)


# What says how a tensor lies in memory is that of the whole numbers.
_HEADERS = frozenset(
    "size dim ndimension ndim numel nelement stride shape device layout is_contiguous storage_offset data_ptr untyped_storage storage "
    "_typed_storage element_size itemsize nbytes requires_grad grad grad_fn is_leaf is_cuda is_cpu is_meta is_sparse _version __len__ get_device "
    "is_floating_point is_complex is_signed is_same_size is_set_to is_pinned is_shared share_memory_ names output_nr retain_grad retains_grad "
    "requires_grad_ __hash__ __reduce_ex__ is_inference is_conj is_neg resolve_conj resolve_neg is_sparse_csr is_nested is_mkldnn is_mps is_xpu is_quantized "
    "_is_view _base is_distributed __dir__ __subclasscheck__ has_names real is_tensor".split())
_REFUSED = frozenset()
# Views and copies; where scales differ along a dimension, those alone that keep it.
_SHAPES = frozenset(
    "view reshape view_as reshape_as transpose permute t squeeze unsqueeze select narrow flatten unflatten expand expand_as contiguous clone "
    "detach detach_ alias chunk split tensor_split unbind index_select flip repeat movedim swapaxes swapdims __getitem__ as_strided "
    "take resize_ unfold transpose_ roll rot90 masked_select to cpu ravel pin_memory".split())
_KEEP = frozenset("contiguous clone detach detach_ alias cpu to pin_memory".split())


def _reshaped(func, name, args, kwargs):
    self = args[0]
    if not isinstance(self, QuantizedTensor):
        raise NotImplementedError(_no_kernel(name))
    quantizer = self._quantizer
    if name == "to":
        wanted = [each for each in (*args[1:], *kwargs.values()) if isinstance(each, torch.dtype)]
        if any(each != self.dtype for each in wanted):
            raise RuntimeError("empty_strided not supported on quantized tensors yet see https://github.com/pytorch/pytorch/issues/74540"
                               if wanted[0] not in RANGES else _no_kernel("to"))
        if wanted:
            args = tuple(each for each in args if not isinstance(each, torch.dtype))
            kwargs = {key: each for key, each in kwargs.items() if not isinstance(each, torch.dtype)}
            if len(args) == 1 and not kwargs:
                return self
    if quantizer.axis is not None and name not in _KEEP:
        raise RuntimeError("Setting strides is possible only on uniformly quantized tensor")
    with _plain():
        result = func(*args, **kwargs)
    if isinstance(result, (tuple, list)):
        return type(result)(make(each.as_subclass(Tensor), self._quantized_dtype, quantizer) for each in result)
    with _plain():
        plain = result.as_subclass(Tensor)
    return make(plain, self._quantized_dtype, quantizer)


def _equal(self, other):
    if not (isinstance(self, QuantizedTensor) and isinstance(other, QuantizedTensor)):
        return False
    return self.dtype == other.dtype and self._quantizer == other._quantizer and torch.equal(numbers(self), numbers(other))


def _compared(name):
    def compare(self, other, **kwargs):
        self, other = (each.dequantize() if isinstance(each, QuantizedTensor) else each for each in (self, other))
        return getattr(torch, name)(self, other, **kwargs)
    return compare


def _cat(tensors, dim=0, **kwargs):
    first = tensors[0]
    if any(not isinstance(each, QuantizedTensor) or each._quantizer.axis is not None or each.dtype != first.dtype for each in tensors):
        raise RuntimeError("cat: expected quantised tensors of one dtype with one scale each")
    if all(each._quantizer == first._quantizer for each in tensors):
        return make(torch.cat([numbers(each) for each in tensors], dim, **kwargs), first.dtype, first._quantizer)
    real = torch.cat([each.dequantize() for each in tensors], dim, **kwargs)
    return quantize_per_tensor(real, first.q_scale(), first.q_zero_point(), first.dtype)


def _relu(self, inplace=False):
    self._whole("relu")
    plain = numbers(self)
    if inplace:
        plain.clamp_(min=self._quantizer.zero_point)
        return self
    return make(plain.clamp(min=self._quantizer.zero_point), self.dtype, self._quantizer)


def _extreme(name):
    def extreme(self, *args, **kwargs):
        self._whole(name)
        result = getattr(numbers(self), name)(*args, **kwargs)
        if isinstance(result, Tensor):
            return make(result, self.dtype, self._quantizer)
        return type(result)((make(result[0], self.dtype, self._quantizer), result[1]))
    return extreme


def _copied(self, other, non_blocking=False):
    if not isinstance(self, QuantizedTensor):
        raise RuntimeError("Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float "
                           "Tensor from a quantized Tensor")
    if isinstance(other, QuantizedTensor):
        if other.dtype != self.dtype:
            raise RuntimeError("Quantized copy only works with same dtype")
        numbers(self).copy_(numbers(other))
        self._quantizer = other._quantizer
        return self
    if other.dtype != torch.float32:
        raise RuntimeError("Quantized copy only works with kFloat as source Tensor")
    quantizer = self._quantizer
    numbers(self).copy_(_rounded(other, quantizer, self.dtype))
    return self


def _item(self):
    return self.dequantize().item()


def _empty_like(self, *, dtype=None, **kwargs):
    if dtype is not None and dtype not in RANGES:
        return torch.empty_like(numbers(self), dtype=dtype, **kwargs)
    return make(torch.empty_like(numbers(self), **kwargs), self.dtype, self._quantizer)


_POINTWISE = {"equal": _equal, "cat": _cat, "concat": _cat, "relu": _relu, "relu_": lambda self: _relu(self, True), "copy_": _copied,
              "item": _item, "empty_like": _empty_like, "dequantize": lambda self: self.dequantize(),
              "int_repr": lambda self: self.int_repr(),
              **{each: _compared(each.strip("_")) for each in ("eq", "ne", "lt", "le", "gt", "ge", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")},
              **{each: _extreme(each) for each in ("max", "min", "amax", "amin", "sort", "topk")}}


# ---- from real numbers

def _check_real(name, input, dtype):
    if dtype not in RANGES:
        raise RuntimeError(f"{name}: expected a quantised dtype (qint8, quint8, qint32), got {dtype}")
    if input.dtype != torch.float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {input.dtype.to_abbr() if hasattr(input.dtype, 'to_abbr') else input.dtype}")


def _rounded(input, quantizer, dtype):
    """The whole numbers next to real ones. One product and sum is rounded once, where one scale holds for eight-bit numbers."""
    kind, least, greatest = RANGES[dtype]
    if quantizer.axis is not None:
        scale, zero = (_along(each, quantizer.axis, input.dim()) for each in (quantizer.scale, quantizer.zero_point))
        found = input * (1 / scale.to(torch.float32)) + zero.to(torch.float32)
    else:
        inverse = 1 / torch.tensor(quantizer.scale, dtype=torch.float32)
        if dtype == torch.qint32:
            found = input * inverse + float(quantizer.zero_point)
        else:
            found = torch.add(input.to(torch.float64) * inverse.to(torch.float64), quantizer.zero_point).to(torch.float32)
    if dtype == torch.qint32:
        found = found.to(torch.float64)
    found = found.nan_to_num(greatest if quantizer.axis is None else least, math.inf, -math.inf) if dtype != torch.qint32 else found.nan_to_num(
        least, math.inf, -math.inf)
    return found.round_().clamp_(least, greatest).to(kind)


def quantize_per_tensor(input, scale, zero_point, dtype):
    """A quantised tensor with one scale and one zero point; a tuple of them for tensors, scales and zero points."""
    if not isinstance(input, Tensor):
        return tuple(quantize_per_tensor(each, one, zero, dtype) for each, one, zero in zip(input, scale, zero_point))
    _check_real("quantize_per_tensor", input, dtype)
    scale, zero_point = float(scale), int(zero_point)
    _, least, greatest = RANGES[dtype]
    if not least <= zero_point <= greatest:
        raise RuntimeError(f"quantize_tensor_per_tensor_affine zero_point {zero_point} is {'below lower' if zero_point < least else 'above upper'} bound.")
    quantizer = Quantizer(_AFFINE, scale, zero_point)
    return make(_rounded(input.detach(), quantizer, dtype), dtype, quantizer)


def quantize_per_channel(input, scales, zero_points, axis, dtype):
    """A quantised tensor with a scale and a zero point for each place along `axis`."""
    _check_real("quantize_per_channel", input, dtype)
    if scales.dim() != 1 or zero_points.dim() != 1 or scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    if not 0 <= axis < input.dim():
        raise RuntimeError("Channel axis out of range in per channel affine quantization. Got: "
                           f"{axis}Expected: [0, {input.dim()})")
    if scales.numel() != input.size(axis):
        raise RuntimeError("Number of elements in scales must match the size of the axis")
    floating = zero_points.is_floating_point()
    quantizer = Quantizer(_FLOAT if floating else _CHANNEL, scales.to(torch.float32 if floating else torch.float64),
                          zero_points.to(torch.float32 if floating else torch.int64), axis)
    return make(_rounded(input.detach(), quantizer, dtype), dtype, quantizer)


def choose(low, high, least, greatest, symmetric=False):
    """The scale and zero point that map [low, high], with 0, to the whole numbers of [least, greatest].

    With `symmetric` the zero point lies in the middle where there are numbers on both sides of 0.
    """
    symmetric = symmetric and low < 0 < high
    if symmetric:
        below, above = -((greatest - least) // 2 + 1), (greatest - least) // 2
        most = max(abs(low / below), abs(high / above))
        low, high = _single(most * below), _single(most * above)
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (greatest - least)
    single = _single(scale)
    if single == 0 or math.isinf(_single(1 / single)):
        scale = 0.1
    smallest = _single(6.1e-5)
    if scale < smallest:
        more = _single(smallest / _single(scale))
        scale = smallest
        if low == 0:
            high = _single(scale * (greatest - least))
        elif high == 0:
            low = _single(-scale * (greatest - least))
        else:
            low, high = _single(low * more), _single(high * more)
    if symmetric:
        return scale, max(least, min(greatest, round((least + greatest) / 2)))
    from_low, from_high = least - low / scale, greatest - high / scale
    nearer = from_low if abs(least) + abs(low / scale) < abs(greatest) + abs(high / scale) else from_high
    return scale, least if nearer < least else greatest if nearer > greatest else round(nearer)


def _choose_qparams_per_tensor(input, reduce_range=False):
    """The scale and zero point of eight-bit numbers (seven with `reduce_range`) for a tensor's range."""
    low, high = torch.aminmax(input.detach()) if input.numel() else (torch.zeros(()), torch.zeros(()))
    return choose(low.item(), high.item(), 0, 127 if reduce_range else 255)


def quantize_per_tensor_dynamic(input, dtype, reduce_range):
    """A quantised tensor with the scale and zero point that its own range asks for."""
    _check_real("quantize_per_tensor_dynamic", input, dtype)
    if dtype not in (torch.qint8, torch.quint8):
        raise RuntimeError("dtype  " + str(dtype) + "not supported")
    _, least, greatest = RANGES[dtype]
    if reduce_range:
        least, greatest = int(least / 2), greatest // 2
    low, high = torch.aminmax(input.detach())
    scale, zero_point = choose(low.item(), high.item(), least, greatest)
    return quantize_per_tensor(input, scale, zero_point, dtype)


def dequantize(tensors):
    """A tensor, or each of several, in float32."""
    return tensors.dequantize() if isinstance(tensors, Tensor) else tuple(each.dequantize() for each in tensors)


def _of(name):
    def ask(input):
        return getattr(input, name)()
    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = f"``input.{name}()``"
    return ask


int_repr, q_scale, q_zero_point, q_per_channel_scales, q_per_channel_zero_points, q_per_channel_axis = map(
    _of, ("int_repr", "q_scale", "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis"))


def _make_per_tensor_quantized_tensor(input, scale, zero_point):
    """A quantised tensor of these whole numbers, copied."""
    return make(input.clone(), _quantized(input.dtype), Quantizer(_AFFINE, float(scale), int(zero_point)))


def _make_per_channel_quantized_tensor(input, scale, zero_point, axis):
    """A quantised tensor of these whole numbers, copied, with a scale for each channel."""
    floating = zero_point.is_floating_point()
    quantizer = Quantizer(_FLOAT if floating else _CHANNEL, scale.to(torch.float32 if floating else torch.float64),
                          zero_point.to(torch.float32 if floating else torch.int64), axis)
    return make(input.clone(), _quantized(input.dtype), quantizer)


def _quantized(kind):
    for dtype, (plain, _, _) in RANGES.items():
        if plain == kind:
            return dtype
    raise RuntimeError(f"expected int8, uint8 or int32 numbers of a quantised tensor, got {kind}")


def _empty_affine_quantized(*size, scale=1, zero_point=0, dtype=None, device=None, layout=None, pin_memory=False, requires_grad=False,
                            memory_format=torch.contiguous_format):
    """A quantised tensor whose whole numbers are what lay in memory."""
    size = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if dtype not in RANGES:
        raise RuntimeError(f"_empty_affine_quantized: expected a quantised dtype, got {dtype}")
    return make(torch.empty(size, dtype=RANGES[dtype][0], device=device, memory_format=memory_format), dtype, Quantizer(_AFFINE, float(scale), int(zero_point)))


def _empty_per_channel_affine_quantized(*size, scales, zero_points, axis, dtype=None, device=None, layout=None, pin_memory=False,
                                        requires_grad=False, memory_format=torch.contiguous_format):
    """As `_empty_affine_quantized`, with a scale for each channel."""
    size = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    plain = torch.empty(size, dtype=RANGES[dtype][0], device=device, memory_format=memory_format)
    return _make_per_channel_quantized_tensor(plain, scales, zero_points, axis)


# ---- what trains with rounding in the way

def _fake(input, scale, zero_point, least, greatest):
    """(real numbers after a round trip through whole ones, where nothing was cut off)"""
    whole = (input * (1 / scale)).round() + zero_point
    result = (whole.clamp(least, greatest) - zero_point) * scale
    return result, (whole >= least) & (whole <= greatest)


class _FakeQuantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, scale, zero_point, least, greatest):
        result, inside = _fake(input, scale, zero_point, least, greatest)
        ctx.save_for_backward(inside)
        return result.to(input.dtype)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0], None, None, None, None


def _check_bounds(least, greatest):
    if least > greatest:
        raise RuntimeError("`quant_min` should be less than or \n        equal to `quant_max`.")


def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """`input` rounded as quantised numbers are; the gradient goes through where nothing was cut off."""
    _check_bounds(quant_min, quant_max)
    if not isinstance(zero_point, Tensor) and not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    scale = scale.to(torch.float32) if isinstance(scale, Tensor) else torch.tensor(scale, dtype=torch.float32)
    return _FakeQuantize.apply(input, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """As `fake_quantize_per_tensor_affine`, with a scale for each place along `axis`."""
    _check_bounds(quant_min, quant_max)
    if scale.dim() != 1 or zero_point.dim() != 1 or scale.numel() != zero_point.numel() or scale.numel() != input.size(axis):
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    if not 0 <= axis <= input.dim():
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    if not zero_point.is_floating_point() and zero_point.numel() and (zero_point.min() < quant_min or zero_point.max() > quant_max):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    axis %= input.dim()
    return _FakeQuantize.apply(input, _along(scale, axis, input.dim()), _along(zero_point, axis, input.dim()), quant_min, quant_max)


def fused_moving_avg_obs_fake_quant(input, observer_on, fake_quant_on, running_min, running_max, scale, zero_point, averaging_const,
                                    quant_min, quant_max, ch_axis, per_row_fake_quant=False, symmetric_quant=False):
    """Follows the range of `input` with a moving average, and rounds `input` by it."""
    with torch.no_grad():
        if observer_on.item():
            if per_row_fake_quant:
                rows = input.detach().transpose(0, ch_axis).reshape(input.size(ch_axis), -1) if ch_axis else input.detach().reshape(input.size(0), -1)
                low, high = torch.aminmax(rows, dim=1)
                if running_min.numel() != low.numel():
                    running_min.resize_(low.shape).fill_(math.inf)
                    running_max.resize_(low.shape).fill_(-math.inf)
                    scale.resize_(low.shape)
                    zero_point.resize_(low.shape)
            else:
                low, high = torch.aminmax(input.detach())
            for running, new in ((running_min, low), (running_max, high)):
                fresh = torch.isinf(running)
                running.copy_(torch.where(fresh, new.reshape(running.shape), running + averaging_const * (new.reshape(running.shape) - running)))
            lows, highs = running_min.reshape(-1).tolist(), running_max.reshape(-1).tolist()
            for at, (each_low, each_high) in enumerate(zip(lows, highs)):
                one, zero = choose(each_low, each_high, quant_min, quant_max, symmetric_quant)
                scale.view(-1)[at], zero_point.view(-1)[at] = one, zero
    if not fake_quant_on.item():
        return input.clone() if input.requires_grad else input
    if per_row_fake_quant:
        return fake_quantize_per_channel_affine(input, scale, zero_point, ch_axis, quant_min, quant_max)
    return fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)
