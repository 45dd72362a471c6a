"""Streams and events: see `torch.cuda`."""
from kindling.cuda import Stream

__all__ = ["Stream", "Event", "ExternalStream"]


def __getattr__(name):
    if name in __all__:
        import kindling.cuda
        return getattr(kindling.cuda, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
