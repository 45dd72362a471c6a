"""Student's t-distribution."""
import math

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.chi2 import Chi2
from kindling.distributions.distribution import Distribution
from kindling.distributions.utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distribution with `df` degrees of freedom, moved to `loc` and stretched by `scale`."""
    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = {"df": 0, "loc": 0, "scale": 0, "_chi2": 0}

    def __init__(self, df: torch.Tensor | float, loc: torch.Tensor | float = 0.0, scale: torch.Tensor | float = 1.0,
                 validate_args: bool | None = None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    mode = property(lambda self: self.loc)

    @property
    def mean(self):
        mean = self.loc.clone(memory_format=torch.contiguous_format)
        mean[self.df <= 1] = math.nan
        return mean

    @property
    def variance(self):
        variance = self.df.clone(memory_format=torch.contiguous_format)
        finite = self.df > 2
        variance[finite] = self.scale[finite].pow(2) * self.df[finite] / (self.df[finite] - 2)
        variance[(self.df <= 2) & (self.df > 1)] = math.inf
        variance[self.df <= 1] = math.nan
        return variance

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        x = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * torch.rsqrt(z / self.df))

    def log_prob(self, value):
        self._check(value)
        y = (value - self.loc) / self.scale
        normalizer = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
                      + torch.lgamma(0.5 * self.df) - torch.lgamma(0.5 * (self.df + 1.0)))
        return -0.5 * (self.df + 1.0) * torch.log1p(y ** 2.0 / self.df) - normalizer

    def entropy(self):
        half, half_next = 0.5 * self.df, 0.5 * (self.df + 1)
        lbeta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(half_next)
        return (self.scale.log() + half_next * (torch.digamma(half_next) - torch.digamma(half))
                + 0.5 * self.df.log() + lbeta)
