"""What scripts take for the blocks of amp: TorchScript over the blocks themselves.

A dtype is a number in a script. It goes to Python as an empty tensor of that dtype, so that the numbers stand in one place.
The classes repeat their ends because script classes do not inherit.
"""
import threading
from typing import Any, Optional

import kindling as torch

_entered = threading.local()


@torch.jit.ignore
def _enter(device: str, like: Optional[torch.Tensor], enabled: bool, cache_enabled: Optional[bool]) -> None:
    block = torch.amp.autocast(device, None if like is None else like.dtype, enabled, cache_enabled)
    block.__enter__()
    _entered.__dict__.setdefault("blocks", []).append(block)


@torch.jit.ignore
def _leave() -> None:
    _entered.blocks.pop().__exit__(None, None, None)


class autocast:
    def __init__(self, device_type: str, dtype: Optional[int] = None, enabled: bool = True, cache_enabled: Optional[bool] = None):
        self.device = device_type
        self.dtype = dtype
        self.enabled = enabled
        self.cache_enabled = cache_enabled

    def __enter__(self):
        like: Optional[torch.Tensor] = None
        dtype = self.dtype
        if dtype is not None:
            like = torch.empty([0], dtype=dtype)
        _enter(self.device, like, self.enabled, self.cache_enabled)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any):
        _leave()


class cuda:
    def __init__(self, enabled: bool = True, dtype: int = 5, cache_enabled: bool = True):
        self.dtype = dtype
        self.enabled = enabled
        self.cache_enabled = cache_enabled

    def __enter__(self):
        _enter("cuda", torch.empty([0], dtype=self.dtype), self.enabled, self.cache_enabled)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any):
        _leave()


class cpu:
    def __init__(self, enabled: bool = True, dtype: int = 15, cache_enabled: bool = True):
        self.dtype = dtype
        self.enabled = enabled
        self.cache_enabled = cache_enabled

    def __enter__(self):
        _enter("cpu", torch.empty([0], dtype=self.dtype), self.enabled, self.cache_enabled)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any):
        _leave()
