"""The safetensors format against the safetensors package, both ways, and damaged headers."""
import io
import json

import kindling
import pytest
import safetensors
import safetensors.torch
import torch

KINDS = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool",
         "complex64"]


def tensors(t):
    made = {kind: t.tensor([[0, 1, 2], [3, 4, 100]]).to(getattr(t, kind)) for kind in KINDS}
    return {**made, "scalar": t.tensor(2.5), "empty": t.zeros(0, 4), "turned": t.arange(6.0).view(2, 3).t(), "part": t.arange(9)[2:5]}


def plain(found):
    return {k: (str(v.dtype).rpartition(".")[2], tuple(v.shape), v.tolist()) for k, v in sorted(found.items())}


def test_both_ways(tmp_path):
    ours, theirs = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors"
    kindling.save_safetensors(tensors(kindling), ours, {"step": "5"})
    want = plain(tensors(torch))
    assert plain(safetensors.torch.load_file(ours)) == want
    with safetensors.safe_open(ours, framework="pt") as file:
        assert file.metadata() == {"step": "5"}
    safetensors.torch.save_file({k: v.contiguous() for k, v in tensors(torch).items()}, theirs, {"a": "é"})
    assert plain(kindling.load_safetensors(theirs)) == want
    assert plain(kindling.load_safetensors(theirs.read_bytes())) == want
    assert plain(kindling.load(theirs)) == want and plain(kindling.load(ours, map_location="cpu")) == want
    from kindling._saving.safetensors import safetensors_metadata
    assert safetensors_metadata(theirs) == {"a": "é"}
    out = io.BytesIO()
    kindling.save_safetensors(tensors(kindling), out, {"step": "5"})
    assert out.getvalue() == ours.read_bytes()


def test_refused_when_saving(tmp_path):
    x = kindling.arange(6.0)
    with pytest.raises(RuntimeError, match="share memory.*'a' and 'b'"):
        kindling.save_safetensors({"a": x, "b": x[1:3]}, tmp_path / "a")
    kindling.save_safetensors({"a": x[:3], "b": x[3:]}, tmp_path / "a")
    for bad in ([x], {"a": 5}, {5: x}, {"__metadata__": x}, {"a": kindling.ones(1, dtype=kindling.complex128)},
                {"a": kindling.empty(1, device="meta")}):
        with pytest.raises(ValueError, match="save_safetensors"):
            kindling.save_safetensors(bad, tmp_path / "b")
    with pytest.raises(ValueError, match="metadata"):
        kindling.save_safetensors({"a": x}, tmp_path / "b", {"a": 5})
    assert not (tmp_path / "b").exists()


def file(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return io.BytesIO(len(text).to_bytes(8, "little") + text + data)


@pytest.mark.parametrize("header, data", [
    ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, bytes(8)),
    ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(7)),
    ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(9)),
    ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}, bytes(12)),
    ({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}, bytes(8)),
    ({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]}}, b""),
    ({"a": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}}, bytes(4)),
    ({"a": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}}, bytes(4)),
    ({"a": {"dtype": "F31", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    ({"a": {"dtype": ["F32"], "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 4]}}, bytes(4)),
    ({"a": {"dtype": "F32", "shape": [1]}}, bytes(4)),
    ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
    ({"__metadata__": {"a": 5}}, b""),
    ({"__metadata__": 5}, b""),
    ([], b""), (b"{", b""), (b"[" * 100_000, b""), (b'{"a":1,"a":2}', b""), (b"\xff", b""), (b"1" * 5000, b""),
])
def test_damaged_headers(header, data):
    with pytest.raises(RuntimeError, match="safetensors"):
        kindling.load_safetensors(file(header, data))


def test_other_damage():
    for data in (b"", bytes(7), bytes(8), b"\xff" * 8, b"\xff" * 100, (10**9).to_bytes(8, "little") + bytes(100)):
        with pytest.raises(RuntimeError):
            kindling.load_safetensors(data)
    out = io.BytesIO()
    kindling.save_safetensors({"a": kindling.ones(5)}, out)
    for end in range(len(out.getvalue())):
        with pytest.raises(RuntimeError):
            kindling.load_safetensors(out.getvalue()[:end])
