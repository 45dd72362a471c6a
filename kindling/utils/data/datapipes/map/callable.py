"""Samples put through a function."""
from kindling.utils.data.datapipes._decorator import ready_made
from kindling.utils.data.datapipes.datapipe import MapDataPipe
from kindling.utils.data.datapipes.utils.common import _check_unpickable_fn

__all__ = ["MapperMapDataPipe", "default_fn"]


def default_fn(data):
    """What it is given."""
    return data


@ready_made("map")
class MapperMapDataPipe(MapDataPipe):
    """What a function makes of each sample."""

    def __init__(self, datapipe, fn=default_fn):
        super().__init__()
        self.datapipe = datapipe
        _check_unpickable_fn(fn)
        self.fn = fn

    def __len__(self):
        return len(self.datapipe)

    def __getitem__(self, index):
        return self.fn(self.datapipe[index])
