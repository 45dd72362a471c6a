"""Pipes that put their elements through a function."""
import copy

from kindling.utils.data._utils.collate import default_collate
from kindling.utils.data.datapipes._decorator import ready_made
from kindling.utils.data.datapipes.datapipe import IterDataPipe
from kindling.utils.data.datapipes.utils.common import _check_unpickable_fn, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@ready_made("map")
class MapperIterDataPipe(IterDataPipe):
    """What a function makes of each element, or of its columns `input_col`, put in place of them or into column `output_col` (-1: a new one)."""

    def __init__(self, datapipe, fn, input_col=None, output_col=None):
        super().__init__()
        self.datapipe = datapipe
        _check_unpickable_fn(fn)
        self.fn, self.input_col = fn, input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col
        validate_input_col(fn, input_col)

    def _apply_fn(self, data):
        if self.input_col is None:
            return self.fn(data)
        several = isinstance(self.input_col, (list, tuple))
        result = self.fn(*[data[each] for each in self.input_col]) if several else self.fn(data[self.input_col])
        was_tuple = isinstance(data, tuple)
        data = list(data) if was_tuple else copy.copy(data)
        if self.output_col is None:
            if several:
                data[self.input_col[0]] = result
                for each in sorted(self.input_col[1:], reverse=True):
                    del data[each]
            else:
                data[self.input_col] = result
        elif self.output_col == -1:
            data.append(result)
        else:
            data[self.output_col] = result
        return tuple(data) if was_tuple else data

    def __iter__(self):
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self):
        if hasattr(self.datapipe, "__len__"):
            return len(self.datapipe)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@ready_made("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Each element (a batch) collated, by default as the loader does."""

    def __init__(self, datapipe, conversion=default_collate, collate_fn=None):
        if collate_fn is None and not callable(conversion):
            raise NotImplementedError("collate: conversions of the columns of data frames are not there in Kindling")
        super().__init__(datapipe, fn=conversion if collate_fn is None else collate_fn)
