"""Intel's GPUs: there are none in this build."""

_NEEDS_DEVICE = frozenset(("init", "current_device", "set_device", "synchronize", "get_device_name",
                           "get_device_capability", "get_device_properties", "current_stream", "get_rng_state",
                           "initial_seed", "mem_get_info", "set_stream", "reset_peak_memory_stats"))


def is_available():
    """Whether there is such a GPU: no."""
    return False


def is_initialized():
    """Whether it has been started: no."""
    return False


def device_count():
    """How many there are: none."""
    return 0


def is_bf16_supported(including_emulation=True):
    """Whether the GPU computes in bfloat16: there is none."""
    return False


def manual_seed(seed):
    """Seeds the GPU's generator; without effect, as programs seed everything."""
    int(seed)


manual_seed_all = manual_seed


def empty_cache():
    """Gives cached device memory back: there is none."""


def memory_allocated(device=None):
    """Bytes in use on the device."""
    return 0


memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated


def __getattr__(name):
    if name not in _NEEDS_DEVICE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def refuse(*args, **kwargs):
        raise AssertionError("Torch not compiled with XPU enabled")
    return refuse
