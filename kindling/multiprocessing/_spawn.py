"""Running a function in several processes, and hearing of their failures."""
import multiprocessing
import multiprocessing.connection
import signal
import sys
import time

from kindling.multiprocessing import reductions     # noqa: F401

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
           "spawn", "start_processes"]


class ProcessException(Exception):
    """A process failed: its number and process id."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process failed with an exception, whose traceback is in the message."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or with an exit code that is not zero."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn, number, args, failures):
    try:
        fn(number, *args)
    except KeyboardInterrupt:
        pass    # told to stop, by the terminal or by the parent
    except Exception:
        import traceback
        failures.put(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The started processes; `join()` waits for them."""

    def __init__(self, processes, failures):
        self.processes = processes
        self.error_queues = failures
        self.sentinels = {process.sentinel: number for number, process in enumerate(processes)}

    def pids(self):
        """The process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """True when all processes have ended, False after `timeout` seconds.

        When one fails the others are terminated, after `grace_period` seconds, and ProcessRaisedException or
        ProcessExitedException says what happened.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout):
            number = self.sentinels.pop(sentinel)
            self.processes[number].join()
            if self.processes[number].exitcode != 0:
                failed = number
                break
        if failed is None:
            return not self.sentinels
        deadline = time.monotonic() + (grace_period or 0)
        for process in self.processes:
            process.join(max(0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(30)
            if process.is_alive():
                process.kill()
            process.join()
        process = self.processes[failed]
        if self.error_queues[failed].empty():
            code = process.exitcode
            if code < 0:
                name = signal.Signals(-code).name
                raise ProcessExitedException(f"process {failed} terminated with signal {name}", failed, process.pid,
                                             code, name)
            raise ProcessExitedException(f"process {failed} terminated with exit code {code}", failed, process.pid,
                                         code)
        raise ProcessRaisedException(f"\n\n-- Process {failed} terminated with the following error:\n"
                                     + self.error_queues[failed].get(), failed, process.pid)


class SpawnContext(ProcessContext):
    """The context of processes started by `spawn`."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs `fn(number, *args)` in `nprocs` processes started by the given method; see `spawn`."""
    context = multiprocessing.get_context(start_method)
    processes, failures = [], []
    for number in range(nprocs):
        queue = context.SimpleQueue()
        process = context.Process(target=_run, args=(fn, number, args, queue), daemon=daemon)
        process.start()
        processes.append(process)
        failures.append(queue)
    started = (SpawnContext if start_method == "spawn" else ProcessContext)(processes, failures)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """See `torch.multiprocessing.spawn`."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
