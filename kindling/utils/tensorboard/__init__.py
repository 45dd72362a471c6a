"""Writing event files for TensorBoard.  The files are written here; only looking at them needs the package."""

__all__ = ["FileWriter", "SummaryWriter"]


def __getattr__(name):
    if name in __all__:
        return getattr(__import__(__name__ + ".writer", fromlist=("__name__",)), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
