"""What runs in a worker process."""
import os
import random
import select
import sys

import kindling as torch
from kindling._utils import ExceptionWrapper
from kindling.utils.data._utils import MP_STATUS_CHECK_INTERVAL
from kindling.utils.data._utils import info as _info
from kindling.utils.data._utils.info import WorkerInfo, get_worker_info

__all__ = ["WorkerInfo", "get_worker_info", "ExceptionWrapper"]


class _IterableDatasetStopIteration:
    """A worker's iterable dataset has ended."""

    def __init__(self, worker_id):
        self.worker_id = worker_id


class _ResumeIteration:
    """A worker shall begin anew; sent back by it when it has."""

    def __init__(self, seed=None):
        self.seed = seed


def _generate_state(base_seed, worker_id):
    """Four words of seed for numpy: the mixing of numpy's own SeedSequence over worker and base seed."""
    mask = 0xffffffff
    multiplier = 0x43b0d7e5

    def hashed(value, factor):
        nonlocal multiplier
        value = (value ^ multiplier) & mask
        multiplier = multiplier * factor & mask
        value = value * multiplier & mask
        return value ^ value >> 16

    def mixed(x, y):
        result = (0xca01f9dd * x - 0x4973f715 * y) & mask
        return result ^ result >> 16

    pool = [hashed(word, 0x931e8875) for word in (worker_id, base_seed & mask, base_seed >> 32, 0)]
    for source in range(4):
        for target in range(4):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source], 0x931e8875))
    multiplier = 0x8b51f9dd
    return [hashed(word, 0x58f38ded) for word in pool]


class _NumpySeed:
    """Seeds numpy's global generator as soon as numpy is loaded; a worker that does without it never loads it."""

    def __init__(self, base_seed, worker_id):
        self.arguments = base_seed, worker_id

    def __call__(self):
        if self.arguments and "numpy" in sys.modules:
            import numpy
            numpy.random.seed(_generate_state(*self.arguments))
            self.arguments = None


def _worker_loop(dataset_kind, dataset, own, inherited, auto_collation, collate_fn, drop_last, base_seed, init_fn,
                 worker_id, num_workers, persistent_workers):
    """Answers (number, indices) from the socket `own` by (number, batch), until None comes or the loader is gone."""
    from kindling.utils.data._utils.channel import Channel
    inherited.close()
    try:
        torch.set_num_threads(1)
        seed = base_seed + worker_id
        random.seed(seed)
        torch.manual_seed(seed)
        seed_numpy = _NumpySeed(base_seed, worker_id)
        seed_numpy()
        _info._set_worker_info(WorkerInfo(worker_id, num_workers, seed, dataset))
        _serve(dataset_kind, dataset, Channel(own, waits=True), (auto_collation, collate_fn, drop_last), init_fn,
               worker_id, seed_numpy)
    except (KeyboardInterrupt, _LoaderGone):
        # Ctrl-C reaches every process of the terminal; the main process raises it.
        pass


class _LoaderGone(Exception):
    pass


def _receive(channel):
    """The next task. The loader's end is noticed by its socket, or within seconds where a child of it has a copy."""
    from kindling.utils.data._utils.channel import Ended, Nothing
    parent = os.getppid()
    waiting = select.poll()
    waiting.register(channel, select.POLLIN)
    while True:
        try:
            for _, events in waiting.poll(MP_STATUS_CHECK_INTERVAL * 1000):
                if events & select.POLLHUP:
                    raise _LoaderGone       # what it asked for before is not wanted any more
            return channel.receive()
        except Nothing:
            if os.getppid() != parent:
                raise _LoaderGone from None
        except Ended:
            raise _LoaderGone from None


def _answer(channel, number, data, where):
    try:
        try:
            channel.send((number, data))
        except ConnectionError:
            raise
        except Exception:
            # What cannot be pickled, or lack of memory for it: the loader would wait for ever.
            channel.send((number, ExceptionWrapper(where=where)))
    except ConnectionError:
        raise _LoaderGone from None


def _serve(dataset_kind, dataset, channel, options, init_fn, worker_id, seed_numpy):
    from kindling.utils.data._iterators import _DatasetKind
    where = f"in DataLoader worker process {worker_id}"
    failure = fetcher = None
    try:
        if init_fn is not None:
            init_fn(worker_id)
        fetcher = _DatasetKind.create_fetcher(dataset_kind, dataset, *options)
    except Exception:
        # Told when the first batch is asked for: that is where the main process listens.
        failure = ExceptionWrapper(where=where)
    ended = False
    while (task := _receive(channel)) is not None:
        if isinstance(task, _ResumeIteration):
            _answer(channel, task, None, where)
            ended = False
            if task.seed is not None:
                from kindling.utils.data._iterators import _seeded
                dataset = _seeded(dataset, task.seed)
            fetcher = _DatasetKind.create_fetcher(dataset_kind, dataset, *options)
            continue
        if ended:
            continue
        number, indices = task
        if failure is not None:
            data, failure = failure, None
        else:
            seed_numpy()
            try:
                data = fetcher.fetch(indices)
            except Exception as error:
                if isinstance(error, StopIteration) and dataset_kind == _DatasetKind.Iterable:
                    data = _IterableDatasetStopIteration(worker_id)
                    ended = True
                else:
                    data = ExceptionWrapper(where=where)
        _answer(channel, number, data, where)
        del data, task, indices     # a batch must not live here until the next is asked for
