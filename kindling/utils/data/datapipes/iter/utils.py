"""A pipe over any iterable."""
import copy

from kindling.utils.data.datapipes.datapipe import IterDataPipe

__all__ = ["IterableWrapperIterDataPipe"]


class IterableWrapperIterDataPipe(IterDataPipe):
    """The elements of an iterable, of a copy of it unless `deepcopy` is False."""

    def __init__(self, iterable, deepcopy=True):
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:       # generators cannot be copied
                import warnings
                warnings.warn("The input iterable can not be deepcopied, please be aware of in-place modification would affect source data.",
                              stacklevel=2)
        yield from source

    def __len__(self):
        if hasattr(self.iterable, "__len__"):
            return len(self.iterable)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
