"""Normalisations."""
import kindling as torch
from kindling.nn._functional import handle, has_any, has_one


def _verify_batch_size(size: list[int]) -> None:
    """ValueError for a batch with a single value a channel, whose variance is no use."""
    values = size[0]
    for i in range(len(size) - 2):
        values *= size[i + 2]
    if values == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: list[int]) -> None:
    values = 1
    for i in range(2, len(size)):
        values *= size[i]
    if values == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def batch_norm(input: torch.Tensor, running_mean: torch.Tensor | None, running_var: torch.Tensor | None,
               weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, training: bool = False, momentum: float = 0.1,
               eps: float = 1e-5) -> torch.Tensor:
    """Normalises (N, C, *) per channel, by the batch's statistics in training and the running ones otherwise."""
    if has_any(input, running_mean, running_var, weight, bias):
        return handle(batch_norm, (input, running_mean, running_var, weight, bias), input, running_mean, running_var,
                      weight=weight, bias=bias, training=training, momentum=momentum, eps=eps)
    if training:
        _verify_batch_size(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(input: torch.Tensor, running_mean: torch.Tensor | None = None, running_var: torch.Tensor | None = None,
                  weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> torch.Tensor:
    """Normalises (N, C, *) per sample and channel."""
    if has_any(input, running_mean, running_var, weight, bias):
        return handle(instance_norm, (input, running_mean, running_var, weight, bias), input, running_mean=running_mean,
                      running_var=running_var, weight=weight, bias=bias, use_input_stats=use_input_stats,
                      momentum=momentum, eps=eps)
    if use_input_stats:
        _verify_spatial_size(input.size())
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(input: torch.Tensor, normalized_shape: list[int], weight: torch.Tensor | None = None, bias: torch.Tensor | None = None,
               eps: float = 1e-5) -> torch.Tensor:
    """Normalises over the last dimensions, which must be `normalized_shape`."""
    if has_any(input, weight, bias):
        return handle(layer_norm, (input, weight, bias), input, normalized_shape, weight=weight, bias=bias, eps=eps)
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, True)


def rms_norm(input: torch.Tensor, normalized_shape: list[int], weight: torch.Tensor | None = None,
             eps: float | None = None) -> torch.Tensor:
    """Divides by the root mean square over the last dimensions, which must be `normalized_shape`."""
    if has_any(input, weight):
        return handle(rms_norm, (input, weight), input, normalized_shape, weight=weight, eps=eps)
    return torch.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input: torch.Tensor, num_groups: int, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None,
               eps: float = 1e-5) -> torch.Tensor:
    """Normalises (N, C, *) per sample and group of channels. RuntimeError unless num_groups divides C."""
    if has_any(input, weight, bias):
        return handle(group_norm, (input, weight, bias), input, num_groups, weight=weight, bias=bias, eps=eps)
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    size = input.size()
    _verify_batch_size([size[0] * size[1] // num_groups, num_groups] + list(size[2:]))
    return torch.group_norm(input, num_groups, weight, bias, eps, True)


def local_response_norm(input: torch.Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> torch.Tensor:
    """Divides (N, C, *) by a power of the squares' mean over `size` neighbouring channels. ValueError below 3-D."""
    if has_one(input):
        return handle(local_response_norm, (input,), input, size, alpha=alpha, beta=beta, k=k)
    dimensions = input.dim()
    if dimensions < 3:
        raise ValueError("Expected 3D or higher dimensionality                          input "
                         f"(got {dimensions} dimensions)")
    if input.numel() == 0:
        return input
    functional = torch.nn.functional
    squares = input.mul(input)
    if dimensions == 3:
        squares = functional.pad(squares.unsqueeze(1), (0, 0, size // 2, (size - 1) // 2))
        squares = functional.avg_pool2d(squares, (size, 1), stride=1).squeeze(1)
    else:
        sizes = input.size()
        squares = squares.view(sizes[0], 1, sizes[1], sizes[2], -1)
        squares = functional.pad(squares, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        squares = functional.avg_pool3d(squares, (size, 1, 1), stride=1).squeeze(1).view(sizes)
    return input / squares.mul(alpha).add(k).pow(beta)


def normalize(input: torch.Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: torch.Tensor | None = None) -> torch.Tensor:
    """input divided by its p-norm along `dim`, or by eps where that is greater."""
    if has_any(input, out):
        return handle(normalize, (input, out), input, p=p, dim=dim, eps=eps, out=out)
    length = input.norm(p, dim, keepdim=True)
    length = length.clamp_min(eps) if out is None else length.clamp_min_(eps)
    length = length.expand_as(input)
    return input / length if out is None else torch.div(input, length, out=out)
