"""Random shapes and layouts of tensors for benchmarks. The draws are NumPy's, in PyTorch's order, so a seed gives the same tensors."""
import math

import kindling as torch

__all__ = ["Fuzzer", "FuzzedParameter", "ParameterAlias", "FuzzedTensor"]


class ParameterAlias:
    """Stands in a distribution for the value of another parameter."""

    def __init__(self, alias_to):
        self.alias_to = alias_to

    def __repr__(self):
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number drawn between two limits, both included ("uniform", or "loguniform"), or one of the keys of a dict with their probabilities.

    A strict one is drawn once for each set of tensors, and kept where a set is drawn again because it does not fit.
    """

    def __init__(self, name, minval=None, maxval=None, distribution=None, strict=False):
        if isinstance(distribution, dict):
            if any(each < 0 for each in distribution.values()):
                raise AssertionError("Probabilities cannot be negative")
            if abs(sum(distribution.values()) - 1) > 1e-5:
                raise AssertionError("Distribution is not normalized")
            for which, value in (("minval", minval), ("maxval", maxval)):
                if value is not None:
                    raise AssertionError(f"When passing a custom distribution, '{which}' must be None")
        elif distribution not in ("loguniform", "uniform"):
            raise AssertionError(f"Unknown distribution: {distribution}")
        self._name, self._minval, self._maxval, self._distribution, self.strict = name, minval, maxval, distribution, strict

    @property
    def name(self):
        return self._name

    def sample(self, state):
        """A value, drawn from a RandomState."""
        least, most = self._minval, self._maxval
        if isinstance(self._distribution, dict):
            return list(self._distribution)[state.choice(len(self._distribution), p=tuple(self._distribution.values()))]
        if self._distribution == "loguniform":
            return min(max(int(2 ** state.uniform(low=math.log2(least), high=math.log2(most))), least), most)
        if isinstance(least, int) and isinstance(most, int):
            return int(state.randint(low=least, high=most + 1))
        return state.uniform(low=least, high=most)


class FuzzedTensor:
    """A tensor whose sizes, and steps between its elements, are numbers or names of parameters; `dim_parameter` names that of how many count."""

    def __init__(self, name, size, steps=None, probability_contiguous=0.5, min_elements=None, max_elements=None, max_allocation_bytes=None,
                 dim_parameter=None, roll_parameter=None, dtype=torch.float32, cuda=False, tensor_constructor=None):
        self._name, self._size, self._steps, self._dtype, self._cuda = name, size, steps, dtype, cuda
        self._min_elements, self._max_elements, self._max_allocation_bytes = min_elements, max_elements, max_allocation_bytes
        self._probability_contiguous, self._dim_parameter, self._tensor_constructor = probability_contiguous, dim_parameter, tensor_constructor

    @property
    def name(self):
        return self._name

    @staticmethod
    def default_tensor_constructor(size, dtype, **kwargs):
        """Numbers below 1, or integers from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return torch.rand(size=size, dtype=dtype, device="cpu")
        return torch.randint(1, 127, size=size, dtype=dtype, device="cpu")

    def _get_size_and_steps(self, params):
        count = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def numbers(values):
            values = tuple(params.get(each, each) for each in values)[:count]
            return values + (1,) * (count - len(values))

        size, steps = numbers(self._size), numbers(self._steps or ())
        return size, steps, tuple(one * step for one, step in zip(size, steps))

    def _make_tensor(self, params, state):
        size, steps, whole = self._get_size_and_steps(params)
        made = (self._tensor_constructor or self.default_tensor_constructor)(size=whole, dtype=self._dtype, **params)
        if self._cuda:
            made = made.cuda()
        order = list(range(len(size)))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and order == sorted(order):
                order = state.permutation(made.dim()).tolist()
            made = made.permute(order).contiguous().permute([order.index(each) for each in range(len(order))])
        made = made[tuple(slice(0, one * step, step) for one, step in zip(size, steps))]
        return made, {"numel": made.numel(), "order": order, "steps": steps, "is_contiguous": made.is_contiguous(), "dtype": str(self._dtype)}

    def satisfies_constraints(self, params):
        """Whether the tensor is neither too small nor too large."""
        size, _, whole = self._get_size_and_steps(params)
        count, room = math.prod(size), math.prod(whole) * self._dtype.itemsize
        return ((self._max_elements is None or count <= self._max_elements) and (self._min_elements is None or count >= self._min_elements)
                and (self._max_allocation_bytes is None or room <= self._max_allocation_bytes))


def _flat(values, kind):
    return tuple(each for given in values for each in ([given] if isinstance(given, kind) else given))


class Fuzzer:
    """Draws sets of tensors: `take(n)` gives n times (tensors by name, what they are like by name, parameters by name).

    Needs NumPy. Sets that a constraint, called with the dict of parameters, or a tensor refuses are drawn again.
    """

    def __init__(self, parameters, tensors, constraints=None, seed=None):
        import numpy
        self._seed = int(numpy.random.RandomState().randint(0, 2 ** 32 - 1, dtype=numpy.int64)) if seed is None else seed
        self._parameters, self._tensors = _flat(parameters, FuzzedParameter), _flat(tensors, FuzzedTensor)
        self._constraints = constraints or ()
        twice = {each.name for each in self._parameters} & {each.name for each in self._tensors}
        if twice:
            raise ValueError(f"Duplicate names in parameters and tensors: {twice}")
        self._rejections = self._total_generated = 0

    @property
    def rejection_rate(self):
        """The part of the drawn sets that were refused."""
        return self._rejections / self._total_generated if self._total_generated else 0.0

    def take(self, n):
        """Seeds the default generator, and draws n sets."""
        import numpy
        state = numpy.random.RandomState(self._seed)
        torch.manual_seed(int(state.randint(low=0, high=2 ** 63, dtype=numpy.int64)))
        for _ in range(n):
            params = self._generate(state)
            made = {each.name: each._make_tensor(params, state) for each in self._tensors}
            yield {name: pair[0] for name, pair in made.items()}, {name: pair[1] for name, pair in made.items()}, params

    def _generate(self, state):
        kept = {}
        for _ in range(1000):
            drawn = {}
            for each in self._parameters:
                drawn[each.name] = kept[each.name] if each.name in kept else each.sample(state)
                if each.strict:
                    kept[each.name] = drawn[each.name]
            drawn = self._resolve_aliases(drawn)
            self._total_generated += 1
            if all(each(drawn) for each in self._constraints) and all(each.satisfies_constraints(drawn) for each in self._tensors):
                return drawn
            self._rejections += 1
        raise ValueError("Failed to generate a set of valid parameters.")

    @staticmethod
    def _resolve_aliases(params):
        params = dict(params)
        for _ in range(len(params)):
            aliases = {name: value.alias_to for name, value in params.items() if isinstance(value, ParameterAlias)}
            if not aliases:
                return params
            params.update((name, params[other]) for name, other in aliases.items())
        if any(isinstance(each, ParameterAlias) for each in params.values()):
            raise ValueError(f"ParameterAlias cycle detected\n{params}")
        return params
