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
    **dict.fromkeys(("functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic", "runtime_validation",
                     "runtime_validation_disabled", "argument_validation"), "datapipes._decorator"),
}
_SUBMODULES = ("dataset", "sampler", "distributed", "dataloader", "datapipes", "graph", "graph_settings", "_utils")

__all__ = sorted(_FILES)

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _FILES, _SUBMODULES)
