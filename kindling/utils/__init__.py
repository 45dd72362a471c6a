"""Tools around the framework: data loading, checkpointing, hooks, trees, DLPack.  Submodules load on first use."""

_SUBMODULES = ("backend_registration", "checkpoint", "collect_env", "data", "dlpack", "hooks", "model_zoo",
               "tensorboard", "_pytree")


def __getattr__(name):
    if name in _SUBMODULES:
        __import__(__name__ + "." + name)
        import sys
        return sys.modules[__name__ + "." + name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_SUBMODULES])


def set_module(obj, mod):
    """Sets the module name that `obj` reports."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
