"""Tools around the framework: data loading, checkpointing, hooks, trees, DLPack.  Submodules load on first use."""
import kindling as _kindling

_DEVICES = ("rename_privateuse1_backend", "generate_methods_for_privateuse1_backend", "register_device_hooks")


def __getattr__(name):
    if name in _DEVICES:
        from kindling._face import devices as _devices
        return getattr(_devices, name)
    full = f"kindling.utils.{name}"     # not by __name__, which is torch.utils under the alias
    try:
        return __import__(full, fromlist=("__name__",))
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
    if name[:2] == "__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, _kindling._import("kindling._absent").find("utils", name))


def __dir__():
    import pkgutil
    return sorted({*globals(), *_DEVICES, *(module.name for module in pkgutil.iter_modules(__path__))})


def set_module(obj, mod):
    """Sets the module name that `obj` reports."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
