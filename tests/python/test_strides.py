"""Operators over strided, broadcast, reversed and unaligned operands give the bits that they give over contiguous copies."""
import pytest

import kindling

DTYPES = [kindling.float32, kindling.float64, kindling.bfloat16, kindling.int64, kindling.uint8, kindling.complex64]
# Rows on both sides of every length at which kernels change their way.
WIDTHS = [1, 31, 32, 127, 128, 255, 256, 257, 1000]


def numbers(*size, dtype):
    values = kindling.arange(1, kindling.Size(size).numel() + 1).remainder(119).reshape(size)
    return values.to(dtype)


def layouts(width, dtype):
    """Pairs of operands of 5 x width, neither of them both contiguous."""
    base = numbers(7, 3 * width + 5, dtype=dtype)
    other = numbers(5, width, dtype=dtype)
    yield "every second", base[:5, :2 * width:2], base[1:6, 1:2 * width + 1:2]
    yield "every third", base[:5, :3 * width:3], other
    yield "cut rows", base[:5, 1:width + 1], base[2:7, 3:width + 3]
    yield "one row", other, base[0, 2:width + 2]
    yield "one column", base[:5, 4:5], other
    yield "a column and a row", base[:5, 4:5].expand(5, width), base[0, :width]
    yield "reversed", other.flip(1), base[:5, :width]
    yield "across", numbers(width, 5, dtype=dtype).t(), other
    yield "one number", base[3, 3], base[:5, :width]


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape
    assert kindling.equal(a, b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_two_operands(dtype):
    for width in WIDTHS:
        for _, a, b in layouts(width, dtype):
            a, b = kindling.broadcast_tensors(a, b)
            x, y = a.clone(memory_format=kindling.contiguous_format), b.clone(memory_format=kindling.contiguous_format)
            same(a + b, x + y)
            same(a * b, x * y)
            same(kindling.where(a == b, a, b), kindling.where(x == y, x, y))
            same(a.neg(), x.neg())
            same(a * 3, x * 3)
            same(a.to(kindling.complex128), x.to(kindling.complex128))
            out = kindling.zeros(5, 2 * width, dtype=dtype)[:, ::2]
            same(kindling.add(a, b, out=out), x + y)
            changed = kindling.zeros(5, width + 3, dtype=dtype)
            changed[:, 2:width + 2] += a
            same(changed[:, 2:width + 2], x)
            assert not changed[:, :2].any() and not changed[:, width + 2:].any()


def test_many_dimensions():
    a = numbers(3, 4, 5, 600, dtype=kindling.float32)
    b = numbers(4, 1, 600, dtype=kindling.float32)
    rows = [[[x + b[j, 0] for x in a[i, j]] for j in range(4)] for i in range(3)]
    same(a + b, kindling.stack([kindling.stack([kindling.stack(r) for r in p]) for p in rows]))
    same(a[::2, :, 1:4, ::2] * b[:, :, ::2], (a[::2, :, 1:4, ::2].contiguous() * b[:, :, ::2].contiguous()))


@pytest.mark.parametrize("dtype", [kindling.float32, kindling.float64, kindling.int16])
def test_short_rows_of_sparse_elements(dtype):
    """Rows shorter than a vector and longer ones; nothing behind the last element is written, and reading stops there."""
    rows = 129
    for width in [*range(1, 36), 64, 100]:
        for step in (2, 3, 4, 5):
            for first in (0, step - 1):
                base = numbers(first + (rows * width - 1) * step + 1, dtype=dtype)
                x = base.as_strided((rows, width), (width * step, step), first)
                flat = kindling.tensor(base.tolist()[first::step], dtype=dtype).reshape(rows, width)
                same(x.contiguous(), flat)
                same(x + x, flat + flat)
        target = kindling.zeros(rows, width, 4, dtype=dtype)
        target[..., 1] = x + 1
        same(target[..., 1], x + 1)
        assert not target[..., 0].any() and not target[..., 2:].any()


@pytest.mark.parametrize("size", [0, 1, 15, 63, 64, 65, 511, 512, 513, 1023, 4099, 70001])
def test_copies_of_any_offset(size):
    base = numbers(size + 200, dtype=kindling.uint8)
    for start in (0, 1, 12, 63, 64):
        for to in (0, 3, 32, 65):
            target = kindling.zeros(size + 200, dtype=kindling.uint8)
            target[to:to + size] = base[start:start + size]
            same(target[to:to + size], base[start:start + size].clone())
            assert not target[:to].any() and not target[to + size:].any()


def test_large_results():
    """Results that go to memory past the cache, whole lines and parts of them."""
    n = (33 << 20) // 4 + 13
    a, b = kindling.arange(n, dtype=kindling.float32), kindling.arange(n, 0, -1).float()
    for result, part in [(a + b, lambda x, y: x + y), (a * 2.0, lambda x, y: x * 2.0), (a.clone(), lambda x, y: x),
                         (a.double(), lambda x, y: x.double()), (kindling.addcmul(a, b, b), lambda x, y: kindling.addcmul(x, y, y)),
                         (kindling.lerp(a, b, 0.25), lambda x, y: kindling.lerp(x, y, 0.25))]:
        for start in range(0, n, 1 << 20):
            same(result[start:start + (1 << 20)], part(a[start:start + (1 << 20)], b[start:start + (1 << 20)]))
    wide, row = a[:8192 * 1055].view(1055, 8192), b[:8191]
    sums = wide[:, 1:] + row
    for i in range(0, 1055, 50):
        same(sums[i], wide[i, 1:].clone() + row)
    joined = kindling.cat([wide[:, :3000], wide[:, 1:5200], wide[:, 7000:]], 1)
    same(joined[:, :3000], wide[:, :3000])
    same(joined[:, 3000:8199], wide[:, 1:5200])
    same(joined[:, 8199:], wide[:, 7000:])
    parts = wide[:1024].reshape(32, 32, 256, 32)
    for order in ((2, 0, 3, 1), (0, 2, 1, 3), (3, 1, 2, 0), (2, 3, 0, 1)):
        turned = parts.permute(order).contiguous()
        for i in range(0, turned.shape[0], 7):
            same(turned[i, 3], parts.permute(order)[i, 3])
    columns, lower, upper, rolled = wide[:, :8000].t().contiguous(), wide.tril(5000), wide.triu(-70), wide.roll((5, -3), (1, 0))
    for i in range(0, 1055, 50):
        same(columns[:, i], wide[i, :8000])
        same(lower[i], wide[i] * (kindling.arange(8192) - i <= 5000))
        same(upper[i], wide[i] * (kindling.arange(8192) - i >= -70))
        same(rolled[i], kindling.cat([wide[(i + 3) % 1055, -5:], wide[(i + 3) % 1055, :-5]]))
    before = a[5].item()
    a += 1.0                    # in place: the same memory is read and written
    assert a[5].item() == before + 1 and a[n - 1].item() == n


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_roll(dtype):
    for width in WIDTHS:
        a = numbers(4, width, 3, dtype=dtype)
        for tensor in (a, a.transpose(0, 2), a[:, :, 1]):
            for dim in range(tensor.dim()):
                size = tensor.shape[dim]
                for shift in (0, 1, -1, size + 2, -3 * size + 1):
                    places = [(i - shift) % size for i in range(size)]
                    same(tensor.roll(shift, dim), tensor.index_select(dim, kindling.tensor(places)))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_fill_writes_each_element_and_no_other(dtype):
    module_dtype = getattr(kindling, dtype)
    for size in [*range(70), 4095, 70001]:
        for offset in (0, 1, 3):
            base = kindling.zeros(size + offset + 4, dtype=module_dtype)
            base[offset : offset + size].fill_(True if dtype == "bool" else 3)
            wanted = [0] * offset + [1 if dtype == "bool" else 3] * size + [0] * 4
            assert base.tolist() == wanted
    one = kindling.tensor(-7 if dtype[0] in "fic" else 1).to(module_dtype)
    assert (one.expand(5001).contiguous() == one).all() and (kindling.full((5, 1001), 2).to(module_dtype) == 2 - (dtype == "bool")).all()


@pytest.mark.parametrize("view", ["y", "y[::2]", "y.expand(2, 4, 5, 3, 2)", "y[:, :1]", "y.contiguous()", "y.reshape(4, 30).t()", "y[:1].transpose(0, 1)", "y[:, :, :0]"])
def test_sorted_tensors_lie_as_they_did(view):
    torch = pytest.importorskip("torch")
    answers = []
    for T in (torch, kindling):
        y = eval(view, {"y": (T.arange(120) * 7919 % 100).reshape(2, 3, 4, 5).permute(2, 3, 1, 0)})
        for dim in range(y.dim()):
            answers += [(t.stride(), t.tolist()) for t in (*y.sort(stable=True, dim=dim), y.argsort(dim=dim, stable=True))]
        answers += [T.msort(y).stride(), T.argsort(y).stride()]
    assert answers[:len(answers) // 2] == answers[len(answers) // 2:]


LAYOUTS = ["z(2, 3, 4).permute(2, 0, 1)", "z(2, 3).t()", "z(2, 3, 4).permute(1, 0, 2)", "z(2, 3, 4).transpose(1, 2)", "z(4, 6)[:, ::2]", "z(4, 6).t()[::2]",
           "z(3, 1, 1).expand(3, 4, 2)", "z(1, 4, 1).expand(3, 4, 2)", "z(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)", "z(2, 1, 3).permute(2, 1, 0)", "z(2, 3, 4)"]
GATHERED = ["x[i([0, 1])]", "x[:, i([0, 0, 0])]", "x[..., i([[0], [0]])]", "x[i([[0, 1], [0, 0]])]", "x[i([0, 1]), i([0, 0])]", "x[i([0, 1]), ..., i([0, 0])]", "x[i([[0, 0, 1]] * 2).t()]",
            "x[:, i([[0, 0, 0]] * 2).t()]", "x[i([[0, 0, 1]] * 2).t(), i([[0], [0], [0]])]", "x[x.new_ones(x.shape[0]) > 0]", "x[:, x.new_ones(x.shape[1]) > 0]", "x[i([0])]", "x[i([])]",
            "x[x.new_ones(x.shape[:2]) > 0]", "x[None, i([0, 1])]", "x[i([0, 1]), None]", "x[i([0, 1]), :1]", "x[[1, 0]]", "x[i([0, 1]).int()]", "x[i(1)]", "x[:, i(0)]", "x[i(1), :, None]",
            "x.put(i([0, 1]), z(2))", "x.put(i([0, 1]), z(2), True)", "torch.angle(x)", "torch.nn.functional.logsigmoid(x)", "x.take(i([[0, 1]]).t())", "x.index_select(1, i([0]))",
            "x.index_put((i([0]),), z())"]


@pytest.mark.parametrize("made", GATHERED)
def test_strides_of_what_is_gathered(made):
    """Indexing follows PyTorch's iterator: a channels-last batch stays one. The numbers are compared, too."""
    def seen(t, dtype, layout):
        scope = {"torch": t, "z": lambda *shape: t.arange(float(max(1, __import__("math").prod(shape)))).to(dtype).reshape(shape),
                 "i": lambda values: t.tensor(values, dtype=t.int64)}
        scope["x"] = eval(layout, scope)
        try:
            y = eval(made, scope)
        except Exception as error:
            return type(error).__name__
        return tuple(y.shape), y.stride(), [] if "(x)" in made else y.tolist()
    import kindling
    torch = pytest.importorskip("torch")
    for layout in LAYOUTS:
        for name in ("float32", "complex64"):
            assert seen(kindling, getattr(kindling, name), layout) == seen(torch, getattr(torch, name), layout), (layout, name)
