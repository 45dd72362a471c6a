"""A trial in the program's process: some of its imports are put off until something of them is used.

What `kindling startup` puts at the front of PYTHONPATH, as sitecustomize, to measure what deferring an import would save.
A deferred module gives stand-ins for its attributes, so that `from module import name` defers, too; whatever is done with a
stand-in loads the module. Modules to watch are loaded as ever, and what their loading left behind is noted. Imports
nothing that the interpreter has not loaded. Runs on any CPython from 3.10.
"""

import sys

import _thread
import posix
from time import perf_counter_ns as now

_environ = __import__("os").environ
_log = _environ.pop("KINDLING_DEFERRAL_LOG")
_defer = set(filter(None, _environ.pop("KINDLING_DEFERRAL_NAMES").split(",")))
_watch = set(filter(None, _environ.pop("KINDLING_DEFERRAL_WATCH").split(",")))
_path = _environ.pop("KINDLING_DEFERRAL_PATH")
_Module = type(sys)
_states = {}


def _note(*words):
    """One line in the log, written at once."""
    file = posix.open(_log, posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT, 0o600)
    posix.write(file, ("\t".join(map(str, words)).replace("\n", " ") + "\n").encode("utf-8", "replace"))
    posix.close(file)


class _Deferred(_Module):
    """A module not loaded yet."""

    def __getattribute__(self, name):
        found = _Module.__getattribute__(self, "__dict__")
        if name in found:
            return found[name]
        if name in ("__class__", "__dict__"):
            return _Module.__getattribute__(self, name)
        if name == "__path__":  # what is a package has it already; the import system asks each module
            raise AttributeError(name)
        if name[:2] == "__" and name[-2:] == "__":
            return getattr(_load(self, name), name)
        return _StandIn(self, name)

    def __setattr__(self, name, value):
        if isinstance(value, _Module):  # the import system binds submodules
            return _Module.__setattr__(self, name, value)
        return setattr(_load(self, name), name, value)

    def __delattr__(self, name):
        delattr(_load(self, name), name)

    def __dir__(self):
        return dir(_load(self, "dir"))


def _load(module, name):
    """Load it now, and note who needed it."""
    if type(module) is _Deferred:
        loader = _states[id(module)]
        frame = sys._getframe(1)
        while frame is not None and (frame.f_globals is globals() or "importlib" in frame.f_globals.get("__name__", "")):
            frame = frame.f_back
        space = frame.f_globals.get("__name__", "") if frame is not None else ""
        _Module.__setattr__(module, "__class__", _Module)
        _note("used", module.__name__, name, space, frame.f_lineno if frame is not None else 0)
        loader.exec_module(module)
    return module


class _StandIn:
    """``name`` of a deferred module, until it is used."""

    __slots__ = ("_module", "_name", "_value")

    def __init__(self, module, name):
        object.__setattr__(self, "_module", module)
        object.__setattr__(self, "_name", name)

    def __getattribute__(self, name):
        if name == "__mro_entries__":  # asked of the object, not of its type
            return object.__getattribute__(self, name)
        return getattr(_real(self), name)

    def __setattr__(self, name, value):
        setattr(_real(self), name, value)

    def __call__(self, *arguments, **named):
        return _real(self)(*arguments, **named)

    def __mro_entries__(self, bases):
        return (_real(self),)

    def __instancecheck__(self, value):
        return isinstance(_real(value) if type(value) is _StandIn else value, _real(self))

    def __subclasscheck__(self, value):
        return issubclass(_real(value) if type(value) is _StandIn else value, _real(self))

    def __bool__(self):
        return bool(_real(self))

    def __getitem__(self, key):  # of a class, too
        return _real(self)[_real(key) if type(key) is _StandIn else key]

    def __hash__(self):
        return hash(_real(self))


def _real(stand_in):
    try:
        return object.__getattribute__(stand_in, "_value")
    except AttributeError:
        module = object.__getattribute__(stand_in, "_module")
        name = object.__getattribute__(stand_in, "_name")
        found = _load(module, name).__dict__.get(name, _states)
        if found is _states:
            found = getattr(module, name)
        if type(found) is _StandIn:
            found = _real(found)
        object.__setattr__(stand_in, "_value", found)
        return found


def _operator(name):
    def apply(self, *values):
        values = [_real(value) if type(value) is _StandIn else value for value in values]
        method = getattr(type(_real(self)), name, None)
        return NotImplemented if method is None else method(_real(self), *values)

    return apply


for _name in """eq ne lt le gt ge or ror and rand xor add radd sub rsub mul rmul truediv rtruediv floordiv mod pow matmul neg
                setitem delitem iter len contains enter exit str repr format int float index fspath next await
                aiter""".split():  # fmt: skip
    setattr(_StandIn, f"__{_name}__", _operator(f"__{_name}__"))


class _Loader:
    """Stands for the loader of a deferred or watched module."""

    def __init__(self, loader, name):
        self._loader, self._name = loader, name

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        create = getattr(self._loader, "create_module", None)
        return create(spec) if create else None

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        if self._name in _defer:
            _states[id(module)] = self._loader
            _Module.__setattr__(module, "__class__", _Deferred)
            return
        before, begin = _world(), now()
        try:
            self._loader.exec_module(module)
        finally:
            _note("took", self._name, now() - begin)
            for change in _changes(before, _world()):
                _note("effect", self._name, change)


class _Finder:
    def find_spec(name, path=None, target=None):
        if name in _defer or name in _watch:
            for finder in sys.meta_path:
                find = getattr(finder, "find_spec", None)
                spec = find(name, path, target) if finder is not _Finder and find else None
                if spec is not None:
                    if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                        spec.loader = _Loader(spec.loader, name)
                    return spec
        return None


def _world():
    """What imports change beside sys.modules."""
    modules = sys.modules
    found = {"environment": dict(_environ), "threads": _thread._count(), "signals": {}, "filters": None, "exit": 0,
             "hooks": len(sys.meta_path) + len(sys.path_hooks), "path": list(sys.path), "copyreg": 0}  # fmt: skip
    if "_signal" in modules:
        signal = modules["_signal"]
        found["signals"] = {number: signal.getsignal(number) for number in range(1, signal.NSIG)}
    if "_warnings" in modules:  # the interpreter's own part, which holds the list from the start
        found["filters"] = list(modules["_warnings"].filters)
    if "atexit" in modules:
        found["exit"] = modules["atexit"]._ncallbacks()
    if "copyreg" in modules:
        found["copyreg"] = len(modules["copyreg"].dispatch_table)
    return found


def _changes(before, after):
    for name in sorted({**before["environment"], **after["environment"]}):
        if before["environment"].get(name) != after["environment"].get(name):
            yield f"environment variable {name}"
    for number, handler in after["signals"].items():
        if before["signals"] and before["signals"].get(number) is not handler:
            yield f"handler of signal {number}"
    if before["filters"] is not None and before["filters"] != after["filters"]:
        yield "warning filters"
    if after["path"] != before["path"]:
        yield "sys.path"
    for name, words in (("threads", "threads running"), ("exit", "functions called at exit"), ("hooks", "import hooks"),
                        ("copyreg", "pickle functions registered")):  # fmt: skip
        if after[name] > before[name]:
            yield f"{after[name] - before[name]} {words}"


# Out of the way: the program sees its own path and environment, and the real sitecustomize runs.
sys.path[:] = [entry for entry in sys.path if entry != __file__.rpartition("/")[0]]
if _path:
    _environ["PYTHONPATH"] = _path[1:]
else:
    _environ.pop("PYTHONPATH", None)
sys.meta_path.insert(0, _Finder)
_self = sys.modules.pop(__name__)
sys.path_importer_cache.pop(__file__.rpartition("/")[0], None)
try:
    import sitecustomize  # noqa: F401
except ImportError as _error:
    if _error.name != "sitecustomize":
        raise
sys.modules.setdefault(__name__, _self)  # the import system looks for it when this has run
