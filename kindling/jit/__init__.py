"""``torch.jit``: scripts are not there yet, and nothing waits for them: what would compile gives the function or module itself."""
from kindling import _eagerly

builtins_isinstance = isinstance      # this module has one of its own


def is_scripting():
    """False."""
    return False


def is_tracing():
    """False."""
    return False


def _check_ready(module):
    """RuntimeError for a module whose parameters or buffers have no shape yet, or the modules in it."""
    import kindling as torch
    if not isinstance(module, torch.nn.Module):
        return
    for each in module.modules():
        for what, tensors in (("parameters", each._parameters), ("buffers", each._buffers)):
            for name, tensor in tensors.items():
                if tensor is not None and torch.nn.parameter.is_lazy(tensor):
                    raise RuntimeError(f"'{torch.typename(type(each))}' has uninitialized {what} {name}. Did you forget to run a forward pass?")


# They say something to a compiler; without one the function stays what it is.
ignore, unused, export, script_method, script_if_tracing, interface, _overload, _overload_method = map(_eagerly.mark, (
    "ignore", "unused", "export", "script_method", "script_if_tracing", "interface", "_overload", "_overload_method"))
trace, trace_module, freeze, optimize_for_inference = (_eagerly.command(name, "jit", _check_ready) for name in (
    "trace", "trace_module", "freeze", "optimize_for_inference"))


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Compiles a function to a script: a typed program that runs without Python.

    Args:
        obj: a Python function. Parameters without an annotation are tensors. Modules and classes run as they are.

    Returns:
        ScriptFunction: called as the function is; ``graph`` shows what it does. What scripts cannot do yet gives the function itself.

    RuntimeError that shows the line where the function is no TorchScript.

    >>> import kindling as torch
    >>> @torch.jit.script
    ... def double(x):
    ...     return x * 2
    >>> double(torch.tensor(3))
    tensor(6)
    """
    import types
    if not builtins_isinstance(obj, types.FunctionType):
        _eagerly.tell("jit.script")
        _check_ready(obj)
        return obj
    from kindling.jit import _frontend
    try:
        return _frontend.compile_function(obj)
    except NotImplementedError:
        _eagerly.tell("jit.script")
        return obj
enable_onednn_fusion, run_frozen_optimizations = map(_eagerly.nothing, ("enable_onednn_fusion", "run_frozen_optimizations"))


def annotate(the_type, the_value):
    """The value."""
    return the_value


def onednn_fusion_enabled():
    """False."""
    return False


def set_fusion_strategy(strategy):
    """How scripts would be fused; what was set before."""
    global _strategy
    before, _strategy = _strategy, list(strategy)
    return before


_strategy = [("STATIC", 2), ("DYNAMIC", 10)]


class strict_fusion(_eagerly.Block):
    """A block in which a script's compiler would say what it could not fuse."""


class fuser(_eagerly.Block):
    """A block in which scripts would be fused by another fuser."""


class optimized_execution(_eagerly.Block):
    """A block in which scripts would be optimised, or not."""


def isinstance(obj, target_type):
    """Whether an object is of a type, the types of what containers hold included: `isinstance(x, List[int])`."""
    return any(_is(obj, each) for each in (target_type if type(target_type) is tuple else (target_type,)))


def _is(obj, kind):
    import builtins
    from kindling._jit_internal import is_union
    arguments = getattr(kind, "__args__", ())
    if is_union(kind):
        return any(_is(obj, each) for each in arguments)
    origin = getattr(kind, "__origin__", None)
    if kind is None:
        return obj is None
    if origin is None:
        return builtins.isinstance(obj, kind)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(_is(key, arguments[0]) and _is(value, arguments[1]) for key, value in obj.items())
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(_is(each, arguments[0]) for each in obj)
        return len(obj) == len(arguments) and all(map(_is, obj, arguments))
    return all(_is(each, arguments[0]) for each in obj)


def _refuse(name):
    def refuse(*arguments, **keywords):
        raise NotImplementedError(f"torch.jit.{name} needs scripts, which come with compilation; use torch.{name} with the module's state_dict")

    refuse.__name__ = refuse.__qualname__ = name
    refuse._absent = True
    return refuse


load, save = map(_refuse, ("load", "save"))

# For annotations, isinstance, warning filters and except clauses: compiled modules are not there, so nothing is one.
_CLASSES = {"RecursiveScriptModule": "ScriptModule", "TracedModule": "ScriptModule", "TopLevelTracedModule": "TracedModule",
            "ONNXTracedModule": "Module", "ScriptModule": "Module"}
_SCRIPTS = ("fork", "wait", "_fork", "_wait")


class TracingCheckError(Exception):
    """A trace that differs from the function."""


class TracerWarning(Warning):
    """A trace may not hold for other inputs."""


class ScriptWarning(Warning):
    """A script may not do what it says."""


class RecursiveScriptClass:
    """An object of a compiled class: none can be made."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("torch.jit.RecursiveScriptClass is not there yet in Kindling")


def __getattr__(name):
    import kindling
    if name in _SCRIPTS:
        value = getattr(kindling, name.lstrip("_"))
    elif name == "Error":
        from kindling._script import JITException as value
    elif name == "CompilationUnit":
        from kindling.jit._frontend import CompilationUnit as value
    elif name == "ScriptFunction":
        from kindling.jit._script_function import ScriptFunction as value
    elif name == "Future":
        value = kindling.futures.Future
    elif name in _CLASSES:
        base = _CLASSES[name]
        base = kindling.nn.Module if base == "Module" else getattr(kindling.jit, base)
        value = type(name, (base,), {"__module__": __name__, "__doc__": "A module that runs without compilation: nothing here makes compiled ones."})
    elif name == "Final":
        from typing import Final as value
    elif name == "Attribute":
        from collections import namedtuple
        value = namedtuple("Attribute", ("value", "type"))
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, value)
