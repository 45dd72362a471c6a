"""The layer classes, one file a family, by the table of kindling.nn."""
import kindling as _kindling
import kindling.nn as _nn

__all__ = list(_nn._CLASSES)
__getattr__, __dir__ = _kindling._lazy_parts(globals(), _nn._CLASSES, (*_nn._FAMILIES, "utils", "lazy"))
