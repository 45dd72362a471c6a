"""The layer classes, one file a family; names resolve through kindling.nn's table."""
import kindling.nn as _nn

__path__.append(_nn.__path__[1] + "/modules")

__all__ = list(_nn._CLASSES)


def __getattr__(name):
    if name in _nn._CLASSES:
        value = getattr(_nn._load(_nn._HOMES[name]), name)
    elif name in _nn._FAMILIES or name in ("utils", "lazy"):
        value = _nn._load(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__, *_nn._FAMILIES, "utils", "lazy"})
