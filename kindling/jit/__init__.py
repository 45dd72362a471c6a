"""``torch.jit``: scripting is not there yet. Questions are answered, marks are accepted, compiling is refused."""


def is_scripting():
    """False."""
    return False


def is_tracing():
    """False."""
    return False


def _mark(function):
    return function


# They say something to a compiler; without one the function stays what it is.
ignore = unused = export = script_method = script_if_tracing = interface = _mark


def annotate(the_type, the_value):
    """The value."""
    return the_value


def _refuse(name):
    def refuse(*arguments, **keywords):
        raise NotImplementedError(f"torch.jit.{name} is not there yet in Kindling; call the function itself")

    refuse.__name__ = name
    return refuse


script = _refuse("script")
trace = _refuse("trace")
trace_module = _refuse("trace_module")
load = _refuse("load")
save = _refuse("save")
freeze = _refuse("freeze")

# For annotations, isinstance, warning filters and except clauses: compiled modules are not there, so nothing is one.
_CLASSES = {"RecursiveScriptModule": "ScriptModule", "TracedModule": "ScriptModule", "TopLevelTracedModule": "TracedModule",
            "ONNXTracedModule": "Module", "ScriptModule": "Module"}
_SCRIPTS = ("CompilationUnit", "Future", "ScriptFunction", "fork", "wait")


class Error(Exception):
    """An error of compiled code."""


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
        value = getattr(kindling, name)
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
