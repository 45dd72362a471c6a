"""Activations."""
import kindling as torch
from kindling import _C
from kindling.nn._functional import handle, has_one, warn

_nn = _C._nn


def threshold(input: torch.Tensor, threshold: float, value: float, inplace: bool = False) -> torch.Tensor:
    """input where it is above `threshold`, else `value`."""
    if has_one(input):
        return handle(_threshold, (input,), input, threshold, value, inplace=inplace)
    return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)


_threshold = threshold


def relu(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """max(input, 0)."""
    if has_one(input):
        return handle(relu, (input,), input, inplace=inplace)
    return torch.relu_(input) if inplace else torch.relu(input)


def glu(input: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """First half times the sigmoid of the second half along `dim`. RuntimeError for a scalar or an odd size."""
    if has_one(input):
        return handle(glu, (input,), input, dim=dim)
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


def hardtanh(input: torch.Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> torch.Tensor:
    """input limited to [min_val, max_val]. ValueError if min_val is the greater."""
    if has_one(input):
        return handle(hardtanh, (input,), input, min_val=min_val, max_val=max_val, inplace=inplace)
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _nn.hardtanh_(input, min_val, max_val) if inplace else _nn.hardtanh(input, min_val, max_val)


def relu6(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """input limited to [0, 6]."""
    if has_one(input):
        return handle(relu6, (input,), input, inplace=inplace)
    return _nn.relu6_(input) if inplace else _nn.relu6(input)


def elu(input: torch.Tensor, alpha: float = 1.0, inplace: bool = False) -> torch.Tensor:
    """input where positive, else alpha * (exp(input) - 1)."""
    if has_one(input):
        return handle(elu, (input,), input, alpha=alpha, inplace=inplace)
    return _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)


def selu(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """Scaled elu with the constants of Klambauer et al. (2017)."""
    if has_one(input):
        return handle(selu, (input,), input, inplace=inplace)
    return torch.selu_(input) if inplace else torch.selu(input)


def celu(input: torch.Tensor, alpha: float = 1.0, inplace: bool = False) -> torch.Tensor:
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
    if has_one(input):
        return handle(celu, (input,), input, alpha=alpha, inplace=inplace)
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


def leaky_relu(input: torch.Tensor, negative_slope: float = 0.01, inplace: bool = False) -> torch.Tensor:
    """input where positive, else negative_slope * input."""
    if has_one(input):
        return handle(leaky_relu, (input,), input, negative_slope=negative_slope, inplace=inplace)
    return _nn.leaky_relu_(input, negative_slope) if inplace else _nn.leaky_relu(input, negative_slope)


def rrelu(input: torch.Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
          inplace: bool = False) -> torch.Tensor:
    """leaky_relu with slopes drawn from [lower, upper] in training, and their mean otherwise."""
    if has_one(input):
        return handle(rrelu, (input,), input, lower=lower, upper=upper, training=training, inplace=inplace)
    return torch.rrelu_(input, lower, upper, training) if inplace else torch.rrelu(input, lower, upper, training)


def tanhshrink(input):
    """input - tanh(input)."""
    if has_one(input):
        return handle(tanhshrink, (input,), input)
    return input - input.tanh()


def softsign(input):
    """input / (1 + |input|)."""
    if has_one(input):
        return handle(softsign, (input,), input)
    return input / (input.abs() + 1)


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension of old calls that gave none."""
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
         stacklevel=stacklevel + 1)
    return 0 if ndim == 0 or ndim == 1 or ndim == 3 else 1


def softmin(input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None) -> torch.Tensor:
    """softmax of -input along `dim`."""
    if has_one(input):
        return handle(softmin, (input,), input, dim=dim, _stacklevel=_stacklevel, dtype=dtype)
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def softmax(input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None) -> torch.Tensor:
    """exp(input) / sum of exp(input) along `dim`; computed in `dtype` if given."""
    if has_one(input):
        return handle(softmax, (input,), input, dim=dim, _stacklevel=_stacklevel, dtype=dtype)
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def log_softmax(input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None) -> torch.Tensor:
    """log(softmax(input)) along `dim`; computed in `dtype` if given."""
    if has_one(input):
        return handle(log_softmax, (input,), input, dim=dim, _stacklevel=_stacklevel, dtype=dtype)
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits: torch.Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> torch.Tensor:
    """A draw from the Gumbel-softmax distribution; with `hard` one-hot forward, with the soft draw's gradient."""
    if has_one(logits):
        return handle(gumbel_softmax, (logits,), logits, tau=tau, hard=hard, eps=eps, dim=dim)
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if hard:
        place = soft.max(dim, keepdim=True)[1]
        one_hot = torch.zeros_like(logits, memory_format=torch.legacy_contiguous_format).scatter_(dim, place, 1.0)
        return one_hot - soft.detach() + soft
    return soft


def tanh(input):
    """tanh(input)."""
    return input.tanh()


def sigmoid(input):
    """1 / (1 + exp(-input))."""
    return input.sigmoid()


def hardsigmoid(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """relu6(input + 3) / 6."""
    if has_one(input):
        return handle(hardsigmoid, (input,), input, inplace=inplace)
    return _nn.hardsigmoid_(input) if inplace else _nn.hardsigmoid(input)


def silu(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """input * sigmoid(input)."""
    if has_one(input):
        return handle(silu, (input,), input, inplace=inplace)
    return _nn.silu_(input) if inplace else _nn.silu(input)


def mish(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """input * tanh(softplus(input))."""
    if has_one(input):
        return handle(mish, (input,), input, inplace=inplace)
    return _nn.mish_(input) if inplace else _nn.mish(input)


def hardswish(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    """input * relu6(input + 3) / 6."""
    if has_one(input):
        return handle(hardswish, (input,), input, inplace=inplace)
    return _nn.hardswish_(input) if inplace else _nn.hardswish(input)
