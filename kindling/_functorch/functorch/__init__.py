"""The package ``functorch`` of old programs: transforms that torch.func has now, and modules made functions of their parameters."""
import kindling
from kindling._functorch.deprecated import (combine_state_for_ensemble, functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp,
                                            make_functional, make_functional_with_buffers, vjp, vmap)
from kindling._functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian",
           "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "make_fx", "vjp", "vmap"]
__version__ = kindling.__version__


def __getattr__(name):
    if name == "make_fx":
        return kindling._import("kindling.fx.experimental.proxy_tensor").make_fx
    raise AttributeError(f"module 'functorch' has no attribute {name!r}")
