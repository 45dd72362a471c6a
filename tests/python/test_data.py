"""Datasets, samplers and collation side by side with torch."""
import collections

import numpy as np
import pytest
import torch as reference

import kindling

BOTH = (kindling, reference)


def plain(value):
    """Tensors as (dtype, list), in containers of any depth."""
    if isinstance(value, (kindling.Tensor, reference.Tensor)):
        return str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return value


def rows(module, count=10):
    data = module.utils.data
    return data.TensorDataset(module.arange(count * 2).reshape(count, 2), module.arange(count) * 10)


def test_datasets():
    def run(module):
        data = module.utils.data
        base, other = rows(module), rows(module, 3)
        both = base + other
        pair = data.StackDataset(base, data.Subset(base, list(range(9, -1, -1))))
        named = data.StackDataset(x=base, y=base)
        return plain([len(base), base[3], len(both), both[11], both[-1], both.cumulative_sizes,
                      data.Subset(base, [5, 1])[1], data.Subset(base, [5, 1]).__getitems__([0, 1]), pair[2],
                      pair.__getitems__([0, 9]), named[1], named.__getitems__([4, 5]), len(named)])
    assert run(kindling) == run(reference)


def test_dataset_errors():
    for module in BOTH:
        data = module.utils.data
        base = rows(module)
        with pytest.raises(NotImplementedError):
            data.Dataset()[0]
        with pytest.raises(AssertionError, match="Size mismatch between tensors"):
            data.TensorDataset(module.ones(2), module.ones(3))
        with pytest.raises(ValueError, match="Size mismatch between datasets"):
            data.StackDataset(base, rows(module, 3))
        with pytest.raises(ValueError, match="At least one dataset"):
            data.StackDataset()
        with pytest.raises(ValueError, match="both types are given"):
            data.StackDataset(base, y=base)
        with pytest.raises(AssertionError, match="should not be an empty iterable"):
            data.ConcatDataset([])
        with pytest.raises(AssertionError, match="does not support IterableDataset"):
            data.ConcatDataset([data.ChainDataset([])])
        with pytest.raises(ValueError, match="absolute value of index"):
            data.ConcatDataset([base])[-11]
        with pytest.raises(AssertionError, match="only supports IterableDataset"):
            list(data.ChainDataset([base]))
        with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
            type("Own", (data.Subset,), {"__getitem__": lambda self, index: 0})(base, [1])


def test_generic_classes():
    class Numbers(kindling.utils.data.Dataset[int]):
        def __getitem__(self, index):
            return index
    assert Numbers()[3] == 3
    assert kindling.utils.data.DataLoader[int] is kindling.utils.data.DataLoader


@pytest.mark.parametrize("lengths", [[3, 7], [0.5, 0.5], [0.33, 0.33, 0.34], [0.99, 0.005, 0.005], [10]])
def test_random_split(lengths):
    def run(module):
        module.manual_seed(3)
        first = module.utils.data.random_split(range(10), lengths)
        second = module.utils.data.random_split(range(10), lengths, generator=module.Generator().manual_seed(1))
        return [list(part) for part in (*first, *second)]
    if 0.005 in lengths:
        with pytest.warns(UserWarning, match="might result in an empty dataset"):
            assert run(kindling) == run(reference)
    else:
        assert run(kindling) == run(reference)


def test_random_split_errors():
    split = kindling.utils.data.random_split
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        split(range(10), [1, 2])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        split(range(10), [1.5, -0.5])


SAMPLERS = {
    "sequential": lambda data, generator: data.SequentialSampler(range(7)),
    "random": lambda data, generator: data.RandomSampler(range(7)),
    "random own": lambda data, generator: data.RandomSampler(range(7), generator=generator),
    "random more": lambda data, generator: data.RandomSampler(range(7), num_samples=17),
    "replacement": lambda data, generator: data.RandomSampler(range(7), replacement=True, num_samples=75),
    "replacement own": lambda data, generator: data.RandomSampler(range(70), replacement=True, generator=generator),
    "subset": lambda data, generator: data.SubsetRandomSampler([4, 8, 15, 16, 23, 42]),
    "weighted": lambda data, generator: data.WeightedRandomSampler([0.1, 5.0, 3.0, 0.0], 20, generator=generator),
    "weighted once": lambda data, generator: data.WeightedRandomSampler([0.1, 5.0, 3.0, 1.0], 3, replacement=False),
    "batches": lambda data, generator: data.BatchSampler(data.SequentialSampler(range(7)), 3, False),
    "whole batches": lambda data, generator: data.BatchSampler(data.SequentialSampler(range(7)), 3, True),
    "share": lambda data, generator: data.DistributedSampler(range(7), num_replicas=3, rank=1, seed=5),
    "share tail": lambda data, generator: data.DistributedSampler(range(7), 3, 2, shuffle=False, drop_last=True),
    "share more": lambda data, generator: data.DistributedSampler(range(2), num_replicas=7, rank=6, shuffle=False),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_draw_as_torch(name):
    def run(module):
        module.manual_seed(11)
        sampler = SAMPLERS[name](module.utils.data, module.Generator().manual_seed(5))
        # The second pass and the number after it show that the stream went on alike.
        return list(sampler), list(sampler), len(sampler), module.rand(1).item()
    assert run(kindling) == run(reference)


def test_distributed_sampler_epochs():
    def run(module):
        sampler = module.utils.data.DistributedSampler(range(10), num_replicas=2, rank=0)
        orders = [list(sampler)]
        sampler.set_epoch(3)
        return [*orders, list(sampler)]
    mine = run(kindling)
    assert mine == run(reference) and mine[0] != mine[1]


@pytest.mark.parametrize("make, error", [
    (lambda data: data.RandomSampler(range(3), replacement=1), TypeError),
    (lambda data: data.RandomSampler(range(3), num_samples=0), ValueError),
    (lambda data: data.RandomSampler([]), ValueError),
    (lambda data: data.WeightedRandomSampler([1.0], 0), ValueError),
    (lambda data: data.WeightedRandomSampler([1.0], 1, replacement=2), ValueError),
    (lambda data: data.WeightedRandomSampler([[1.0]], 1), ValueError),
    (lambda data: data.BatchSampler([], 0, False), ValueError), (lambda data: data.BatchSampler([], 1, 0), ValueError),
    (lambda data: data.BatchSampler([], True, False), ValueError),
    (lambda data: data.DistributedSampler(range(3), num_replicas=2, rank=2), ValueError),
])
def test_sampler_errors(make, error):
    messages = []
    for module in BOTH:
        with pytest.raises(error) as caught:
            make(module.utils.data)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize("make", [
    lambda module: [1, 2, 3], lambda module: [1.5, 2.5], lambda module: [True, False], lambda module: ["a", "b"],
    lambda module: [b"a", b"b"], lambda module: [module.ones(2), module.zeros(2)],
    lambda module: [{"a": 1, "b": [1.0, "x"]}, {"a": 2, "b": [2.0, "y"]}],
    lambda module: [(1, module.ones(1)), (2, module.zeros(1))], lambda module: [Point(1, 2), Point(3, 4)],
    lambda module: [[[1, 2], 3], [[4, 5], 6]],
    lambda module: [np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)],
    lambda module: [np.float32(1), np.float32(2)], lambda module: [np.float64(1), np.float64(2)],
    lambda module: [np.int16(1), np.int16(2)], lambda module: [np.bool_(True), np.bool_(False)],
    lambda module: [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
])
def test_default_collate(make):
    mine, theirs = (module.utils.data.default_collate(make(module)) for module in BOTH)
    assert plain(mine) == plain(theirs) and type(mine).__name__ == type(theirs).__name__


@pytest.mark.parametrize("make", [
    lambda module: np.ones(3), lambda module: [np.float32(1), "x"], lambda module: {"a": np.int64(1)},
    lambda module: (1, np.ones(1)), lambda module: Point(np.ones(1), 2), lambda module: np.array(["a"]),
    lambda module: "text", lambda module: 3, lambda module: module.ones(1),
])
def test_default_convert(make):
    mine, theirs = (module.utils.data.default_convert(make(module)) for module in BOTH)
    assert str(plain(mine)) == str(plain(theirs))


def test_collate_errors():
    for module in BOTH:
        collate = module.utils.data.default_collate
        with pytest.raises(TypeError, match="batch must contain tensors, numpy arrays, numbers, dicts or lists; found"):
            collate([object(), object()])
        with pytest.raises(TypeError, match="found object"):
            collate([np.array([None])])
        with pytest.raises(RuntimeError, match="should be of equal size"):
            collate([[1, 2], [1]])
        with pytest.raises(RuntimeError):
            collate([module.ones(2), module.ones(3)])


def test_collate_by_own_class():
    from kindling.utils.data._utils.collate import collate, collate_int_fn

    class Mine:
        def __init__(self, value):
            self.value = value
    table = {Mine: lambda batch, *, collate_fn_map: [each.value for each in batch], int: collate_int_fn}
    result = collate([(Mine(1), 2), (Mine(3), 4)], collate_fn_map=table)
    assert result[0] == [1, 3] and result[1].tolist() == [2, 4]
