"""The fast path of multi-head attention in evaluation."""

_fastpath = True


def get_fastpath_enabled():
    """Whether the fast path may be taken."""
    return _fastpath


def set_fastpath_enabled(value):
    """Says whether the fast path may be taken."""
    global _fastpath
    _fastpath = value
