"""The iterator over batches that worker processes prepare."""
import atexit
import itertools
import multiprocessing
import queue
import time
from multiprocessing.connection import wait

from kindling.utils.data._utils import MP_STATUS_CHECK_INTERVAL
from kindling.utils.data._utils.worker import (ExceptionWrapper, _IterableDatasetStopIteration, _ResumeIteration,
                                               _worker_loop)
from kindling.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

_exiting = False


@atexit.register
def _note_exit():
    # Workers are daemons: multiprocessing ends them at exit, when queues and events can no longer be used.
    global _exiting
    _exiting = True


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Sends numbered tasks round to the workers, keeps `prefetch_factor` per worker under way, and puts the answers
    back in order.

    `_task_info` holds for each task under way its worker, and the answer if it came early.
    """

    _workers = ()
    _index_queues = ()
    _shutdown = True

    def __init__(self, loader):
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        context = multiprocessing if loader.multiprocessing_context is None else loader.multiprocessing_context
        self._data_queue = self._worker_result_queue = context.Queue()
        self._workers_done_event = context.Event()
        self._index_queues, self._workers = [], []
        self._workers_status = []
        self._shutdown = False
        self._lost_workers = False
        for number in range(self._num_workers):
            index_queue = context.Queue()
            index_queue.cancel_join_thread()
            worker = context.Process(target=_worker_loop, args=(
                self._dataset_kind, self._dataset, index_queue, self._worker_result_queue, self._workers_done_event,
                self._auto_collation, self._collate_fn, self._drop_last, self._base_seed, loader.worker_init_fn, number,
                self._num_workers, self._persistent_workers))
            worker.daemon = True
            worker.start()
            self._index_queues.append(index_queue)
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
            for index_queue in self._index_queues:
                index_queue.put(_ResumeIteration())
            missing = self._num_workers
            while missing > 0:
                number, _ = self._get_data()    # answers from before are dropped
                missing -= isinstance(number, _ResumeIteration)
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    # ---- answers

    def _try_get_data(self, timeout=MP_STATUS_CHECK_INTERVAL):
        """(True, answer), or (False, None) after `timeout` seconds; RuntimeError if a worker has died."""
        data_queue = self._data_queue
        reader = getattr(data_queue, "_reader", None)
        try:
            if reader is not None:
                # Waits for an answer or the end of a worker, whichever comes first.
                alive = [worker.sentinel for worker, active in zip(self._workers, self._workers_status) if active]
                if reader not in wait([reader, *alive], timeout) and not reader.poll(0):
                    raise queue.Empty
            return True, data_queue.get(timeout=timeout)
        except Exception as error:
            if isinstance(error, (OSError, EOFError)):
                # A message cut short: its sender is about to be gone.
                wait([worker.sentinel for worker, active in zip(self._workers, self._workers_status) if active], 1)
            dead = [number for number, worker in enumerate(self._workers)
                    if self._workers_status[number] and not worker.is_alive()]
            if dead:
                self._lost_workers = True
                for number in dead:
                    self._mark_worker_as_unavailable(number)
                pids = ", ".join(str(self._workers[number].pid) for number in dead)
                raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from RuntimeError(
                    _how_it_ended(self._workers[dead[0]]))
            if isinstance(error, queue.Empty):
                return False, None
            raise

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
        self._index_queues[worker].put((self._send_idx, index))
        self._task_info[self._send_idx] = (worker,)
        self._workers_num_tasks[worker] += 1
        self._tasks_outstanding += 1
        self._send_idx += 1

    # ---- the end

    def _mark_worker_as_unavailable(self, worker):
        self._index_queues[worker].put(None)
        self._workers_status[worker] = False

    def _shutdown_workers(self):
        if _exiting or self._shutdown:
            return
        self._shutdown = True
        try:
            self._workers_done_event.set()
            for number in range(len(self._workers)):
                if self._persistent_workers or self._workers_status[number]:
                    self._mark_worker_as_unavailable(number)
            # A worker killed while it wrote holds the lock of the answers' queue for good, and the others would wait
            # for it until they are ended: they are given no time then.
            for worker in self._workers:
                worker.join(timeout=0 if self._lost_workers else MP_STATUS_CHECK_INTERVAL)
            for each in (*self._index_queues, self._worker_result_queue):
                each.cancel_join_thread()
                each.close()
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
