"""The loader: samples from a dataset, collated into batches."""
from kindling.utils.data._iterators import _BaseDataLoaderIter, _DatasetKind, _is_pipe, _settings, _SingleProcessDataLoaderIter, _warn  # noqa: F401
from kindling.utils.data._utils.collate import default_collate, default_convert
from kindling.utils.data._utils.info import get_worker_info
from kindling.utils.data.dataset import IterableDataset
from kindling.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert"]
for _each in (_BaseDataLoaderIter, _DatasetKind, _SingleProcessDataLoaderIter):     # where PyTorch has them
    _each.__module__ = __name__


def __getattr__(name):
    if name == "_MultiProcessingDataLoaderIter":
        from kindling.utils.data._multiprocess import _MultiProcessingDataLoaderIter
        return _MultiProcessingDataLoaderIter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _InfiniteConstantSampler(Sampler):
    """What an iterable dataset is asked for: it chooses its samples itself."""

    def __iter__(self):
        while True:
            yield None


class DataLoader:
    """An iterable of batches of `dataset`; with `num_workers`, processes prepare them ahead.

    A map dataset is read in the order of `sampler` (by default one after another, or with `shuffle` at random), in
    batches of `batch_size` (None: single samples, as they are), or as `batch_sampler` says.  `collate_fn` makes a batch
    of a list of samples (by default tensors stacked along a new first dimension, containers item by item).
    `worker_init_fn(number)` runs first in each worker, seeded by a number drawn from `generator` plus the worker's own.
    `timeout` is how many seconds to wait for a batch, `prefetch_factor` how many each worker prepares ahead (2),
    `persistent_workers` keeps them between epochs, `in_order=False` takes batches as they come.

    ValueError for options that contradict each other, and for setting one of them later.  An exception in a worker is
    raised here with its traceback in the message.

        >>> for x, y in DataLoader(dataset, batch_size=32, shuffle=True): ...
    """
    _iterator = None
    __initialized = False

    def __class_getitem__(cls, item):
        return cls

    def __init__(self, dataset, batch_size: int | None = 1, shuffle: bool | None = None, sampler=None, batch_sampler=None, num_workers: int = 0,
                 collate_fn=None, pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn=None,
                 multiprocessing_context=None, generator=None, *, prefetch_factor: int | None = None, persistent_workers: bool = False,
                 pin_memory_device: str = "", in_order: bool = True):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to "
                             "enable multiprocessing, otherwise set prefetch_factor to None.")
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            name = "DataLoader with IterableDataset: expected unspecified"
            if _is_pipe(dataset):
                _settings().apply_shuffle_settings(dataset, shuffle=shuffle)    # for the pipes that shuffle; a new one is dropped, as PyTorch does
            elif shuffle not in (False, None):
                raise ValueError(f"{name} shuffle option, but got shuffle={shuffle}")
            if sampler is not None:
                raise ValueError(f"{name} sampler option, but got sampler={sampler}")
            if batch_sampler is not None:
                raise ValueError(f"{name} batch_sampler option, but got batch_sampler={batch_sampler}")
        else:
            self._dataset_kind = _DatasetKind.Map
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                                 "drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called = None
        self.check_worker_number_rationality()

    def __setattr__(self, attr, val):
        if self.__initialized and attr in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset",
                                           "persistent_workers"):
            raise ValueError(f"{attr} attribute should not be set after {self.__class__.__name__} is initialized")
        super().__setattr__(attr, val)

    @property
    def multiprocessing_context(self):
        """How workers start: a context object of `multiprocessing`, set also by name ("fork", "spawn", ...)."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            if not self.num_workers > 0:
                raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > "
                                 f"0), but got num_workers={self.num_workers}")
            import multiprocessing
            if isinstance(context, str):
                methods = multiprocessing.get_all_start_methods()
                if context not in methods:
                    raise ValueError("multiprocessing_context option should specify a valid start method in "
                                     f"{methods!r}, but got multiprocessing_context={context!r}")
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError("multiprocessing_context option should be a valid context object or a string "
                                f"specifying the start method, but got multiprocessing_context={context}")
        self.__multiprocessing_context = context

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        from kindling.utils.data._multiprocess import _MultiProcessingDataLoaderIter
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self):
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self):
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        # A promise of the dataset, which the iterator checks: it cannot be known.
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is not None:
            length = length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        return length

    def check_worker_number_rationality(self):
        """Warns about more workers than there are CPUs for this process."""
        if not self.num_workers:
            return
        import os
        affinity = hasattr(os, "sched_getaffinity")
        count = len(os.sched_getaffinity(0)) if affinity else os.cpu_count()
        if count is None:
            suggestion = "DataLoader is not able to compute a suggested max number of worker in current system."
        elif self.num_workers <= count:
            return
        else:
            suggestion = (f"Our suggested max number of worker in current system is {count}"
                          f"{'' if affinity else ' (`cpuset` is not taken into account)'}, which is smaller than what "
                          "this DataLoader is going to create.")
        _warn(f"This DataLoader will create {self.num_workers} worker processes in total. {suggestion} Please be aware "
              "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker "
              "number to avoid potential slowness/freeze if necessary.", 3)
