"""Parametrised tests: a decorator hangs a function on the test, which gives for each set of values a test of its own.

That function, `test.parametrize_fn(test, generic_cls, device_cls)`, yields (test, suffix of its name, values by name, a function
from values to more decorators). Decorators compose by composing these functions.
"""
import functools
import inspect
import itertools

import kindling as torch


def dtype_name(dtype):
    """`float32` for torch.float32."""
    return str(dtype).split(".")[1]


class subtest:
    """One case of a parametrised test, with a name or decorators of its own."""

    __slots__ = ["arg_values", "name", "decorators"]

    def __init__(self, arg_values, name=None, decorators=None):
        self.arg_values = arg_values
        self.name = name
        self.decorators = decorators or []


def _no_decorators(values):
    return []


def compose_parametrize_fns(old_parametrize_fn, new_parametrize_fn):
    """The cases of both: for each case of the old one, those of the new one."""

    def composite_fn(test, generic_cls, device_cls, old_parametrize_fn=old_parametrize_fn, new_parametrize_fn=new_parametrize_fn):
        for old_test, old_name, old_values, old_decorators in list(old_parametrize_fn(test, generic_cls, device_cls)):
            for new_test, new_name, new_values, new_decorators in new_parametrize_fn(old_test, generic_cls, device_cls):
                twice = old_values.keys() & new_values.keys()
                if twice:
                    raise RuntimeError("Parametrization over the same parameter by multiple parametrization decorators is not supported. "
                                       f"For test \"{test.__name__}\", the following parameters are handled multiple times: {twice}")

                def decorators(values, old=old_decorators, new=new_decorators):
                    return [*old(values), *new(values)]

                name = f"{new_name}_{old_name}" if new_name and old_name else new_name or old_name
                yield new_test, name, {**old_values, **new_values}, decorators

    return composite_fn


class _TestParametrizer:
    """Base of decorators that turn one test into several; a subclass writes `_parametrize_test`."""

    def _parametrize_test(self, test, generic_cls, device_cls):
        raise NotImplementedError

    def __call__(self, fn):
        if hasattr(fn, "parametrize_fn"):
            fn.parametrize_fn = compose_parametrize_fns(fn.parametrize_fn, self._parametrize_test)
        else:
            fn.parametrize_fn = self._parametrize_test
        return fn


class parametrize(_TestParametrizer):
    """A test for each of the values: `@parametrize("x", [1, 2])`, `@parametrize("x,y", [(1, 2), (3, 4)])`.

    The names of the tests end in `_x_1`, `_x_2`; in `_x0`, `_x1` where the value is no number and no text. `name_fn` makes the
    ending of the values; a `subtest` brings its own. The class needs `instantiate_parametrized_tests` or
    `instantiate_device_type_tests` after it.

    >>> from torch.testing._internal.common_utils import TestCase, instantiate_parametrized_tests, parametrize
    >>> class TestFoo(TestCase):
    ...     @parametrize("x", [1, 2])
    ...     def test_bar(self, x): self.assertTrue(x > 0)
    >>> instantiate_parametrized_tests(TestFoo).test_bar_x_2.__name__
    'test_bar_x_2'
    """

    def __init__(self, arg_str, arg_values, name_fn=None):
        self.arg_names = [name.strip() for name in arg_str.split(",") if name.strip()]
        self.arg_values = arg_values
        self.name_fn = name_fn

    def _formatted_str_repr(self, idx, name, value):
        if isinstance(value, torch.dtype):
            return dtype_name(value)
        if isinstance(value, torch.device):
            return str(value)
        if type(value).__name__ in ("OpInfo", "ModuleInfo"):
            return value.formatted_name
        if isinstance(value, (int, float, str)):
            return f"{name}_{str(value).replace('.', '_')}"
        return f"{name}{idx}"

    def _default_subtest_name(self, idx, values):
        return "_".join(self._formatted_str_repr(idx, name, value) for name, value in zip(self.arg_names, values))

    def _get_subtest_name(self, idx, values, explicit_name=None):
        if explicit_name:
            return explicit_name
        return self.name_fn(*values) if self.name_fn else self._default_subtest_name(idx, values)

    def _parametrize_test(self, test, generic_cls, device_cls):
        if not self.arg_names:
            yield test, "", {}, _no_decorators
            return
        count = 0
        for count, values in enumerate(self.arg_values, 1):
            decorators, explicit = [], None
            if isinstance(values, subtest):
                decorators, explicit, values = values.decorators, values.name, values.arg_values
            values = list(values) if len(self.arg_names) > 1 else [values]
            if len(values) != len(self.arg_names):
                raise RuntimeError(f"Expected # values == # arg names, but got: {len(values)} values and {len(self.arg_names)} names for "
                                   f"test \"{test.__name__}\"")

            @functools.wraps(test)
            def case(*args, **kwargs):
                return test(*args, **kwargs)

            yield (case, self._get_subtest_name(count - 1, values, explicit), dict(zip(self.arg_names, values)),
                   lambda _, decorators=decorators: decorators)
        if not count:
            raise ValueError(f"{test}: An empty arg_values was passed to @parametrize. Note that this may result from reuse of a generator.")


class reparametrize(_TestParametrizer):
    """Another parametrizer's cases, each changed by `adapter_fn(test, values)`: None drops it, a list replaces it."""

    def __init__(self, parametrizer, adapter_fn):
        self.parametrizer = parametrizer
        self.adapter_fn = adapter_fn

    def _parametrize_test(self, test, generic_cls, device_cls):
        for case, name, values, decorators in self.parametrizer._parametrize_test(test, generic_cls, device_cls):
            more = self.adapter_fn(name, values)
            if more is None:
                continue
            for new_name, new_values in more:
                redundant = values.keys() & new_values.keys()
                if redundant:
                    raise RuntimeError("Parametrization over the same parameter by multiple parametrization decorators is not supported. For "
                                       f"test \"{test.__name__}\", the following parameters are handled multiple times: {redundant}")
                yield case, new_name, {**values, **new_values}, decorators


class decorateIf(_TestParametrizer):
    """Puts a decorator on those cases of a parametrised test whose values satisfy `predicate_fn(values)`."""

    def __init__(self, decorator, predicate_fn):
        self.decorator = decorator
        self.predicate_fn = predicate_fn

    def _parametrize_test(self, test, generic_cls, device_cls):
        @functools.wraps(test)
        def case(*args, **kwargs):
            return test(*args, **kwargs)

        yield case, "", {}, lambda values: [self.decorator] if self.predicate_fn(values) else []


def _with_values(test, values):
    """A test that gets the values as keyword arguments."""

    @functools.wraps(test)
    def case(self, *args, **kwargs):
        return test(self, *args, **values, **kwargs)

    return case


def instantiate_parametrized_tests(generic_cls):
    """Replaces the parametrised tests of a class by one test for each case."""
    for name in tuple(dir(generic_cls)):
        test = getattr(generic_cls, name)
        if not hasattr(test, "parametrize_fn"):
            continue
        if name in generic_cls.__dict__:
            delattr(generic_cls, name)
        else:
            setattr(generic_cls, name, None)    # inherited: hidden here only
        if inspect.ismethod(test):
            raise RuntimeError(f"Couldn't parametrize {name}: a class method is not supported")
        for case, suffix, values, decorators in test.parametrize_fn(test, generic_cls=generic_cls, device_cls=None):
            full = f"{test.__name__}_{suffix}"
            case = _with_values(case, values)
            for decorator in decorators(values):
                case = decorator(case)
            if full in generic_cls.__dict__:
                raise AssertionError(f"Redefinition of test {full}")
            case.__name__ = full
            setattr(generic_cls, full, case)
    return generic_cls


def first_sample(self, samples):
    """The first of the samples."""
    try:
        return next(iter(samples))
    except StopIteration as error:
        raise self.skipTest("Skipped! Need at least 1 sample input") from error


def iter_indices(tensor):
    """The indices of a tensor's elements: numbers for a vector, tuples otherwise."""
    if tensor.dim() == 0:
        return range(0)
    if tensor.dim() == 1:
        return range(tensor.size(0))
    return itertools.product(*(range(size) for size in tensor.size()))
