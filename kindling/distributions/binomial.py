"""The binomial distribution."""
import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.distribution import _ProbsOrLogits

__all__ = ["Binomial"]


def _clamp_by_zero(x):
    # Half of each side's gradient at zero.
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(_ProbsOrLogits):
    """The number of successes in `total_count` trials.  ValueError unless one of `probs` and `logits` is given."""
    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True
    _batched = {"total_count": 0, **_ProbsOrLogits._batched}

    def __init__(self, total_count: torch.Tensor | int = 1, probs: torch.Tensor | None = None, logits: torch.Tensor | None = None,
                 validate_args: bool | None = None):
        (total_count,) = self._take(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._check(value)
        # log(1 + exp(logits)), without overflow for large ones.
        normalizer = (self.total_count * _clamp_by_zero(self.logits)
                      + self.total_count * torch.log1p(torch.exp(-torch.abs(self.logits)))
                      - torch.lgamma(self.total_count + 1))
        return (value * self.logits - torch.lgamma(value + 1) - torch.lgamma(self.total_count - value + 1)
                - normalizer)

    def _count(self, name):
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count

    def entropy(self):
        self._count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        return self._count_up(1 + self._count("enumerate_support"), expand)
