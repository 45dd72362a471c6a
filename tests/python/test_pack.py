"""The Python modules of a wheel: all but a few work from one packed file as files would."""

import importlib.util
import inspect
import lzma
import marshal
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kindling

ROOT = Path(__file__).parents[2]
PACK = Path(kindling.__path__[-1])

pytestmark = pytest.mark.skipif(not PACK.is_file(), reason="not an ordinary installation")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(code, **more):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/", **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_block_is_what_starting_loads():
    startup, stage = load(ROOT / "benchmarks" / "startup.py"), load(ROOT / "tools" / "stage_python.py")
    program = startup.IMPORTS + (
        "import torch.utils\nfrom torch import nn\n"
        "model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))\n"
        "model(torch.ones(64, 784))\n"
    )
    loaded = {name for name in startup.look(program, run=True)["modules"] if name.split(".")[0] == "kindling"}
    loaded = {name.removeprefix("kindling").removeprefix(".") for name in loaded} - {"_C"}
    # `_importer` runs before anything else, the command's own file is `__main__`, and the others are for child interpreters only.
    start = {name.removesuffix("__init__").removesuffix(".") for name in stage.RUN + stage.START} | {"", "_importer"}
    assert {name for name in loaded if not name.startswith("_C.")} == start


def test_functions_that_only_scripts_read_have_their_source_alone():
    from kindling.nn._functional import _scripted
    function = _scripted.lp_pool1d
    assert function.__code__.co_names == () and function.__defaults__ == (None, False)
    assert "avg_pool1d" in inspect.getsource(function)


def test_every_module_is_a_file_or_in_the_pack_once():
    from kindling import _importer

    stage = load(ROOT / "tools" / "stage_python.py")
    sources = {str(path.relative_to(ROOT / "kindling")): path.read_bytes() for path in (ROOT / "kindling").rglob("*.py")}
    files = {str(path.relative_to(PACK.parent)) for path in PACK.parent.rglob("*.py")}
    shown = marshal.loads(lzma.decompress(_importer.sources()))
    lines = [line.split() for line in _importer._index.decode().splitlines() if line and not line.startswith("sources.xz")]
    packed = {}
    for key, kind, *place in lines:
        path = key + ("/__init__.py" if "p" in kind else ".py")
        assert path not in packed
        packed[path] = "c" in kind
        if "c" not in kind:
            assert _importer._part(kind, *place) == sources[path], path
    assert {path for path, compiled in packed.items() if compiled} == set(shown)
    assert all(stage.has_bytecode(Path(path), len(sources[path])) == compiled for path, compiled in packed.items())
    assert all(text == sources[path] for path, text in shown.items())
    assert files | set(packed) == set(sources) and not files & set(packed)


def test_a_pack_that_is_replaced_or_of_another_python_is_told(tmp_path):
    package = tmp_path / "kindling"
    package.mkdir()
    for file in PACK.parent.iterdir():
        (shutil.copy if file == PACK else os.symlink)(file, package / file.name)
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import kindling, kindling.nn
with open(kindling.__path__[1], "r+b") as file:
    file.seek(4)
    file.write(b"changed")
try:
    import kindling.fft
except ImportError as error:
    print(error)
"""
    assert ask(code) == f"kindling was replaced in {package} while this process runs: start it again\n"
    gone = "import os, sys; sys.path.insert(0, {!r}); import kindling, kindling.nn; os.remove(kindling.__path__[1])\ntry: import kindling.fft\nexcept ImportError as error: print(error)"
    assert ask(gone.format(str(tmp_path))).startswith("kindling's modules can't be read: [Errno 2] No such file")
    shutil.copy(PACK, package / PACK.name)
    with open(package / PACK.name, "r+b") as file:
        file.write(b"abcd")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert done.stderr.splitlines()[-1] == f"ImportError: {package / PACK.name} is of another Python: install kindling again with this one"


def test_threads_read_blocks_at_once():
    assert ask("""
import sys, threading
from kindling import _importer
_importer._line("")
lines = [line.split()[1:] for line in _importer._index.decode().splitlines() if line and not line.startswith("sources.xz")]
wanted = [(line, _importer._part(*line)) for line in lines[::12]]
sys.setswitchinterval(1e-6)
wrong = []

def read(first):
    try:
        for turn in range(30):
            for line, data in wanted[first:] + wanted[:first]:
                if _importer._part(*line) != data:
                    wrong.append(line)
    except Exception as error:
        wrong.append(error)

threads = [threading.Thread(target=read, args=(5 * number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(wrong)
""") == "[]\n"


def test_source_help_and_pickles():
    assert ask(
        "import inspect, pickle, pydoc\n"
        "import kindling.distributions as D, kindling.nn as nn\n"
        "assert inspect.getsource(D.Normal).startswith('class Normal(')\n"
        "assert inspect.getsource(nn.LSTM.forward).lstrip().startswith('def forward(')\n"
        "assert 'normal distribution' in pydoc.render_doc(D.Normal)\n"
        "assert str(pickle.loads(pickle.dumps(nn.LSTM(2, 3)))) == 'LSTM(2, 3)'\n"
        "print(D.__spec__.loader.__class__.__name__, nn.Linear.__module__)\n"
    ) == "PackedLoader kindling.nn.modules.linear\n"


def test_sources_under_the_alias_and_without_lzma():
    code = "import inspect, torch.distributions as D\n    print(inspect.getsource(D.Normal.rsample).split()[:2], D.__loader__.get_source(D.__name__)[:3])"
    for program, expected in (("", "['def', 'rsample(self,'] \"\"\"\n"), ("import sys; sys.modules['lzma'] = None\n", "OSError\n")):
        text = f"{program}try:\n    {code}\nexcept OSError: print('OSError')"
        done = subprocess.run([sys.executable, "-m", "kindling", "run", "-c", text], capture_output=True, text=True, cwd="/")
        assert (done.stdout, done.stderr) == (expected, "")


def test_traceback_shows_the_source():
    text = ask(
        "import kindling, traceback\n"
        "try: kindling.distributions.Normal(kindling.tensor(float('nan')), 1.)\n"
        "except ValueError: print(traceback.format_exc())\n"
    )
    assert 'File "kindling/distributions/normal.py", line ' in text and "\n    super().__init__(" in text


def test_names_of_the_pack_are_listed():
    import pkgutil

    assert {"distributions", "fft", "nn"} <= set(dir(kindling)) and {"data", "hooks"} <= set(dir(kindling.utils))
    names = {module.name for module in pkgutil.walk_packages(kindling.__path__, "kindling.")}
    assert {"kindling.nn.modules.rnn", "kindling.nn.modules.linear", "kindling.distributions.normal"} <= names


def test_no_import_starts_a_process_or_a_thread():
    assert ask("""
import importlib, pkgutil, sys
import kindling

started = []
sys.addaudithook(lambda event, args: started.append((event, args)) if event in (
    "subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec", "_thread.start_new_thread", "socket.connect") else None)
for found in pkgutil.walk_packages(kindling.__path__, "kindling."):
    if found.name.rpartition(".")[2] != "__main__" and not found.name.startswith(("kindling.startup", "kindling.libkindling")):
        importlib.import_module(found.name)
print(len(sys.modules) > 500, started)
""") == "True []\n"


def test_a_missing_module_is_missing():
    with pytest.raises(ModuleNotFoundError, match="^No module named 'kindling.nn.nope'$"):
        import kindling.nn.nope  # noqa: F401
