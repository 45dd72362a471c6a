"""Page-locked copies of batches."""
from _collections_abc import Mapping, Sequence

import kindling as torch
from kindling.utils.data._utils.collate import _mapped


def pin_memory(data, device=None):
    """`data` with every tensor, and every object that has a method `pin_memory`, replaced by its pinned copy."""
    if isinstance(data, torch.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (Mapping, tuple, Sequence)) and not isinstance(data, (str, bytes)):
        return _mapped(data, pin_memory, keep_tuples=True)
    return data
