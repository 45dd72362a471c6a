"""``kindling run``: a program as ``__main__``, as the interpreter itself would run it, with torch being Kindling.

``runpy`` would do most of this, but importing it costs more than everything else on the way to the program's first
line, and it leaves its frames in tracebacks. Imports here: only what the interpreter has loaded already.
"""

import _frozen_importlib as _bootstrap
import _frozen_importlib_external as _external
import os
import sys

from kindling._start.alias import install_as_torch
from kindling._C import _compile_source


def run(argv):
    """Run ``SCRIPT ARG...``, ``-m MODULE ARG...`` or ``-c CODE ARG...``.

    Uncaught exceptions leave as they do from the interpreter: printed by ``sys.excepthook`` without frames of ours,
    exit status 1, and SystemExit and KeyboardInterrupt with their own statuses.
    """
    if not argv:
        _complain("run needs a script, -m MODULE or -c CODE; see kindling --help")
    what = argv[0]
    if what in ("-m", "-c"):
        if len(argv) < 2:
            _complain(f"argument expected for the {what} option")
        start = _Module(argv[1]) if what == "-m" else _Code(argv[1])
        arguments = [what, *argv[2:]]
    elif what.startswith("-") and what != "-":
        _complain(f"run has no option {what}; those of the interpreter go to it: python {what} -m kindling run ...")
    else:
        start = _script(what)
        arguments = list(argv)

    sys.argv[:] = arguments
    if not getattr(sys.flags, "safe_path", False):
        # In place of the folder of the kindling command, or the working folder that -m put there.
        sys.path[:1] = [start.folder]
    elif start.always_on_path:
        sys.path.insert(0, start.folder)
    install_as_torch()
    main = type(sys)("__main__")
    namespace = main.__dict__
    namespace.update(__annotations__={}, __builtins__=sys.modules["builtins"])
    sys.modules["__main__"] = main
    try:
        exec(start.prepare(namespace), namespace)
    except BaseException as error:
        _show_without_our_frames(error)
        raise
    return None


def _complain(message):
    sys.stderr.write(f"kindling: {message}\n")
    raise SystemExit(2)


def _show_without_our_frames(error):
    """Have the interpreter's top level report ``error`` from the program's own frames on.

    The exception then travels on: only the top level knows what is due for SystemExit and KeyboardInterrupt.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    hook = getattr(sys, "excepthook", None)
    if isinstance(error, SystemExit):
        return

    def report(kind, value, _):
        sys.excepthook = hook
        value.__traceback__ = sys.last_traceback = trace
        hook(kind, value, trace)

    sys.excepthook = report


def _script(path):
    """The start for a path: a source file, a byte-code file, a folder or archive with ``__main__``, or ``-``."""
    if path == "-":
        return _Code(sys.stdin.buffer.read(), "<stdin>")
    whole = os.path.abspath(path)
    if os.path.isdir(whole) or _is_archive(whole):
        return _Container(path, whole)
    return _Script(whole)


def _is_archive(path):
    """True for a file that the import system can search, such as a zip file."""
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                return False
    except OSError:
        return False
    return _external.PathFinder._path_importer_cache(path) is not None


class _Code:
    """``-c CODE``, or a program on standard input."""

    folder = ""
    always_on_path = False

    def __init__(self, source, name="<string>"):
        self.source = source
        self.name = name

    def prepare(self, namespace):
        namespace.update(__loader__=_bootstrap.BuiltinImporter, __spec__=None, __package__=None)
        if self.name == "<stdin>":
            namespace.update(__file__=self.name, __cached__=None)
        source = self.source
        if isinstance(source, str):
            source = source.encode("utf-8", "surrogateescape")
        return _compile_source(source, self.name)


class _Script:
    """A source file (or a byte-code file, by its suffix)."""

    always_on_path = False

    def __init__(self, path):
        self.path = path
        # Past symbolic links, as the interpreter does it: modules beside the real file are found.
        self.folder = os.path.dirname(os.path.realpath(path))
        try:
            with open(path, "rb") as file:
                self.source = file.read()
        except OSError as error:
            _complain(f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}")

    def prepare(self, namespace):
        path = self.path
        compiled = path.endswith(".pyc")
        loader = (_external.SourcelessFileLoader if compiled else _external.SourceFileLoader)("__main__", path)
        namespace.update(__loader__=loader, __spec__=None, __package__=None, __file__=path, __cached__=None)
        if compiled:
            return loader.get_code("__main__")
        return _compile_source(self.source, path)


class _Container:
    """A folder or archive that holds ``__main__``; it goes to the front of the path even in safe-path mode."""

    always_on_path = True

    def __init__(self, given, whole):
        self.given = given
        self.folder = whole

    def prepare(self, namespace):
        spec = _external.PathFinder.find_spec("__main__", [self.folder])
        if spec is None or spec.loader is None:
            sys.stderr.write(f"kindling: can't find '__main__' module in {self.given!r}\n")
            raise SystemExit(1)
        code = spec.loader.get_code("__main__")
        _describe(namespace, spec)
        return code


class _Module:
    """``-m MODULE``."""

    always_on_path = False

    def __init__(self, name):
        self.name = name
        self.folder = os.getcwd()

    def prepare(self, namespace):
        name, spec = self.find(self.name)
        try:
            code = spec.loader.get_code(name)
        except ImportError as error:
            self.fail(str(error))
        if code is None:
            self.fail(f"No code object available for {name}")
        sys.argv[0] = spec.origin
        _describe(namespace, spec)
        return code

    def find(self, name):
        """Name and spec of the module to run; for a package, of its ``__main__``."""
        if name.startswith("."):
            self.fail("Relative module names not supported")
        parent = name.rpartition(".")[0]
        path = None
        if parent:
            try:
                __import__(parent)
            except ImportError as error:
                # A parent that is not there is the user's mistake in the name; one that fails to import is a fault
                # of the program, whose traceback is wanted.
                if error.name is None or (error.name != parent and not parent.startswith(error.name + ".")):
                    raise
                self.fail(f"Error while finding module specification for {name!r} ({type(error).__name__}: {error})")
            loaded = sys.modules.get(name)
            if loaded is not None and not hasattr(loaded, "__path__"):
                from warnings import warn

                warn(
                    f"{name!r} found in sys.modules after import of package {parent!r}, but prior to execution of "
                    f"{name!r}; this may result in unpredictable behaviour",
                    RuntimeWarning,
                    stacklevel=2,
                )
            path = getattr(sys.modules[parent], "__path__", None)
            if path is None:
                self.fail(
                    f"Error while finding module specification for {name!r} "
                    f"(ModuleNotFoundError: __path__ attribute not found on {parent!r} while trying to find {name!r})"
                )
        spec = _bootstrap._find_spec(name, path)
        if spec is None:
            self.fail(f"No module named {name}")
        if spec.submodule_search_locations is not None:
            if name.endswith(".__main__"):
                self.fail("Cannot use package as __main__ module")
            __import__(name)
            inner = name + ".__main__"
            if _bootstrap._find_spec(inner, sys.modules[name].__path__) is None:
                self.fail(f"No module named {inner}; {name!r} is a package and cannot be directly executed")
            return self.find(inner)
        if spec.loader is None:
            self.fail(f"{name!r} is a namespace package and cannot be executed")
        return name, spec

    @staticmethod
    def fail(message):
        raise SystemExit(f"{sys.executable}: {message}")


def _describe(namespace, spec):
    namespace.update(
        __file__=spec.origin,
        __cached__=spec.cached,
        __doc__=None,
        __loader__=spec.loader,
        __package__=spec.parent,
        __spec__=spec,
    )
