"""``torch._check`` and its kin: an error of the right class, its message made only when it is needed."""
import builtins

from kindling import _C


def _check_with(error_type, cond, message=None):
    """Raises ``error_type`` with the text of ``message()`` unless ``cond``."""
    if cond is True:
        return
    if not isinstance(cond, builtins.bool) and not hasattr(cond, "__sym_ite__"):     # a symbolic truth value has that
        if isinstance(cond, _C.Tensor):
            raise TypeError("cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that all "
                            "elements are true.")
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if not issubclass(error_type, Exception):
        raise TypeError(f"error_type must be an Exception subclass, but got {error_type}")
    if message is None:
        raise error_type("Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
                         "enhancement request to PyTorch.)")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond, message=None):
    """RuntimeError unless ``cond``. ``message``: a function that gives the text.

    >>> torch._check(2 > 1, lambda: "never made")
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """IndexError unless ``cond``."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """ValueError unless ``cond``."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """TypeError unless ``cond``."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """NotImplementedError unless ``cond``."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """RuntimeError unless ``0 <= i`` (and ``i <= max``). Deprecated."""
    import warnings
    warnings.warn("_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious. \\\n    Use _check(i >= 0) "
                  "instead.".replace("\\\n", ""), FutureWarning, stacklevel=2)
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raises ``error_type`` unless every element of a bool tensor is true."""
    if not isinstance(cond, _C.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _C.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, cond.all().item(), message)


def _check_tensor_all(cond, message=None):
    """RuntimeError unless every element of a bool tensor is true."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _as_tensor_fullprec(t):
    """``torch.as_tensor``, but a Python float becomes float64 and an int int64."""
    dtype = _C.float64 if type(t) is builtins.float else _C.int64 if type(t) is builtins.int else None
    return _C.as_tensor(t, dtype=dtype) if dtype else _C.as_tensor(t)


def _assert(condition, message):
    """An assertion as a function, which a tracer sees."""
    if type(condition) is not _C.Tensor and _C._has_torch_function((condition,)):
        from kindling import overrides
        return overrides.handle_torch_function(_assert, (condition,), condition, message)
    if not condition:
        raise AssertionError(message)


def _assert_async(tensor, assert_msg=None):
    """RuntimeError if a tensor of one element is zero."""
    if not tensor:
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _shape_as_tensor(tensor):
    """The sizes, as an int64 tensor."""
    import kindling
    return kindling.tensor(tensor.shape)
