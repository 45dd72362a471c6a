"""Row kernels, scans and strided copies against PyTorch; the same bits under every instruction set."""
import hashlib
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import kindling as k

pytestmark = pytest.mark.kernels

F, KF = torch.nn.functional, k.nn.functional


def given(t):
    """The tensor's numbers in kindling, with its strides."""
    if t.dtype == torch.bfloat16:
        return given(t.float()).bfloat16()
    base = k.from_numpy(t.detach().contiguous().numpy().copy())
    return k.empty_strided(tuple(t.shape), t.stride(), dtype=base.dtype).copy_(base)


def numbers(t):
    t = t.detach()
    return (t.double() if t.is_floating_point() else t).numpy()


def close(got, want, exact, factor=8, floor=3e-6):
    """As near to the double result as torch is, within a factor; torch's shape and strides."""
    assert tuple(got.shape) == tuple(want.shape)
    assert [s for s, n in zip(got.stride(), got.shape) if n > 1] == [s for s, n in zip(want.stride(), want.shape) if n > 1]
    error = np.abs(numbers(got) - numbers(exact)).max(initial=0)
    theirs = np.abs(numbers(want) - numbers(exact)).max(initial=0)
    assert error <= max(factor * theirs, 1e-11 if want.dtype == torch.float64 else floor)


SHAPES = [(1,), (3,), (5, 130), (3, 700), (2, 5000), (2000, 33), (4, 16, 7, 9), (2, 600, 40), (1, 40000, 6), (2, 70000)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_over_any_dimension_and_layout(shape, name):
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        plain = (torch.randn(shape) * 3).to(dtype)
        for x in [plain] + ([plain.transpose(0, -1)] if len(shape) > 1 else []):
            for dim in range(len(shape)):
                want, got = getattr(x, name)(dim), getattr(given(x), name)(dim)
                assert str(got.dtype) == str(want.dtype)
                close(got, want, getattr(x.double(), name)(dim), floor=4e-2 if dtype == torch.bfloat16 else 3e-6)


def test_softmax_of_infinities_and_nan():
    rows = [[float("-inf")] * 3, [float("inf"), 0.0, 1.0], [float("nan"), 0.0, 1.0], [float("-inf"), 0.0, 0.0]]
    for name in ("softmax", "log_softmax"):
        np.testing.assert_allclose(getattr(k.tensor(rows), name)(1).numpy(), getattr(torch.tensor(rows), name)(1).numpy())
    wide = torch.zeros(2, 3000)
    wide[1, 2777] = float("nan")
    assert np.isnan(given(wide).softmax(1).numpy()).sum() == 3000


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_gradients_of_softmax(name):
    for dim in range(3):
        x, g = torch.randn(5, 70, 11), torch.randn(5, 70, 11)
        mine = given(x).requires_grad_()
        getattr(mine, name)(dim).backward(given(g))
        theirs, exact = x.clone().requires_grad_(), x.double().requires_grad_()
        getattr(theirs, name)(dim).backward(g)
        getattr(exact, name)(dim).backward(g.double())
        close(mine.grad, theirs.grad, exact.grad)
    assert k.autograd.gradgradcheck(lambda a: getattr(a, name)(1), (k.randn(3, 4, dtype=k.float64, requires_grad=True),))


def norm(M, which):
    return {"layer": lambda: M.nn.LayerNorm((9, 20)), "plain": lambda: M.nn.LayerNorm(20, elementwise_affine=False),
            "batch": lambda: M.nn.BatchNorm2d(8), "channels last": lambda: M.nn.BatchNorm2d(8),
            "group": lambda: M.nn.GroupNorm(4, 8), "root": lambda: M.nn.RMSNorm((9, 20)), "no bias": lambda: M.nn.LayerNorm((9, 20), bias=False),
            "batch of rows": lambda: M.nn.BatchNorm1d(180)}[which]()


@pytest.mark.parametrize("which", ["layer", "plain", "batch", "channels last", "group", "root", "no bias", "batch of rows"])
def test_norms_and_their_gradients(which):
    x, g = torch.randn(6, 8, 9, 20) * 2 + 50, torch.randn(6, 8, 9, 20)
    if which == "batch of rows":
        x, g = (each.view(48, 180) for each in (x, g))
    if which == "channels last":
        x = x.to(memory_format=torch.channels_last)

    def all_of(M, x, g, dtype):
        x, module = x.detach().requires_grad_(), norm(M, which).to(dtype)
        for p in module.parameters():
            with M.no_grad():
                p.copy_(M.linspace(0.5, 1.5, p.numel(), dtype=dtype).view(p.shape))
        y = module(x)
        y.backward(g)
        return [y, x.grad] + [p.grad for p in module.parameters()] + list(module.buffers())[:2]

    mine = all_of(k, given(x), given(g), k.float32)
    theirs, exact = all_of(torch, x, g, torch.float32), all_of(torch, x.double(), g.double(), torch.float64)
    for got, want, true in zip(mine, theirs, exact):
        close(got, want, true, floor=1e-4)


def test_root_mean_square_norm_in_parts_and_twice_differentiated():
    x, w = (k.randn(*shape, dtype=k.float64, requires_grad=True) for shape in ((2, 3, 4), (3, 4)))
    assert k.autograd.gradcheck(lambda a, b: k.rms_norm(a, [3, 4], b), (x, w))
    assert k.autograd.gradgradcheck(lambda a, b: k.rms_norm(a, [3, 4], b, 0.1), (x, w))
    assert k.autograd.gradgradcheck(lambda a: k.rms_norm(a, [4]), (x,))
    given_x, given_w = torch.from_numpy(x.detach().numpy()), torch.from_numpy(w.detach().numpy())
    for got, want in zip(k.ops.aten._fused_rms_norm(x, [3, 4], w, 1e-3), torch.ops.aten._fused_rms_norm(given_x, [3, 4], given_w, 1e-3)):
        np.testing.assert_allclose(got.detach().numpy(), want.numpy(), rtol=1e-12)
        assert got.shape == tuple(want.shape)
    with pytest.raises(NotImplementedError, match="rms_norm.* not implemented for 'Long'"):
        k.ops.aten._fused_rms_norm(k.ones(2, 3, dtype=k.int64), [3], None, None)


@pytest.mark.parametrize("which", ["layer", "batch", "channels last", "root"])
@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_norms_in_half_types(which, training):
    x, g = torch.randn(6, 8, 9, 20) * 2 + 1, torch.randn(6, 8, 9, 20)
    answers = []
    for M, dtype in ((k, k.bfloat16), (torch, torch.float32)):
        module = norm(M, which).to(dtype).train(training)
        mine = (given(x.bfloat16()) if M is k else x.bfloat16().float()).clone().requires_grad_()
        module(mine).backward(given(g.bfloat16()) if M is k else g.bfloat16().float())
        answers.append([mine.grad, *(p.grad for p in module.parameters())])
        if M is k:
            assert all(grad.dtype == dtype for grad in answers[-1])
    for got, want in zip(*answers):
        np.testing.assert_allclose(got.float().numpy(), want.numpy(), rtol=1.6e-2, atol=1e-2 * float(want.abs().max()))


@pytest.mark.parametrize("shape", [(2, 3, 5, 7, 8), (2, 2, 64, 64, 32), (2, 2, 100, 300, 16), (2, 2, 70, 600, 33)], ids=str)
@pytest.mark.parametrize("mode", ["plain", "causal", "flags", "numbers", "row"])
def test_attention_and_its_gradients(shape, mode):
    batch, heads, rows, keys, depth = shape
    q, key, v = (torch.randn(batch, heads, n, depth) for n in (rows, keys, keys))
    options = {}
    if mode == "causal":
        options = {"is_causal": True}
    if mode == "flags":
        options = {"attn_mask": torch.rand(rows, keys) > 0.3}
        options["attn_mask"][0] = False              # nothing to attend to
    if mode == "numbers":
        options = {"attn_mask": torch.randn(batch, 1, rows, keys), "scale": 0.3}
    if mode == "row":
        options = {"attn_mask": torch.randn(keys, rows).t()}
    g = torch.randn(batch, heads, rows, depth)

    def all_of(functional, tensors, options, g):
        tensors = [t.requires_grad_() for t in tensors]
        y = functional.scaled_dot_product_attention(*tensors, **options)
        y.backward(g)
        return [y] + [t.grad for t in tensors]

    def each(change):
        return {n: change(x) if isinstance(x, torch.Tensor) else x for n, x in options.items()}

    mine = all_of(KF, [given(t) for t in (q, key, v)], each(given), given(g))
    theirs = all_of(F, [t.clone() for t in (q, key, v)], options, g)
    exact = all_of(F, [t.double() for t in (q, key, v)], each(lambda t: t if t.dtype == torch.bool else t.double()), g.double())
    for got, want, true in zip(mine, theirs, exact):
        close(got, want, true, floor=1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 5, 7, 8), (1, 2, 64, 64, 32), (2, 2, 100, 300, 16), (1, 2, 70, 600, 33), (2, 1, 1, 40, 64)], ids=str)
@pytest.mark.parametrize("mode", ["plain", "causal", "flags", "turned"])
def test_attention_in_bfloat16(shape, mode):
    """Weights are rounded for their products where the processor has tiles: no further from the truth than torch's are."""
    batch, heads, rows, keys, depth = shape
    tensors = [torch.randn(batch, n, heads, depth).bfloat16() if mode == "turned" else torch.randn(batch, heads, n, depth).bfloat16() for n in (rows, keys, keys, rows)]
    options = {"is_causal": True} if mode == "causal" else {}
    if mode == "flags":
        options["attn_mask"] = torch.rand(rows, keys) > 0.3
        options["attn_mask"][:, 0] = True

    def all_of(M, functional, tensors):
        q, key, v = leaves = [t.clone().requires_grad_() for t in tensors[:3]]
        g = tensors[3]
        if mode == "turned":
            q, key, v, g = (t.transpose(1, 2) for t in (q, key, v, g))
        y = functional.scaled_dot_product_attention(q, key, v, **{n: given(x) if M is k and isinstance(x, torch.Tensor) else x for n, x in options.items()})
        y.backward(g)
        assert y.dtype == q.dtype
        return [np.array(t.double().detach().numpy()) for t in [y] + [t.grad for t in leaves]]

    exact = all_of(torch, F, [t.double() for t in tensors])
    theirs = all_of(torch, F, tensors)
    mine = all_of(k, KF, [given(t.float()).bfloat16() for t in tensors])
    for got, want, true in zip(mine, theirs, exact):
        scale = np.abs(true).max()
        assert np.abs(got - true).max() <= 2 * np.abs(want - true).max() + 4e-3 * scale


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("keys", [1, 15, 16, 17, 40, 270, 300])
def test_attention_to_what_is_no_number(keys, dtype):
    """A row that sees nothing gives 0, one NaN makes its row NaN, also where it stands among what is not seen, and an infinity does."""
    nan, inf = float("nan"), float("inf")
    q, key, v = (torch.randn(1, 1, n, 8, dtype=getattr(torch, dtype)) for n in (6, keys, keys))
    mask = torch.zeros(6, keys, dtype=q.dtype)
    mask[0] = nan
    mask[1], mask[1, keys // 2] = -inf, nan
    mask[2] = -inf
    mask[3, keys - 1] = nan
    mask[4, 0] = inf
    want = F.scaled_dot_product_attention(q, key, v, attn_mask=mask).numpy()
    got = KF.scaled_dot_product_attention(*map(given, (q, key, v)), attn_mask=given(mask)).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_attention_twice_differentiated():
    tensors = [k.randn(2, 2, n, 4, dtype=k.float64, requires_grad=True) for n in (6, 5, 5)]
    assert k.autograd.gradgradcheck(lambda *t: KF.scaled_dot_product_attention(*t, is_causal=True), tuple(tensors))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(4, 3), (64, 10), (33, 500), (5, 8192), (1, 1)], ids=str)
def test_cross_entropy_and_its_gradient(shape, reduction):
    x, target = torch.randn(shape) * 5 + 50, torch.randint(0, shape[1], (shape[0],))
    if shape[0] > 3:
        target[1] = -100

    def both(M, x, target):
        x = x.requires_grad_()
        y = M.nn.functional.cross_entropy(x, target, reduction=reduction)
        y.backward(M.ones_like(y) * 0.7)
        return y, x.grad

    mine, theirs = both(k, given(x), given(target)), both(torch, x.clone(), target)
    for got, want, true in zip(mine, theirs, both(torch, x.double(), target)):
        close(got, want, true, floor=1e-5)


def test_cross_entropy_refuses_targets_out_of_range():
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        KF.cross_entropy(k.zeros(2, 3), k.tensor([0, 5]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8", "bfloat16", "complex64"])
def test_scans(dtype):
    for shape in [(1,), (5000,), (3, 4), (100, 130), (5, 70, 33), (1, 30000), (9000, 2)]:
        x = (torch.randn(shape) * 2).to(getattr(torch, dtype)) if dtype != "uint8" else torch.randint(0, 9, shape, dtype=torch.uint8)
        for each in [x] + ([x.transpose(0, -1)] if len(shape) > 1 else []):
            for dim in range(len(shape)):
                want, got = each.cumsum(dim), given(each).cumsum(dim)
                rough = 0.5 if dtype == "bfloat16" else 1e-2
                assert got.stride() == want.stride()
                np.testing.assert_allclose(numbers(got), numbers(want), rtol=2e-2 if rough > 0.1 else 1e-4, atol=rough)
                if dtype != "complex64":
                    want, got = each.cummax(dim), given(each).cummax(dim)
                    np.testing.assert_array_equal(got[1].numpy(), want[1].numpy())
                    np.testing.assert_array_equal(numbers(got[0]), numbers(want[0]))


WAYS = {
    "contiguous": lambda t: t.contiguous(), "transposed": lambda t: t.transpose(-1, -2).contiguous(),
    "turned": lambda t: t.transpose(0, -1).clone(), "flip": lambda t: t.flip(-1), "flip all": lambda t: t.flip(0, -1),
    "roll": lambda t: t.roll(2, -1), "tril": lambda t: t.tril(1), "triu": lambda t: t.triu(-3),
    "nothing": lambda t: t.tril(-1000), "everything": lambda t: t.triu(-(2**62)),
    "one number a row": lambda t: t * t[..., :1], "across": lambda t: t.transpose(-1, -2) + t.transpose(-1, -2).contiguous(),
}


@pytest.mark.parametrize("way", WAYS)
def test_copies_of_strided_tensors(way):
    for shape in [(3, 5), (17, 33), (70, 65), (300, 520), (2, 40, 50), (3, 100, 290), (4, 3, 64, 70)]:
        for dtype in (torch.float32, torch.float64, torch.uint8, torch.int16, torch.complex128):
            plain = torch.randint(0, 10, shape).to(dtype)
            for x in (plain, plain.transpose(-1, -2), plain[..., ::2], plain.transpose(0, -1)):
                want, got = WAYS[way](x), WAYS[way](given(x))
                np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_powers_of_floats():
    x = np.concatenate([np.float32(10) ** np.linspace(-38, 38, 2001).astype(np.float32),
                        np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 1e-42], np.float32)])
    y = np.array([0, -0.0, 1.7, -1.7, 0.3, 3, 5, -5, 7.5, 100, -100, 0.01, np.inf, -np.inf, np.nan, 1e30, -1e30], np.float32)
    x, y = (each.copy() for each in np.meshgrid(x, y))
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
        rounded = exact.astype(np.float32)
        got = (k.from_numpy(x) ** k.from_numpy(y)).numpy()
        near = np.abs(got - exact) <= 0.81 * np.spacing(np.abs(rounded))  # subnormal ones are rounded twice
    assert ((got == rounded) | (np.isnan(got) & np.isnan(rounded)) | near).all()


BITS = """
import hashlib, kindling as k
k.manual_seed(0)
F, digest = k.nn.functional, hashlib.sha256()
SPECIAL = k.lgamma, k.digamma, k.special.i0, k.special.i0e, k.special.i1, k.special.i1e
for dtype in (k.float32, k.float64, k.bfloat16):
    for shape in ((7, 5), (40, 300), (3, 9000), (2, 33, 65)):
        x = k.randn(shape).to(dtype)
        for y in (x, x.transpose(0, -1)):
            for z in (y.softmax(-1), y.log_softmax(0), F.layer_norm(y, y.shape[-1:]), y.cumsum(-1), y.cumprod(0), y.t() if y.dim() == 2 else y,
                      (y > 0).cumsum(-1), y.half().cumsum(0), y.flip(-1), y.abs() ** 1.7, F.gelu(y), y.exp(), y.sum(-1), y.amax(0), y.var(-1), y.logsumexp(-1),
                      *(f(y * 9) for f in SPECIAL), y.sigmoid().erfinv(), k.polygamma(2, y),
                      k.special.ndtri(y.float().sigmoid()), k.special.zeta(y.double().abs() + 1.5, y.double().exp())):
                digest.update(z.double().contiguous().numpy().tobytes())
print(digest.hexdigest())
"""


def test_every_instruction_set_and_thread_count_gives_the_same_bits(tmp_path):
    seen, home = set(), os.path.dirname(os.path.dirname(os.path.abspath(k.__file__)))
    for isa in ("baseline", "avx2", "avx512"):
        for threads, native in (("1", "1"), ("3", "0")):  # machine code at once, or none
            environment = dict(os.environ, KINDLING_ISA=isa, OMP_NUM_THREADS=threads, KINDLING_NATIVE=native, PYTHONPATH=home)
            seen.add(subprocess.run([sys.executable, "-c", BITS], env=environment, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    assert len(seen) == 1 and len(seen.pop().strip()) == hashlib.sha256().digest_size * 2


@pytest.mark.parametrize("size", [(600, 513), (3, 300001)], ids=str)
def test_kernels_go_through_memory_in_both_directions(size):
    # Every other one of these sizes goes backwards: each is asked twice.
    torch.manual_seed(0)
    x, y = torch.randn(size), torch.randn(size)
    row, column = torch.randn(size[1]), torch.randn(size[0], 1)
    cases = [lambda m, x, y, row, column: x * 0.5, lambda m, x, y, row, column: x + y, lambda m, x, y, row, column: x * row,
             lambda m, x, y, row, column: x * column, lambda m, x, y, row, column: x.clone(), lambda m, x, y, row, column: x > y,
             lambda m, x, y, row, column: x.clone().mul_(2), lambda m, x, y, row, column: m.where(x > 0, x, y),
             lambda m, x, y, row, column: m.nn.functional.hardswish(x), lambda m, x, y, row, column: x.amax(1),
             lambda m, x, y, row, column: x.double(), lambda m, x, y, row, column: x[:, ::2] - y[:, ::2]]
    theirs, ours = (x, y, row, column), tuple(map(given, (x, y, row, column)))
    for case in cases:
        want = case(torch, *theirs)
        for _ in range(2):
            np.testing.assert_allclose(numbers(case(k, *ours)), numbers(want), rtol=1e-6, atol=1e-6)
    for sums in (lambda x: x.sum(1), lambda x: x.sum()):
        first, second = sums(ours[0]), sums(ours[0])
        assert k.equal(first, second)  # in the same order
        np.testing.assert_allclose(numbers(first), numbers(sums(x.double())), rtol=1e-4, atol=1e-2)


NATIVE_BITS = """
import hashlib, kindling as k
k.manual_seed(0)
F, digest = k.nn.functional, hashlib.sha256()
for dtype in (k.float32, k.float64, k.bfloat16):
    for rows, n in ((1, 1024), (50, 9), (33, 49), (37, 16), (41, 100), (19, 255), (7, 256), (3, 1000), (9, 1024), (2, 4096), (3, 4100)):
        x = (k.randn(2, rows, n + 3) * 3).to(dtype)
        for y in (x[0, :, :n], x[:, ::2, 1:n + 1], x[:, :1, :n].expand(2, rows, n)):
            t = k.arange(y[..., 0].numel()) % n
            for z in (y.softmax(-1), y.log_softmax(-1), F.layer_norm(y, (n,), x[0, 0, :n], x[0, 0, 3:]), F.rms_norm(y, (n,)),
                      F.cross_entropy(y.reshape(-1, n), t, reduction="none"),
                      # numbers that hold for a row, short rows
                      (y - y[..., 2:3]) * y[..., 5:6] + y, y * y[..., 1:2], y.clone().sub_(y[..., :1]), k.where(y > y[..., 3:4], y[..., :1], y),
                      (y * 2 + y[..., :1, :]).abs(), y.double() * y[..., 4:5].float()):
                digest.update(z.double().contiguous().numpy().tobytes())
print(digest.hexdigest())
"""


def test_rows_in_machine_code_have_the_same_bits_and_ask_for_memory_ahead(tmp_path):
    home, trace = os.path.dirname(os.path.dirname(os.path.abspath(k.__file__))), tmp_path / "kernels"
    seen = set()
    for mode in ("0", "1"):
        environment = dict(os.environ, KINDLING_NATIVE=mode, KINDLING_TRACE_KERNELS=str(trace), PYTHONPATH=home)
        seen.add(subprocess.run([sys.executable, "-c", NATIVE_BITS], env=environment, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    assert len(seen) == 1 and len(seen.pop().strip()) == hashlib.sha256().digest_size * 2
    if trace.exists():  # there is machine code for this processor
        text = trace.read_text()
        # The next row as this one's last level runs, and memory to be written as the level before runs.
        fetching = [kernel for kernel in text.split("kernel\n") if "prefetch" in kernel]
        assert any("prefetcht0" in kernel and "store" in kernel for kernel in fetching)
        assert any("prefetchw" in kernel and "fold" in kernel for kernel in fetching)


STRIDED_BITS = """
import hashlib, kindling as k
k.manual_seed(0)
digest = hashlib.sha256()
@k.compile
def stencils(x, y, w):
    a, b = x[:, :-2], x[:, 2:]
    y[:, 1:-1] = (a + b) * 0.5 - x[:, 1:-1]
    return a * b + y[:, :-2], (a - y[:, 2:]).abs() * w[1:-1], k.exp(a * 0.01) + x[:, 1:2], (b > a).to(k.uint8) + 1
for dtype in (k.float32, k.float64, k.bfloat16, k.int32):
    # The last does not fit into the last cache of most machines.
    for rows, n in ((8, 257), (30, 300), (9, 1026), (11, 2500), (8, 17000), (9, 70000), (5000, 1002)):
        if rows * n > 1000000 and dtype is not k.float32:
            continue
        x = (k.randn(rows, n + 3) * 30).to(dtype)[:, 1:-2]
        y, w = x.flip(1), x[0]
        for z in (*stencils(x, y, w), y):
            digest.update(z.contiguous().view(k.uint8).numpy().tobytes())
print(digest.hexdigest())
"""


@pytest.mark.parametrize("isa", ["avx512", "avx2"])
def test_long_rows_that_lie_apart_have_the_same_bits_in_machine_code(tmp_path, isa):
    home = os.path.dirname(os.path.dirname(os.path.abspath(k.__file__)))
    seen = set()
    for mode in ("0", "1"):
        environment = dict(os.environ, KINDLING_NATIVE=mode, KINDLING_ISA=isa, PYTHONPATH=home)
        seen.add(subprocess.run([sys.executable, "-c", STRIDED_BITS], env=environment, cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    assert len(seen) == 1 and len(seen.pop().strip()) == hashlib.sha256().digest_size * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_norms_with_and_without_gradients_agree(dtype):
    # Without a gradient to prepare they are one kernel that makes nothing else.
    x, w = (torch.randn(6, 100) * 0.1).to(dtype), torch.randn(100).to(dtype)
    ours = given(x.float()).to(getattr(k, str(dtype).split(".")[1]))
    scale = given(w.float()).to(ours.dtype)
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if dtype in (torch.bfloat16, torch.float16) else {"rtol": 1e-4, "atol": 1e-5}
    for name, arguments in [("layer_norm", (scale, scale)), ("layer_norm", ()), ("rms_norm", (scale,)), ("rms_norm", ())]:
        want = getattr(F, name)(x, (100,), *[w for _ in arguments])
        plain = getattr(KF, name)(ours, (100,), *arguments)
        recorded = getattr(KF, name)(ours.clone().requires_grad_(), (100,), *arguments)
        assert plain.grad_fn is None and recorded.grad_fn is not None and plain.dtype == recorded.dtype
        np.testing.assert_allclose(plain.double().numpy(), want.double().numpy(), **tolerance)
        np.testing.assert_allclose(recorded.detach().double().numpy(), want.double().numpy(), **tolerance)


@pytest.mark.parametrize("shape", [(4, 4), (3,), (), (300, 256), (5, 7, 1000), (0, 3), (3, 0), (2, 20000)], ids=str)
def test_logsumexp_over_rows_and_columns(shape):
    x = torch.randn(shape) * 4
    if x.numel() > 10:
        x.view(-1)[3] = float("-inf")
        x[0] = float("-inf")
        x.view(-1)[-2] = float("inf")
    for dim in [*range(len(shape)), -1, *([(0, 1)] if len(shape) > 1 else [])]:
        for keepdim in (False, True):
            want, got = torch.logsumexp(x, dim, keepdim), k.logsumexp(given(x), dim, keepdim)
            assert tuple(got.shape) == tuple(want.shape)
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["sum", "amax", "var", "prod", "argmax", "norm"])
@pytest.mark.parametrize("shape", [(5, 6, 7), (140, 3, 130), (3, 70, 300), (2, 600, 230)], ids=str)
def test_folds_of_turned_tensors(name, shape):
    """PyTorch's strides, whatever the input's; long rows across memory are copied first where they are gone over twice."""
    base = torch.randn(*shape)
    for order in itertools.permutations(range(3)):
        for dim in (0, 1, 2):
            for keepdim in (False, True):
                want, got = (getattr(x, name)(dim=dim, keepdim=keepdim) for x in (base.permute(order), given(base).permute(order)))
                assert got.stride() == want.stride()
                np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=3e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(256, 256), (512, 300), (512, 768), (3, 1024, 130), (2, 256, 5, 128), (257, 700)], ids=str)
@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16"])
def test_sums_of_turned_tensors_have_the_bits_of_a_copy(shape, name):
    x = k.randn(shape).to(getattr(k, name))
    x[x.abs() < 0.01] = -0.0
    for order in itertools.permutations(range(len(shape))):
        turned = x.permute(order)
        copy = turned.contiguous()
        for way in (lambda t: t.sum(), lambda t: t.norm(), lambda t: k.linalg.vector_norm(t, 2, (-1, -2)), lambda t: t.sum((-2, -1)),
                    lambda t: KF.mse_loss(t, t * 2), lambda t: KF.mse_loss(t, k.ones(()))):
            for _ in range(2):
                assert k.equal(way(turned), way(copy))


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool"])
def test_both_extremes_are_those_of_each_alone(name):
    for shape in [(), (1,), (7,), (3, 0), (5, 300), (300, 5), (4, 70, 33), (3, 70000)]:
        x = (k.randn(shape) * 9).to(getattr(k, name))
        if x.is_floating_point() and x.dim() and x.shape[0] > 1 and x.numel():
            x[1] = k.where(k.rand(x[1].shape) < 0.1, float("nan"), 1.0)
        for each in [x] + ([x.transpose(0, -1), x.flip(0)] if x.dim() > 1 else []):
            for dim in [None, *range(-each.dim(), each.dim())]:
                if each.numel() == 0 and (dim is None or each.shape[dim] == 0):
                    with pytest.raises((RuntimeError, IndexError)):
                        each.aminmax(dim=dim)
                    continue
                for keepdim in (False, True):
                    low, high = each.aminmax(dim=dim, keepdim=keepdim)
                    dims = () if dim is None else dim
                    for got, want in ((low, each.amin(dims, keepdim)), (high, each.amax(dims, keepdim))):
                        assert got.shape == want.shape and got.dtype == want.dtype and got.stride() == want.stride()
                        assert k.equal(got.isnan(), want.isnan()) and k.equal(k.where(got.isnan(), 0, got), k.where(want.isnan(), 0, want))


@pytest.mark.parametrize("left, right", [((32, 32), (32, 32)), ((4, 4), (100, 100)), ((100, 40), (3, 4)), ((2, 2), (90, 90)), ((3, 2, 20), (7, 30)),
                                         ((70,), (8, 60)), ((64, 64), (1, 5)), ((64, 1), (64, 5)), ((0, 4), (900, 90)), ((80,), (80,))])
@pytest.mark.parametrize("name", ["float32", "int64", "complex64", "bool"])
def test_kronecker_products(left, right, name):
    x, y = (np.round(np.random.default_rng(0).normal(size=shape) * 3).astype(name) for shape in (left, right))
    for a, b in ((x, y), (x.T, y.T)):
        got = k.kron(k.from_numpy(a.copy()).t() if a.ndim == 2 else k.from_numpy(a.copy()), k.from_numpy(b.copy()))
        np.testing.assert_array_equal(got.numpy(), np.kron(a.T if a.ndim == 2 else a, b))
        assert got.is_contiguous() and not got._is_view()


def test_gradients_of_a_large_kronecker_product():
    a, b = k.randn(20, 10).requires_grad_(), k.randn(12, 9).requires_grad_()
    w = k.randn(240, 90)
    got = k.autograd.grad((k.kron(a, b) * w).sum(), (a, b))
    parts = w.reshape(20, 12, 10, 9)
    assert k.allclose(got[0], (parts * b[:, None]).sum((1, 3)), atol=1e-4) and k.allclose(got[1], (parts * a[:, None, :, None]).sum((0, 2)), atol=1e-4)


@pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, float("inf")])
def test_distances_of_all_pairs_have_the_bits_of_each_alone(p):
    for n, length in [(1, 3), (2, 1), (2, 8), (3, 0), (16, 5), (17, 1), (18, 16), (33, 40), (50, 300), (70, 64), (3, 5000), (2, 16_385), (0, 3)]:
        for dtype in (k.float32, k.float64):
            x = k.randn(n, length, dtype=dtype)
            if n > 16:
                x[3], x[5, 0], x[6] = float("nan"), float("inf"), x[7]
            for each in (x, x.t().contiguous().t()):
                got = KF.pdist(each, p)
                followed = KF.pdist(each.clone().requires_grad_(), p)  # differences, and their norms
                assert got.shape == (n * (n - 1) // 2 if n else 0,) and got.dtype == dtype
                assert k.equal(got.isnan(), followed.isnan()) and k.equal(got.nan_to_num(0.5), followed.nan_to_num(0.5))


@pytest.mark.parametrize("shape", [(7, 9, 5), (6, 40, 33), (5, 100, 170), (3, 700, 600), (40, 300, 17)], ids=str)
@pytest.mark.parametrize("name", ["float32", "float64", "int32", "bfloat16"])
def test_folds_between_other_dimensions_have_the_bits_of_each_alone(shape, name):
    x = (k.randn(shape) * 9).to(getattr(k, name))
    for way in (lambda x, d: x.sum(d), lambda x, d: x.amax(d), lambda x, d: (x * 3).sum(d)):
        for _ in range(3):
            together = way(x, 1)
            for one, part in zip(x.unbind(0), together.unbind(0)):
                assert (way(one.clone(), 0) == part).all()
    both = x.unsqueeze(0).expand(2, *shape).clone()
    assert (both.sum(2)[1] == x.sum(1)).all() and (both.transpose(0, 1).sum(2) == both.sum(2).transpose(0, 1)).all()


@pytest.mark.parametrize("rows, columns", [(33, 192), (256, 513), (300, 768), (1025, 600), (100, 5001), (128, 20_001), (2000, 200)])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_a_fold_does_not_depend_on_how_its_numbers_lie(rows, columns, name):
    """Columns have the bits of the same numbers in rows: by tiles, and by machine code once that is worth it."""
    k.manual_seed(rows)
    x, y, m = (k.randn(rows, n, dtype=getattr(k, name)) for n in (columns, columns, 1))
    turned = [each.t().contiguous() for each in (x, y, m)]
    for way in (lambda x, y, m: [x.sum(-2)], lambda x, y, m: [x.amax(-2)], lambda x, y, m: [x.norm(dim=-2)],
                lambda x, y, m: k.ops.aten._normalized_parameters_backward(x, y, m, m, [0])):
        want = way(*(each.t() for each in turned))
        for _ in range(4):
            for got, expected in zip(way(x, y, m), want):
                assert (got.flatten() == expected.flatten()).all()


@pytest.mark.parametrize("name", ["argmax", "argmin", "max", "min"])
def test_places_of_extremes_in_columns(name):
    torch.manual_seed(3)
    for dtype in (torch.float32, torch.float64, torch.int64, torch.uint8):
        x = torch.randint(0, 6, (300, 1030)).to(dtype)
        if dtype.is_floating_point:
            x[torch.rand(x.shape) < 1e-3] = float("nan")
            x[torch.rand(x.shape) < 0.1] = -0.0
        for t in (x, x[:, ::3], x.view(30, 10, 1030)):
            want, got = getattr(t, name)(0), getattr(given(t), name)(0)
            pairs = [(want, got)] if name.startswith("arg") else list(zip(want, got))
            for theirs, mine in pairs:
                np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


@pytest.mark.parametrize("rows, length", [(8, 3), (16, 16), (40, 16), (300, 17), (9, 255), (64, 300), (100, 513), (16, 20000), (3, 33)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_rows_across_memory_have_the_same_bits(rows, length, dtype):
    """Rows side by side, as they lie in memory, against the same rows one after the other; outputs of either kind too."""
    torch.manual_seed(length)
    lying = given(torch.randn(3, rows, length, dtype=dtype) * 4)
    across = lying.transpose(1, 2).contiguous()
    for function in (lambda x, d: x.softmax(d), lambda x, d: x.log_softmax(d), lambda x, d: x.logsumexp(d, keepdim=True),
                     lambda x, d: (x - x.mean(d, keepdim=True)).softmax(d)):
        want, got = function(lying, 2), function(across, 1).transpose(1, 2)
        assert k.equal(want, got)
    out = k.empty_like(lying).transpose(1, 2)
    k.softmax(across, 1, out=out)
    assert k.equal(out.transpose(1, 2), lying.softmax(2))
    grad = given(torch.randn(3, rows, length, dtype=dtype))
    kept = lying.softmax(2)
    want = k._softmax_backward_data(grad, kept, 2, kept.dtype)
    got = k._softmax_backward_data(grad.transpose(1, 2).contiguous(), kept.transpose(1, 2).contiguous(), 1, kept.dtype)
    assert k.equal(want, got.transpose(1, 2))


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (20, 33, 24), (64, 64, 64), (17, 200, 90), (100, 1030, 70), (5, 0, 6), (0, 4, 3)], ids=str)
@pytest.mark.parametrize("first", ["int8", "uint8"])
def test_products_of_bytes(shape, first):
    m, n, inner = shape[0], shape[2], shape[1]
    info = np.iinfo(first)
    draw = np.random.default_rng(1)
    a = draw.integers(info.min, info.max, (m, inner), first, endpoint=True)
    b = draw.integers(-128, 127, (inner, n), "int8", endpoint=True)
    want = a.astype(np.int32) @ b.astype(np.int32)
    for left in (k.from_numpy(a), k.from_numpy(a.T.copy()).t()):
        for right in (k.from_numpy(b), k.from_numpy(b.T.copy()).t()):
            got = k._int_mm(left, right)
            assert got.dtype == k.int32 and got.is_contiguous() and np.array_equal(got.numpy(), want)
    assert np.array_equal(torch._int_mm(torch.from_numpy(a), torch.from_numpy(b)).numpy(), want)


def test_rows_of_what_does_not_vary_along_them():
    """One number for all elements of a row, as expanded tensors and gradients of sums have; every row's result is written."""
    from both import same
    for shape in ("2, 3", "4, 3", "5, 2", "1, 3", "70, 90"):
        for x in (f"torch.full((), .5).double().expand({shape})", f"torch.arange({shape.split(', ')[1]}.).double().expand({shape})",
                  f"torch.arange({shape.split(', ')[0]}.).double()[:, None].expand({shape})"):
            same(f"x = {x}\n[[round(v, 6) for v in r.flatten().tolist()] for r in (x.logsumexp(0), x.logsumexp(1), x.logsumexp((0, 1)), x.var(0), x.std(1))]")
            same(f"x = {x}[None].expand(2, {shape})\nb = nn.BatchNorm1d(x.shape[1], dtype=torch.float64)\nb(x)\n[[round(v, 6) for v in r.tolist()] for r in b.buffers()]")
            same(f"x = {x}\n[r.shape for r in torch.native_layer_norm(x, x.shape[1:], None, None, 1e-5)], [round(v, 6) for v in torch.native_layer_norm(x, x.shape[1:], None, None, 1e-5)[1].flatten().tolist()]")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16", "complex64", "bfloat16"])
@pytest.mark.parametrize("columns", [128, 129, 255, 256, 257, 300, 1025])
def test_two_operands_of_every_second_element(dtype, columns):
    """They are gathered in turns."""
    k.manual_seed(columns)
    kind = getattr(k, dtype)
    a, b = ((k.randn(3, 2 * columns) * 100).to(kind) for _ in range(2))
    for x, y in ((a[:, ::2], b[:, ::2]), (b[:, ::2], a[:, ::2]), (a[:, ::2], a[:, 1::2]), (a[:, ::2], a[:, ::2]), (a[:, 1::2], b[:, ::2].clone())):
        assert k.equal(x + y, x.clone() + y.clone())
        assert k.equal(x * y, x.clone() * y.clone())


@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex128"])
@pytest.mark.parametrize("row", [1, 2, 3, 5, 7, 10, 16, 31, 33, 70, 129])
def test_short_rows_that_repeat(dtype, row):
    k.manual_seed(row)
    kind = getattr(k, dtype)
    a, b = (k.randn(5, row) * 50).to(kind), (k.randn(47, row) * 50).to(kind)
    assert k.equal(a[:, None] + b[None], k.stack([each + b for each in a]))
    assert k.equal(a[:, None].expand(5, 47, row).contiguous(), k.stack([each.repeat(47, 1) for each in a]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16", "uint8", "bool"])
@pytest.mark.parametrize("length", range(1, 41))
def test_no_byte_behind_a_partial_vector_is_written(dtype, length):
    kind = getattr(k, dtype)
    memory = k.ones(64, dtype=kind)
    out = memory[7:7 + length]
    a, b = (k.arange(2 * length).to(kind)[::2].clone() for _ in range(2))
    (k.logical_or if dtype == "bool" else k.add)(a, b, out=out)
    assert k.equal(out, a | b if dtype == "bool" else a + b) and memory[:7].all() and (memory[7 + length:] == 1).all()


@pytest.mark.parametrize("dtype", [k.float32, k.float64], ids=str)
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 257])
def test_reductions_down_few_rows_add_as_along_them(rows, dtype):
    """The order of a reduction follows from its length alone, so a column gives the bits that it gives as a row."""
    k.manual_seed(rows)
    for columns in (1, 15, 16, 17, 40, 1030):
        x = k.randn(rows, columns, dtype=dtype)
        x[0, 0] = -0.0
        x[rows // 2, columns // 2] = float("nan")
        for each in (x, x[:, : max(columns - 3, 1)], k.cat([x, x])[::2]):
            along = each.t().contiguous()
            for down, row in ((each.sum(0), along.sum(1)), (each.amax(0), along.amax(1)), (each.amin(0), along.amin(1))):
                assert down.view(k.uint8).tolist() == row.view(k.uint8).tolist()


@pytest.mark.parametrize("shape", [(1, 9), (7, 16), (8, 16), (9, 17), (17, 5), (20, 64), (11, 65), (8, 1024)], ids=str)
def test_cumulative_sums_of_lines_side_by_side(shape):
    """Lines are added up in order, in double, however many there are: as one by one."""
    k.manual_seed(3)
    x = k.randn(shape)
    x[0, 0] = -0.0
    for each in (x, k.cat([x, x], 1)[:, : shape[1]], k.cat([x, x])[::2]):
        alone = k.stack([line.double().cumsum(0).float() for line in each])
        assert each.cumsum(1).view(k.int32).tolist() == alone.view(k.int32).tolist()


def test_numbers_beyond_32_bits_become_short_integers_by_way_of_64():
    numbers = [0.0, -0.0, 127.9, 128, 255.5, 256, -129.5, 32768, 65536.5, 2.0**31 - 1, 2.0**31, -(2.0**31), -(2.0**31) - 300, 3000000001, 1e12 + 5]
    for n in range(1, 40):
        given_numbers = (numbers * 3)[:n]
        for dtype, bits in ((k.int8, 8), (k.uint8, 8), (k.int16, 16)):
            got = k.tensor(given_numbers, dtype=k.float64).to(dtype).tolist()
            low = [int(x) & ((1 << bits) - 1) for x in given_numbers]
            assert got == [x - (1 << bits) if dtype != k.uint8 and x >> (bits - 1) else x for x in low]


@pytest.mark.parametrize("source", ["float64", "float32", "int64", "int32", "int16", "uint8"])
def test_many_numbers_become_bytes_and_truth_as_each_alone(source):
    """They are packed 32 at a time; what does not fit into 32 bits, among them, by way of 64."""
    kind = getattr(k, source)
    odd = [0.0, -0.0, 0.25, 1.0, -1.0, 255.0, 256.0, 65536.0, 2.0**31, -(2.0**31) - 300] + ([float("nan")] if source[0] == "f" else [])
    for n in (31, 32, 33, 64, 95, 200):
        plain = k.arange(n) * 37 - 300
        for at in range(0, n, 7):
            x = plain.to(kind)
            x[at] = k.tensor(odd[at % len(odd)], dtype=k.float64).to(k.int64).to(kind) if source[0] != "f" else odd[at % len(odd)]
            for to in (k.bool, k.int8, k.uint8, k.int32):
                if to == k.bool or source[0] != "f" or not np.isnan(odd[at % len(odd)]):
                    assert x.to(to).tolist() == [each.to(to).item() for each in x.unbind()]
                    assert k.equal(k.stack([x, x], 1)[:, 0].to(to), x.to(to))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("shape", [(300, 256), (16, 512), (15, 512), (40, 1536), (33, 300), (100, 4097), (17, 20_000)], ids=str)
def test_reductions_of_all_of_a_transposed_matrix_have_the_bits_of_its_copy(shape, dtype):
    k.manual_seed(shape[1])
    x = (k.randn(3, shape[1], shape[0] + 3) * 9).to(getattr(k, dtype)).transpose(1, 2)
    for each in (x[0, : shape[0]], x[:, : shape[0]], x[0, 3:], x[0, : shape[0], 1:], x.flip(1)[0, 3:]):
        copy = each.contiguous()
        for way in (k.sum, k.amax, lambda x: (x * 3).sum(), lambda x: x.sum((-2, -1)), *([k.norm, k.var, k.mean] if dtype != "int32" else [])):
            for _ in range(3):
                assert way(each).tolist() == way(copy).tolist()


@pytest.mark.parametrize("places", [(95,), (97,), (8, 12), (30, 30), (3000,)], ids=str)
def test_what_does_not_vary_along_a_reduction_is_broadcast(places):
    """Numbers of a channel, of all its rows or of a part of them, give the bits that they give written out."""
    k.manual_seed(len(places))
    x, y = k.randn(6, 40, *places), k.randn(6, 40, *places)
    for shape in ((1, 40), (6, 40), (6, 1), (1, 1)):
        m, r = (k.randn(*shape, *[1] * len(places)) for _ in range(2))
        for dims in ([0] + list(range(2, x.dim())), list(range(2, x.dim())), list(range(x.dim()))):
            for _ in range(4):
                got = k.ops.aten._normalized_parameters_backward(x, y, m, r, dims)
                want = k.ops.aten._normalized_parameters_backward(x, y, m.expand_as(x).clone(), r.expand_as(x).clone(), dims)
                assert [each.tolist() for each in got] == [each.tolist() for each in want]
                assert k.equal(k.addcmul(x, m, r), k.addcmul(x, m.expand_as(x).clone(), r.expand_as(x).clone()))


def test_sorted_zeros_and_nan_keep_their_signs_and_bits():
    for dtype, bits in ((k.float32, k.int32), (k.float64, k.int64), (k.float16, k.int16), (k.bfloat16, k.int16)):
        sign = {k.int16: -(2**15), k.int32: -(2**31), k.int64: -(2**63)}[bits]
        nan = k.tensor(float("nan"), dtype=dtype).view(bits).item()
        for n in (5, 60, 100, 300, 2000):
            k.manual_seed(n)
            x = (k.randint(-3, 4, (n,)).to(dtype) / 2).view(bits)
            x[::5] = sign
            x[1::7] = k.arange(nan, nan + len(range(1, n, 7)) % 50).repeat(n)[: len(range(1, n, 7))].to(bits)
            x = x.view(dtype)
            for descending in (False, True):
                values, places = x.sort(descending=descending, stable=True)
                assert k.equal(values.view(bits), x.view(bits)[places])
                ranks = k.where(x.isnan(), k.full_like(x, float("inf")), x).double()[places]
                assert (ranks[1:] <= ranks[:-1] if descending else ranks[1:] >= ranks[:-1]).all()
                assert (places[1:] > places[:-1])[ranks[1:] == ranks[:-1]].all()
                out = x.clone(), k.empty(0, dtype=k.int64)
                k.sort(out[0], descending=descending, out=out)
                assert k.equal(out[0].view(bits), values.view(bits))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_sorted_integers_are_what_was_given(dtype):
    kind = getattr(k, dtype)
    for n in (3, 49, 81, 255, 257, 1000, 70_000):
        k.manual_seed(n)
        x = k.randint(-(2**62), 2**62, (n,)).to(kind)
        for descending in (False, True):
            values, places = x.sort(descending=descending, stable=True)
            want = sorted(range(n), key=x.tolist().__getitem__, reverse=False) if not descending else sorted(range(n), key=[-v for v in x.tolist()].__getitem__)
            assert places.tolist() == want and values.tolist() == [x.tolist()[i] for i in want] if n < 2000 else k.equal(values, x[places])


@pytest.mark.parametrize("length", [1, 3, 10, 16, 100, 512, 513])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_cumulative_sums_of_half_rows_are_those_of_floats_rounded(length, dtype):
    k.manual_seed(length)
    x = k.randn(70, length).to(getattr(k, dtype))
    x[0, 0] = -0.0
    for each in (x, x[:5], k.cat([x, x], 1)[:, :length], x[::2]):
        assert k.equal(each.cumsum(1).view(k.int16), each.double().cumsum(1).float().to(each.dtype).view(k.int16))


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes_of_one_line_and_of_many(name):
    for n in (1, 2, 100, 4095, 4097, 9000):
        torch.manual_seed(n)
        x = torch.randn(3, n).round(decimals=1)
        for some in (x, torch.where(torch.rand(3, n) < 3 / n, float("nan"), x), -x.abs().cumsum(1), (x * 9).int(), (x * 99).to(torch.uint8)):
            for line in (some[:1], some, some.t()):
                want, got = getattr(line, name)(line.shape.index(n)), getattr(given(line), name)(line.shape.index(n))
                np.testing.assert_array_equal(got[0].numpy(), want[0].numpy())
                np.testing.assert_array_equal(got[1].numpy(), want[1].numpy())


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16"])
def test_casts_to_short_integers_keep_the_lowest_bits(source, target):
    drawn = np.random.default_rng(0)
    for n, large in itertools.product((1, 15, 16, 33, 100, 5000), (0, 1, 3, 100)):
        x = (drawn.standard_normal(n) * 300).astype(source)
        x[drawn.integers(n, size=large)] = drawn.choice(np.array([3e9, -3e9, 1e15, -1e15, 2147483648.0, -2147483648.0, -0.0], dtype=source), large)
        assert (k.from_numpy(x).to(getattr(k, target)).numpy() == x.astype("int64").astype(target)).all()


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_running_extremes_of_every_dtype(name):
    dtype = getattr(torch, name)
    torch.manual_seed(0)
    for shape in ((7,), (600,), (30, 70), (200, 3), (3, 17, 70), (40, 600)):
        x = (torch.randn(shape) * 3).round()
        if dtype.is_floating_point:
            x[x.abs() == 3] = x.new_tensor([float("inf"), float("nan"), -float("inf")])[torch.arange(shape[-1]) % 3].expand(shape)[x.abs() == 3]
        else:
            x = x.abs()
        x = x.to(dtype)
        if not dtype.is_floating_point and dtype != torch.bool:
            x[..., ::11], x[..., 2] = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        for each in (x, x.transpose(0, -1)):
            for dim in range(x.dim()):
                for which in ("cummax", "cummin"):
                    known = each.long() if name in ("uint16", "uint32") else each  # torch has none of these
                    want, got = getattr(known, which)(dim), getattr(given(each), which)(dim)
                    values = [y.double().tolist() for y in (want[0], got[0])]
                    np.testing.assert_array_equal(*values)
                    np.testing.assert_array_equal(*map(np.signbit, np.nan_to_num(values)))
                    assert got[1].tolist() == want[1].tolist()


def test_running_extremes_of_what_is_computed_first():
    z = torch.randn(20, 30, dtype=torch.complex64)
    for dim in (0, 1):
        want, got = z.conj().imag.cummax(dim), k.complex(given(z.real), given(z.imag)).conj().imag.cummax(dim)
        assert got[0].tolist() == want[0].tolist() and got[1].tolist() == want[1].tolist()


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16"])
def test_running_logarithms_of_sums(name):
    """As torch's, also where a block's exponentials overflow, and the same whatever lines lie beside."""
    dtype, tolerance = getattr(torch, name), {"float32": 1e-6, "float64": 1e-13, "bfloat16": 1e-2}[name]
    inf, nan = float("inf"), float("nan")
    for n in (1, 50, 300, 1000):
        torch.manual_seed(n)
        x = torch.randn(21, n, dtype=torch.float64)
        x[1] *= 300
        x[2, 0], x[3], x[4, : n // 2], x[5, n // 2], x[6, n // 2], x[7, 0] = -inf, -inf, -inf, inf, nan, -2000
        x = x.to(dtype)
        for each in (x, x.t().contiguous().t(), x[:, ::2]):
            got = given(each).logcumsumexp(1)
            np.testing.assert_allclose(got.double().tolist(), each.logcumsumexp(1).double().tolist(), tolerance, tolerance)
            for line in range(21):
                alone = given(each[line].clone()).logcumsumexp(0)
                assert k.equal(alone.isnan(), got[line].isnan()) and k.equal(alone.nan_to_num(0.5), got[line].nan_to_num(0.5))
