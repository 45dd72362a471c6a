"""Kullback-Leibler divergences between pairs of distributions."""
import math
import warnings

import kindling as torch
from kindling.distributions.bernoulli import Bernoulli
from kindling.distributions.beta import Beta
from kindling.distributions.binomial import Binomial
from kindling.distributions.categorical import Categorical
from kindling.distributions.cauchy import Cauchy
from kindling.distributions.continuous_bernoulli import ContinuousBernoulli
from kindling.distributions.dirichlet import Dirichlet
from kindling.distributions.exp_family import ExponentialFamily
from kindling.distributions.exponential import Exponential
from kindling.distributions.gamma import Gamma
from kindling.distributions.geometric import Geometric
from kindling.distributions.gumbel import Gumbel
from kindling.distributions.half_normal import HalfNormal
from kindling.distributions.independent import Independent
from kindling.distributions.laplace import Laplace
from kindling.distributions.lowrank_multivariate_normal import (LowRankMultivariateNormal, _batch_lowrank_logdet,
                                                                _batch_lowrank_mahalanobis)
from kindling.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from kindling.distributions.normal import Normal
from kindling.distributions.one_hot_categorical import OneHotCategorical
from kindling.distributions.pareto import Pareto
from kindling.distributions.poisson import Poisson
from kindling.distributions.transformed_distribution import TransformedDistribution
from kindling.distributions.uniform import Uniform
from kindling.distributions.utils import _sum_rightmost
from kindling.distributions.utils import euler_constant as _euler

__all__ = ["register_kl", "kl_divergence"]

_KL_REGISTRY = {}   # (class of p, class of q) -> function
_KL_MEMOIZE = {}    # the same for subclasses that were asked for


def register_kl(type_p, type_q):
    """Decorates a function of (p, q) that gives the divergence between two classes and their subclasses.

        >>> @register_kl(Normal, Normal)
        ... def kl_normal_normal(p, q): ...
    """
    for name, each in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(each, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {each}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun
    return decorator


def _nearer(one, other):
    """Whether a pair of classes is nearer than another: the first decides, the second if the first is the same."""
    for mine, theirs in zip(one, other):
        if not issubclass(mine, theirs):
            return False
        if mine is not theirs:
            return True
    return True


def _nearest(pairs):
    best = pairs[0]
    for pair in pairs[1:]:
        if _nearer(pair, best):
            best = pair
    return best


def _dispatch_kl(type_p, type_q):
    """The function for the nearest registered pair of classes, or NotImplemented; warns if two are equally near."""
    matches = [(super_p, super_q) for super_p, super_q in _KL_REGISTRY
               if issubclass(type_p, super_p) and issubclass(type_q, super_q)]
    if not matches:
        return NotImplemented
    left_p, left_q = _nearest(matches)
    right_q, right_p = _nearest([(q, p) for p, q in matches])
    function = _KL_REGISTRY[left_p, left_q]
    if function is not _KL_REGISTRY[right_p, right_q]:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl("
                      f"{left_p.__name__}, {right_q.__name__})", RuntimeWarning, stacklevel=3)
    return function


def kl_divergence(p, q):
    """The divergence KL(p || q), for each distribution in the batch.  NotImplementedError for a pair without formula.
    """
    kinds = type(p), type(q)
    function = _KL_MEMOIZE.get(kinds)
    if function is None:
        function = _KL_MEMOIZE[kinds] = _dispatch_kl(*kinds)
    if function is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
                                  f"{q.__class__.__name__}")
    return function(p, q)


def _infinite_like(tensor):
    return torch.full_like(tensor, math.inf)


def _x_log_x(tensor):
    return torch.special.xlogy(tensor, tensor)


def _trace_of_squares(matrices):
    """trace(X @ X.T) for each X."""
    return matrices.reshape(-1, matrices.size(-2) * matrices.size(-1)).pow(2).sum(-1).reshape(matrices.shape[:-2])


# ---- pairs of one kind

@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    softplus = torch.nn.functional.softplus
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1[q.probs == 0] = math.inf
    t1[p.probs == 0] = 0
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    t2[q.probs == 1] = math.inf
    t2[p.probs == 1] = 0
    return t1 + t2


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    sum_p, sum_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma()
    t3 = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    t4 = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    t5 = (sum_q - sum_p) * torch.digamma(sum_p)
    return t1 - t2 + t3 + t4 + t5


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    result = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    result[p.total_count > q.total_count] = math.inf
    return result


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t[(q.probs == 0).expand_as(t)] = math.inf
    t[(p.probs == 0).expand_as(t)] = 0
    return t.sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    return (p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + torch.log1p(-p.probs)
            - q._cont_bern_log_norm() - torch.log1p(-q.probs))


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    sum_p, sum_q = p.concentration.sum(-1), q.concentration.sum(-1)
    t1 = sum_p.lgamma() - sum_q.lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t3 = p.concentration - q.concentration
    t4 = p.concentration.digamma() - sum_p.digamma().unsqueeze(-1)
    return t1 - t2 + (t3 * t4).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    if type(p) is not type(q):
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed "
                                  "using Bregman divergences")
    params = [param.detach().requires_grad_() for param in p._natural_params]
    normalizer = p._log_normalizer(*params)
    gradients = torch.autograd.grad(normalizer.sum(), params, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for mine, theirs, gradient in zip(params, q._natural_params, gradients):
        result = result - _sum_rightmost((theirs - mine) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    t3 = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    t4 = (q.rate - p.rate) * (p.concentration / p.rate)
    return t1 + t2 + t3 + t4


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio, loc_q, loc_p = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    t1 = -ratio.log() - loc_q + loc_p
    t2 = ratio * _euler
    t3 = torch.exp(loc_q + (1 + ratio).lgamma() - loc_p)
    return t1 + t2 + t3 - (1 + _euler)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


def _same_events(p, q, what):
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {what}s with different event shapes cannot be computed")


def _log_diagonal(factor):
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _low_rank_parts(dist):
    return dist._unbroadcasted_cov_factor, dist._unbroadcasted_cov_diag


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrank_lowrank(p, q):
    _same_events(p, q, "Low Rank Multivariate Normal")
    (p_factor, p_diag), (q_factor, q_diag) = _low_rank_parts(p), _low_rank_parts(q)
    term1 = (_batch_lowrank_logdet(q_factor, q_diag, q._capacitance_tril)
             - _batch_lowrank_logdet(p_factor, p_diag, p._capacitance_tril))
    term3 = _batch_lowrank_mahalanobis(q_factor, q_diag, q.loc - p.loc, q._capacitance_tril)
    # trace(inv(Wq Wq' + Dq) (Wp Wp' + Dp)), the inverse by the Woodbury identity as inv(Dq) - A' A
    A = torch.linalg.solve_triangular(q._capacitance_tril, q_factor.mT / q_diag.unsqueeze(-2), upper=False)
    term2 = ((p_diag / q_diag).sum(-1) + _trace_of_squares(p_factor * q_diag.rsqrt().unsqueeze(-1))
             - _trace_of_squares(A * p_diag.sqrt().unsqueeze(-2)) - _trace_of_squares(A.matmul(p_factor)))
    return 0.5 * (term1 + term2 + term3 - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrank(p, q):
    _same_events(p, q, "(Low Rank) Multivariate Normal")
    q_factor, q_diag = _low_rank_parts(q)
    term1 = (_batch_lowrank_logdet(q_factor, q_diag, q._capacitance_tril)
             - 2 * _log_diagonal(p._unbroadcasted_scale_tril))
    term3 = _batch_lowrank_mahalanobis(q_factor, q_diag, q.loc - p.loc, q._capacitance_tril)
    A = torch.linalg.solve_triangular(q._capacitance_tril, q_factor.mT / q_diag.unsqueeze(-2), upper=False)
    term2 = (_trace_of_squares(p._unbroadcasted_scale_tril * q_diag.rsqrt().unsqueeze(-1))
             - _trace_of_squares(A.matmul(p._unbroadcasted_scale_tril)))
    return 0.5 * (term1 + term2 + term3 - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrank_multivariatenormal(p, q):
    _same_events(p, q, "(Low Rank) Multivariate Normal")
    p_factor, p_diag = _low_rank_parts(p)
    q_tril = q._unbroadcasted_scale_tril
    term1 = 2 * _log_diagonal(q_tril) - _batch_lowrank_logdet(p_factor, p_diag, p._capacitance_tril)
    term3 = _batch_mahalanobis(q_tril, q.loc - p.loc)
    batch, n = torch.broadcast_shapes(q_tril.shape[:-2], p_factor.shape[:-2]), p.event_shape[0]
    q_tril = q_tril.expand(batch + (n, n))
    term2 = sum(_trace_of_squares(torch.linalg.solve_triangular(q_tril, part, upper=False)) for part in (
        p_factor.expand(batch + (n, p.cov_factor.size(-1))), torch.diag_embed(p_diag.sqrt()).expand(batch + (n, n))))
    return 0.5 * (term1 + term2 + term3 - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    _same_events(p, q, "Multivariate Normal")
    p_tril, q_tril = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    half_term1 = _log_diagonal(q_tril) - _log_diagonal(p_tril)
    batch, n = torch.broadcast_shapes(q_tril.shape[:-2], p_tril.shape[:-2]), p.event_shape[0]
    term2 = _trace_of_squares(torch.linalg.solve_triangular(q_tril.expand(batch + (n, n)),
                                                            p_tril.expand(batch + (n, n)), upper=False))
    term3 = _batch_mahalanobis(q_tril, q.loc - p.loc)
    return half_term1 + 0.5 * (term2 + term3 - n)


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    result[p.support.lower_bound < q.support.lower_bound] = math.inf
    return result


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = math.inf
    return result


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    # Chyzak and Nielsen, 2019
    return (((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log())


# ---- pairs of different kinds

def _infinite(type_p, *types_q, like):
    """Where p has values that q does not: infinite."""
    for type_q in types_q:
        register_kl(type_p, type_q)(lambda p, q: _infinite_like(getattr(p, like)))


_infinite(Beta, Pareto, like="concentration1")
_infinite(ContinuousBernoulli, Pareto, like="probs")
_infinite(Exponential, Beta, ContinuousBernoulli, Pareto, Uniform, like="rate")
_infinite(Gamma, Beta, ContinuousBernoulli, Pareto, Uniform, like="concentration")
_infinite(Gumbel, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform, like="loc")
_infinite(Laplace, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform, like="loc")
_infinite(Normal, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform, like="loc")
_infinite(Pareto, Beta, ContinuousBernoulli, Uniform, like="scale")
_infinite(Poisson, Bernoulli, Binomial, like="rate")


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p, q):
    t2 = q.concentration.lgamma() - q.concentration * q.rate.log()
    t3 = (q.concentration - 1) * (p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma())
    t4 = q.rate * p.concentration1 / (p.concentration1 + p.concentration0)
    return -p.entropy() + t2 - t3 + t4


@register_kl(Beta, Normal)
def _kl_beta_normal(p, q):
    mean, variance = p.mean, q.scale.pow(2)
    t2 = 0.5 * (variance * 2 * math.pi).log()
    t3 = (mean * (1 - mean) / (p.concentration1 + p.concentration0 + 1) + mean.pow(2)) * 0.5
    return -p.entropy() + t2 + (t3 - q.loc * mean + q.loc.pow(2) * 0.5) / variance


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    result[(q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)] = math.inf
    return result


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p, q):
    return -p.entropy() - torch.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p, q):
    t2 = 0.5 * (math.log(2.0 * math.pi) + torch.square(q.loc / q.scale)) + torch.log(q.scale)
    t3 = (p.variance + torch.square(p.mean) - 2.0 * q.loc * p.mean) / (2.0 * torch.square(q.scale))
    return -p.entropy() + t2 + t3


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    outside = (q.low >= p.support.lower_bound) | (q.high <= p.support.upper_bound)
    return torch.where(outside, torch.ones_like(result) * math.inf, result)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    ratio = q.rate / p.rate
    t1 = -q.concentration * torch.log(ratio)
    return t1 + ratio + q.concentration.lgamma() + q.concentration * _euler - (1 + _euler)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    product, ratio = p.rate * q.scale, q.loc / q.scale
    t1 = product.log() - 1
    t2 = torch.exp(ratio) * product / (product + 1)
    return t1 - ratio + t2 + product.reciprocal()


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p, q):
    variance, square = q.scale.pow(2), p.rate.pow(2)
    t1 = 0.5 * torch.log(square * variance * 2 * math.pi)
    return t1 - 1 + (square.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5) / variance


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    product, ratio = p.rate * q.scale, q.loc / q.scale
    t1 = (p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration
    t2 = product.log() + p.concentration / product
    t3 = torch.exp(ratio) * (1 + product.reciprocal()).pow(-p.concentration) - ratio
    return t1 + t2 + t3


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p, q):
    variance, square = q.scale.pow(2), p.rate.pow(2)
    t1 = 0.5 * torch.log(square * variance * 2 * math.pi) - p.concentration - p.concentration.lgamma()
    t2 = 0.5 * (p.concentration.pow(2) + p.concentration) / square
    t3 = q.loc * p.concentration / p.rate
    return t1 + (p.concentration - 1) * p.concentration.digamma() + (t2 - t3 + 0.5 * q.loc.pow(2)) / variance


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p, q):
    ratio = p.scale / q.scale
    t1 = (ratio / math.sqrt(2 * math.pi)).log()
    t2 = (math.pi * ratio * 0.5).pow(2) / 3
    t3 = ((p.loc + p.scale * _euler - q.loc) / q.scale).pow(2) * 0.5
    return -t1 + t2 + t3 - (_euler + 1)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p, q):
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    t1 = 0.5 * torch.log(2 * ratio / math.pi)
    return -t1 + ratio + (0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)) / variance - 1


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    mean, ratio, loc = p.loc / q.scale, (p.scale / q.scale).pow(2), q.loc / q.scale
    t3 = torch.exp(-mean + 0.5 * ratio + loc)
    return -(ratio.log() * 0.5) + (mean - loc) + t3 - (0.5 * (1 + math.log(2 * math.pi)))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    difference = p.loc - q.loc
    relative = difference / p.scale
    t2 = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * relative.pow(2))
    t3 = difference * torch.erf(math.sqrt(0.5) * relative)
    return -torch.log(p.scale / q.scale) + (t2 + t3) / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    product = p.scale * q.rate
    result = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    result[p.alpha <= 1] = math.inf
    return result


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    common = p.scale.log() + p.alpha.reciprocal()
    t2 = q.concentration.lgamma() - q.concentration * q.rate.log()
    t4 = q.rate * p.alpha * p.scale / (p.alpha - 1)
    result = (p.alpha.log() - common) + t2 + (1 - q.concentration) * common + t4 - 1
    result[p.alpha <= 1] = math.inf
    return result


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    common = p.scale / (p.alpha - 1)
    t1 = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log()
    t3 = p.alpha * common.pow(2) / (p.alpha - 2)
    t4 = (p.alpha * common - q.loc).pow(2)
    result = t1 - p.alpha.reciprocal() + (t3 + t4) / (2 * q.scale.pow(2)) - 1
    result[p.alpha <= 2] = math.inf
    return result


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    width = p.high - p.low
    t2 = (q.concentration1 - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    t3 = (q.concentration0 - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    t4 = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    result = t3 + t4 - torch.log(width) - t2
    result[(p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)] = math.inf
    return result


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    result = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()
    outside = (p.high >= q.support.upper_bound) | (p.low <= q.support.lower_bound)
    return torch.where(outside, torch.ones_like(result) * math.inf, result)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p, q):
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    result[p.low < q.support.lower_bound] = math.inf
    return result


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    width = p.high - p.low
    t2 = q.concentration.lgamma() - q.concentration * q.rate.log()
    t3 = (1 - q.concentration) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = -width.log() + t2 + t3 + q.rate * (p.high + p.low) / 2
    result[p.low < q.support.lower_bound] = math.inf
    return result


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    common = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return common.log() + 0.5 * (high + low) - common * (torch.exp(-high) - torch.exp(-low))


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    width = p.high - p.low
    t1 = (math.sqrt(math.pi * 2) * q.scale / width).log()
    t3 = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return t1 + 0.5 * (width.pow(2) / 12 + t3) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    width = p.high - p.low
    t1 = (q.alpha * q.scale.pow(q.alpha) * width).log()
    t2 = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = t2 * (q.alpha + 1) - t1
    result[p.low < q.support.lower_bound] = math.inf
    return result
