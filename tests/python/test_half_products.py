"""Products of half types against sums in double, over the shapes at which kernels change their way."""
import itertools

import pytest
import torch

import kindling

SHAPES = [(1, 1, 1), (1, 5, 7), (3, 70, 33), (5, 4, 100), (12, 32, 64), (13, 33, 65), (64, 200, 500), (97, 130, 1027), (300, 3, 50), (2, 3, 513), (9, 600, 31)]


def near(got, want, k, epsilon):
    error = (torch.from_numpy(got.double().numpy().copy()) - want).abs()
    assert (error <= epsilon * want.abs() + 6e-5 * k ** 0.5).all()


@pytest.mark.parametrize("name, epsilon", [("bfloat16", 2 ** -8), ("float16", 2 ** -11)])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_products(name, epsilon, shape):
    m, n, k = shape
    torch.manual_seed(m + n + k)
    dtype = getattr(kindling, name)

    def both(*size):
        values = torch.randn(*size).to(getattr(torch, name))
        return values.double(), kindling.from_numpy(values.float().numpy()).to(dtype)

    c, kc = both(m, n)
    for turn_a, turn_b in itertools.product((False, True), repeat=2):
        a, ka = both(*((k, m) if turn_a else (m, k)))
        b, kb = both(*((n, k) if turn_b else (k, n)))
        if turn_a:
            a, ka = a.t(), ka.t()
        if turn_b:
            b, kb = b.t(), kb.t()
        near(ka @ kb, a @ b, k, epsilon)
        near(kindling.addmm(kc, ka, kb, beta=0.5, alpha=2), 0.5 * c + 2 * (a @ b), k, epsilon)
        out = kindling.zeros(m, 2 * n, dtype=dtype)
        kindling.mm(ka, kb, out=out[:, ::2])
        assert kindling.equal(out[:, ::2], ka @ kb) and not out[:, 1::2].any()
        near(kindling.stack([ka, ka]) @ kb, torch.stack([a @ b] * 2), k, epsilon)


def test_by_instruction_set():
    """bfloat16 by whatever this machine has (tiles, pairs, floats) rounds the same sums, in a child after fork as well."""
    import os
    import subprocess
    import sys
    script = """
import os, sys, kindling
kindling.manual_seed(0)
a, b, c = (kindling.randn(*s).bfloat16() for s in ((70, 333), (333, 45), (45,)))
out = kindling.addmm(c, a, b, beta=0.5)
exact = (a.double() @ b.double() + 0.5 * c.double())
assert ((out.double() - exact).abs() <= 2 ** -8 * exact.abs() + 2e-3).all()
child = os.fork()
if child == 0:
    os._exit(0 if kindling.equal(kindling.addmm(c, a, b, beta=0.5), out) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    for isa in (None, "avx512", "avx2", "baseline"):
        environment = {k: v for k, v in os.environ.items() if k != "KINDLING_ISA"}
        if isa:
            environment["KINDLING_ISA"] = isa
        subprocess.run([sys.executable, "-c", script], check=True, env=environment)
