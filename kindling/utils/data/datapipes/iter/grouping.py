"""Pipes that put elements together and take them apart."""
from collections import defaultdict

from kindling.utils.data.datapipes._decorator import ready_made
from kindling.utils.data.datapipes.datapipe import DataChunk, IterDataPipe
from kindling.utils.data.datapipes.utils.common import _check_unpickable_fn

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@ready_made("batch")
class BatcherIterDataPipe(IterDataPipe):
    """Batches of `batch_size` elements; with `drop_last` a smaller last one is left out."""

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__()
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __iter__(self):
        batch = []
        for each in self.datapipe:
            batch.append(each)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self):
        if hasattr(self.datapipe, "__len__"):
            count = len(self.datapipe)
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@ready_made("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The elements of batches, `unbatch_level` deep; all levels for -1."""

    def __init__(self, datapipe, unbatch_level=1):
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self):
        for element in self.datapipe:
            yield from self._dive(element, unbatch_level=self.unbatch_level)

    def _dive(self, element, unbatch_level):
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if unbatch_level == 0 or unbatch_level == -1 and not isinstance(element, list):
            yield element
        elif isinstance(element, list):
            for each in element:
                yield from self._dive(each, unbatch_level=max(unbatch_level - 1, -1))
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


@ready_made("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Groups of elements with the same key, of at most `group_size`; when `buffer_size` elements wait, the largest group goes."""

    def __init__(self, datapipe, group_key_fn, *, keep_key=False, buffer_size=10000, group_size=None, guaranteed_group_size=None, drop_remaining=False):
        _check_unpickable_fn(group_key_fn)
        self.datapipe, self.group_key_fn, self.keep_key, self.max_buffer_size = datapipe, group_key_fn, keep_key, buffer_size
        self.buffer_elements, self.curr_buffer_size = defaultdict(list), 0
        self.group_size, self.guaranteed_group_size = group_size, None
        if group_size is not None and buffer_size is not None:
            if not 0 < group_size <= buffer_size:
                raise AssertionError("group_size must be > 0 and <= buffer_size")
            self.guaranteed_group_size = group_size
        if guaranteed_group_size is not None:
            if group_size is None or not 0 < guaranteed_group_size <= group_size:
                raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
            self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk

    def _remove_biggest_key(self):
        key = max(self.buffer_elements, key=lambda each: len(self.buffer_elements[each]))
        group, least = self.buffer_elements[key], self.guaranteed_group_size
        if least is not None and len(group) < least and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(group))
        del self.buffer_elements[key]
        self.curr_buffer_size -= len(group)
        return group if least is None or len(group) >= least else None

    def _given(self, key, group):
        group = self.wrapper_class(group)
        return (key, group) if self.keep_key else group

    def __iter__(self):
        for each in self.datapipe:
            key = self.group_key_fn(each)
            self.buffer_elements[key].append(each)
            self.curr_buffer_size += 1
            if self.group_size is not None and self.group_size == len(self.buffer_elements[key]):
                group = self.buffer_elements.pop(key)
                self.curr_buffer_size -= len(group)
                yield self._given(key, group)
            if self.curr_buffer_size == self.max_buffer_size:
                group = self._remove_biggest_key()
                if group is not None:       # under the key of the element that came last, as in PyTorch
                    yield self._given(key, group)
        for key in tuple(self.buffer_elements):
            group = self.buffer_elements.pop(key)
            self.curr_buffer_size -= len(group)
            yield self._given(key, group)

    def reset(self):
        self.curr_buffer_size, self.buffer_elements = 0, defaultdict(list)
