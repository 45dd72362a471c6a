"""TorchScript for functions of kindling.nn.functional and kindling.functional whose own source is none: the same names and results.

Scripts compile these in their place (kindling/jit/_frontend.py); a function that is not here is compiled as it stands. They are read
and never run: the package has no bytecode of their bodies (tools/stage_python.py).
"""
import math
from typing import List, Optional, Tuple, Union

import kindling as torch
from kindling import _C, _VF
from kindling._jit_internal import BroadcastingList1, BroadcastingList2, BroadcastingList3, boolean_dispatch
from kindling.nn._functional import warn
from kindling.nn._functional.attention import _canonical_mask, _none_or_dtype
from kindling.nn.utils.rnn import PackedSequence, invert_permutation

Tensor = torch.Tensor
_nn = _C._nn


# ---- pooling

def max_pool1d_with_indices(input: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None, padding: BroadcastingList1[int] = 0,
                            dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool1d(input: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None, padding: BroadcastingList1[int] = 0,
                dilation: BroadcastingList1[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None, padding: BroadcastingList2[int] = 0,
                            dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return _nn.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool2d(input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None, padding: BroadcastingList2[int] = 0,
                dilation: BroadcastingList2[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(input: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None, padding: BroadcastingList3[int] = 0,
                            dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return _nn.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def _max_pool3d(input: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None, padding: BroadcastingList3[int] = 0,
                dilation: BroadcastingList3[int] = 1, ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
    if stride is None:
        stride = torch.jit.annotate(List[int], [])
    return torch.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool1d = boolean_dispatch("return_indices", 6, False, max_pool1d_with_indices, _max_pool1d, None, "max_pool1d")
max_pool2d = boolean_dispatch("return_indices", 6, False, max_pool2d_with_indices, _max_pool2d, None, "max_pool2d")
max_pool3d = boolean_dispatch("return_indices", 6, False, max_pool3d_with_indices, _max_pool3d, None, "max_pool3d")


def fractional_sizes(name: str, input: Tensor, dims: int, output_size: Optional[List[int]], output_ratio: Optional[List[float]]) -> List[int]:
    if output_size is not None:
        return output_size
    if output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if len(output_ratio) > dims:
        raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
    return [int(input.size(i - dims) * output_ratio[i]) for i in range(dims)]


def fractional_samples(input: Tensor, dims: int) -> Tensor:
    batch = 1 if input.dim() == dims + 1 else input.size(0)
    return torch.rand([batch, input.size(-1 - dims), dims], dtype=input.dtype, device=input.device)


def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: BroadcastingList2[int], output_size: Optional[BroadcastingList2[int]] = None, output_ratio: Optional[BroadcastingList2[float]] = None,
                                       return_indices: bool = False, _random_samples: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    sizes = fractional_sizes("fractional_max_pool2d", input, 2, output_size, output_ratio)
    if _random_samples is None:
        _random_samples = fractional_samples(input, 2)
    return _nn.fractional_max_pool2d(input, kernel_size, sizes, _random_samples)


def _fractional_max_pool2d(input: Tensor, kernel_size: BroadcastingList2[int], output_size: Optional[BroadcastingList2[int]] = None, output_ratio: Optional[BroadcastingList2[float]] = None,
                           return_indices: bool = False, _random_samples: Optional[Tensor] = None) -> Tensor:
    return fractional_max_pool2d_with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)[0]


fractional_max_pool2d = boolean_dispatch("return_indices", 4, False, fractional_max_pool2d_with_indices, _fractional_max_pool2d, __name__, "fractional_max_pool2d")


def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: BroadcastingList3[int], output_size: Optional[BroadcastingList3[int]] = None, output_ratio: Optional[BroadcastingList3[float]] = None,
                                       return_indices: bool = False, _random_samples: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    sizes = fractional_sizes("fractional_max_pool3d", input, 3, output_size, output_ratio)
    if _random_samples is None:
        _random_samples = fractional_samples(input, 3)
    return _nn.fractional_max_pool3d(input, kernel_size, sizes, _random_samples)


def _fractional_max_pool3d(input: Tensor, kernel_size: BroadcastingList3[int], output_size: Optional[BroadcastingList3[int]] = None, output_ratio: Optional[BroadcastingList3[float]] = None,
                           return_indices: bool = False, _random_samples: Optional[Tensor] = None) -> Tensor:
    return fractional_max_pool3d_with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)[0]


fractional_max_pool3d = boolean_dispatch("return_indices", 4, False, fractional_max_pool3d_with_indices, _fractional_max_pool3d, __name__, "fractional_max_pool3d")


def adaptive_max_pool1d_with_indices(input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return torch.adaptive_max_pool1d(input, output_size)


def _adaptive_max_pool1d(input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False) -> Tensor:
    return torch.adaptive_max_pool1d(input, output_size)[0]


def _sizes(out_size: List[Optional[int]], defaults: List[int]) -> List[int]:
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    sizes = torch.jit.annotate(List[int], [])
    first = len(defaults) - len(out_size)
    for i in range(len(out_size)):
        size = out_size[i]
        if size is None:
            sizes.append(defaults[first + i])
        else:
            sizes.append(size)
    return sizes


def adaptive_max_pool2d_with_indices(input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return _nn.adaptive_max_pool2d(input, output_size)


def _adaptive_max_pool2d(input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False) -> Tensor:
    return _nn.adaptive_max_pool2d(input, output_size)[0]


def adaptive_max_pool3d_with_indices(input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False) -> Tuple[Tensor, Tensor]:
    return _nn.adaptive_max_pool3d(input, output_size)


def _adaptive_max_pool3d(input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False) -> Tensor:
    return _nn.adaptive_max_pool3d(input, output_size)[0]


adaptive_max_pool1d = boolean_dispatch("return_indices", 2, False, adaptive_max_pool1d_with_indices, _adaptive_max_pool1d, None, "adaptive_max_pool1d")
adaptive_max_pool2d = boolean_dispatch("return_indices", 2, False, adaptive_max_pool2d_with_indices, _adaptive_max_pool2d, None, "adaptive_max_pool2d")
adaptive_max_pool3d = boolean_dispatch("return_indices", 2, False, adaptive_max_pool3d_with_indices, _adaptive_max_pool3d, None, "adaptive_max_pool3d")


def adaptive_avg_pool2d(input: Tensor, output_size: BroadcastingList2[int]) -> Tensor:
    return _nn.adaptive_avg_pool2d(input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: BroadcastingList3[int]) -> Tensor:
    return _nn.adaptive_avg_pool3d(input, output_size)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Optional[BroadcastingList1[int]] = None, ceil_mode: bool = False) -> Tensor:
    if stride is not None:
        out = torch.avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    else:
        out = torch.avg_pool1d(input.pow(norm_type), kernel_size, padding=0, ceil_mode=ceil_mode)
    return (torch.sign(out) * torch.relu(torch.abs(out))).mul(kernel_size).pow(1.0 / norm_type)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None, ceil_mode: bool = False) -> Tensor:
    if stride is not None:
        out = _nn.avg_pool2d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    else:
        out = _nn.avg_pool2d(input.pow(norm_type), kernel_size, padding=0, ceil_mode=ceil_mode)
    return (torch.sign(out) * torch.relu(torch.abs(out))).mul(kernel_size[0] * kernel_size[1]).pow(1.0 / norm_type)


def _unpooled(input: Tensor, kernel_size: List[int], stride: List[int], padding: List[int], output_size: Optional[List[int]]) -> List[int]:
    default = torch.jit.annotate(List[int], [])
    spatial = len(kernel_size)
    for d in range(spatial):
        default.append((input.size(input.dim() - spatial + d) - 1) * stride[d] + kernel_size[d] - 2 * padding[d])
    if output_size is None:
        return default
    if len(output_size) == spatial + 2:
        output_size = output_size[2:]
    if len(output_size) != spatial:
        raise ValueError(f"output_size should be a sequence containing {spatial} or {spatial + 2} elements, but it has a length of '{len(output_size)}'")
    for d in range(spatial):
        low = default[d] - stride[d]
        high = default[d] + stride[d]
        if not (low < output_size[d] and output_size[d] < high):
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})')
    return output_size


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None,
                 padding: BroadcastingList1[int] = 0, output_size: Optional[List[int]] = None) -> Tensor:
    steps = stride if stride is not None else kernel_size
    size = _unpooled(input, kernel_size, steps, padding, output_size)
    return _nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size + [1]).squeeze(-1)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None,
                 padding: BroadcastingList2[int] = 0, output_size: Optional[List[int]] = None) -> Tensor:
    steps = stride if stride is not None else kernel_size
    return _nn.max_unpool2d(input, indices, _unpooled(input, kernel_size, steps, padding, output_size))


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None,
                 padding: BroadcastingList3[int] = 0, output_size: Optional[List[int]] = None) -> Tensor:
    steps = stride if stride is not None else kernel_size
    return _nn.max_unpool3d(input, indices, _unpooled(input, kernel_size, steps, padding, output_size), steps, padding)


# ---- embeddings

def _no_grad_embedding_renorm_(weight: Tensor, input: Tensor, max_norm: float, norm_type: float):
    torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)


def embedding_bag(input: Tensor, weight: Tensor, offsets: Optional[Tensor] = None, max_norm: Optional[float] = None, norm_type: float = 2,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Optional[Tensor] = None,
                  include_last_offset: bool = False, padding_idx: Optional[int] = None) -> Tensor:
    if weight.dtype == torch.long and input.is_floating_point():
        warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
             "deprecated, and should now be `embedding_bag(input, weight, ...)`.")
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as the input ({input.shape})")
    if not weight.dim() == 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences.")
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode == "sum":
        number = 0
    elif mode == "mean":
        number = 1
    elif mode == "max":
        number = 2
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")
    else:
        raise ValueError("mode has to be one of sum, mean or max")
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
                                  f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub.")
    return torch.embedding_bag(weight, input, offsets, scale_grad_by_freq, number, sparse, per_sample_weights, include_last_offset, padding_idx)[0]


# ---- losses

def get_enum(reduction: str) -> int:
    if reduction == "none":
        number = 0
    elif reduction == "mean":
        number = 1
    elif reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        number = 1
    elif reduction == "sum":
        number = 2
    else:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return number


def legacy_get_string(size_average: Optional[bool], reduce: Optional[bool], emit_warning: bool = True) -> str:
    if size_average is None:
        size_average = True
    if reduce is None:
        reduce = True
    if size_average and reduce:
        name = "mean"
    elif reduce:
        name = "sum"
    else:
        name = "none"
    if emit_warning:
        warn(f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.")
    return name


def legacy_get_enum(size_average: Optional[bool], reduce: Optional[bool], emit_warning: bool = True) -> int:
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def _number(size_average: Optional[bool], reduce: Optional[bool], reduction: str) -> int:
    if size_average is not None or reduce is not None:
        return legacy_get_enum(size_average, reduce)
    return get_enum(reduction)


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def _weighted(loss: Tensor, weight: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return loss * weight
    elif reduction == "sum":
        return torch.sum(loss * weight)
    elif reduction == "mean":
        return torch.sum(loss * weight) / torch.sum(weight)
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def _broadcast(input: Tensor, target: Tensor) -> Tuple[Tensor, Tensor]:
    if target.size() == input.size():
        return input, target
    warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
         "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.")
    both = torch.broadcast_tensors([input, target])
    return both[0], both[1]


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Union[Tensor, float], full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = torch.unsqueeze(var, -1)
        elif input.size()[:-1] == var.size()[:-1] and var.size(-1) == 1:
            pass
        else:
            raise ValueError("var is of incorrect size")
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not valid")
    if torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.9189385332046727      # log(2 pi) / 2
    return _reduced(loss, reduction)


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                         reduction: str = "mean") -> Tensor:
    number = _number(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) "
                         "is deprecated. Please ensure they have the same size.")
    if weight is not None:
        weight = weight.expand_as(target)
    return _nn.binary_cross_entropy(input, target, weight, number)


# ---- padding, resampling, folding

def _spatial_sizes(input: Tensor, size: Optional[List[int]], factors: Optional[List[float]], mode: str, recompute: Optional[bool]) -> Tuple[Optional[List[int]], Optional[List[float]]]:
    spatial = input.dim() - 2
    if size is not None and factors is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and factors is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        if len(size) != spatial:
            raise ValueError("Input and output must have the same number of spatial dimensions, but got input with "
                             f"spatial dimensions of {list(input.shape[2:])} and output size of {size}. Please "
                             "provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, "
                             "...,oK) format.")
        if recompute is not None and recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return size, None
    assert factors is not None
    if len(factors) != spatial:
        raise ValueError("Input and scale_factor must have the same number of spatial dimensions, but got input "
                         f"with spatial dimensions of {list(input.shape[2:])} and scale_factor of shape "
                         f"{factors}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                         "scale_factor in (s1, s2, ...,sK) format.")
    if mode == "area" or (recompute is not None and recompute):
        sizes = torch.jit.annotate(List[int], [])
        for i in range(spatial):
            sizes.append(int(torch.floor(torch.tensor(float(input.size(i + 2)) * factors[i], dtype=torch.float64))))
        return sizes, None
    return None, factors


def _resample(input: Tensor, size: Optional[List[int]], factors: Optional[List[float]], mode: str, align: Optional[bool], antialias: bool) -> Tensor:
    spatial = input.dim() - 2
    if mode == "nearest" or mode == "area" or mode == "nearest-exact":
        if align is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
        corners = False
    else:
        corners = align if align is not None else False
    if antialias and not ((mode == "bilinear" or mode == "bicubic" or mode == "lanczos") and input.dim() == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    if mode == "nearest":
        if spatial == 1:
            return _nn.upsample_nearest1d(input, size, factors)
        if spatial == 2:
            return _nn.upsample_nearest2d(input, size, factors)
        if spatial == 3:
            return _nn.upsample_nearest3d(input, size, factors)
    if mode == "nearest-exact":
        if spatial == 1:
            return _nn._upsample_nearest_exact1d(input, size, factors)
        if spatial == 2:
            return _nn._upsample_nearest_exact2d(input, size, factors)
        if spatial == 3:
            return _nn._upsample_nearest_exact3d(input, size, factors)
    if mode == "area":
        assert size is not None
        if spatial == 1:
            return torch.adaptive_avg_pool1d(input, size)
        if spatial == 2:
            return _nn.adaptive_avg_pool2d(input, size)
        if spatial == 3:
            return _nn.adaptive_avg_pool3d(input, size)
    if mode == "linear" and spatial == 1:
        return _nn.upsample_linear1d(input, size, corners, factors)
    if mode == "bilinear" and spatial == 2:
        if antialias:
            return _nn._upsample_bilinear2d_aa(input, size, corners, factors)
        return _nn.upsample_bilinear2d(input, size, corners, factors)
    if mode == "trilinear" and spatial == 3:
        return _nn.upsample_trilinear3d(input, size, corners, factors)
    if mode == "bicubic" and spatial == 2:
        if antialias:
            return _nn._upsample_bicubic2d_aa(input, size, corners, factors)
        return _nn.upsample_bicubic2d(input, size, corners, factors)
    raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported (got "
                              f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})")


@torch.jit._overload
def interpolate(input: Tensor, size: Optional[int] = None, scale_factor: Optional[List[float]] = None, mode: str = "nearest", align_corners: Optional[bool] = None,
                recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    pass


@torch.jit._overload
def interpolate(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None, mode: str = "nearest", align_corners: Optional[bool] = None,
                recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    pass


@torch.jit._overload
def interpolate(input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None, mode: str = "nearest", align_corners: Optional[bool] = None,
                recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    pass


@torch.jit._overload
def interpolate(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None, mode: str = "nearest", align_corners: Optional[bool] = None,
                recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Tensor:
    pass


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    spatial = input.dim() - 2
    sizes: Optional[List[int]] = None
    factors: Optional[List[float]] = None
    if size is not None:
        if isinstance(size, int):
            sizes = [size for _ in range(spatial)]
        else:
            sizes = size
    if scale_factor is not None:
        if isinstance(scale_factor, float):
            factors = [scale_factor for _ in range(spatial)]
        else:
            factors = scale_factor
    sizes, factors = _spatial_sizes(input, sizes, factors, mode, recompute_scale_factor)
    return _resample(input, sizes, factors, mode, align_corners, antialias)


@torch.jit._overload
def upsample(input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None, mode: str = "nearest", align_corners: Optional[bool] = None) -> Tensor:
    pass


@torch.jit._overload
def upsample(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None, mode: str = "nearest", align_corners: Optional[bool] = None) -> Tensor:
    pass


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


@torch.jit._overload
def upsample_nearest(input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None) -> Tensor:
    pass


@torch.jit._overload
def upsample_nearest(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None) -> Tensor:
    pass


def upsample_nearest(input, size=None, scale_factor=None):
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


@torch.jit._overload
def upsample_bilinear(input: Tensor, size: Optional[int] = None, scale_factor: Optional[float] = None) -> Tensor:
    pass


@torch.jit._overload
def upsample_bilinear(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[float] = None) -> Tensor:
    pass


@torch.jit._overload
def upsample_bilinear(input: Tensor, size: Optional[int] = None, scale_factor: Optional[List[float]] = None) -> Tensor:
    pass


@torch.jit._overload
def upsample_bilinear(input: Tensor, size: Optional[List[int]] = None, scale_factor: Optional[List[float]] = None) -> Tensor:
    pass


def upsample_bilinear(input, size=None, scale_factor=None):
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Optional[bool] = None) -> Tensor:
    if mode != "bilinear" and mode != "nearest" and mode != "bicubic":
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode != "zeros" and padding_mode != "border" and padding_mode != "reflection":
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'")
    if mode == "bilinear":
        way = 0
    elif mode == "nearest":
        way = 1
    else:
        way = 2
    if padding_mode == "zeros":
        padding = 0
    elif padding_mode == "border":
        padding = 1
    else:
        padding = 2
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
             "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.")
        align_corners = False
    return torch.grid_sampler(input, grid, way, padding, align_corners)


def unfold(input: Tensor, kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1) -> Tensor:
    return _nn.im2col(input, kernel_size, dilation, padding, stride)


def fold(input: Tensor, output_size: BroadcastingList2[int], kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1, padding: BroadcastingList2[int] = 0,
         stride: BroadcastingList2[int] = 1) -> Tensor:
    return _nn.col2im(input, output_size, kernel_size, dilation, padding, stride)


# ---- tuples of one number

def _single(x: BroadcastingList1[int]) -> List[int]:
    return x


def _pair(x: BroadcastingList2[int]) -> List[int]:
    return x


def _triple(x: BroadcastingList3[int]) -> List[int]:
    return x


# ---- attention

def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Optional[Tensor],
                                 in_proj_bias: Optional[Tensor], bias_k: Optional[Tensor], bias_v: Optional[Tensor], add_zero_attn: bool, dropout_p: float,
                                 out_proj_weight: Tensor, out_proj_bias: Optional[Tensor], training: bool = True, key_padding_mask: Optional[Tensor] = None,
                                 need_weights: bool = True, attn_mask: Optional[Tensor] = None, use_separate_proj_weight: bool = False,
                                 q_proj_weight: Optional[Tensor] = None, k_proj_weight: Optional[Tensor] = None, v_proj_weight: Optional[Tensor] = None,
                                 static_k: Optional[Tensor] = None, static_v: Optional[Tensor] = None, average_attn_weights: bool = True,
                                 is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
    dimensions = query.dim()
    if dimensions != 2 and dimensions != 3:
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dimensions}-D query tensor")
    if key.dim() != dimensions or value.dim() != dimensions:
        raise AssertionError(f"expected `key` and `value` to be {dimensions}-D but found {key.dim()}-D and {value.dim()}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != dimensions - 1:
        raise AssertionError(f"expected `key_padding_mask` to be `None` or {dimensions - 1}-D but found {key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None and attn_mask.dim() != 2 and attn_mask.dim() != 3:
        raise AssertionError(f"expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead")
    is_batched = dimensions == 3
    same_kv = key is value
    same_qk = query is key
    if not is_batched:
        query = query.unsqueeze(1)
        key = key.unsqueeze(1)
        value = value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    src_len = key.size(0)
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if key_padding_mask is not None:
            is_causal = False
    assert embed_dim == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}"
    head_dim = embed_dim // num_heads
    assert head_dim * num_heads == embed_dim, f"embed_dim {embed_dim} not divisible by num_heads {num_heads}"
    if use_separate_proj_weight:
        assert q_proj_weight is not None, "use_separate_proj_weight is True but q_proj_weight is None"
        assert k_proj_weight is not None, "use_separate_proj_weight is True but k_proj_weight is None"
        assert v_proj_weight is not None, "use_separate_proj_weight is True but v_proj_weight is None"
        if in_proj_bias is None:
            q = _nn.linear(query, q_proj_weight)
            k = _nn.linear(key, k_proj_weight)
            v = _nn.linear(value, v_proj_weight)
        else:
            biases = in_proj_bias.chunk(3)
            q = _nn.linear(query, q_proj_weight, biases[0])
            k = _nn.linear(key, k_proj_weight, biases[1])
            v = _nn.linear(value, v_proj_weight, biases[2])
    else:
        assert key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}"
        assert in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None"
        if same_kv and same_qk:
            both = _nn.linear(query, in_proj_weight, in_proj_bias).unflatten(-1, [3, embed_dim]).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            q, k, v = both[0], both[1], both[2]
        elif same_kv:
            weights_of = in_proj_weight.split([embed_dim, embed_dim * 2])
            if in_proj_bias is None:
                q = _nn.linear(query, weights_of[0])
                both = _nn.linear(key, weights_of[1])
            else:
                biases_of = in_proj_bias.split([embed_dim, embed_dim * 2])
                q = _nn.linear(query, weights_of[0], biases_of[0])
                both = _nn.linear(key, weights_of[1], biases_of[1])
            both = both.unflatten(-1, [2, embed_dim]).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
            k, v = both[0], both[1]
        else:
            thirds = in_proj_weight.chunk(3)
            if in_proj_bias is None:
                q, k, v = _nn.linear(query, thirds[0]), _nn.linear(key, thirds[1]), _nn.linear(value, thirds[2])
            else:
                bias_thirds = in_proj_bias.chunk(3)
                q, k, v = _nn.linear(query, thirds[0], bias_thirds[0]), _nn.linear(key, thirds[1], bias_thirds[1]), _nn.linear(value, thirds[2], bias_thirds[2])
    if attn_mask is not None:
        mask_dims = attn_mask.dim()
        expected = [tgt_len, src_len] if mask_dims == 2 else [bsz * num_heads, tgt_len, src_len]
        if attn_mask.size() != expected:
            raise RuntimeError(f"The shape of the {mask_dims}D attn_mask is {attn_mask.shape}, but should be {expected}.")
        if mask_dims == 2:
            attn_mask = attn_mask.unsqueeze(0)
    if bias_k is not None and bias_v is not None:
        assert static_k is None, "bias cannot be added to static key."
        assert static_v is None, "bias cannot be added to static value."
        k = torch.cat([k, bias_k.repeat(1, bsz, 1)])
        v = torch.cat([v, bias_v.repeat(1, bsz, 1)])
        if attn_mask is not None:
            attn_mask = _nn.pad(attn_mask, [0, 1])
        if key_padding_mask is not None:
            key_padding_mask = _nn.pad(key_padding_mask, [0, 1])
    heads = bsz * num_heads
    q = q.view(tgt_len, heads, head_dim).transpose(0, 1)
    if static_k is None:
        k = k.view(k.size(0), heads, head_dim).transpose(0, 1)
    else:
        k = static_k
    if static_v is None:
        v = v.view(v.size(0), heads, head_dim).transpose(0, 1)
    else:
        v = static_v
    if add_zero_attn:
        k = torch.cat([k, torch.zeros([heads, 1, head_dim], dtype=k.dtype, device=k.device)], dim=1)
        v = torch.cat([v, torch.zeros([heads, 1, head_dim], dtype=v.dtype, device=v.device)], dim=1)
        if attn_mask is not None:
            attn_mask = _nn.pad(attn_mask, [0, 1])
        if key_padding_mask is not None:
            key_padding_mask = _nn.pad(key_padding_mask, [0, 1])
    src_len = k.size(1)
    if key_padding_mask is not None:
        key_padding_mask = key_padding_mask.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1).reshape(heads, 1, src_len)
        if attn_mask is None:
            attn_mask = key_padding_mask
        else:
            attn_mask = attn_mask + key_padding_mask
    if not training:
        dropout_p = 0.0
    if need_weights:
        q = q * math.sqrt(1.0 / float(q.size(-1)))
        if attn_mask is None:
            weights = torch.bmm(q, k.transpose(-2, -1))
        else:
            weights = torch.baddbmm(attn_mask, q, k.transpose(-2, -1))
        weights = torch.softmax(weights, dim=-1)
        if dropout_p > 0.0:
            weights = torch.dropout(weights, dropout_p, True)
        output = torch.bmm(weights, v).transpose(0, 1).contiguous().view(tgt_len * bsz, embed_dim)
        output = _nn.linear(output, out_proj_weight, out_proj_bias)
        output = output.view(tgt_len, bsz, output.size(1))
        weights = weights.view(bsz, num_heads, tgt_len, src_len)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        if is_batched:
            return output, weights
        return output.squeeze(1), weights.squeeze(0)
    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(bsz, num_heads, -1, src_len)
    q = q.view(bsz, num_heads, tgt_len, head_dim)
    k = k.view(bsz, num_heads, src_len, head_dim)
    v = v.view(bsz, num_heads, src_len, head_dim)
    output = _nn.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    output = output.permute(2, 0, 1, 3).contiguous().view(bsz * tgt_len, embed_dim)
    output = _nn.linear(output, out_proj_weight, out_proj_bias)
    output = output.view(tgt_len, bsz, output.size(1))
    if is_batched:
        return output, None
    return output.squeeze(1), None


# ---- packed sequences

def pack_padded_sequence(input: Tensor, lengths: Union[Tensor, List[int]], batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    if isinstance(lengths, Tensor):
        sizes = lengths.to(dtype=torch.int64)
    else:
        sizes = torch.tensor(lengths, dtype=torch.int64)
    order: Optional[Tensor] = None
    if not enforce_sorted:
        sizes, places = torch.sort(sizes, descending=True)
        places = places.to(input.device)
        input = input.index_select(0 if batch_first else 1, places)
        order = places
    data, batch_sizes = torch._pack_padded_sequence(input, sizes, batch_first)
    return PackedSequence(data, batch_sizes, order, invert_permutation(order))


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    longest = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < longest:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {longest}")
        longest = total_length
    padded, lengths = torch._pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value, longest)
    order = sequence.unsorted_indices
    if order is not None:
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]
    return padded, lengths


def pad_sequence(sequences: Union[Tensor, List[Tensor]], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right") -> Tensor:
    if isinstance(sequences, Tensor):
        return _nn.pad_sequence(sequences.unbind(0), batch_first, padding_value, padding_side)
    return _nn.pad_sequence(sequences, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> List[Tensor]:
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    sequences: List[Tensor] = []
    for i in range(lengths.size(0)):
        sequences.append(padded_sequences[i][:int(lengths[i])])
    return sequences


def unpack_sequence(packed_sequences: PackedSequence) -> List[Tensor]:
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


# ---- torch.functional

def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    if compute_mode == "use_mm_for_euclid_dist_if_necessary":
        return _VF.cdist(x1, x2, p, None)
    elif compute_mode == "use_mm_for_euclid_dist":
        return _VF.cdist(x1, x2, p, 1)
    elif compute_mode == "donot_use_mm_for_euclid_dist":
        return _VF.cdist(x1, x2, p, 2)
    raise ValueError(f"{compute_mode} is not a valid value for compute_mode")


_Number = Optional[Union[int, float, complex]]


@torch.jit._overload
def norm(input: Tensor, p: str = "fro", dim: Optional[List[int]] = None, keepdim: bool = False, out: Optional[Tensor] = None, dtype: Optional[int] = None) -> Tensor:
    pass


@torch.jit._overload
def norm(input: Tensor, p: _Number, dim: Optional[List[int]] = None, keepdim: bool = False, out: Optional[Tensor] = None, dtype: Optional[int] = None) -> Tensor:
    pass


@torch.jit._overload
def norm(input: Tensor, p: _Number, dim: Optional[int] = None, keepdim: bool = False, out: Optional[Tensor] = None, dtype: Optional[int] = None) -> Tensor:
    pass


@torch.jit._overload
def norm(input: Tensor, p: str = "fro", dim: Optional[int] = None, keepdim: bool = False, out: Optional[Tensor] = None, dtype: Optional[int] = None) -> Tensor:
    pass


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    dims: Optional[List[int]] = None
    if dim is not None:
        if isinstance(dim, int):
            dims = [dim]
        else:
            dims = dim
    if isinstance(p, str):
        if p != "fro" or (dims is not None and len(dims) > 2):
            if dims is None:
                dims = list(range(input.dim()))
            if out is None:
                return torch.linalg.matrix_norm(input, p, dims, keepdim, dtype=dtype)
            return torch.linalg.matrix_norm(input, p, dims, keepdim, dtype=dtype, out=out)
        order = 2.0
    else:
        order = 2.0 if p is None else p
    if out is None:
        return torch.linalg.vector_norm(input, order, dims, keepdim, dtype=dtype)
    return torch.linalg.vector_norm(input, order, dims, keepdim, dtype=dtype, out=out)


@torch.jit._overload
def tensordot(a: Tensor, b: Tensor, dims: int = 2, out: Optional[Tensor] = None) -> Tensor:
    pass


@torch.jit._overload
def tensordot(a: Tensor, b: Tensor, dims: Tuple[List[int], List[int]], out: Optional[Tensor] = None) -> Tensor:
    pass


@torch.jit._overload
def tensordot(a: Tensor, b: Tensor, dims: List[List[int]], out: Optional[Tensor] = None) -> Tensor:
    pass


@torch.jit._overload
def tensordot(a: Tensor, b: Tensor, dims: Tensor, out: Optional[Tensor] = None) -> Tensor:
    pass


def tensordot(a, b, dims=2, out=None):
    dims_a: List[int] = []
    dims_b: List[int] = []
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = dims
    elif isinstance(dims, int):
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        dims_a = list(range(-dims, 0))
        dims_b = list(range(dims))
    elif dims.numel() > 1:
        dims_a = torch.jit.annotate(List[int], dims[0].tolist())
        dims_b = torch.jit.annotate(List[int], dims[1].tolist())
    else:
        count = int(dims)
        if count < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        dims_a = list(range(-count, 0))
        dims_b = list(range(count))
    if out is None:
        return _VF.tensordot(a, b, dims_a, dims_b)
    return _VF.tensordot(a, b, dims_a, dims_b, out=out)


def stft(input: Tensor, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None, window: Optional[Tensor] = None, center: bool = True,
         pad_mode: str = "reflect", normalized: bool = False, onesided: Optional[bool] = None, return_complex: Optional[bool] = None, align_to_window: Optional[bool] = None) -> Tensor:
    return _VF.stft(input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window)


def _unique(input: Tensor, sorted: bool, return_inverse: bool, return_counts: bool, dim: Optional[int]) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is not None:
        return _VF.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _VF._unique2(input, sorted, return_inverse, return_counts)


def unique_inverse_counts(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tuple[Tensor, Tensor, Tensor]:
    return _unique(input, sorted, return_inverse, return_counts, dim)


def unique_counts(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    found = _unique(input, sorted, return_inverse, return_counts, dim)
    return found[0], found[2]


def unique_inverse(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    found = _unique(input, sorted, return_inverse, return_counts, dim)
    return found[0], found[1]


def unique_alone(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tensor:
    return _unique(input, sorted, return_inverse, return_counts, dim)[0]


unique = boolean_dispatch("return_counts", 3, False, boolean_dispatch("return_inverse", 2, False, unique_inverse_counts, unique_counts, None, "unique"),
                          boolean_dispatch("return_inverse", 2, False, unique_inverse, unique_alone, None, "unique"), None, "unique")


def consecutive_inverse_counts(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tuple[Tensor, Tensor, Tensor]:
    return _VF.unique_consecutive(input, return_inverse, return_counts, dim)


def consecutive_counts(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    found = _VF.unique_consecutive(input, return_inverse, return_counts, dim)
    return found[0], found[2]


def consecutive_inverse(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tuple[Tensor, Tensor]:
    found = _VF.unique_consecutive(input, return_inverse, return_counts, dim)
    return found[0], found[1]


def consecutive_alone(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tensor:
    return _VF.unique_consecutive(input, return_inverse, return_counts, dim)[0]


unique_consecutive = boolean_dispatch(
    "return_counts", 2, False, boolean_dispatch("return_inverse", 1, False, consecutive_inverse_counts, consecutive_counts, None, "unique_consecutive"),
    boolean_dispatch("return_inverse", 1, False, consecutive_inverse, consecutive_alone, None, "unique_consecutive"), None, "unique_consecutive")


def _lu(A: Tensor, pivot: bool) -> Tuple[Tensor, Tensor, Tensor]:
    warn("torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a future PyTorch release.\n"
         "LU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = torch.linalg.lu_factor(A, compute_pivots)")
    return torch.linalg.lu_factor_ex(A, pivot=pivot)


def _lu_with_infos(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Optional[Tuple[Tensor, Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor, Tensor]:
    result = _lu(A, pivot)
    if out is not None:
        for target, value in zip(out, result):
            target.resize_as_(value).copy_(value)
        return out
    return result


def _lu_no_infos(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
    result = _lu(A, pivot)
    if out is not None:
        for target, value in zip(out, result[:2]):
            target.resize_as_(value).copy_(value)
        return out
    return result[0], result[1]


lu = boolean_dispatch("get_infos", 2, False, _lu_with_infos, _lu_no_infos, None, "lu")
