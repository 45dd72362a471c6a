"""Linear algebra: ``torch.linalg``. Each name is the operator ``linalg_<name>``, made at its first look-up."""
from kindling import _C


def __getattr__(name):
    value = None if name[:2] == "__" else _C._operator("torch._C._linalg", "linalg_" + name)
    if value is None:
        raise AttributeError(f"module 'torch.linalg' has no attribute '{name}'")
    return globals().setdefault(name, value)


def __dir__():
    return sorted(set(globals()) | {name[len("linalg_"):] for name in _C._operator_names(8)})


LinAlgError = _C._error_class("_LinAlgError")
