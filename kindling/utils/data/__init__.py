"""Datasets, samplers and the loader that batches them.  Files load on first use of a name."""
import kindling as _kindling

_FILES = {
    **dict.fromkeys(("ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset",
                     "TensorDataset", "random_split"), "dataset"),
    **dict.fromkeys(("BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
                     "WeightedRandomSampler"), "sampler"),
    "DistributedSampler": "distributed",
    **dict.fromkeys(("DataLoader", "_DatasetKind"), "dataloader"),
    **dict.fromkeys(("default_collate", "default_convert"), "_utils.collate"),
    "get_worker_info": "_utils.info",
    **dict.fromkeys(("DataChunk", "DFIterDataPipe", "IterDataPipe", "MapDataPipe"), "datapipes.datapipe"),
    "functional_datapipe": "datapipes._decorator",
}
_SUBMODULES = ("dataset", "sampler", "distributed", "dataloader", "datapipes", "_utils")

__all__ = sorted(_FILES)

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _FILES, _SUBMODULES)
