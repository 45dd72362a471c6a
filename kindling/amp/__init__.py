"""Mixed precision: `autocast` chooses dtypes by operator, `GradScaler` keeps float16 gradients in range."""
import kindling as _kindling

_FILES = {**dict.fromkeys(("autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "_enter_autocast",
                           "_exit_autocast"), "autocast_mode"),
          "GradScaler": "grad_scaler"}
_SUBMODULES = ("_state", "autocast_mode", "grad_scaler")

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "GradScaler"]

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _FILES, _SUBMODULES)
