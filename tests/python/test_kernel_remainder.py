"""fmod, remainder and floor division, bit by bit: quotients next to whole numbers, huge ones, numbers below the normal ones."""
import itertools

import numpy as np
import pytest
import torch as reference

import kindling

pytestmark = pytest.mark.kernels


def pairs(dtype):
    random, many = np.random.default_rng(0), 20000
    word = np.uint32 if dtype == np.float32 else np.uint64
    size = np.finfo(dtype)
    b = random.standard_normal(many).astype(dtype)
    a = b * random.integers(-2**22, 2**22, many).astype(dtype)
    yield from ((a, b), (np.nextafter(a, dtype(np.inf)), b), (np.nextafter(a, dtype(-np.inf)), b))
    yield a * dtype(2**20), b
    yield (random.standard_normal(many) * size.tiny).astype(dtype), (random.standard_normal(many) * size.tiny / 100).astype(dtype)
    yield random.integers(-1000, 1000, many).astype(dtype) / dtype(10), random.integers(1, 10, many).astype(dtype) / dtype(10)
    yield tuple(random.integers(0, np.iinfo(word).max, many, dtype=word).view(dtype) for _ in range(2))
    odd = (0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2.5, size.tiny, -size.tiny, size.max, size.smallest_subnormal)
    yield tuple(np.array(list(itertools.product(odd, odd)), dtype).T.copy())


def same(got, expected):
    word = np.int32 if got.dtype == np.float32 else np.int64
    return (got.view(word) == expected.view(word)) | (np.isnan(got) & np.isnan(expected))


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_exact(dtype):
    for a, b in pairs(dtype):
        ours, theirs = ([torch.from_numpy(x) for x in (a, b)] for torch in (kindling, reference))
        with np.errstate(all="ignore"):
            assert same(kindling.fmod(*ours).numpy(), np.fmod(a, b)).all()
            counted = np.isfinite(a / b) | np.isnan(a / b) | (b == 0)  # PyTorch's own vectors give up beyond that
        for name in ("remainder", "floor_divide"):
            got, expected = (getattr(torch, name)(*x).numpy() for torch, x in ((kindling, ours), (reference, theirs)))
            assert same(got, expected)[counted].all(), name


@pytest.mark.parametrize("many", (1, 5, 16, 37))
def test_ends(many):
    a, b = kindling.arange(many) * 1.5 - 7, kindling.arange(many) % 4 + 0.25
    with np.errstate(all="ignore"):
        assert same(kindling.fmod(a, b).numpy(), np.fmod(a.numpy(), b.numpy())).all()
        assert same(kindling.fmod(a, 0.75).numpy(), np.fmod(a.numpy(), np.float32(0.75))).all()
        assert same(kindling.fmod(a, 0.0).numpy(), np.fmod(a.numpy(), np.float32(0))).all()
