"""Parts of the loader: collating, fetching, and what runs in a worker."""
import kindling as _kindling

MP_STATUS_CHECK_INTERVAL = 5.0
_SUBMODULES = ("collate", "fetch", "info", "pin_memory", "worker")

__getattr__, __dir__ = _kindling._lazy_parts(globals(), {}, _SUBMODULES)
