"""Python's multiprocessing under torch's name, with `spawn` and the exceptions of its processes.

Tensors in what queues, pipes and new processes are given share memory with the sender's. The sharing strategy is accepted
and kept; memory is always shared by file descriptors.
"""

_strategies = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"
_SPAWN = ("ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
          "start_processes")


def get_all_sharing_strategies():
    """The ways to share tensors that can be chosen."""
    return set(_strategies)


def get_sharing_strategy():
    """The chosen way to share tensors."""
    return _strategy


def set_sharing_strategy(new_strategy):
    """Chooses the way to share tensors; AssertionError for an unknown one."""
    global _strategy
    if new_strategy not in _strategies:
        raise AssertionError(f"invalid sharing_strategy {new_strategy!r}, expected one of {sorted(_strategies)!r}")
    _strategy = new_strategy


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs `fn(number, *args)` in `nprocs` processes.

    With `join`, waits for all and raises ProcessRaisedException or ProcessExitedException if one fails; otherwise
    returns a context whose `join()` does that.
    """
    from kindling.multiprocessing._spawn import start_processes
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def init_reductions():
    """Teaches Python's `multiprocessing` to share tensors; done when this module first loads it."""
    from kindling.multiprocessing import reductions
    reductions.init_reductions()


def __getattr__(name):
    if name in _SPAWN:
        return getattr(__import__(__name__ + "._spawn", fromlist=("__name__",)), name)
    if name == "reductions":
        return __import__(__name__ + ".reductions", fromlist=("__name__",))
    import multiprocessing

    from kindling.multiprocessing import reductions     # noqa: F401
    try:
        return getattr(multiprocessing, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__():
    import multiprocessing
    return sorted({*globals(), *dir(multiprocessing), *_SPAWN, "reductions"} - {"__path__"})
