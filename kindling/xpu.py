"""Intel's GPUs: there are none in this build."""

__path__ = []   # modules below it are declared in _absent
_NEEDS_DEVICE = frozenset(("init", "current_device", "set_device", "synchronize", "get_device_name",
                           "get_device_capability", "get_device_properties", "current_stream", "get_rng_state",
                           "initial_seed", "mem_get_info", "set_stream", "reset_peak_memory_stats"))
# What can be subclassed and asked for by isinstance, but not made.
_DUMMIES = frozenset(("Event", "Stream", "XPUGraph", "MemPool", "XPUPluggableAllocator", "graph"))


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
    from kindling._common import placeholders as _placeholders
    if name in _NEEDS_DEVICE:
        made = _placeholders.function(__name__, name, AssertionError, "Torch not compiled with XPU enabled")
    elif name in _DUMMIES:
        made = _placeholders.classes(__name__, name, RuntimeError, "Tried to instantiate dummy base class {name}")[name]
    elif name in ("device", "device_of", "StreamContext"):
        from kindling import cuda
        made = type(name, (getattr(cuda, name),), {"__module__": __name__})    # as there: without effect, or refused
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, made)


def stream(stream):
    """A block in which the given stream is current; without effect for None."""
    return __getattr__("StreamContext")(stream)
