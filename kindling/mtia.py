"""Meta's accelerators: there are none in this build."""


def is_available():
    """Whether there is such a device: no."""
    return False


def is_initialized():
    """Whether it has been started: no."""
    return False


def device_count():
    """How many there are: none."""
    return 0


def manual_seed(seed):
    """Seeds the device's generator; without effect, as programs seed everything."""
    int(seed)


manual_seed_all = manual_seed
