"""Transforms by derivatives, by the path that PyTorch defines them at, and their arguments by number."""
from kindling.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from kindling.func._eager import _argnums

__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def _slice_argnums(args, argnums, as_tuple=True):
    """The arguments at those places."""
    chosen = tuple(args[place] for place in _argnums(argnums, len(args)))
    return chosen[0] if isinstance(argnums, int) and not as_tuple else chosen
