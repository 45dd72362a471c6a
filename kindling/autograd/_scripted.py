"""What scripts take for the blocks of grad_mode: TorchScript."""
from typing import Any

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
