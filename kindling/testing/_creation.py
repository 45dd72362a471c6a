"""Random tensors for tests."""
import math
import warnings

import kindling as torch

_INTEGRAL_TYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64]
_BOOLEAN_OR_INTEGRAL_TYPES = [torch.bool, *_INTEGRAL_TYPES]
_FLOATING_8BIT_TYPES = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
_FLOATING_TYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
_COMPLEX_TYPES = [torch.complex32, torch.complex64, torch.complex128]
_FLOATING_OR_COMPLEX_TYPES = [*_FLOATING_TYPES, *_COMPLEX_TYPES]


def _uniform_random_(t, low, high):
    """Fills t from [low, high), also where high - low is more than its dtype holds."""
    if high - low >= torch.finfo(t.dtype).max:
        return t.uniform_(low / 2, high / 2).mul_(2)
    return t.uniform_(low, high)


def _interval(low, high, defaults, lowest, highest, dtype):
    """low and high, checked and limited to what dtype holds; the defaults where one is None."""
    low = defaults[0] if low is None else low
    high = defaults[1] if high is None else high
    if any(isinstance(value, float) and math.isnan(value) for value in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and dtype in _FLOATING_OR_COMPLEX_TYPES:
        warnings.warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 "
                      "and will be removed in 2.3. Use `torch.full(...)` instead.",
                      FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= highest:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
                         f"[{lowest}, {highest})")
    low, high = min(max(low, lowest), highest), min(max(high, lowest), highest)
    if dtype in _BOOLEAN_OR_INTEGRAL_TYPES:
        # Whole numbers of [low, high).
        return math.ceil(low), math.ceil(high)
    return low, high


def make_tensor(*shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False,
                memory_format=None):
    """A tensor of random numbers from [low, high).

    Without bounds: [0, 2) for bool, [-9, 10) for integers (from 0 on if unsigned), [-9, 9) for floating and complex
    dtypes (each part). `noncontiguous`: the last dimension is every second element of memory (if there is more than one
    element). `exclude_zero`: zeros become the smallest positive number of the dtype.

    >>> torch.testing.make_tensor((3,), dtype=torch.float32, device="cpu", low=-1, high=1).shape
    torch.Size([3])
    """
    if noncontiguous and memory_format is not None:
        raise ValueError(f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and "
                         f"{memory_format=}")
    if requires_grad and dtype in _BOOLEAN_OR_INTEGRAL_TYPES:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    shape = tuple(shape)
    noncontiguous = noncontiguous and bool(shape) and math.prod(shape) > 1
    drawn = (*shape[:-1], 2 * shape[-1]) if noncontiguous else shape

    if dtype == torch.bool:
        low, high = _interval(low, high, (0, 2), 0, 2, dtype)
        result = torch.randint(low, high, drawn, dtype=dtype, device=device)
    elif dtype in _INTEGRAL_TYPES:
        info = torch.iinfo(dtype)
        # random_ takes its bounds as signed numbers of 64 bits.
        limit = info.max if dtype in (torch.int64, torch.uint64) else info.max + 1
        low, high = _interval(low, high, (-9, 10), info.min, limit, dtype)
        result = torch.randint(low, high, drawn, dtype=dtype, device=device)
    elif dtype in _COMPLEX_TYPES:
        part = dtype.to_real()
        low, high = _interval(low, high, (-9, 9), torch.finfo(part).min, torch.finfo(part).max, dtype)
        result = torch.empty(drawn, dtype=dtype, device=device)
        _uniform_random_(torch.view_as_real(result), low, high)
    elif dtype in _FLOATING_TYPES:
        low, high = _interval(low, high, (-9, 9), torch.finfo(dtype).min, torch.finfo(dtype).max, dtype)
        result = _uniform_random_(torch.empty(drawn, dtype=dtype, device=device), low, high)
    elif dtype in _FLOATING_8BIT_TYPES:
        low, high = _interval(low, high, (-9, 9), torch.finfo(dtype).min, torch.finfo(dtype).max, dtype)
        result = _uniform_random_(torch.empty(drawn, dtype=torch.float32, device=device), low, high).to(dtype)
    else:
        raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor(). To request support, file "
                        "an issue at: https://github.com/pytorch/pytorch/issues")

    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if dtype in _BOOLEAN_OR_INTEGRAL_TYPES else torch.finfo(dtype).tiny
    if dtype not in _BOOLEAN_OR_INTEGRAL_TYPES:
        result.requires_grad = requires_grad
    return result
