"""The families of kindling.nn.functional, and how they give way to __torch_function__."""
import kindling.nn as _nn
from kindling import _C

# Fast native tests whether an argument has __torch_function__.
has_one = _C._has_torch_function_unary
has_any = _C._has_torch_function_variadic


def handle(function, relevant, *args, **kwargs):
    """Lets the arguments' __torch_function__ answer the call of `function`."""
    import kindling
    return kindling.overrides.handle_torch_function(function, relevant, *args, **kwargs)


def warn(text, category=UserWarning, stacklevel=3):
    """Warns at the caller of the function that calls this one."""
    import warnings
    warnings.warn(text, category, stacklevel=stacklevel)


def public(scope, names):
    """Gives the functions of a family the module name under which programs know them."""
    for name in names:
        scope[name].__module__ = __name__.partition(".")[0] + ".nn.functional"
