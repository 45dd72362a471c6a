"""Intel's MKL: not in this build."""

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available():
    """Whether MKL is there: no."""
    return False


class verbose:
    """A `with` block in which the library would report its calls; without effect."""

    def __init__(self, enable):
        self.enable = enable

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return False
