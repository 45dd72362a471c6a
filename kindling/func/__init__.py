"""Transforms of functions: gradients, products with Jacobians, whole Jacobians, calls with other parameters."""
import kindling as _kindling

_HOMES = {
    **dict.fromkeys(("grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "linearize", "functionalize"), "_eager"),
    **dict.fromkeys(("functional_call", "stack_module_state", "replace_all_batch_norm_modules_", "debug_unwrap"), "_modules"),
    "rearrange": "_rearrange",
}

__all__ = ["grad", "grad_and_value", "vmap", "replace_all_batch_norm_modules_", "functionalize", "hessian", "jacfwd", "jacrev", "jvp",
           "linearize", "rearrange", "vjp", "functional_call", "stack_module_state", "debug_unwrap"]

_parts, _names = _kindling._lazy_parts(globals(), _HOMES, ())


def __getattr__(name):
    if name == "vmap":
        return globals().setdefault(name, _kindling.vmap)
    return _parts(name)


def __dir__():
    return sorted({*_names(), *__all__})
