"""The machine's accelerator, whatever its kind: the device of the first plug-in, if there is one."""

__path__ = []   # modules below it are declared in _absent
__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "device_index", "empty_cache",
           "empty_host_cache", "get_device_capability", "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved",
           "memory_allocated", "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats",
           "set_device_idx", "set_device_index", "set_stream", "synchronize"]


def _module():
    """The accelerator's module. RuntimeError where there is no accelerator."""
    import kindling as torch

    if current_accelerator() is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return torch.get_device_module(current_accelerator())


def current_accelerator(check_available=False):
    """The accelerator as a `torch.device` without a number; None where there is none."""
    from kindling import _C

    device = _C._get_accelerator()
    return None if device.type == "cpu" or check_available and not is_available() else device


def is_available():
    """Whether there is an accelerator that can be used now."""
    return current_accelerator() is not None and _module().is_available()


def device_count():
    """How many there are."""
    return 0 if current_accelerator() is None else _module().device_count()


def current_device_index():
    """The number of the current one."""
    return _module().current_device()


def _index(device):
    import kindling as torch

    if device is None:
        return current_device_index()
    if isinstance(device, int):
        return device
    device = torch.device(device)
    if device.type != current_accelerator().type:
        raise ValueError(f"{device.type} doesn't match the current accelerator {current_accelerator()}.")
    return current_device_index() if device.index is None else device.index


def set_device_index(device, /):
    """Makes the device of a number current."""
    _module().set_device(_index(device) if not isinstance(device, int) else device)


def _deprecated(name, replacement):
    def call(*arguments):
        from kindling._common.warn import once

        once(f"accelerator.{name}", f"Use `{replacement.__name__}` instead.", FutureWarning, 2)
        return replacement(*arguments)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Deprecated: use :func:`{replacement.__name__}`."
    return call


current_device_idx = _deprecated("current_device_idx", current_device_index)
set_device_idx = _deprecated("set_device_idx", set_device_index)


def current_stream(device=None, /):
    """The current stream of a device."""
    return _module().current_stream(_index(device))


def set_stream(stream):
    """Makes a stream, and its device, current."""
    _module().set_stream(getattr(stream, "_own", None) or stream)


def synchronize(device=None, /):
    """Waits for all work on a device."""
    _module().synchronize(_index(device))


class device_index:
    """A block in which the accelerator of that number is current; without effect for None."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            self.before = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *exc_info):
        if self.idx is not None:
            set_device_index(self.before)
        return False


def __getattr__(name):
    # What is left is asked of the device's module as it is.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def ask(*arguments, **keywords):
        module = _module()
        function = getattr(module, name, None) or getattr(getattr(module, "memory", None), name, None)
        if function is None:
            raise NotImplementedError(f"the device's module {module.__name__} has no {name}")
        return function(*arguments, **keywords)
    ask.__name__ = ask.__qualname__ = name
    return globals().setdefault(name, ask)
