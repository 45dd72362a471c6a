"""Products of half types against sums in double, over the shapes at which kernels change their way."""
import itertools

import pytest
import torch

import kindling

pytestmark = pytest.mark.kernels

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


# in and out channels, kernel, stride, padding, dilation, size, groups, samples, dimensions
CONVOLUTIONS = [(64, 64, 3, 1, 1, 1, 14, 1, 2, 2), (16, 32, 3, 2, 1, 1, 15, 1, 3, 2), (32, 16, 1, 1, 0, 1, 9, 1, 2, 2), (32, 48, 1, 2, 0, 1, 9, 1, 2, 2),
                (3, 64, 7, 2, 3, 1, 30, 1, 2, 2), (64, 64, 3, 1, 2, 2, 12, 2, 2, 2), (40, 24, 5, 1, 2, 1, 7, 1, 1, 2), (128, 32, 3, 1, 1, 1, 4, 1, 5, 2),
                (16, 16, 3, 1, 1, 1, 50, 1, 2, 1), (8, 16, 3, 1, 1, 1, 6, 1, 2, 3), (32, 32, 4, 4, 0, 1, 16, 1, 2, 2), (33, 17, 3, 1, 1, 1, 11, 1, 3, 2),
                (32, 32, 1, 1, 0, 1, 4, 2, 9, 2), (512, 64, 3, 1, 1, 1, 4, 1, 3, 2)]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolutions(case):
    """Sums in float, rounded once: result and gradients are as near to those of float64 as PyTorch's."""
    channels, out, kernel, stride, padding, dilation, size, groups, samples, dims = case
    torch.manual_seed(0)
    shapes = (samples, channels, *[size] * dims), (out, channels // groups, *[kernel] * dims), (out,)
    given = [torch.randn(shape).div(1 if i != 1 else (channels // groups * kernel**dims) ** 0.5).bfloat16() for i, shape in enumerate(shapes)]

    def run(module, tensors):
        tensors = [each.requires_grad_() for each in tensors]
        y = getattr(module.nn.functional, f"conv{dims}d")(*tensors, stride=stride, padding=padding, dilation=dilation, groups=groups)
        y.backward((module.arange(y.numel()).view(y.shape) % 7 - 2).to(y.dtype))
        return [each.detach().double().numpy() for each in (y, *(each.grad for each in tensors))]

    exact = run(torch, [each.double() for each in given])
    theirs = run(torch, [each.clone() for each in given])
    ours = run(kindling, [kindling.from_numpy(each.float().numpy()).bfloat16() for each in given])
    for x, y, z in zip(ours, theirs, exact, strict=True):
        error = abs(x - z).max()
        assert error <= 1.2 * abs(y - z).max() + 1e-12 and error <= abs(z).max() / 200


# Groups, channels, images, size, kernel, stride, padding, dilation: images side by side and in bands of rows, odd channels, few of them, strides that
# tiles take and do not take, kernels of more and of fewer than eight taps.
CONVOLUTIONS = [(1, 16, 16, 2, (9, 9), (3, 3), (1, 1), 1, 1), (1, 17, 33, 3, (8, 11), (3, 3), (1, 1), (1, 1), (2, 1)), (2, 32, 20, 5, (7, 7), (2, 4), (2, 2), (0, 3), 1),
                (1, 64, 100, 33, (4, 4), (3, 3), (1, 1), 1, 1), (1, 40, 64, 2, (5, 40), (1, 3), (1, 2), (0, 1), 1), (1, 24, 32, 2, (13, 12), (5, 5), (3, 3), 2, 1),
                (1, 64, 32, 1, (80, 61), (3, 3), (1, 1), 1, 1), (1, 32, 32, 1, (1, 1), (3, 3), (1, 1), 1, 1), (1, 96, 48, 2, (70, 57), (3, 3), (2, 2), 1, 1)]  # fmt: skip


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_convolutions_of_bfloat16(case):
    groups, channels, outputs, images, size, kernel, stride, padding, dilation = case
    kindling.manual_seed(2)
    x = kindling.randn(images, channels * groups, *size).bfloat16()
    weight = kindling.randn(outputs * groups, channels, *kernel).bfloat16()
    bias = kindling.randn(outputs * groups).bfloat16()
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    slopes = kindling.randn(kindling.nn.functional.conv2d(x, weight, **options).shape).bfloat16()
    results = []
    for dtype in (kindling.bfloat16, kindling.float64):
        inputs = [each.to(dtype).requires_grad_() for each in (x, weight, bias)]
        out = kindling.nn.functional.conv2d(*inputs, **options)
        results.append([out, *kindling.autograd.grad(out, inputs, slopes.to(dtype))])
    for got, want in zip(*results, strict=True):
        assert got.dtype == kindling.bfloat16 and got.shape == want.shape
        assert ((got - want).abs().max() / want.abs().max()).item() < 0.006
    with_holes = x.clone()
    with_holes[0, 0, 0, 0] = float("nan")  # which only the outputs above it see
    spoilt = kindling.nn.functional.conv2d(with_holes, weight, **options).isnan()
    mark = kindling.zeros(x.shape)
    mark[0, 0, 0, 0] = 1
    seen = kindling.nn.functional.conv2d(mark, kindling.ones(weight.shape), **options) != 0
    assert kindling.equal(spoilt, seen)
