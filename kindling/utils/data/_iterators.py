"""What goes over a loader's batches within this process, and what the one over worker processes shares with it."""
import kindling as torch
from kindling.utils.data._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher
from kindling.utils.data._utils.info import get_worker_info


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
