"""Indexing beside PyTorch's: results, layouts, writes and errors."""
import subprocess
import sys
import warnings

import numpy as np
import pytest

from both import module, same

pytestmark = pytest.mark.kernels

SETUP = """
a = torch.arange(24.).reshape(2, 3, 4)
v = torch.arange(10)
m = torch.arange(12).reshape(3, 4)
i = torch.tensor([0, 2])
j = torch.tensor([[0, 1], [1, 0]])
k = m % 2 == 0
s = torch.tensor(5.)
"""
READS = ["0", "-1", "1:2", "::2", "1:", ":-1", "...", "None", "0, 1", "0, 1, 2", ":, 1", "..., 1", "1, ...", "None, 0", "0, None, 1", ":, None",
         "0, ..., 1", "..., None", "True", "False", "torch.tensor(1)", "torch.tensor(True)", "[0, 1]", "[1]", "[[0, 1], [1, 0]]", "j % 2",
         "torch.tensor([0, 1])", "torch.tensor([True, False])", "[True, False]", "0, torch.tensor([0, 2])", ":, i", "0, :, i", "i % 2, i",
         "j % 2, j", "torch.tensor([0, 1]), :, torch.tensor([1, 2])", "None, i % 2, ..., i", "..., [0, 3]", "slice(None)", "slice(0, 1)", "()",
         "(slice(None), 1)", "torch.tensor([], dtype=torch.int64)", "[]", "0, k", ":, torch.tensor([True, False, True])", "torch.tensor([0, 1], dtype=torch.uint8)",
         "2", "0, 3", "0, 0, 0, 0", "..., ...", "'x'", "1.5", "::0", "::-1", "torch.tensor([5])", "torch.tensor([0.5])", "{}", "torch.tensor([True])",
         "..., ..., :", "..., ..., 0:, :", "0, ..., ..., :", "..., ..., :1", "..., ..., :-1", "..., ..., 1:", "..., ..., ::2", "..., ..., ::-1", "..., ..., :, None",
         "range(2)", "0, [0, 1], [1, 2]", "[0, 1], 1", "slice(torch.tensor(0), torch.tensor(1))", "k, k", "None, None", "True, 0", "0, True"]


@pytest.mark.parametrize("key", READS)
def test_read(key):
    same(f"r = a[{key}]\nr, r.stride(), r.storage_offset(), r.data_ptr() == a.data_ptr()", SETUP)


WRITES = ["a[0] = 1", "a[0, 1] = 2.5", "a[:, 1] = 3", "a[..., -1] = s", "a[:] = 0", "a[...] = 1", "a[None] = 1", "a[i % 2] = 7", "a[a > 10] = -1",
          "a[0, i] = torch.ones(2, 4)", "a[0] = torch.ones(4)", "a[0] = [1., 2., 3., 4.]", "a[:, :, 0] = torch.tensor([1., 2., 3.])",
          "a[True] = 5", "a[False] = 5", "a[0, 0, 0] = True", "a[torch.tensor(1)] = 0", "a[1:, ::2, [0, 3]] = 9", "a[a < 3] = torch.tensor([7., 8., 9.])",
          "a[0] = torch.ones(1, 1, 1, 4)", "a[2] = 0", "a[0] = torch.ones(5)", "a['x'] = 1", "a[0] = 'x'", "a[0] = 1j", "a[[0, 1], [1, 2]] = torch.zeros(4)",
          "a[a > 100] = 1", "a[0, 0] = torch.arange(4)", "a[::2] = a[1:]", "m[0] = 2.7", "m[k] = 0", "m[k] += 1", "v[2:5] *= 10", "a[0][1][2] = 99",
          # More dimensions than there is room for: nothing may be read or written beside the memory.
          "v[0] = torch.tensor([5, 7])", "m[0] = torch.ones(2, 4)", "m[0, 0] = torch.ones(2, 1)", "m[:1] = torch.ones(2, 2, 4)", "v[1] = torch.ones(0)",
          "a[..., ..., :] = 1", "a[..., ..., :, 1:] = 1", "m[0] = torch.ones(2, 1, 4)", "m[0, :1] = torch.ones(2, 1)", "v[...] = torch.ones(2)", "m[0, 0] = torch.ones(1, 1)", "m[0] = torch.ones(1, 4)"]


@pytest.mark.parametrize("statement", WRITES)
def test_write(statement):
    same(f"{statement}\na, m, v", SETUP)


@pytest.mark.parametrize("statement", ["a[..., ..., 0]", "a[..., ..., 5]", "a[..., ..., :, 0] = 1", "s[..., :]", "a[0, 0, 0, ..., :]", "torch.ones(2, 2, device='meta')[..., ..., :]",
                                       "torch.ones(2, 2, device='meta')[..., ..., :1]"])
def test_dimensions_that_are_not_there(statement):
    """A second ellipsis counts the dimensions of the first again."""
    same(f"{statement}\na", SETUP, message=False)


def test_views_alias():
    same("b = a[1:, 0]\nb[:] = -1\na", SETUP)
    same("b = a[i % 2]\nb[:] = -1\na", SETUP)


COPIES = [("()", "(2,)"), ("2", "(3, 2)"), ("2", "(2, 1)"), ("1", "(0,)"), ("3", "(1, 3)"), ("()", "(1,)"), ("2", "(0, 2)"), ("(1, 2)", "(3, 2)"),
          ("(2, 3)", "(1, 3)"), ("(2, 3)", "()"), ("0", "(1,)"), ("(2, 0)", "(2, 1)")]


@pytest.mark.parametrize("grad", ["", " * torch.ones((), requires_grad=True)"])
@pytest.mark.parametrize("target, source", COPIES)
def test_copy_shapes(target, source, grad):
    same(f"torch.zeros({target}).copy_(torch.full({source}, 2.){grad})")


@pytest.mark.parametrize("target, source", [("(2, 3)", "4"), ("(2, 0)", "(2, 5)"), ("3", "(2, 4)")])
def test_copy_of_sizes_that_clash(target, source):
    same(f"torch.zeros({target}).copy_(torch.zeros({source}))", message=False)


def test_addmm_refuses_a_third_dimension():
    same("torch.addmm(torch.ones(5, 2, 2), torch.ones(2, 2), torch.ones(2, 2))", message=False)


BATCH = "q = torch.arange(720.).reshape(6, 5, 4, 6)\nw = torch.arange(24).reshape(4, 6)\n"


@pytest.mark.parametrize("statement", [
    # Masks of several dimensions that lie as one, that do not, and beside other indices.
    "q[q > 700]", "q[:, :, w % 5 == 0]", "q.transpose(2, 3)[:, :, (w % 5 == 0).t()]", "q[:, ::2][:, :, w % 7 == 1]", "q[..., ::2][:, :, w[:, ::2] > 9]",
    "q[1, 2][w > 3]", "q[torch.arange(30).reshape(6, 5) % 4 == 0]", "q[torch.arange(30).reshape(6, 5) % 4 == 0, 1]", "q[w > 3]", "q[:, w > 3]",
    "q[torch.arange(120).reshape(6, 5, 4) % 4 == 0, 1:3]", "q[w > 100, 0]", "q[:, :, w > 100]", "q[:, :, w > 3, 0]", "q[:, :, w % 2 == 0, None]",
    "q[:, :, torch.arange(4), torch.arange(4)]", "q[torch.arange(5) > 2, :, :]", "q[..., w % 2 == 0]",
    "q[torch.arange(30).reshape(6, 5) % 4 == 0, torch.arange(8) % 4]", "q[torch.arange(30).reshape(6, 5) % 4 == 0, ..., 1]", "q[1:4, torch.arange(20).reshape(5, 4) > 7, 2:4]",
    "q[None, torch.arange(30).reshape(6, 5) % 4 == 0, None, 1]", "q[torch.arange(30).reshape(6, 5) % 4 == 0, 1] = 5\nq", "q[torch.arange(30).reshape(6, 5) % 4 == 0, w[0] > 2]",
    "q[q % 3 == 0] = -1\nq", "q[:, :, w % 5 == 0] = torch.arange(5.)\nq", "q[:, :, w % 5 == 0] += 1\nq",
    "q.transpose(0, 1)[torch.arange(30).reshape(5, 6) % 7 == 0] = 3\nq", "q.index_put_((w > 3,), torch.tensor(1.))",
    "(q % 7 == 0).nonzero()", "(w > 100).nonzero()", "torch.zeros(3, 0, 2).nonzero()", "torch.tensor(1).nonzero()", "torch.tensor(0).nonzero()",
    "(torch.arange(100) % 3 == 0).nonzero(as_tuple=True)", "(q.transpose(1, 3) % 7 == 0).nonzero()", "torch.tensor([0., float('nan'), -0., 2.]).nonzero()",
    "(torch.arange(4000).reshape(40, 100) % 11 == 0).nonzero()", "q.masked_select(w % 5 == 0)",
])
def test_masks(statement):
    same(statement, BATCH)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int64", "uint8", "bool", "complex64"])
def test_along(dtype):
    setup = BATCH + f"t = (torch.arange(40 * 300) % 101).reshape(40, 300).to(torch.{dtype})\ng = torch.arange(40 * 50).reshape(40, 50) * 7 % 40\nz = torch.zeros(40, 300, dtype=t.dtype)\n"
    for read in ["t.gather(1, g)", "t.gather(0, g)", "t.t().gather(0, g.t())", "t.gather(1, g.t()[:40].t()[:, ::3])", "t[:1].gather(0, g[:1] * 0)",
                 "t[:, :1].gather(1, g * 0)", "t.gather(1, g[:, :1])", "t.gather(0, g[:1])", "t.gather(1, g[:, :1].expand(40, 9))", "t[0].gather(0, g[0])",
                 "t[0, 0].gather(0, g[0, 0] * 0)", "t.reshape(8, 5, 300).gather(1, g.reshape(8, 5, 50) % 5)", "t.gather(1, g[:0])"]:
        same(read, setup)
    for write in ["z.scatter(1, g, t)", "z.scatter_add(1, g, t)", "z.scatter_add(0, g, t)", "z.t().scatter_add(0, g.t(), t.t())",
                  "z.scatter_add(1, g[:, :1].expand(40, 9), t)", "z[:, :1].scatter_add(1, g * 0, t)", "z.reshape(8, 5, 300).scatter_add(1, g.reshape(8, 5, 50) % 5, t.reshape(8, 5, 300))",
                  "z.index_add(0, g[0, :40], t)", "z.index_add(1, g[0], t[:, :50])", "z[0].index_add(0, g[0], t[0, :50])", "z[:, ::2].index_add(0, g[0, :40], t[:, ::2])",
                  "z.index_copy(0, torch.arange(39, -1, -1), t)", "z.index_put((g[0],), t[:1], accumulate=True)", "z.index_put((g[0, :40], g[1, :40]), t[0, :40], accumulate=True)",
                  "z.index_select(0, g[0])", "t.t().index_select(0, g[0])", "t[g[0]]", "t[:, g[0]]", "t[:, ::3][g[0]]"]:
        same(write, setup)


@pytest.mark.parametrize("bad", ["-1", "300", "2 ** 40", "-2 ** 62"])
def test_along_out_of_range(bad):
    setup = f"t = torch.zeros(40, 300)\ng = torch.zeros(40, 50, dtype=torch.int64)\ng[37, 49] = {bad}\n"
    for call in ["t.gather(1, g)", "t.scatter(1, g, t)", "t.scatter_add(1, g, t)", "t.scatter_(1, g, 1.)", "t.scatter_reduce(1, g, t, 'amax')"]:
        same(call, setup)


def written(torch, dtype, shape, dim):
    """What operators that write to places give, as a copy, in place and in place in a strided tensor."""
    count = torch.Size(shape).numel()
    p = (torch.arange(count) * 37 % 11).to(getattr(torch, dtype)).reshape(shape)
    n = shape[dim]
    rows, apart = torch.arange(n // 2 + 1) * 5 % n, torch.arange(n - 1, -1, -2)
    values = p.narrow(dim, 0, len(rows))
    places = (torch.arange(values.numel()) * 7 % n).reshape(values.shape)
    calls = [("index_add", dim, rows, values), ("index_copy", dim, apart, p.narrow(dim, 0, len(apart))), ("index_fill", dim, apart, 3),
             ("scatter", dim, places, values), ("scatter", dim, places, 2), ("scatter_add", dim, places, values),
             ("scatter_reduce", dim, places, values, "sum")]
    if dtype != "complex64":
        calls += [("scatter_reduce", dim, places, values, "mean"), ("masked_scatter", p == 3, p + 1)]
    for name, *arguments in calls:
        yield name, getattr(p, name)(*arguments)
        x = p.clone()
        assert getattr(x, name + "_")(*arguments) is x and x._version == 1
        yield name, x
        x = torch.zeros_like(p).repeat_interleave(2, 0)[::2]
        getattr(x.copy_(p), name + "_")(*arguments)
        yield name, x
    yield "alpha", p.index_add(dim, rows, values, alpha=2)
    yield "include_self", p.scatter_reduce(dim, places, values, "sum", include_self=False)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "int64", "uint8", "complex64"])
@pytest.mark.parametrize("shape", [(600, 130), (9, 40, 130), (40, 7), (3, 2, 9), (5,)])
def test_written_copies_and_in_place(shape, dtype):
    """Sums of rows made as the copy is made, and in-place forms, which write where they are."""
    for dim in {0, len(shape) - 1}:
        for (name, want), (_, got) in zip(written(module("torch"), dtype, shape, dim), written(module("kindling"), dtype, shape, dim), strict=True):
            if dtype == "bfloat16":
                want, got = want.float(), got.float()
            np.testing.assert_array_equal(got.contiguous().numpy(), want.contiguous().numpy(), err_msg=name)


def test_in_place_sums_of_rows_of_itself():
    """What is read must not share memory with what is written."""
    for write in ("index_add_(0, rows", "index_copy_(0, rows", "scatter_add_(0, rows[:, None].expand(3, 3)"):
        for source in "x[:3]", "x[:3].clone()", "x[:3].t()":
            same(f"x = torch.arange(12.).reshape(4, 3)\nrows = torch.tensor([1, 2, 3])\nx.{write}, {source})")


def test_triangles_and_even_spaces():
    """Places of triangles, and evenly spaced numbers, whatever the expression was first built for."""
    for rows, columns, diagonal in ((4, 4, 0), (3, 5, 1), (5, 3, -2), (0, 4, 0), (4, 0, 3), (3, 3, 2**62), (2, 3, -9)):
        for way in ("tril_indices", "triu_indices"):
            same(f"torch.{way}({rows}, {columns}, {diagonal})")
    same("torch.triu_indices(2**31, 1), torch.tril_indices(2**31, 2, 2 - 2**31)")  # most rows have none
    same("torch.tril_indices(3, 4, 1, dtype=torch.int32)\ntorch.tril_indices(-1, 4)", message=False)
    for dtype in ("float32", "float64", "int64", "uint8", "complex64", "complex128"):
        for start, end, steps in ((0, 1, 10), (-3.7, 5.1, 7), (0.1, 0.3, 2), (5, 1, 4), (2, 2, 3), (0, 250, 1001), (1, 9, 0), (3, 4, 1)):
            if "int" in dtype and start < 0:
                continue
            want, got = (getattr(module(name), "linspace")(start, end, steps, dtype=getattr(module(name), dtype)) for name in ("torch", "kindling"))
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol={"float32": 3e-7, "complex64": 3e-7}.get(dtype, 1e-15))


def test_written_copies_of_odd_strides():
    """Contiguous for all its strides, since a dimension of size 1 has any."""
    k = module("kindling")
    x = k.arange(80000.).as_strided((1, 80000), (0, 1))
    index = k.arange(7).reshape(1, 7)
    assert (x.scatter_add(1, index, k.ones(1, 7)) - x).sum() == 7 and (x.index_add(0, k.tensor([0]), x) == 2 * x).all()
    bits = k.zeros(300, 300, dtype=k.bool)
    assert bits.index_copy(0, k.tensor([1]), ~bits[:1]).sum() == bits.index_add(0, k.tensor([1, 2]), ~bits[:2]).sum() / 2 == 300


BYTES = ["x[b]", "x[b,]", "y[:, b]", "y[b, b]", "y[b, 0]", "x[None, b]", "x[b] = torch.ones(2)", "y[:, b] = torch.ones(3, 2)", "x[b] = 0", "y[:, b] = 0",
         "x.index_put_((b,), torch.ones(2))", "torch.index_put(x, (b,), torch.tensor(2.), accumulate=True)", "torch.index_put(x, (b,), torch.tensor(2.))",
         "x.index_put_((b,), torch.tensor(2.))", "(x.requires_grad_() * 1)[b].sum().backward()", "torch.ones(0)[torch.ones(0, dtype=torch.uint8)]",
         "x[torch.tensor([1, 0], dtype=torch.uint8)]", "x[torch.tensor(1, dtype=torch.uint8)]", "y[b.bool(), b]", "x[[True, False, True]]", "x[b.bool()]",
         "x.masked_scatter(b, x)", "x.masked_scatter_(b, x)", "x.masked_fill(b, 0)", "x.masked_select(b)", "x.take(b)", "x.index_fill(0, b, 1)"]


@pytest.mark.parametrize("statement", BYTES)
def test_masks_of_bytes_warn(statement):
    seen = []
    for name in ("torch", "kindling"):
        torch = module(name)
        space = {"torch": torch, "x": torch.ones(3), "y": torch.ones(3, 3), "b": torch.tensor([1, 0, 1], dtype=torch.uint8)}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            error = None
            for _ in range(2):
                try:
                    exec(statement, space)
                except Exception as raised:
                    error = type(raised).__name__
        seen.append((error, [(each.category, str(each.message).partition(" (Triggered")[0]) for each in caught]))
    assert seen[0] == seen[1]


def test_a_choice_by_bytes_warns_once():
    code = ("import warnings; warnings.simplefilter('always')\n"
            "import {} as torch\nb = torch.tensor([1, 0], dtype=torch.uint8)\nfor x in (torch.ones(2), torch.ones(2, dtype=torch.int64)):\n    torch.where(b, x, x); x.where(b.bool(), x)")
    said = [subprocess.run([sys.executable, "-c", code.format(name)], capture_output=True, text=True).stderr for name in ("torch", "kindling")]
    assert [text.count("where received a uint8 condition tensor.") for text in said] == [1, 1], said


@pytest.mark.parametrize("sizes, at", [((3, 4), (0,)), ((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((2, 3, 4, 5), (1, 3))])
def test_indices_that_are_numbers_have_a_result_rule(sizes, at):
    """On the meta device nothing is computed, but sizes, strides and checks are there."""
    import kindling
    import torch as real

    def run(lib, device):
        x = lib.zeros(sizes, device=device).transpose(0, 1)
        indices = [lib.zeros(2, 1, dtype=lib.int64, device=device) if d in at else None for d in range(max(at) + 1)]
        put = lib.ops.aten.index_put(x, indices, lib.zeros((), device=device))
        return [(tuple(t.shape), t.stride()) for t in (lib.ops.aten.index(x, indices), put)]

    assert run(kindling, "meta") == run(kindling, "cpu") == run(real, "cpu")
    with pytest.raises(RuntimeError, match="cannot be broadcast to indexing result"):
        kindling.zeros(3, 4, device="meta").index_put_((kindling.zeros(2, dtype=kindling.int64, device="meta"),), kindling.zeros(5, device="meta"))


@pytest.mark.parametrize("key, node", [("0:3, 1", "SelectBackward0"), ("0:9, ..., :7", "AliasBackward0"), ("0:3", "SliceBackward0"), ("0:2, 1", "SelectBackward0"), ("-3:, 1", "SelectBackward0"), (":3:2, 1", "SelectBackward0")])
def test_slices_of_a_whole_dimension_are_no_views(key, node):
    """PyTorch leaves them out beside other indices, and so are the nodes of the history."""
    names = []
    for t in (module("torch"), module("kindling")):
        x = t.ones(3, 4, requires_grad=True)
        y = eval(f"x[{key}]", {"x": x})
        names.append((y.grad_fn.name(), y.grad_fn.next_functions[0][0].name(), tuple(y.shape)))
    assert names[0] == names[1] and names[0][0] == node


@pytest.mark.parametrize("key", [":1", "0:1", ":", "0:5"])
def test_a_slice_of_a_whole_dimension_is_written_to_as_the_tensor_itself(key):
    """So it is refused as a leaf where the tensor would be."""
    for t in (module("torch"), module("kindling")):
        base = t.ones(4)
        view = base.narrow(0, 0, 1)
        base[..., 0] = t.tensor(0.5, requires_grad=True)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            exec(f"view[{key}] = 2.", {"view": view})


def test_strides_of_a_result_with_dimensions_of_size_1_and_transposed_indices():
    """What a dimension of size 1 has for a stride decides in which order PyTorch walks."""
    def run(lib):
        found = []
        for sizes, strides, at in [((1, 2, 1, 1), (2, 1, 2, 2), "[:, :, :, i]"), ((4, 4, 1), (4, 1, 16), "[:, j.t()]"), ((1, 4, 1), (1, 1, 1), "[:, :, z]"),
                                   ((4, 4, 3), (12, 3, 1), "[i, i]"), ((4, 4, 3), (12, 3, 1), "[:, i, i]"), ((4, 4, 3), (12, 3, 1), "[j.t(), j.t()]"),
                                   ((4, 4, 3), (3, 12, 1), "[i, i]"), ((4, 4, 3), (12, 3, 1), "[z, i]")]:
            x = lib.arange(64.).as_strided(sizes, strides)
            names = {"x": x, "i": lib.zeros(2, 3, dtype=lib.int64), "j": lib.zeros(2, 3, dtype=lib.int64), "z": lib.zeros(1, 1, dtype=lib.int64)}
            y = eval("x" + at, names)
            found.append((tuple(y.shape), y.stride(), y.tolist()))
        return found

    assert run(module("kindling")) == run(module("torch"))
