"""Operators as PyTorch's native module has them, below the Python functions of the same names (``torch._VF``)."""
import kindling
from kindling import _C


def __getattr__(name):
    value = None if name[:2] == "__" else _C._operator("torch", name)
    if value is None and name[:1] == "_":
        raise AttributeError(f"module 'torch._VF' has no attribute {name!r}")
    return getattr(kindling, name) if value is None else value
