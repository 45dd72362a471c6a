"""The negative binomial distribution."""
import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.distribution import _ProbsOrLogits
from kindling.distributions.gamma import Gamma
from kindling.distributions.utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(_ProbsOrLogits):
    """The number of successes before `total_count` failures; `probs` is the probability of a success."""
    arg_constraints = {"total_count": constraints.greater_than_eq(0),
                       "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer
    _batched = {"total_count": 0, **_ProbsOrLogits._batched}

    def __init__(self, total_count: torch.Tensor | float, probs: torch.Tensor | None = None, logits: torch.Tensor | None = None,
                 validate_args: bool | None = None):
        (total_count,) = self._take(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    mean = property(lambda self: self.total_count * torch.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits))

    @lazy_property
    def _gamma(self):
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value):
        self._check(value)
        logsigmoid = torch.nn.functional.logsigmoid
        unnormalized = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        normalization = (-torch.lgamma(self.total_count + value) + torch.lgamma(1.0 + value)
                         + torch.lgamma(self.total_count))
        # No failures and no successes: certain, where the formula subtracts infinities.
        return unnormalized - normalization.masked_fill(self.total_count + value == 0.0, 0.0)
