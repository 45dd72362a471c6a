"""Sums of table rows by bag, forward and backward, beside PyTorch's."""

import itertools

import pytest
import torch

import kindling

pytestmark = pytest.mark.kernels

CASES = [case for case in itertools.product(("float32", "float64", "float16"), (1, 5, 64, 600), (False, True), (None, 3, -1), (False, True), (False, True))]


@pytest.mark.parametrize("dtype, width, weighted, padding, last, sparse", CASES)
def test_sums(dtype, width, weighted, padding, last, sparse):
    torch.manual_seed(0)
    given = [torch.randn(20, width).to(getattr(torch, dtype)), torch.randint(0, 20, (50,)), torch.tensor([0, 3, 3, 10, 30, 50 if last else 45]),
             torch.randn(50).to(getattr(torch, dtype))]
    answers = []
    for module in (kindling, torch):
        table, rows, offsets, factors = [module.from_numpy(each.numpy().copy()) for each in given]
        table.requires_grad_()
        factors = factors.requires_grad_() if weighted else None
        out = module.nn.functional.embedding_bag(rows, table, offsets, mode="sum", sparse=sparse, per_sample_weights=factors,
                                                 include_last_offset=last, padding_idx=padding)
        (out * module.arange(out.numel()).view(out.shape).to(out.dtype) / 256).sum().backward()
        grad = table.grad.to_dense() if sparse else table.grad
        answers.append([each.detach().numpy() for each in (out, grad, *([factors.grad] if weighted else []))])
    bound = {"float32": 2e-6, "float64": 1e-14, "float16": 3e-3}[dtype]
    for ours, theirs in zip(*answers, strict=True):
        assert ours.dtype == theirs.dtype and abs(ours.astype(float) - theirs).max() <= bound * max(abs(theirs.astype(float)).max(), 1)
    if dtype == "float32" and not weighted:
        assert (answers[0][0] == answers[1][0]).all()


@pytest.mark.parametrize("rows, offsets", [([], []), ([1, 2], []), ([], [0]), ([1, 2], [0]), ([2, 1, 0], [0, 0, 3, 3])])
def test_empty_bags(rows, offsets):
    def run(module):
        kind = module.int64
        return module.embedding_bag(module.ones(3, 2), module.tensor(rows, dtype=kind), module.tensor(offsets, dtype=kind))[0].tolist()

    assert run(kindling) == run(torch)


@pytest.mark.parametrize("row", [7, -1])
def test_rows_outside(row):
    with pytest.raises(RuntimeError, match=rf"Index 1 of input takes value {row} which is not in the valid range \[0, 5\)"):
        kindling.nn.functional.embedding_bag(kindling.tensor([1, row]), kindling.ones(5, 4), kindling.tensor([0]))


def test_gradients_of_gradients():
    table, factors = kindling.randn(6, 4, dtype=kindling.float64, requires_grad=True), kindling.randn(5, dtype=kindling.float64, requires_grad=True)

    def bags(table, factors):
        return kindling.nn.functional.embedding_bag(kindling.tensor([1, 2, 2, 5, 0]), table, kindling.tensor([0, 2]), mode="sum",
                                                    per_sample_weights=factors)

    assert kindling.autograd.gradcheck(bags, (table, factors)) and kindling.autograd.gradgradcheck(bags, (table, factors))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("index", ["int64", "int32"])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("last", [False, True])
def test_results(dtype, index, mode, padding, last):
    """All four results, and which of equal maxima has the gradient; NaN stays where it comes first."""
    def run(module):
        nan = float("nan")
        table = module.tensor([[1.0, 2.0, nan], [1.0, 0.0, 1.0], [3.0, 2.0, nan]], dtype=getattr(module, dtype)).requires_grad_()
        offsets = module.tensor([0, 2, 2, 4] if last else [0, 2, 2], dtype=getattr(module, index))
        out = module.embedding_bag(table, module.tensor([0, 1, 2, 1], dtype=getattr(module, index)), offsets, False, mode, False, None, last, padding)
        out[0].sum().backward()
        return repr([(each.tolist(), str(each.dtype)) for each in (*out, table.grad)]).replace("kindling.", "torch.")

    assert run(kindling) == run(torch)
