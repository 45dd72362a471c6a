"""The loader: samples from a dataset, collated into batches."""
import kindling as torch
from kindling.utils.data._utils.collate import default_collate, default_convert
from kindling.utils.data._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher
from kindling.utils.data._utils.info import get_worker_info
from kindling.utils.data.dataset import IterableDataset
from kindling.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert"]


def __getattr__(name):
    if name == "_MultiProcessingDataLoaderIter":
        from kindling.utils.data._multiprocess import _MultiProcessingDataLoaderIter
        return _MultiProcessingDataLoaderIter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _warn(message, stacklevel=2):
    import warnings
    warnings.warn(message, stacklevel=stacklevel + 1)


def _is_pipe(dataset, kind="_Pipe"):
    """Whether it is a data pipe; their module is not loaded to find out."""
    import sys
    module = sys.modules.get("kindling.utils.data.datapipes.datapipe")
    return module is not None and isinstance(dataset, getattr(module, kind))


def _settings():
    from kindling.utils.data import graph_settings
    return graph_settings


def _seeded(dataset, seed):
    """A pipe whose parts have seeds out of one."""
    generator = torch.Generator()
    generator.manual_seed(seed)
    return _settings().apply_random_seed(dataset, generator)


class _Sharded:
    """Tells the pipes of a worker which part of the elements is its own, then runs the user's function."""

    def __init__(self, init_fn):
        self.init_fn = init_fn

    def __call__(self, worker_id):
        info = get_worker_info()
        _settings().apply_sharding(info.dataset, info.num_workers, worker_id)
        if self.init_fn is not None:
            self.init_fn(worker_id)


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        fetcher = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


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


class _BaseDataLoaderIter:
    def __init__(self, loader):
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        if loader.pin_memory:
            if loader.pin_memory_device:
                _warn("pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
                      f"pin_memory_device='{loader.pin_memory_device}'.")
            _warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't "
                  "be used.")
        self._pin_memory = False
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._shared_seed = None
        self._share_seed(loader)
        # Drawn without workers too, so that the stream of random numbers does not depend on their number.
        self._base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0

    def _share_seed(self, loader):
        """Seeds for the pipes of the dataset, the same in all workers."""
        if _is_pipe(self._dataset, "IterDataPipe"):
            self._shared_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
            self._dataset = _seeded(self._dataset, self._shared_seed)

    def __iter__(self):
        return self

    def _reset(self, loader, first_iter=False):
        self._share_seed(loader)        # also the first time, after the workers have started: PyTorch draws it there
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self):
        return next(self._sampler_iter)

    def _next_data(self):
        raise NotImplementedError

    def __next__(self):
        data = self._next_data()
        self._num_yielded += 1
        promised = self._IterableDataset_len_called
        if promised is not None and self._num_yielded > promised and self._dataset_kind == _DatasetKind.Iterable:
            message = (f"Length of IterableDataset {self._dataset} was reported to be {promised}(when accessing "
                       f"len(dataloader)), but {self._num_yielded} samples have been fetched. ")
            if self._num_workers > 0:
                message += ("For multiprocessing data-loading, this could be caused by not properly configuring the "
                            "IterableDataset replica at each worker. Please see https://pytorch.org/docs/stable/"
                            "data.html#torch.utils.data.IterableDataset for examples.")
            _warn(message)
        return data

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if _is_pipe(self._dataset):
            _settings().apply_sharding(self._dataset, 1, 0)
        self._dataset_fetcher = _DatasetKind.create_fetcher(self._dataset_kind, self._dataset, self._auto_collation,
                                                            self._collate_fn, self._drop_last)

    def _next_data(self):
        return self._dataset_fetcher.fetch(next(self._sampler_iter))
