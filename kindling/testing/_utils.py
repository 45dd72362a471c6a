"""Random state in tests."""
import contextlib

import kindling as torch


@contextlib.contextmanager
def freeze_rng_state():
    """Leaves the default generator as it was found.

    >>> with torch.testing._utils.freeze_rng_state():
    ...     _ = torch.rand(3)
    """
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


def wrapper_set_seed(op, *args, **kwargs):
    """`op(*args, **kwargs)` after `manual_seed(42)`; the generator is as it was afterwards."""
    with freeze_rng_state():
        torch.manual_seed(42)
        return op(*args, **kwargs)
