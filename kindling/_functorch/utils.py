"""Small things that PyTorch's transforms share."""
from kindling import _C

__all__ = ["argnums_t", "exposed_in", "unwrap_dead_wrappers"]

argnums_t = int | tuple[int, ...]


def exposed_in(module):
    """A decorator: what it is put before says that it is of that module."""
    def name(value):
        value.__module__ = module
        return value
    return name


def unwrap_dead_wrappers(args):
    """The arguments, those of transforms that have ended as they are outside."""
    return tuple(_C._functorch.unwrap_if_dead(each) if hasattr(each, "grad_fn") else each for each in args)
