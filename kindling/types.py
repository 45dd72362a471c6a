"""``torch.types``: names for annotations."""

import os
from collections.abc import Sequence
from typing import IO, Union

import kindling as _kindling

__all__ = ["Number", "Device", "FileLike", "Storage"]

Number = Union[int, float, bool]
Device = Union["_kindling.device", str, int, None]
FileLike = Union[str, os.PathLike[str], IO[bytes]]
_TensorOrTensors = Union["_kindling.Tensor", Sequence["_kindling.Tensor"]]
_dtype = _kindling.dtype
_device = _kindling.device
_layout = _kindling.layout
_size = Union["_kindling.Size", list, tuple]
_int, _float, _bool, _complex = int, float, bool, complex


class Storage:
    """Stands for storages in annotations; none is an instance, as in PyTorch."""
