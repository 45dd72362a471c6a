"""cuDNN: not in this build.  Its switches are kept, so that programs may set them."""
import sys

from kindling.backends import _Flags, _Switches

__path__ = []   # modules below it are declared in _absent

enabled = True
benchmark = False
benchmark_limit = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
conv = _Switches(fp32_precision="tf32")
rnn = _Switches(fp32_precision="tf32")


def version():
    """cuDNN's version: None."""
    return None


def is_available():
    """Whether cuDNN is there: no."""
    return False


def is_acceptable(tensor):
    """Whether cuDNN can work on the tensor: no."""
    return False


def set_flags(_enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None,
              _fp32_precision="none"):
    """Sets the switches that are given; returns their values from before."""
    module = sys.modules[__name__]
    given = {"enabled": _enabled, "benchmark": _benchmark, "benchmark_limit": _benchmark_limit,
             "deterministic": _deterministic, "allow_tf32": _allow_tf32, "fp32_precision": _fp32_precision}
    before = tuple(getattr(module, name) for name in given)
    for name, value in given.items():
        if value is not None:
            setattr(module, name, value)
    return before


def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True,
          fp32_precision="none"):
    """A `with` block that sets the switches and puts them back."""
    return _Flags(sys.modules[__name__], {
        "enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit, "deterministic": deterministic,
        "allow_tf32": allow_tf32, "fp32_precision": fp32_precision})
