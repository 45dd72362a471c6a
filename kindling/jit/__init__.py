"""``torch.jit``: functions, modules and classes as scripts, typed programs that run without Python; and traces of functions and modules."""
from kindling._common import eagerly as _eagerly
from kindling._jit_internal import (  # noqa: F401
    Attribute, _drop, _overload, _overload_method, annotate, export, ignore, is_scripting, is_tracing, isinstance_, unused)

builtins_isinstance = isinstance      # this module has one of its own
isinstance = isinstance_


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


def script_method(fn):
    """Marks a method of a ScriptModule's class that is compiled when an object was made."""
    from kindling.jit._state import _enabled
    if _enabled:
        fn._script_method = True
    return fn


def interface(obj):
    """Makes a class an interface: a type of all classes, or modules, that have its methods."""
    import inspect
    import kindling as torch
    if not inspect.isclass(obj):
        raise RuntimeError("interface must be applied to a class")
    obj.__torch_script_interface__ = issubclass(obj, torch.nn.Module)
    from kindling.jit import _classes
    _classes.class_of(obj)
    return obj


def script_if_tracing(fn):
    """The function, compiled first where it is called while something is traced."""
    import functools

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if not is_tracing():
            return fn(*args, **kwargs)
        return script(fn)(*args, **kwargs)

    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    return wrapper


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Compiles a function to a script: a typed program that runs without Python.

    Args:
        obj: a Python function, a module, a class, or an object of one. Parameters without an annotation are tensors.

    Returns:
        ScriptFunction, called as the function is; a ScriptModule with the module's parameters and buffers; the class itself, which scripts
        may use from then on. ``graph`` shows what a function, or a module's forward, does.

    RuntimeError that shows the line of what is no TorchScript.

    >>> import kindling as torch
    >>> @torch.jit.script
    ... def double(x):
    ...     return x * 2
    >>> double(torch.tensor(3))
    tensor(6)
    """
    import types
    import warnings

    import kindling as torch
    from kindling.jit import _classes, _frontend
    from kindling.jit._state import _enabled
    if not _enabled:
        return obj
    if optimize is not None:
        warnings.warn("`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead", FutureWarning, stacklevel=2)
    if builtins_isinstance(obj, _frontend.ScriptFunction_base()):
        return obj
    if builtins_isinstance(obj, torch.nn.Module):
        from kindling.jit import _recursive, _script_module
        if builtins_isinstance(obj, _script_module.ScriptModule):
            return obj
        obj = _recursive.prepared(obj, {})
        try:
            return _recursive.script_module(obj)
        except NotImplementedError:     # what nothing runs yet
            _eagerly.tell("jit.script")
            return obj
    if builtins_isinstance(obj, type):
        if issubclass(obj, torch.nn.Module):
            raise RuntimeError(f"Type '{obj}' cannot be compiled since it inherits from nn.Module, consider passing an instance instead")
        import enum
        if issubclass(obj, enum.Enum):
            return obj
        if len(obj.mro()) > 2:
            raise RuntimeError("TorchScript classes does not support inheritance yet. Please directly inherit from 'object'.")
        import sys
        frame = sys._getframe(1 + _frames_up)
        _classes.class_of(obj, None, {**frame.f_globals, **frame.f_locals})
        return obj
    if builtins_isinstance(obj, (types.FunctionType, types.MethodType)):
        if hasattr(obj, "__script_if_tracing_wrapper"):
            obj = obj.__original_fn
        if hasattr(obj, "__prepare_scriptable__"):
            obj = obj.__prepare_scriptable__()
        if builtins_isinstance(obj, types.MethodType):
            raise RuntimeError(f"a method ({obj.__qualname__}) is compiled with its object")
        try:
            return _frontend.compile_function(obj)
        except NotImplementedError:
            _eagerly.tell("jit.script")
            return obj
    if builtins_isinstance(obj, (list, dict)):
        return obj
    from kindling.jit import _script_module
    return _script_module.script_object(obj)


enable_onednn_fusion = _eagerly.nothing("enable_onednn_fusion")


def onednn_fusion_enabled():
    """False."""
    return False


class strict_fusion(_eagerly.Block):
    """A block in which a script's compiler would say what it could not fuse."""


def _wrap_future(held):
    from kindling.jit._classes import future_of
    return future_of(held)


def _refuse(name):
    def refuse(*arguments, **keywords):
        raise NotImplementedError(f"torch.jit.{name} needs scripts, which come with compilation; use torch.{name} with the module's state_dict")

    refuse.__name__ = refuse.__qualname__ = name
    refuse._absent = True
    return refuse


load, save = map(_refuse, ("load", "save"))

_CLASSES = frozenset(("ScriptModule", "RecursiveScriptModule", "TracedModule", "TopLevelTracedModule", "ONNXTracedModule", "RecursiveScriptClass"))
_SCRIPTS = ("fork", "wait", "_fork", "_wait")


class ScriptWarning(Warning):
    """A script may not do what it says."""


def __getattr__(name):
    import kindling
    if name in _SCRIPTS:
        value = getattr(kindling, name.lstrip("_"))
    elif name == "Error":
        from kindling._native_names.script import JITException as value
    elif name == "CompilationUnit":
        from kindling.jit._compilation_unit import CompilationUnit as value
    elif name == "ScriptFunction":
        from kindling.jit._script_function import ScriptFunction as value
    elif name in ("trace", "trace_module", "TracingCheckError", "TracerWarning", "_get_trace_graph", "_script_if_tracing"):
        from kindling.jit import _trace
        value = getattr(_trace, name)
    elif name in ("freeze", "optimize_for_inference", "run_frozen_optimizations"):
        from kindling.jit import _freeze
        value = getattr(_freeze, name)
    elif name in ("optimized_execution", "fuser", "set_fusion_strategy"):
        from kindling.jit import _fusers
        value = getattr(_fusers, name)
    elif name == "Future":
        value = kindling.futures.Future
    elif name in _CLASSES:
        from kindling.jit import _script_module
        value = getattr(_script_module, name)
    elif name == "Final":
        from typing import Final as value
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, value)
