"""The alias: ``torch`` is this package. Each ``torch.x.y`` is ``kindling.x.y``, one module object under two names.

Three pieces, all put in place by :func:`install_as_torch`:

- a finder in front of ``sys.meta_path``, which answers every ``torch...`` name, and ``functorch``, with the module of ours;
- a folder in ``sys.path`` and ``PYTHONPATH`` whose ``torch`` package puts the alias in place when a child interpreter
  first imports torch (a child that never does pays nothing), and whose metadata answers
  ``importlib.metadata.version("torch")``;
- a check of each extension module's needed libraries, so that one linked to libtorch is refused by name before the
  loader maps a second tensor library into the process.

This file is on the start-up path: it imports only what the interpreter has loaded already.
"""

import _frozen_importlib as _bootstrap
import _frozen_importlib_external as _external
import gc
import os
import sys

from kindling._importer import ROOT, unlocked

FOLDER = os.path.join(ROOT, "_as_torch")
SWITCH = "KINDLING_AS_TORCH"


def install_as_torch():
    """Make ``torch`` and every ``torch.x.y`` resolve to Kindling, in this process and in the interpreters it starts.

    Call it before anything imports torch; a second call does nothing. An installed PyTorch is left alone on disk and
    not imported. Child processes follow through the environment (``PYTHONPATH`` and ``KINDLING_AS_TORCH=1``); starting
    one with ``KINDLING_AS_TORCH=0`` gives it the installed torch.

    Raises RuntimeError if PyTorch's own torch has been imported already.

    Example::

        import kindling
        kindling.install_as_torch()
        import torch                      # is kindling
        import torch.nn.functional as F   # is kindling.nn.functional
    """
    modules = sys.modules
    import kindling

    present = modules.get("torch")
    if present is not None and present is not kindling:
        raise RuntimeError(
            "install_as_torch() must come before the first `import torch`: this process has already imported "
            f"another torch from {getattr(present, '__file__', None) or 'an unknown place'}"
        )
    modules["torch"] = kindling
    kindling._C._set_package("torch")
    _rename(modules)
    if Finder not in sys.meta_path:
        sys.meta_path.insert(0, Finder)
        _watch_extension_modules()
    _reach_children()


def _rename(modules):
    """The modules that are loaded, their classes and functions say torch from now on, as those that come later do."""
    for name, module in list(modules.items()):
        if name[:8] == "kindling" and name[8:9] in ("", ".") and name[:11] != "kindling._C" and isinstance(module, type(sys)):
            theirs = "torch" + name[8:]
            for value in list(type(sys).__dict__["__dict__"].__get__(module).values()):
                if isinstance(value, (type, type(_rename))) and value.__module__ == name:
                    value.__module__ = theirs
            module.__name__ = theirs
            modules.setdefault(theirs, module)


def _reach_children():
    """Put our folder where this process and its children look for modules, ahead of an installed torch."""
    if FOLDER not in sys.path:
        # After the script's own folder, which is where PYTHONPATH puts it in a child. The `spawn` start method copies
        # this list to its workers, so the environment alone would not do.
        sys.path.insert(0 if getattr(sys.flags, "safe_path", False) else 1, FOLDER)
    environ = os.environ
    environ[SWITCH] = "1"
    paths = environ.get("PYTHONPATH")
    if not paths:
        environ["PYTHONPATH"] = FOLDER
    elif FOLDER not in paths.split(os.pathsep):
        environ["PYTHONPATH"] = FOLDER + os.pathsep + paths


def _grow_old(modules):
    """Makes old what is alive when a module is imported: mostly classes and functions that stay, which the collector would go
    over three times: a twentieth of the time while a large package is imported. Both calls only join lists."""
    Finder.modules = modules
    if not gc.get_freeze_count():      # not what the program itself has frozen: that would be lost
        gc.freeze()
        gc.unfreeze()


class Finder:
    """Answers ``torch`` and ``torch.x.y`` with the modules of this package (a class, used as an object)."""

    modules = 0     # how many there were: an import that fails again and again must not keep the collector from its work

    @staticmethod
    def find_spec(name, path=None, target=None):
        if len(sys.modules) != Finder.modules:
            _grow_old(len(sys.modules))
        if name[:5] != "torch" or name[5:6] not in ("", "."):
            if name[:9] != "functorch" or name[9:10] not in ("", "."):
                return None
            real = "kindling._functorch." + name
            if name == "functorch":
                unlocked(__import__, real)
        else:
            real = "kindling" + name[5:]
        module = sys.modules.get(real)
        spec = _bootstrap._find_spec(real, path) if module is None else module.__spec__
        if spec is None:
            # Not a file: a module that another one makes, such as torch.ops or torch._C._nn.
            if module is None:
                parent, _, child = real.rpartition(".")
                module = unlocked(getattr, sys.modules.get(parent), child, None)
                if not isinstance(module, type(sys)):
                    return None
            spec = _bootstrap.ModuleSpec(real, None)
        alias = _bootstrap.ModuleSpec(name, AliasLoader(real, spec, module), origin=spec.origin)
        alias.submodule_search_locations = spec.submodule_search_locations
        if real == "kindling._C" and alias.submodule_search_locations is None:
            # An extension module is no package; an empty path makes `import torch._C._nn` come to us all the same.
            alias.submodule_search_locations = []
        return alias


class AliasLoader:
    """Loads the module named ``real`` under another name, as the same object."""

    def __init__(self, real, real_spec, module):
        self.real = real
        self.real_spec = real_spec
        self.module = module

    def create_module(self, spec):
        module = self.module
        if module is None:
            module = __import__(self.real, fromlist=("__name__",))
        self.own_spec = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module):
        # The import system has just written the alias's spec over the module's own.
        module.__spec__ = self.own_spec

    def get_code(self, name):
        """Code object of the module, for ``-m torch.x.y``."""
        return self.real_spec.loader.get_code(self.real)


def _refusal(name, path, library):
    package = name.partition(".")[0]
    return ImportError(
        f"{package} is linked to PyTorch's own C++ library ({library}) and cannot work on Kindling's tensors "
        f"(importing {name} from {path}); run this program without {package}, or under PyTorch",
        name=name,
        path=path,
    )


def _watch_extension_modules():
    """Check what each extension module is linked to before the loader opens it."""
    loader = _external.ExtensionFileLoader
    create = loader.create_module

    def create_module(self, spec):
        if "lib-dynload" not in self.path:
            for library in needed_libraries(self.path):
                if library.startswith(("libtorch", "libc10")):
                    raise _refusal(spec.name, self.path, library)
        return create(self, spec)

    loader.create_module = create_module


def needed_libraries(path):
    """Names of the shared libraries that a 64-bit little-endian ELF file needs; empty for any other file."""
    try:
        with open(path, "rb") as file:
            return _read_needed(file)
    except (OSError, ValueError):
        return []


def _read_needed(file):
    def number(data, at, size):
        return int.from_bytes(data[at : at + size], "little")

    header = file.read(64)
    if header[:6] != b"\x7fELF\x02\x01":
        return []
    size, count = number(header, 54, 2), number(header, 56, 2)
    file.seek(number(header, 32, 8))
    table = file.read(size * count)
    segments = []
    dynamic = b""
    for at in range(0, len(table), max(size, 1)):
        kind, offset, address, length = (
            number(table, at, 4),
            number(table, at + 8, 8),
            number(table, at + 16, 8),
            number(table, at + 32, 8),
        )
        if kind == 1:  # PT_LOAD
            segments.append((address, offset, length))
        elif kind == 2:  # PT_DYNAMIC
            file.seek(offset)
            dynamic = file.read(min(length, 1 << 16))
    names, strings = [], None
    for at in range(0, len(dynamic), 16):
        tag, value = number(dynamic, at, 8), number(dynamic, at + 8, 8)
        if tag == 1:  # DT_NEEDED
            names.append(value)
        elif tag == 5:  # DT_STRTAB
            strings = value
        elif tag == 0:
            break
    libraries = []
    for address, offset, length in segments:
        if strings is not None and address <= strings < address + length:
            for name in names:
                file.seek(strings - address + offset + name)
                libraries.append(file.read(256).partition(b"\0")[0].decode("ascii", "replace"))
            break
    return libraries
