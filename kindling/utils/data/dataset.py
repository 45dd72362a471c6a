"""Datasets, and datasets made of others."""
import kindling as torch

__all__ = ["Dataset", "IterableDataset", "TensorDataset", "StackDataset", "ConcatDataset", "ChainDataset", "Subset",
           "random_split"]


class Dataset:
    """A map from index to sample: a subclass defines `__getitem__`, and usually `__len__`.

    It may define `__getitems__(indices)`, which the loader then asks for a batch at a time.
    """

    def __class_getitem__(cls, item):
        # `Dataset[T]` is the class itself: typing costs milliseconds to import.
        return cls

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """A stream of samples: a subclass defines `__iter__`.  In workers, `get_worker_info()` says which part to give."""

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Tensors of equal first dimension; sample `i` is the tuple of their rows `i`.  AssertionError for other sizes."""

    def __init__(self, *tensors: torch.Tensor):
        length = tensors[0].size(0)
        if any(tensor.size(0) != length for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self):
        return self.tensors[0].size(0)


def _items(dataset, indices):
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
    return items


class StackDataset(Dataset):
    """Datasets of equal length side by side; a sample is a tuple, or for keyword arguments a dict, of theirs."""

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError("Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                             "input/output, but both types are given.")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in (args or kwargs.values())]
        self._length = lengths[0]
        if any(length != self._length for length in lengths):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple([dataset[index] for dataset in self.datasets])

    def __getitems__(self, indices):
        if isinstance(self.datasets, dict):
            columns = [_items(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, sample)) for sample in zip(*columns)]
        return list(zip(*[_items(dataset, indices) for dataset in self.datasets]))

    def __len__(self):
        return self._length


class ConcatDataset(Dataset):
    """Datasets one after another.  AssertionError for none, or an iterable one."""

    @staticmethod
    def cumsum(sequence):
        """The running sum of lengths."""
        total, sums = 0, []
        for each in sequence:
            total += len(each)
            sums.append(total)
        return sums

    def __init__(self, datasets):
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        from bisect import bisect_right
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        place = bisect_right(self.cumulative_sizes, idx)
        return self.datasets[place][idx - (self.cumulative_sizes[place - 1] if place else 0)]

    @property
    def cummulative_sizes(self):
        """The old spelling of `cumulative_sizes`."""
        import warnings
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Iterable datasets one after another.  AssertionError, when it comes to it, for one that is not."""

    def __init__(self, datasets):
        super().__init__()
        self.datasets = datasets

    def _checked(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self):
        for dataset in self._checked():
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset):
    """The samples of `dataset` at `indices`.

    A subclass that overrides `__getitem__` must override `__getitems__` too (NotImplementedError): the loader asks for
    batches.
    """

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__. When subclassing Subset and overriding "
                "__getitem__, you must also override __getitems__ to ensure DataLoader works correctly with your "
                "custom logic. A simple implementation:\n\ndef __getitems__(self, indices):\n    return "
                "[self.__getitem__(idx) for idx in indices]")

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[index] for index in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        wanted = [self.indices[index] for index in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(wanted)
        return [self.dataset[index] for index in wanted]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator: "torch.Generator | None" = None):
    """Random parts of a dataset, of the given lengths, or of fractions that sum to 1.

    A remainder of the fractions goes to the first parts, one each.  ValueError if the lengths do not sum to the
    dataset's.

        >>> train, test = random_split(dataset, [0.8, 0.2], generator=torch.Generator().manual_seed(42))
    """
    import math
    lengths = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        fractions = lengths
        for index, fraction in enumerate(fractions):
            if fraction < 0 or fraction > 1:
                raise ValueError(f"Fraction at index {index} is not between 0 and 1")
        lengths = [math.floor(len(dataset) * fraction) for fraction in fractions]
        for index in range(len(dataset) - sum(lengths)):
            lengths[index % len(lengths)] += 1
        for index, length in enumerate(lengths):
            if length == 0:
                import warnings
                warnings.warn(f"Length of split at index {index} is 0. This might result in an empty dataset.",
                              stacklevel=2)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = torch.randperm(sum(lengths), generator=generator).tolist()
    parts, start = [], 0
    for length in lengths:
        parts.append(Subset(dataset, indices[start:start + length]))
        start += length
    return parts
