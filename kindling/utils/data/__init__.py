"""Datasets, samplers and the loader that batches them.  Files load on first use of a name."""

_FILES = {
    **dict.fromkeys(("ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset",
                     "TensorDataset", "random_split"), "dataset"),
    **dict.fromkeys(("BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
                     "WeightedRandomSampler"), "sampler"),
    "DistributedSampler": "distributed",
    **dict.fromkeys(("DataLoader", "_DatasetKind"), "dataloader"),
    **dict.fromkeys(("default_collate", "default_convert"), "_utils.collate"),
    "get_worker_info": "_utils.info",
}
_SUBMODULES = ("dataset", "sampler", "distributed", "dataloader", "_utils")

__all__ = sorted(_FILES)


def __getattr__(name):
    file = _FILES.get(name)
    if file is None and name not in _SUBMODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = __import__(f"{__name__}.{file or name}", fromlist=("__name__",))
    value = getattr(module, name) if file else module
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
