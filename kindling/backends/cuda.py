"""CUDA's libraries: not in this build.  Their switches are kept, so that programs may set them."""
from kindling.backends import _Switches
from kindling._common.blocks import Block as _Block

matmul = _Switches(allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
                   allow_bf16_reduced_precision_reduction=True, allow_fp16_accumulation=False, fp32_precision="none")
fp32_precision = "none"
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "fp16_bf16_reduction_math": False}
_preferred = {"linalg": "default", "blas": "default", "rocm_fa": "default"}


def is_built():
    """Whether this build contains CUDA code: no."""
    return False


class _PlanCache:
    def __getattr__(self, name):
        if name in ("size", "max_size", "clear"):
            raise AssertionError("Torch not compiled with CUDA enabled")
        raise AttributeError("Unknown attribute " + name)

    def __getitem__(self, device):
        return self


cufft_plan_cache = _PlanCache()


def _sdp_switch(name):
    def enabled():
        return _sdp[name]

    def enable(enabled):
        _sdp[name] = bool(enabled)
    enabled.__doc__ = f"Whether the {name} form of scaled dot product attention may be chosen on CUDA."
    enable.__doc__ = f"Says whether the {name} form of scaled dot product attention may be chosen on CUDA."
    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _sdp_switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _sdp_switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = _sdp_switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _sdp_switch("cudnn")
fp16_bf16_reduction_math_sdp_allowed, allow_fp16_bf16_reduction_math_sdp = _sdp_switch("fp16_bf16_reduction_math")


def is_flash_attention_available():
    """Whether the flash form is there: no."""
    return False


def can_use_flash_attention(params, debug=False):
    """Whether the flash form can serve the call: no."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


class sdp_kernel(_Block):
    """A `with` block, deprecated, that chooses among the forms of scaled dot product attention on CUDA."""

    def __init__(self, enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
        import warnings
        warnings.warn("`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be "
                      "removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context manager, with "
                      "updated signature.", FutureWarning, stacklevel=2)
        self.values = {"flash": enable_flash, "math": enable_math, "mem_efficient": enable_mem_efficient,
                       "cudnn": enable_cudnn}

    def __enter__(self):
        self.before = dict(_sdp)
        _sdp.update(self.values)
        return {}

    def __exit__(self, kind, value, traceback):
        _sdp.update(self.before)
        return False


def _preference(name):
    def prefer(backend=None):
        if backend is not None:
            _preferred[name] = backend
        return _preferred[name]
    prefer.__doc__ = f"Gets or sets the preferred {name} library on CUDA."
    return prefer


preferred_linalg_library = _preference("linalg")
preferred_blas_library = _preference("blas")
preferred_rocm_fa_library = _preference("rocm_fa")
