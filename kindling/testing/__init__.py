"""Comparison of values and random tensors for tests: ``assert_close``, ``make_tensor``."""
import kindling as _kindling

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

_HOMES = {"assert_close": "_comparison", "assert_allclose": "_comparison", "make_tensor": "_creation"}

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, ("_comparison", "_creation", "_internal", "_utils"))
