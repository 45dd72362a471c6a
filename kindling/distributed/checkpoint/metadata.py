"""What a checkpoint says of itself: tensors with their pieces, and where each piece lies. Classes and fields are PyTorch's, whose files these are."""
import dataclasses
import enum
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import kindling as torch

__all__ = ["ChunkStorageMetadata", "TensorStorageMetadata", "BytesStorageMetadata", "Metadata", "MetadataIndex", "TensorProperties", "StorageMeta"]


@dataclass
class ChunkStorageMetadata:
    """Where a piece begins in its tensor, and its shape."""

    offsets: torch.Size
    sizes: torch.Size


class _MEM_FORMAT_ENCODING(enum.Enum):
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


@dataclass
class TensorProperties:
    """What a tensor is, but for its shape."""

    dtype: torch.dtype = field(default_factory=torch.get_default_dtype)
    layout: torch.layout = torch.strided
    requires_grad: bool = False
    memory_format: torch.memory_format = torch.contiguous_format
    pin_memory: bool = False

    def _formats(self):
        return dict(zip((torch.contiguous_format, torch.channels_last, torch.preserve_format), _MEM_FORMAT_ENCODING))

    def __getstate__(self):
        if self.memory_format not in self._formats():
            raise RuntimeError(f"Invalid torch.memory_format: {self.memory_format}")
        return self.dtype, self.layout, self.requires_grad, self._formats()[self.memory_format], self.pin_memory

    def __setstate__(self, state):
        self.dtype, self.layout, self.requires_grad, encoded, self.pin_memory = state
        self.memory_format = next(each for each, code in self._formats().items() if code == encoded)

    @staticmethod
    def create_from_tensor(tensor):
        return TensorProperties(tensor.dtype, tensor.layout, tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor: what it is, and its pieces."""

    properties: TensorProperties
    size: torch.Size
    chunks: list


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass
class StorageMeta:
    """Which checkpoint it is."""

    checkpoint_id: str | os.PathLike | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list = field(default_factory=list)


@dataclass
class Metadata:
    """All values of a checkpoint by name, the place of each in the dictionary, and where they lie."""

    state_dict_metadata: dict
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """The name of a value, and for a piece of a tensor where it begins."""

    fqn: str
    offset: torch.Size | None = None
    index: int | None = dataclasses.field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence | None = None, index: int | None = None):
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        if offset is not None:
            object.__setattr__(self, "offset", torch.Size(offset))
