"""save and load against PyTorch, both ways: what one writes the other reads, with the same values, views and sharing."""
import collections
import importlib
import io
import os
import pickle
import stat
import subprocess
import sys
import zipfile

import kindling
import numpy
import pytest
import torch

DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "int16", "int32", "int64",
          "uint8", "uint16", "uint32", "uint64", "bool"]


def plain(value):
    """Any saved object as ordinary Python values that two frameworks agree on."""
    if hasattr(value, "untyped_storage") and hasattr(value, "requires_grad"):
        kind = "Parameter" if type(value).__name__ == "Parameter" else "Tensor"
        data = None if value.device.type == "meta" else repr(value.detach().resolve_conj().resolve_neg().tolist())
        attributes = {k: plain(v) for k, v in vars(value).items()}
        return (kind, name(value.dtype), tuple(value.shape), tuple(value.stride()), value.storage_offset(),
                value.requires_grad, value.is_conj(), str(value.device), data, attributes)
    if type(value).__name__ in ("dtype", "device", "layout", "Size", "memory_format"):
        return type(value).__name__, name(value)
    if isinstance(value, dict):
        return type(value).__name__, [(plain(k), plain(v)) for k, v in value.items()], plain(getattr(value, "_metadata", None))
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value).__name__, [plain(v) for v in value]
    if hasattr(value, "pickle_storage_type") or type(value).__name__ == "UntypedStorage":
        return "storage", list(value.tolist())
    return type(value).__name__, repr(value)


def name(value):
    return str(value).replace("kindling.", "torch.")


def write(module, value, **options):
    out = io.BytesIO()
    module.save(value, out, **options)
    return out.getvalue()


def both_ways(make, **load_options):
    """Asserts that the object survives torch -> kindling, kindling -> torch and kindling -> kindling."""
    want = plain(make(torch))
    for options in ({}, {"_use_new_zipfile_serialization": False}):
        theirs, ours = write(torch, make(torch), **options), write(kindling, make(kindling), **options)
        assert plain(kindling.load(io.BytesIO(theirs), **load_options)) == want
        assert plain(torch.load(io.BytesIO(ours), **load_options)) == want
        assert plain(kindling.load(io.BytesIO(ours), **load_options)) == want
        assert plain(kindling.load(io.BytesIO(theirs), weights_only=False)) == want


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    both_ways(lambda t: {
        "values": t.tensor([[0, 1, 2], [3, 4, 100]]).to(getattr(t, dtype)),
        "one": t.tensor(1).to(getattr(t, dtype)),
        "none": t.tensor([]).to(getattr(t, dtype)),
        "slice": t.tensor([0, 1, 2, 3, 4, 5, 6]).to(getattr(t, dtype))[1:6:2],
    })


def test_containers_and_numbers():
    both_ways(lambda t: [
        None, True, False, 0, 255, 256, 65535, 65536, -1, -128, -129, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**63, -2**63,
        2**200, -2**200, -2**39, 1.5, float("inf"), -0.0, 1 + 2j, "", "é", "\ud800", "a" * 300, b"", b"abc\xff", bytearray(b"xy"),
        {1, 2}, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], {}, collections.OrderedDict([(1, 2), ("a", [])]),
        collections.Counter("aab"), list(range(2500)), {i: str(i) for i in range(2100)}, {(1, "a"): {None: 2}},
        t.float32, t.bfloat16, t.uint16, t.bool, t.device("cpu"), t.device("cuda", 1), t.Size([1, 2]), t.strided,
    ])


def test_state_dict_of_module_and_optimizer():
    def make(t):
        t.manual_seed(0)
        model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 2))
        optimizer = t.optim.Adam(model.parameters(), lr=0.1)
        model(t.ones(5, 3) * t.arange(5).view(5, 1)).pow(2).sum().backward()
        optimizer.step()
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    ours, theirs = make(kindling), torch.load(io.BytesIO(write(kindling, make(kindling))))
    assert plain(ours) == plain(theirs)
    assert theirs["model"]._metadata.keys() == {"", "0", "1", "2"}
    assert plain(kindling.load(io.BytesIO(write(torch, make(torch))))) == plain(make(torch))
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    model.load_state_dict(theirs["model"])
    torch.optim.Adam(model.parameters()).load_state_dict(theirs["optimizer"])


def test_parameters_attributes_and_flags():
    def make(t):
        tagged = t.nn.Parameter(t.ones(3))
        tagged.tag = [1, {"a": 2}]
        noted = t.zeros(2)
        noted.note = "text"
        return [t.nn.Parameter(t.ones(2)), t.nn.Parameter(t.ones(2), requires_grad=False), tagged, noted,
                t.ones(2, requires_grad=True), t.ones(2, dtype=t.complex64).conj(), t.ones(1).expand(5), t.ones(2, 0, 3),
                t.empty(3, 4, device="meta")]
    both_ways(make)


def test_views_share_storage():
    def make(t):
        x = t.arange(12.0)
        return {"x": x, "rows": x.view(3, 4), "columns": x.view(3, 4).t(), "part": x[2:5], "steps": x[1::3],
                "list": [x, x], "same": x}
    both_ways(make)
    for module, data in ((kindling, write(torch, make(torch))), (torch, write(kindling, make(kindling)))):
        loaded = module.load(io.BytesIO(data))
        loaded["x"][3] = 100
        assert loaded["rows"][0, 3] == 100 and loaded["columns"][3, 0] == 100 and loaded["part"][1] == 100
        assert loaded["list"][0] is loaded["list"][1] is loaded["same"] is loaded["x"]


def test_recursive_structures():
    rows = [1]
    rows.append(rows)
    pair = ([],)
    pair[0].append(pair)
    loaded = kindling.load(io.BytesIO(write(kindling, {"rows": rows, "pair": pair})))
    assert loaded["rows"][1] is loaded["rows"] and loaded["pair"][0][0] is loaded["pair"]
    assert pickle.PROTO  # the reader below is Python's own
    theirs = torch.load(io.BytesIO(write(kindling, {"rows": rows, "pair": pair})), weights_only=False)
    assert theirs["pair"][0][0] is theirs["pair"]


def test_storages():
    data = write(torch, [torch.tensor([1, 2, 3], dtype=torch.uint8).untyped_storage()])
    assert list(kindling.load(io.BytesIO(data))[0].tolist()) == [1, 2, 3]
    data = write(kindling, [kindling.tensor([1, 2, 3], dtype=kindling.uint8).untyped_storage()])
    assert list(torch.load(io.BytesIO(data))[0].untyped()) == [1, 2, 3]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(protocol):
    def make(t):
        return {"w": t.ones(2, 3), "b": b"bytes", "long": "x" * 1000, "set": {1}, "many": list(range(300))}
    assert plain(kindling.load(io.BytesIO(write(torch, make(torch), pickle_protocol=protocol)))) == plain(make(torch))
    ours = write(kindling, make(kindling), pickle_protocol=protocol)
    assert plain(torch.load(io.BytesIO(ours), weights_only=False)) == plain(make(torch))
    assert plain(kindling.load(io.BytesIO(ours))) == plain(make(torch))


def test_protocol_out_of_range():
    with pytest.raises(ValueError, match="pickle_protocol"):
        kindling.save([], io.BytesIO(), pickle_protocol=7)


def test_files_are_laid_out_as_torch_lays_them_out(tmp_path):
    def make(t):
        return {"a": t.arange(5.0), "e": t.empty(0), "c": t.zeros(100, dtype=t.complex128), "i": t.ones(3, dtype=t.uint16)}
    torch.save(make(torch), tmp_path / "model.v1.pt")
    theirs = (tmp_path / "model.v1.pt").read_bytes()
    kindling.save(make(kindling), tmp_path / "model.v1.pt")
    ours = (tmp_path / "model.v1.pt").read_bytes()
    with zipfile.ZipFile(io.BytesIO(theirs)) as a, zipfile.ZipFile(io.BytesIO(ours)) as b:
        assert b.testzip() is None
        assert a.namelist() == b.namelist()
        different = [n for n in a.namelist() if a.read(n) != b.read(n)]
        assert different == ["model.v1/.data/serialization_id"]  # a hash, made otherwise
        assert [i.header_offset for i in a.infolist()] == [i.header_offset for i in b.infolist()]
    assert len(ours) == len(theirs)


def test_alignment_and_offsets():
    data = write(kindling, [kindling.ones(n) for n in range(1, 70)])
    archive = zipfile.ZipFile(io.BytesIO(data))
    for info in archive.infolist():
        start = info.header_offset + 30 + sum(int.from_bytes(data[info.header_offset + o:info.header_offset + o + 2],
                                                             "little") for o in (26, 28))
        assert start % 64 == 0, info.filename


def test_whole_modules():
    make = "Sequential(m.Linear(2, 3), m.ReLU(), m.Conv1d(3, 1, 1), m.LayerNorm(2), m.Embedding(4, 2), m.LSTM(2, 3), m.Dropout(0.5))"

    def build(t):
        t.manual_seed(1)
        return eval("m." + make, {"m": t.nn})
    theirs, ours = write(torch, build(torch)), write(kindling, build(kindling))
    with pytest.raises(pickle.UnpicklingError, match="torch.nn.modules.container.Sequential"):
        kindling.load(io.BytesIO(theirs))
    read = kindling.load(io.BytesIO(theirs), weights_only=False)
    assert isinstance(read, kindling.nn.Sequential)
    assert plain(dict(read.state_dict())) == plain(dict(build(torch).state_dict()))
    assert repr(read) == repr(build(torch))
    read = torch.load(io.BytesIO(ours), weights_only=False)
    assert isinstance(read, torch.nn.Sequential)
    assert plain(dict(read.state_dict())) == plain(dict(build(torch).state_dict()))
    assert read[0](torch.ones(1, 2)).tolist() == build(torch)[0](torch.ones(1, 2)).tolist()


def test_functions_of_torch():
    """As modules hold them (an activation, for one): by name, both ways."""
    def make(t):
        return [t.relu, t.sigmoid, t.nn.functional.relu, t.nn.functional.gelu, t.nn.functional.linear, t.Tensor.relu, t.nn.ReLU]
    x = [-1.0, 2.0]
    for module, data in ((torch, write(kindling, make(kindling))), (kindling, write(torch, make(torch)))):
        with pytest.raises(pickle.UnpicklingError):
            module.load(io.BytesIO(data))
        read = module.load(io.BytesIO(data), weights_only=False)
        for i in (0, 1, 2, 3, 5):
            assert numpy.allclose(read[i](module.tensor(x)).tolist(), make(torch)[i](torch.tensor(x)).tolist())
        assert read[6] is module.nn.ReLU


@pytest.mark.parametrize("package", ["nn", "optim", "optim.lr_scheduler", "utils.data"])
def test_classes_are_saved_under_torchs_names(package):
    from kindling._saving.pickle_write import torch_name
    theirs, ours = torch, kindling
    for part in package.split("."):
        __import__("torch." + package)
        theirs, ours = getattr(theirs, part), getattr(ours, part)
    different = {}
    for each in dir(theirs):
        cls = getattr(theirs, each)
        if isinstance(cls, type) and cls.__module__.startswith("torch.") and isinstance(getattr(ours, each, None), type):
            module, found = torch_name(getattr(ours, each).__module__, getattr(ours, each).__qualname__)
            try:
                resolved = getattr(importlib.import_module(module), found)
            except (ImportError, AttributeError) as problem:
                resolved = problem
            if resolved is not cls:
                different[each] = module, found, resolved
    assert not different


def test_classes_of_the_program():
    data = write(kindling, {"point": Point(1, kindling.ones(2))})
    with pytest.raises(pickle.UnpicklingError, match=r"GLOBAL \S*test_serialization.Point was not an allowed global"):
        kindling.load(io.BytesIO(data))
    with kindling.serialization.safe_globals([Point]):
        assert kindling.load(io.BytesIO(data))["point"].x == 1
    assert kindling.serialization.get_safe_globals() == []
    assert kindling.load(io.BytesIO(data), weights_only=False)["point"].y.tolist() == [1, 1]
    assert torch.load(io.BytesIO(data), weights_only=False)["point"].x == 1
    assert kindling.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == [f"{__name__}.Point"]


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y


class Slotted:
    __slots__ = ("a",)


def test_other_objects_of_pickle():
    import datetime
    slotted = Slotted()
    slotted.a = 5
    values = [datetime.date(2026, 1, 2), range(3), slice(1, 2), frozenset([1]), len, Point, numpy.arange(3), numpy.float64(2.5),
              type(None), Ellipsis, NotImplemented, slotted, collections.deque([1, 2]), collections.defaultdict(list, a=[1])]
    for protocol in (2, 4):
        read = torch.load(io.BytesIO(write(kindling, values, pickle_protocol=protocol)), weights_only=False)
        assert repr(read[:-3]) == repr(values[:-3]) and read[-3].a == 5 and read[-2:] == values[-2:]
        read = kindling.load(io.BytesIO(write(torch, values, pickle_protocol=protocol)), weights_only=False)
        assert repr(read[:-3]) == repr(values[:-3]) and read[-3].a == 5


def test_numpy_when_allowed():
    values = {"scalar": numpy.float64(2.5), "array": numpy.arange(3)}
    data = write(torch, values)
    with pytest.raises(pickle.UnpicklingError, match="numpy"):
        kindling.load(io.BytesIO(data))
    allowed = [numpy._core.multiarray.scalar, numpy._core.multiarray._reconstruct, numpy.dtype, numpy.ndarray,
               numpy.dtypes.Float64DType, numpy.dtypes.Int64DType]
    with kindling.serialization.safe_globals(allowed):
        read = kindling.load(io.BytesIO(data))
    assert read["scalar"] == 2.5 and read["array"].tolist() == [0, 1, 2]


def test_objects_that_cannot_be_pickled():
    for value in (lambda: 0, (i for i in ())):
        with pytest.raises((pickle.PicklingError, TypeError, AttributeError)):
            kindling.save(value, io.BytesIO())


def test_pickle_module():
    import types
    data = write(kindling, {"f": 1, "w": kindling.ones(2)}, pickle_module=pickle)
    assert kindling.load(io.BytesIO(data), pickle_module=pickle)["w"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        kindling.load(io.BytesIO(data), pickle_module=pickle, weights_only=True)
    mine = types.SimpleNamespace(__name__="mine", Pickler=pickle.Pickler, Unpickler=pickle.Unpickler)
    x = kindling.arange(4.0)
    data = write(kindling, {"x": x, "part": x[1:3]}, pickle_module=mine)
    read = kindling.load(io.BytesIO(data), pickle_module=mine)
    assert read["part"].tolist() == [1, 2] and read["x"].tolist() == [0, 1, 2, 3]


def test_map_location(tmp_path):
    path = tmp_path / "a.pt"
    torch.save({"x": torch.arange(3.0)}, path)
    for where in (None, "cpu", b"cpu", kindling.device("cpu"), {"cuda:0": "cpu"}, {"cpu": "cpu"}, lambda s, tag: s, lambda s, tag: None):
        assert kindling.load(path, map_location=where)["x"].tolist() == [0, 1, 2]
    for where in ("meta", kindling.device("meta"), {"cpu": "meta"}, lambda s, tag: kindling.UntypedStorage(s.nbytes(), device="meta")):
        assert kindling.load(path, map_location=where)["x"].device.type == "meta"
    tags = []
    kindling.load(path, map_location=lambda storage, tag: tags.append((tag, storage.nbytes())))
    assert tags == [("cpu", 12)]
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        kindling.load(path, map_location="nowhere")
    with pytest.raises(TypeError, match="map_location"):
        kindling.load(path, map_location=5)


def test_cuda_files_on_a_machine_without():
    data = write(torch, torch.ones(2))
    data = rewrite(data, lambda pickled: pickled.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"))
    if not kindling.cuda.is_available():
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
            kindling.load(io.BytesIO(data))
    for where in ("cpu", {"cuda:0": "cpu"}, lambda s, tag: s):
        assert kindling.load(io.BytesIO(data), map_location=where).tolist() == [1, 1]


def rewrite(data, change, records=None):
    """A zip file of torch with its pickle (or other records) changed and its checksums right."""
    from kindling._saving.zip import Reader, Source, Writer
    archive, out = Reader(Source(io.BytesIO(data))), io.BytesIO()
    writer = Writer(out.write, "archive")
    for record in archive.records:
        content = archive.read(record)
        content = change(content) if record == "data.pkl" else (records or {}).get(record, content)
        if content is not None:
            writer.write(record, content)
    writer.close()
    return out.getvalue()


def test_mmap(tmp_path):
    path = tmp_path / "a.pt"
    torch.save({"x": torch.arange(1000.0), "e": torch.empty(0)}, path)
    before = path.read_bytes()
    loaded = kindling.load(path, mmap=True)
    assert loaded["x"].tolist() == list(range(1000)) and loaded["e"].numel() == 0
    loaded["x"][0] = 5  # private pages: the file is not written
    assert loaded["x"][0] == 5 and path.read_bytes() == before
    with pytest.raises(ValueError, match="f must be a file path"):
        kindling.load(io.BytesIO(before), mmap=True)
    torch.save(torch.ones(1), path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        kindling.load(path, mmap=True)


def test_file_likes(tmp_path):
    path = tmp_path / "a.pt"
    with open(path, "wb") as file:
        kindling.save([1], file)
    with open(path, "rb") as file:
        assert kindling.load(file) == [1]
    assert kindling.load(str(path)) == [1] and kindling.load(path) == [1]

    class Few:  # reads no more than seven bytes at a time, and has no readinto
        def __init__(self, data):
            self.inner = io.BytesIO(data)

        def read(self, count=-1):
            return self.inner.read(min(count, 7))

        def seek(self, *where):
            self.inner.seek(*where)

        def tell(self):
            return self.inner.tell()
    data = write(torch, torch.arange(100))
    assert kindling.load(Few(data)).tolist() == list(range(100))
    with pytest.raises(AttributeError, match="seekable"):
        kindling.load(object())
    with pytest.raises(AttributeError, match="write"):
        kindling.save(1, object())
    with pytest.raises(FileNotFoundError):
        kindling.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match="Parent directory"):
        kindling.save(1, tmp_path / "none" / "a.pt")


def test_archive_after_other_bytes():
    buffer = io.BytesIO(b"12345" + write(torch, [7]))
    buffer.seek(5)
    assert kindling.load(buffer) == [7]


def test_several_objects_in_one_old_file():
    buffer = io.BytesIO()
    for i in range(3):
        torch.save({"i": torch.full((2,), i)}, buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert [kindling.load(buffer)["i"].tolist() for _ in range(3)] == [[i, i] for i in range(3)]


def test_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    kindling.save({"x": kindling.ones(3)}, path)
    from kindling._saving import zip as _zip
    written = []

    def stop(self, data):
        written.append(len(data))
        if len(written) > 4:
            raise KeyboardInterrupt
        self.write_bytes(data)
        self.offset += len(data)
    monkeypatch.setattr(_zip.Writer, "_emit", stop)
    with pytest.raises(KeyboardInterrupt):
        kindling.save({"x": kindling.zeros(3)}, path)
    monkeypatch.undo()
    assert kindling.load(path)["x"].tolist() == [1, 1, 1]
    assert os.listdir(tmp_path) == ["a.pt"]
    with pytest.raises((pickle.PicklingError, AttributeError)):
        kindling.save({"x": lambda: 0}, path)
    assert kindling.load(path)["x"].tolist() == [1, 1, 1]


def test_killed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.pt"
    kindling.save({"x": kindling.ones(3)}, path)
    program = (f"import kindling, os, signal\n"
               f"from kindling._saving import zip as _zip\n"
               f"emit = _zip.Writer._emit\n"
               f"def kill(self, data):\n"
               f"    emit(self, data)\n"
               f"    if self.offset > 700: os.kill(os.getpid(), signal.SIGKILL)\n"
               f"_zip.Writer._emit = kill\n"
               f"kindling.save({{'x': kindling.zeros(300)}}, {str(path)!r})\n")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path)
    assert done.returncode == -9
    assert kindling.load(path)["x"].tolist() == [1, 1, 1]
    from kindling._saving import files
    descriptor = files.open_unnamed(str(tmp_path))
    if descriptor is not None:  # a file system that has files without names: nothing else is left
        os.close(descriptor)
        assert os.listdir(tmp_path) == ["a.pt"]


def test_save_where_files_need_names(tmp_path, monkeypatch):
    from kindling._saving import files
    monkeypatch.setattr(files, "open_unnamed", lambda folder: None)
    path = tmp_path / "a.pt"
    for value in (1, 2):
        kindling.save(value, path)
        assert kindling.load(path) == value and os.listdir(tmp_path) == ["a.pt"]


def test_save_keeps_mode_and_follows_links(tmp_path):
    path, link = tmp_path / "a.pt", tmp_path / "link.pt"
    kindling.save(1, path)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o600)
    link.symlink_to(path)
    kindling.save(2, link)
    assert link.is_symlink() and kindling.load(path) == 2 and stat.S_IMODE(path.stat().st_mode) == 0o600
    kindling.save(3, "/dev/null")


def test_same_bytes_as_two_dtypes_are_refused():
    x = kindling.ones(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        kindling.save([x, x.view(kindling.int32)], io.BytesIO())


def test_byte_order():
    x = torch.tensor([1.5, -2.0])
    values = {"x": x, "c": torch.tensor([1 + 2j]), "i": torch.tensor([1, 2**40]), "b": torch.tensor([True, False])}
    data = write(torch, values)
    archive = zipfile.ZipFile(io.BytesIO(data))
    widths = (4, 4, 8, 1)
    swapped = {"byteorder": b"big"}
    for key, width in enumerate(widths):
        content = bytearray(archive.read(f"archive/data/{key}"))
        swapped[f"data/{key}"] = b"".join(bytes(content[i:i + width][::-1]) for i in range(0, len(content), width))
    read = kindling.load(io.BytesIO(rewrite(data, lambda p: p, swapped)))
    assert plain(read) == plain(values)
    swapped["byteorder"] = None
    unmarked = io.BytesIO(rewrite(data, lambda p: p, swapped))
    S = kindling.serialization
    S.set_default_load_endianness(S.LoadEndianness.BIG)
    try:
        assert plain(S.load(unmarked)) == plain(values)
    finally:
        S.set_default_load_endianness(None)
    with pytest.raises(TypeError):
        S.set_default_load_endianness("big")


def test_checksums_can_be_left_out():
    S = kindling.serialization
    torch.serialization.set_crc32_options(False)
    try:
        theirs = write(torch, torch.ones(3))
    finally:
        torch.serialization.set_crc32_options(True)
    assert kindling.load(io.BytesIO(theirs)).tolist() == [1, 1, 1]
    assert S.get_crc32_options() is True
    S.set_crc32_options(False)
    try:
        assert torch.load(io.BytesIO(write(kindling, kindling.ones(3)))).tolist() == [1, 1, 1]
    finally:
        S.set_crc32_options(True)


def test_skip_data():
    S = kindling.serialization
    data = write(torch, torch.ones(3))
    with S.skip_data():
        assert kindling.load(io.BytesIO(data)).tolist() == [0, 0, 0]
        empty = write(kindling, kindling.ones(3))
    assert kindling.load(io.BytesIO(empty)).tolist() == [0, 0, 0]
    assert kindling.load(io.BytesIO(data)).tolist() == [1, 1, 1]


def test_settings_from_the_environment(tmp_path):
    program = ("import io, os, kindling\n"
               "class A: pass\n"
               "b = io.BytesIO(); kindling.save(A(), b); b.seek(0)\n"
               "print(type(kindling.load(b)).__name__)\n")
    run = lambda **extra: subprocess.run([sys.executable, "-c", program], env={**os.environ, **extra}, capture_output=True,
                                         text=True, cwd=tmp_path)
    done = run(TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD="1")
    assert done.stdout.strip() == "A" and "forcing weights_only=False" in done.stderr, done.stderr
    assert "UnpicklingError" in run().stderr
    assert "RuntimeError" in run(TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD="1", TORCH_FORCE_WEIGHTS_ONLY_LOAD="1").stderr


def test_reading_does_not_import_pickle(tmp_path):
    # In a process of its own, without torch: the reader of data must not even load Python's pickle.
    if kindling.Tensor is torch.Tensor:
        pytest.skip("kindling is a stand-in over torch here, which imports pickle itself")
    program = ("import sys, io, kindling\n"
               "b = io.BytesIO(); kindling.save({'w': kindling.ones(2)}, b); b.seek(0)\n"
               "assert kindling.load(b)['w'].tolist() == [1, 1]\n"
               "assert 'pickle' not in sys.modules and '_pickle' not in sys.modules\n")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
