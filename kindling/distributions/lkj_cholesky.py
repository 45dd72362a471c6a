"""The LKJ distribution of correlation matrices."""
import math

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.beta import Beta
from kindling.distributions.distribution import Distribution
from kindling.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices of size `dim` (Lewandowski, Kurowicka and Joe, 2009; onion method).

    Uniform over correlation matrices for a concentration of one.  ValueError for a size below two.
    """
    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _batched = {"concentration": 0, "_beta": 1}
    _kept = ("dim",)

    def __init__(self, dim: int, concentration: torch.Tensor | float = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # Row i of the factor begins with a point in the ball whose squared radius is beta distributed.
        offset = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = torch.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def sample(self, sample_shape=()):
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = torch.randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)     # the first row is empty: its norm was zero
        w = torch.sqrt(y) * direction
        diagonal = torch.clamp(1 - torch.sum(w ** 2, dim=-1), min=torch.finfo(w.dtype).tiny).sqrt()
        w += torch.diag_embed(diagonal)
        return w

    def log_prob(self, value):
        self._check(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = torch.sum(order * diagonal.log(), dim=-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        normalizer = (0.5 * less * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, less)
                      - torch.lgamma(alpha) * less)
        return unnormalized - normalizer
