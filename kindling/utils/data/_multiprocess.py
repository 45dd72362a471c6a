"""The iterator over batches that worker processes prepare."""
import atexit
import itertools
import multiprocessing
import os
import select
import socket
import time

from kindling.utils.data._iterators import _BaseDataLoaderIter, _DatasetKind, _is_pipe, _Sharded
from kindling.utils.data._utils import MP_STATUS_CHECK_INTERVAL
from kindling.utils.data._utils.channel import Channel, Ended, Inherited, Nothing
from kindling.utils.data._utils.worker import (ExceptionWrapper, _IterableDatasetStopIteration, _ResumeIteration,
                                               _worker_loop)

_exiting = False


@atexit.register
def _note_exit():
    # Workers are daemons: multiprocessing ends them at exit.
    global _exiting
    _exiting = True


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Sends numbered tasks round to the workers, keeps `prefetch_factor` per worker under way, and puts the answers
    back in order.

    `_task_info` holds for each task under way its worker, and the answer if it came early.
    """

    _workers = ()
    _channels = ()
    _shutdown = True

    def __init__(self, loader):
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        context = multiprocessing if loader.multiprocessing_context is None else loader.multiprocessing_context
        init_fn = _Sharded(loader.worker_init_fn) if _is_pipe(self._dataset) else loader.worker_init_fn
        self._channels, self._workers = [], []
        self._workers_status = []
        self._ready = []        # workers whose sockets had something to read
        self._shutdown = False
        self._owner = os.getpid()
        for number in range(self._num_workers):
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._channels.append(Channel(ours, waits=False))
            worker = context.Process(target=_worker_loop, args=(
                self._dataset_kind, self._dataset, theirs, Inherited([each.socket for each in self._channels]),
                self._auto_collation, self._collate_fn, self._drop_last, self._base_seed, init_fn, number,
                self._num_workers, self._persistent_workers))
            worker.daemon = True
            try:
                worker.start()
            finally:
                theirs.close()
            self._workers.append(worker)
            self._workers_status.append(True)
        self._reset(loader, first_iter=True)

    def _reset(self, loader, first_iter=False):
        super()._reset(loader, first_iter)
        self._send_idx = 0                  # the number of the next task
        self._rcvd_idx = 0                  # the number of the next answer to give out
        self._task_info = {}
        self._tasks_outstanding = 0
        # Whether a worker still has something to give.
        self._workers_status = [True] * self._num_workers
        self._workers_num_tasks = [0] * self._num_workers
        self._worker_queue_idx_cycle = itertools.cycle(range(self._num_workers))
        if not first_iter:
            for number in range(self._num_workers):
                self._send(number, _ResumeIteration(self._shared_seed))
            missing = self._num_workers
            while missing > 0:
                number, _ = self._get_data()    # answers from before are dropped
                missing -= isinstance(number, _ResumeIteration)
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    # ---- answers

    def _try_get_data(self, timeout=MP_STATUS_CHECK_INTERVAL):
        """(True, answer), or (False, None) after `timeout` seconds; RuntimeError if a worker has died."""
        if not self._ready:
            waiting = select.poll()
            ends = {}
            for number, channel in enumerate(self._channels):
                if self._workers_status[number]:
                    waiting.register(channel, select.POLLIN | (select.POLLOUT if channel.pending else 0))
                    waiting.register(self._workers[number].sentinel, select.POLLIN)
                    ends[channel.fileno()] = ends[self._workers[number].sentinel] = number
            for descriptor, event in waiting.poll(timeout * 1000):
                number = ends[descriptor]
                if event & ~select.POLLOUT and number not in self._ready:
                    self._ready.append(number)
                if event & select.POLLOUT:
                    self._send(number)
            if not self._ready and all(worker.is_alive() for worker, active in zip(self._workers, self._workers_status)
                                       if active):
                return False, None
        while self._ready:
            number = self._ready.pop(0)
            try:
                return True, self._channels[number].receive()
            except Nothing:
                pass
            except Ended:
                if self._workers_status[number]:
                    self._workers[number].join(MP_STATUS_CHECK_INTERVAL)
        dead = [number for number, worker in enumerate(self._workers)
                if self._workers_status[number] and not worker.is_alive()]
        if dead:
            for number in dead:
                self._workers_status[number] = False
            pids = ", ".join(str(self._workers[number].pid) for number in dead)
            raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from RuntimeError(
                _how_it_ended(self._workers[dead[0]]))
        return False, None

    def _get_data(self):
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            left = MP_STATUS_CHECK_INTERVAL if deadline is None else max(0, deadline - time.monotonic())
            success, data = self._try_get_data(left)
            if success:
                return data
            if deadline is not None and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _next_data(self):
        while True:
            # Numbers that will never be answered, because their worker's dataset had ended, are passed over.
            while self._rcvd_idx < self._send_idx:
                info = self._task_info.get(self._rcvd_idx)
                if info is not None:
                    if len(info) == 2 or self._workers_status[info[0]]:
                        break
                    del self._task_info[self._rcvd_idx]
                self._rcvd_idx += 1
            else:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if len(info) == 2:
                worker, data = self._task_info.pop(self._rcvd_idx)
                self._rcvd_idx += 1
                return self._process_data(data, worker)
            number, data = self._get_data()
            self._tasks_outstanding -= 1
            if isinstance(data, _IterableDatasetStopIteration) and self._dataset_kind == _DatasetKind.Iterable:
                if self._persistent_workers:
                    self._workers_status[data.worker_id] = False
                else:
                    self._mark_worker_as_unavailable(data.worker_id)
                self._try_put_index()
            elif number == self._rcvd_idx or not self._in_order:
                worker = self._task_info.pop(number)[0]
                self._rcvd_idx += number == self._rcvd_idx
                return self._process_data(data, worker)
            else:
                self._task_info[number] += (data,)

    def _process_data(self, data, worker):
        self._workers_num_tasks[worker] -= 1
        self._try_put_index()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    # ---- tasks

    def _try_put_index(self):
        try:
            index = self._next_index()
        except StopIteration:
            return
        most = self._prefetch_factor * self._num_workers
        for _ in range(self._num_workers):
            worker = next(self._worker_queue_idx_cycle)
            if self._workers_status[worker] and (
                    self._in_order or self._workers_num_tasks[worker] < most // sum(self._workers_status)):
                break
        else:
            return      # every worker has ended
        self._send(worker, (self._send_idx, index))
        self._task_info[self._send_idx] = (worker,)
        self._workers_num_tasks[worker] += 1
        self._tasks_outstanding += 1
        self._send_idx += 1

    def _send(self, worker, *task):
        channel = self._channels[worker]
        try:
            if task:
                channel.send(*task)
            else:
                channel.flush()
        except ConnectionError:
            pass    # it has ended, which is noticed where answers are awaited

    # ---- the end

    def _mark_worker_as_unavailable(self, worker):
        self._send(worker, None)
        self._workers_status[worker] = False

    def _shutdown_workers(self):
        # A forked child that frees its copy of an iterator must leave its parent's workers alone.
        if _exiting or self._shutdown or self._owner != os.getpid():
            return
        self._shutdown = True
        try:
            for channel in self._channels:
                channel.close()     # which workers notice before their next task
            for worker in self._workers:
                worker.join(timeout=MP_STATUS_CHECK_INTERVAL)
        finally:
            for worker in self._workers:
                if worker.is_alive():
                    worker.terminate()
                    worker.join(timeout=MP_STATUS_CHECK_INTERVAL)

    def __del__(self):
        self._shutdown_workers()


def _how_it_ended(worker):
    code = worker.exitcode
    if code is not None and code < 0:
        import signal
        hint = ("It is possible that dataloader's workers are out of shared memory. Please try to raise your shared "
                "memory limit." if -code == signal.SIGBUS else "")
        return f"DataLoader worker (pid {worker.pid}) is killed by signal: {signal.strsignal(-code)}. {hint}"
    return (f"DataLoader worker (pid {worker.pid}) exited unexpectedly with exit code {code}. Details are lost due to "
            "multiprocessing. Rerunning with num_workers=0 may give better error trace.")
