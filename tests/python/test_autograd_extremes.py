"""No gradient is NaN where PyTorch's is a number: of every operator of one to three tensors, at large numbers, infinities and NaN."""
import sys
import warnings
from pathlib import Path

import pytest
import torch

import kindling

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))
from draw import operators  # noqa: E402

pytestmark = pytest.mark.kernels

VALUES = [100.0, -100.0, 800.0, -800.0, 1e30, -1e30, float("inf"), float("-inf"), 0.0, 0.5, -0.5, 1.0, -1.0, 50.0, -50.0, float("nan")]
# At infinity digamma's slope is NaN here; at NaN that of the Bessel functions is one half in PyTorch.
APART = {"digamma": float("inf"), "special_digamma": float("inf"), "special_psi": float("inf"), "special_i1": float("nan"), "special_i1e": float("nan")}


def calls():
    for entry in operators():
        name, overload = (entry.name.split(".") + [""])[:2]
        if not entry.schema or overload.endswith("out") or name.endswith("_"):
            continue
        needed = [argument for argument in entry.schema if not argument.has_default]
        tensors = [a for a in needed if a.type == "Tensor" and not a.is_list and not a.is_optional]
        numbers = [a for a in needed if a.type == "Scalar" and not a.is_list]
        if 0 < len(tensors) < 4 and len(tensors) + len(numbers) == len(needed):
            yield name, overload, len(tensors), len(numbers)


def slopes(t, name, overload, tensors, numbers, dtype, other):
    dtype = getattr(t, dtype)
    xs = [t.tensor(VALUES, dtype=dtype, requires_grad=True), *(t.full((len(VALUES),), other, dtype=dtype, requires_grad=True) for _ in range(tensors - 1))]
    result = getattr(getattr(t.ops.aten, name), overload)(*xs, *[1.5] * numbers)
    result = result[0] if isinstance(result, (list, tuple)) else result
    found = t.autograd.grad(result.sum(), xs, allow_unused=True)
    return [None if x is None or x.is_complex() or tuple(x.shape) != (len(VALUES),) else x.tolist() for x in found]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_gradient_is_lost(dtype):
    lost, compared = [], 0
    for call in calls():
        for other in (1.0, -0.7):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    theirs, ours = slopes(torch, *call, dtype, other), slopes(kindling, *call, dtype, other)
            except (RuntimeError, TypeError, IndexError, ValueError, AttributeError):
                continue
            compared += 1
            for there, here in zip(theirs, ours):
                for value, x, y in zip(VALUES, there or (), here or ()):
                    if x == x and y != y and repr(value) != repr(APART.get(call[0])):
                        lost.append(f"{call[0]}.{call[1]} at {value} and {other}: {x} in PyTorch")
    assert compared > 150 and not lost, (compared, lost)
