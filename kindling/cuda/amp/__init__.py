"""Mixed precision on CUDA under its old names; see `torch.amp`."""
from kindling.cuda.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from kindling.cuda.amp.common import amp_definitely_not_available
from kindling.cuda.amp.grad_scaler import GradScaler

__all__ = ["amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd", "GradScaler"]
