"""The layer classes, one file a family, by the table of kindling.nn."""
import kindling as _kindling
import kindling.nn as _nn

__all__ = list(_nn._CLASSES)
# Families whose lazy forms lie in a file of their own: they bring the lazy machinery, which few programs use.
_LATE = {"linear": "_lazy_linear", "conv": "_lazy_conv", "batchnorm": "_lazy_norm", "instancenorm": "_lazy_norm"}
__getattr__, __dir__ = _kindling._lazy_parts(globals(), _nn._CLASSES, (*_nn._FAMILIES, "utils", "lazy"))


def _lazy_forms(module):
    """`__getattr__` of a family's module, which has its lazy forms too."""
    def __getattr__(name):
        value = None
        if name.startswith(("Lazy", "_Lazy")):
            value = getattr(_kindling._import(f"{__spec__.name}.{_LATE[module.rpartition('.')[2]]}"), name, None)
        if value is None:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        return value
    return __getattr__
