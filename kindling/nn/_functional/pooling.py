"""Pooling. A kernel, stride, padding or dilation is one number for all spatial dimensions, or one for each."""
import kindling as torch
from kindling import _C
from kindling.nn._functional import handle, has_any, has_one
from kindling.nn.modules.utils import _list_with_default, _ntuple

_nn = _C._nn


def max_pool1d_with_indices(input: torch.Tensor, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False,
                            return_indices: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima over windows of (N, C, L), and their places."""
    if has_one(input):
        return handle(max_pool1d_with_indices, (input,), input, kernel_size, stride=stride, padding=padding,
                      dilation=dilation, ceil_mode=ceil_mode, return_indices=return_indices)
    return torch.max_pool1d_with_indices(input, kernel_size, () if stride is None else stride, padding, dilation,
                                         ceil_mode)


def max_pool2d_with_indices(input: torch.Tensor, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False,
                            return_indices: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima over windows of (N, C, H, W), and their places in the plane."""
    if has_one(input):
        return handle(max_pool2d_with_indices, (input,), input, kernel_size, stride=stride, padding=padding,
                      dilation=dilation, ceil_mode=ceil_mode, return_indices=return_indices)
    return _nn.max_pool2d_with_indices(input, kernel_size, () if stride is None else stride, padding, dilation,
                                       ceil_mode)


def max_pool3d_with_indices(input: torch.Tensor, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False,
                            return_indices: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima over windows of (N, C, D, H, W), and their places in the volume."""
    if has_one(input):
        return handle(max_pool3d_with_indices, (input,), input, kernel_size, stride=stride, padding=padding,
                      dilation=dilation, ceil_mode=ceil_mode, return_indices=return_indices)
    return _nn.max_pool3d_with_indices(input, kernel_size, () if stride is None else stride, padding, dilation,
                                       ceil_mode)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Maxima over windows of (N, C, L); with `return_indices` their places too."""
    if return_indices:
        return max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, True)
    if has_one(input):
        return handle(max_pool1d, (input,), input, kernel_size, stride=stride, padding=padding, dilation=dilation,
                      ceil_mode=ceil_mode, return_indices=return_indices)
    return torch.max_pool1d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Maxima over windows of (N, C, H, W); with `return_indices` their places too."""
    if return_indices:
        return max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, True)
    if has_one(input):
        return handle(max_pool2d, (input,), input, kernel_size, stride=stride, padding=padding, dilation=dilation,
                      ceil_mode=ceil_mode, return_indices=return_indices)
    return torch.max_pool2d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Maxima over windows of (N, C, D, H, W); with `return_indices` their places too."""
    if return_indices:
        return max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, True)
    if has_one(input):
        return handle(max_pool3d, (input,), input, kernel_size, stride=stride, padding=padding, dilation=dilation,
                      ceil_mode=ceil_mode, return_indices=return_indices)
    return torch.max_pool3d(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)


_max_pool1d, _max_pool2d, _max_pool3d = max_pool1d, max_pool2d, max_pool3d


def _fractional(name, dimensions, operator, input, kernel_size, output_size, output_ratio, samples):
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    ntuple = _ntuple(dimensions)
    if output_size is None:
        ratio = ntuple(output_ratio)
        if len(ratio) > dimensions:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(input.size(place - dimensions) * ratio[place]) for place in range(dimensions)]
    if samples is None:
        batch = 1 if input.dim() == dimensions + 1 else input.size(0)
        samples = torch.rand(batch, input.size(-dimensions - 1), dimensions, dtype=input.dtype, device=input.device)
    return operator(input, kernel_size, output_size, samples)


def fractional_max_pool2d_with_indices(input: torch.Tensor, kernel_size, output_size=None, output_ratio=None,
                                       return_indices: bool = False,
                                       _random_samples: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima over windows at random places (Graham, 2015), and their places in the plane."""
    if has_any(input, _random_samples):
        return handle(fractional_max_pool2d_with_indices, (input, _random_samples), input, kernel_size,
                      output_size=output_size, output_ratio=output_ratio, return_indices=return_indices,
                      _random_samples=_random_samples)
    return _fractional("fractional_max_pool2d", 2, _nn.fractional_max_pool2d, input, kernel_size, output_size,
                       output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(input: torch.Tensor, kernel_size, output_size=None, output_ratio=None,
                                       return_indices: bool = False,
                                       _random_samples: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima over windows at random places of a volume, and their places."""
    if has_any(input, _random_samples):
        return handle(fractional_max_pool3d_with_indices, (input, _random_samples), input, kernel_size,
                      output_size=output_size, output_ratio=output_ratio, return_indices=return_indices,
                      _random_samples=_random_samples)
    return _fractional("fractional_max_pool3d", 3, _nn.fractional_max_pool3d, input, kernel_size, output_size,
                       output_ratio, _random_samples)


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                          _random_samples=None):
    """Maxima over windows at random places (Graham, 2015). ValueError without output_size and output_ratio."""
    if not return_indices and has_any(input, _random_samples):
        return handle(fractional_max_pool2d, (input, _random_samples), input, kernel_size, output_size=output_size,
                      output_ratio=output_ratio, return_indices=return_indices, _random_samples=_random_samples)
    both = fractional_max_pool2d_with_indices(input, kernel_size, output_size, output_ratio, return_indices,
                                              _random_samples)
    return both if return_indices else both[0]


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                          _random_samples=None):
    """Maxima over windows at random places of a volume. ValueError without output_size and output_ratio."""
    if not return_indices and has_any(input, _random_samples):
        return handle(fractional_max_pool3d, (input, _random_samples), input, kernel_size, output_size=output_size,
                      output_ratio=output_ratio, return_indices=return_indices, _random_samples=_random_samples)
    both = fractional_max_pool3d_with_indices(input, kernel_size, output_size, output_ratio, return_indices,
                                              _random_samples)
    return both if return_indices else both[0]


_fractional_max_pool2d, _fractional_max_pool3d = fractional_max_pool2d, fractional_max_pool3d


def _unpool_output_size(input: torch.Tensor, kernel_size: list[int], stride: list[int], padding: list[int],
                        output_size: list[int] | None) -> list[int]:
    """The output's spatial size: what pooling would have made of it, or the caller's within one stride of that."""
    dimensions = len(kernel_size)
    size = input.size()
    default = [(size[place - dimensions] - 1) * stride[place] + kernel_size[place] - 2 * padding[place]
               for place in range(dimensions)]
    if output_size is None:
        return _not_negative(default)
    if len(output_size) == dimensions + 2:
        output_size = output_size[2:]
    if len(output_size) != dimensions:
        raise ValueError(f"output_size should be a sequence containing {dimensions} or {dimensions + 2} elements, but "
                         f"it has a length of '{len(output_size)}'")
    for place in range(dimensions):
        low, high = default[place] - stride[place], default[place] + stride[place]
        if not low < output_size[place] < high:
            raise ValueError(f'invalid output_size "{output_size}" (dim {place} must be between {low} and {high})')
    return _not_negative(output_size)


def _not_negative(output_size):
    for place, size in enumerate(output_size):
        if size < 0:
            raise ValueError("max_unpooling: output_size must contain non-negative spatial dimensions, but got "
                             f"output_size[{place}]={size}")
    return output_size


def _unpool(dimensions, input, indices, kernel_size, stride, padding, output_size):
    ntuple = _ntuple(dimensions)
    kernel_size, padding = ntuple(kernel_size), ntuple(padding)
    stride = ntuple(stride) if stride is not None else kernel_size
    output_size = _unpool_output_size(input, kernel_size, stride, padding, output_size)
    if dimensions == 3:
        return _nn.max_unpool3d(input, indices, output_size, stride, padding)
    if dimensions == 2:
        return _nn.max_unpool2d(input, indices, output_size)
    output_size = [*output_size, 1]
    return _nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), output_size).squeeze(-1)


def max_unpool1d(input: torch.Tensor, indices: torch.Tensor, kernel_size, stride=None, padding=0,
                 output_size=None) -> torch.Tensor:
    """Puts maxima back to their places among zeros, undoing max_pool1d. ValueError for an impossible output_size."""
    if has_one(input):
        return handle(max_unpool1d, (input,), input, indices, kernel_size, stride=stride, padding=padding,
                      output_size=output_size)
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input: torch.Tensor, indices: torch.Tensor, kernel_size, stride=None, padding=0,
                 output_size=None) -> torch.Tensor:
    """Puts maxima back to their places among zeros, undoing max_pool2d. ValueError for an impossible output_size."""
    if has_one(input):
        return handle(max_unpool2d, (input,), input, indices, kernel_size, stride=stride, padding=padding,
                      output_size=output_size)
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input: torch.Tensor, indices: torch.Tensor, kernel_size, stride=None, padding=0,
                 output_size=None) -> torch.Tensor:
    """Puts maxima back to their places among zeros, undoing max_pool3d. ValueError for an impossible output_size."""
    if has_one(input):
        return handle(max_unpool3d, (input,), input, indices, kernel_size, stride=stride, padding=padding,
                      output_size=output_size)
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


def _power_sum_root(mean, norm_type, count):
    """(sum of window ** p) ** (1/p) from the window's mean of x ** p, of the sign torch gives a negative sum."""
    return (torch.sign(mean) * torch.relu(torch.abs(mean))).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input: torch.Tensor, norm_type: int | float, kernel_size: int, stride=None, ceil_mode: bool = False) -> torch.Tensor:
    """p-norms over windows of (N, C, L)."""
    if has_one(input):
        return handle(lp_pool1d, (input,), input, norm_type, kernel_size, stride=stride, ceil_mode=ceil_mode)
    mean = torch.avg_pool1d(input.pow(norm_type), kernel_size, () if stride is None else stride, 0, ceil_mode)
    return _power_sum_root(mean, norm_type, kernel_size)


def lp_pool2d(input: torch.Tensor, norm_type: int | float, kernel_size, stride=None, ceil_mode: bool = False) -> torch.Tensor:
    """p-norms over windows of (N, C, H, W)."""
    if has_one(input):
        return handle(lp_pool2d, (input,), input, norm_type, kernel_size, stride=stride, ceil_mode=ceil_mode)
    height, width = _ntuple(2)(kernel_size)
    mean = _nn.avg_pool2d(input.pow(norm_type), kernel_size, () if stride is None else stride, 0, ceil_mode)
    return _power_sum_root(mean, norm_type, height * width)


def lp_pool3d(input: torch.Tensor, norm_type: int | float, kernel_size, stride=None, ceil_mode: bool = False) -> torch.Tensor:
    """p-norms over windows of (N, C, D, H, W)."""
    if has_one(input):
        return handle(lp_pool3d, (input,), input, norm_type, kernel_size, stride=stride, ceil_mode=ceil_mode)
    depth, height, width = _ntuple(3)(kernel_size)
    mean = _nn.avg_pool3d(input.pow(norm_type), kernel_size, () if stride is None else stride, 0, ceil_mode)
    return _power_sum_root(mean, norm_type, depth * height * width)


def adaptive_max_pool1d_with_indices(input: torch.Tensor, output_size, return_indices: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima over windows that make this output length, and their places."""
    if has_one(input):
        return handle(adaptive_max_pool1d_with_indices, (input,), input, output_size, return_indices=return_indices)
    return torch.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d_with_indices(input: torch.Tensor, output_size, return_indices: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima over windows that make this output size, and their places; None keeps a dimension."""
    if has_one(input):
        return handle(adaptive_max_pool2d_with_indices, (input,), input, output_size, return_indices=return_indices)
    return _nn.adaptive_max_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_max_pool3d_with_indices(input: torch.Tensor, output_size, return_indices: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Maxima over windows that make this output size, and their places; None keeps a dimension."""
    if has_one(input):
        return handle(adaptive_max_pool3d_with_indices, (input,), input, output_size, return_indices=return_indices)
    return _nn.adaptive_max_pool3d(input, _list_with_default(output_size, input.size()))


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """Maxima over windows that make this output length; with `return_indices` their places too."""
    if not return_indices and has_one(input):
        return handle(adaptive_max_pool1d, (input,), input, output_size, return_indices=return_indices)
    both = adaptive_max_pool1d_with_indices(input, output_size, return_indices)
    return both if return_indices else both[0]


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Maxima over windows that make this output size; None keeps a dimension."""
    if not return_indices and has_one(input):
        return handle(adaptive_max_pool2d, (input,), input, output_size, return_indices=return_indices)
    both = adaptive_max_pool2d_with_indices(input, output_size, return_indices)
    return both if return_indices else both[0]


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """Maxima over windows that make this output size; None keeps a dimension."""
    if not return_indices and has_one(input):
        return handle(adaptive_max_pool3d, (input,), input, output_size, return_indices=return_indices)
    both = adaptive_max_pool3d_with_indices(input, output_size, return_indices)
    return both if return_indices else both[0]


_adaptive_max_pool1d, _adaptive_max_pool2d, _adaptive_max_pool3d = (
    adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d)


def adaptive_avg_pool2d(input: torch.Tensor, output_size) -> torch.Tensor:
    """Means over windows that make this output size; None keeps a dimension."""
    if has_one(input):
        return handle(adaptive_avg_pool2d, (input,), input, output_size)
    return _nn.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_avg_pool3d(input: torch.Tensor, output_size) -> torch.Tensor:
    """Means over windows that make this output size; None keeps a dimension."""
    if has_one(input):
        return handle(adaptive_avg_pool3d, (input,), input, output_size)
    return _nn.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))
