"""Samples at random."""
import random

from kindling.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from kindling.utils.data.datapipes.utils.common import _Shuffled

__all__ = ["ShufflerIterDataPipe"]


class ShufflerIterDataPipe(_Shuffled, IterDataPipe):
    """The samples of a pipe with indices, at random; the seed is drawn at each run, or is that of `set_seed`."""

    def __init__(self, datapipe, *, indices=None):
        super().__init__()
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled, self._seed, self._rng = True, None, random.Random()
        self._shuffled_indices = self.indices

    def __iter__(self):
        if not self._enabled:
            for each in self.indices:
                yield self.datapipe[each]
        else:
            while self._shuffled_indices:
                yield self.datapipe[self._shuffled_indices.pop()]

    def reset(self):
        if self._enabled:
            self._draw_seed()
        self._rng.seed(self._seed)
        self._seed = None
        self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self):
        return len(self.datapipe)


MapDataPipe.functions["shuffle"] = ShufflerIterDataPipe
