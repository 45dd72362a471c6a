"""Initialisers: fill a tensor in place, without gradient. The random ones draw torch's numbers for the same seed."""
import math

import kindling as torch
from kindling import _C

__all__ = ["calculate_gain", "uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_",
           "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_",
           "uniform", "normal", "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform",
           "kaiming_normal", "orthogonal", "sparse"]

_has_torch_function = _C._has_torch_function_variadic
_LINEAR_LIKE = frozenset(("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
                          "conv_transpose3d", "sigmoid"))


def _override(function, tensor, **kwargs):
    return torch.overrides.handle_torch_function(function, (tensor,), tensor=tensor, **kwargs)


def _warn(text):
    import warnings
    warnings.warn(text, stacklevel=3)


def _no_grad_uniform_(tensor, a, b, generator=None):
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor, mean, std, generator=None):
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor, val):
    with torch.no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor):
    with torch.no_grad():
        return tensor.zero_()


def _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=None):
    def below(x):
        """The normal distribution function."""
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    if mean < a - 2 * std or mean > b + 2 * std:
        _warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
              "The distribution of values may be incorrect.")
    with torch.no_grad():
        if tensor.is_meta:
            return tensor
        if below((b - mean) / std) - below((a - mean) / std) > 0.3:
            return _redrawn_normal_(tensor, mean, std, a, b, generator)
        return _accepted_uniform_(tensor, mean, std, a, b, generator)


def _redrawn_normal_(tensor, mean, std, a, b, generator):
    """Normal numbers, those outside [a, b] drawn again: for intervals that hold enough of the distribution."""
    # The bounds as the dtype holds them, or rounded values at the edge would be drawn for ever.
    low, high = (torch.tensor(each, dtype=tensor.dtype, device="cpu").item() for each in (a, b))
    drawn = tensor.normal_(mean, std, generator=generator)
    outside = (drawn < low) | (drawn > high)
    while outside.any():
        # All are drawn again, and only those needed are taken: so the stream does not depend on places.
        drawn = torch.where(outside, torch.empty_like(drawn).normal_(mean, std, generator=generator), drawn)
        outside = (drawn < low) | (drawn > high)
    return tensor if drawn is tensor else tensor.copy_(drawn)


def _accepted_uniform_(tensor, mean, std, a, b, generator):
    """Uniform numbers in [a, b], accepted with the density's ratio to its greatest value there."""
    nearest = min(max(mean, a), b)
    greatest = -0.5 * ((nearest - mean) / std) ** 2
    log_density, log_chance = torch.empty_like(tensor), torch.empty_like(tensor)

    def rejected():
        log_density.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(greatest)
        return log_chance.uniform_(generator=generator).log_() > log_density

    drawn = tensor.uniform_(a, b, generator=generator)
    log_density.copy_(drawn)
    outside = rejected()
    while outside.any():
        log_density.uniform_(a, b, generator=generator)
        drawn = torch.where(outside, log_density, drawn)
        outside = torch.where(outside, rejected(), outside)
    return tensor if drawn is tensor else tensor.copy_(drawn)


def calculate_gain(nonlinearity, param: int | float | None = None) -> float:
    """The recommended gain of a nonlinearity by name; `param` is leaky_relu's slope. ValueError for an unknown one.

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in tuple(_LINEAR_LIKE):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity == "selu":
        # An empirical value.
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: torch.Tensor, a: float = 0.0, b: float = 1.0, generator: "torch.Generator | None" = None) -> torch.Tensor:
    """Fills with numbers uniform in [a, b)."""
    if _has_torch_function(tensor):
        return _override(uniform_, tensor, a=a, b=b, generator=generator)
    return _no_grad_uniform_(tensor, a, b, generator)


def normal_(tensor: torch.Tensor, mean: float = 0.0, std: float = 1.0, generator: "torch.Generator | None" = None) -> torch.Tensor:
    """Fills with normal numbers of this mean and standard deviation."""
    if _has_torch_function(tensor):
        return _override(normal_, tensor, mean=mean, std=std, generator=generator)
    return _no_grad_normal_(tensor, mean, std, generator)


def trunc_normal_(tensor: torch.Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: "torch.Generator | None" = None) -> torch.Tensor:
    """Fills with normal numbers that fell inside [a, b]."""
    return _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=generator)


def constant_(tensor: torch.Tensor, val: float) -> torch.Tensor:
    """Fills with one value."""
    if _has_torch_function(tensor):
        return _override(constant_, tensor, val=val)
    return _no_grad_fill_(tensor, val)


def ones_(tensor: torch.Tensor) -> torch.Tensor:
    """Fills with ones."""
    return _no_grad_fill_(tensor, 1.0)


def zeros_(tensor: torch.Tensor) -> torch.Tensor:
    """Fills with zeros."""
    return _no_grad_zero_(tensor)


def eye_(tensor: torch.Tensor) -> torch.Tensor:
    """Makes a matrix the identity. ValueError unless the tensor has two dimensions."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        torch.eye(*tensor.shape, out=tensor, requires_grad=tensor.requires_grad)
    return tensor


def dirac_(tensor: torch.Tensor, groups: int = 1) -> torch.Tensor:
    """Makes a convolution's weight pass its input through, as far as there are channels; per group.

    ValueError unless the tensor has 3, 4 or 5 dimensions and the groups divide the first.
    """
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    centre = tuple(size // 2 for size in sizes[2:])
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, sizes[1])):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    dimensions = tensor.dim()
    if dimensions < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    shape = tensor.shape
    field = 1
    for size in shape[2:]:
        field *= size
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    valid_modes = ["fan_in", "fan_out"]
    if mode not in valid_modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid_modes}")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: torch.Tensor, gain: float = 1.0, generator: "torch.Generator | None" = None) -> torch.Tensor:
    """Glorot and Bengio's (2010) initialisation, uniform. ValueError for fewer than two dimensions."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: torch.Tensor, gain: float = 1.0, generator: "torch.Generator | None" = None) -> torch.Tensor:
    """Glorot and Bengio's (2010) initialisation, normal. ValueError for fewer than two dimensions."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return _no_grad_normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(tensor: torch.Tensor, a: float = 0, mode="fan_in", nonlinearity="leaky_relu",
                     generator: "torch.Generator | None" = None) -> torch.Tensor:
    """He's (2015) initialisation, uniform. ValueError for an unknown mode or nonlinearity."""
    if _has_torch_function(tensor):
        return _override(kaiming_uniform_, tensor, a=a, mode=mode, nonlinearity=nonlinearity, generator=generator)
    if 0 in tensor.shape:
        _warn("Initializing zero-element tensors is a no-op")
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    with torch.no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(tensor: torch.Tensor, a: float = 0, mode="fan_in", nonlinearity="leaky_relu",
                    generator: "torch.Generator | None" = None) -> torch.Tensor:
    """He's (2015) initialisation, normal. ValueError for an unknown mode or nonlinearity."""
    if 0 in tensor.shape:
        _warn("Initializing zero-element tensors is a no-op")
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    with torch.no_grad():
        return tensor.normal_(0, std, generator=generator)


def orthogonal_(tensor: torch.Tensor, gain: float = 1, generator: "torch.Generator | None" = None) -> torch.Tensor:
    """Fills with a random matrix with orthonormal rows or columns (dimensions after the first taken together)."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    if rows < columns:
        flat.t_()
    q, r = torch.linalg.qr(flat)
    # The factorisation is unique, and so Q uniform, only with R's diagonal made positive.
    q *= torch.diag(r, 0).sign()
    if rows < columns:
        q.t_()
    with torch.no_grad():
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: torch.Tensor, sparsity: float, std: float = 0.01, generator: "torch.Generator | None" = None) -> torch.Tensor:
    """Fills a matrix with normal numbers, then zeroes this share of every column. ValueError unless it is a matrix."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = int(math.ceil(sparsity * rows))
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            # Drawn without the generator, as torch does.
            tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(new):
    old_name = new.__name__[:-1]

    def old(*args, **kwargs):
        import warnings
        warnings.warn(f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new.__name__}`.", FutureWarning,
                      stacklevel=2)
        return new(*args, **kwargs)

    old.__name__ = old.__qualname__ = old_name
    old.__doc__ = f"Old name of {new.__name__}."
    return old


uniform, normal, constant, eye, dirac = map(_deprecated, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = _deprecated(xavier_uniform_), _deprecated(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecated(kaiming_uniform_), _deprecated(kaiming_normal_)
orthogonal, sparse = _deprecated(orthogonal_), _deprecated(sparse_)
