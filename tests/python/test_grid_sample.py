"""Grids beside torch, with gradients: points inside, at the edge and far outside."""
import itertools

import numpy as np
import pytest
import torch as reference

import kindling

pytestmark = pytest.mark.kernels

ODD = (float("nan"), float("inf"), 1e30, -1e9, 300.0, -1.0, 1.0, 0.25)
CASES = [(dims, mode, padding, align)
         for dims in (2, 3) for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection")
         for align in (False, True) if dims == 2 or mode != "bicubic"]


def sampled(torch, image, grid, weights, mode, padding, align):
    x, places = (torch.from_numpy(a).requires_grad_() for a in (image, grid))
    y = torch.nn.functional.grid_sample(x, places, mode, padding, align)
    y.backward(torch.from_numpy(weights))
    return y.detach().numpy(), x.grad.numpy(), places.grad.numpy()


def close(dtype, got, expected):
    tolerance = {"rtol": 2e-4, "atol": 2e-4} if dtype == "float32" else {"rtol": 1e-7, "atol": 1e-9}
    for one, other in zip(got, expected):
        np.testing.assert_allclose(one, other, **tolerance)


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("dims, mode, padding, align", CASES)
def test_case(dims, mode, padding, align, dtype):
    random = np.random.default_rng(0)
    inner, edge = (random.uniform(-far, far, (2, many, dims)) for far, many in ((0.6, 131), (1.6, 13)))
    for places, channels in ((inner, 11), (np.concatenate([inner, edge], 1), 3)):
        grid = places.reshape(2, *(1,) * (dims - 1), -1, dims).astype(dtype)
        image = random.standard_normal((2, channels, *(9, 6, 5)[:dims])).astype(dtype)
        weights = random.standard_normal((2, channels, *grid.shape[1:-1])).astype(dtype)
        expected, got = (sampled(torch, image, grid, weights, mode, padding, align) for torch in (reference, kindling))
        close(dtype, got, expected)


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("dims, mode, padding, align", CASES)
def test_odd_points(dims, mode, padding, align, dtype):
    """The same alone and among others; where all is outside, nothing. (PyTorch's own vectors crash at some of these.)"""
    random = np.random.default_rng(0)
    image = random.standard_normal((1, 2, *(9, 6, 5)[:dims])).astype(dtype)
    places = np.array([(*two, 0.1)[:dims] for two in itertools.product(ODD, ODD)], dtype)
    weights = random.standard_normal((2, len(places))).astype(dtype)
    together = sampled(kindling, image, places.reshape(1, *(1,) * (dims - 1), -1, dims),
                       weights.reshape(1, 2, *(1,) * (dims - 1), -1), mode, padding, align)
    sums = np.zeros_like(image)
    for i, place in enumerate(places):
        alone = sampled(kindling, image, place.reshape((1,) * (dims + 1) + (dims,)),
                        np.ascontiguousarray(weights[:, i]).reshape(1, 2, *(1,) * dims), mode, padding, align)
        sums += alone[1]
        close(dtype, (together[0][..., i], together[2][..., i, :]), (alone[0][..., 0], alone[2][..., 0, :]))
        if padding == "zeros" and not (np.abs(place[:2]) < 2).all():
            assert (alone[0] == 0).all() and (alone[1] == 0).all()
    close(dtype, together[1:2], (sums,))


def test_gradient_of_one():
    """What needs no gradient gets none, and nothing is computed for it."""
    x, grid = kindling.randn(2, 3, 7, 7), kindling.rand(2, 5, 5, 2) * 3 - 1.5
    both = []
    for needs in ((True, False), (False, True), (True, True)):
        a, b = x.clone().requires_grad_(needs[0]), grid.clone().requires_grad_(needs[1])
        kindling.nn.functional.grid_sample(a, b, align_corners=False).sum().backward()
        both.append((a.grad, b.grad))
    assert both[0][1] is None and both[1][0] is None
    assert kindling.equal(both[0][0], both[2][0]) and kindling.equal(both[1][1], both[2][1])
