"""The geometric distribution."""
import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.distribution import _ProbsOrLogits
from kindling.distributions.utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(_ProbsOrLogits):
    """The number of failures before the first success.  ValueError unless one of `probs` and `logits` is given."""
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _batched = _ProbsOrLogits._batched

    def __init__(self, probs: torch.Tensor | int | float | bool | None = None, logits: torch.Tensor | int | float | bool | None = None,
                 validate_args: bool | None = None):
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            valid = value > 0
            if not valid.all():
                raise ValueError(f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to be positive but found invalid values:\n"
                                 f"{value.data[~valid]}")

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            u = self._uniform(shape, self.probs, torch.finfo(self.probs.dtype).tiny)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._check(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone(memory_format=torch.contiguous_format)
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs,
                                                                    reduction="none") / self.probs
