"""`vmap` and gradients, by the path that PyTorch defines them at."""
from kindling import vmap
from kindling.func import grad, grad_and_value
from kindling.func._vmap import chunk_vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]
