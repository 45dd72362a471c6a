"""Mixtures of one kind of distribution."""
import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.categorical import Categorical
from kindling.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: `mixture_distribution`, a Categorical, chooses among the last batch dimension of
    `component_distribution`.

    ValueError for other classes, and for shapes that do not fit.
    """
    arg_constraints = {}
    has_rsample = False
    _batched = {"_component_distribution": 1, "_mixture_distribution": 0}
    _kept = ("_num_component", "_event_ndims")

    def __init__(self, mixture_distribution, component_distribution, validate_args: bool | None = None):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixed, batch_shape = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for one, other in zip(reversed(mixed), reversed(batch_shape)):
            if one != 1 and other != 1 and one != other:
                raise ValueError(f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                                 f"`component_distribution.batch_shape`({batch_shape})")
        count, have = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != have:
            raise ValueError(f"`mixture_distribution component` ({count}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({have})")
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch_shape, component_distribution.event_shape, validate_args=validate_args)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _weights(self):
        """The probabilities, with dimensions for batch and event."""
        probs = self.mixture_distribution.probs
        mixed = len(self.mixture_distribution.batch_shape)
        missing = 0 if mixed == 1 else len(self.batch_shape) - mixed
        return probs.reshape(probs.shape[:-1] + torch.Size(missing * [1]) + probs.shape[-1:]
                             + torch.Size(self._event_ndims * [1]))

    def _mixed(self, values):
        return torch.sum(self._weights() * values, dim=-1 - self._event_ndims)

    mean = property(lambda self: self._mixed(self.component_distribution.mean))

    @property
    def variance(self):
        # Of the components, and of their means around the mixture's.
        return (self._mixed(self.component_distribution.variance)
                + self._mixed((self.component_distribution.mean - self._pad(self.mean)).pow(2.0)))

    def cdf(self, x):
        return torch.sum(self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x):
        self._check(x)
        log_mix = torch.log_softmax(self.mixture_distribution.logits, dim=-1)
        return torch.logsumexp(self.component_distribution.log_prob(self._pad(x)) + log_mix, dim=-1)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + torch.Size([1] * (self._event_ndims + 1)))
            index = index.repeat(torch.Size([1] * len(chosen.shape)) + torch.Size([1]) + self.event_shape)
            return torch.gather(samples, dim, index).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
