"""The categorical distribution."""
import math

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.distribution import _check_one, _ProbsOrLogits

__all__ = ["Categorical"]


class Categorical(_ProbsOrLogits):
    """Indices along the last dimension of `probs` (or `logits`), which are normalised.

    ValueError unless exactly one of them is given, with at least one dimension.
    """
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _batched = {"probs": 1, "logits": 1, "_param": 1}
    _kept = ("_num_events",)
    _binary = False

    def __init__(self, probs: torch.Tensor | None = None, logits: torch.Tensor | None = None, validate_args: bool | None = None):
        _check_one(probs, logits)
        if (logits if probs is None else probs).dim() < 1:
            raise ValueError(f"`{'logits' if probs is None else 'probs'}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = self._param = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = self._param = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    mean = variance = property(lambda self: self._full(math.nan, self.probs))
    mode = property(lambda self: self.probs.argmax(dim=-1))

    def sample(self, sample_shape=()):
        sample_shape = torch.Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        samples = torch.multinomial(rows, sample_shape.numel(), True).T
        return samples.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        self._check(value)
        value, log_pmf = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        # Minus infinity times a probability of zero shall be zero.
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._count_up(self._num_events, expand, torch.long)
