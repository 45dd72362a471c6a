"""Pipes in another order."""
import random

from kindling.utils.data.datapipes._decorator import ready_made
from kindling.utils.data.datapipes.datapipe import IterDataPipe
from kindling.utils.data.datapipes.utils.common import _Shuffled
from kindling.utils.data.sampler import SequentialSampler

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe):
    """What a sampler chooses for a pipe of known length."""

    def __init__(self, datapipe, sampler=SequentialSampler, sampler_args=None, sampler_kwargs=None):
        if not hasattr(datapipe, "__len__"):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        super().__init__()
        self.datapipe = datapipe
        self.sampler_args, self.sampler_kwargs = () if sampler_args is None else sampler_args, {} if sampler_kwargs is None else sampler_kwargs
        self.sampler_kwargs["data_source"] = datapipe
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self):
        return iter(self.sampler)

    def __len__(self):
        if hasattr(self.sampler, "__len__"):
            return len(self.sampler)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@ready_made("shuffle")
class ShufflerIterDataPipe(_Shuffled, IterDataPipe):
    """The elements at random, out of a buffer of `buffer_size`; the seed is drawn at each run, or is that of `set_seed`."""

    def __init__(self, datapipe, *, buffer_size=10000, unbatch_level=0):
        super().__init__()
        self._buffer = []
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size, self._enabled, self._seed, self._rng = buffer_size, True, None, random.Random()

    def __iter__(self):
        if not self._enabled:
            yield from self.datapipe
            return
        for each in self.datapipe:
            if len(self._buffer) == self.buffer_size:
                at = self._rng.randint(0, len(self._buffer) - 1)
                taken, self._buffer[at] = self._buffer[at], each
                yield taken
            else:
                self._buffer.append(each)
        while self._buffer:
            yield self._buffer.pop(self._rng.randint(0, len(self._buffer) - 1))

    def __len__(self):
        if hasattr(self.datapipe, "__len__"):
            return len(self.datapipe)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")

    def reset(self):
        self._buffer = []
        if self._enabled:
            self._draw_seed()
            self._rng.seed(self._seed)
            self._seed = None
