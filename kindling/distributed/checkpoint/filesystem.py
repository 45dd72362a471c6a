"""Checkpoints in a folder: `.metadata` says what there is, and other files hold the pieces one behind another, each as torch.save writes it."""
import io
import os
import pickle
import typing  # noqa: F401    dataclasses asks it where it is among the modules, and another thread may be halfway through it
from dataclasses import dataclass
from pathlib import Path

import kindling as torch
from kindling.distributed.checkpoint.metadata import (BytesStorageMetadata, ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties,
                                                      TensorStorageMetadata)

__all__ = ["FileSystemWriter", "FileSystemReader"]


@dataclass
class _StorageInfo:
    """Where a piece lies."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: list | None = None

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if value is not None}


class _Pickler(pickle._Pickler):
    """Names of this package are PyTorch's in the file."""

    dispatch = pickle._Pickler.dispatch.copy()
    dispatch_table = {torch.dtype: lambda value: str(value)[6:], torch.layout: lambda value: (torch.serialization._get_layout, (str(value),))}

    def save_global(self, value, name=None):
        module = "kindling" if isinstance(value, torch.dtype) else getattr(value, "__module__", None) or ""
        head, _, rest = module.partition(".")
        if head not in ("kindling", "torch"):
            return super().save_global(value, name)
        path = "torch" + ("." + rest if rest else "")
        self.write(pickle.GLOBAL + f"{path}\n{name or value.__qualname__}\n".encode())
        return self.memoize(value)

    for _kind in (type, type(lambda: 0), type(len)):
        dispatch[_kind] = save_global


def _member(kind, name):
    """`getattr`, by which early CPython 3.11 (3.11.2, not 3.11.7) pickles members of enumerations: of those, and of nothing else."""
    import enum
    if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        raise pickle.UnpicklingError(f"a checkpoint's metadata takes {name!r} of {kind!r}, which is no enumeration")
    return kind[name]


class _Unpickler(pickle.Unpickler):
    """Reads the classes of a checkpoint's metadata, and no others."""

    def find_class(self, module, name):
        if module.startswith("torch.distributed.checkpoint."):
            return getattr(torch._import("kindling" + module[5:]), name)
        if module == "torch" and (name == "Size" or isinstance(getattr(torch, name, None), torch.dtype)):
            return getattr(torch, name)
        if (module, name) == ("torch.serialization", "_get_layout"):
            return torch.serialization._get_layout
        if module in ("pathlib", "pathlib._local") and name in ("PosixPath", "PurePosixPath", "Path"):
            return getattr(__import__("pathlib"), name)
        if (module, name) == ("collections", "OrderedDict"):
            return super().find_class(module, name)
        if module in ("builtins", "__builtin__") and name == "getattr":
            return _member
        raise pickle.UnpicklingError(f"a checkpoint's metadata names {module}.{name}, which is not loaded")


class _Folder:
    """What both have: where a checkpoint lies."""

    @property
    def checkpoint_id(self):
        return self.path

    def reset(self, checkpoint_id=None):
        """Works with another folder from now on."""
        if checkpoint_id:
            self.path = Path(checkpoint_id)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        """Whether it is a path that may be one of a folder."""
        return isinstance(checkpoint_id, Path) or "://" not in str(checkpoint_id)


class FileSystemWriter(_Folder):
    """Writes a checkpoint into a folder."""

    def __init__(self, path, single_file_per_rank=True, sync_files=True, thread_count=1, per_thread_copy_ahead=10_000_000, cache_staged_state_dict=False,
                 overwrite=True, _extensions=None, serialization_format=None):
        super().__init__()
        self.path, self.sync_files, self.overwrite = Path(path), sync_files, overwrite

    def _write(self, values, places):
        """`values`: by name; `places`: the path of each in the dictionary."""
        import uuid
        if not self.overwrite and (self.path / ".metadata").exists():
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")
        self.path.mkdir(parents=True, exist_ok=True)
        known, stored, name = {}, {}, "__0_0.distcp"
        with open(self.path / name, "wb") as file:
            for key, value in values.items():
                begin, offset = file.tell(), None
                if isinstance(value, torch.Tensor):
                    whole = value.to_local() if hasattr(value, "to_local") else value
                    offset = torch.Size([0] * whole.ndim)
                    known[key] = TensorStorageMetadata(TensorProperties.create_from_tensor(value), whole.shape, [ChunkStorageMetadata(offset, whole.shape)])
                    value = whole.detach().clone()      # not the whole of a storage that it is a part of
                else:
                    known[key] = BytesStorageMetadata()
                piece = io.BytesIO()
                torch.save(value, piece)
                file.write(piece.getbuffer())
                stored[MetadataIndex(key, offset)] = _StorageInfo(name, begin, file.tell() - begin)
            self._sync(file)
        metadata = Metadata(known, places, stored, StorageMeta(self.path, str(uuid.uuid4())), "1.0.0")
        with open(self.path / ".metadata.tmp", "wb") as file:
            _Pickler(file, 2).dump(metadata)
            self._sync(file)
        os.replace(self.path / ".metadata.tmp", self.path / ".metadata")
        return metadata

    def _sync(self, file):
        if self.sync_files:
            file.flush()
            os.fsync(file.fileno())


class FileSystemReader(_Folder):
    """Reads a checkpoint from a folder, from however many processes it came."""

    def __init__(self, path, _extension_registry=None):
        super().__init__()
        self.path = Path(path)

    def read_metadata(self):
        """What there is."""
        with open(self.path / ".metadata", "rb") as file:
            return _Unpickler(file).load()

    def _piece(self, info):
        with open(self.path / info.relative_path, "rb") as file:
            file.seek(info.offset)
            return io.BytesIO(file.read(info.length))

    def _value(self, metadata, name):
        return torch.load(self._piece(metadata.storage_data[MetadataIndex(name)]), weights_only=False)

    def _into(self, metadata, name, target):
        """Copies the pieces of a tensor into another one."""
        known = metadata.state_dict_metadata[name]
        if known.size != target.shape:
            raise ValueError(f"Size mismatch between saved {known.size} and current: {target.shape} for {name}")
        with torch.no_grad():
            for chunk in known.chunks:
                piece = torch.load(self._piece(metadata.storage_data[MetadataIndex(name, chunk.offsets)]), map_location="cpu", weights_only=True)
                part = target.detach()
                for dim, (begin, size) in enumerate(zip(chunk.offsets, chunk.sizes)):
                    part = part.narrow(dim, begin, size)
                part.copy_(piece)
