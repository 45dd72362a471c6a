"""Results in the memory of operands that nobody will read again (bindings/reuse.cpp): what is spared, and that nothing else is."""
import ctypes
import functools
import itertools
import operator
import weakref

import pytest

import kindling as torch

N = 1 << 18  # a megabyte
ONE = 4 * N


@pytest.fixture
def xyz():
    torch.manual_seed(0)
    return torch.randn(N), torch.randn(N), torch.randn(N)


def most(f):
    """The most memory, in results, that was in use at once beyond what was before."""
    f()
    torch.empty_cache()  # kept blocks may be half as large again
    torch._C._reset_peak_memory_stats()
    before = torch.memory_stats()["allocated_bytes.all.peak"]
    f()
    return (torch.memory_stats()["allocated_bytes.all.peak"] - before) / ONE


@pytest.mark.parametrize("expression", [
    "(x + y) * z", "x * (y - z)", "((x + y) * z - x).relu() * 0.5 + y", "torch.tanh(x * 2) + 1", "-(x + y)", "2.0 - (x + y)",
    "(x + y).clamp(0)", "torch.sigmoid(x) * torch.tanh(y)"])
def test_temporaries(xyz, expression):
    x, y, z = xyz
    wanted = eval(expression, {"torch": torch, "x": x[:1000], "y": y[:1000], "z": z[:1000]})  # too small to be written over
    copies = [t.clone() for t in xyz]
    f = eval("lambda: " + expression, {"torch": torch, "x": x, "y": y, "z": z})
    assert torch.equal(f()[:1000], wanted)
    assert all(torch.equal(t, copy) for t, copy in zip(xyz, copies))
    assert most(f) < (2.5 if "sigmoid" in expression else 1.5)


def powers(x):
    for _ in range(5):
        x = x * x
    return x


def test_variables_that_are_assigned_over(xyz):
    """A variable has a name until it has another value: its memory is not written over. A compiled call knows what comes after."""
    x, y, _ = xyz
    before = x.clone()
    assert torch.equal(powers(x)[:1000], powers(x[:1000]))
    assert most(lambda: powers(x)) < 2.5
    compiled = torch.compile(powers)
    assert torch.equal(compiled(x), powers(x))
    assert most(lambda: compiled(x)) < 1.5
    assert torch.equal(x, before)


def test_what_has_a_name_stays(xyz):
    x, y, z = xyz

    def named():
        t = x + y
        u = t * z
        v = t * z
        t2 = t
        t = t * z
        return t2, u, v, t

    t, u, v, w = named()
    assert torch.equal(t, x + y)
    assert torch.equal(u, v) and torch.equal(u, w) and u.data_ptr() != v.data_ptr() != t.data_ptr()
    box = [x + y]
    assert torch.equal(box[0] * z, u) and torch.equal(box[0], t)

    def inner():
        kept = x + y
        def read(): return kept
        first = kept * z
        return first, read()
    first, kept = inner()
    assert torch.equal(kept, t) and torch.equal(first, u)


def test_views_and_shared_memory_stay(xyz):
    x, y, z = xyz
    whole = x + y
    expected = whole.clone()

    def of_view():
        return whole.view(-1) * z
    of_view()
    assert torch.equal(whole, expected)

    views = []

    def keep_view(t):
        views.append(t[1:])
        return t
    keep_view(x + y) * z
    assert torch.equal(views[0], expected[1:])
    (x + y).detach() * z
    arrays = []

    def keep_array(t):
        arrays.append(t.numpy())
        return t
    np = pytest.importorskip("numpy")
    keep_array(x + y) * z
    assert np.array_equal(arrays[0], expected.numpy())
    storages = []

    def keep_storage(t):
        storages.append(t.untyped_storage())
        return t
    keep_storage(x + y) * z
    assert torch.equal(torch.empty(0).set_(storages[0]), expected)
    alive = []

    def keep_reference(t):
        alive.append(weakref.ref(t))
        return t
    keep_reference(x + y) * z
    assert alive[0]() is None


def test_calls_of_compiled_code_stay(xyz):
    """What is not the interpreter's own call may read its only reference afterwards."""
    x, y, z = xyz
    expected = x + y
    wanted = expected * z
    pairs = [(x + y, z)]
    assert torch.equal(next(itertools.starmap(operator.mul, pairs)), wanted) and torch.equal(pairs[0][0], expected)
    assert torch.equal(operator.mul(*pairs[0]), wanted) and torch.equal(pairs[0][0], expected)
    assert torch.equal(torch.mul(*pairs[0]), wanted) and torch.equal(pairs[0][0], expected)
    assert torch.equal(torch.mul(*pairs[0], **{}), wanted) and torch.equal(pairs[0][0], expected)
    method = (x + y).relu
    assert torch.equal(method(), method())
    part = functools.partial(torch.mul, x + y)
    assert torch.equal(part(z), wanted) and torch.equal(part(z), wanted)
    sine = functools.partial(torch.sin, x + y)
    assert torch.equal(sine(), sine())
    multiply = ctypes.pythonapi.PyNumber_Multiply
    multiply.restype, multiply.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.py_object]
    arguments = (x + y, z)
    assert torch.equal(multiply(*arguments), wanted) and torch.equal(arguments[0], expected)
    assert torch.equal(sum([x, y, z]), (x.clone() + y).clone() + z)
    total = list(itertools.accumulate([x + y, z, z], operator.mul))
    assert torch.equal(total[0], expected) and torch.equal(total[1], wanted)
    assert torch.equal(functools.reduce(operator.mul, [x + y, z, z]), wanted.clone() * z)


def test_gradients_see_the_values_that_were(xyz):
    x, y, z = xyz
    w = torch.ones(N, requires_grad=True)
    ((x + y) * w).sum().backward()
    assert torch.equal(w.grad, x + y)
    w.grad = None
    h = w * 2
    out = (h.sin() * h).exp()
    out.sum().backward()
    assert torch.allclose(w.grad, (2 * torch.cos(h) * h + 2 * torch.sin(h)).mul(out).detach(), rtol=1e-4, atol=1e-4)


def test_what_differs_in_kind_is_fresh(xyz):
    x, y, z = xyz
    assert ((x + y) > z).dtype == torch.bool
    assert ((x + y) * z.double()).dtype == torch.float64
    row, column = torch.randn(1024, 1), torch.randn(1, 1024)
    assert torch.equal((row + row) * column, (2 * row) * column)
    square = torch.randn(1024, 1024)
    assert torch.equal((square + 1).t() * 1, (square + 1).t())
    result = (x + y).mul_(2) * z
    assert result._version == 0
    assert torch.equal(result[:1000], (x[:1000] + y[:1000]) * 2 * z[:1000])


def test_errors_lose_nothing(xyz):
    x, y, _ = xyz

    def fails(t):
        try:
            t = t * torch.ones(3)
        except RuntimeError:
            return t
    assert torch.equal(fails(x + y), x + y)
