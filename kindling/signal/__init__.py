"""Signal processing: ``torch.signal``, which has :mod:`torch.signal.windows`."""
import kindling as _kindling

__all__ = ["windows"]
__getattr__, __dir__ = _kindling._lazy_parts(globals(), {}, ("windows",))
