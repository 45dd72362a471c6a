"""Loss scaling on CUDA under its old name."""
from kindling.amp.grad_scaler import GradScaler as _GradScaler
from kindling.cuda.amp.autocast_mode import _deprecated

__all__ = ["GradScaler"]


class GradScaler(_GradScaler):
    """`torch.amp.GradScaler("cuda", ...)`, deprecated."""

    def __init__(self, init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        _deprecated("GradScaler", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
