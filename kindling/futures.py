"""``torch.futures``: values that come later, set by whoever computes them."""
import threading

__all__ = ["Future", "collect_all", "wait_all"]


class _Meta(type):
    def __getitem__(cls, item):
        import types

        return types.GenericAlias(cls, (item,))


class Future(metaclass=_Meta):
    """A value, or an error, that comes later. Callbacks run in the thread that sets it, at once if it is there already.

    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda done: done.value() * 2)
    >>> future.set_result(21); doubled.wait()
    42
    """

    def __init__(self, *, devices=None):
        if devices:
            import kindling as torch

            for device in devices:
                if torch.device(device).type == "cpu":
                    raise ValueError("Expected devices to have indices, got cpu")
        self._condition = threading.Condition()
        self._done = False
        self._value = self._error = None
        self._callbacks = []

    def done(self):
        """Whether there is a value or an error."""
        return self._done

    def wait(self):
        """The value, waited for; the error is raised."""
        with self._condition:
            while not self._done:
                self._condition.wait()
        if self._error is not None:
            raise self._error
        return self._value

    def value(self):
        """The value of a future that is done; the error is raised. RuntimeError before."""
        if not self._done:
            raise RuntimeError("value() can only be called after the future has completed: call wait() first")
        return self.wait()

    def then(self, callback):
        """A future of `callback(self)`, called once this one is done."""
        result = Future()

        def run(done):
            try:
                value = callback(done)
            except Exception as error:
                failed = RuntimeError(f"Got the following error when running the callback: {type(error).__name__}: {error}")
                failed.__cause__ = error
                result.set_exception(failed)
            else:
                result.set_result(value)

        self._when_done(run)
        return result

    def add_done_callback(self, callback):
        """Calls `callback(self)` once this one is done; its errors are logged and nothing else."""

        def run(done):
            try:
                callback(done)
            except Exception:
                import logging

                logging.getLogger("torch.futures").exception("Got the following error when running the callback:")

        self._when_done(run)

    def _when_done(self, callback):
        with self._condition:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def _finish(self, value, error):
        with self._condition:
            if self._done:
                raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once.")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._condition.notify_all()
        for callback in callbacks:
            callback(self)

    def set_result(self, result):
        """Sets the value, and calls who waits for it."""
        self._finish(result, None)

    def set_exception(self, result):
        """Sets an error, which `wait` raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)


def collect_all(futures):
    """A future of the list of futures, done when all of them are."""
    futures = list(futures)
    result = Future()
    lock, left = threading.Lock(), [len(futures)]

    def one(_):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            failed = next((each._error for each in futures if each._error is not None), None)
            if failed is not None:
                result.set_exception(failed)
            else:
                result.set_result(futures)

    if not futures:
        result.set_result(futures)
    for each in futures:
        each._when_done(one)
    return result


def wait_all(futures):
    """The values of all futures, waited for; the first error is raised.

    >>> future = torch.futures.Future(); future.set_result(1)
    >>> torch.futures.wait_all([future])
    [1]
    """
    return [each.wait() for each in collect_all(futures).wait()]
