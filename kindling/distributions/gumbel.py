"""The Gumbel distribution."""
import math

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.transformed_distribution import TransformedDistribution
from kindling.distributions.transforms import AffineTransform, ExpTransform
from kindling.distributions.uniform import Uniform
from kindling.distributions.utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The Gumbel distribution at `loc` with the given scale."""
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _batched = {"loc": 0, "scale": 0}

    def __init__(self, loc: torch.Tensor | float, scale: torch.Tensor | float, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        finfo = torch.finfo(self.loc.dtype)
        base = Uniform(torch.full_like(self.loc, finfo.tiny), torch.full_like(self.loc, 1 - finfo.eps),
                       validate_args=validate_args)
        # loc - scale * log(-log(u))
        super().__init__(base, [ExpTransform().inv, AffineTransform(loc=0, scale=-torch.ones_like(self.scale)),
                                ExpTransform().inv, AffineTransform(loc=loc, scale=-self.scale)],
                         validate_args=validate_args)

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def log_prob(self, value):
        self._check(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)
