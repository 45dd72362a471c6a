"""Apple's GPUs: not in this build."""


def is_built():
    """Whether this build contains code for them: no."""
    return False


def is_available():
    """Whether there is such a GPU: no."""
    return False


def is_macos13_or_newer(minor=0):
    """Whether the system is macOS 13 or newer: no."""
    return False


is_macos_or_newer = is_macos13_or_newer
