"""The autocast block for the CPU under its old name."""
import kindling as torch
from kindling.amp.autocast_mode import autocast as _autocast

__all__ = ["autocast"]


def _deprecated(name):
    import warnings
    warnings.warn(f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cpu', args...)` "
                  "instead.", FutureWarning, stacklevel=3)


class autocast(_autocast):
    """`torch.amp.autocast("cpu", ...)`, deprecated."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        _deprecated("autocast")
        super().__init__("cpu", enabled=enabled, dtype=torch.bfloat16 if dtype is None else dtype,
                         cache_enabled=cache_enabled)
