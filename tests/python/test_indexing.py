"""Indexing beside PyTorch's: results, layouts, writes and errors."""
import pytest

from both import same

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
          "m[0] = torch.ones(2, 1, 4)", "m[0, :1] = torch.ones(2, 1)", "v[...] = torch.ones(2)", "m[0, 0] = torch.ones(1, 1)", "m[0] = torch.ones(1, 4)"]


@pytest.mark.parametrize("statement", WRITES)
def test_write(statement):
    same(f"{statement}\na, m, v", SETUP)


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
