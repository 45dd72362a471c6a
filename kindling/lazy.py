"""Lazy imports for packages of one's own: what starts late costs nothing until it is used.

In a package's ``__init__.py``::

    from kindling import lazy
    __getattr__, __dir__, __all__ = lazy.attach(__name__, submodules=["models"], attributes={"training": ["train", "evaluate"]},
                                                deprecated={"fit": "train"})

and anywhere::

    pandas = lazy.module("pandas")     # imported when one of its attributes is first asked for

An import that fails later says where it was declared. ``KINDLING_EAGER_IMPORT=1`` imports at once, for all
packages and Kindling itself; ``KINDLING_EAGER_LAZY=a.b,c`` those that are named.
"""
import os
import sys

__all__ = ["attach", "module"]


def _declared(depth):
    frame = sys._getframe(depth)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _eager(name):
    """Whether the environment asks for this module now."""
    if os.environ.get("KINDLING_EAGER_IMPORT") == "1":
        return True
    return name in os.environ.get("KINDLING_EAGER_LAZY", "").replace(",", " ").split()


def _import(name, declared, what=None):
    try:
        # Not out of sys.modules: a module is not there for a moment when it has run, and another thread may look just then.
        return __import__(name, fromlist=("__name__",))
    except ImportError as error:
        text = f"{error} (wanted by the lazy import of {what or name}, declared at {declared})"
        made = type(error)(text, name=error.name, path=error.path) if type(error) in (ImportError, ModuleNotFoundError) else ImportError(text)
        raise made from error


def attach(package, submodules=(), attributes=None, deprecated=None):
    """``__getattr__``, ``__dir__`` and ``__all__`` for a package whose parts are imported on first use.

    ``submodules``: names of modules below it; ``attributes``: {submodule: [names that it defines]}; ``deprecated``: {old name: new name},
    which warns once. ImportError, which shows this declaration, when a part fails; AttributeError for other names.
    """
    declared = _declared(2)
    submodules = frozenset(submodules)
    homes = {name: home for home, names in (attributes or {}).items() for name in names}
    deprecated = dict(deprecated or {})
    public = sorted({*submodules, *homes})

    def __getattr__(name):
        if name in deprecated:
            from kindling._common.warn import once
            new = deprecated[name]
            once((package, name), f"{package}.{name} is deprecated, use {package}.{new}", FutureWarning, 2)
            return getattr(sys.modules[package], new)
        if name in homes:
            home = _import(f"{package}.{homes[name]}", declared, f"{package}.{name}")
            try:
                value = getattr(home, name)
            except AttributeError:
                raise AttributeError(f"module {home.__name__!r} has no attribute {name!r}, which the lazy import declared at {declared} says it "
                                     "has") from None
        elif name in submodules:
            value = _import(f"{package}.{name}", declared)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def __dir__():
        return sorted({*vars(sys.modules[package]), *public})

    for name in public:
        if _eager(package) or _eager(f"{package}.{name}"):
            __getattr__(name)
    return __getattr__, __dir__, list(public)


class _Later(type(sys)):
    """A module that is not imported yet."""

    def __getattr__(self, name):
        if name in ("__path__", "__file__", "__spec__", "__wrapped__"):
            raise AttributeError(name)
        return getattr(self._load(), name)

    def _load(self):
        state = vars(self)
        if "_module" not in state:
            state["_module"] = _import(state["_name"], state["_declared"])
        return state["_module"]

    def __setattr__(self, name, value):
        setattr(self._load(), name, value)

    def __dir__(self):
        return dir(self._load())

    def __repr__(self):
        state = vars(self)
        return repr(state["_module"]) if "_module" in state else f"<lazy module {state['_name']!r}, declared at {state['_declared']}>"

    def __reduce__(self):
        return _restore, (vars(self)["_name"],)


def _restore(name):
    return __import__(name, fromlist=("__name__",))


def module(name):
    """The module ``name``, imported when one of its attributes is first asked for; at once if it is loaded already."""
    declared = _declared(2)
    if name in sys.modules or _eager(name):
        return _import(name, declared)
    later = _Later(name)
    vars(later).update(_name=name, _declared=declared)
    return later
