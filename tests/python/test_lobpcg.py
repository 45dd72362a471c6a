"""torch.lobpcg: eigenvalues are PyTorch's, vectors solve the problem, and so do gradients."""
import pytest
import torch as reference

import kindling as torch
from both import run, same

MODULES = (reference, torch)


def problem(t, m=24, batch=(), generalized=False, dtype="float64"):
    generator = reference.Generator().manual_seed(m + len(batch))
    A = reference.randn(*batch, m, m, generator=generator, dtype=reference.float64)
    A = A @ A.mT / m + reference.diag(reference.arange(m, dtype=reference.float64) / 4)
    B = reference.randn(*batch, m, m, generator=generator, dtype=reference.float64)
    B = B @ B.mT / m + 2 * reference.eye(m, dtype=reference.float64) if generalized else None
    return [None if each is None else t.tensor(each.tolist(), dtype=getattr(t, dtype)) for each in (A, B)]


# The basic method misses some pairs of larger problems, in PyTorch as here.
@pytest.mark.parametrize("method, generalized, k, dtype", [("ortho", generalized, k, dtype) for generalized in (False, True) for k, dtype in ((1, "float64"), (3, "float64"), (3, "float32"))]
                         + [("basic", False, 1, "float64"), ("basic", True, 1, "float64"), ("basic", False, 3, "float64")])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("batch", [(), (2,), (2, 1)])
def test_eigenvalues(method, largest, generalized, batch, k, dtype):
    found = []
    for t in MODULES:
        A, B = problem(t, batch=batch, generalized=generalized, dtype=dtype)
        t.manual_seed(0)
        E, X = t.lobpcg(A, k=k, B=B, largest=largest, method=method, niter=200)
        assert E.shape == (*batch, k) and X.shape == (*batch, 24, k) and E.dtype == X.dtype == A.dtype
        left = A @ X - (X if B is None else B @ X) * E.unsqueeze(-2)
        assert float(left.abs().max()) < (1e-5 if dtype == "float64" else 2e-2) * float(A.abs().max())
        found.append(E.tolist())
    assert reference.allclose(*(reference.tensor(each) for each in found), atol=0, rtol=1e-9 if dtype == "float64" else 1e-4)


def test_start_preconditioner_and_tracker():
    counts = []
    for t in MODULES:
        A, _ = problem(t)
        steps = []

        def tracker(worker):
            steps.append((worker.ivars["istep"], worker.ivars["converged_count"], tuple(worker.tvars["rerr"].shape), tuple(worker.E.shape), tuple(worker.X.shape)))
            worker.bvars["force_stop"] = len(steps) == 4
        X = t.eye(24, dtype=t.float64)[:, :4]
        t.lobpcg(A, k=2, X=X, tracker=tracker)
        assert steps == [(i + 1, 0, (4,), (4,), (24, 4)) for i in range(4)], steps
        count = []
        for iK in (None, t.linalg.inv(A)):
            steps.clear()
            t.lobpcg(A, k=2, X=X, iK=iK, largest=False, tracker=lambda worker: steps.append(1))
            count.append(len(steps))
        counts.append(count)
    assert counts[0][0] == counts[1][0] and counts[1][1] < counts[1][0], counts  # the ortho method takes no iK in PyTorch


@pytest.mark.parametrize("method", ["ortho", "basic"])
def test_the_same_path(method):
    """From the same start the first steps are the same numbers, and as many steps are made."""
    seen = []
    for t in MODULES:
        A, _ = problem(t)
        steps = []
        t.lobpcg(A, k=2, X=t.eye(24, dtype=t.float64)[:, :3], method=method, tracker=lambda worker: steps.append(worker.E.tolist()))
        seen.append(steps)
    assert len(seen[0]) == len(seen[1]) if method == "ortho" else abs(len(seen[0]) - len(seen[1])) < 4  # that one is less stable
    assert reference.allclose(*(reference.tensor(each[:12], dtype=reference.float64) for each in seen), rtol=1e-7)


def test_gradients():
    for k in 1, 3:
        gradients = []
        for t in MODULES:
            A, _ = problem(t)
            A.requires_grad_()
            E, X = t.lobpcg(A, k=k, tol=1e-12, niter=-1)
            weight = t.arange(24, dtype=t.float64)[:, None]
            ((E * t.arange(1, k + 1, dtype=t.float64)).sum() + (X * X * weight).sum() + (X @ X.mT * weight).sum()).backward()
            gradients.append(A.grad.tolist())
        assert reference.allclose(*(reference.tensor(each, dtype=reference.float64) for each in gradients), atol=1e-7)


@pytest.mark.parametrize("call", ["torch.lobpcg(torch.ones(3, 4))", "torch.lobpcg(torch.eye(2))", "torch.lobpcg(torch.eye(9), B=torch.eye(8))", "torch.lobpcg(torch.eye(9), k=4)",
                                  "torch.lobpcg(torch.eye(9), X=torch.ones(8, 1))",
                                  "E, X = torch.lobpcg(torch.eye(9, requires_grad=True) * torch.arange(1., 10), B=torch.eye(9))\nE.sum().backward()"])
def test_refusals(call):
    same(f"{call}\nNone" if "backward" in call else call)
    assert "Error" in run("kindling", f"{call}\nNone" if "backward" in call else call)
