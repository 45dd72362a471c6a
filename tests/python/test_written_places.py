"""Shapes that writes by index refuse, as torch does: a source of too few elements is read past its end otherwise."""
import itertools
import warnings

import pytest
import torch

import kindling

SHAPES = [(), (1,), (2,), (3,), (3, 2), (1, 1), (2, 3)]
INDICES = [0, [], [0], [0, 1], [0, 1, 1], [[0, 1]], [[0], [1]]]
CALLS = {
    "index_add": lambda t, x, i, s: x.index_add(0, i, s),
    "index_copy": lambda t, x, i, s: x.index_copy(0, i, s),
    "index_reduce": lambda t, x, i, s: x.index_reduce(0, i, s, "prod"),
    "scatter": lambda t, x, i, s: x.scatter(0, i, s),
    "scatter_add": lambda t, x, i, s: x.scatter_add(0, i, s),
    "scatter_reduce": lambda t, x, i, s: x.scatter_reduce(0, i, s, "sum"),
    "put": lambda t, x, i, s: x.put(i, s),
    "index_select": lambda t, x, i, s: x.index_select(0, i),
    "gather": lambda t, x, i, s: x.gather(0, i),
    "take": lambda t, x, i, s: x.take(i),
    "topk": lambda t, x, i, s: x.topk(min(i.numel(), 1), 0)[0],
}


def outcome(t, name, shape, index, source):
    try:
        return CALLS[name](t, t.full(shape, 2.), t.tensor(index, dtype=t.int64), t.full(source, 5.)).tolist()
    except Exception as error:
        return type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_shapes(name):
    for case in itertools.product(SHAPES, INDICES, SHAPES):
        assert outcome(kindling, name, *case) == outcome(torch, name, *case), case


EXPANDED = ["x.index_put_((i,), T.tensor(2.))", "x.index_put_((i,), T.ones(2, 4, 3), accumulate=True)", "x.__setitem__(i, 5)", "x.__setitem__(m, 5)",
            "x.__setitem__((0, i), 7)", "x.index_fill_(1, i, 3.)", "x.index_fill_(0, i, T.tensor(3.))", "x.masked_fill_(m, 4.)", "x.masked_fill_(m[0], 4.)",
            "x.masked_fill_(m, T.tensor(4.))", "x.fill_(6.)", "x.index_add_(0, i, T.ones(2, 4, 3))", "x.index_copy_(0, i, T.ones(2, 4, 3))", "x.zero_()",
            "x.scatter_(0, T.zeros(1, 4, 3, dtype=T.int64), 1.)", "x.masked_scatter_(m, T.ones(24))", "x.put_(i, T.ones(2))", "x.add_(1)",
            "x.masked_fill(m, 4.)", "x.index_fill(1, i, 3.)", "x.index_put((i,), T.tensor(2.))", "x.fill_diagonal_(1.)"]  # fmt: skip


@pytest.mark.parametrize("call", EXPANDED)
@pytest.mark.parametrize("shape", [(2, 1, 3), (1, 4, 3), (2, 4, 1), (1, 1, 1)])
def test_expanded_targets(call, shape):
    """What writes there, what refuses, and what warns that it will."""
    answers = []
    for T in (torch, kindling):
        base = T.arange(float(torch.Size(shape).numel())).reshape(shape)
        scope = {"T": T, "x": base.expand(2, 4, 3), "i": T.tensor([1, 0]), "m": (T.arange(24) % 7 == 1).reshape(2, 4, 3)}
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                answer = eval(call, scope)
                answer = None if answer is None else (answer.tolist(), answer.stride())
            except Exception as error:
                answer = type(error)
        # torch's mask assignment calls a second function, which warns too
        answers.append((answer, base.tolist(), {str(each.message)[:60] for each in warned if "setitem" not in call or "index_put" in str(each.message)}))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("value", ["5", "5.5", "5.5 + 1j", "[5.5]", "[5, 6, 7, 8]", "True"])
@pytest.mark.parametrize("index", ["(m,)", "(i,)", "(m, i)", "(m, c)"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_a_mask_takes_one_number_of_any_dtype(value, index, dtype):
    answers = []
    for T in (torch, kindling):
        scope = {"T": T, "m": T.tensor([True, False, True]), "c": T.tensor([True, False, True, False]), "i": T.tensor([0, 2])}
        for accumulate in (False, True):
            x = T.zeros(3, 4, dtype=getattr(T, dtype))
            try:
                answers.append(x.index_put_(eval(index, scope), eval(f"T.tensor({value})", scope), accumulate).tolist())
            except Exception as error:
                answers.append(type(error))
    assert answers[:2] == answers[2:]


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (7, 3), (8, 3), (4, 3), (3, 3, 3), (2, 3, 2), (0, 3), (3, 0), (3,), (), (1, 1)])
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape, wrap):
    answers = []
    for T in (torch, kindling):
        for call in (lambda a: a.fill_diagonal_(2, wrap), lambda a: a.transpose(0, -1).fill_diagonal_(2, wrap), lambda a: a.to(T.int64).fill_diagonal_(2.5, wrap),
                     lambda a: (a * 1).fill_diagonal_(2, wrap)):
            a = T.zeros(shape, requires_grad=True)
            try:
                result = call(a * 1 if call(a.detach()) is not None else a)
                answers.append((result.tolist(), result.stride()))
                if result.requires_grad:
                    result.sum().backward()
                    answers.append(a.grad.tolist())
            except Exception as error:
                answers.append((type(error), str(error)[:30]))
    half = len(answers) // 2
    assert answers[:half] == answers[half:]
