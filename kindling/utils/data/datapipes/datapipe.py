"""Data pipes: data sets that take another for their source. PyTorch's classes to derive from; its ready-made pipes are not there."""
from kindling.utils.data.dataset import Dataset, IterableDataset

__all__ = ["DataChunk", "DFIterDataPipe", "IterDataPipe", "MapDataPipe"]


class _Pipe:
    """What both kinds have: functions by name, each of which makes a pipe out of this one."""

    functions = {}

    def __getattr__(self, name):
        function = type(self).functions.get(name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")
        return lambda *args, **kwargs: function(self, *args, **kwargs)

    def __dir__(self):
        return [*super().__dir__(), *self.functions]

    def __repr__(self):
        return type(self).__qualname__

    def reset(self):
        """Goes back to the beginning; for subclasses."""

    @classmethod
    def register_function(cls, function_name, function):
        """Makes `pipe.function_name(...)` call `function(pipe, ...)`."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Makes `pipe.function_name(...)` make `cls_to_register(pipe, ...)`."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_Pipe, IterableDataset):
    """A pipe that is gone through in order: a subclass defines `__iter__`."""

    functions = {}


class MapDataPipe(_Pipe, Dataset):
    """A pipe whose samples have an index: a subclass defines `__getitem__`, and usually `__len__`."""

    functions = {}


class DFIterDataPipe(IterDataPipe):
    """A pipe of data frames."""


class DataChunk(list):
    """Samples that belong together."""

    def __init__(self, items):
        super().__init__(items)
        self.items = items

    def as_str(self, indent=""):
        return indent + "[" + ", ".join(map(str, self)) + "]"

    def raw_iterator(self):
        return iter(self.items)
