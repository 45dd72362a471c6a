"""The half-Cauchy distribution."""
import math

from kindling.distributions import constraints
from kindling.distributions.cauchy import Cauchy
from kindling.distributions.half_normal import _Half

__all__ = ["HalfCauchy"]


class HalfCauchy(_Half):
    """The absolute value of a Cauchy draw around zero of width `scale`."""
    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _batched = {}

    def __init__(self, scale, validate_args: bool | None = None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: self._full(math.inf, self.scale))
    variance = property(lambda self: self.base_dist.variance)
