"""What test suites share: `TestCase`, parametrised tests, flags, skips, random matrices, contexts for global settings."""
import argparse
import collections
import contextlib
import enum
import functools
import gc
import inspect
import io
import math
import os
import random
import socket
import sys
import tempfile
import threading
import time
import types
import unittest
import warnings

import kindling as torch
from kindling.testing import make_tensor as make_tensor
from kindling.testing._comparison import (  # noqa: F401
    BooleanPair, NonePair, NumberPair, Pair, TensorLikePair, not_close_error_metas)
from kindling.testing._internal import _case, _environment, _matrices, _parametrize, _skips
from kindling.testing._utils import freeze_rng_state as freeze_rng_state

for _part in (_environment, _skips, _parametrize, _matrices, _case):
    globals().update({_name: _value for _name, _value in vars(_part).items()
                      if not _name.startswith("__") and not isinstance(_value, types.ModuleType)})
del _part

from kindling.testing._internal._case import SEED as SEED  # noqa: E402  named here, so that readers and linters see them
from kindling.testing._internal._case import TestCase as TestCase  # noqa: E402
from kindling.testing._internal._case import set_rng_seed as set_rng_seed  # noqa: E402
from kindling.testing._internal._environment import TEST_NUMPY  # noqa: E402
from kindling.testing._internal._parametrize import _TestParametrizer, dtype_name  # noqa: E402, F401

UNITTEST_ARGS = [sys.argv[0]]
DEFAULT_DISABLED_TESTS_FILE = ".pytorch-disabled-tests.json"
DEFAULT_SLOW_TESTS_FILE = "slow_tests.json"
disabled_tests_dict = {}
slow_tests_dict = {}
running_script_path = None
dtype2prec_DONTUSE = {torch.float: 1e-5, torch.double: 1e-5, torch.half: 1e-2, torch.bfloat16: 1e-1}

if TEST_NUMPY:
    import numpy as np

    torch_to_numpy_dtype_dict = {
        torch.bool: np.bool_, torch.uint8: np.uint8, torch.uint16: np.uint16, torch.uint32: np.uint32, torch.uint64: np.uint64,
        torch.int8: np.int8, torch.int16: np.int16, torch.int32: np.int32, torch.int64: np.int64, torch.float16: np.float16,
        torch.float32: np.float32, torch.float64: np.float64, torch.bfloat16: np.float32, torch.complex32: np.complex64,
        torch.complex64: np.complex64, torch.complex128: np.complex128}
    numpy_to_torch_dtype_dict = {value: key for key, value in torch_to_numpy_dtype_dict.items()
                                 if key not in (torch.bfloat16, torch.complex32)}
else:
    torch_to_numpy_dtype_dict = numpy_to_torch_dtype_dict = {}


def numpy_to_torch_dtype(np_dtype):
    """The dtype of a NumPy dtype or scalar class."""
    try:
        return numpy_to_torch_dtype_dict[np_dtype]
    except KeyError:
        return numpy_to_torch_dtype_dict[np_dtype.type]


def has_corresponding_torch_dtype(np_dtype):
    try:
        numpy_to_torch_dtype(np_dtype)
    except (KeyError, AttributeError):
        return False
    return True


# How a file of tests is run.


def parse_cmd_line_args():
    """Reads our options from the command line; the others are unittest's."""
    global UNITTEST_ARGS
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=int(os.getenv("PYTORCH_TEST_SEED", SEED)))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--discover-tests", action="store_true")
    parser.add_argument("--subprocess", action="store_true")
    parser.add_argument("--run-parallel", type=int, default=1)
    parser.add_argument("--save-xml", nargs="?", type=str, const="test-reports", default="")
    parser.add_argument("--log-suffix", type=str, default="")
    for option in ("--accept", "--rerun-disabled-tests", "--use-pytest", "--showlocals", "--no-showlocals"):
        parser.add_argument(option, action="store_true")
    for option in ("--import-slow-tests", "--import-disabled-tests"):
        parser.add_argument(option, nargs="?", type=str, const="")
    args, rest = parser.parse_known_args()
    _case.SEED = globals()["SEED"] = args.seed
    UNITTEST_ARGS = [sys.argv[0], *rest]
    set_rng_seed(args.seed)
    return args


def set_running_script_path():
    global running_script_path
    path = os.path.abspath(sys.argv[0])
    if path.endswith(".py"):
        running_script_path = path


def discover_test_cases_recursively(suite_or_case):
    """The test cases of a suite and the suites in it."""
    if isinstance(suite_or_case, unittest.TestCase):
        return [suite_or_case]
    return [case for each in suite_or_case for case in discover_test_cases_recursively(each)]


def get_test_names(test_cases):
    return [".".join(case.id().split(".")[-2:]) for case in test_cases]


def run_tests(argv=None):
    """Runs the tests of the file: `unittest.main`, with `--seed`, `--repeat`, `--discover-tests` and `--save-xml` read first."""
    args = parse_cmd_line_args()
    argv = UNITTEST_ARGS if argv is None else argv
    set_running_script_path()
    if args.discover_tests:
        print("\n".join(get_test_names(discover_test_cases_recursively(unittest.TestLoader().loadTestsFromModule(sys.modules["__main__"])))))
        return
    for _ in range(args.repeat - 1):
        if not unittest.main(exit=False, argv=argv).result.wasSuccessful():
            sys.exit(-1)
    unittest.main(argv=argv)


def load_tests(loader, tests, pattern):
    """unittest's hook of a file: all of its tests, named files or none."""
    suite = unittest.TestSuite()
    for group in tests:
        for test in group:
            suite.addTest(test)
    return suite


def raise_on_run_directly(file_to_call):
    raise RuntimeError("This test file is not meant to be run directly, "
                       f"use:\n\n\tpython {file_to_call} TESTNAME\n\ninstead.")


def extract_test_fn():
    """The test that is running, found on the stack."""
    frame = inspect.currentframe()
    while frame is not None:
        case = frame.f_locals.get("self")
        if isinstance(case, unittest.TestCase):
            return getattr(case, case.id().split(".")[-1], None)
        frame = frame.f_back
    return None


# Global settings for a while.


@contextlib.contextmanager
def set_default_dtype(dtype):
    """Another default dtype, for a while.

    >>> from torch.testing._internal.common_utils import set_default_dtype
    >>> with set_default_dtype(torch.float64):
    ...     torch.ones(1).dtype
    torch.float64
    """
    former = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(former)


@contextlib.contextmanager
def set_default_tensor_type(tensor_type):
    former = torch.tensor([]).type()
    torch.set_default_tensor_type(tensor_type)
    try:
        yield
    finally:
        torch.set_default_tensor_type(former)


class DeterministicGuard:
    """Deterministic algorithms on or off, for a while."""

    def __init__(self, deterministic, *, warn_only=False, fill_uninitialized_memory=True):
        self.wanted = (deterministic, warn_only, fill_uninitialized_memory)

    @classmethod
    def _current_state(cls):
        return cls(torch.are_deterministic_algorithms_enabled(), warn_only=torch.is_deterministic_algorithms_warn_only_enabled(),
                   fill_uninitialized_memory=torch.utils.deterministic.fill_uninitialized_memory)

    def _update(self):
        torch.use_deterministic_algorithms(self.wanted[0], warn_only=self.wanted[1])
        torch.utils.deterministic.fill_uninitialized_memory = self.wanted[2]

    def __enter__(self):
        self._restore = self._current_state()
        self._update()

    def __exit__(self, exception_type, exception_value, traceback):
        self._restore._update()


def wrapDeterministicFlagAPITest(fn):
    """A test that may change whether algorithms are deterministic."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        with DeterministicGuard(torch.are_deterministic_algorithms_enabled(), warn_only=torch.is_deterministic_algorithms_warn_only_enabled()):
            return fn(*args, **kwargs)

    return wrapper


class CudaSyncGuard:
    """Nothing to synchronise."""

    def __init__(self, sync_debug_mode):
        self.mode = sync_debug_mode

    def __enter__(self):
        return self

    def __exit__(self, exception_type, exception_value, traceback):
        pass


@contextlib.contextmanager
def disable_gc():
    """Without garbage collection, for a while."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@contextlib.contextmanager
def set_cwd(path):
    former = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(former)


@contextlib.contextmanager
def TemporaryFileName(*args, **kwargs):
    """The name of a new file, which is removed afterwards."""
    with tempfile.NamedTemporaryFile(*args, **{**kwargs, "delete": False}) as file:
        pass
    try:
        yield file.name
    finally:
        if os.path.exists(file.name):
            os.unlink(file.name)


@contextlib.contextmanager
def TemporaryDirectoryName(suffix=None):
    with tempfile.TemporaryDirectory(suffix=suffix) as folder:
        yield folder


class BytesIOContext(io.BytesIO):
    """Bytes in memory that stay open when a with statement ends."""

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass


@contextlib.contextmanager
def with_ieee_matmul_precision(*args, **kwargs):
    """Products are of full precision."""
    yield


# Gradients.


def gradcheck(fn, inputs, **kwargs):
    """`torch.autograd.gradcheck`, in its fast mode unless the environment asks for the slow one."""
    kwargs.setdefault("fast_mode", not _environment.TEST_WITH_SLOW_GRADCHECK)
    return torch.autograd.gradcheck(fn, inputs, **kwargs)


def gradgradcheck(fn, inputs, grad_outputs=None, **kwargs):
    """`torch.autograd.gradgradcheck`, in its fast mode unless the environment asks for the slow one."""
    kwargs.setdefault("fast_mode", not _environment.TEST_WITH_SLOW_GRADCHECK)
    return torch.autograd.gradgradcheck(fn, inputs, grad_outputs, **kwargs)


def _assertGradAndGradgradChecks(test_case, apply_fn, inputs, **kwargs):
    test_case.assertTrue(gradcheck(apply_fn, inputs, **kwargs))
    test_case.assertTrue(gradgradcheck(apply_fn, inputs, **kwargs))


def outs_and_grads(fn, graph_inps, inps):
    """The results of a call, and the gradients of their sum by each input that wants one."""
    outs = fn(*graph_inps)
    for out in torch.utils._pytree.tree_leaves(outs):
        if isinstance(out, torch.Tensor) and out.requires_grad:
            out.sum().backward(retain_graph=True)
    grads = [each.grad for each in torch.utils._pytree.tree_leaves(inps) if isinstance(each, torch.Tensor)]
    for each in torch.utils._pytree.tree_leaves(inps):
        if isinstance(each, torch.Tensor):
            each.grad = None
    return outs, grads


def compare_equal_outs_and_grads(test, m1, m2, inps):
    one, other = outs_and_grads(m1, inps, inps), outs_and_grads(m2, inps, inps)
    test.assertEqual(one[0], other[0])
    test.assertEqual(one[1], other[1])


# Tensors.


def noncontiguous_like(t):
    """A copy that is not contiguous, if it is of more than one element."""
    if not t.is_contiguous():
        return t
    wide = t.new_empty((*t.shape, 2)) if t.dtype.is_complex or t.dtype.is_floating_point else torch.empty(
        (*t.shape, 2), dtype=t.dtype, device=t.device)
    wide.zero_()
    result = wide[..., 0]
    with torch.no_grad():
        result.copy_(t.detach())
    return result.requires_grad_(t.requires_grad)


def clone_input_helper(input):
    """Copies of tensors, in containers too."""
    if isinstance(input, torch.Tensor):
        return torch.clone(input)
    return tuple(map(clone_input_helper, input)) if isinstance(input, collections.abc.Sequence) else input


def is_iterable(obj):
    try:
        iter(obj)
        return True
    except TypeError:
        return False


def is_iterable_of_tensors(iterable, include_empty=False):
    """Whether it is an iterable (no tensor) of tensors only."""
    if isinstance(iterable, torch.Tensor):
        return False
    try:
        items = list(iterable)
    except TypeError:
        return False
    return all(isinstance(item, torch.Tensor) for item in items) if items else include_empty


def get_tensors_from(args, kwargs):
    """The set of all tensors among arguments."""
    return {value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)}


def bytes_to_scalar(byte_list, dtype, device):
    """A scalar tensor of a dtype from its bytes."""
    return torch.tensor(byte_list, dtype=torch.uint8).view(dtype)[0].to(device)


def is_coalesced_indices(s):
    """Whether the indices of a sparse COO tensor are distinct and in order."""
    indices = s._indices()
    if indices.numel() == 0 or indices.size(1) <= 1:
        return True
    flat = torch.zeros(indices.size(1), dtype=torch.int64)
    for row, size in zip(indices, s.shape):
        flat = flat * size + row
    return bool((flat[1:] > flat[:-1]).all())


def random_sparse_matrix(rows, columns, density=0.01, **kwargs):
    """A sparse COO matrix with about that density, each row and column touched."""
    count = max(int(rows * columns * density), 1)
    indices = torch.tensor([[place % rows for place in range(count)], [place % columns for place in range(count)]])
    values = torch.randn(count, dtype=kwargs.get("dtype", torch.double), device=kwargs.get("device", "cpu"))
    return torch.sparse_coo_tensor(indices, values, (rows, columns)).coalesce()


def random_sparse_pd_matrix(matrix_size, density=0.01, **kwargs):
    """A sparse symmetric matrix with the eigenvalues 1/n, 2/n, ..., 1, turned in random planes until it is dense enough."""
    dtype, device = kwargs.get("dtype", torch.double), kwargs.get("device", "cpu")
    dense = torch.diag(torch.arange(1, matrix_size + 1, dtype=dtype) / matrix_size)
    for _ in range(100 * matrix_size):
        if int((dense != 0).sum()) >= density * matrix_size * matrix_size:
            break
        i, j = random.sample(range(matrix_size), 2) if matrix_size > 1 else (0, 0)
        if i == j:
            break
        angle = random.uniform(0, 2 * math.pi)
        turn = torch.eye(matrix_size, dtype=dtype)
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[i, j], turn[j, i] = math.sin(angle), -math.sin(angle)
        dense = turn @ dense @ turn.T
    return dense.to(device).to_sparse()


def do_test_dtypes(self, dtypes, layout, device):
    for dtype in dtypes:
        if dtype != torch.float16:
            out = torch.zeros((2, 3), dtype=dtype, layout=layout, device=device)
            self.assertIs(dtype, out.dtype)
            self.assertIs(layout, out.layout)
            self.assertEqual(device, out.device)


def do_test_empty_full(self, dtypes, layout, device):
    """Fresh tensors of each dtype, and filled ones, are what was asked for."""
    def check(value, dtype, wanted_layout, wanted_device, number, requires_grad):
        self.assertEqual(torch.Size([2, 3]), value.shape)
        self.assertIs(dtype, value.dtype)
        self.assertIs(wanted_layout, value.layout)
        self.assertEqual(value.requires_grad, requires_grad)
        if wanted_device is not None:
            self.assertEqual(torch.device(wanted_device), value.device)
        if number is not None:
            self.assertEqual(torch.empty((2, 3), dtype=dtype, device=device).fill_(number), value)

    for dtype in dtypes:
        for requires_grad in ([False, True] if dtype.is_floating_point else [False]):
            options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
            check(torch.empty((2, 3), **options), dtype, layout, device, None, requires_grad)
            check(torch.full((2, 3), 3, **options), dtype, layout, device, 3, requires_grad)
            fresh = torch.empty((2, 3), **options)
            check(fresh.new_empty((2, 3)), dtype, layout, device, None, False)
            check(torch.full_like(fresh, 4), dtype, layout, device, 4, False)


# Small things.


class swap(_TestParametrizer):
    """A parametrizer over values of a switch."""

    def __init__(self, swap_values):
        self.swap_values = swap_values

    def _parametrize_test(self, test, generic_cls, device_cls):
        for value in self.swap_values:
            yield test, f"swap_{value}", {}, lambda values: []


@contextlib.contextmanager
def settings(*args, **kwargs):
    """Hypothesis's settings, as far as a context may have them: none."""
    yield


@contextlib.contextmanager
def print_repro_on_failure(repro_parts):
    """An error within says how to run the test again."""
    try:
        yield
    except unittest.SkipTest:
        raise
    except Exception as error:
        if hasattr(error, "add_note"):
            error.add_note("\n".join(["", "To execute this test, run the following from the base repo dir:", f"    {' '.join(repro_parts)}"]))
        raise


class AlwaysWarnTypedStorageRemoval:
    """Each use of a storage with a dtype warns, or the first one, for a while."""

    def __init__(self, always_warn):
        if not isinstance(always_warn, bool):
            raise AssertionError(f"Expected always_warn to be bool, got {type(always_warn)}")
        self.always_warn = always_warn

    def __enter__(self):
        self._restore = set_warn_always_context(self.always_warn)    # noqa: F821  from _case
        self._restore.__enter__()

    def __exit__(self, exception_type, exception_value, traceback):
        self._restore.__exit__(exception_type, exception_value, traceback)


class ProfilingMode(enum.Enum):
    """How scripts are executed; there is one way."""

    LEGACY = 1
    SIMPLE = 2
    PROFILING = 3


@contextlib.contextmanager
def enable_profiling_mode_for_profiling_tests():
    yield


@contextlib.contextmanager
def num_profiled_runs(num_runs):
    yield


def cppProfilingFlagsToProfilingMode():
    return ProfilingMode.PROFILING


class NestedTensorTestCase(TestCase):
    """A test case for nested tensors."""

    def assertEqualIgnoringNestedInts(self, a, b):
        """Equal shapes, ragged sizes aside."""
        def plain(sizes):
            return [size if isinstance(size, int) else "ragged" for size in sizes]

        self.assertEqual(plain(a), plain(b))

    def assertEqualNoncontigAware(self, a, b):
        self.assertEqual(len(a.unbind()), len(b.unbind()))
        for one, other in zip(a.unbind(), b.unbind()):
            self.assertEqual(one, other)


class TrackedInput:
    """A value of an iterator, with its place and what it is called."""

    def __init__(self, index, val, type_desc):
        self.index, self.val, self.type_desc = index, val, type_desc


def clear_tracked_input():
    pass


def get_tracked_input():
    return None


def mock_wrapper(method):
    """The method, with a mock (`.mock`) that sees its calls."""
    from unittest.mock import MagicMock

    mock = MagicMock()

    @functools.wraps(method)
    def wrapper(self, *args, **kwargs):
        mock(*args, **kwargs)
        return method(self, *args, **kwargs)

    wrapper.mock = mock
    return wrapper


def make_lazy_class(cls):
    """A class whose objects are made at their first use, by a function given to it."""

    class Lazy(_environment.LazyVal):
        def __init__(self, cb):
            super().__init__(cb)

    return Lazy


def copy_func(f):
    """A copy of a function."""
    copy = types.FunctionType(f.__code__, f.__globals__, name=f.__name__, argdefs=f.__defaults__, closure=f.__closure__)
    copy = functools.update_wrapper(copy, f)
    copy.__kwdefaults__ = f.__kwdefaults__
    return copy


def retry(ExceptionToCheck, tries=3, delay=3, skip_after_retries=False):
    """Calls again after an exception, up to `tries` times, `delay` seconds apart."""

    def decorator(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            for left in range(tries - 1, 0, -1):
                try:
                    return f(*args, **kwargs)
                except ExceptionToCheck as error:
                    print(f"{error}, Retrying in {delay:d} seconds...")
                    time.sleep(delay)
            try:
                return f(*args, **kwargs)
            except ExceptionToCheck as error:
                raise (unittest.SkipTest(f"Skipping after {tries} consecutive {error}") if skip_after_retries else error) from error

        return wrapper

    return decorator


def retry_on_connect_failures(func=None, connect_errors=("Address already in use",)):
    """Calls again, up to ten times, where an address was in use."""
    if func is None:
        return functools.partial(retry_on_connect_failures, connect_errors=connect_errors)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        for attempt in range(10):
            try:
                return func(*args, **kwargs)
            except RuntimeError as error:
                if attempt == 9 or not any(words in str(error) for words in connect_errors):
                    raise
                time.sleep(random.random())

    return wrapper


def find_free_port():
    """A port that nobody listens to."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


def run_concurrently(worker_func, num_threads=None, args=(), kwargs=None):
    """`worker_func` in threads that start together: a list of functions, or one and how often."""
    workers = list(worker_func) if is_iterable(worker_func) else [worker_func] * num_threads
    barrier = threading.Barrier(len(workers))
    results, errors = [None] * len(workers), []

    def work(place):
        barrier.wait()
        try:
            results[place] = workers[place](*args, **(kwargs or {}))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def shell(command, cwd=None, env=None, stdout=None, stderr=None, timeout=None):
    """Runs a command (a list of words): its exit status."""
    import subprocess

    sys.stdout.flush()
    sys.stderr.flush()
    return subprocess.call(command, universal_newlines=True, cwd=cwd, env=env, stdout=stdout, stderr=stderr, timeout=timeout)


def wait_for_process(p, timeout=None):
    """Waits for a process, and ends it if that is interrupted."""
    try:
        return p.wait(timeout=timeout)
    except BaseException:
        p.kill()
        raise
    finally:
        p.wait()


def chunk_list(lst, nchunks):
    """The elements dealt out into lists."""
    return [lst[place::nchunks] for place in range(nchunks)]


def split_if_not_empty(x):
    return x.split(",") if len(x) != 0 else []


def sanitize_test_filename(filename):
    return os.path.splitext(filename)[0].replace(os.sep, ".")


def remove_device_and_dtype_suffixes(test_name):
    """The name of the generic test."""
    device = next((device for device in _environment.NATIVE_DEVICES if f"_{device}" in test_name), None)
    if device is None:
        return test_name
    parts = test_name.split("_")
    return "_".join(parts[:parts.index(device)]) if device in parts else test_name


def get_function_arglist(func):
    return inspect.getfullargspec(func).args


def download_file(url, binary=True):
    """The path of a copy of a file, loaded into the folder `data` beside this one; a skipped test if that fails."""
    from urllib.error import URLError
    from urllib.request import urlopen

    path = os.path.join(tempfile.gettempdir(), os.path.basename(url))
    if os.path.exists(path):
        return path
    try:
        data = urlopen(url, timeout=15).read()
    except URLError as error:
        warnings.warn(f"could not download test file '{url}'", RuntimeWarning, stacklevel=2)
        raise unittest.SkipTest(f"could not download test file '{url}'") from error
    with open(path, "wb" if binary else "w") as file:
        file.write(data if binary else data.decode())
    return path


def find_library_location(lib_name):
    """Where a library of the package would lie."""
    from pathlib import Path

    return Path(torch.__path__[0]) / "lib" / lib_name


def is_navi3_arch():
    return False


def isRocmArchAnyOf(arch):
    return False


def getRocmVersion():
    return 0, 0


def get_gcc_major_version():
    return None


def to_gpu(obj, type_map=None):
    """Copies on the accelerator: there is none."""
    raise RuntimeError("to_gpu: there is no GPU in this build")


def _print_test_names():
    print("\n".join(get_test_names(discover_test_cases_recursively(unittest.TestLoader().loadTestsFromModule(sys.modules["__main__"])))))


def munge_exc(e, *, suppress_suffix=True, suppress_prefix=True, file=None, skip=0, strip_carets=True, strip_stack_attribution=True):
    """An exception's words without what differs from run to run."""
    import re

    text = re.sub(r'  File "([^"]+)", line \d+, in (.+)\n(    .+\n( +[~^]+ *\n)?)+', "", str(e))
    if suppress_suffix:
        text = re.sub(r"\n*Set TORCH_LOGS.+", "", text, flags=re.DOTALL)
        text = re.sub(r"\n*You can suppress this exception.+", "", text, flags=re.DOTALL)
    return text
