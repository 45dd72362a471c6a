"""The multinomial distribution."""
import math

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.binomial import Binomial
from kindling.distributions.categorical import Categorical
from kindling.distributions.one_hot_categorical import _OverCategorical
from kindling.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(_OverCategorical):
    """How often each index comes in `total_count` draws with `probs` (or `logits`).

    NotImplementedError for a `total_count` that is no number.
    """
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _batched = {"_categorical": 0}
    _kept = ("total_count",)

    def __init__(self, total_count: int = 1, probs: torch.Tensor | None = None, logits: torch.Tensor | None = None,
                 validate_args: bool | None = None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:],
                         validate_args=validate_args)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape=()):
        sample_shape = torch.Size(sample_shape)
        samples = self._categorical.sample(torch.Size((self.total_count,)) + sample_shape)
        samples = samples.permute(*range(1, samples.dim()), 0)
        counts = samples.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, samples, torch.ones_like(samples))
        return counts.type_as(self.probs)

    def entropy(self):
        count = torch.tensor(self.total_count)
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = torch.exp(self._binomial.log_prob(support)) * torch.lgamma(support + 1)
        return count * self._categorical.entropy() - torch.lgamma(count + 1) + weights.sum([0, -1])

    def log_prob(self, value):
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=torch.contiguous_format)
        logits[(value == 0) & (logits == -math.inf)] = 0
        return torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)
