"""How the native library is loaded where more is wanted than `import`: other platforms, options, and what an error should say.

On Linux without options this file is not read: `kindling/__init__.py` imports `_C`, whose run path finds `libkindling` beside it.

Environment:
- ``TORCH_USE_RTLD_GLOBAL=1`` (PyTorch's USE_RTLD_GLOBAL_WITH_LIBTORCH): the library's symbols become visible to every library opened
  later. For debugging with tools that need it; two libraries with the same symbols then use one of them.
- ``TORCH_USE_GLOBAL_DEPS=1`` (PyTorch's USE_GLOBAL_DEPS): only `libkindling`, on which extensions link, is opened that way.
- ``KINDLING_SKIP_NATIVE=1``: nothing is loaded. For tools that only read the package (its version, its files); everything else raises.
- ``TORCH_SKIP_WIN32_DLLS=1``: on Windows, the DLLs beside the package are not opened first. Then the system's search order decides
  which ones are found: a DLL of the same name elsewhere in PATH may be taken, with crashes that name neither.
"""
import os
import sys

# What differs by platform. `tested` says whether our tests run there, or only read this with a made-up loader.
PLATFORMS = {
    "linux": {"library": "libkindling.so", "extension": ".so", "flags": True, "scan": None, "tested": True,
              "missing": "is it in the package's folder? Reinstall: pip install --force-reinstall --no-deps kindling"},
    "darwin": {"library": "libkindling.dylib", "extension": ".so", "flags": True, "scan": None, "tested": False,
               "missing": "is it in the package's folder, and built for this processor? Reinstall kindling"},
    "win32": {"library": "kindling.dll", "extension": ".pyd", "flags": False, "scan": "lib", "tested": False,
              "missing": "install the Microsoft Visual C++ Redistributable: https://aka.ms/vs/17/release/vc_redist.x64.exe"},
}
_LOAD_FLAGS = 0x00001100    # LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR


def _on(environ, name):
    return environ.get(name, "") not in ("", "0")


def wanted(environ, platform=sys.platform):
    """Whether this file has something to do before the import."""
    return platform != "linux" or any(_on(environ, name) for name in ("TORCH_USE_RTLD_GLOBAL", "TORCH_USE_GLOBAL_DEPS", "KINDLING_SKIP_NATIVE"))


def load(folder, importer, environ=os.environ, platform=sys.platform, loader=None, system=sys):
    """The native module, by ``importer()``, with what the platform and the environment ask for around it.

    ``loader``: what opens libraries (ctypes' by default), ``system``: what has ``getdlopenflags``; tests give their own.
    """
    facts = PLATFORMS.get(platform, PLATFORMS["linux"])
    if _on(environ, "KINDLING_SKIP_NATIVE"):
        return Skipped("kindling._C")
    if facts["scan"]:
        if not _on(environ, "TORCH_SKIP_WIN32_DLLS"):
            open_dlls(os.path.join(folder, facts["scan"]), facts, loader)
    elif _on(environ, "TORCH_USE_RTLD_GLOBAL") and facts["flags"]:
        before = system.getdlopenflags()
        system.setdlopenflags(os.RTLD_GLOBAL | os.RTLD_LAZY)
        try:
            return attempt(folder, importer, platform)
        finally:
            system.setdlopenflags(before)
    elif _on(environ, "TORCH_USE_GLOBAL_DEPS"):
        path = os.path.join(folder, facts["library"])
        try:
            if loader is None:
                import ctypes
                loader = ctypes.CDLL
            loader(path, mode=os.RTLD_GLOBAL)
        except OSError as error:
            raise explained(error, folder, platform) from None
    return attempt(folder, importer, platform)


def attempt(folder, importer, platform=sys.platform):
    """``importer()``, its error explained."""
    try:
        return importer()
    except ImportError as error:
        raise explained(error, folder, platform) from error


def open_dlls(folder, facts, loader=None):
    """Opens every DLL of the package, so that each finds the others. OSError that names the file. (On Windows; untested there.)"""
    if loader is None:
        import ctypes
        loader = ctypes.WinDLL("kernel32.dll", use_last_error=True)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if not name.lower().endswith(".dll"):
            continue
        path = os.path.join(folder, name)
        if loader.LoadLibraryExW(path, None, _LOAD_FLAGS) or loader.LoadLibraryW(path):
            continue
        raise OSError(f'Error loading "{path}" or one of its dependencies: {facts["missing"]}')


def blas_library():
    """The file of the package scipy-openblas32 where the interpreter would import it from; an empty text if it has none.

    Asked for where the package is not beside ours: in the site-packages below a virtual environment, say.
    """
    from importlib.util import find_spec
    spec = find_spec("scipy_openblas32")
    file = os.path.join(os.path.dirname(spec.origin), "lib", "libscipy_openblas.so") if spec and spec.origin else ""
    return file if os.path.exists(file) else ""


def explained(error, folder, platform=sys.platform):
    """An ImportError that names the file, what is missing and what to do."""
    facts = PLATFORMS.get(platform, PLATFORMS["linux"])
    text = str(error)
    here = sorted(name for name in os.listdir(folder) if name.startswith("_C.")) if os.path.isdir(folder) else []
    tag = f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"
    if isinstance(error, ModuleNotFoundError) or "cannot import name '_C'" in text:
        if here:
            cause = f"it was built for another interpreter ({', '.join(here)}; this one is {tag})"
            remedy = f"install kindling with this interpreter: {sys.executable} -m pip install kindling"
        else:
            cause = "it is not there: this is the source folder, or a build that did not finish"
            remedy = "start the program in another folder, or build with `pip install .`"
    elif "undefined symbol" in text or "symbol not found" in text.lower():
        cause = text
        remedy = f"{facts['library']} and _C come from different builds: remove the older one and reinstall kindling"
    elif "subinterpreter" in text:
        return error
    else:
        cause, remedy = text, facts["missing"]
    return ImportError(f"kindling's native library does not load from {folder}: {cause}. {remedy[0].upper()}{remedy[1:]}.", name="kindling._C",
                       path=folder)


class Skipped(type(sys)):
    """Stands for the native module under KINDLING_SKIP_NATIVE=1."""

    @staticmethod
    def _operator_names(space):
        return []      # for `dir`

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        raise ImportError(f"kindling._C.{name} is not there: KINDLING_SKIP_NATIVE=1 leaves the native library out; unset it to use the package")
