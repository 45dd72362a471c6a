"""The CPU under the interface of a device module."""

__all__ = ["is_available", "is_initialized", "synchronize", "current_device", "current_stream", "stream", "set_device",
           "device_count", "Stream", "StreamContext", "Event"]


# What the processor has, by torch's question and the kernel's word for it.
_INSTRUCTIONS = {"_is_avx2_supported": "avx2", "_is_avx512_supported": "avx512f", "_is_avx512_bf16_supported": "avx512_bf16",
                 "_is_vnni_supported": "avx512_vnni", "_is_amx_tile_supported": "amx_tile", "_is_amx_fp16_supported": "amx_fp16"}


def _flags():
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split() for line in file if line.startswith("flags")), ())
    except OSError:
        return ()


def __getattr__(name):
    if name == "amp":
        return __import__(__name__ + ".amp", fromlist=("__name__",))
    if name in _INSTRUCTIONS:
        return lambda: _INSTRUCTIONS[name] in _flags()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_available():
    """Whether there is a CPU: yes."""
    return True


def is_initialized():
    """Whether it has been started: yes."""
    return True


def device_count():
    """How many CPU devices there are: one."""
    return 1


def current_device():
    """The current CPU device's name."""
    return "cpu"


def set_device(device):
    """Makes a CPU device current: without effect."""


def synchronize(device=None):
    """Waits for work under way: there is none, as operators on the CPU finish before they return."""


class Stream:
    """A queue of work: on the CPU all work is done at once."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Waits for another stream."""

    def record_event(self):
        """Marks this point."""

    def wait_event(self, event):
        """Waits for a mark."""


class Event:
    """A mark in a queue of work."""

    def query(self):
        """Whether the work before it is done: yes."""
        return True

    def record(self, stream=None):
        """Marks this point."""

    def synchronize(self):
        """Waits for it."""

    def wait(self, stream=None):
        """Makes a stream wait for it."""


_current = Stream()


def current_stream(device=None):
    """The current stream."""
    return _current


class StreamContext:
    """A block in which the given stream is current."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        global _current
        self.previous = _current
        if self.stream is not None:
            _current = self.stream

    def __exit__(self, kind, value, traceback):
        global _current
        _current = self.previous
        return False


def stream(stream):
    """A block in which the given stream is current."""
    return StreamContext(stream)
