"""The multivariate normal distribution."""
import math

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.distribution import Distribution
from kindling.distributions.utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat, bvec):
    """Matrices times vectors, with batch dimensions."""
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL, bx):
    """The squared norm of inverse(bL) @ bx; each batch dimension of bL divides the one of bx, which is not expanded."""
    n = bx.size(-1)
    batch = bx.shape[:-1]
    outer = len(batch) - (bL.dim() - 2)
    inner = bL.dim() - 2
    # Each shared dimension is split into (repeats, dimension of bL); the repeats go to the front.
    shape = list(batch[:outer])
    for size, whole in zip(bL.shape[:-2], batch[outer:]):
        shape += [whole // size, size]
    bx = bx.reshape(*shape, n)
    order = [*range(outer), *range(outer, outer + 2 * inner, 2), *range(outer + 1, outer + 2 * inner, 2),
             outer + 2 * inner]
    bx = bx.permute(order)
    flat_L = bL.reshape(-1, n, n)
    flat_x = bx.reshape(-1, flat_L.size(0), n).permute(1, 2, 0)
    squares = torch.linalg.solve_triangular(flat_L, flat_x, upper=False).pow(2).sum(-2).t().reshape(bx.shape[:-1])
    back = list(range(outer))
    for index in range(inner):
        back += [outer + index, outer + inner + index]
    return squares.permute(back).reshape(batch)


def _precision_to_scale_tril(P):
    """The lower Cholesky factor of the inverse, by the factor of the matrix read backwards."""
    factor = torch.linalg.cholesky(torch.flip(P, (-2, -1)))
    inverse = torch.transpose(torch.flip(factor, (-2, -1)), -2, -1)
    identity = torch.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return torch.linalg.solve_triangular(inverse, identity, upper=False)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors with mean `loc` and a covariance matrix, given by itself, by its inverse or by
    its lower Cholesky factor `scale_tril`.

    ValueError unless exactly one of them is given, and for shapes that do not fit.
    """
    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _batched = {"loc": 1, "covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2}
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(self, loc: torch.Tensor, covariance_matrix: torch.Tensor | None = None, precision_matrix: torch.Tensor | None = None,
                 scale_tril: torch.Tensor | None = None, validate_args: bool | None = None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {name: value for name, value in (("covariance_matrix", covariance_matrix), ("scale_tril", scale_tril),
                                                 ("precision_matrix", precision_matrix)) if value is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name}{' matrix' if name == 'scale_tril' else ''} must be at least two-dimensional, "
                             "with optional leading batch dimensions")
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def _expanded(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance matrix."""
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance matrix."""
        return self._expanded(torch.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance matrix."""
        return self._expanded(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        self._check(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self):
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
