"""kindling.lazy: parts of packages of one's own, imported on first use; names of ours under dir, help, pickle and threads."""
import os
import pickle
import pydoc
import subprocess
import sys
import threading
import warnings

import pytest

import kindling
from kindling import lazy

PACKAGE = """
from kindling import lazy
__getattr__, __dir__, __all__ = lazy.attach(__name__, submodules=["inner", "broken"],
                                            attributes={"work": ["run", "absent"]}, deprecated={"start": "run"})
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    name = f"lazy_{tmp_path.name.replace('-', '_')}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "inner.py").write_text("here = 1\n")
    (folder / "work.py").write_text("def run():\n    return 5\n")
    (folder / "broken.py").write_text("import there_is_no_such_module\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_parts_come_on_first_use(package):
    module = __import__(package)
    assert f"{package}.inner" not in sys.modules and f"{package}.work" not in sys.modules
    assert {"inner", "run", "broken"} <= set(dir(module)) and module.__all__ == ["absent", "broken", "inner", "run"]
    assert module.inner.here == 1 and f"{package}.work" not in sys.modules
    assert module.run() == 5 and module.run is vars(module)["run"]
    scope = {}
    exec(f"from {package} import run, inner", scope)
    assert scope["run"]() == 5
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing


def test_an_error_shows_where_the_import_was_declared(package):
    module = __import__(package)
    with pytest.raises(ModuleNotFoundError) as caught:
        module.broken
    assert "there_is_no_such_module" in str(caught.value) and f"{os.path.join(package, '__init__.py')}:3" in str(caught.value)
    assert caught.value.name == "there_is_no_such_module" and caught.value.__cause__ is not None
    with pytest.raises(AttributeError, match=r"__init__.py:3"):
        module.absent


def test_deprecated_names_warn_once(package):
    module = __import__(package)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert module.start() == module.start() == 5
    assert [str(w.message) for w in caught] == [f"{package}.start is deprecated, use {package}.run"] and caught[0].filename == __file__


def test_modules(package):
    later = lazy.module(f"{package}.work")
    assert "lazy module" in repr(later) and f"{package}.work" not in sys.modules
    assert later.run() == 5 and f"{package}.work" in sys.modules and "run" in dir(later)
    assert lazy.module(f"{package}.work") is sys.modules[f"{package}.work"] and pickle.loads(pickle.dumps(later)) is sys.modules[f"{package}.work"]
    line = sys._getframe().f_lineno + 1
    missing = lazy.module("there_is_no_such_module")
    with pytest.raises(ModuleNotFoundError, match=f"{os.path.basename(__file__)}:{line}"):
        missing.anything


def test_eager(package):
    code = f"import {package}, sys; print('{package}.work' in sys.modules, '{package}.inner' in sys.modules)"
    path = os.pathsep.join([p for p in sys.path if p])
    for wanted, expected in (("0", "False False"), (f"{package}.run", "True False")):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": path, "KINDLING_EAGER_LAZY": wanted})
        assert done.stdout.strip() == expected, done.stderr


def test_kindling_imports_at_once_when_asked():
    code = "import kindling, sys; print('kindling.optim' in sys.modules, 'kindling.linalg' in sys.modules)"
    for wanted, expected in (("", "False False"), ("optim", "True False"), ("1", "True True")):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "KINDLING_EAGER_IMPORT": wanted})
        assert done.stdout.strip() == expected, done.stderr


def test_threads():
    """Many threads that name the same lazy things at once get the same objects."""
    code = """
import threading, sys
import kindling
sys.setswitchinterval(1e-6)
names = ["nn", "optim", "save", "SymInt", "DispatchKey", "compile", "vmap", "parse_schema", "add", "linalg", "fft", "no_grad", "Future"]
found = [[] for _ in range(8)]
barrier = threading.Barrier(8)
def look(mine):
    barrier.wait()
    for name in names:
        mine.append(getattr(kindling, name))
threads = [threading.Thread(target=look, args=(mine,)) for mine in found]
[t.start() for t in threads]; [t.join() for t in threads]
assert all(len(mine) == len(names) for mine in found)
for place, name in enumerate(names):
    kept = [mine[place] for mine in found]
    assert all(type(each) is type(kept[0]) for each in kept), name
    if name not in ("add",): assert all(each is kept[0] for each in kept), name
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["compile", "save", "no_grad", "Size", "float32", "SymInt", "DispatchKey", "parse_schema", "nn", "Tensor", "vmap", "relu"])
def test_help_and_pickle(name):
    value = getattr(kindling, name)
    assert name in pydoc.render_doc(value) or pydoc.render_doc(value)
    assert name in dir(kindling)
    if name != "nn":
        again = pickle.loads(pickle.dumps(value))
        assert again is value or again == value or repr(again).partition(" at ")[0] == repr(value).partition(" at ")[0]


def test_deprecated_names_of_torch():
    from kindling._common import warn as _warn

    for name in ("has_cuda", "has_cudnn", "has_mps", "has_mkldnn"):
        _warn._given.discard(name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert (getattr(kindling, name), getattr(kindling, name)) == (False, False)
        assert len(caught) == 1 and f"'{name}' is deprecated, please use 'torch.backends." in str(caught[0].message)
    assert threading.main_thread().is_alive()


@pytest.mark.parametrize("call, replacement", [("chain_matmul(a, a)", "torch.linalg.multi_dot"), ("meshgrid(a[0], a[0])", "indexing"),
                                               ("library.impl_abstract('aten::abs')", "torch.library.register_fake")])
def test_deprecated_functions_warn_once_as_torch_does(call, replacement):
    from kindling._common import warn as _warn

    _warn._given.clear()
    scope = {"a": kindling.eye(3)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            eval("kindling." + call, {"kindling": kindling, **scope})
    assert len(caught) == 1 and replacement in str(caught[0].message)


def test_removed_functions_say_what_to_call():
    for name in ("symeig", "solve", "lstsq", "eig", "matrix_rank"):
        with pytest.raises(RuntimeError, match="is now removed.*torch.linalg"):
            getattr(kindling, name)(kindling.eye(2))
