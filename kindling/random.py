"""The default generator's seed and state."""
from kindling import _C
from kindling._C import default_generator

__all__ = ["set_rng_state", "get_rng_state", "manual_seed", "seed", "initial_seed", "fork_rng", "thread_safe_generator",
           "default_generator"]


def manual_seed(seed):
    """Seeds the default generator with an integer (negative ones wrap) and returns it.

    >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
    <torch._C.Generator object at ...>
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seeds the default generator from the system and returns that seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed the default generator was last given."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state: a uint8 tensor of 5056 bytes."""
    return default_generator.get_state()


def set_rng_state(new_state) -> None:
    """Puts a state from :func:`get_rng_state` back. RuntimeError or TypeError for anything else."""
    default_generator.set_state(new_state)


class fork_rng:
    """Inside ``with``, random numbers are drawn as usual; afterwards the generator is where it was before.

    ``devices`` and ``device_type`` are for devices with generators of their own: there are none.
    """

    def __init__(self, devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            self.state = default_generator.get_state()

    def __exit__(self, *error):
        if self.enabled:
            default_generator.set_state(self.state)

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with type(self)(enabled=self.enabled):
                return function(*args, **kwargs)

        return wrapper


def thread_safe_generator():
    """The generator of this thread inside a DataLoader worker that is a thread; None elsewhere: the default one is meant."""
    from kindling.utils.data import get_worker_info

    info = get_worker_info()
    if info is not None and getattr(info, "worker_method", None) == "thread" and getattr(info, "rng", None) is not None:
        return info.rng.torch_generator
    return None
