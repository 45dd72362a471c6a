"""The test case of PyTorch's suites: assertEqual over everything, fixed seeds, checks of what a test leaves behind."""
import collections.abc
import contextlib
import enum
import gc
import inspect
import os
import random
import sys
import types
import unittest
import warnings

import kindling as torch
from kindling.testing import _comparison as _compare
from kindling.testing._internal import _environment as _env

try:
    from expecttest import TestCase as _Base
except ModuleNotFoundError:
    class _Base(unittest.TestCase):
        """Without the expecttest package: expected texts are compared, never written."""

        def assertExpectedInline(self, actual, expect, skip=0):
            self.assertMultiLineEqual(expect, actual)

try:
    import numpy as np
except ModuleNotFoundError:
    np = None

SEED = 1234


def set_rng_seed(seed=None):
    """Seeds torch, random and NumPy; with 1234 if there is no other seed."""
    seed = SEED if seed is None else seed
    torch.manual_seed(seed)
    random.seed(seed)
    if np is not None:
        np.random.seed(seed)


_Arrays = (torch.Tensor, np.ndarray) if np is not None else (torch.Tensor,)


def _single(value, id):
    """The element of a tensor or array of one, anything else as it is."""
    if not isinstance(value, _Arrays):
        return value
    count = value.numel() if isinstance(value, torch.Tensor) else value.size
    if count > 1:
        raise _compare.ErrorMeta(ValueError, "Only single element tensor-likes can be compared against a number. "
                                             f"Got {count} elements instead.", id=id)
    return value.item()


class RelaxedBooleanPair(_compare.BooleanPair):
    """A bool and a bool, a number, or a tensor of one element."""

    @property
    def _number_types(self):
        return (int, float, complex, np.number) if np is not None else (int, float, complex)

    def _process_inputs(self, actual, expected, *, id):
        booleans = super()._supported_types
        if not any(isinstance(value, booleans) and isinstance(other, (*booleans, *self._number_types, *_Arrays))
                   for value, other in ((actual, expected), (expected, actual))):
            self._inputs_not_supported()
        return tuple(bool(_single(value, id)) for value in (actual, expected))


class RelaxedNumberPair(_compare.NumberPair):
    """A number and a number, a tensor of one element, or an integer enumerator; tolerances are those of float32."""

    _TYPE_TO_DTYPE = {int: torch.int64, float: torch.float32, complex: torch.complex64}

    def __init__(self, actual, expected, *, rtol_override=0.0, atol_override=0.0, check_dtype=None, **other_parameters):
        super().__init__(actual, expected, check_dtype=False, **other_parameters)
        self.rtol = max(self.rtol, rtol_override)
        self.atol = max(self.atol, atol_override)

    def _process_inputs(self, actual, expected, *, id):
        numbers = super()._supported_types
        if not any(isinstance(value, numbers) and isinstance(other, (*numbers, *_Arrays, enum.IntEnum))
                   for value, other in ((actual, expected), (expected, actual))):
            self._inputs_not_supported()
        return tuple(self._to_number(value, id=id) for value in (actual, expected))

    def _to_number(self, number_like, *, id):
        number_like = _single(number_like, id)
        if isinstance(number_like, enum.IntEnum):
            return int(number_like)
        if isinstance(number_like, bool):
            return int(number_like)
        number = super()._to_number(number_like, id=id)
        return next((kind(number) for kind in self._TYPE_TO_DTYPE if isinstance(number, kind)), number)


class TensorOrArrayPair(_compare.TensorLikePair):
    """Tensors and arrays, of any class."""

    def __init__(self, actual, expected, *, rtol_override=0.0, atol_override=0.0, exact_is_coalesced=False, **other_parameters):
        super().__init__(actual, expected, **other_parameters)
        self.rtol = max(self.rtol, rtol_override)
        self.atol = max(self.atol, atol_override)
        self.exact_is_coalesced = exact_is_coalesced

    def _process_inputs(self, actual, expected, *, id, allow_subclasses):
        self._check_inputs_isinstance(actual, expected, cls=_Arrays)
        actual, expected = (self._to_tensor(value) for value in (actual, expected))
        for tensor in (actual, expected):
            self._check_supported(tensor, id=id)
        return actual, expected

    def _compare_attributes(self, actual, expected):
        super()._compare_attributes(actual, expected)
        if self.exact_is_coalesced and actual.layout == torch.sparse_coo and actual.is_coalesced() != expected.is_coalesced():
            self._fail(AssertionError, f"The values for attribute 'is_coalesced()' do not match: {actual.is_coalesced()} != "
                                       f"{expected.is_coalesced()}.")


class TypedStoragePair(_compare.TensorLikePair):
    """Two storages with a dtype, compared as vectors."""

    def __init__(self, actual, expected, *, rtol_override=0.0, atol_override=0.0, **other_parameters):
        self._check_inputs_isinstance(actual, expected, cls=torch.storage.TypedStorage)
        super().__init__(actual, expected, **other_parameters)
        self.rtol = max(self.rtol, rtol_override)
        self.atol = max(self.atol, atol_override)

    def _to_tensor(self, typed_storage):
        return torch.tensor([], dtype=typed_storage.dtype).set_(typed_storage._untyped_storage, 0, (len(typed_storage),))


class UnittestPair(_compare.Pair):
    """Base of pairs whose words are unittest's: CLS names the class of both inputs, TYPE_NAME what to call it."""

    CLS = None
    TYPE_NAME = None

    def __init__(self, actual, expected, **other_parameters):
        self._check_inputs_isinstance(actual, expected, cls=self.CLS)
        super().__init__(actual, expected, **other_parameters)

    def compare(self):
        case = unittest.TestCase()
        try:
            case.assertEqual(self.actual, self.expected)
        except case.failureException as error:
            name = self.TYPE_NAME or (self.CLS.__name__ if isinstance(self.CLS, type) else "Object")
            self._fail(AssertionError, f"{name.title()} comparison failed: {error}")


class StringPair(UnittestPair):
    CLS = (str,)
    TYPE_NAME = "string"


class SetPair(UnittestPair):
    CLS = (set,)
    TYPE_NAME = "set"


class TypePair(UnittestPair):
    CLS = (type,)
    TYPE_NAME = "type"


class ObjectPair(UnittestPair):
    CLS = (object,)
    TYPE_NAME = "object"


def _kinds(*names):
    """Classes of torch by path, those that are there."""
    found = []
    for name in names:
        value = torch
        for part in name.split("."):
            value = getattr(value, part, None)
        if isinstance(value, type):
            found.append(value)
    return tuple(found)


class AssertRaisesContextIgnoreNotImplementedError(unittest.case._AssertRaisesContext):
    """assertRaises' context; NotImplementedError skips the test instead."""

    def __exit__(self, exc_type, exc_value, tb):
        if exc_type is not None and issubclass(exc_type, NotImplementedError):
            self.test_case.skipTest(f"not_implemented: {exc_value}")
        return super().__exit__(exc_type, exc_value, tb)


@contextlib.contextmanager
def set_warn_always_context(new_val):
    """`torch.set_warn_always` for a while."""
    former = torch.is_warn_always_enabled()
    torch.set_warn_always(new_val)
    try:
        yield
    finally:
        torch.set_warn_always(former)


def _is_slow(test):
    return getattr(getattr(test, test._testMethodName), "slow_test", False)


def check_if_enable(test):
    """Skips a test that the environment does not ask for: slow ones, or all others."""
    if _is_slow(test):
        if not _env.TEST_WITH_SLOW:
            raise unittest.SkipTest("test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")
    elif _env.TEST_SKIP_FAST:
        raise unittest.SkipTest("test is fast; we disabled it with PYTORCH_TEST_SKIP_FAST")


class TestCase(_Base):
    """unittest's test case with PyTorch's comparisons.

    `precision` and `rel_tol` are lower bounds of the tolerances of assertEqual. Each test starts from seed 1234.

    >>> from torch.testing._internal.common_utils import TestCase
    >>> TestCase().assertEqual([torch.ones(2), 1.0], [torch.ones(2), 1.0])
    """

    __test__ = False
    _precision = 0
    _rel_tol = 0
    maxDiff = None
    _default_dtype_check_enabled = False
    _ignore_not_implemented_error = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def __init__(self, method_name="runTest", methodName="runTest"):
        # Under both names, unittest's own and the one of torch's.
        if methodName != "runTest":
            method_name = methodName
        super().__init__(method_name)

    @property
    def precision(self):
        return self._precision

    @precision.setter
    def precision(self, prec):
        self._precision = prec

    @property
    def rel_tol(self):
        return self._rel_tol

    @rel_tol.setter
    def rel_tol(self, prec):
        self._rel_tol = prec

    def setUp(self):
        check_if_enable(self)
        set_rng_seed()
        # Tests of warnings want to see each of them.
        self._former_warn_always = torch.is_warn_always_enabled()
        torch.set_warn_always(True)
        self._prev_torch_function_mode_stack_len = torch.overrides._len_torch_function_stack()
        if self._default_dtype_check_enabled and torch.get_default_dtype() != torch.float:
            raise AssertionError(f"Expected default dtype to be torch.float, got {torch.get_default_dtype()}")

    def tearDown(self):
        torch.set_warn_always(getattr(self, "_former_warn_always", False))
        before = getattr(self, "_prev_torch_function_mode_stack_len", 0)
        if torch.overrides._len_torch_function_stack() != before:
            while torch.overrides._len_torch_function_stack() > before:
                torch.overrides._pop_torch_function_stack()
            raise AssertionError(f"Test left a __torch_function__ mode on the stack: {self.id()}")
        if self._default_dtype_check_enabled and torch.get_default_dtype() != torch.float:
            raise AssertionError(f"Expected default dtype to be torch.float, got {torch.get_default_dtype()}")

    def _should_stop_test_suite(self):
        return False

    def run(self, result=None):
        if _env.PRINT_REPRO_ON_FAILURE and hasattr(BaseException, "add_note"):
            self._note_failures()
        super().run(result)
        if result is not None and self._should_stop_test_suite():
            result.stop()

    def _note_failures(self):
        """A failure says how to run the test again."""
        name = self._testMethodName
        method = getattr(self, name)

        def noted(*args, **kwargs):
            try:
                return method(*args, **kwargs)
            except unittest.SkipTest:
                raise
            except Exception as error:
                error.add_note(self._repro())
                raise

        if not getattr(method, "__unittest_expecting_failure__", False):
            noted.__dict__.update(getattr(method, "__dict__", {}))
            noted.__doc__ = method.__doc__
            # What the instance had before comes back: pytest lays its own method here and takes it away afterwards.
            own = self.__dict__.get(name)
            setattr(self, name, noted)
            self.addCleanup(*((self.__dict__.pop, name, None) if own is None else (self.__dict__.__setitem__, name, own)))

    def _repro(self):
        try:
            file = inspect.getfile(type(self))
        except (TypeError, OSError):
            file = "UNKNOWN"
        return (f"\nTo execute this test, run the following from the base repo dir:\n    {_env.TestEnvironment.repro_env_var_prefix()} python "
                f"{os.path.relpath(file) if os.path.isabs(file) else file} {type(self).__name__}.{self._testMethodName}\n\n"
                "This message can be suppressed by setting PYTORCH_PRINT_REPRO_ON_FAILURE=0").replace("     python", "    python")

    def assertEqual(self, x, y, msg=None, *, atol=None, rtol=None, equal_nan=True, exact_dtype=True, exact_device=False, exact_layout=False,
                    exact_stride=False, exact_is_coalesced=False):
        """Asserts that two values are equal: numbers, tensors and arrays to the tolerances of their dtypes, containers by element."""
        __tracebackhide__ = True
        # A tensor beside a list: the list means a tensor of the same dtype.
        if isinstance(x, torch.Tensor) and isinstance(y, collections.abc.Sequence) and not isinstance(y, str):
            y = torch.as_tensor(y, dtype=x.dtype, device=x.device)
        elif isinstance(x, collections.abc.Sequence) and not isinstance(x, str) and isinstance(y, torch.Tensor):
            x = torch.as_tensor(x, dtype=y.dtype, device=y.device)
        found = _compare.not_close_error_metas(
            x, y,
            pair_types=(_compare.NonePair, RelaxedBooleanPair, RelaxedNumberPair, TensorOrArrayPair, TypedStoragePair, StringPair, SetPair,
                        TypePair, ObjectPair),
            sequence_types=(collections.abc.Sequence, *_kinds("Size", "nn.Sequential", "nn.ModuleList", "nn.ParameterList", "ScriptList",
                                                              "utils.data.dataset.Subset")),
            mapping_types=(collections.abc.Mapping, *_kinds("nn.ModuleDict", "nn.ParameterDict", "ScriptDict")),
            rtol=rtol, rtol_override=self.rel_tol, atol=atol, atol_override=self.precision, equal_nan=equal_nan,
            check_device=exact_device, check_dtype=exact_dtype, check_layout=exact_layout, check_stride=exact_stride,
            exact_is_coalesced=exact_is_coalesced)
        if found:
            # As unittest: words of the caller come after the generated ones.
            raise found[0].to_error((lambda words: f"{words}\n{msg}") if isinstance(msg, str) and self.longMessage else msg)

    def assertNotEqual(self, x, y, msg=None, *, atol=None, rtol=None, **kwargs):
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(x, y, msg, atol=atol, rtol=rtol, **kwargs)

    def assertEqualIgnoreType(self, *args, **kwargs):
        return self.assertEqual(*args, exact_dtype=False, **kwargs)

    def assertEqualBroadcasting(self, x, y, *args, **kwargs):
        """`y` may be of a shape that broadcasts to `x`'s."""
        if not isinstance(y, torch.Tensor) and not isinstance(y, collections.abc.Iterable):
            y = torch.ones_like(x) * y
        if not isinstance(y, torch.Tensor):
            y = torch.ones_like(x) * torch.tensor(y)
        return self.assertEqual(x, y, *args, **kwargs)

    def assertEqualTypeString(self, x, y):
        self.assertEqual(x.device, y.device)
        self.assertEqual(x.dtype, y.dtype)
        self.assertEqual(x.is_sparse, y.is_sparse)

    def assertObjectIn(self, obj, iterable):
        """Identity, where assertIn asks for equality."""
        if not any(each is obj for each in iterable):
            raise AssertionError("object not found in iterable")

    def assertGreaterAlmostEqual(self, first, second, places=None, msg=None, delta=None):
        """`first >= second`, up to rounding in the last of `places` (7), or up to delta."""
        if delta is not None and places is not None:
            raise TypeError("specify delta or places not both")
        if first >= second:
            return
        difference = second - first
        if delta is not None:
            if difference <= delta:
                return
            standard = f"{first} not greater than or equal to {second} within {delta} delta"
        else:
            places = 7 if places is None else places
            if round(difference, places) == 0:
                return
            standard = f"{first} not greater than or equal to {second} within {places} places"
        raise self.failureException(self._formatMessage(msg, standard))

    def assertRaises(self, expected_exception, *args, **kwargs):
        if not self._ignore_not_implemented_error:
            return super().assertRaises(expected_exception, *args, **kwargs)
        context = AssertRaisesContextIgnoreNotImplementedError(expected_exception, self)
        return context.handle("assertRaises", args, kwargs)

    def assertRaisesRegex(self, expected_exception, expected_regex, *args, **kwargs):
        if not self._ignore_not_implemented_error:
            return super().assertRaisesRegex(expected_exception, expected_regex, *args, **kwargs)
        context = AssertRaisesContextIgnoreNotImplementedError(expected_exception, self, expected_regex)
        return context.handle("assertRaisesRegex", args, kwargs)

    def assertNoUnraisable(self, callable, *args, **kwargs):
        """Calls, and raises what went unraised meanwhile (exceptions of finalisers)."""
        raised = []
        former, sys.unraisablehook = sys.unraisablehook, raised.append
        try:
            gc.collect()
            callable(*args, **kwargs)
            gc.collect()
        finally:
            sys.unraisablehook = former
        self.assertEqual(len(raised), 0, f"unraisable exception: {raised[0].exc_value!r}" if raised else "")

    def assertNotWarn(self, callable, msg=""):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            callable()
            self.assertTrue(len(seen) == 0, msg)

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category, regex=""):
        """A warning of a category, raised once within."""
        import re

        pattern = re.compile(regex)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield
        if not seen:
            self.fail("no warning caught")
        self.assertTrue(any(type(each.message) is category for each in seen))
        self.assertTrue(any(pattern.match(str(each.message)) for each in seen),
                        f"{pattern.pattern}, {[each.message for each in seen if type(each.message) is category]}")

    def assertExpected(self, s, subname=None):
        """Compares with the text in expect/, beside the file of the test; `EXPECTTEST_ACCEPT=1` writes it."""
        if not isinstance(s, str):
            raise TypeError("assertExpected is strings only")
        parts = self.id().split(".")
        file = os.path.realpath(sys.modules[type(self).__module__].__file__)
        path = os.path.join(os.path.dirname(file), "expect", ".".join(parts[-2:]) + (f"-{subname}" if subname else "") + ".expect")
        if os.environ.get("EXPECTTEST_ACCEPT"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as out:
                out.write(s)
            return
        try:
            with open(path, encoding="utf-8") as text:
                expected = text.read()
        except FileNotFoundError:
            raise RuntimeError(f"I got this output for {self.id()}:\n\n{s}\n\nNo expect file exists; to accept the output, run: "
                               "EXPECTTEST_ACCEPT=1") from None
        self.assertMultiLineEqual(expected, s)

    def assertExpectedRaises(self, exc_type, callable, *args, **kwargs):
        subname = kwargs.pop("subname", None)
        try:
            callable(*args, **kwargs)
        except exc_type as error:
            self.assertExpected(str(error), subname)
            return
        self.fail(msg="Did not raise when expected to")

    def compare_with_numpy(self, torch_fn, np_fn, tensor_like, device=None, dtype=None, **kwargs):
        """Two functions, one on a tensor and one on the array with the same numbers, give the same."""
        if isinstance(tensor_like, torch.Tensor):
            array, tensor = tensor_like.detach().cpu(), tensor_like
            array = (array.float() if array.dtype == torch.bfloat16 else array).numpy()     # NumPy has no bfloat16
        else:
            array = np.array(tensor_like, dtype=torch.empty(0, dtype=dtype).numpy().dtype)
            tensor = torch.tensor(tensor_like, device=device, dtype=dtype)
        expected, actual = np_fn(array), torch_fn(tensor)
        if isinstance(expected, np.ndarray):
            try:
                expected = torch.from_numpy(expected)
            except (ValueError, TypeError):
                expected = torch.from_numpy(expected.copy())
            actual = actual.cpu()
            if tensor.dtype == actual.dtype == torch.bfloat16:
                actual = actual.float()
        self.assertEqual(actual, expected, **kwargs)

    def compare_with_reference(self, torch_fn, ref_fn, sample_input, **kwargs):
        """A function and its reference on NumPy, over one sample of inputs."""
        numpy_sample = sample_input.numpy()
        actual = torch_fn(sample_input.input, *sample_input.args, **sample_input.kwargs)
        expected = ref_fn(numpy_sample.input, *numpy_sample.args, **numpy_sample.kwargs)
        self.assertEqual(actual, expected, exact_device=False, **kwargs)

    def check_nondeterministic_alert(self, fn, caller_name, should_alert=True):
        """`fn` raises about missing determinism exactly if deterministic algorithms are on and `should_alert`."""
        import re

        message = r"^" + re.escape(caller_name) + r" does not have a deterministic implementation, but you set"
        former = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
        try:
            torch.use_deterministic_algorithms(True)
            if should_alert:
                with self.assertRaisesRegex(RuntimeError, message):
                    fn()
            else:
                fn()
        finally:
            torch.use_deterministic_algorithms(former[0], warn_only=former[1])

    def safeToDense(self, t):
        """A dense copy; a coalesced one first where that is needed."""
        return t.coalesce().to_dense() if t.layout == torch.sparse_coo else t.to_dense()

    def genSparseTensor(self, size, sparse_dim, nnz, is_uncoalesced, device, dtype):
        """A random sparse COO tensor, its indices and its values; uncoalesced with each index twice."""
        size = [size] * sparse_dim if isinstance(size, int) else list(size)
        if not all(size[:sparse_dim]) and nnz:
            raise AssertionError("invalid arguments")
        values = torch.testing.make_tensor([nnz, *size[sparse_dim:]], device=device, dtype=dtype, low=-1, high=1)
        indices = (torch.rand(sparse_dim, nnz, device=device) * torch.tensor(size[:sparse_dim]).unsqueeze(1).to(device)).to(torch.long)
        if is_uncoalesced:
            values = torch.cat([values, torch.randn_like(values)], 0)
            indices = torch.cat([indices, indices], 1)
        sparse = torch.sparse_coo_tensor(indices, values, torch.Size(size), dtype=dtype, device=device)
        if not is_uncoalesced:
            sparse = sparse.coalesce()
        return sparse, sparse._indices().clone(), sparse._values().clone()

    @staticmethod
    def run_process_no_exception(code, env=None):
        """Runs Python code in a process of its own: its output and its errors."""
        import subprocess

        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        return process.communicate()

    @staticmethod
    def runWithPytorchAPIUsageStderr(code):
        env = {**os.environ, "PYTORCH_API_USAGE_STDERR": "1"}
        env.pop("CI", None)
        env.pop("TEST_SHOWLOCALS", None)
        return TestCase.run_process_no_exception(code, env=env)[1].decode("ascii")

    # There is no compiler's cache and no device memory to look at.
    def assertLeaksNoCudaTensors(self, name=None):
        return contextlib.nullcontext()

    def enforceNonDefaultStream(self):
        return contextlib.nullcontext()

    def compile_fn(self, fn, backend, nopython):
        return torch.compile(fn, backend=backend, fullgraph=nopython)

    def wrap_with_policy(self, method_name, policy):
        setattr(self, method_name, self.wrap_method_with_policy(getattr(self, method_name), policy))

    def wrap_method_with_policy(self, method, policy):
        def wrapper(self, *args, **kwargs):
            with policy():
                method(*args, **kwargs)

        return types.MethodType(wrapper, self)


class TestCaseBase(TestCase):
    """The base of test cases of plug-ins."""


class NoTest:
    """In place of a test case that shall not run."""

    __test__ = False
