"""The autocast block for CUDA under its old name."""
import kindling as torch
from kindling.amp.autocast_mode import autocast as _autocast
from kindling.amp.autocast_mode import custom_bwd as _custom_bwd
from kindling.amp.autocast_mode import custom_fwd as _custom_fwd

__all__ = ["autocast", "custom_fwd", "custom_bwd"]


def _deprecated(old, new, stacklevel=3):
    import warnings
    warnings.warn(f"`torch.cuda.amp.{old}(args...)` is deprecated. Please use `torch.amp.{new}` instead.",
                  FutureWarning, stacklevel=stacklevel)


class autocast(_autocast):
    """`torch.amp.autocast("cuda", ...)`, deprecated."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        _deprecated("autocast", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=torch.float16 if dtype is None else dtype,
                         cache_enabled=cache_enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """`torch.amp.custom_fwd(..., device_type="cuda")`, deprecated."""
    _deprecated("custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd=None):
    """`torch.amp.custom_bwd(..., device_type="cuda")`, deprecated."""
    _deprecated("custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return _custom_bwd(bwd, device_type="cuda")
