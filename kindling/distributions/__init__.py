"""Probability distributions: samples, densities, entropies, divergences.  Files load on first use of a name."""
import kindling as _kindling

_FILES = {
    "Bernoulli": "bernoulli", "Beta": "beta", "Binomial": "binomial", "Categorical": "categorical", "Cauchy": "cauchy",
    "Chi2": "chi2", "ContinuousBernoulli": "continuous_bernoulli", "Dirichlet": "dirichlet",
    "Distribution": "distribution", "Exponential": "exponential", "ExponentialFamily": "exp_family",
    "FisherSnedecor": "fishersnedecor", "Gamma": "gamma", "GeneralizedPareto": "generalized_pareto",
    "Geometric": "geometric", "Gumbel": "gumbel", "HalfCauchy": "half_cauchy", "HalfNormal": "half_normal",
    "Independent": "independent", "InverseGamma": "inverse_gamma", "Kumaraswamy": "kumaraswamy",
    "LKJCholesky": "lkj_cholesky", "Laplace": "laplace", "LogNormal": "log_normal", "LogisticNormal": "logistic_normal",
    "LowRankMultivariateNormal": "lowrank_multivariate_normal", "MixtureSameFamily": "mixture_same_family",
    "Multinomial": "multinomial", "MultivariateNormal": "multivariate_normal",
    "NegativeBinomial": "negative_binomial", "Normal": "normal", "OneHotCategorical": "one_hot_categorical",
    "OneHotCategoricalStraightThrough": "one_hot_categorical", "Pareto": "pareto",
    "RelaxedBernoulli": "relaxed_bernoulli", "RelaxedOneHotCategorical": "relaxed_categorical",
    "StudentT": "studentT", "Poisson": "poisson", "Uniform": "uniform", "VonMises": "von_mises", "Weibull": "weibull",
    "Wishart": "wishart", "TransformedDistribution": "transformed_distribution",
    "biject_to": "constraint_registry", "transform_to": "constraint_registry",
    "kl_divergence": "kl", "register_kl": "kl",
    **dict.fromkeys((
        "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
        "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
        "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftplusTransform",
        "TanhTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform", "Transform",
        "identity_transform"), "transforms"),
}
_SUBMODULES = {*_FILES.values(), "constraints", "utils"}

__all__ = list(_FILES)

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _FILES, _SUBMODULES)
