"""The half-normal distribution."""
import math

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.normal import Normal
from kindling.distributions.transformed_distribution import TransformedDistribution
from kindling.distributions.transforms import AbsTransform

__all__ = ["HalfNormal"]


class _Half(TransformedDistribution):
    """The absolute value of a symmetric distribution around zero."""

    def __init__(self, base, validate_args):
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: torch.zeros_like(self.scale))

    def log_prob(self, value):
        self._check(value)
        value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a normal draw around zero with standard deviation `scale`."""
    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _batched = {}

    def __init__(self, scale: torch.Tensor | float, validate_args: bool | None = None):
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))
