"""Transforms by their old names in `functorch`, which warn and say the new one."""
import kindling as torch
from kindling._functorch import make_functional as _modules

__all__ = ["combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional",
           "make_functional_with_buffers", "vjp", "vmap"]


def _old(name, function, instead=None):
    text = ("We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
            f"Please use `{instead or f'torch.func.{name}'}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration "
            "guide for more details https://pytorch.org/docs/main/func.migrating.html")

    def deprecated(*args, **kwargs):
        import warnings
        warnings.warn(text, FutureWarning, stacklevel=2)
        return function(*args, **kwargs)
    deprecated.__name__ = deprecated.__qualname__ = name
    deprecated.__doc__ = function.__doc__
    return deprecated


vmap = _old("vmap", torch.vmap, "torch.vmap")
grad, grad_and_value, vjp, jvp, jacrev, jacfwd, hessian, functionalize = (
    _old(name, getattr(torch.func, name)) for name in "grad grad_and_value vjp jvp jacrev jacfwd hessian functionalize".split())
make_functional, make_functional_with_buffers = (
    _old(name, getattr(_modules, name), "torch.func.functional_call") for name in ("make_functional", "make_functional_with_buffers"))
combine_state_for_ensemble = _old("combine_state_for_ensemble", _modules.combine_state_for_ensemble, "torch.func.stack_module_state")
