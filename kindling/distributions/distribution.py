"""The base of all distributions."""
import warnings

import kindling as torch
from kindling.distributions import constraints
from kindling.distributions.utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Distribution"]


class Distribution:
    """A batch of distributions: shapes of batch and event, constraints on parameters, samples and densities.

    A subclass sets `arg_constraints` and `support` and defines the rest.  ValueError for parameters and values that
    violate their constraints, unless `validate_args=False`.
    """
    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    # How `expand` makes the new instance, for a subclass that says so: attributes that begin with the batch dimensions,
    # each with the number of its own dimensions after them, and attributes that stay as they are.
    _kept = ()

    @staticmethod
    def set_default_validate_args(value):
        """Says whether distributions check parameters and values by default."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: "torch.Size" = (), event_shape: "torch.Size" = (), validate_args: bool | None = None):
        self._batch_shape = torch.Size(batch_shape)
        self._event_shape = torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()      # of what else a class has for a base, such as nn.Module

    def _validate_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                          "initialize the distribution with `validate_args=False` to turn off validation.",
                          stacklevel=4)
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue    # computed from another parameter, which is checked
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                                 f"values:\n{value}")

    def expand(self, batch_shape, _instance=None):
        """The same distributions for a larger batch; parameters are expanded, not copied."""
        owner = next((cls for cls in type(self).__mro__ if "_batched" in vars(cls)), None)
        if owner is None:
            raise NotImplementedError
        new = self._get_checked_instance(owner, _instance)
        batch_shape = torch.Size(batch_shape)
        self._expand_into(new, owner, batch_shape)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_into(self, new, owner, batch_shape):
        for name, own_dims in owner._batched.items():
            value = self.__dict__.get(name)
            if value is None:
                continue    # a lazy property that nobody has asked for
            shape = value.batch_shape if isinstance(value, Distribution) else value.shape
            new.__dict__[name] = value.expand(batch_shape + shape[len(shape) - own_dims:])
        for name in owner._kept:
            new.__dict__[name] = self.__dict__[name]

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                                      "__init__ method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self):
        """The shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one sample."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """The constraints on the parameters, by name."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint on samples."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The mode."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Samples of shape sample_shape + batch_shape + event_shape, without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Samples of shape sample_shape + batch_shape + event_shape, differentiable in the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """`n` samples; deprecated."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density or probability of each value."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of values up to each value."""
        raise NotImplementedError

    def icdf(self, value):
        """The value up to which lies the given probability."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution, along a new first dimension."""
        raise NotImplementedError

    def entropy(self):
        """The entropy of each distribution in the batch."""
        raise NotImplementedError

    def perplexity(self):
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=()):
        return torch.Size(sample_shape) + self._batch_shape + self._event_shape

    def _uniform(self, shape, like, low=None, high=1):
        """Uniform draws in the dtype and on the device of a parameter."""
        if low is None:
            return torch.rand(shape, dtype=like.dtype, device=like.device)
        return torch.empty(shape, dtype=like.dtype, device=like.device).uniform_(low, high)

    def _full(self, value, like):
        return torch.full(self._extended_shape(), value, dtype=like.dtype, device=like.device)

    def _check(self, value):
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value):
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape = value.size()
        if shape[len(shape) - len(self._event_shape):] != self._event_shape:
            raise ValueError("The right-most size of value must match event_shape: "
                             f"{shape} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for have, want in zip(reversed(shape), reversed(expected)):
            if have != 1 and want != 1 and have != want:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize "
                          "the distribution with `validate_args=False` to turn off validation.", stacklevel=4)
            return
        if not support.check(value).all():
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within "
                             f"the support ({support!r}) of the distribution {self!r}, but found invalid values:\n"
                             f"{value}")

    def __repr__(self):
        shown = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if value is not None:
                shown.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return self.__class__.__name__ + "(" + ", ".join(shown) + ")"


class _ProbsOrLogits(Distribution):
    """A distribution given by probabilities or by log-odds; the other is computed when asked for."""
    _batched = {"probs": 0, "logits": 0, "_param": 0}
    _binary = True

    def _take(self, probs, logits, *others):
        """Keeps the one that was given, broadcast with `others`, and returns those.  ValueError unless it is one."""
        _check_one(probs, logits)
        *others, param = broadcast_all(*others, logits if probs is None else probs)
        self.__dict__["logits" if probs is None else "probs"] = self._param = param
        return others

    @lazy_property
    def logits(self):
        """The log-odds."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self):
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._param.size()

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    def _count_up(self, count, expand, dtype=None):
        """0, 1, ... below `count` along a new first dimension before the batch's."""
        values = torch.arange(count, dtype=dtype or self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values


def _check_one(probs, logits):
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
