"""NVIDIA's sparse matrix library: not in this build."""


def is_available():
    """Whether it is there: no."""
    return False


def version():
    """Its version: None."""
    return None


def get_max_alg_id():
    """Its largest algorithm number: None."""
    return None
