"""Mixed precision on the CPU under its old names; see `torch.amp`."""
import kindling as _kindling

__all__ = ["autocast", "GradScaler"]
__getattr__, __dir__ = _kindling._lazy_parts(globals(), {"autocast": "autocast_mode", "GradScaler": "grad_scaler"}, ("autocast_mode", "grad_scaler"))
