"""What scripts take for the blocks of grad_mode, and for record_function: TorchScript."""
from typing import Any, Optional

import kindling as torch


class no_grad:
    def __init__(self):
        self.before = False

    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)

    def __exit__(self, kind: Any, value: Any, trace: Any):
        torch.set_grad_enabled(self.before)


class enable_grad:
    def __init__(self):
        self.before = False

    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(True)

    def __exit__(self, kind: Any, value: Any, trace: Any):
        torch.set_grad_enabled(self.before)


@torch.jit.ignore
def _begin(name: str) -> int:
    return torch._C._profile_begin(name)


@torch.jit.ignore
def _end(event: int) -> None:
    torch._C._profile_end(event)


class record_function:
    def __init__(self, name: str, args: Optional[str] = None):
        self.name = name
        self.event = 0

    def __enter__(self):
        self.event = _begin(self.name)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any):
        _end(self.event)
