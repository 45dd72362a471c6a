"""Forward-mode differentiation: tensors that carry a tangent.

The core keeps tangents by the numbers of levels that it gives out; here, as in PyTorch, one level is open at a time and called 0.
"""
from kindling import _C

__all__ = ["UnpackedDualTensor", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual", "dual_level"]

_current_level = -1
_opened = []     # the core's numbers of the levels that are open


class UnpackedDualTensor(tuple):
    """(primal, tangent) of a dual tensor; the tangent of an ordinary one is None."""
    __slots__ = ()
    _fields = ("primal", "tangent")

    def __new__(cls, primal, tangent):
        return tuple.__new__(cls, (primal, tangent))

    primal = property(lambda self: self[0])
    tangent = property(lambda self: self[1])

    def __repr__(self):
        return f"UnpackedDualTensor(primal={self[0]!r}, tangent={self[1]!r})"


def enter_dual_level():
    """Opens a level in which dual tensors can be made; gives its number."""
    global _current_level
    if _opened:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _opened.append(_C._enter_dual_level())
    _current_level = len(_opened) - 1
    return _current_level


def exit_dual_level(*, level=None):
    """Closes the level: its tangents are gone."""
    global _current_level
    if level is None:
        level = _current_level
    if level != _current_level:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    if not _opened:
        raise RuntimeError("Trying to exit a forward AD level but no level is open")
    _C._exit_dual_level(_opened.pop())
    _current_level = len(_opened) - 1


def _number(level):
    """The core's number of a level, the last one if it is None; None where none is open."""
    level = _current_level if level is None else level
    return _opened[level] if 0 <= level < len(_opened) else None


def make_dual(tensor, tangent, *, level=None):
    """A view of `tensor` that carries `tangent`, of the same shape and dtype, for as long as the level is open.

    >>> with torch.autograd.forward_ad.dual_level():
    ...     dual = torch.autograd.forward_ad.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    ...     print(torch.autograd.forward_ad.unpack_dual(dual * dual).tangent)
    tensor(4.)
    """
    number = _number(level)
    if number is None:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    return _C._make_dual(tensor, tangent, number)


def unpack_dual(tensor, *, level=None):
    """(primal, tangent): tangent is None where `tensor` has none."""
    number = _number(level)
    if number is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(_C._primal(tensor, number), _C._tangent(tensor, number))


class dual_level:
    """A level for a `with` block."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, kind, value, traceback):
        exit_dual_level()


def _is_fwd_grad_enabled():
    return _C._is_fwd_grad_enabled()


class _set_fwd_grad_enabled:
    def __init__(self, mode):
        self.prev = _C._is_fwd_grad_enabled()
        _C._set_fwd_grad_enabled(mode)

    def __enter__(self):
        pass

    def __exit__(self, kind, value, traceback):
        _C._set_fwd_grad_enabled(self.prev)
