"""Maxima of windows along rows where nobody asks for places: every size of window, edge, dtype and layout."""
import random

import pytest
import torch as reference

import kindling

pytestmark = pytest.mark.kernels


def numbers(*shape):
    x = reference.randn(*shape)
    chance = reference.rand_like(x)
    x[chance < 0.05], x[chance > 0.97] = float("nan"), -float("inf")
    return x


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "bfloat16"))
def test_as_torch(dtype):
    random.seed(dtype)
    reference.manual_seed(3)
    for _ in range(120):
        kernel = random.randint(1, 7)
        how = (kernel, random.randint(1, 4), random.randint(0, kernel // 2), random.choice((1, 1, 2, 3)), random.random() < 0.4)
        x = numbers(*random.choice(((3,), (2, 5), (40, 7), (0, 3))), random.choice((1, 2, 5, 17, 255, 256, 1025)))
        turned = random.random() < 0.3
        theirs, ours = (torch.tensor(x.tolist(), dtype=getattr(torch, dtype)).reshape(x.shape) for torch in (reference, kindling))
        if turned:
            theirs, ours = (x.mT.contiguous().mT for x in (theirs, ours))
        try:
            expected = reference.nn.functional.max_pool1d(theirs, *how)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                kindling.nn.functional.max_pool1d(ours, *how)
            continue
        got = kindling.nn.functional.max_pool1d(ours, *how)
        assert got.shape == expected.shape and got.dtype == ours.dtype
        expected = kindling.tensor(expected.tolist(), dtype=got.dtype).reshape(got.shape)
        assert kindling.equal(got.isnan(), expected.isnan()), (how, x.shape)
        assert kindling.equal(got.nan_to_num(0.5), expected.nan_to_num(0.5)), (how, x.shape)


def test_threads():
    x = kindling.randn(64, 3000)
    before = kindling.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            kindling.set_num_threads(threads)
            results.append(kindling.nn.functional.max_pool1d(x, 5, 3, 2))
        assert kindling.equal(*results)
    finally:
        kindling.set_num_threads(before)
    assert kindling.equal(results[0], kindling.nn.functional.max_pool1d(x, 5, 3, 2, return_indices=True)[0])
    long = kindling.randn(1, 100_000)  # a row of several blocks
    assert kindling.equal(kindling.nn.functional.max_pool1d(long, 3, 1, 1), kindling.nn.functional.max_pool1d(long, 3, 1, 1, return_indices=True)[0])
