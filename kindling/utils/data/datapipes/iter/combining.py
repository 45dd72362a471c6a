"""Pipes made of several, and several made of one."""
import copy as _copy
from collections import deque

from kindling.utils.data.datapipes._decorator import ready_made
from kindling.utils.data.datapipes.datapipe import _FEEDBACK, IterDataPipe, _described
from kindling.utils.data.datapipes.utils.common import _check_unpickable_fn

__all__ = ["ConcaterIterDataPipe", "DemultiplexerIterDataPipe", "ForkerIterDataPipe", "MultiplexerIterDataPipe", "ZipperIterDataPipe"]


def _lengths(pipe):
    if all(hasattr(each, "__len__") for each in pipe.datapipes):
        return [len(each) for each in pipe.datapipes]
    raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


@ready_made("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """One pipe after the other."""

    def __init__(self, *datapipes):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(each, IterDataPipe) for each in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self):
        for each in self.datapipes:
            yield from each

    def __len__(self):
        return sum(_lengths(self))


class _Source(IterDataPipe):
    """What several pipes read, each at its own speed: a buffer of what one has read and another has not."""

    def __init__(self, datapipe, num_instances, buffer_size):
        self.main_datapipe, self.num_instances, self.buffer_size = datapipe, num_instances, buffer_size
        if buffer_size < 0:
            import warnings
            warnings.warn("Unlimited buffer size is set for `" + self._verb + "`, please be aware of OOM (Out of Memory) risk", UserWarning, stacklevel=3)
        self._iterator = None
        self._restart()

    def _restart(self):
        self._iterator = None
        self.queues = [deque() for _ in range(self.num_instances)]
        self.ended = [False] * self.num_instances

    def reset(self):
        self._restart()

    def is_every_instance_exhausted(self):
        return all(self.ended)

    def _read(self):
        if self._iterator is None:
            self._iterator = iter(self.main_datapipe)
        return next(self._iterator)

    def elements(self, instance):
        queue = self.queues[instance]
        while True:
            if not queue:
                try:
                    self._fill(instance)
                except StopIteration:
                    self.ended[instance] = True
                    return
            yield queue.popleft()

    def __iter__(self):
        raise NotImplementedError

    def __getstate__(self):
        state = dict(self.__dict__)
        state.update(_iterator=None, queues=[deque() for _ in range(self.num_instances)], ended=[False] * self.num_instances, _valid_iterator_id=None)
        return state


class _ForkerIterDataPipe(_Source):
    _verb = "fork"

    def __init__(self, datapipe, num_instances, buffer_size=1000, copy=None):
        self.copy_fn = {None: None, "shallow": _copy.copy, "deep": _copy.deepcopy}.get(copy, 0)
        if self.copy_fn == 0:
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        super().__init__(datapipe, num_instances, buffer_size)

    def _fill(self, instance):
        value = self._read()
        for at, queue in enumerate(self.queues):
            if at != instance and 0 <= self.buffer_size <= len(queue):
                raise BufferError(f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is insufficient.")
            queue.append(self.copy_fn(value) if self.copy_fn is not None else value)

    def length(self):
        return len(self.main_datapipe)


class _DemultiplexerIterDataPipe(_Source):
    _verb = "demux"

    def __init__(self, datapipe, num_instances, classifier_fn, drop_none, buffer_size):
        self.classifier_fn, self.drop_none = classifier_fn, drop_none
        super().__init__(datapipe, num_instances, buffer_size)

    def _fill(self, instance):
        while True:
            value = self._read()
            where = self.classifier_fn(value)
            if where is None and self.drop_none:
                continue
            if where is None or where >= self.num_instances or where < 0:
                raise ValueError(f"Output of the classification fn should be between 0 and {self.num_instances - 1}. {where} is returned.")
            if where != instance and 0 <= self.buffer_size <= sum(map(len, self.queues)):
                raise BufferError(f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient.")
            self.queues[where].append(value)
            if where == instance:
                return


class _ChildDataPipe(IterDataPipe):
    """One of the pipes that read the same source. When one starts again, so do all."""

    _is_child_datapipe, _named_in_errors = True, False

    def __init__(self, main_datapipe, instance_id):
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def _start_run(self):
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif main._valid_iterator_id == self._valid_iterator_id:
            main._valid_iterator_id += 1
            if not main.is_every_instance_exhausted():
                import warnings
                warnings.warn("Some child DataPipes are not exhausted when __iter__ is called. We are resetting the buffer and each child DataPipe "
                              "will read from the start again.", UserWarning, stacklevel=3)
            main.reset()
        self._valid_iterator_id, self._number_of_samples_yielded = main._valid_iterator_id, 0
        return self._valid_iterator_id

    def _check_run(self, number):
        if number != self.main_datapipe._valid_iterator_id:
            raise RuntimeError("This iterator has been invalidated, because a new iterator has been created from one of the ChildDataPipes of "
                               f"{_described(self.main_datapipe)}." + _FEEDBACK)

    def __iter__(self):
        return self.main_datapipe.elements(self.instance_id)

    def __len__(self):
        if hasattr(self.main_datapipe, "length"):
            return self.main_datapipe.length()
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@ready_made("fork")
class ForkerIterDataPipe(IterDataPipe):
    """A list of pipes that each have all elements."""

    def __new__(cls, datapipe, num_instances, buffer_size=1000, copy=None):
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        if num_instances == 1:
            return datapipe
        main = _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy)
        return [_ChildDataPipe(main, each) for each in range(num_instances)]


@ready_made("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """A list of pipes: each element goes to the one whose number `classifier_fn` says."""

    def __new__(cls, datapipe, num_instances, classifier_fn, drop_none=False, buffer_size=1000):
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        _check_unpickable_fn(classifier_fn)
        main = _DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        return [_ChildDataPipe(main, each) for each in range(num_instances)]


@ready_made("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """One element of each pipe in turn, until one has no more."""

    def __init__(self, *datapipes):
        self.datapipes = datapipes

    def __iter__(self):
        iterators = [iter(each) for each in self.datapipes]
        while iterators:
            round_ = []
            for each in iterators:
                try:
                    round_.append(next(each))
                except StopIteration:
                    return
            yield from round_

    def __len__(self):
        return min(_lengths(self)) * len(self.datapipes)


@ready_made("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Tuples of an element of each pipe."""

    def __init__(self, *datapipes):
        if not all(isinstance(each, IterDataPipe) for each in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        super().__init__()
        self.datapipes = datapipes

    def __iter__(self):
        yield from zip(*[iter(each) for each in self.datapipes])

    def __len__(self):
        return min(_lengths(self))
