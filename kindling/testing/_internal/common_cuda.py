"""What the CUDA device can do: there is none, so everything is False."""
import contextlib
import functools

from kindling.testing._internal.common_utils import IS_JETSON, IS_MACOS, IS_WINDOWS, TEST_CUDA, TEST_MULTIGPU, TEST_NUMBA  # noqa: F401
from kindling.testing._internal.common_utils import TEST_WITH_ROCM, TEST_XPU, LazyVal, _itself  # noqa: F401

for _name in (
        "CUDA_ALREADY_INITIALIZED_ON_IMPORT TEST_CUDNN TEST_CUSPARSE_GENERIC TEST_HIPSPARSE_GENERIC TEST_NUMBA_CUDA TEST_BF16 TEST_LARGE_TENSOR "
        "TEST_MAGMA SM53OrLater SM60OrLater SM70OrLater SM75OrLater SM80OrLater SM89OrLater SM90OrLater SM100OrLater SM120OrLater IS_SM89 "
        "IS_SM90 IS_SM100 IS_SM10X IS_SM12X IS_THOR PLATFORM_SUPPORTS_BF16 PLATFORM_SUPPORTS_BF16_ATOMICS PLATFORM_SUPPORTS_CK_SDPA "
        "PLATFORM_SUPPORTS_CUDNN_ATTENTION PLATFORM_SUPPORTS_FLASH_ATTENTION PLATFORM_SUPPORTS_FP8 PLATFORM_SUPPORTS_FP8_GROUPED_GEMM "
        "PLATFORM_SUPPORTS_FP8_SPARSE PLATFORM_SUPPORTS_FUSED_ATTENTION PLATFORM_SUPPORTS_FUSED_SDPA PLATFORM_SUPPORTS_GREEN_CONTEXT "
        "PLATFORM_SUPPORTS_HALF_ATOMICS PLATFORM_SUPPORTS_MEM_EFF_ATTENTION PLATFORM_SUPPORTS_MXFP8_GROUPED_GEMM PLATFORM_SUPPORTS_MX_GEMM "
        "PLATFORM_SUPPORTS_WORKQUEUE_CONFIG").split():
    globals()[_name] = False


def _never():
    return False


for _name in ("bf16 bf16_atomics ck_sdpa cudnn_attention efficient_attention flash_attention fp8 fp8_grouped_gemm fp8_sparse green_context "
              "half_atomics mx_gemm mxfp8_grouped_gemm workqueue_config").split():
    globals()["evaluate_platform_supports_" + _name] = _never
for _name in ("xfailCUDAIfSM89OrLaterOnWindows xfailIfDistributedNotSupported xfailIfSM89 xfailIfSM89PreCUDA13 xfailIfSM90 "
              "xfailIfSM100OrLater xfailIfSM120OrLater xfailIfSM12X").split():
    globals()[_name] = _itself
del _name

CUDA_DEVICE = None
TEST_CUDNN_VERSION = 0
ROCM_VERSION = (0, 0)


def evaluate_gfx_arch_within(arch_list):
    return False


def CDNA2OrLater():
    return False


def CDNA3OrLater():
    return False


def initialize_cuda_context_rng():
    pass


@contextlib.contextmanager
def tf32_off():
    """Products are of full precision anyway."""
    yield


tf32_enabled = tf32_off


@contextlib.contextmanager
def tf32_on(self, tf32_precision=1e-5):
    yield


def with_tf32_off(f):
    @functools.wraps(f)
    def wrapped(*args, **kwargs):
        with tf32_off():
            return f(*args, **kwargs)

    return wrapped


def tf32_on_and_off(tf32_precision=1e-5, *, only_if=True):
    """Runs a test once: there are no TF32 products here."""
    return _itself


def _get_torch_cuda_version():
    return 0, 0


_get_torch_rocm_version = _get_torch_hipblaslt_version = _get_magma_version = _get_torch_cuda_version


@contextlib.contextmanager
def blas_library_context(backend):
    yield
