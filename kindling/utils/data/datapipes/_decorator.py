"""Decorators for classes of data pipes."""
from kindling.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe, _Pipe


class functional_datapipe:
    """Decorates a class of pipes: `source.name(...)` makes one of `source`."""

    def __init__(self, name, enable_df_api_tracing=False):
        self.name = name

    def __call__(self, cls):
        if not (isinstance(cls, type) and issubclass(cls, _Pipe)):
            raise TypeError("Can only decorate IterDataPipe or MapDataPipe")
        kind = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        kind.register_datapipe_as_function(self.name, cls)
        return cls
