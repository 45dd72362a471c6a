"""A pipe over a sequence or a mapping."""
import copy

from kindling.utils.data.datapipes.datapipe import MapDataPipe

__all__ = ["SequenceWrapperMapDataPipe"]


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The elements of a sequence or mapping, of a copy of it unless `deepcopy` is False."""

    def __init__(self, sequence, deepcopy=True):
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                import warnings
                warnings.warn("The input sequence can not be deepcopied, please be aware of in-place modification would affect source data",
                              stacklevel=2)
                self.sequence = sequence
        else:
            self.sequence = sequence

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self):
        return len(self.sequence)
