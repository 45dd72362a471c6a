"""Fourier transforms: ``torch.fft``. Each name is the operator ``fft_<name>``, made at its first look-up."""
from kindling import _C


def __getattr__(name):
    value = None if name[:2] == "__" else _C._operator("torch._C._fft", "fft_" + name)
    if value is None:
        raise AttributeError(f"module 'torch.fft' has no attribute '{name}'")
    return globals().setdefault(name, value)


def __dir__():
    return sorted(set(globals()) | {name[len("fft_"):] for name in _C._operator_names(16)})
