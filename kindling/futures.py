"""``torch.futures``: values that come later, set by whoever computes them."""
from kindling._native_names.script import Future as _Future, _collect_all

__all__ = ["Future", "collect_all", "wait_all"]


class Future(_Future):
    """A value, or an error, that comes later. Callbacks run in the thread that sets it, at once if it is there already.

    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda done: done.value() * 2)
    >>> future.set_result(21); doubled.wait()
    42
    """

    __class_getitem__ = classmethod(type(list[int]))

    def __init__(self, *, devices=None):
        if devices:
            import kindling as torch

            devices = [torch.device(each) for each in devices]
        super().__init__(devices or [])

    def set_exception(self, result):
        """Sets an error, which `wait` raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")

        def raise_error(error):
            raise error

        self._set_unwrap_func(raise_error)
        self.set_result(result)


def collect_all(futures):
    """A future of the list of futures, done when all of them are."""
    return _collect_all(futures)


def wait_all(futures):
    """The values of all futures, waited for; the first error is raised.

    >>> future = torch.futures.Future(); future.set_result(1)
    >>> torch.futures.wait_all([future])
    [1]
    """
    return [each.wait() for each in _collect_all(futures).wait()]
