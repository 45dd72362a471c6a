"""Special functions: ``torch.special``. Each name is the operator ``special_<name>``, made at its first look-up."""
from kindling import _C


def __getattr__(name):
    value = None if name[:2] == "__" else _C._operator("torch._C._special", "special_" + name)
    if value is None:
        raise AttributeError(f"module 'torch.special' has no attribute '{name}'")
    return globals().setdefault(name, value)


def __dir__():
    return sorted(set(globals()) | {name[len("special_"):] for name in _C._operator_names(32)})
