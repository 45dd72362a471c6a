"""Padding, resampling and folding."""
import math

import kindling as torch
from kindling import _C
from kindling.nn._functional import handle, has_any, has_one, warn
from kindling.nn.modules.utils import _pair

_nn = _C._nn


def pad(input: torch.Tensor, pad: list[int], mode: str = "constant", value: float | None = None) -> torch.Tensor:
    """Pads the last dimensions, given as (left, right) pairs from the last one on.

    mode is "constant" (with `value`, by default 0), "reflect", "replicate" or "circular". RuntimeError for an odd
    number of widths or widths that do not fit; NotImplementedError for another mode.
    """
    if has_one(input):
        return handle(torch.nn.functional.pad, (input,), input, pad, mode=mode, value=value)
    return _nn.pad(input, pad, mode, value)


_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_NEEDS = {"linear": 3, "bilinear": 4, "trilinear": 5}


def interpolate(input: torch.Tensor, size: int | None = None, scale_factor: list[float] | None = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False) -> torch.Tensor:
    """Resamples (N, C, *) to a size or by a factor.

    mode is "nearest", "nearest-exact", "area", "linear" (3-D), "bilinear", "bicubic", "lanczos" (4-D) or "trilinear"
    (5-D). ValueError for arguments that contradict each other; NotImplementedError for a mode and dimension that do.
    """
    if has_one(input):
        return handle(interpolate, (input,), input, size=size, scale_factor=scale_factor, mode=mode,
                      align_corners=align_corners, recompute_scale_factor=recompute_scale_factor, antialias=antialias)
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | "
                             "bicubic | trilinear")
    elif align_corners is None:
        align_corners = False
    spatial = input.dim() - 2
    output_size = factors = None
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != spatial:
                raise ValueError("Input and output must have the same number of spatial dimensions, but got input with "
                                 f"spatial dimensions of {list(input.shape[2:])} and output size of {size}. Please "
                                 "provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, "
                                 "...,oK) format.")
            if not all(_is_integer(length) for length in size):
                raise TypeError("expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, "
                                f"int], but got size with types {[type(length) for length in size]}")
            output_size = size
        else:
            output_size = [size] * spatial
    elif scale_factor is not None:
        if isinstance(scale_factor, (list, tuple)):
            if len(scale_factor) != spatial:
                raise ValueError("Input and scale_factor must have the same number of spatial dimensions, but got input "
                                 f"with spatial dimensions of {list(input.shape[2:])} and scale_factor of shape "
                                 f"{scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                                 "scale_factor in (s1, s2, ...,sK) format.")
            factors = scale_factor
        else:
            factors = [scale_factor] * spatial
    else:
        raise ValueError("either size or scale_factor should be defined")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if mode == "area" and output_size is None:
        recompute_scale_factor = True
    if recompute_scale_factor:
        output_size = [math.floor(float(input.size(place + 2)) * factors[place]) for place in range(spatial)]
        factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
                         "tensor as input")
    return _resample(input, spatial, mode, output_size, factors, align_corners, antialias)


def _is_integer(value):
    return isinstance(value, int) or isinstance(value, torch.Tensor) and not value.is_floating_point()


def _resample(input, spatial, mode, output_size, factors, align_corners, antialias):
    if 1 <= spatial <= 3:
        if mode == "nearest":
            return (_nn.upsample_nearest1d, _nn.upsample_nearest2d, _nn.upsample_nearest3d)[spatial - 1](
                input, output_size, factors)
        if mode == "nearest-exact":
            return (_nn._upsample_nearest_exact1d, _nn._upsample_nearest_exact2d, _nn._upsample_nearest_exact3d)[
                spatial - 1](input, output_size, factors)
        if mode == "area":
            functional = torch.nn.functional
            return (functional.adaptive_avg_pool1d, functional.adaptive_avg_pool2d, functional.adaptive_avg_pool3d)[
                spatial - 1](input, output_size)
        if mode == "linear" and spatial == 1:
            return _nn.upsample_linear1d(input, output_size, align_corners, factors)
        if mode == "bilinear" and spatial == 2:
            if antialias:
                return _nn._upsample_bilinear2d_aa(input, output_size, align_corners, factors)
            return _nn.upsample_bilinear2d(input, output_size, align_corners, factors)
        if mode == "trilinear" and spatial == 3:
            return _nn.upsample_trilinear3d(input, output_size, align_corners, factors)
        if mode == "bicubic" and spatial == 2:
            if antialias:
                return _nn._upsample_bicubic2d_aa(input, output_size, align_corners, factors)
            return _nn.upsample_bicubic2d(input, output_size, align_corners, factors)
        if mode == "lanczos" and spatial == 2:
            if not antialias:
                raise ValueError("Lanczos mode requires antialias=True")
            if align_corners:
                raise ValueError("Lanczos mode does not support align_corners=True")
            return _nn._upsample_lanczos2d_aa(input, output_size, align_corners, factors)
        if mode in list(_NEEDS):
            raise NotImplementedError(f"Got {spatial + 2}D input, but {mode} mode needs {_NEEDS[mode]}D input")
    raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported (got "
                              f"{input.dim()}D) for the modes: {_MODES} (got {mode})")


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Old name of interpolate."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """Old name of interpolate(mode="nearest")."""
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """Old name of interpolate(mode="bilinear", align_corners=True)."""
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def grid_sample(input: torch.Tensor, grid: torch.Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> torch.Tensor:
    """Samples (N, C, H, W) or (N, C, D, H, W) at the places `grid` gives in [-1, 1]. ValueError for another mode."""
    if has_any(input, grid):
        return handle(grid_sample, (input, grid), input, grid, mode=mode, padding_mode=padding_mode,
                      align_corners=align_corners)
    modes = {"bilinear": 0, "nearest": 1, "bicubic": 2}
    paddings = {"zeros": 0, "border": 1, "reflection": 2}
    if mode not in list(modes):
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: "
                         f"'{mode}'")
    if padding_mode not in list(paddings):
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                         f"but got: '{padding_mode}'")
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
             "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
             "details.")
        align_corners = False
    return torch.grid_sampler(input, grid, modes[mode], paddings[padding_mode], align_corners)


def affine_grid(theta: torch.Tensor, size: list[int], align_corners: bool | None = None) -> torch.Tensor:
    """The places of an affine map, for grid_sample: theta (N, 2, 3) and size (N, C, H, W), or one dimension more."""
    if has_one(theta):
        return handle(affine_grid, (theta,), theta, size, align_corners=align_corners)
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
             "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
             "details.")
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                                  f"respectively. Got size {size}.")
    spatial = len(size) - 2
    shown = size
    if theta.dim() != 3 or theta.shape[-2] != spatial or theta.shape[-1] != spatial + 1:
        raise ValueError(f"Expected a batch of {spatial}D affine matrices of shape Nx{spatial}x{spatial + 1} for size "
                         f"{shown}. Got {theta.shape}.")
    if align_corners and min(size[-spatial:]) == 1:
        warn("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is "
             "not an intended use case of affine_grid. See the documentation of affine_grid for details.")
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return torch.affine_grid_generator(theta, size, align_corners)


def unfold(input: torch.Tensor, kernel_size, dilation=1, padding=0, stride=1) -> torch.Tensor:
    """Columns of all windows of (N, C, H, W): (N, C * window, number of windows)."""
    if has_one(input):
        return handle(unfold, (input,), input, kernel_size, dilation=dilation, padding=padding, stride=stride)
    return _nn.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(input: torch.Tensor, output_size, kernel_size, dilation=1, padding=0, stride=1) -> torch.Tensor:
    """Sums columns (N, C * window, number of windows) back into planes (N, C, *output_size)."""
    if has_one(input):
        return handle(fold, (input,), input, output_size, kernel_size, dilation=dilation, padding=padding,
                      stride=stride)
    return _nn.col2im(input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))
