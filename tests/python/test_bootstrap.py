"""How the native library is loaded: options, platforms, and the one error."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kindling
from kindling._start import bootstrap as _bootstrap

PACKAGE = Path(kindling.__path__[0])


def python(code, *options, **environment):
    return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})


@pytest.mark.parametrize("name", ["TORCH_USE_RTLD_GLOBAL", "TORCH_USE_GLOBAL_DEPS"])
def test_global_symbols(name):
    """The library's symbols are seen by others only when they are asked for, and the interpreter's own flags stay."""
    code = ("import sys, ctypes\nbefore = sys.getdlopenflags()\nimport kindling\nassert sys.getdlopenflags() == before\n"
            "kindling.ones(2) + 1\nprint(hasattr(ctypes.CDLL(None), '_ZN8kindling11manual_seedEm'))")
    assert python(code).stdout == "False\n"
    done = python(code, **{name: "1"})
    assert done.stdout == "True\n", done.stderr


def test_only_the_package_is_read():
    done = python("import kindling\nprint(kindling.__version__[:4], kindling.__path__[0] != '')\ntry: kindling.ones(1)\n"
                  "except ImportError as e: print(e)\nprint('nn' in dir(kindling))", KINDLING_SKIP_NATIVE="1")
    assert done.stdout.splitlines()[0] == "2.13 True" and "KINDLING_SKIP_NATIVE=1" in done.stdout.splitlines()[1], done.stderr
    assert done.stdout.splitlines()[2] == "True"


def test_lapack_that_is_installed_elsewhere(tmp_path):
    """The package with LAPACK may lie in another folder of the interpreter's path than ours."""
    (tmp_path / "kindling").symlink_to(PACKAGE)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport kindling\nprint(kindling.__path__[0], kindling.linalg.det(kindling.eye(3)).item())"
    done = python(code)
    assert done.stdout.split() == [str(tmp_path / "kindling"), "1.0"], done.stderr
    (tmp_path / "scipy_openblas32").mkdir()
    (tmp_path / "scipy_openblas32" / "__init__.py").touch()     # a package of that name without a library
    assert python("from kindling._start.bootstrap import blas_library as f; print(bool(f()))").stdout == "True\n"
    assert python(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom kindling._start.bootstrap import blas_library as f; print(repr(f()))").stdout == "''\n"


@pytest.fixture
def copy(tmp_path):
    """The start of a package without its libraries."""
    folder = tmp_path / "kindling"
    folder.mkdir()
    for name in ("__init__.py", "_importer.py", "_modules.pack", *[path.name for path in PACKAGE.glob("__init__.*.so")]):
        if (PACKAGE / name).exists():
            shutil.copy(PACKAGE / name, folder)
    if not (PACKAGE / "_modules.pack").exists():
        shutil.copytree(PACKAGE / "_start", folder / "_start")
    return folder


def broken(copy):
    done = subprocess.run([sys.executable, "-c", "import kindling"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(copy.parent)}, cwd=copy.parent)
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


def test_error_without_a_library(copy):
    text = broken(copy)
    assert text.startswith("ImportError: kindling's native library does not load from") and str(copy) in text
    assert "source folder" in text and "pip install ." in text


def test_error_of_another_interpreter(copy):
    (copy / "_C.cpython-37m-x86_64-linux-gnu.so").touch()
    text = broken(copy)
    assert "built for another interpreter (_C.cpython-37m" in text and f"cpython {sys.version_info[0]}.{sys.version_info[1]}" in text


def test_error_of_another_python(copy):
    (first,) = list(copy.glob("__init__.*.so")) or pytest.skip("a package without bindings/package")
    first.rename(copy / "__init__.cpython-37m-x86_64-linux-gnu.so")
    assert broken(copy) == f"ImportError: kindling in {copy} is built for another Python than {sys.version.split()[0]}: install it again with this one"


def test_error_of_a_missing_library(copy):
    (extension,) = PACKAGE.glob("_C.*.so")
    shutil.copy(extension, copy)
    if str(PACKAGE.parent) in subprocess.run(["readelf", "-d", str(extension)], capture_output=True, text=True).stdout:
        pytest.skip("a development build finds its library by an absolute path")
    text = broken(copy)
    assert "libkindling.so" in text and "cannot open shared object file" in text and "Reinstall" in text


def test_error_of_a_missing_symbol(copy):
    from subprocess import run

    (extension,) = PACKAGE.glob("_C.*.so")
    shutil.copy(extension, copy)
    (copy / "empty.c").write_text("int nothing;\n")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to make an empty library with")
    run([compiler, "-shared", "-fPIC", "-Wl,-soname,libkindling.so", str(copy / "empty.c"), "-o", str(copy / "libkindling.so")], check=True)
    text = broken(copy)
    assert "undefined symbol" in text and "come from different builds" in text


class Loader:
    """A made-up Windows loader; it refuses what is in `bad`."""

    def __init__(self, bad=()):
        self.opened, self.bad = [], bad

    def LoadLibraryExW(self, path, handle, flags):
        self.opened.append((os.path.basename(path), flags))
        return 0 if os.path.basename(path) in self.bad else 1

    def LoadLibraryW(self, path):
        return 0 if os.path.basename(path) in self.bad else 1


@pytest.fixture
def windows(tmp_path):
    lib = tmp_path / "lib"
    lib.mkdir()
    for name in ("b.dll", "A.DLL", "readme.txt"):
        (lib / name).touch()
    return tmp_path


def test_windows_opens_the_dlls_first(windows):
    loader = Loader()
    assert _bootstrap.load(str(windows), lambda: "native", {}, "win32", loader) == "native"
    assert [name for name, _ in loader.opened] == ["A.DLL", "b.dll"] and {flags for _, flags in loader.opened} == {0x1100}


def test_windows_without_the_scan(windows):
    loader = Loader()
    assert _bootstrap.load(str(windows), lambda: "native", {"TORCH_SKIP_WIN32_DLLS": "1"}, "win32", loader) == "native"
    assert loader.opened == []
    assert "PATH" in _bootstrap.__doc__      # the risk is written down


def test_windows_names_the_dll_that_fails(windows):
    with pytest.raises(OSError, match=r'b.dll" or one of its dependencies: install the Microsoft Visual C\+\+ Redistributable'):
        _bootstrap.load(str(windows), lambda: "native", {}, "win32", Loader(bad=("b.dll",)))


def test_flags_are_put_back_after_an_error(tmp_path):
    class System:
        now = 2

        def getdlopenflags(self):
            return self.now

        def setdlopenflags(self, flags):
            self.now = flags
    system = System()

    def importer():
        assert system.now == os.RTLD_GLOBAL | os.RTLD_LAZY
        raise ImportError("undefined symbol: x")
    with pytest.raises(ImportError, match="different builds"):
        _bootstrap.load(str(tmp_path), importer, {"TORCH_USE_RTLD_GLOBAL": "1"}, "darwin", system=system)
    assert system.now == 2


def test_platforms_are_data():
    assert _bootstrap.PLATFORMS["linux"]["tested"] and not _bootstrap.PLATFORMS["win32"]["tested"] and not _bootstrap.PLATFORMS["darwin"]["tested"]
    assert len({tuple(sorted(facts)) for facts in _bootstrap.PLATFORMS.values()}) == 1
