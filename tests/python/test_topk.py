"""topk beside torch: the same values and, among equal ones, the same places."""
import random

import pytest
import torch

import kindling

pytestmark = pytest.mark.kernels

DTYPES = (torch.float32, torch.float64, torch.float16, torch.int64, torch.int8, torch.uint8)


def drawn(shape, dtype):
    """Many equal numbers or few, nan and -0 among them where the dtype has those."""
    x = torch.randn(shape) * random.choice((1, 30)) if random.random() < 0.5 else torch.randint(-5, 5, shape).float()
    if dtype.is_floating_point and random.random() < 0.4:
        x[torch.rand(shape) < random.choice((0.01, 0.5, 0.99))] = float("nan")
    if random.random() < 0.2:
        x[torch.rand(shape) < 0.3] = -0.0
    return (x.abs() if dtype is torch.uint8 else x).clamp(-100, 100).to(dtype)


@pytest.mark.parametrize("seed", range(8))
def test_values_and_places(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    for _ in range(50):
        n = random.choice((64, 100, 300, 1000, 2048, 5000))
        k = random.randint(1, n // random.choice((64, 64, 8, 1)))
        shape = random.choice(((n,), (3, n), (2, n, 3)))
        x, dim, largest = drawn(shape, random.choice(DTYPES)), shape.index(n), random.random() < 0.5
        theirs, mine = torch.topk(x, k, dim, largest), kindling.topk(kindling.from_numpy(x.numpy()), k, dim, largest)
        assert mine.indices.tolist() == theirs.indices.tolist(), (x.dtype, shape, k, largest)
        assert repr(mine.values.tolist()) == repr(theirs.values.tolist())


@pytest.mark.parametrize("dtype", (torch.int64, torch.int32, torch.int16, torch.uint8, torch.float32, torch.float64), ids=str)
def test_sorts_of_numbers_in_any_range(dtype):
    """Keys may be counted from the least: wide and narrow ranges, on one side of 0 and on both, next to the ends of the dtype."""
    torch.manual_seed(0)
    least, most = (-1000, 1000) if dtype.is_floating_point else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    for n in (49, 79, 80, 100, 255, 256, 1000, 70000):
        for low, high in ((-1, 1), (-100, 100), (-300, 5), (0, 100), (5, 300), (-70000, 70000), (least, most), (most - 200, most), (least, least + 200), (7, 8)):
            x = torch.randint(max(low, least), min(high, most), (n,)).to(dtype)
            for descending in (False, True):
                theirs, mine = x.sort(descending=descending, stable=True), kindling.from_numpy(x.numpy()).sort(descending=descending, stable=True)
                assert (mine[0].numpy() == theirs[0].numpy()).all() and (mine[1].numpy() == theirs[1].numpy()).all(), (n, low, high)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8", "float64", "float32", "float16"])
@pytest.mark.parametrize("low, high", [(0, 1), (-3, 200), (-300, 70000), (2 ** 40, 2 ** 40 + 70000), (-10 ** 9, 10 ** 9), (-2 ** 62, 2 ** 62)])
def test_sorts_by_the_bytes_that_differ(dtype, low, high):
    torch.manual_seed(0)
    for n in (79, 300, 1 << 18, (1 << 18) + 1):
        x = torch.randint(low, high, (n,)).to(getattr(torch, dtype))
        if x.is_floating_point():
            x[::7], x[::11], x[::13] = -0.0, 0.0, float("nan")
        for descending in (False, True):
            ours, theirs = (m.sort(y, stable=True, descending=descending) for m, y in ((kindling, kindling.from_numpy(x.numpy())), (torch, x)))
            assert ours[0].numpy().tobytes() == theirs[0].numpy().tobytes() and (ours[1].numpy() == theirs[1].numpy()).all()
