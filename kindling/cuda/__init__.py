"""CUDA devices.  There are none in this build: questions are answered, and everything else says so.

Nothing here opens a driver or contacts a device.
"""

_MESSAGE = "Torch not compiled with CUDA enabled"
_SUBMODULES = ("amp", "memory", "nccl", "nvtx", "random", "streams")
default_generators = ()
has_half = True
has_magma = False

# What asks for a device, and is told that there is none.
_NEEDS_DEVICE = frozenset((
    "init", "_lazy_init", "cudart", "current_device", "set_device", "synchronize", "get_device_name",
    "get_device_capability", "get_device_properties", "can_device_access_peer", "current_stream", "default_stream",
    "current_blas_handle", "ipc_collect", "mem_get_info", "get_rng_state", "initial_seed",
    "set_per_process_memory_fraction", "get_per_process_memory_fraction", "memory_snapshot", "memory_summary",
    "reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_accumulated_memory_stats", "caching_allocator_alloc", "caching_allocator_delete", "get_sync_debug_mode",
    "set_sync_debug_mode", "get_allocator_backend", "get_stream_from_external", "utilization", "temperature",
    "power_draw", "clock_rate", "memory_usage", "device_memory_used", "list_gpu_processes",
    "is_current_stream_capturing", "graph_pool_handle", "make_graphed_callables"))
# What can be subclassed and asked for by isinstance, but not made.
_DUMMIES = frozenset(("Event", "ExternalStream", "CUDAGraph", "MemPool", "CUDAPluggableAllocator", "GreenContext", "graph"))
_TENSORS = ("Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double", "Bool")


class CudaError(RuntimeError):
    """An error of the CUDA runtime."""


class DeferredCudaCallError(Exception):
    """An error of a call that waited for the device."""


def __getattr__(name):
    if name in _NEEDS_DEVICE:
        def value(*args, **kwargs):
            raise AssertionError(_MESSAGE)
        value.__name__ = value.__qualname__ = name
    elif name in _DUMMIES:
        def __init__(self, *args, **kwargs):
            raise RuntimeError(f"Tried to instantiate dummy base class {name}")
        value = type(name, (), {"__init__": __init__, "__module__": __name__})
    elif name in _SUBMODULES:
        return __import__(f"kindling.cuda.{name}", fromlist=("__name__",))
    elif name in ("OutOfMemoryError", "AcceleratorError"):
        import kindling
        value = getattr(kindling, name)
    elif name[-6:] == "Tensor" and name[:-6] in _TENSORS or name[-7:] == "Storage" and name[:-7] in (*_TENSORS, "ComplexFloat", "ComplexDouble"):
        def __new__(cls, *args, **kwargs):
            raise TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled.")
        value = type(name, (), {"__new__": __new__, "__module__": __name__})
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, value)


def is_available():
    """Whether there is a CUDA device: no."""
    return False


def is_initialized():
    """Whether CUDA has been started: no."""
    return False


def device_count():
    """How many CUDA devices there are: none."""
    return 0


def is_bf16_supported(including_emulation=True):
    """Whether the device computes in bfloat16: there is none."""
    return False


def is_tf32_supported():
    """Whether the device computes in TF32: there is none."""
    return False


def get_arch_list():
    """The architectures compiled for: none."""
    return []


def get_gencode_flags():
    """The compiler flags for them."""
    return ""


def _is_compiled():
    return False


class device:
    """A block in which the given device is current; for a negative number or None a block without effect."""

    def __init__(self, device):
        self.idx = _index(device)

    def __enter__(self):
        if self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, kind, value, traceback):
        return False


class device_of(device):
    """A block in which the device of a tensor is current; without effect for one that is not on CUDA."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def _index(device):
    if device is None:
        return -1
    if isinstance(device, int):
        return device
    import kindling
    device = kindling.device(device)
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return 0 if device.index is None else device.index


class Stream:
    """A queue of work on a device; there is none, so none can be made."""

    def __new__(cls, *args, **kwargs):
        raise RuntimeError("torch.cuda.Stream requires CUDA support")


class StreamContext:
    """A block in which the given stream is current; without effect for None."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            raise AssertionError(_MESSAGE)

    def __exit__(self, kind, value, traceback):
        return False


def stream(stream):
    """A block in which the given stream is current; without effect for None."""
    return StreamContext(stream)


def set_stream(stream):
    """Makes a stream current; without effect for None."""
    if stream is not None:
        raise AssertionError(_MESSAGE)


# ---- memory: nothing is held

def empty_cache():
    """Gives cached device memory back: there is none."""


def memory_allocated(device=None):
    """Bytes in use on the device."""
    return 0


memory_reserved = max_memory_allocated = max_memory_reserved = memory_cached = max_memory_cached = memory_allocated


def memory_stats(device=None):
    """Statistics of the device's allocator: none."""
    from collections import OrderedDict
    return OrderedDict()


def memory_stats_as_nested_dict(device=None):
    """The same, nested."""
    return {}


# ---- random numbers: seeds for devices that are not there are taken silently, as programs seed everything

def manual_seed(seed):
    """Seeds the current device's generator."""
    int(seed)


def manual_seed_all(seed):
    """Seeds every device's generator."""
    int(seed)


def seed():
    """Seeds the current device's generator at random."""


def seed_all():
    """Seeds every device's generator at random."""


def get_rng_state_all():
    """The states of all devices' generators: an empty list."""
    return []


def set_rng_state(new_state, device="cuda"):
    """Sets the state of a device's generator."""


def set_rng_state_all(new_states):
    """Sets the states of all devices' generators."""
    if new_states:
        raise AssertionError(_MESSAGE)
