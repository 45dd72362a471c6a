"""The Kumaraswamy distribution."""
import math

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.transformed_distribution import TransformedDistribution
from kindling.distributions.transforms import AffineTransform, PowerTransform
from kindling.distributions.uniform import Uniform
from kindling.distributions.utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def _moments(a, b, n):
    start = 1 + n / a
    return b * torch.exp(torch.lgamma(start) + torch.lgamma(b) - torch.lgamma(start + b))


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution: like a beta distribution, with a closed distribution function."""
    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _batched = {"concentration1": 0, "concentration0": 0}

    def __init__(self, concentration1: torch.Tensor | float, concentration0: torch.Tensor | float, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(torch.full_like(self.concentration0, 0), torch.full_like(self.concentration0, 1),
                       validate_args=validate_args)
        super().__init__(base, [PowerTransform(exponent=self.concentration0.reciprocal()),
                                AffineTransform(loc=1.0, scale=-1.0),
                                PowerTransform(exponent=self.concentration1.reciprocal())],
                         validate_args=validate_args)

    mean = property(lambda self: _moments(self.concentration1, self.concentration0, 1))
    variance = property(lambda self: _moments(self.concentration1, self.concentration0, 2) - torch.pow(self.mean, 2))

    @property
    def mode(self):
        log_mode = (self.concentration0.reciprocal() * (-self.concentration0).log1p()
                    - (-self.concentration0 * self.concentration1).log1p())
        log_mode[(self.concentration0 < 1) | (self.concentration1 < 1)] = math.nan
        return log_mode.exp()

    def entropy(self):
        t1 = 1 - self.concentration1.reciprocal()
        t0 = 1 - self.concentration0.reciprocal()
        harmonic = torch.digamma(self.concentration0 + 1) + euler_constant
        return t0 + t1 * harmonic - torch.log(self.concentration1) - torch.log(self.concentration0)
