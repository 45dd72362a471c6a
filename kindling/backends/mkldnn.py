"""oneDNN: not in this build.  Its switches are kept, so that programs may set them."""
import sys

from kindling.backends import _Flags, _Switches

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
enabled = True
deterministic = False
allow_tf32 = False
fp32_precision = "none"
matmul = _Switches(fp32_precision="none")
conv = _Switches(fp32_precision="none")
rnn = _Switches(fp32_precision="none")


def is_available():
    """Whether oneDNN is there: no."""
    return False


def is_acl_available():
    """Whether the ARM Compute Library is there: no."""
    return False


def set_flags(_enabled=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"):
    """Sets the switches that are given; returns their values from before."""
    module = sys.modules[__name__]
    given = {"enabled": _enabled, "deterministic": _deterministic, "allow_tf32": _allow_tf32,
             "fp32_precision": _fp32_precision}
    before = tuple(getattr(module, name) for name in given)
    for name, value in given.items():
        if value is not None:
            setattr(module, name, value)
    return before


def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """A `with` block that sets the switches and puts them back."""
    return _Flags(sys.modules[__name__], {"enabled": enabled, "deterministic": deterministic,
                                          "allow_tf32": allow_tf32, "fp32_precision": fp32_precision})


class verbose:
    """A `with` block in which the library would report its calls; without effect."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return False
