"""Reductions and normalisations over the elements that a mask selects (torch.masked).

`mask` is a bool tensor that broadcasts to the input, True where an element counts; without it all do. What is masked out is
replaced by the operation's identity, so a row without any element gives that identity (NaN for mean, var and median).
A masked tensor (`maskedtensor`) brings its mask with it; the functions give ordinary ones.
"""
import kindling as torch

__all__ = ["amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor", "log_softmax", "logaddexp",
           "logsumexp", "masked_tensor", "MaskedTensor", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]

__getattr__, __dir__ = torch._lazy_parts(globals(), {**dict.fromkeys(("MaskedTensor", "is_masked_tensor"), "maskedtensor.core"),
                                                     **dict.fromkeys(("as_masked_tensor", "masked_tensor"), "maskedtensor.creation")},
                                         ("_ops", "maskedtensor"))


def _lowest(dtype):
    if dtype.is_floating_point or dtype.is_complex:
        return -float("inf")
    return 0 if dtype == torch.bool else torch.iinfo(dtype).min


def _highest(dtype):
    if dtype.is_floating_point or dtype.is_complex:
        return float("inf")
    return 1 if dtype == torch.bool else torch.iinfo(dtype).max


def _filled(input, mask, identity):
    """`input` with `identity` where it is masked out."""
    get_mask = getattr(input, "get_mask", None)     # a masked tensor brings its own
    if get_mask is not None:
        own = get_mask()
        input, mask = input.get_data(), own if mask is None else own & mask
    if mask is None:
        return input
    return torch.where(_whole(input, mask), input, torch.full((), identity, dtype=input.dtype, device=input.device))


def _whole(input, mask):
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.to(torch.bool).expand(input.shape)


def _dims(input, dim):
    """`dim` as a tuple of dimensions, all of them for None; RuntimeError for one that appears twice."""
    count = max(input.dim(), 1)
    if dim is None:
        return tuple(range(input.dim()))
    dims = []
    for each in dim if isinstance(dim, (tuple, list)) else (dim,):
        if not -count <= each < count:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {each})")
        if each % count in dims:
            raise RuntimeError(f"dim={each % count} appears multiple times in the list of dims")
        dims.append(each % count)
    return tuple(dims)


def _sum_dtype(input, dtype):
    if dtype is not None:
        return dtype
    return input.dtype if input.dtype.is_floating_point or input.dtype.is_complex else torch.int64


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the selected elements."""
    dtype = _sum_dtype(input, dtype)
    dims = _dims(input, dim)
    filled = _filled(input, mask, 0)
    return torch.sum(filled, dims, keepdim, dtype=dtype) if dims else filled.to(dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the selected elements."""
    dtype = _sum_dtype(input, dtype)
    result = _filled(input, mask, 1).to(dtype)
    for each in sorted(_dims(input, dim), reverse=True):
        result = result.prod(each, keepdim)
    return result


def cumsum(input, dim, *, dtype=None, mask=None):
    """Running sums along a dimension, to which only selected elements add."""
    return torch.cumsum(_filled(input, mask, 0), dim, dtype=dtype or input.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Running products along a dimension, of selected elements only."""
    return torch.cumprod(_filled(input, mask, 1), dim, dtype=dtype or input.dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest of the selected elements."""
    return torch.amax(_filled(input, mask, _lowest(input.dtype)), _dims(input, dim), keepdim).to(dtype or input.dtype)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest of the selected elements."""
    return torch.amin(_filled(input, mask, _highest(input.dtype)), _dims(input, dim), keepdim).to(dtype or input.dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the largest of the selected elements is, among all; in the input's dtype unless one is given."""
    return torch.argmax(_filled(input, mask, _lowest(input.dtype)), dim, keepdim).to(dtype or input.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the smallest of the selected elements is, among all; in the input's dtype unless one is given."""
    return torch.argmin(_filled(input, mask, _highest(input.dtype)), dim, keepdim).to(dtype or input.dtype)


def _count(input, dim, keepdim, mask):
    return sum(torch.ones(input.shape, dtype=torch.int64, device=input.device), dim, keepdim=keepdim, mask=mask)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the selected elements; ValueError for integers without a dtype."""
    dtype = input.dtype if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {dtype}")
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median of the selected elements along a dimension; ValueError for a row of integers without any."""
    dtype = input.dtype if dtype is None else dtype
    values = input if input.dtype.is_floating_point or mask is None else input.to(torch.float32)
    result = _filled(values, mask, float("nan")).nanmedian(_dims(input, dim)[0], keepdim).values
    if not input.dtype.is_floating_point and result.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return result.to(dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of the selected elements."""
    filled = _filled(input, mask, float("inf") if ord == -float("inf") else 0)
    return torch.linalg.vector_norm(filled, ord, _dims(input, dim), keepdim, dtype=dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The selected elements over their norm along a dimension (at least eps), 0 elsewhere."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0) / length.clamp_min(eps)


def _variance(input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise ValueError("var(): unbiased and correction must not both be given")
    correction = 1 if unbiased is None and correction is None else int(unbiased) if correction is None else correction
    dtype = (input.dtype if input.dtype.is_floating_point or input.dtype.is_complex else torch.float32) if dtype is None else dtype
    values = input if input.dtype.is_floating_point or input.dtype.is_complex else input.to(torch.float32)
    count = _count(input, dim, True, mask)
    apart = _filled(values - sum(values, dim, keepdim=True, mask=mask) / count, mask, 0)
    total = sum((apart * apart.conj()).real if apart.is_complex() else apart * apart, dim, keepdim=keepdim)
    return (total / (count.reshape(total.shape) - correction).clamp_min(0)).to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the selected elements, by default with Bessel's correction."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the selected elements, by default with Bessel's correction."""
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def softmax(input, dim, *, dtype=None, mask=None):
    """softmax along a dimension over the selected elements, 0 elsewhere."""
    return torch.softmax(_filled(input, mask, _lowest(input.dtype)), dim, dtype=dtype)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """log_softmax along a dimension over the selected elements."""
    return torch.log_softmax(_filled(input, mask, _lowest(input.dtype)), dim, dtype=dtype)


def softmin(input, dim, *, dtype=None, mask=None):
    """softmax of the negative, along a dimension over the selected elements."""
    return torch.softmax(-_filled(input, mask, _highest(input.dtype)), dim, dtype=dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)), where what is masked out counts as minus infinity."""
    result = torch.logaddexp(_filled(input, input_mask, -float("inf")), _filled(other, other_mask, -float("inf")))
    return result if dtype is None else result.to(dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log of the sum of exp over the selected elements."""
    return torch.logsumexp(_filled(input, mask, _lowest(input.dtype)), _dims(input, dim), keepdim).to(dtype or input.dtype)
