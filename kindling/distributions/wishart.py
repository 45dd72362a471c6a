"""The Wishart distribution."""
import math
import warnings

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.chi2 import Chi2
from kindling.distributions.exp_family import ExponentialFamily
from kindling.distributions.multivariate_normal import _precision_to_scale_tril
from kindling.distributions.utils import _Number, lazy_property

__all__ = ["Wishart"]

_log_2 = math.log(2)


def _mvdigamma(x, p):
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return torch.digamma(x.unsqueeze(-1) - torch.arange(p, dtype=x.dtype, device=x.device).div(2).expand(
        x.shape + (-1,))).sum(-1)


class Wishart(ExponentialFamily):
    """Positive definite matrices: sums of `df` outer products of normal vectors with the given covariance.

    The covariance is given by itself, by its inverse or by its lower Cholesky factor: AssertionError unless exactly
    one.  ValueError for `df` too small.  Singular draws are drawn again, with a warning.
    """
    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = {"df": 0, "_unbroadcasted_scale_tril": 2, "covariance_matrix": 2, "scale_tril": 2,
                "precision_matrix": 2}

    def __init__(self, df: torch.Tensor | int | float | bool, covariance_matrix: torch.Tensor | None = None,
                 precision_matrix: torch.Tensor | None = None, scale_tril: torch.Tensor | None = None, validate_args: bool | None = None):
        given = {name: value for name, value in (("covariance_matrix", covariance_matrix),
                                                 ("precision_matrix", precision_matrix), ("scale_tril", scale_tril))
                 if value is not None}
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, _Number):
            batch_shape = torch.Size(matrix.shape[:-2])
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        if self.df.lt(event_shape[-1]).any():
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < "
                          "ndim.", stacklevel=2)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._dist_chi2 = self._chi2(batch_shape)

    def _chi2(self, batch_shape):
        factor = self._unbroadcasted_scale_tril
        places = torch.arange(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return Chi2(df=self.df.unsqueeze(-1) - places.expand(batch_shape + (-1,)))

    def _expand_into(self, new, owner, batch_shape):
        super()._expand_into(new, owner, batch_shape)
        new._event_shape = self._event_shape
        new._dist_chi2 = new._chi2(batch_shape)

    @property
    def arg_constraints(self):
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    @property
    def _batch_dims(self):
        return [-(index + 1) for index in range(len(self._batch_shape))]

    def _expanded(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance matrix."""
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance matrix of the normal vectors."""
        return self._expanded(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.transpose(-2, -1))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance matrix."""
        factor = self._unbroadcasted_scale_tril
        identity = torch.eye(self._event_shape[-1], device=factor.device, dtype=factor.dtype)
        return self._expanded(torch.cholesky_solve(identity, factor))

    def _per_matrix(self, value):
        return value.view(self._batch_shape + (1, 1))

    mean = property(lambda self: self._per_matrix(self.df) * self.covariance_matrix)

    @property
    def mode(self):
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor[factor <= 0] = math.nan
        return self._per_matrix(factor) * self.covariance_matrix

    @property
    def variance(self):
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self._per_matrix(self.df) * (V.pow(2) + torch.einsum("...i,...j->...ij", diagonal, diagonal))

    def _bartlett_sampling(self, sample_shape=()):
        p = self._event_shape[-1]
        # The decomposition of Bartlett: chi-distributed diagonal, normal below.
        diagonal = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = diagonal.clamp(min=torch.finfo(diagonal.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        i, j = torch.tril_indices(p, p, offset=-1)
        noise[..., i, j] = torch.randn(torch.Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,),
                                       dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def _over_batch(self, checked):
        return checked.amax(self._batch_dims) if self._batch_shape else checked

    def rsample(self, sample_shape=(), max_try_correction=None):
        """Samples, differentiable in the parameters; singular ones are drawn again `max_try_correction` times (10)."""
        tries = 10 if max_try_correction is None else max_try_correction
        sample = self._bartlett_sampling(torch.Size(sample_shape))
        # As torch does it: what passes the first check is drawn again.
        again = self._over_batch(self.support.check(sample))
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(tries):
                new = self._bartlett_sampling(again[again].shape)
                sample[again] = new
                again[again.clone()] = self._over_batch(~self.support.check(new))
                if not again.any():
                    break
        return sample

    def log_prob(self, value):
        self._check(value)
        nu, p = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        return (-nu * (p * _log_2 / 2 + factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)) - torch.mvlgamma(nu / 2, p=p)
                + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
                - torch.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2)

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return ((p + 1) * (p * _log_2 / 2 + log_det) + torch.mvlgamma(nu / 2, p=p)
                - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p) + nu * p / 2)

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        return ((y + (p + 1) / 2) * (-torch.linalg.slogdet(-2 * x).logabsdet + _log_2 * p)
                + torch.mvlgamma(y + (p + 1) / 2, p=p))
