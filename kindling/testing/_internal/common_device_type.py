"""Tests over devices and dtypes: a generic class with tests that take `device` (and `dtype`) becomes one class for each device."""
import collections
import copy
import enum
import functools
import inspect
import os
import unittest

import kindling as torch
from kindling.testing._internal import common_cuda as _cuda
from kindling.testing._internal.common_cuda import TEST_CUSPARSE_GENERIC, TEST_HIPSPARSE_GENERIC  # noqa: F401
from kindling.testing._internal.common_dtype import get_all_dtypes
from kindling.testing._internal.common_utils import (  # noqa: F401
    IS_FBCODE, IS_MACOS, IS_REMOTE_GPU, IS_S390X, IS_SANDCASTLE, IS_WINDOWS, NATIVE_DEVICES, PRINT_REPRO_ON_FAILURE, TEST_HPU, TEST_MKL,
    TEST_MPS, TEST_WITH_ASAN, TEST_WITH_MIOPEN_SUGGEST_NHWC, TEST_WITH_MTIA, TEST_WITH_ROCM, TEST_WITH_TORCHINDUCTOR, TEST_WITH_TSAN,
    TEST_WITH_UBSAN, TEST_XPU, TestCase, _TestParametrizer, clear_tracked_input, compose_parametrize_fns, dtype_name, get_tracked_input,
    skipCUDANonDefaultStreamIf, skipIfTorchDynamo)

try:
    import psutil
    HAS_PSUTIL = True
except ModuleNotFoundError:
    psutil = None
    HAS_PSUTIL = False

PYTORCH_CUDA_MEMCHECK = False
PYTORCH_TESTING_DEVICE_ONLY_FOR_KEY = "PYTORCH_TESTING_DEVICE_ONLY_FOR"
PYTORCH_TESTING_DEVICE_EXCEPT_FOR_KEY = "PYTORCH_TESTING_DEVICE_EXCEPT_FOR"
PYTORCH_TESTING_DEVICE_FOR_CUSTOM_KEY = "PYTORCH_TESTING_DEVICE_FOR_CUSTOM"
GPU_TYPES = ["cuda", "mps", "xpu", "mtia"]
E4M3_MAX_POS = 448.0
E5M2_MAX_POS = 57344.0
lazy_ts_backend_init = False
e4m3_type, e5m2_type = torch.float8_e4m3fn, torch.float8_e5m2
IS_FLEX_ATTENTION_CPU_PLATFORM_SUPPORTED = True
IS_FLEX_ATTENTION_CUDA_PLATFORM_SUPPORTED = IS_FLEX_ATTENTION_MPS_PLATFORM_SUPPORTED = False
IS_FLEX_ATTENTION_XPU_PLATFORM_SUPPORTED = False
ANY_DTYPE_ORDER = (torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float16, torch.bfloat16, torch.long, torch.int32,
                   torch.int16, torch.int8, torch.uint8, torch.bool, torch.float8_e4m3fn, torch.float8_e5m2)


def _dtype_test_suffix(dtypes):
    """The end of a test's name: `_float32`, or `_float32_int64` for several."""
    if isinstance(dtypes, (list, tuple)):
        return "".join("_" + dtype_name(dtype) for dtype in dtypes)
    return f"_{dtype_name(dtypes)}" if dtypes else ""


def _update_param_kwargs(param_kwargs, name, value):
    """Sets `name`, or `names` where the value is a sequence; None sets nothing."""
    plural = f"{name}s"
    param_kwargs.pop(name, None)
    param_kwargs.pop(plural, None)
    if isinstance(value, (list, tuple)):
        param_kwargs[plural] = value
    elif value is not None:
        param_kwargs[name] = value


class DeviceTypeTestBase(TestCase):
    """Base of the test classes of one device; `device_type` is its name."""

    device_type = "generic_device_type"
    bypass_device_restrictions = False
    test_exclusions = op_overrides = op_allowlist = None
    _stop_test_suite = False

    @classmethod
    def _init_and_get_primary_device(cls):
        return cls.get_primary_device()

    @classmethod
    def get_primary_device(cls):
        return cls.device_type

    @classmethod
    def get_all_devices(cls):
        return [cls.get_primary_device()]

    @classmethod
    def distributed_backend(cls):
        return "gloo"

    @classmethod
    def _get_dtypes(cls, test):
        if not hasattr(test, "dtypes"):
            return None
        dtypes = test.dtypes.get(cls.device_type, test.dtypes.get("all", None))
        if dtypes is not None and not dtypes:
            raise AssertionError(f"no dtypes for {cls.device_type}")
        return dtypes

    def _get_precision_override(self, test, dtype):
        return getattr(test, "precision_overrides", {}).get(dtype, self.precision)

    def _get_tolerance_override(self, test, dtype):
        return getattr(test, "tolerance_overrides", {}).get(dtype, tol(self.precision, self.rel_tol))

    def _apply_precision_override_for_test(self, test, param_kwargs):
        dtype = param_kwargs.get("dtype", param_kwargs.get("dtypes"))
        if not dtype:
            return
        self.precision = self._get_precision_override(test, dtype)
        self.precision, self.rel_tol = self._get_tolerance_override(test, dtype)

    @classmethod
    def instantiate_test(cls, name, test, *, generic_cls=None):
        """Puts onto the class a test for each case and dtype of a generic one."""

        def instantiate(name, test, param_kwargs=None, decorator_fn=lambda _: []):
            param_kwargs = {} if param_kwargs is None else param_kwargs
            takes = inspect.signature(test).parameters
            if "device" in takes or "devices" in takes:
                device = cls.get_all_devices() if hasattr(test, "num_required_devices") else cls._init_and_get_primary_device()
                _update_param_kwargs(param_kwargs, "device", device)
            for decorator in decorator_fn(param_kwargs):
                test = decorator(test)

            @functools.wraps(test)
            def instantiated_test(self, param_kwargs=param_kwargs):
                guard = self.precision, self.rel_tol
                try:
                    self._apply_precision_override_for_test(test, param_kwargs)
                    return test(self, **param_kwargs)
                finally:
                    self.precision, self.rel_tol = guard

            if hasattr(cls, name):
                raise AssertionError(f"Redefinition of test {name}")
            instantiated_test.__name__ = name
            setattr(cls, name, instantiated_test)

        cases = getattr(test, "parametrize_fn", None)
        dtypes = cls._get_dtypes(test)
        if dtypes is not None:
            def dtype_cases(test, generic_cls, device_cls):
                for dtype in dtypes:
                    values = {}
                    _update_param_kwargs(values, "dtype", dtype)
                    # The dtype comes last in the name, so it is no part of this suffix.
                    yield test, "", values, lambda _: []

            cases = compose_parametrize_fns(dtype_cases, cases) if cases is not None else dtype_cases
        if cases is None:
            cases = _one_case
        for case, suffix, param_kwargs, decorator_fn in cases(test, generic_cls, cls):
            dtype = param_kwargs.get("dtypes", param_kwargs.get("dtype"))
            full = f"{name}{'_' + suffix if suffix else ''}_{cls.device_type}{_dtype_test_suffix(dtype)}"
            instantiate(full, case, param_kwargs, decorator_fn)

    def run(self, result=None):
        super().run(result=result)
        if self._stop_test_suite:
            result.stop()


def _one_case(test, generic_cls, device_cls):
    yield test, "", {}, lambda _: []


class CPUTestBase(DeviceTypeTestBase):
    device_type = "cpu"

    def _should_stop_test_suite(self):
        return False


class CUDATestBase(DeviceTypeTestBase):
    device_type = "cuda"
    _do_cuda_memory_leak_check = False
    primary_device = "cuda:0"
    cudnn_version = None
    no_magma = no_cudnn = True


class MPSTestBase(DeviceTypeTestBase):
    device_type = "mps"


class XPUTestBase(DeviceTypeTestBase):
    device_type = "xpu"


class HPUTestBase(DeviceTypeTestBase):
    device_type = "hpu"


class LazyTestBase(DeviceTypeTestBase):
    device_type = "lazy"


class PrivateUse1TestBase(DeviceTypeTestBase):
    device_type = "privateuse1"


device_type_test_bases = [CPUTestBase]


def get_device_type_test_bases():
    """The bases of the devices that are there."""
    return list(device_type_test_bases)


def get_all_device_types():
    return ["cpu"]


def filter_desired_device_types(device_type_test_bases, except_for=None, only_for=None):
    bases = [base for base in device_type_test_bases if not except_for or base.device_type not in except_for]
    return [base for base in bases if only_for is None or base.device_type in only_for]


def get_desired_device_type_test_bases(except_for=None, only_for=None, include_lazy=False, allow_mps=False, allow_xpu=False):
    bases = filter_desired_device_types(get_device_type_test_bases(), except_for, only_for)
    only = os.getenv(PYTORCH_TESTING_DEVICE_ONLY_FOR_KEY, "")
    but = os.getenv(PYTORCH_TESTING_DEVICE_EXCEPT_FOR_KEY, "")
    return filter_desired_device_types(bases, but.split(",") if but else None, only.split(",") if only else None)


def instantiate_device_type_tests(generic_test_class, scope, except_for=None, only_for=None, include_lazy=False, allow_mps=False,
                                  allow_xpu=False):
    """Puts into `scope` (globals()) a class for each device, `TestFooCPU` for TestFoo, and takes the generic one out of it.

    Tests take `device`, and `dtype` if `@dtypes` or `@ops` says which; their names end in device and dtype.
    """
    del scope[generic_test_class.__name__]
    generic_members = {name: getattr(generic_test_class, name) for name in dir(generic_test_class)}
    generic_tests = [name for name in generic_members if name.startswith("test")]
    # Methods of the generic class without its tests, so that no loader finds those.
    empty = type(generic_test_class.__name__, generic_test_class.__bases__, {
        name: value for name, value in vars(generic_test_class).items()
        if not name.startswith("test") and name not in ("__dict__", "__weakref__")})
    for base in get_desired_device_type_test_bases(except_for, only_for, include_lazy, allow_mps, allow_xpu):
        name = generic_test_class.__name__ + base.device_type.upper()
        device_class = type(name, (base, empty), {})

        def _setUpClass(cls, base=base):
            base.setUpClass()
            # The generic class's own, on this class.
            generic = inspect.getattr_static(empty, "setUpClass", None)
            if generic is not None and generic is not inspect.getattr_static(TestCase, "setUpClass"):
                generic.__func__(cls)

        def _tearDownClass(cls, base=base):
            generic = inspect.getattr_static(empty, "tearDownClass", None)
            if generic is not None and generic is not inspect.getattr_static(TestCase, "tearDownClass"):
                generic.__func__(cls)
            base.tearDownClass()

        device_class.setUpClass = classmethod(_setUpClass)
        device_class.tearDownClass = classmethod(_tearDownClass)
        for test in generic_tests:
            own = inspect.getattr_static(generic_test_class, test)
            if inspect.isfunction(own):
                # Decorators of one device's tests write on a copy's attributes.
                device_class.instantiate_test(test, copy.copy(own), generic_cls=generic_test_class)
            elif test not in vars(device_class):
                setattr(device_class, test, own)
        device_class.__module__ = generic_test_class.__module__
        device_class.__qualname__ = name
        device_class.__test__ = True
        scope[name] = device_class


class OpDTypes(enum.Enum):
    """Which dtypes of an operator `@ops` runs over."""

    supported = 0
    unsupported = 1
    supported_backward = 2
    unsupported_backward = 3
    any_one = 4
    none = 5
    any_common_cpu_cuda_one = 6


class ops(_TestParametrizer):
    """A test for each operator (`op`) and each of its dtypes (`dtype`): `@ops(op_db, dtypes=OpDTypes.supported)`.

    Operators are any objects with OpInfo's `formatted_name`, `supported_dtypes(device)`, `get_decorators(...)`.
    """

    def __init__(self, op_list, *, dtypes=OpDTypes.supported, allowed_dtypes=None, skip_if_dynamo=True):
        self.op_list = list(op_list)
        self.opinfo_dtypes = dtypes
        self.allowed_dtypes = set(allowed_dtypes) if allowed_dtypes is not None else None

    def _dtypes(self, op, device_type):
        wanted = self.opinfo_dtypes
        if not isinstance(wanted, OpDTypes):
            return set(wanted)
        if wanted is OpDTypes.none:
            return {None}
        supported = set(op.supported_dtypes(device_type))
        if wanted is OpDTypes.supported:
            return supported
        if wanted is OpDTypes.unsupported:
            return set(get_all_dtypes()) - supported
        if wanted in (OpDTypes.supported_backward, OpDTypes.unsupported_backward):
            backward = set(op.supported_backward_dtypes(device_type))
            return backward if wanted is OpDTypes.supported_backward else set(get_all_dtypes()) - backward
        if wanted is OpDTypes.any_common_cpu_cuda_one:
            supported &= set(op.supported_dtypes("cuda"))
        else:
            # One that gradients can be taken in, if there is one.
            supported = supported & set(op.supported_backward_dtypes(device_type)) or supported
        first = next((dtype for dtype in ANY_DTYPE_ORDER if dtype in supported and
                      (self.allowed_dtypes is None or dtype in self.allowed_dtypes)), None)
        return {first} if first is not None else {}

    def _parametrize_test(self, test, generic_cls, device_cls):
        if device_cls is None:
            raise RuntimeError("The @ops decorator is only intended to be used in a device-specific context; use it with "
                               "instantiate_device_type_tests() instead of instantiate_parametrized_tests()")
        if not self.op_list:
            raise ValueError("An empty op_list was passed to @ops. Note that this may result from reuse of a generator.")
        for op in self.op_list:
            dtypes = self._dtypes(op, device_cls.device_type)
            if self.allowed_dtypes is not None and self.opinfo_dtypes is not OpDTypes.none:
                dtypes = set(dtypes) & self.allowed_dtypes
            for dtype in sorted(dtypes, key=str):
                param_kwargs = {"op": op}
                _update_param_kwargs(param_kwargs, "dtype", dtype)

                @functools.wraps(test)
                def case(*args, **kwargs):
                    return test(*args, **kwargs)

                yield case, op.formatted_name, param_kwargs, functools.partial(
                    op.get_decorators, generic_cls.__name__, test.__name__, device_cls.device_type, dtype)


SkipSpec = collections.namedtuple("SkipSpec", ("op_name", "variant_name", "device_type", "dtypes", "expected_failure"))


def skip(op_name, variant_name="", *, device_type=None, dtypes=None):
    """An entry of `skipOps`: the test is skipped for this operator."""
    return SkipSpec(op_name, variant_name, device_type, dtypes, False)


def xfail(op_name, variant_name="", *, device_type=None, dtypes=None):
    """An entry of `skipOps`: the test fails for this operator."""
    return SkipSpec(op_name, variant_name, device_type, dtypes, True)


def skipOps(to_skip):
    """Skips of a test over operators, written beside the test."""

    def decorator(fn):
        inner = fn.parametrize_fn

        def cases(test, generic_cls, device_cls):
            for case, name, values, decorators in inner(test, generic_cls, device_cls):
                op, dtype = values.get("op"), values.get("dtype")
                more = [unittest.expectedFailure if spec.expected_failure else unittest.skip("Skipped!") for spec in to_skip
                        if op is not None and (op.name, getattr(op, "variant_test_name", "")) == (spec.op_name, spec.variant_name)
                        and spec.device_type in (None, device_cls.device_type) and (spec.dtypes is None or dtype in spec.dtypes)]
                yield case, name, values, lambda kwargs, old=decorators, more=more: [*old(kwargs), *more]

        fn.parametrize_fn = cases
        return fn

    return decorator


class skipIf:
    """Skips a test, or the tests of a class, on a device: `dep` is a bool, or the name of an attribute that is one."""

    def __init__(self, dep, reason, device_type=None):
        self.dep, self.reason, self.device_type = dep, reason, device_type

    def _holds(self, case):
        if self.device_type is not None and self.device_type != case.device_type and not (
                isinstance(self.device_type, (list, tuple)) and case.device_type in self.device_type):
            return False
        return getattr(case, self.dep, True) if isinstance(self.dep, str) else bool(self.dep)

    def __call__(self, fn):
        if inspect.isclass(fn):
            setup = fn.setUp

            def setUp(case):
                if self._holds(case):
                    raise unittest.SkipTest(self.reason)
                setup(case)

            fn.setUp = setUp
            return fn

        @functools.wraps(fn)
        def wrapper(case, *args, **kwargs):
            if self._holds(case):
                raise unittest.SkipTest(self.reason)
            return fn(case, *args, **kwargs)

        return wrapper


def _skip_class(name, device_type):
    """`skipCUDAIf(dep, reason)` and its kin."""

    class Skip(skipIf):
        def __init__(self, dep, reason):
            super().__init__(dep, reason, device_type=device_type)

    Skip.__name__ = Skip.__qualname__ = name
    globals()[name] = Skip


for _name, _device in (("CPU", "cpu"), ("CUDA", "cuda"), ("GPU", GPU_TYPES), ("Meta", "meta"), ("MPS", "mps"), ("HPU", "hpu"), ("XLA", "xla"),
                       ("XPU", "xpu"), ("Lazy", "lazy"), ("PRIVATEUSE1", "privateuse1")):
    _skip_class(f"skip{_name}If", _device)
    if _name not in ("CPU", "CUDA", "GPU"):
        globals()[f"skip{_name}"] = skipIf(True, f"test doesn't work on {_name} backend", _device)


class expectedFailure:
    """The test must fail on a device."""

    def __init__(self, device_type):
        self.device_type = device_type

    def __call__(self, fn):
        @functools.wraps(fn)
        def wrapper(case, *args, **kwargs):
            device = getattr(case, "device_type", None) or "cpu"
            if self.device_type not in (None, device):
                return fn(case, *args, **kwargs)
            try:
                fn(case, *args, **kwargs)
            except Exception:
                return None
            case.fail("expected test to fail, but it passed")

        return wrapper


for _name, _device in (("CPU", "cpu"), ("CUDA", "cuda"), ("Meta", "meta"), ("MPS", "mps"), ("HPU", "hpu"), ("XLA", "xla"), ("XPU", "xpu"),
                       ("MPSComplex", "mps"), ("MPSPre14", "mps"), ("MPSPre15", "mps")):
    globals()[f"expectedFailure{_name}"] = expectedFailure(_device)


class onlyOn:
    """Runs on one kind of device, or on some, only."""

    def __init__(self, device_type):
        self.device_type = device_type

    def __call__(self, fn):
        @functools.wraps(fn)
        def wrapper(case, *args, **kwargs):
            wanted = self.device_type if isinstance(self.device_type, (list, tuple)) else [self.device_type]
            if case.device_type not in wanted and not case.bypass_device_restrictions:
                raise unittest.SkipTest(f"Only runs on {self.device_type}")
            return fn(case, *args, **kwargs)

        return wrapper


for _name, _device in (("CPU", "cpu"), ("CUDA", "cuda"), ("MPS", "mps"), ("XPU", "xpu"), ("HPU", "hpu"), ("PRIVATEUSE1", "privateuse1")):
    globals()[f"only{_name}"] = onlyOn(_device)


def _only(name, takes, words):
    """A decorator for devices of a kind; `words` of the device in the reason."""

    def decorator(fn):
        @functools.wraps(fn)
        def wrapper(case, *args, **kwargs):
            if not takes(case.device_type):
                raise unittest.SkipTest(words.format(case.device_type))
            return fn(case, *args, **kwargs)

        return wrapper

    decorator.__name__ = decorator.__qualname__ = name
    return decorator


onlyNativeDeviceTypes = _only("onlyNativeDeviceTypes", lambda device: device in NATIVE_DEVICES, "onlyNativeDeviceTypes: doesn't run on {}")
onlyCUDAAndPRIVATEUSE1 = _only("onlyCUDAAndPRIVATEUSE1", lambda device: device in ("cuda", "privateuse1"),
                               "onlyCUDAAndPRIVATEUSE1: doesn't run on {}")
onlyAccelerator = _only("onlyAccelerator", lambda device: device not in ("cpu", "meta"), "onlyAccelerator: doesn't run on CPU or meta devices")


def onlyNativeDeviceTypesAnd(devices=None):
    return _only("onlyNativeDeviceTypesAnd", lambda device: device in NATIVE_DEVICES or device in (devices or ()),
                 f"onlyNativeDeviceTypesAnd {devices} : doesn't run on {{}}")


def _has_sufficient_memory(device, size):
    """Whether about `size` bytes are free on a device."""
    if torch.device(device).type != "cpu":
        return False
    if psutil is not None:
        return psutil.virtual_memory().available >= size
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >= size


def largeTensorTest(size, device=None, inductor=False):
    """Skips unless there is so much memory: bytes, "12GB", or a function of (self, *args) that says so."""
    if isinstance(size, str):
        if not size.endswith(("GB", "gb")):
            raise AssertionError(f"only bytes or GB supported, got {size!r}")
        size = 1024**3 * int(size[:-2])

    def decorator(fn):
        @functools.wraps(fn)
        def wrapper(self, *args, **kwargs):
            needed = size(self, *args, **kwargs) if callable(size) else size
            where = device or (self.get_primary_device() if hasattr(self, "get_primary_device") else self.device)
            if not _has_sufficient_memory(where, needed):
                raise unittest.SkipTest(f"Insufficient {where} memory")
            return fn(self, *args, **kwargs)

        return wrapper

    return decorator


class deviceCountAtLeast:
    """The test takes `devices`, and is skipped where there are fewer."""

    def __init__(self, num_required_devices):
        self.num_required_devices = num_required_devices

    def __call__(self, fn):
        if hasattr(fn, "num_required_devices"):
            raise AssertionError(f"deviceCountAtLeast redefinition for {fn.__name__}")
        fn.num_required_devices = self.num_required_devices

        @functools.wraps(fn)
        def wrapper(case, devices, *args, **kwargs):
            if len(devices) < self.num_required_devices:
                raise unittest.SkipTest(f"fewer than {self.num_required_devices} devices detected")
            return fn(case, devices, *args, **kwargs)

        return wrapper


class precisionOverride:
    """Lower bounds of atol by dtype, for one test: `@precisionOverride({torch.half: 1e-2})`."""

    def __init__(self, d):
        if not isinstance(d, dict):
            raise AssertionError("precisionOverride not given a dtype : precision dict!")
        for dtype in d:
            if not isinstance(dtype, torch.dtype):
                raise AssertionError(f"precisionOverride given unknown dtype {dtype}")
        self.d = d

    def __call__(self, fn):
        fn.precision_overrides = self.d
        return fn


tol = collections.namedtuple("tol", ["atol", "rtol"])


class toleranceOverride:
    """Lower bounds of both tolerances by dtype: `@toleranceOverride({torch.half: tol(atol=1e-2, rtol=1e-3)})`."""

    def __init__(self, d):
        if not isinstance(d, dict):
            raise AssertionError("toleranceOverride not given a dtype : tol dict!")
        for dtype, value in d.items():
            if not isinstance(dtype, torch.dtype):
                raise AssertionError(f"toleranceOverride given unknown dtype {dtype}")
            if not isinstance(value, tol):
                raise AssertionError("toleranceOverride not given a dtype : tol dict!")
        self.d = d

    def __call__(self, fn):
        fn.tolerance_overrides = self.d
        return fn


class dtypes:
    """The dtypes of a test, one test each: `@dtypes(torch.float32, torch.int64)`; tuples go to an argument `dtypes`."""

    def __init__(self, *args, device_type="all"):
        if len(args) == 1 and isinstance(args[0], (list, tuple)) and all(isinstance(each, torch.dtype) for each in args[0]) and \
                not args[0]:
            raise AssertionError("@dtypes needs dtypes")
        for arg in args:
            for dtype in arg if isinstance(arg, (list, tuple)) else (arg,):
                if not isinstance(dtype, torch.dtype):
                    raise AssertionError(f"Unknown dtype in {arg!s}" if isinstance(arg, (list, tuple)) else f"Unknown dtype {arg!s}")
        self.args = args
        self.device_type = device_type

    def __call__(self, fn):
        known = getattr(fn, "dtypes", {})
        if self.device_type in known:
            raise AssertionError(f"dtypes redefinition for {self.device_type}")
        known[self.device_type] = self.args
        fn.dtypes = known
        return fn


def _dtypes_class(name, device_type):
    """`dtypesIfCPU(...)` and its kin."""

    class Own(dtypes):
        def __init__(self, *args):
            super().__init__(*args, device_type=device_type)

    Own.__name__ = Own.__qualname__ = name
    globals()[name] = Own


for _name, _device in (("CPU", "cpu"), ("CUDA", "cuda"), ("HPU", "hpu"), ("MPS", "mps"), ("XPU", "xpu"), ("PRIVATEUSE1", "privateuse1")):
    _dtypes_class(f"dtypesIf{_name}", _device)


def _itself(fn):
    return fn


def _skip_cpu(name, condition, reason):
    globals()[name] = skipIf(condition, reason, "cpu")


_skip_cpu("skipCPUIfNoLapack", not torch._C.has_lapack, "PyTorch compiled without Lapack")
_skip_cpu("skipCPUIfNoFFT", False, "PyTorch is built without FFT support")
_skip_cpu("skipCPUIfNoMkl", not TEST_MKL, "PyTorch is built without MKL support")
_skip_cpu("skipCPUIfNoMklSparse", IS_WINDOWS or not TEST_MKL, "PyTorch is built without MKL Sparse support")
_skip_cpu("skipCPUIfNoMkldnn", not torch.backends.mkldnn.is_available(), "PyTorch is built without mkldnn support")

# Conditions on CUDA: tests on other devices stay as they are.
for _name in ("Miopen NoCudnn NoCusolver NoCusolverROCMIfNoMagma NoCusparseGeneric NoHipsparseGeneric NoMagma NoMagmaAndNoCusolver "
              "NoMagmaAndNoLinalgsolver NoMiopen NoSparseGeneric NotMiopenSuggestNHWC").split():
    globals()[f"skipCUDAIf{_name}"] = _itself
skipCUDAIfNotRocm = _itself


def skipCUDAIfRocm(func=None, *, msg="test doesn't currently work on the ROCm stack"):
    return func if func is not None else _itself


def _any_version(*args, **kwargs):
    return _itself


skipCUDAIfCudnnVersionLessThan = skipCUDAIfRocmVersionLessThan = skipCUDAIfRocmHipBlasltVersionLessThan = _any_version
skipCUDAIfVersionLessThan = skipCUDAVersionIn = _any_version


def disablecuDNN(fn):
    """Without cuDNN: as it is."""
    return fn


disableMkldnn = disablecuDNN


def has_cusolver():
    return False


def has_hipsolver():
    return False


tf32_on_and_off = _cuda.tf32_on_and_off
del _name, _device
