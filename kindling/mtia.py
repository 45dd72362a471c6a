"""Meta's accelerators: there are none in this build."""
__path__ = []   # modules below it are declared in _absent


def is_available():
    """Whether there is such a device: no."""
    return False


def is_initialized():
    """Whether it has been started: no."""
    return False


def device_count():
    """How many there are: none."""
    return 0


def manual_seed(seed):
    """Seeds the device's generator; without effect, as programs seed everything."""
    int(seed)


manual_seed_all = manual_seed


def __getattr__(name):
    from kindling._common import placeholders as _placeholders
    if name in ("Stream", "Event"):
        import kindling
        made = getattr(kindling, name)
    elif name in ("device", "StreamContext"):
        from kindling import cuda
        made = type(name, (getattr(cuda, name),), {"__module__": __name__})    # as there: without effect, or refused
    elif name in ("MTIAGraph", "graph"):
        made = _placeholders.classes(__name__, name, RuntimeError, "Cannot execute mtiagraphCreate() without MTIA backend.")[name]
    elif name == "DeferredMtiaCallError":
        made = _placeholders.errors(__name__, name)[name]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, made)


def stream(stream):
    """A block in which the given stream is current; without effect for None."""
    return __getattr__("StreamContext")(stream)
