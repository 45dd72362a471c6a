"""Signal processing: ``torch.signal``, which has :mod:`torch.signal.windows`."""
from kindling.signal import windows

__all__ = ["windows"]
