"""Mixed precision on CUDA under its old names; see `torch.amp`."""
import kindling as _kindling

_HOMES = {"autocast": "autocast_mode", "custom_bwd": "autocast_mode", "custom_fwd": "autocast_mode", "GradScaler": "grad_scaler",
          "amp_definitely_not_available": "common"}

__all__ = ["amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd", "GradScaler"]
__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, ("autocast_mode", "common", "grad_scaler"))
