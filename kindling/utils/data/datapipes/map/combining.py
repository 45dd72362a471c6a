"""Pipes made of several."""
from kindling.utils.data.datapipes._decorator import ready_made
from kindling.utils.data.datapipes.datapipe import MapDataPipe

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]


def _check(datapipes):
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(each, MapDataPipe) for each in datapipes):
        raise TypeError("Expected all inputs to be `MapDataPipe`")
    if not all(hasattr(each, "__len__") for each in datapipes):
        raise TypeError("Expected all inputs to be `Sized`")
    return datapipes


@ready_made("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """One pipe behind the other."""

    def __init__(self, *datapipes):
        self.datapipes = _check(datapipes)

    def __getitem__(self, index):
        at = 0
        for each in self.datapipes:
            if index - at < len(each):
                return each[index - at]
            at += len(each)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self):
        return sum(map(len, self.datapipes))


@ready_made("zip")
class ZipperMapDataPipe(MapDataPipe):
    """Tuples of the samples with the same index."""

    def __init__(self, *datapipes):
        self.datapipes = _check(datapipes)

    def __getitem__(self, index):
        found = []
        for each in self.datapipes:
            try:
                found.append(each[index])
            except IndexError as error:
                raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {each}.") from error
        return tuple(found)

    def __len__(self):
        return min(map(len, self.datapipes))
