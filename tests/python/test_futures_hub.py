"""torch.futures beside torch; torch.hub with a local repository and files by address."""
import hashlib
import importlib
import threading
import zipfile

import kindling as torch
import pytest
from both import same

SETUP = """
import importlib
m = importlib.import_module(torch.__name__ + ".futures")
Future, collect_all, wait_all = m.Future, m.collect_all, m.wait_all
def done(value):
    future = Future()
    future.set_exception(value) if isinstance(value, Exception) else future.set_result(value)
    return future
def words(f):
    try: return f()
    except Exception as error: return type(error).__name__, str(error).split(chr(10))[0]
"""


@pytest.mark.parametrize("source", [
    "done(1).value()", "done(1).wait()", "done(1).done(), Future().done()", "words(lambda: done(1).set_result(2))", "words(lambda: Future().set_exception(3))",
    "words(done(ValueError('x')).wait)", "words(done(ValueError('x')).value)", "done(ValueError('x')).then(lambda q: 1).wait()",
    "words(done(ValueError('x')).then(lambda q: q.value()).wait)", "words(done(1).then(lambda q: 1 / 0).wait)", "done(2).then(lambda q: q.value() * 2).wait()",
    "wait_all([done(1), done(2)])", "wait_all([])", "words(lambda: wait_all([done(1), done(ValueError('x'))]))",
    "[f.value() for f in collect_all([done(1), done(2)]).wait()]", "words(lambda: Future(devices=['cpu']))", "Future(devices=[]).done()",
    "f = Future()\nseen = []\nf.add_done_callback(lambda q: seen.append(q.value()))\nf.set_result(3)\nseen",
    "words(lambda: Future(3))[0]",
    # One class of futures: what scripts, callbacks and collections make is the base, torch.Future.
    "isinstance(Future(), torch.Future), issubclass(torch.Future, Future), torch.jit.Future is Future, torch._C.Future is torch.Future",
    "[type(each) is torch.Future for each in (Future().then(print), torch.Future([]).then(print), torch.jit.fork(int), collect_all([]), Future())]",
    "f = torch.Future([])\n(hasattr(f, 'set_exception'), f.set_result(2), torch.jit.wait(f.then(lambda q: q is f)))", "words(lambda: torch.Future())[0]",
    "words(lambda: torch.Future([torch.device('cpu')]))", "words(lambda: Future(devices=['cuda:0']))", "words(lambda: torch.Future[int])[0]",
    "words(lambda: Future().then(3))", "words(lambda: Future().add_done_callback(3))", "words(lambda: wait_all([3]))", "words(lambda: torch.jit.wait(3))", "words(lambda: torch.wait(None))",
    "import pickle\nwords(lambda: pickle.dumps(Future()))", "import copy\nwords(lambda: copy.copy(Future()))",
    "f = done(1)\n(words(lambda: f.set_exception(ValueError('late'))), words(f.value))",
    "e = done(ValueError('x'))\n(words(collect_all([e]).wait), collect_all([e]).done())",
    "f = torch.Future([])\n(f._set_unwrap_func(lambda value: 1 / value), f.set_result(0), words(f.wait), f.done())",
])
def test_futures(source):
    same(source, SETUP)


def test_value_before_it_is_there():
    with pytest.raises(RuntimeError):
        torch.futures.Future().value()


def test_another_thread_waits():
    future, seen = torch.futures.Future(), []
    thread = threading.Thread(target=lambda: seen.append(future.wait()))
    thread.start()
    both = torch.futures.collect_all([future, future.then(lambda done: done.value() + 1)])
    future.set_result(1)
    thread.join(10)
    assert seen == [1] and [each.value() for each in both.wait()] == [1, 2]


HUBCONF = """
dependencies = ["math"]
from inside import twice

def linear(size, *, bias=True):
    'A linear layer.'
    import torch
    return twice(size), bias

def _hidden(): pass
"""


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "hubconf.py").write_text(HUBCONF)
    (tmp_path / "inside.py").write_text("def twice(x): return 2 * x\n")
    return tmp_path


def test_local_repository(repository):
    hub = importlib.import_module("kindling.hub")
    assert hub.load(str(repository), "linear", 3, source="local", bias=False) == (6, False)
    with pytest.raises(RuntimeError, match="Cannot find callable nothing in hubconf"):
        hub.load(str(repository), "nothing", source="local")
    with pytest.raises(ValueError, match='Unknown source: "elsewhere"'):
        hub.load(str(repository), "linear", source="elsewhere")
    (repository / "hubconf.py").write_text("dependencies = ['no_such_package']\ndef f(): pass\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.load(str(repository), "f", source="local")


def test_repository_that_is_kept(repository, tmp_path_factory, monkeypatch, capsys):
    """What was loaded before is used without a net."""
    hub = importlib.import_module("kindling.hub")
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setattr(hub, "_hub_dir", str(home))
    kept = home / "someone_models_v1"
    kept.mkdir()
    for name in ("hubconf.py", "inside.py"):
        (kept / name).write_text((repository / name).read_text())
    assert hub.list("someone/models:v1", trust_repo=True) == ["linear", "twice"]
    assert hub.help("someone/models:v1", "linear") == "A linear layer."
    assert hub.load("someone/models:v1", "linear", 1, verbose=False) == (2, True)
    assert "Using cache found in" in capsys.readouterr().err
    assert (home / "trusted_list").read_text() == "someone_models\n"


def test_files_by_address(tmp_path, monkeypatch):
    hub = importlib.import_module("kindling.hub")
    monkeypatch.setattr(hub, "_hub_dir", str(tmp_path / "hub"))
    source = tmp_path / "weights.pt"
    torch.save({"a": torch.ones(2)}, source)
    loaded = hub.load_state_dict_from_url(source.as_uri(), progress=False)
    assert torch.equal(loaded["a"], torch.ones(2)) and (tmp_path / "hub" / "checkpoints" / "weights.pt").exists()
    source.unlink()     # the copy is used
    assert hub.load_state_dict_from_url(source.as_uri(), weights_only=True)["a"].shape == (2,)
    data = b"some bytes"
    (tmp_path / "it.bin").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    hub.download_url_to_file((tmp_path / "it.bin").as_uri(), str(tmp_path / "copy.bin"), hash_prefix=digest[:8], progress=False)
    assert (tmp_path / "copy.bin").read_bytes() == data
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.download_url_to_file((tmp_path / "it.bin").as_uri(), str(tmp_path / "other.bin"), hash_prefix="00000000", progress=False)
    assert sorted(path.name for path in tmp_path.glob("*.bin*")) == ["copy.bin", "it.bin"]


def test_archives_stay_in_their_folder(tmp_path):
    hub = importlib.import_module("kindling.hub")
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        archive.writestr("../outside", "x")
    with zipfile.ZipFile(tmp_path / "bad.zip") as archive, pytest.raises(ValueError, match="outside"):
        hub._safe_extract_zip(archive, tmp_path / "in")
    assert not (tmp_path / "outside").exists()


def test_folders(monkeypatch, tmp_path):
    hub = importlib.import_module("kindling.hub")
    monkeypatch.setattr(hub, "_hub_dir", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "hub")
    hub.set_dir("~/x")
    assert hub.get_dir().endswith("/x") and "~" not in hub.get_dir()
