"""Samples put together."""
from kindling.utils.data.datapipes._decorator import ready_made
from kindling.utils.data.datapipes.datapipe import DataChunk, MapDataPipe

__all__ = ["BatcherMapDataPipe"]


@ready_made("batch")
class BatcherMapDataPipe(MapDataPipe):
    """Batches of `batch_size` samples; with `drop_last` a smaller last one is left out."""

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__()
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __getitem__(self, index):
        batch = []
        try:
            for at in range(index * self.batch_size, (index + 1) * self.batch_size):
                batch.append(self.datapipe[at])
        except IndexError as error:
            if not batch or self.drop_last:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)

    def __len__(self):
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
