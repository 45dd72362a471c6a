"""ARM's micro-kernels: not in this build."""


def is_available():
    """Whether it is there: no."""
    return False
