"""What open files hold."""
from kindling.utils.data.datapipes._decorator import ready_made
from kindling.utils.data.datapipes.datapipe import IterDataPipe

__all__ = ["StreamReaderIterDataPipe"]


@ready_made("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """Pairs of a path and what its file holds, or with `chunk` its pieces of that length."""

    def __init__(self, datapipe, chunk=None):
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self):
        for path, stream in self.datapipe:
            while True:
                piece = stream.read(self.chunk)
                if not piece:
                    stream.close()
                    break
                yield path, piece
