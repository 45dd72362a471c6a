"""What scripts take for the blocks of amp: TorchScript over the blocks themselves."""
import threading
from typing import Any, Optional

import kindling as torch

_entered = threading.local()


@torch.jit.ignore
def _enter(device: str, dtype: Optional[int], enabled: bool, cache_enabled: Optional[bool]) -> None:
    dtypes = {5: torch.float16, 6: torch.float32, 7: torch.float64, 15: torch.bfloat16}
    block = torch.amp.autocast(device, dtypes.get(dtype), enabled, cache_enabled)
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
        _enter(self.device, self.dtype, self.enabled, self.cache_enabled)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any):
        _leave()


class cuda:
    def __init__(self, enabled: bool = True, dtype: int = 5, cache_enabled: bool = True):
        self.dtype = dtype
        self.enabled = enabled
        self.cache_enabled = cache_enabled

    def __enter__(self):
        _enter("cuda", self.dtype, self.enabled, self.cache_enabled)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any):
        _leave()


class cpu:
    def __init__(self, enabled: bool = True, dtype: int = 15, cache_enabled: bool = True):
        self.dtype = dtype
        self.enabled = enabled
        self.cache_enabled = cache_enabled

    def __enter__(self):
        _enter("cpu", self.dtype, self.enabled, self.cache_enabled)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any):
        _leave()
