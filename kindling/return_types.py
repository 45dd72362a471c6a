"""The named tuples that operators return: ``torch.return_types.max``, made at their first look-up."""
from kindling import _C


def __getattr__(name):
    value = None if name[:2] == "__" else _C._return_type(name)
    if value is None:
        raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")
    return globals().setdefault(name, value)
