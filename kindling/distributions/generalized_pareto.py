"""The generalised Pareto distribution."""
import math

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.distribution import Distribution
from kindling.distributions.utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution from `loc` on; the exponential one where `concentration` is zero."""
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _batched = {"loc": 0, "scale": 0, "concentration": 0}

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.loc, torch.where(self.concentration < 0,
                                                          self.loc - self.scale / self.concentration, math.inf))

    def rsample(self, sample_shape=()):
        return self.icdf(self._uniform(self._extended_shape(sample_shape), self.loc))

    def _split(self):
        """Where the concentration is zero, and the concentration with ones there: no division by zero, which would
        spoil gradients even of the branch not taken."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def log_prob(self, value):
        self._check(value)
        z = self._z(value)
        zero, safe = self._split()
        y = 1 / safe + torch.ones_like(z)
        elsewhere = torch.where(y == 0, y, y * torch.log1p(safe * z))
        return -self.scale.log() - torch.where(zero, z, elsewhere)

    def log_survival_function(self, value):
        """The logarithm of the probability of values beyond each value."""
        self._check(value)
        z = self._z(value)
        zero, safe = self._split()
        return torch.where(zero, -z, -torch.log1p(safe * z) / safe)

    def log_cdf(self, value):
        """The logarithm of `cdf`."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        zero, safe = self._split()
        logu = torch.log1p(-value)
        return torch.where(zero, self.loc - self.scale * logu,
                           self.loc + self.scale / safe * torch.expm1(-safe * logu))

    @property
    def mean(self):
        valid = self.concentration < 1
        safe = torch.where(valid, self.concentration, 0.5)
        return torch.where(valid, self.loc + self.scale / (1 - safe), math.nan)

    @property
    def variance(self):
        valid = self.concentration < 0.5
        safe = torch.where(valid, self.concentration, 0.25)
        return torch.where(valid, self.scale ** 2 / ((1 - safe) ** 2 * (1 - 2 * safe)), math.nan)

    mode = property(lambda self: self.loc)

    def entropy(self):
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)
