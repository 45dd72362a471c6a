"""``torch.jit``: functions, modules and classes as scripts, typed programs that run without Python; and traces of functions and modules."""
from kindling._common import eagerly as _eagerly

builtins_isinstance = isinstance      # this module has one of its own


def is_scripting():
    """False."""
    return False


def is_tracing():
    """Whether the function that calls this is being traced."""
    from kindling import _C
    return _C._is_tracing()


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


def _marked(fn, which):
    from kindling._jit_internal import FunctionModifiers
    target = fn.fget if builtins_isinstance(fn, property) else fn
    target._torchscript_modifier = getattr(FunctionModifiers, which)
    return fn


def ignore(drop=False, **kwargs):
    """Marks a function or method that scripts call in Python, as it is; with `drop` calls of it raise."""
    if callable(drop):
        return _marked(drop, "IGNORE")
    if not builtins_isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    return lambda fn: _marked(fn, "UNUSED" if drop else "IGNORE")


def unused(fn):
    """Marks a function or method that scripts do not compile: calls of it raise there."""
    return _marked(fn, "UNUSED")


def _drop(fn):
    return _marked(fn, "_DROP")


def export(fn):
    """Marks a method that is compiled even if nothing calls it."""
    return _marked(fn, "EXPORT")


def script_method(fn):
    """Marks a method of a ScriptModule's class that is compiled when an object was made."""
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


def _overload(func):
    from kindling import _jit_internal
    return _jit_internal._overload(func)


_overload_method = _overload


class Attribute(tuple):
    """A value with the type that scripts take it for, in the ``__init__`` of a module's class."""

    __slots__ = ()

    def __new__(cls, value, type):
        return tuple.__new__(cls, (value, type))

    value = property(lambda self: self[0])
    type = property(lambda self: self[1])


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
    from kindling.jit import _classes, _frontend, _recursive
    if optimize is not None:
        warnings.warn("`optimize` is deprecated and has no effect. Use `with torch.jit.optimized_execution()` instead", FutureWarning, stacklevel=2)
    if builtins_isinstance(obj, _frontend.ScriptFunction_base()):
        return obj
    if builtins_isinstance(obj, torch.nn.Module):
        if builtins_isinstance(obj, _recursive.script_module_type()):
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
    return _recursive.script_object(obj)


enable_onednn_fusion = _eagerly.nothing("enable_onednn_fusion")


def annotate(the_type, the_value):
    """The value."""
    return the_value


def onednn_fusion_enabled():
    """False."""
    return False


class strict_fusion(_eagerly.Block):
    """A block in which a script's compiler would say what it could not fuse."""


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
        from kindling.jit._frontend import CompilationUnit as value
    elif name == "ScriptFunction":
        from kindling.jit._script_function import ScriptFunction as value
    elif name in ("trace", "trace_module", "TracingCheckError", "TracerWarning", "_get_trace_graph", "_script_if_tracing"):
        from kindling.jit import _trace
        value = getattr(_trace, name)
    elif name in ("freeze", "optimize_for_inference", "run_frozen_optimizations", "optimized_execution", "fuser", "set_fusion_strategy"):
        from kindling.jit import _freeze
        value = getattr(_freeze, name)
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
