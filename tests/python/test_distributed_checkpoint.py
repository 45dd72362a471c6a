"""Checkpoints in folders: PyTorch reads what Kindling wrote, and the other way; states under plain names are PyTorch's."""
import importlib
import io
import pickle
import warnings

import pytest
import torch

import kindling


def part(t, path):
    return importlib.import_module(f"{t.__name__}.distributed.checkpoint{path}")


def content(t):
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3))
    optimizer = t.optim.Adam(model.parameters(), lr=0.1)
    model(t.ones(2, 2)).sum().backward()
    optimizer.step()
    view = t.arange(12.).reshape(3, 4)
    return model, {
        "model": model.state_dict(), "optim": optimizer.state_dict(), "step": 5, "name": "x", "numbers": [1, 2], "mixed": [1, t.ones(2, dtype=t.bfloat16)], "none": None,
        "empty": {}, "zero": t.zeros(0, 3), "number": t.tensor(3), "part": view[1], "turned": view.t(), "half": t.ones(2, 2).half(), "flags": t.tensor([True]),
        "complex": t.tensor([1 + 2j]), "deep": {1: {"a.b": t.ones(1)}},
    }


def blank(t, value):
    if isinstance(value, t.Tensor):
        return t.zeros_like(value)
    if isinstance(value, dict):
        return {key: blank(t, each) for key, each in value.items()}
    if isinstance(value, list):
        return [blank(t, each) for each in value]
    return 0 if value is not None else None


def shown(value):
    if hasattr(value, "tolist"):
        return str(value.dtype).removeprefix("torch."), list(value.shape), str(value.tolist())
    if isinstance(value, dict):
        return {key: shown(each) for key, each in value.items()}
    return [shown(each) for each in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("writer", [kindling, torch])
@pytest.mark.parametrize("reader", [kindling, torch])
def test_both_ways(writer, reader, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, state = content(writer)
        part(writer, "").save(state, checkpoint_id=tmp_path / "c")
        assert sorted(each.name for each in (tmp_path / "c").iterdir()) == [".metadata", "__0_0.distcp"]
        got = blank(reader, content(reader)[1])
        part(reader, "").load(got, checkpoint_id=tmp_path / "c")
        assert shown(got) == shown(state)
        formats = part(reader, ".format_utils")
        formats.dcp_to_torch_save(tmp_path / "c", tmp_path / "one.pt")
        whole = shown(reader.load(tmp_path / "one.pt", weights_only=False))
        del state["empty"]
        state["deep"] = {"1": state["deep"][1]}
        state["optim"]["state"] = {str(key): value for key, value in state["optim"]["state"].items()}
        assert whole == shown(state)
        formats.torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "again")
        assert part(kindling, "").FileSystemReader(tmp_path / "again").read_metadata().state_dict_metadata.keys() == \
            part(kindling, "").FileSystemReader(tmp_path / "c").read_metadata().state_dict_metadata.keys()


def test_what_has_a_state_is_asked_for_it(tmp_path):
    dcp = part(kindling, "")
    model, state = content(kindling)
    dcp.save({"m": model, "step": 3}, checkpoint_id=tmp_path)
    with kindling.no_grad():
        model[0].weight.zero_()
    again = {"m": model, "step": 0}
    dcp.load(again, checkpoint_id=tmp_path)
    assert again["m"] is model and again["step"] == 3 and kindling.equal(model[0].weight, state["model"]["0.weight"]) and model[0].weight.any()
    future = dcp.async_save({"m": model}, checkpoint_id=tmp_path / "later")
    assert future.wait().state_dict_metadata.keys() >= {"m.0.weight"}


def test_pieces_of_several_ranks(tmp_path):
    """A tensor of two pieces in two files, as two ranks write it."""
    files, meta = part(kindling, ".filesystem"), part(kindling, ".metadata")
    stored, chunks = {}, []
    for rank, rows in enumerate((2, 1)):
        piece = io.BytesIO(b"??")
        piece.seek(2)
        kindling.save(kindling.full((rows, 3), float(rank)), piece)
        (tmp_path / f"__{rank}_0.distcp").write_bytes(piece.getvalue())
        chunks.append(meta.ChunkStorageMetadata(kindling.Size([2 * rank, 0]), kindling.Size([rows, 3])))
        stored[meta.MetadataIndex("w", chunks[-1].offsets, rank)] = files._StorageInfo(f"__{rank}_0.distcp", 2, len(piece.getvalue()) - 2)
    known = {"w": meta.TensorStorageMetadata(meta.TensorProperties(), kindling.Size([3, 3]), chunks)}
    with open(tmp_path / ".metadata", "wb") as file:
        files._Pickler(file, 2).dump(meta.Metadata(known, {"w": ("w",)}, stored))
    for t in (kindling, torch):
        got = {"w": t.full((3, 3), 7.0)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part(t, "").load(got, checkpoint_id=tmp_path)
        assert got["w"].tolist() == [[0.0] * 3, [0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize("wanted", ['{"other": t.ones(1)}', '{"number": t.ones(2)}'])
def test_errors(wanted, tmp_path):
    def both(t):
        dcp = part(t, "")
        with pytest.raises(BaseException) as caught, warnings.catch_warnings():     # noqa: PT011
            warnings.simplefilter("ignore")
            dcp.load(eval(wanted, {"t": t}), checkpoint_id=tmp_path)
        assert type(caught.value) is part(t, ".api").CheckpointException
        error, _ = caught.value.failures[0]
        return type(error), str(error).replace("torch.", "")
    part(kindling, "").save(content(kindling)[1], checkpoint_id=tmp_path)
    ours, theirs = both(kindling), both(torch)
    assert ours[0] is theirs[0] and ours[1].split(" for ")[0].rstrip(".") == theirs[1].split(" for ")[0].rstrip(".")


def test_metadata_loads_no_other_classes(tmp_path):
    class Bad:
        def __reduce__(self):
            return print, ("run",)
    for what in (Bad(), pickle.PickleBuffer, kindling.load):
        (tmp_path / ".metadata").write_bytes(pickle.dumps(what, 2))
        with pytest.raises(pickle.UnpicklingError, match="which is not loaded"):
            part(kindling, "").FileSystemReader(tmp_path).read_metadata()


def test_metadata_may_take_members_of_enumerations_alone(tmp_path):
    """As early CPython 3.11 (Debian 12's 3.11.2) pickles them, whichever reads."""
    filesystem = part(kindling, ".filesystem")

    def read(text):
        return filesystem._Unpickler(io.BytesIO(text)).load()

    for home in (b"builtins", b"__builtin__"):
        head = b"c" + home + b"\ngetattr\n"
        found = read(head + b"(ctorch.distributed.checkpoint.metadata\n_MEM_FORMAT_ENCODING\nVTORCH_CONTIGUOUS_FORMAT\ntR.")
        assert found is part(kindling, ".metadata")._MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT
        for taken in (b"(ctorch\nSize\nV__class__\ntR.", b"(ctorch.distributed.checkpoint.metadata\nMetadata\nV__init__\ntR."):
            with pytest.raises(pickle.UnpicklingError, match="no enumeration"):
                read(head + taken)


def test_storages_and_planners_of_ones_own_are_refused(tmp_path):
    dcp = part(kindling, "")
    for given in ({"storage_writer": object()}, {"planner": object(), "checkpoint_id": tmp_path}):
        with pytest.raises(NotImplementedError, match="in Kindling"):
            dcp.save({}, **given)
    with pytest.raises(RuntimeError, match="checkpoint_id"):
        dcp.save({})


@pytest.mark.parametrize("made", ["t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Linear(3, 1))", "t.nn.DataParallel(t.nn.Linear(2, 1))"])
@pytest.mark.parametrize("optim", ["t.optim.Adam(m.parameters())", "t.optim.SGD([{'params': [p], 'lr': i + 1.} for i, p in enumerate(m.parameters())], momentum=.9)"])
@pytest.mark.parametrize("options", ["", "flatten_optimizer_state_dict=True", "cpu_offload=True", "ignore_frozen_params=True"])
def test_states_by_plain_names(made, optim, options):
    def both(t):
        state = part(t, ".state_dict")
        t.manual_seed(0)
        m = eval(made, {"t": t})
        o = eval(optim, {"t": t, "m": m})
        how = eval(f"S({options})", {"S": state.StateDictOptions})
        fresh = shown(state.get_optimizer_state_dict(m, o))
        m(t.ones(1, 2)).sum().backward()
        o.step()
        first = state.get_state_dict(m, o, options=how)
        o2 = eval(optim, {"t": t, "m": m})
        result = state.set_state_dict(m, o2, model_state_dict=first[0], optim_state_dict=first[1], options=how)
        if "flatten" in options and t is torch:     # which gives the second optimiser no state
            o2 = o
        assert rounded(shown(o2.state_dict())) == rounded(shown(o.state_dict()))
        return fresh, shown(dict(first[0])), shown(first[1]), shown(o2.state_dict()), list(result.missing_keys), [group.get("lr") for group in o2.param_groups]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = both(kindling), both(torch)
    assert rounded(ours) == rounded(theirs)


def rounded(value):
    import re
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.3g}", repr(value))


def test_planners_that_override_something_are_refused(tmp_path):
    dcp = part(kindling, "")

    class Mine(dcp.DefaultSavePlanner):
        def transform_object(self, item, value):
            return value
    with pytest.raises(NotImplementedError, match="in Kindling"):
        dcp.save({"a": 1}, checkpoint_id=tmp_path, planner=Mine())
    dcp.save({"a": 1, "b": {"c": 2}}, checkpoint_id=tmp_path, planner=dcp.DefaultSavePlanner(flatten_state_dict=False))
    got = {"a": 0, "b": None}
    dcp.load(got, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(flatten_state_dict=False))
    assert got == {"a": 1, "b": {"c": 2}}


@pytest.mark.parametrize("size", [0, 1, 5, 8, 9])
def test_the_piece_of_a_rank(size):
    from torch.distributed.tensor import Shard
    for ranks in (1, 2, 3, 4):
        for rank in range(ranks):
            ours = importlib.import_module("kindling.distributed.tensor").Shard.local_shard_size_and_offset(size, ranks, rank)
            assert ours == Shard.local_shard_size_and_offset(size, ranks, rank)
