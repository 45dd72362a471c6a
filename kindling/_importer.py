"""Finds and runs the modules of this package: those that are files, and those in one packed file, ``_modules.pack``.

``tools/stage_python.py`` writes the pack. ``bindings/package`` runs this module before another thread can see the package;
in an installation in place ``__init__.py`` does. It imports only what the interpreter has loaded already.
"""
import _imp
import marshal
import sys
from _frozen_importlib_external import MAGIC_NUMBER, PathFinder, spec_from_file_location

ROOT = __file__[:__file__.rindex("/")] if "/" in __file__ else "."
PACK = ROOT + "/_modules.pack"
HEADER = 16     # bytes before the index, see tools/stage_python.py

_index = _header = _origin = None   # the index's lines, what the file began with, where positions count from
_recent = ()    # the last two blocks, (position, bytes): a program imports neighbours. Replaced as a whole, so no lock is needed.


def unlocked(call, *args):
    """``call(*args)`` without the interpreter's lock of all imports, under which finders run.

    A finder that imports a module waits for the thread that is importing it already, and that thread may wait for this lock.
    """
    held = 0
    try:
        while True:
            _imp.release_lock()
            held += 1
    except RuntimeError:
        pass    # this thread has it no longer
    try:
        return call(*args)
    finally:
        for _ in range(held):
            _imp.acquire_lock()


def _import(name):
    return __import__(name, fromlist=("__name__",))


def _read_index():
    global _index, _header, _origin
    with open(PACK, "rb") as file:
        _header = file.read(HEADER)
        if _header[:4] != MAGIC_NUMBER:
            raise ImportError(f"{PACK} is of another Python: install kindling again with this one")
        index = file.read(int.from_bytes(_header[12:], "little"))
        _origin = HEADER + len(index)
        _index = index


def _line(key):
    """The words of a line of the index behind its key; None if it has none of that key."""
    if _index is None:
        _read_index()
    key = f"\n{key} ".encode()
    at = _index.find(key)
    return None if at < 0 else _index[at + len(key):_index.index(b"\n", at + 1)].decode().split()


def _read(position, length):
    """Bytes of the pack. ImportError if an installer has replaced it since this process began: its parts lie elsewhere now."""
    try:
        with open(PACK, "rb") as file:
            if file.read(HEADER) == _header:
                file.seek(_origin + int(position))
                return file.read(int(length))
    except OSError as error:
        raise ImportError(f"kindling's modules can't be read: {error}") from error
    raise ImportError(f"kindling was replaced in {ROOT} while this process runs: start it again")


def sources():
    """The compressed sources of modules that have bytecode (kindling/_start/sources.py)."""
    return _read(*_line("sources.xz")[1:])


def _part(kind, position, length, begin, end):
    """What one line of the index is of."""
    global _recent
    for place, block in _recent:
        if place == position:
            return block[int(begin):int(end)]
    block = _read(position, length)
    if "z" in kind:
        import zlib

        block = zlib.decompress(block)
    _recent = ((position, block), *_recent[:1])
    return block[int(begin):int(end)]


def _source(path, line):
    """The text of the module at `path` below the package, whose line is `line`."""
    return _import("kindling._start.sources").source(path) if "c" in line[0] else _part(*line).decode()


class Loader:
    """Runs one module. Under the alias its classes and functions say torch: they take that from the module's ``__name__``."""

    packed = False

    def __init__(self, name, loader):
        self._name, self._loader = name, loader

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        package = sys.modules.get("kindling")
        shown = package.__name__ if package else "kindling"
        module.__name__ = shown + self._name[8:]
        space = vars(module)    # a package of lazy parts loads them all when it is asked for this later
        exec(self.get_code(self._name), space)
        if self.packed:
            with_absent(module, space)
        if shown != "kindling":
            sys.modules.setdefault(module.__name__, module)

    def get_code(self, name):
        return self._loader.get_code(name)

    def __getattr__(self, name):
        return getattr(self._loader, name)      # get_data, is_package, ...: what inspect and pkgutil ask


class PackedLoader(Loader):
    """Runs one module of the pack."""

    packed = True

    def __init__(self, name, path, line):
        self._name, self._path, self._line = name, path, line

    def get_code(self, name):
        if "c" in self._line[0]:
            return marshal.loads(_part(*self._line))
        return compile(_part(*self._line), "kindling/" + self._path, "exec", dont_inherit=True)

    def get_source(self, name):
        return _source(self._path, self._line)

    def get_filename(self, name):
        return f"{PACK}/{self._path}"

    def is_package(self, name):
        return "p" in self._line[0]

    def get_data(self, path):
        """The source of any packed module, by the path that its specification has."""
        below = path[len(PACK) + 1:]
        line = _line(below.removesuffix(".py").removesuffix("/__init__")) if path[:len(PACK)] == PACK else None
        if line is None:
            raise OSError(2, "not in the pack", path)
        return _source(below, line).encode()

    def __getattr__(self, name):
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Folder:
    """The interpreter's finder for one folder of the pack (`sys.path_hooks`)."""

    def __init__(self, path):
        if path[:len(PACK)] != PACK or path[len(PACK):][:1] not in ("", "/"):
            raise ImportError("not in the pack")
        self._below = path[len(PACK) + 1:] + "/" if len(path) > len(PACK) else ""

    def find_spec(self, name, target=None):
        key = self._below + name.rpartition(".")[2]
        line = _line(key)
        if line is None:
            return None
        package = "p" in line[0]
        path = key + ("/__init__.py" if package else ".py")
        return spec_from_file_location(name, f"{PACK}/{path}", loader=PackedLoader(name, path, line),
                                       submodule_search_locations=[f"{PACK}/{key}"] if package else None)

    def iter_modules(self, prefix=""):
        """What pkgutil lists."""
        _line("")
        for line in _index.decode().split("\n")[1:-2]:
            key, kind = line.split()[:2]
            folder, _, name = ("/" + key).rpartition("/")
            if folder[1:] == self._below[:-1]:
                yield prefix + name, "p" in kind

    def invalidate_caches(self):
        pass


class Finder:
    """Finds modules of ours (`sys.meta_path`; a class, used as an object)."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name[:9] != "kindling.":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None:
            return unlocked(lambda: _import("kindling._absent").spec(name, path))
        if type(spec.loader) is not PackedLoader:
            package = sys.modules.get("kindling")
            if package and package.__name__ != "kindling" and spec.origin and spec.origin[-3:] != ".so":
                spec.loader = Loader(name, spec.loader)
        return spec


def with_absent(module, space):
    """A module of ours that answers for the names in `_absent` too, once its own and its ``__getattr__`` have none."""
    own, own_dir, below = space.get("__getattr__"), space.get("__dir__"), module.__spec__.name[9:]

    def __getattr__(name):
        if own:
            try:
                return own(name)
            except AttributeError:
                if name[:2] == "__":
                    raise
        elif name[:2] == "__":
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        value = space[name] = _import("kindling._absent").find(below, name)    # a function may have the name of the module it is in
        return value

    def __dir__():
        return sorted({*(own_dir() if own_dir else space), *_import("kindling._absent").names(below)})

    module.__getattr__, module.__dir__ = __getattr__, __dir__


def begin(spec):
    """Makes the finders known. ``spec``: of the package, whose path then has the pack, if there is one."""
    if Finder not in sys.meta_path:
        for place in list(sys.path_importer_cache):     # at once: other threads may be importing
            if place[:len(PACK)] == PACK:
                sys.path_importer_cache.pop(place, None)    # of an earlier import of the package, since taken out of sys.modules
        sys.path_hooks.insert(0, Folder)
        sys.meta_path.insert(0, Finder)
    places = spec.submodule_search_locations
    if PACK not in places:
        try:
            open(PACK, "rb").close()
        except OSError:
            return      # an installation in place: every module is a file
        places.append(PACK)
