"""Decorators that skip a test, or expect it to fail, by what the machine has."""
import functools
import inspect
import sys
import unittest

import kindling as torch
from kindling.testing._internal import _environment as _env


def _itself(fn):
    return fn


def _no_condition(name, *, called=None):
    """A decorator for something that is never the case here: tests stay as they are.

    called: None if it is a decorator itself, True if it is called for one, "both" if it may be either.
    """
    if called is None:
        def decorator(fn):
            return fn
    elif called == "both":
        def decorator(func=None, *, msg=""):
            return func if func is not None else _itself
    else:
        def decorator(*args, **kwargs):
            return _itself
    decorator.__name__ = decorator.__qualname__ = name
    decorator.__doc__ = "Does nothing: what it asks for is never so here."
    globals()[name] = decorator


for _name in ("skipIfHpu skipIfHpu_BUGGY skipIfMPS skipIfCrossRef skipIfCompiledWithoutNumpy skipIfCachingAllocatorDisabled xfailIfTorchDynamo "
              "xpassIfTorchDynamo_np xfailIfACL xfailIfROCm runWithoutCompiledAutograd unMarkDynamoStrictTest "
              "make_dynamo_test gcIfJetson skip_if_pytest setBlasBackendsToDefaultFinally setLinalgBackendsToDefaultFinally "
              "setSdpaBackendsToDefaultFinally").split():
    _no_condition(_name)
for _name in ("skipIfRocm skipIfRocm_BUGGY skipIfWindowsXPU skipIfXpu skipIfXpu_BUGGY").split():
    _no_condition(_name, called="both")
for _name in ("skipIfRocmArch skipIfRocmVersionLessThan skipIfTorchDynamo skipIfTorchInductor skipRocmIfTorchInductor skipIfNNModuleInlined "
              "skipIfLegacyJitExecutor skipIfFreeThreaded skipCUDAMemoryLeakCheckIf skipCUDANonDefaultStreamIf").split():
    _no_condition(_name, called=True)
del _name


def _skipper(name, condition, reason):
    """A decorator that skips with this reason if the condition holds."""

    def decorator(fn):
        return unittest.skip(reason)(fn) if condition else fn

    decorator.__name__ = decorator.__qualname__ = name
    globals()[name] = decorator


_skipper("skipIfNoLapack", False, "PyTorch compiled without Lapack")
_skipper("skipIfNoXNNPACK", True, "XNNPACK must be enabled for these tests. Please build with USE_XNNPACK=1.")
_skipper("skipIfNoSciPy", not _env.TEST_SCIPY, "test require SciPy, but SciPy not found")
_skipper("skipIfNoXPU", True, "test required PyTorched compiled with XPU")
_skipper("skipIfNotMiopenSuggestNHWC", True, "test doesn't currently work without MIOpen NHWC activation")
_skipper("runOnRocm", True, "test currently only works on the ROCm stack")
_skipper("requires_cuda_p2p_access", True, "cuda p2p access is not available")


def runOnRocmArch(arch):
    return unittest.skip(f"skipIfRocm: test only runs on {arch}")


def skipIfWindows(func=None, *, msg="test doesn't currently work on the Windows stack"):
    decorator = unittest.skip(f"skipIfWindows: {msg}") if _env.IS_WINDOWS else _itself
    return decorator(func) if func else decorator


def skipIfPythonVersionMismatch(predicate):
    """Skips unless predicate((major, minor)) holds."""
    major, minor = sys.version_info[:2]
    return _itself if predicate(major, minor) else unittest.skip(f"Python version mismatch, got {major}.{minor}")


def skipIfNotRegistered(op_name, message):
    """Skips unless torch.ops has the operator (Caffe2's registry in older releases)."""
    namespace, _, name = op_name.rpartition("::")
    there = hasattr(getattr(torch.ops, namespace or "aten"), name.partition(".")[0])
    return _itself if there else unittest.skip(message)


def skip_but_pass_in_sandcastle(reason):
    return unittest.skip(reason)


def skip_but_pass_in_sandcastle_if(condition, reason):
    return unittest.skip(reason) if condition else _itself


def lazy_skip_if(condition_fn, reason):
    """Skips a test, or all tests of a class, when `condition_fn()` holds just before they run."""

    def decorator(fn):
        if inspect.isclass(fn):
            setup = fn.setUp

            def setUp(self):
                if condition_fn():
                    raise unittest.SkipTest(reason)
                setup(self)

            fn.setUp = setUp
            return fn

        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            if condition_fn():
                raise unittest.SkipTest(reason)
            return fn(*args, **kwargs)

        return wrapper

    return decorator


def skip_exception_type(exc_type):
    """A context that turns exceptions of a class into a skipped test."""
    import contextlib

    @contextlib.contextmanager
    def context():
        try:
            yield
        except exc_type as error:
            raise unittest.SkipTest(f"not implemented: {error}") from error

    return context()


def slowTest(fn):
    """Marks a test as slow: skipped unless PYTORCH_TEST_WITH_SLOW=1."""
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if not _env.TEST_WITH_SLOW:
            raise unittest.SkipTest("test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test")
        return fn(*args, **kwargs)

    wrapper.__dict__["slow_test"] = True
    return wrapper


def slowTestIf(condition):
    return slowTest if condition else _itself


def serialTest(condition=True):
    """Marks a test that wants the machine for itself (a mark of pytest's)."""

    def decorator(fn):
        if _env.has_pytest and condition:
            import pytest

            return pytest.mark.serial(fn)
        return fn

    return decorator


def xfailIf(condition):
    return unittest.expectedFailure if condition else _itself


def xfailIfLinux(func):
    return unittest.expectedFailure(func) if _env.IS_LINUX else func


def xfailIfWindows(func):
    return unittest.expectedFailure(func) if _env.IS_WINDOWS else func


def xfailIfS390X(func):
    return unittest.expectedFailure(func) if _env.IS_S390X else func


def xfailIfPy312Plus(func):
    return unittest.expectedFailure(func) if sys.version_info >= (3, 12) else func


def xfail_inherited_tests(tests):
    """A class decorator: these inherited tests are expected to fail."""

    def decorator(cls):
        for name in tests:
            test = getattr(cls, name)
            setattr(cls, name, unittest.expectedFailure(lambda self, test=test: test(self)))
        return cls

    return decorator


def markDynamoStrictTest(cls_or_func=None, nopython=False):
    """Does nothing: tests run as they are."""
    return _itself if cls_or_func is None else cls_or_func


def suppress_warnings(fn):
    """The function with its warnings ignored."""
    import warnings

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fn(*args, **kwargs)

    return wrapper


def coalescedonoff(f):
    """Runs a test of sparse tensors twice: coalesced=True, and False."""

    @functools.wraps(f)
    def wrapper(self, *args, **kwargs):
        f(self, *args, **kwargs, coalesced=True)
        f(self, *args, **kwargs, coalesced=False)

    return wrapper


class SwapTensorsGuard:
    """`torch.__future__`'s swap of parameters in conversions, for a while."""

    def __init__(self, use_swap_tensors):
        self.use_swap_tensors = use_swap_tensors

    def __enter__(self):
        self.former = torch.__future__.get_swap_module_params_on_conversion()
        if self.use_swap_tensors is not None:
            torch.__future__.set_swap_module_params_on_conversion(self.use_swap_tensors)

    def __exit__(self, exception_type, exception_value, traceback):
        torch.__future__.set_swap_module_params_on_conversion(self.former)


def wrapSwapTensorsTest(swap=None):
    """A parametrizer: the test with `torch.__future__`'s swap of parameters off and on."""
    from kindling.testing._internal._parametrize import _TestParametrizer

    class swap_tensors(_TestParametrizer):
        def _parametrize_test(self, test, generic_cls, device_cls):
            for value in ([True, False] if swap is None else swap):
                def case(*args, value=value, **kwargs):
                    with SwapTensorsGuard(value):
                        return test(*args, **kwargs)

                functools.update_wrapper(case, test)
                yield case, f"swap_{value}", {}, lambda values: []

    return swap_tensors()
