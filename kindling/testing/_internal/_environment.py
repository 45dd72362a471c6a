"""What the machine and the environment variables say: flags that tests skip by."""
import importlib.util
import os
import platform
import sys

import kindling as torch


class LazyVal:
    """A value computed when it is first used."""

    def __init__(self, cb):
        self._cb = cb

    @property
    def value(self):
        if self._cb is not None:
            self._value, self._cb = self._cb(), None
        return self._value

    def __bool__(self):
        return bool(self.value)

    def __int__(self):
        return int(self.value)

    __index__ = __int__

    def __eq__(self, other):
        return self.value == other

    def __ne__(self, other):
        return self.value != other

    def __lt__(self, other):
        return self.value < other

    def __le__(self, other):
        return self.value <= other

    def __gt__(self, other):
        return self.value > other

    def __ge__(self, other):
        return self.value >= other

    def __hash__(self):
        return hash(self.value)


class TestEnvironment:
    """Flags and settings from environment variables, each also a name of `common_utils`."""

    __test__ = False
    repro_env_vars = {}

    @staticmethod
    def def_flag(name, env_var=None, default=False, include_in_repro=True, enabled_fn=lambda value, default: (value != "0") if default else
                 (value == "1"), implied_by_fn=lambda: False):
        enabled = default
        if env_var is not None:
            value = os.getenv(env_var)
            if value is not None or default:
                enabled = enabled_fn(value, default)
        if include_in_repro and enabled and not default and env_var is not None:
            TestEnvironment.repro_env_vars[env_var] = "1"
        globals()[name] = enabled or implied_by_fn()

    @staticmethod
    def def_setting(name, env_var=None, default=None, include_in_repro=True, parse_fn=lambda value, default: default if value is None else
                    value):
        value = default if env_var is None else os.getenv(env_var)
        value = parse_fn(value, default)
        if include_in_repro and value != default and env_var is not None:
            TestEnvironment.repro_env_vars[env_var] = value
        globals()[name] = value

    @staticmethod
    def repro_env_var_prefix():
        return " ".join(f"{name}={value}" for name, value in TestEnvironment.repro_env_vars.items())


def _there(name):
    """Whether a package is installed."""
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:
        return name in sys.modules


_flag, _setting = TestEnvironment.def_flag, TestEnvironment.def_setting
_flag("IS_CI", "CI", include_in_repro=False)
_flag("IS_SANDCASTLE", "SANDCASTLE", include_in_repro=False)
_flag("IN_RE_WORKER", "INSIDE_RE_WORKER", include_in_repro=False)
_flag("PRINT_REPRO_ON_FAILURE", "PYTORCH_PRINT_REPRO_ON_FAILURE", default=True, include_in_repro=False)
_flag("NO_MULTIPROCESSING_SPAWN", "NO_MULTIPROCESSING_SPAWN")
_flag("TEST_WITH_SLOW", "PYTORCH_TEST_WITH_SLOW")
_flag("TEST_SKIP_FAST", "PYTORCH_TEST_SKIP_FAST")
_flag("TEST_WITH_CROSSREF", "PYTORCH_TEST_WITH_CROSSREF")
_flag("TEST_WITH_SLOW_GRADCHECK", "PYTORCH_TEST_WITH_SLOW_GRADCHECK")
for _name in ("ASAN", "DEV_DBG_ASAN", "TSAN", "UBSAN", "TV"):
    _flag("TEST_WITH_" + _name, "PYTORCH_TEST_WITH_" + _name)
_setting("OPINFO_SAMPLE_INPUT_INDEX", "PYTORCH_OPINFO_SAMPLE_INPUT_INDEX",
         parse_fn=lambda value, default: default if value is None else int(value))

IS_LINUX = sys.platform == "linux"
IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_PPC = platform.machine() == "ppc64le"     # processor() starts a process to find out
IS_X86 = platform.machine() in ("x86_64", "i386")
IS_ARM64 = platform.machine() in ("arm64", "aarch64")
IS_S390X = platform.machine() == "s390x"
IS_AVX512_VNNI_SUPPORTED = False
if IS_LINUX:
    with open("/proc/cpuinfo", encoding="ascii", errors="ignore") as _file:
        IS_AVX512_VNNI_SUPPORTED = "avx512_vnni" in _file.read()
IS_FILESYSTEM_UTF8_ENCODING = sys.getfilesystemencoding() == "utf-8"
MACOS_VERSION = float(".".join(platform.mac_ver()[0].split(".")[:2]) or -1)

TEST_NUMPY = _there("numpy")
TEST_SCIPY = _there("scipy")
TEST_NUMBA = _there("numba")
TEST_DILL = _there("dill")
TEST_LIBROSA = _there("librosa") and not IS_ARM64
TEST_OPT_EINSUM = _there("opt_einsum")
TEST_TRANSFORMERS = _there("transformers")
TEST_Z3 = _there("z3")
TEST_FAIRSEQ = _there("fairseq")
TEST_MKL = torch.backends.mkl.is_available()
TEST_ONEDNN = torch.backends.mkldnn.is_available()
has_pytest = _there("pytest")

# Other machines, and a compiler under the tests: never here.
for _name in (
        "IS_FBCODE IS_REMOTE_GPU IS_JETSON IS_CPU_EXT_SVE_SUPPORTED IS_CPU_CAPABILITY_SVE IS_CPU_CAPABILITY_SVE256 NOTEST_CPU USE_PYTEST "
        "TEST_CUDA TEST_CUDA_CUDSS TEST_CUDA_GRAPH TEST_CUDA_GRAPH_CONDITIONAL_NODES TEST_CUDA_MEM_LEAK_CHECK TEST_CUDA_PYTHON_BINDINGS "
        "TEST_CUTEDSL TEST_TRITON_DSL TEST_NVMATH TEST_MPS TEST_XPU TEST_HPU TEST_WITH_MTIA TEST_WITH_ROCM TEST_WITH_MIOPEN_SUGGEST_NHWC "
        "TEST_ACCELERATOR TEST_MULTIACCELERATOR TEST_MULTIGPU TEST_ACL TEST_SKIP_CUDAGRAPH TEST_WITH_TORCHDYNAMO TEST_WITH_TORCHINDUCTOR "
        "TEST_WITH_AOT_EAGER TEST_WITHOUT_COMPILED_AUTOGRAD EXPANDABLE_SEGMENTS RERUN_DISABLED_TESTS TEST_BAILOUTS TEST_DISCOVER "
        "TEST_IN_SUBPROCESS SHOWLOCALS DISABLE_RUNNING_SCRIPT_CHK").split():
    globals()[_name] = False
TEST_PRIVATEUSE1 = None
TEST_PRIVATEUSE1_DEVICE_TYPE = "privateuseone"
ACCELERATOR_TYPE = None
GRAPH_EXECUTOR = None
TEST_SAVE_XML = PYTEST_SINGLE_TEST = LOG_SUFFIX = SLOW_TESTS_FILE = DISABLED_TESTS_FILE = ""
RUN_PARALLEL = REPEAT_COUNT = 0
NATIVE_DEVICES = ("cpu", "cuda", "xpu", "meta", "mps", "mtia", "privateuseone")
MI200_ARCH, MI300_ARCH, MI350_ARCH = ("gfx90a",), ("gfx942",), ("gfx950",)
NAVI3_ARCH, NAVI4_ARCH = ("gfx1100", "gfx1101"), ("gfx1200", "gfx1201")
NAVI_ARCH = ("gfx1030", *NAVI3_ARCH, *NAVI4_ARCH)
FILE_SCHEMA = "file:///" if IS_WINDOWS else "file://"
GRADCHECK_NONDET_TOL = 1e-12
ALLOW_XPU_PROFILING_TEST = True
DEVICE_LIST_SUPPORT_PROFILING_TEST = ("cpu", "cuda", "xpu")
CONNECT_TIMEOUT = "connect() timed out."
ADDRESS_IN_USE = "Address already in use"
del _name, _flag, _setting, _there
