"""The thread's autocast settings. The core has those of the CPU that it acts on; the rest is kept here."""
from _thread import _local

import kindling as torch
from kindling import _C

DEVICES = {"cpu": "bfloat16", "cuda": "float16", "xpu": "float16", "mps": "float16", "hpu": "bfloat16",
           "mtia": "float16", "xla": "bfloat16", "maia": "bfloat16", "ipu": "float16", "privateuseone": "float16"}

NAMES = ("is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype",
         "autocast_increment_nesting", "autocast_decrement_nesting", "clear_autocast_cache",
         "is_autocast_cache_enabled", "set_autocast_cache_enabled", "get_autocast_cpu_dtype", "get_autocast_gpu_dtype",
         "set_autocast_cpu_dtype", "set_autocast_gpu_dtype", "is_autocast_cpu_enabled", "set_autocast_cpu_enabled")
__all__ = list(NAMES)


class _Settings(_local):
    def __init__(self):
        self.dtypes = {}
        self.enabled = {}
        self.cache = True
        self.depth = 0


_settings = _Settings()


def _known(device_type):
    if device_type not in DEVICES:
        torch.device(device_type)   # says which kinds there are
        raise RuntimeError("unsupported scalarType")
    return device_type


def _tell(enabled):
    _C._set_autocast(enabled, get_autocast_dtype("cpu"), _settings.cache)


def is_autocast_enabled(device_type="cuda"):
    """Whether operators on such a device choose their dtypes now."""
    return _C._autocast_on() if device_type == "cpu" else _settings.enabled.get(_known(device_type), False)


def set_autocast_enabled(device_type, enabled=None):
    """Switches autocast on or off for a kind of device (with one argument: for CUDA)."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if device_type == "cpu":
        _tell(enabled)
    else:
        _settings.enabled[_known(device_type)] = bool(enabled)


def get_autocast_dtype(device_type):
    """The dtype that autocast chooses on such a device."""
    return _settings.dtypes.get(device_type) or getattr(torch, DEVICES[_known(device_type)])


def set_autocast_dtype(device_type, dtype):
    """Sets the dtype that autocast chooses on such a device."""
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    _settings.dtypes[_known(device_type)] = dtype
    if device_type == "cpu":
        _tell(_C._autocast_on())


def autocast_increment_nesting():
    """Notes one more `with` block; returns how many there are."""
    _settings.depth += 1
    return _settings.depth


def autocast_decrement_nesting():
    """Notes the end of a `with` block; returns how many are left."""
    _settings.depth -= 1
    return _settings.depth


clear_autocast_cache = _C.clear_autocast_cache


def is_autocast_cache_enabled():
    """Whether casts of parameters are kept until the outermost block ends."""
    return _settings.cache


def set_autocast_cache_enabled(enabled):
    """Says whether casts of parameters are kept until the outermost block ends."""
    _settings.cache = bool(enabled)
    _tell(_C._autocast_on())


def get_autocast_cpu_dtype():
    """The dtype that autocast chooses on the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype():
    """The dtype that autocast chooses on CUDA devices."""
    return get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype):
    """Sets the dtype that autocast chooses on the CPU."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype):
    """Sets the dtype that autocast chooses on CUDA devices."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cpu_enabled():
    """Whether autocast is on for the CPU."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """Switches autocast on or off for the CPU."""
    set_autocast_enabled("cpu", enabled)

