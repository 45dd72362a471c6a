"""``torch.jit.freeze`` and what follows it."""
from kindling import _C

_frozen = 0


def _check(mod, what):
    from kindling.jit._script_module import ScriptModule
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(f"{what} a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'.")


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A copy of a scripted module in eval mode whose parameters, buffers and attributes are constants of its graph.

    Args:
        preserved_attrs: names of attributes that stay attributes, and of methods that stay beside ``forward``.
        optimize_numerics: whether batch normalisation becomes part of the weights before it.

    >>> import kindling as torch
    >>> frozen = torch.jit.freeze(torch.jit.script(torch.nn.Linear(2, 2).eval()))
    >>> list(frozen.parameters())
    []
    """
    _check(mod, "Freezing expects")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing.")
    from kindling.jit._script_module import wrap_object
    preserved = list(preserved_attrs or ())
    out = wrap_object(_C._script_freeze(mod._c, preserved, _name_of(mod)))
    run_frozen_optimizations(out, optimize_numerics, [name for name in preserved if mod._c._has_method(name)])
    return out


def _name_of(mod):
    """Its class's name, marked as another class of that name."""
    global _frozen
    parts = [each for each in mod._c._class().name().split(".") if not each.startswith("___torch_mangle_")]
    parts.insert(len(parts) - 1, f"___torch_mangle_{_frozen}")
    _frozen += 1
    return ".".join(parts)


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Dropout leaves the graphs of a frozen module; batch normalisation becomes part of the weights before it."""
    for name in ["forward", *(preserved_methods or ())]:
        if mod._c._has_method(name):
            _C._jit_pass_optimize_frozen_graph(mod._c._get_method(name).graph, optimize_numerics)


def optimize_for_inference(mod, other_methods=None):
    """A frozen module, optimised as far as that changes no result by more than rounding."""
    _check(mod, "optimize_for_inference expects")
    if hasattr(mod, "training"):
        mod = freeze(mod.eval(), preserved_attrs=other_methods or [])
    return mod
