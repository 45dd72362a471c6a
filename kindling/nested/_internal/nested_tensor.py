"""Nested tensors of layout `torch.jagged` with their operators, where PyTorch has them: the class is in `jagged.py`."""
from . import ops
from .jagged import NestedInt, NestedSize, NestedTensor, _rebuild_njt, from_list, like, make  # noqa: F401

NestedTensor._operators = ops
for _each in (NestedInt, NestedSize, NestedTensor, _rebuild_njt):
    _each.__module__ = __name__
