"""Apple's GPUs: there are none in this build."""

__path__ = []   # modules below it are declared in _absent
__all__ = ["device_count", "empty_cache", "get_rng_state", "is_available", "manual_seed", "seed", "set_rng_state",
           "synchronize", "current_allocated_memory", "driver_allocated_memory", "set_per_process_memory_fraction",
           "recommended_max_memory"]

_CORE = {"empty_cache": "emptyCache", "synchronize": "deviceSynchronize", "get_rng_state": "getDefaultGenerator",
         "set_rng_state": "getDefaultGenerator", "seed": "getDefaultGenerator",
         "current_allocated_memory": "getCurrentAllocatedMemory",
         "driver_allocated_memory": "getDriverAllocatedMemory", "recommended_max_memory": "getRecommendedMaxMemory",
         "set_per_process_memory_fraction": "setMemoryFraction"}


def is_available():
    """Whether there is such a GPU: no."""
    return False


def device_count():
    """How many there are: none."""
    return 0


def manual_seed(seed):
    """Seeds the GPU's generator; without effect, as programs seed everything."""
    int(seed)


def __getattr__(name):
    from kindling._common import placeholders as _placeholders
    if name == "Event":
        return globals().setdefault(name, _placeholders.classes(__name__, name, RuntimeError, "Cannot execute acquireEvent() without MPS backend.")[name])
    if name not in _CORE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, _placeholders.function(__name__, name, RuntimeError, f"Cannot execute {_CORE[name]}() without MPS backend."))
