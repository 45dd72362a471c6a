"""Writes to lazily conjugated and negated views: what is read back through the view is what was written."""
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import kindling

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))
import writes  # noqa: E402

Z = np.array([[1 + 2j, 3 - 1j, .5 + .1j], [.2 - .3j, -1 + 1j, 2 + .2j], [.3 + 1j, 1 - 2j, -.5 - .5j]])


def test_every_operator_that_writes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answered, faults = writes.sweep(seed=1, reference=torch)
    assert not faults, "\n".join(faults)
    reached = sum(count > 0 for count in answered.values())
    assert reached > 0.9 * len(answered) > 700, [name for name, count in answered.items() if not count]


VIEWS = {
    "conj": lambda t, b: b.conj(),
    "adjoint": lambda t, b: b.mH,
    "negative": lambda t, b: t._neg_view(b),
    "both": lambda t, b: t._neg_view(b.conj())[:, :],
}
WRITES = {
    "exp_": lambda t, v, w: v.exp_(),
    "mul_": lambda t, v, w: v.mul_(w),
    "mul_ of a number": lambda t, v, w: v.mul_(2j),
    "mul_ of a conjugate": lambda t, v, w: v.mul_(w.conj()),
    "add_": lambda t, v, w: v.add_(w, alpha=2),
    "div_": lambda t, v, w: v.div_(w),
    "pow_": lambda t, v, w: v.pow_(2),
    "tanh_": lambda t, v, w: v.tanh_(),
    "copy_": lambda t, v, w: v.copy_(w),
    "fill_": lambda t, v, w: v.fill_(3j),
    "fill_ of a tensor": lambda t, v, w: v.fill_(w[0, 0]),
    "zero_": lambda t, v, w: v.zero_(),
    "a number to a row": lambda t, v, w: v.__setitem__(0, 5j),
    "a column to a column": lambda t, v, w: v.__setitem__((slice(None), 1), w[:, 0]),
    "masked_fill_": lambda t, v, w: v.masked_fill_(t.eye(3, dtype=t.bool), 2j),
    "index_put_": lambda t, v, w: v.index_put_((t.tensor([0, 1]), t.tensor([1, 2])), w[0, :2], accumulate=True),
    "index_fill_": lambda t, v, w: v.index_fill_(0, t.tensor([1]), 2j),
    "cumsum_": lambda t, v, w: v.cumsum_(0),
    "addmm_": lambda t, v, w: v.addmm_(w, w),
    "addcmul_": lambda t, v, w: v.addcmul_(w, w.conj(), value=.5),
    "reciprocal_": lambda t, v, w: v.reciprocal_(),
    "t_": lambda t, v, w: v.t_(),
    "tril_": lambda t, v, w: v.tril_(),
    "the imaginary part": lambda t, v, w: v.imag.add_(10),
    "the imaginary part, by exp_": lambda t, v, w: v.imag.exp_(),
    "the real part": lambda t, v, w: v.real.mul_(w.imag),
    "imag =": lambda t, v, w: setattr(v, "imag", w.real),
}


def recorded(t, view, write):
    a, w = t.tensor(Z, requires_grad=True), t.tensor(Z.T * 1.5 + .1, requires_grad=True)
    b = a * 1
    v = VIEWS[view](t, b)
    WRITES[write](t, v, w)
    gradients = t.autograd.grad((v * t.tensor(Z + .7)).sum().abs() + (b * b).sum().abs(), (a, w), allow_unused=True)
    return b._version, *[x if x is None else x.detach().resolve_conj().resolve_neg().tolist() for x in (b, v, *gradients)]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_histories(view, write):
    expected, got = recorded(torch, view, write), recorded(kindling, view, write)
    assert got[0] == expected[0]
    for mine, theirs in zip(got[1:], expected[1:]):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            np.testing.assert_allclose(mine, theirs, atol=1e-12)


ALIASES = [
    lambda t, z: z.conj().mul_(z),
    lambda t, z: z.mul_(z.conj()),
    lambda t, z: z.conj().mul_(z.conj()),
    lambda t, z: z.conj().add_(z.t()),
    lambda t, z: t.add(z, 1, out=z.conj()),
    lambda t, z: t.add(z.conj(), 1, out=z),
    lambda t, z: t.mm(z, z, out=z.conj()),
    lambda t, z: t.cumsum(z, 0, out=z.conj()),
    lambda t, z: z.conj().copy_(z),
    lambda t, z: z.copy_(z.conj()),
    lambda t, z: z.conj().copy_(z.t()),
    lambda t, z: z.copy_(z.mH),
    lambda t, z: z.conj().imag.copy_(z.imag),
    lambda t, z: z.conj()[1:].add_(z[:-1]),
    lambda t, z: z[1:].copy_(z[1]),
    lambda t, z: t.add(z[:-1], 1, out=z.conj()[1:]),
    lambda t, z: z.conj().addmm_(z, z),
    lambda t, z: z.conj().scatter_(0, t.tensor([[0, 1, 2]]), z),
    lambda t, z: z.conj().__setitem__(0, z[1]),
    lambda t, z: z.mH.__setitem__(0, z[1].conj()),
    lambda t, z: z[:1].conj().expand(3, 3).add_(1),
]


@pytest.mark.parametrize("place", range(len(ALIASES)))
def test_targets_that_share_memory(place):
    def outcome(t):
        z = t.tensor(Z)
        try:
            ALIASES[place](t, z)
        except RuntimeError as error:
            return str(error)
        return z.tolist()

    expected, got = outcome(torch), outcome(kindling)
    if isinstance(expected, str) or isinstance(got, str):
        assert got == expected
    else:
        np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("t", [torch, kindling], ids=["torch", "kindling"])
def test_out_takes_the_size_of_the_result(t):
    out = t.empty(0, dtype=t.complex64).conj()
    value = t.ones(2, 3, dtype=t.complex64).t() + 1j
    assert t.add(value, 1, out=out) is out
    assert out.tolist() == [[2 + 1j] * 2] * 3 and out.stride() == (2, 1) and out.is_conj()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        t.add(value, 1, out=t.ones(3, 1, dtype=t.complex64).conj())
        t.add(t.ones(2), 1, out=t.ones(3))
    assert {str(w.message)[:45] for w in caught} == {"An output with one or more elements was resiz"}
    assert {w.filename for w in caught} == {__file__}


@pytest.mark.parametrize("t", [torch, kindling], ids=["torch", "kindling"])
def test_versions_and_inference_tensors(t):
    b = t.ones(2, dtype=t.complex64)
    b.conj().mul_(2j)
    b.conj().fill_(2j)
    b.conj().copy_(b)
    t.add(b, 1, out=b.conj())
    assert b._version == 4
    with t.inference_mode():
        made = t.ones(2) + 1j
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        made.conj().mul_(2)
    assert t is torch or made.tolist() == [1 + 1j] * 2   # torch has written by then


@pytest.mark.parametrize("t", [torch, kindling], ids=["torch", "kindling"])
def test_sizes_and_signs(t):
    v = t.tensor([1 + 2j, 3 - 1j]).conj()
    assert v.resize_(1).tolist() == [1 - 2j] and v.is_conj()
    assert v.set_(t.zeros(3) + 1j).tolist() == [-1j] * 3
    for dtype in (t.int8, t.uint8, t.int64, t.int32):
        assert t._neg_view(t.tensor(5, dtype=dtype)).item() == (-5 if dtype.is_signed else 251)
    for value in (0, 0.):
        base = t.ones(2)
        t._neg_view(base).fill_(value)
        assert base.signbit().all()


@pytest.mark.parametrize("t", [torch, kindling], ids=["torch", "kindling"])
def test_results_of_operators_by_name(t):
    x, values, indices = t.tensor([3., 1., 2.]), t.empty(0), t.empty(0, dtype=t.int64)
    got = t.ops.aten.sort.values(x, values=values, indices=indices) if t is torch else t.ops.aten.sort.out(x, values=values, indices=indices)
    assert got[0] is values and values.tolist() == [1, 2, 3] and indices.tolist() == [1, 2, 0]
    t.ops.aten.sort(x, descending=True, values=values, indices=indices)
    assert values.tolist() == [3, 2, 1]
    with pytest.raises(TypeError):
        t.sort(x, values=values, indices=indices)
