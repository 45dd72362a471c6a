"""The memory of tensors: what the caching allocator holds, and limits for it. Kindling's own; torch has these for GPUs only."""
from kindling import _C


def memory_stats():
    """The allocator's numbers as a dict, in bytes: handed out now and at most, mapped from the system, kept for reuse, the
    two limits (``memory_limit`` 0 for none), and how often the system was asked.

    >>> before = torch.memory_stats()["allocated_bytes.all.current"]
    >>> x = torch.zeros(1000, 1000)
    >>> torch.memory_stats()["allocated_bytes.all.current"] - before >= 4_000_000
    True
    """
    return _C._memory_stats()


def memory_summary():
    """:func:`memory_stats` as a table of text."""
    stats = memory_stats()
    rows = [(name.replace("_", " ").replace(".all.", ", "), "none" if name == "memory_limit" and not value else
             str(value) if name.startswith("num") else f"{value / 1e6:,.1f} MB") for name, value in stats.items()]
    return "\n".join(f"{name:28} {value:>14}" for name, value in rows)


def empty_cache():
    """Gives the blocks kept for reuse back to the system."""
    _C._empty_cache()


def reset_peak_memory_stats():
    """Lets the peak of :func:`memory_stats` begin again at what is handed out now."""
    _C._reset_peak_memory_stats()


def _bytes(value, name):
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} expects a number of bytes, but got {value!r}")
    return value


def set_cache_limit(bytes):
    """The most bytes of freed blocks to keep for reuse (``KINDLING_CACHE_LIMIT``; a quarter of the memory by default)."""
    _C._set_cache_limit(_bytes(bytes, "set_cache_limit"))


def set_memory_limit(bytes):
    """The most bytes to take from the system (``KINDLING_MEMORY_LIMIT``), or ``None`` for no limit. A tensor that does not fit
    raises RuntimeError; those there are stay."""
    _C._set_memory_limit(0 if bytes is None else _bytes(bytes, "set_memory_limit"))
