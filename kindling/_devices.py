"""Devices beyond the CPU: their modules, streams and events, and the plug-ins that bring them."""
import os
import sys

from kindling import _C


class AcceleratorError(RuntimeError):
    """An error that a device reports while it works."""


AcceleratorError.__module__ = "torch"


def _is_device_backend_autoload_enabled():
    """Whether plug-ins are looked up: not with ``TORCH_DEVICE_BACKEND_AUTOLOAD=0`` in the environment."""
    return os.getenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1"


def get_device_module(device=None):
    """The module of a device, a device string or, without one, of the accelerator (the CPU where there is none).

    RuntimeError for a device without a module.
    """
    import kindling as torch

    if isinstance(device, torch.device):
        kind = device.type
    elif isinstance(device, str):
        kind = torch.device(device).type
    elif device is None:
        kind = _C._get_accelerator().type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    module = getattr(torch, kind, None)
    if module is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return module


def _register_device_module(device_type, module):
    """Makes ``module`` the run-time module of a device: ``torch.<device_type>``. RuntimeError if there is one already."""
    import kindling as torch

    kind = torch.device(device_type).type
    if hasattr(torch, kind):
        raise RuntimeError(f"The runtime module of '{kind}' has already been registered with '{getattr(torch, kind)}'")
    setattr(torch, kind, module)
    for name in {torch.__name__, "kindling", "torch" if sys.modules.get("torch") is torch else "kindling"}:
        sys.modules[f"{name}.{kind}"] = module


class Stream:
    """A queue of work on a device. On the CPU all work is done at once."""

    def __init__(self, device=None, *, priority=0, stream_id=0, device_index=-1, device_type=None):
        import kindling as torch

        self.device = _C._get_accelerator() if device is None else torch.device(device)
        self.stream_id = stream_id
        self._own = _own(self.device, "Stream", priority=priority)

    @property
    def device_index(self):
        return -1 if self.device.index is None else self.device.index

    @property
    def device_type(self):
        return _TYPES.get(self.device.type, 20)

    def query(self):
        """Whether all work in it is done."""
        return self._own.query() if self._own else True

    def synchronize(self):
        """Waits for its work."""
        if self._own:
            self._own.synchronize()

    def wait_stream(self, stream):
        """Waits for what is in another one now."""
        if self._own:
            self._own.wait_stream(getattr(stream, "_own", stream))

    def wait_event(self, event):
        """Waits for a mark."""
        if self._own:
            self._own.wait_event(getattr(event, "_own", event))

    def record_event(self, event=None):
        """Marks this place; returns the mark."""
        event = event or Event(self.device)
        event.record(self)
        return event

    def __enter__(self):
        import kindling as torch

        module = getattr(torch, self.device.type)
        self._before = module.current_stream() if hasattr(module, "current_stream") else None
        if hasattr(module, "set_stream"):
            module.set_stream(self._own or self)
        return self

    def __exit__(self, *error):
        import kindling as torch

        module = getattr(torch, self.device.type)
        if hasattr(module, "set_stream"):
            module.set_stream(self._before)
        return False

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.device, self.stream_id, self._own) == (other.device, other.stream_id, other._own)

    def __hash__(self):
        return hash((self.device, self.stream_id))

    def __repr__(self):
        return f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id={self.stream_id}"


class Event:
    """A mark in a queue of work."""

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        import kindling as torch

        self.device = _C._get_accelerator() if device is None else torch.device(device)
        self._timed, self._time = enable_timing, None
        self._own = _own(self.device, "Event", enable_timing=enable_timing)

    event_id = 0

    def record(self, stream=None):
        """Marks the place that the work in a stream has come to."""
        from time import perf_counter_ns

        self._time = perf_counter_ns()
        if self._own:
            self._own.record(getattr(stream, "_own", stream))

    def query(self):
        """Whether the work before it is done."""
        return self._own.query() if self._own else True

    def wait(self, stream=None):
        """Makes a stream wait for it."""
        if self._own:
            self._own.wait(getattr(stream, "_own", stream))

    def synchronize(self):
        """Waits for it."""
        if self._own:
            self._own.synchronize()

    def elapsed_time(self, end_event):
        """Milliseconds between two marks made with ``enable_timing=True``. RuntimeError for others."""
        if self._own:
            return self._own.elapsed_time(end_event._own)
        if not (self._timed and end_event._timed):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) / 1e6

    def __repr__(self):
        index = -1 if self.device.index is None else self.device.index
        return f"torch.Event device_type={self.device.type}, device_index={index}, event_flag={int(self._timed)}, event_id={self.event_id}"


Stream.__module__ = Event.__module__ = "torch"
_TYPES = {"cpu": 0, "cuda": 1, "meta": 14}


def _own(device, name, **options):
    """The device module's own object of a kind; None on devices that do all work at once."""
    import kindling as torch

    if device.type in ("cpu", "meta"):
        return None
    module = getattr(torch, device.type, None)
    if module is None or not hasattr(module, name):
        raise RuntimeError(f"Backend '{device.type}' doesn't support torch.{name}: its module has no {name}")
    made = getattr(module, name)
    try:
        return made(**options)
    except TypeError:
        return made()
