"""Gradients beside PyTorch's where a number is none, infinite, or a zero with a sign; and what is refused of a given dtype."""
import math

import pytest
import torch

import kindling

pytestmark = pytest.mark.kernels

EDGES = [math.nan, 1.0, 0.0, -0.0, 0.5, 2.0, math.inf, -math.inf, -1.5]


def gradients(library, function, dtype, count):
    rows = [[a for a in EDGES for _ in EDGES], [b for _ in EDGES for b in EDGES]][:count]
    given = [library.tensor(row, dtype=getattr(library, dtype), requires_grad=True) for row in rows]
    return [grad.tolist() for grad in library.autograd.grad(getattr(library, function)(*given).sum(), given)]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("function, count", [("maximum", 2), ("minimum", 2), ("fmax", 2), ("fmin", 2), ("digamma", 1)])
def test_gradient(function, count, dtype):
    for got, want in zip(gradients(kindling, function, dtype, count), gradients(torch, function, dtype, count)):
        assert got == pytest.approx(want, rel=1e-6 if dtype == "float64" else 2e-3, nan_ok=True)


def test_set_refuses_another_dtype():
    for library in (torch, kindling):
        with pytest.raises(RuntimeError, match="Could not set tensor of type"):
            library.ones(2).set_(library.ones(2, dtype=library.float64))
        assert library.ones(2).set_(library.ones(2, dtype=library.float64), 0, (2,)).tolist() == [0.0, 1.875]


def test_complex_halves_are_refused():
    half = kindling.ones(2, dtype=kindling.float16)
    with pytest.raises(NotImplementedError, match="complex32"):
        kindling.complex(half, half)
