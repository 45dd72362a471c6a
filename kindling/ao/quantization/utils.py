"""Questions about dtypes and schemes."""
import kindling as torch

from .observer import calculate_qmin_qmax as _bounds
from .observer import check_min_max_valid

__all__ = ["calculate_qmin_qmax", "check_min_max_valid", "is_per_channel", "is_per_tensor"]


def is_per_tensor(qscheme):
    """Whether one scale holds for a whole tensor."""
    return qscheme in (torch.per_tensor_affine, torch.per_tensor_symmetric)


def is_per_channel(qscheme):
    """Whether scales differ along a dimension."""
    return qscheme in (torch.per_channel_affine, torch.per_channel_affine_float_qparams, torch.per_channel_symmetric)


def calculate_qmin_qmax(quant_min, quant_max, has_customized_qrange, dtype, reduce_range):
    """The least and the greatest whole number."""
    return (quant_min, quant_max) if has_customized_qrange else _bounds(dtype, reduce_range)
