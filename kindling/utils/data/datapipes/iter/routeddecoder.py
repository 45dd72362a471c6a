"""Decoding of files by their names' ends."""
from kindling.utils.data.datapipes._decorator import ready_made
from kindling.utils.data.datapipes.datapipe import IterDataPipe

__all__ = ["RoutedDecoderIterDataPipe"]


def _ending(path):
    return path.rpartition("/")[2].partition(".")[2]


@ready_made("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe):
    """Pairs of a path and what the first handler that knows the name's end makes of its bytes."""

    def __init__(self, datapipe, *handlers, key_fn=_ending):
        super().__init__()
        self.datapipe, self.key_fn = datapipe, key_fn
        self.handlers = list(handlers)

    def add_handler(self, *handler):
        """More handlers, asked after the others."""
        self.handlers += handler

    def __iter__(self):
        for path, data in self.datapipe:
            data = data.read() if hasattr(data, "read") else data
            for handler in self.handlers:
                found = handler(self.key_fn(path), data)
                if found is not None:
                    data = found
                    break
            yield path, data

    def __len__(self):
        if hasattr(self.datapipe, "__len__"):
            return len(self.datapipe)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
