"""Mixed precision: `autocast` chooses dtypes by operator, `GradScaler` keeps float16 gradients in range."""

_FILES = {**dict.fromkeys(("autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "_enter_autocast",
                           "_exit_autocast"), "autocast_mode"),
          "GradScaler": "grad_scaler"}
_SUBMODULES = ("_state", "autocast_mode", "grad_scaler")

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "GradScaler"]


def __getattr__(name):
    file = _FILES.get(name)
    if file is None and name not in _SUBMODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = __import__(f"{__name__}.{file or name}", fromlist=("__name__",))
    return getattr(module, name) if file else module


def __dir__():
    return sorted({*globals(), *__all__})
