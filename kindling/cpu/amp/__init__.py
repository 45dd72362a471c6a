"""Mixed precision on the CPU under its old names; see `torch.amp`."""
from kindling.cpu.amp.autocast_mode import autocast
from kindling.cpu.amp.grad_scaler import GradScaler

__all__ = ["autocast", "GradScaler"]
