"""The machine's accelerator, whatever its kind: there is none in this build."""

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
           "device_index", "empty_cache", "get_memory_info", "is_available", "max_memory_allocated",
           "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
           "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index",
           "set_stream", "synchronize"]


def is_available():
    """Whether there is an accelerator: no."""
    return False


def device_count():
    """How many there are: none."""
    return 0


def current_accelerator(check_available=False):
    """The accelerator as a `torch.device`: None."""
    return None


class device_index:
    """A block in which the accelerator of that number is current; without effect for None."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            _refuse()

    def __exit__(self, *exc_info):
        return False


def _refuse(*args, **kwargs):
    raise RuntimeError("Cannot access accelerator device when none is available.")


def __getattr__(name):
    # Everything else asks for the device.
    if name in __all__:
        return _refuse
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
