"""Devices beyond the CPU: their modules, streams and events, and the plug-ins that bring them."""
import _thread
import os
import sys

from kindling import _C


class AcceleratorError(RuntimeError):
    """An error that a device reports while it works."""


AcceleratorError.__module__ = _C.Size.__module__


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


_loading = _thread.RLock()
_plugins = None     # {name: error or None} of the entry points that were loaded


def _load_plugins(device):
    """Loads the entry points of the group torch.backends, once, when a device is named that nobody knows.

    Returns what an error about it should add: which plug-ins failed, and why. A failing one stops nothing else.
    """
    global _plugins
    if not _is_device_backend_autoload_enabled():
        return " (plug-ins are not looked up: TORCH_DEVICE_BACKEND_AUTOLOAD=0)"
    with _loading:      # a plug-in may name a device while it loads, and other threads wait
        if _plugins is None:
            _plugins = {}
            from importlib.metadata import entry_points
            for entry in entry_points(group="torch.backends"):
                _plugins[entry.name] = None
                try:
                    entry.load()()
                except Exception as error:
                    _plugins[entry.name] = f"{type(error).__name__}: {error}"
    failed = "; ".join(f"the plug-in '{name}' failed: {error}" for name, error in _plugins.items() if error)
    return f" ({failed}; TORCH_DEVICE_BACKEND_AUTOLOAD=0 leaves plug-ins out)" if failed else ""


def _import_device_backends():
    """Loads the plug-ins now; RuntimeError, which names it, where one fails."""
    _load_plugins("")
    for name, error in (_plugins or {}).items():
        if error:
            raise RuntimeError(f"Failed to load the backend extension: {name}. You can disable extension auto-loading with "
                               f"TORCH_DEVICE_BACKEND_AUTOLOAD=0. ({error})")


def rename_privateuse1_backend(backend_name):
    """Gives a plug-in's device its name. Each further name is a device of its own, with the keys PrivateUse2 and PrivateUse3.

    RuntimeError for a name that is taken, or when all three are.
    """
    if not isinstance(backend_name, str):
        raise RuntimeError(f"_rename_privateuse1_backend expects a str, but got {type(backend_name).__name__}")
    if not backend_name.isidentifier():
        raise RuntimeError(f"a device's name is a word, not {backend_name!r}")
    if backend_name in ("cpu", "cuda", "meta", "mps", "xpu", "hpu", "mtia", "xla"):
        raise RuntimeError(f"Cannot register privateuse1 backend with in-tree device name: {backend_name}")
    number = _C._name_private_device(backend_name)
    if number < 0:
        names = ", ".join(name for name, _, _ in _C._private_devices())
        raise RuntimeError(f"torch.register_privateuse1_backend() has already been set! Current backends: {names}")
    return number


def register_device_hooks(backend_name, hooks):
    """Gives a named device its memory: an object with ``allocate(bytes, device) -> address``, ``free(address, bytes)``,
    ``copy(to, to_device, from, from_device, bytes)`` (device -1 is the host) and, where there are several, ``current_device()``.
    """
    _C._set_private_hooks(rename_privateuse1_backend(backend_name), hooks)


def generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=False,
                                             unsupported_dtype=None):
    """Adds ``is_<name>`` and ``<name>()`` of each named plug-in device to tensors, modules, packed sequences and storages."""
    import kindling as torch
    from kindling.nn import Module
    from kindling.nn.utils.rnn import PackedSequence

    def place(name, device):
        if device is None:
            return torch.device(name)
        if isinstance(device, int):
            return torch.device(name, device)
        device = torch.device(device)
        if device.type != name:
            raise RuntimeError(f"Invalid device, must be {name} device")
        return device

    for name, _, _ in _C._private_devices():
        def mover(to, name=name):
            def move(self, device=None, non_blocking=False, **keywords):
                return to(self, place(name, device), non_blocking)
            move.__name__ = move.__qualname__ = name
            move.__doc__ = f"The same on the device {name}."
            return move

        def asks(get, name=name):
            return property(lambda self: get(self).type == name, doc=f"Whether it is on the device {name}.")
        kinds = [(for_tensor, torch.Tensor, lambda self, device, wait: self.to(device, non_blocking=wait), lambda self: self.device),
                 (for_module, Module, lambda self, device, wait: self.to(device), None),
                 (for_packed_sequence, PackedSequence, lambda self, device, wait: self.to(device), lambda self: self.data.device),
                 (for_storage, torch.UntypedStorage, None, lambda self: self.device)]
        for wanted, cls, to, where in kinds:
            if not wanted:
                continue
            if where is not None and not hasattr(cls, "is_" + name):
                setattr(cls, "is_" + name, asks(where))
            if to is not None and not hasattr(cls, name):
                setattr(cls, name, mover(to))


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


Stream.__module__ = Event.__module__ = _C.Size.__module__
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
