"""The relaxed categorical distribution."""
import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.categorical import Categorical
from kindling.distributions.one_hot_categorical import _OverCategorical
from kindling.distributions.transformed_distribution import TransformedDistribution
from kindling.distributions.transforms import ExpTransform
from kindling.distributions.utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(_OverCategorical):
    """The logarithm of a relaxed one-hot draw (Maddison et al., 2016; Jang et al., 2016)."""
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector       # in fact on the surface of points whose exponentials sum to one
    has_rsample = True
    _batched = {"_categorical": 0}
    _kept = ("temperature",)

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:],
                         validate_args=validate_args)

    def rsample(self, sample_shape=()):
        u = clamp_probs(self._uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-(u.log())).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        count = self._categorical._num_events
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        log_scale = torch.full_like(self.temperature, float(count)).lgamma() - self.temperature.log().mul(-(count - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """Probabilities that come nearer to a one-hot draw the lower the `temperature`, and have gradients."""
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _batched = {}

    def __init__(self, temperature: torch.Tensor, probs: torch.Tensor | None = None, logits: torch.Tensor | None = None,
                 validate_args: bool | None = None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args),
                         ExpTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)
