"""What a worker knows about itself."""

_worker_info = None


class WorkerInfo:
    """Number, count of workers, seed and dataset copy of a worker; attributes cannot be set."""
    __slots__ = ("id", "num_workers", "seed", "dataset", "rng", "worker_method")

    def __init__(self, id, num_workers, seed, dataset, rng=None, worker_method="multiprocessing"):
        for name, value in zip(self.__slots__, (id, num_workers, seed, dataset, rng, worker_method)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        raise AttributeError(f"cannot assign to field {name!r}")

    def __repr__(self):
        return f"WorkerInfo({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def get_worker_info():
    """In a worker process of a loader: its `id`, `num_workers`, `seed` and `dataset`; elsewhere None."""
    return _worker_info


def _set_worker_info(info):
    global _worker_info
    _worker_info = info
