"""OpenMP: not in this build, which has a thread pool of its own."""


def is_available():
    """Whether operators run on OpenMP: no."""
    return False
