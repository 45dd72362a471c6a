"""Observers: modules that watch the range of what goes through them, and say the scale and zero point for it."""
from functools import partial

import kindling as torch
from kindling import nn

__all__ = ["default_affine_fixed_qparams_observer", "default_debug_observer", "default_dynamic_quant_observer",
           "default_fixed_qparams_range_0to1_observer", "default_fixed_qparams_range_neg1to1_observer", "default_float_qparams_observer",
           "default_float_qparams_observer_4bit", "default_observer", "default_per_channel_weight_observer",
           "default_placeholder_observer", "default_symmetric_fixed_qparams_observer", "default_weight_observer",
           "per_channel_weight_observer_range_neg_127_to_127", "weight_observer_range_neg_127_to_127", "FixedQParamsObserver",
           "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase",
           "PerChannelMinMaxObserver", "PlaceholderObserver", "RecordingObserver", "UniformQuantizationObserverBase"]

_EPS = 2.0 ** -23
_WHOLE, _CHANNELS = (torch.per_tensor_affine, torch.per_tensor_symmetric), (torch.per_channel_affine, torch.per_channel_symmetric)
_FLOAT = torch.per_channel_affine_float_qparams
# The greatest and least whole number of each dtype; the third is what reducing the range leaves.
_RANGES = {torch.qint8: (-128, 127), torch.int8: (-128, 127), torch.quint8: (0, 255), torch.uint8: (0, 255), torch.quint4x2: (0, 15),
           torch.qint32: (-2**31, 2**31 - 1), torch.int32: (-2**31, 2**31 - 1), torch.int16: (-2**15, 2**15 - 1), torch.uint16: (0, 2**16 - 1)}


class _PartialWrapper:
    """A class with arguments for it; what `with_args` gives."""

    def __init__(self, p):
        self.p, self.callable_args = p, {}

    def __call__(self, *args, **keywords):
        for name, make in self.callable_args.items():
            keywords.setdefault(name, make())
        return self.p(*args, **keywords)

    def __repr__(self):
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs):
        return _with_args(self, **kwargs)

    def with_callable_args(self, **kwargs):
        result = _PartialWrapper(partial(self.p))
        result.callable_args = {**self.callable_args, **kwargs}
        return result


def _with_args(cls_or_self, **kwargs):
    """A maker of instances with these arguments."""
    result = _PartialWrapper(partial(cls_or_self, **kwargs))
    return result


def _with_callable_args(cls_or_self, **kwargs):
    """As `with_args`, where each argument is what a function gives at that time."""
    return _PartialWrapper(partial(cls_or_self)).with_callable_args(**kwargs)


class ObserverBase(nn.Module):
    """What all observers share: a dtype, and `calculate_qparams`."""

    def __init__(self, dtype, is_dynamic=False):
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def forward(self, x):
        raise NotImplementedError

    def calculate_qparams(self, **kwargs):
        raise NotImplementedError

    with_args = classmethod(_with_args)
    with_callable_args = classmethod(_with_callable_args)


class UniformQuantizationObserverBase(ObserverBase):
    """Observers whose whole numbers lie at equal distances."""

    _version = 3

    def __init__(self, dtype=torch.quint8, qscheme=torch.per_tensor_affine, reduce_range=False, quant_min=None, quant_max=None,
                 factory_kwargs=None, eps=_EPS, is_dynamic=False, **kwargs):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme = qscheme
        if reduce_range:
            from kindling._common.warn import once
            once("observer.reduce_range", "Please use quant_min and quant_max to specify the range for observers. reduce_range will be "
                 "deprecated in a future release of PyTorch.", UserWarning, 3)
        self.reduce_range = reduce_range
        made = nn.factory_kwargs(factory_kwargs) if factory_kwargs else {}
        self.register_buffer("eps", torch.tensor([eps], **made))
        if qscheme not in (*_WHOLE, *_CHANNELS, _FLOAT):
            raise AssertionError("Default Observer only works for per_tensor_affine, per_tensor_symmetric, per_channel_affine, "
                                 "per_channel_symmetric and per_channel_float_qparams quantization scheme")
        if dtype not in (*_RANGES, torch.float8_e5m2, torch.float8_e4m3fn):
            raise AssertionError("Default Observer only works for qint8, quint8 and quint4x2 data type, got " + str(dtype))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            _check_bounds(quant_min, quant_max)
            self.quant_min, self.quant_max = quant_min, quant_max
        else:
            self.quant_min, self.quant_max = calculate_qmin_qmax(dtype, reduce_range)

    def _calculate_qparams(self, min_val, max_val):
        if not check_min_max_valid(min_val, max_val):
            return torch.tensor([1.0], device=min_val.device.type), torch.tensor([0], device=min_val.device.type)
        least, greatest = self.quant_min, self.quant_max
        low, high = min_val.clamp(max=0), max_val.clamp(min=0)
        zero_point = torch.zeros(low.size(), dtype=torch.int64, device=low.device)
        if self.qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric):
            scale = torch.max(torch.max(-low, high) / (float(greatest - least) / 2), self.eps)
            if self.dtype in (torch.uint8, torch.quint8):
                zero_point = zero_point.new_full(zero_point.size(), (least + greatest) // 2 if self.has_customized_qrange else 128)
            elif self.dtype == torch.uint16:
                zero_point = zero_point.new_full(zero_point.size(), 2**15)
        elif self.qscheme == _FLOAT:
            scale = (max_val - min_val) / float(greatest - least)
            scale = torch.where(scale > self.eps, scale, torch.ones_like(scale))
            zero_point = -1 * min_val / scale
        else:
            scale = torch.max((high - low) / float(greatest - least), self.eps)
            zero_point = torch.clamp(least - torch.round(low / scale).to(torch.int), least, greatest)
        if scale.dim() == 0:
            scale = torch.tensor([float(scale)], dtype=scale.dtype, device=low.device)
        if zero_point.dim() == 0:
            floating = self.qscheme == _FLOAT
            zero_point = torch.tensor([float(zero_point) if floating else int(zero_point)], dtype=zero_point.dtype, device=low.device)
        return scale, zero_point


def _check_bounds(least, greatest):
    if not least <= 0 <= greatest:
        raise AssertionError("Used-specified quantization range must include 0.")
    if not least < greatest:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")


def calculate_qmin_qmax(dtype, reduce_range=False):
    least, greatest = _RANGES[dtype]
    if reduce_range and dtype in (torch.qint8, torch.int8, torch.quint8, torch.uint8):
        return int(least / 2), greatest // 2
    return least, greatest


def check_min_max_valid(min_val, max_val):
    """Whether something has been watched: a warning and False if not; AssertionError where the least is over the greatest."""
    if min_val.numel() == 0 or max_val.numel() == 0 or bool((min_val == float("inf")).any() & (max_val == float("-inf")).any()):
        from kindling._common.warn import once
        once("observer.unseen", "must run observer before calling calculate_qparams. Returning default values.", UserWarning, 4)
        return False
    if not bool((min_val <= max_val).all()):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


class MinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the least and greatest number seen."""

    def __init__(self, dtype=torch.quint8, qscheme=torch.per_tensor_affine, reduce_range=False, quant_min=None, quant_max=None,
                 factory_kwargs=None, eps=_EPS, is_dynamic=False, **kwargs):
        if qscheme not in _WHOLE:
            raise NotImplementedError("MinMaxObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine.")
        super().__init__(dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max,
                         factory_kwargs=factory_kwargs, eps=eps, is_dynamic=is_dynamic, **kwargs)
        self.register_buffer("min_val", torch.tensor(float("inf")))
        self.register_buffer("max_val", torch.tensor(float("-inf")))
        if qscheme == torch.per_tensor_symmetric and self.reduce_range and dtype == torch.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def forward(self, x_orig):
        if x_orig.numel():
            low, high = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
            self._seen(low, high)
        return x_orig

    def _seen(self, low, high):
        self.min_val.copy_(torch.min(low, self.min_val))
        self.max_val.copy_(torch.max(high, self.max_val))

    def calculate_qparams(self):
        """(scale, zero point)"""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self):
        """Forgets what was seen."""
        self.min_val.copy_(torch.tensor(float("inf")))
        self.max_val.copy_(torch.tensor(float("-inf")))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Keeps moving averages of the least and greatest numbers."""

    def __init__(self, averaging_constant=0.01, dtype=torch.quint8, qscheme=torch.per_tensor_affine, reduce_range=False, quant_min=None,
                 quant_max=None, eps=_EPS, is_dynamic=False, **kwargs):
        if qscheme not in _WHOLE:
            raise NotImplementedError("MovingAverageMinMaxObserver's qscheme only support torch.per_tensor_symmetric and "
                                      f"torch.per_tensor_affine. but got: {qscheme}")
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError("MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant of "
                                      f"{averaging_constant}")
        super().__init__(dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max, eps=eps,
                         is_dynamic=is_dynamic, **kwargs)

    def _seen(self, low, high):
        if self.min_val != float("inf") or self.max_val != float("-inf"):
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self.min_val.copy_(low)
        self.max_val.copy_(high)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the least and greatest number of each place along a dimension."""

    def __init__(self, ch_axis=0, dtype=torch.quint8, qscheme=torch.per_channel_affine, reduce_range=False, quant_min=None, quant_max=None,
                 factory_kwargs=None, eps=_EPS, is_dynamic=False, **kwargs):
        if qscheme not in (*_CHANNELS, _FLOAT):
            raise NotImplementedError("PerChannelMinMaxObserver's qscheme only support torch.per_channel_symmetric, "
                                      "torch.per_channel_affine and torch.per_channel_affine_float_qparams.")
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min, quant_max=quant_max,
                         factory_kwargs=factory_kwargs, eps=eps, is_dynamic=is_dynamic, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", torch.tensor([]))
        self.register_buffer("max_val", torch.tensor([]))
        if qscheme == torch.per_channel_symmetric and self.reduce_range and dtype == torch.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def forward(self, x_orig):
        if x_orig.numel():
            rows = x_orig.detach().to(self.min_val.dtype).transpose(0, self.ch_axis).flatten(start_dim=1)
            low, high = torch.aminmax(rows, dim=1)
            if self.min_val.numel():
                low, high = self._joined(low, high)
            self.min_val.resize_(low.shape).copy_(low)
            self.max_val.resize_(high.shape).copy_(high)
        return x_orig

    def _joined(self, low, high):
        return torch.min(low, self.min_val), torch.max(high, self.max_val)

    def calculate_qparams(self):
        """(scales, zero points)"""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for name in ("min_val", "max_val"):
            value = state_dict.get(prefix + name)
            if value is not None:       # as many channels as the file has
                getattr(self, name).resize_(value.shape)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def reset_min_max_vals(self):
        """Forgets what was seen."""
        self.min_val, self.max_val = torch.rand(0), torch.rand(0)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Keeps moving averages of the least and greatest numbers along a dimension."""

    def __init__(self, averaging_constant=0.01, ch_axis=0, dtype=torch.quint8, qscheme=torch.per_channel_affine, reduce_range=False,
                 quant_min=None, quant_max=None, eps=_EPS, is_dynamic=False, **kwargs):
        if is_dynamic:
            raise NotImplementedError("MovingAveragePerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min,
                         quant_max=quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs)
        self.averaging_constant = averaging_constant

    def _joined(self, low, high):
        return (self.min_val + self.averaging_constant * (low - self.min_val), self.max_val + self.averaging_constant * (high - self.max_val))


class FixedQParamsObserver(ObserverBase):
    """Says the scale and zero point that it was given."""

    def __init__(self, scale, zero_point, dtype=torch.quint8, qscheme=torch.per_tensor_affine, quant_min=0, quant_max=255, is_dynamic=False,
                 **kwargs):
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int))
        self.qscheme = qscheme

    def forward(self, X):
        return X

    def calculate_qparams(self):
        """(scale, zero point)"""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Watches nothing: what needs no scale, or takes it at run time."""

    def __init__(self, dtype=torch.float32, custom_op_name="", compute_dtype=None, quant_min=None, quant_max=None, qscheme=None, eps=None,
                 is_dynamic=False):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        if qscheme is None:
            qscheme = torch.per_tensor_affine
        if eps is None:
            eps = _EPS
        self.qscheme, self.quant_min, self.quant_max, self.eps = qscheme, quant_min, quant_max, eps
        self.custom_op = custom_op_name
        if compute_dtype:
            self.is_dynamic = True

    def forward(self, x):
        return x

    def extra_repr(self):
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self):
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")  # noqa: TRY002


class NoopObserver(ObserverBase):
    """Watches nothing, for conversions to a narrower dtype."""

    def __init__(self, dtype=torch.float16, custom_op_name=""):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.dtype, self.custom_op = dtype, custom_op_name

    def forward(self, x):
        return x

    def calculate_qparams(self):
        raise Exception("calculate_qparams should not be called for NoopObserver")  # noqa: TRY002


class RecordingObserver(ObserverBase):
    """Keeps what goes through."""

    def __init__(self, dtype=torch.quint8):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val = []

    def forward(self, x):
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self):
        raise Exception("calculate_qparams should not be called for RecordingObserver")  # noqa: TRY002

    def get_tensor_value(self):
        return self.tensor_val


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12)
default_dynamic_quant_observer = PlaceholderObserver.with_args(dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(dtype=torch.quint8, qscheme=_FLOAT, ch_axis=0)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(dtype=torch.quint4x2, qscheme=_FLOAT, ch_axis=0)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=torch.quint8, quant_min=0, quant_max=255)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=torch.quint8, quant_min=0, quant_max=255)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
