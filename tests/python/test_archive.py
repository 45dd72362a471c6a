"""The Python modules of a wheel: those that starting needs are files, the others work from the archive as files would."""

import importlib.util
import inspect
import lzma
import marshal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import kindling

ROOT = Path(__file__).parents[2]
ARCHIVE = Path(kindling.__path__[1])

pytestmark = pytest.mark.skipif(not ARCHIVE.exists(), reason="not an ordinary installation")


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_files_are_what_starting_loads():
    startup, stage = load(ROOT / "benchmarks" / "startup.py"), load(ROOT / "tools" / "stage_python.py")
    program = startup.IMPORTS + (
        "import torch.utils\nfrom torch import nn\n"
        "model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))\n"
        "model(torch.ones(64, 784))\n"
    )
    loaded = {name for name in startup.look(program, run=True)["modules"] if name.split(".")[0] == "kindling"}
    loaded = {name.removeprefix("kindling").removeprefix(".") for name in loaded} - {"_C"}
    # The command's own file is `__main__`, and the others are for child interpreters only.
    files = {name.removesuffix("__init__").removesuffix(".") for name in stage.FILES} - {"__main__", "_as_torch.torch", "_as_torch.functorch"}
    assert {name for name in loaded if not name.startswith("_C.")} == files


def test_functions_that_only_scripts_read_have_their_source_alone():
    from kindling.nn._functional import _scripted
    function = _scripted.lp_pool1d
    assert function.__code__.co_names == () and function.__defaults__ == (None, False)
    assert "avg_pool1d" in inspect.getsource(function)


def test_every_module_is_a_file_or_in_the_archive_once():
    sources = {str(path.relative_to(ROOT / "kindling")) for path in (ROOT / "kindling").rglob("*.py")}
    files = {str(path.relative_to(ARCHIVE.parent)) for path in ARCHIVE.parent.rglob("*.py")}
    has_bytecode = load(ROOT / "tools" / "stage_python.py").has_bytecode
    with zipfile.ZipFile(ARCHIVE) as archive:
        names = {entry.filename for entry in archive.infolist()} - {"sources.xz"}
        shown = marshal.loads(lzma.decompress(archive.read("sources.xz")))
        sizes = {name: len(archive.read(name)) for name in names if name.endswith(".py")} | {name: len(text) for name, text in shown.items()}
    packed = set(sizes)
    assert {name for name in packed if has_bytecode(Path(name), sizes[name])} == set(shown)
    assert names == {name + "c" if name in shown else name for name in packed}
    assert all(text == (ROOT / "kindling" / name).read_bytes() for name, text in shown.items())
    assert files | packed == sources and not files & packed


def test_source_help_and_pickles():
    assert ask(
        "import inspect, pickle, pydoc\n"
        "import kindling.distributions as D, kindling.nn as nn\n"
        "assert inspect.getsource(D.Normal).startswith('class Normal(')\n"
        "assert inspect.getsource(nn.LSTM.forward).lstrip().startswith('def forward(')\n"
        "assert 'normal distribution' in pydoc.render_doc(D.Normal)\n"
        "assert str(pickle.loads(pickle.dumps(nn.LSTM(2, 3)))) == 'LSTM(2, 3)'\n"
        "print(D.__spec__.loader.__class__.__name__, nn.Linear.__module__)\n"
    ) == "_Loader kindling.nn.modules.linear\n"


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


def test_names_of_the_archive_are_listed():
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
