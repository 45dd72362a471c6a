"""Pipes that leave elements out."""
from kindling.utils.data.datapipes._decorator import ready_made
from kindling.utils.data.datapipes.datapipe import IterDataPipe
from kindling.utils.data.datapipes.utils.common import _check_unpickable_fn, validate_input_col

__all__ = ["FilterIterDataPipe"]


@ready_made("filter")
class FilterIterDataPipe(IterDataPipe):
    """The elements that a function is true of; with `input_col` the function is given those columns."""

    def __init__(self, datapipe, filter_fn, input_col=None):
        super().__init__()
        self.datapipe = datapipe
        _check_unpickable_fn(filter_fn)
        self.filter_fn, self.input_col = filter_fn, input_col
        validate_input_col(filter_fn, input_col)

    def _apply_filter_fn(self, data):
        if self.input_col is None:
            return self.filter_fn(data)
        if isinstance(self.input_col, (list, tuple)):
            return self.filter_fn(*[data[each] for each in self.input_col])
        return self.filter_fn(data[self.input_col])

    def __iter__(self):
        for data in self.datapipe:
            keep = self._apply_filter_fn(data)
            if not isinstance(keep, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(keep))
            if keep:
                yield data
