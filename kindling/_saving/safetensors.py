"""The safetensors format: a length, a JSON table of names, dtypes, shapes and places, then the tensors' bytes.

Follows the format's rules both ways: at most 100 MB of table, places that cover the data exactly once, in order and
without gaps. Nothing is allocated before the table has been checked against the file's size.
"""
import os

import kindling as torch

_NAMES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32",
    "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E8M0": "float8_e8m0fnu",
}
_LIMIT = 100_000_000


def _fail(text):
    return RuntimeError("safetensors: " + text)


def _table(source):
    """(entries in order of their place, metadata, where data starts) of a file, all checked."""
    if source.size < 8:
        raise _fail("the file is too short to hold a header")
    length = int.from_bytes(source.read(0, 8), "little")
    if length > _LIMIT:
        raise _fail(f"a header of {length} bytes is larger than the format allows")
    text = source.read(8, length, "the header")
    import json
    try:
        table = json.loads(str(text, "utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as problem:
        raise _fail(f"the header is not valid JSON: {str(problem)[:200]}") from None
    if type(table) is not dict:
        raise _fail("the header is not a table")
    metadata = table.pop("__metadata__", None) or {}
    if type(metadata) is not dict or not all(type(v) is str for v in metadata.values()):
        raise _fail("__metadata__ must map strings to strings")
    room, entries = source.size - 8 - length, []
    for name, entry in table.items():
        if type(entry) is not dict or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise _fail(f"tensor {name[:200]!r} must have dtype, shape and data_offsets, and nothing else")
        kind, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
        if type(kind) is not str or kind not in _NAMES or not hasattr(torch, _NAMES[kind]):
            raise _fail(f"tensor {name[:200]!r} has dtype {str(kind)[:40]!r}, which is not there")
        for numbers in (shape, place):
            if type(numbers) is not list or len(numbers) > 64 or not all(
                    type(n) is int and 0 <= n < 1 << 63 for n in numbers):
                raise _fail(f"tensor {name[:200]!r} has a shape or place that is no list of whole numbers")
        if len(place) != 2:
            raise _fail(f"tensor {name[:200]!r} must have two data_offsets")
        dtype = getattr(torch, _NAMES[kind])
        count = torch.empty(0, dtype=dtype).element_size()
        for n in shape:
            count *= n
        if place[1] - place[0] != count:
            raise _fail(f"tensor {name[:200]!r} of shape {shape} needs {count} bytes, not {place[1] - place[0]}")
        entries.append((place[0], place[1], name, dtype, shape))
    entries.sort(key=lambda e: e[:2])
    at = 0
    for start, stop, name, _, _ in entries:
        if start != at:
            raise _fail(f"tensor {name[:200]!r} starts at {start}, but the one before it ends at {at}")
        at = stop
    if at != room:
        raise _fail(f"the header describes {at} bytes of data, but the file has {room}")
    return entries, metadata, 8 + length


def _unique(pairs):
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name stands twice")
    return table


def _read(source, device):
    from kindling._saving.files import swap_bytes, swap_width
    from kindling.storage import _storage_bytes
    import sys
    entries, _, data = _table(source)
    result = {}
    for start, stop, name, dtype, shape in entries:
        tensor = torch.empty(shape, dtype=dtype)
        if stop > start:
            view = _storage_bytes(tensor.untyped_storage())[:stop - start]
            source.read_into(data + start, view, f"tensor {name!r}")
            if sys.byteorder != "little":
                swap_bytes(view, swap_width(dtype))
        result[name] = tensor if str(device) == "cpu" else tensor.to(device)
    return result


def load_safetensors(f, device="cpu"):
    """Tensors by name from a .safetensors file (a path or a seekable binary file) or from bytes.

    RuntimeError when the file breaks the format's rules. Example: `load_safetensors("model.safetensors")["weight"]`
    """
    from kindling._saving.zip import Source
    if isinstance(f, (bytes, bytearray, memoryview)):
        from io import BytesIO
        return _read(Source(BytesIO(f)), device)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(Source(file), device)
    return _read(Source(f), device)


def safetensors_metadata(f):
    """The strings stored beside the tensors of a .safetensors file."""
    from kindling._saving.zip import Source
    with open(f, "rb") as file:
        return _table(Source(file))[1]


def save_safetensors(tensors, f, metadata=None):
    """Writes a dict of tensors to a .safetensors file (a path or a binary file).

    Tensors must be dense; RuntimeError when two of them share memory, since the format cannot say so, ValueError for
    other entries than tensors or for metadata that is not strings. The old file stays whole if a save is interrupted.
    Example: `save_safetensors(model.state_dict(), "model.safetensors", {"step": "100"})`
    """
    import json
    import sys
    from kindling._saving.files import Replaced, swap_bytes, swap_width
    from kindling.storage import _dtype_name, _storage_bytes
    kinds = {dtype: kind for kind, dtype in _NAMES.items()}
    if not isinstance(tensors, dict):
        raise ValueError(f"save_safetensors: expected a dict of tensors, got {type(tensors).__name__}")
    if metadata is not None and not all(type(k) is str and type(v) is str for k, v in metadata.items()):
        raise ValueError("save_safetensors: metadata must map strings to strings")
    seen, rows = [], []
    for name, tensor in tensors.items():
        if type(name) is not str or not isinstance(tensor, torch.Tensor):
            raise ValueError(f"save_safetensors: expected a dict of [str, torch.Tensor], got an entry of "
                             f"{type(name).__name__} and {type(tensor).__name__}")
        if name == "__metadata__":
            raise ValueError("save_safetensors: no tensor can be called '__metadata__'")
        if tensor.layout != torch.strided or tensor.device.type == "meta":
            raise ValueError(f"save_safetensors: tensor {name!r} is sparse or has no data")
        kind = kinds.get(_dtype_name(tensor.dtype))
        if kind is None:
            raise ValueError(f"save_safetensors: the format has no {tensor.dtype} (tensor {name!r})")
        if tensor.numel():
            span = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
            seen.append((tensor.data_ptr(), tensor.data_ptr() + span * tensor.element_size(), name))
        rows.append((-tensor.element_size(), name, kind, tensor))
    seen.sort()
    for (_, end, one), (start, _, other) in zip(seen, seen[1:]):
        if start < end:
            raise RuntimeError(f"Some tensors share memory, this will lead to duplicate memory on disk and potential "
                               f"differences when loading them again: {one!r} and {other!r}. Save one of them, or "
                               "clone() it first.")
    rows.sort(key=lambda row: row[:2])  # widest elements first, so that each tensor is aligned
    table, at = {}, 0
    if metadata:
        table["__metadata__"] = metadata
    for width, name, kind, tensor in rows:
        size = tensor.numel() * -width
        table[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    header = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    header += b" " * (-len(header) % 8)

    def write(file):
        file.write(len(header).to_bytes(8, "little") + header)
        for width, _, _, tensor in rows:
            size = tensor.numel() * -width
            if not size:
                continue
            dense = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
            start = dense.storage_offset() * -width
            view = _storage_bytes(dense.untyped_storage())[start:start + size]
            if sys.byteorder != "little":
                view = memoryview(bytearray(view))
                swap_bytes(view, swap_width(tensor.dtype))
            file.write(view)
    if isinstance(f, (str, os.PathLike)):
        with Replaced(f) as file:
            write(file)
    else:
        write(f)
