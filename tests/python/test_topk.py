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
