"""NNPACK: not in this build."""


def is_available():
    """Whether it is there: no."""
    return False


def set_flags(_enabled):
    """Switches it on or off, without effect; returns what it was."""
    return (False,)
