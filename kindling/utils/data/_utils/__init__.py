"""Parts of the loader: collating, fetching, and what runs in a worker."""

MP_STATUS_CHECK_INTERVAL = 5.0
_SUBMODULES = ("collate", "fetch", "info", "pin_memory", "worker")


def __getattr__(name):
    if name in _SUBMODULES:
        return __import__(f"{__name__}.{name}", fromlist=("__name__",))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
