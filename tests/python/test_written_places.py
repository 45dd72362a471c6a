"""Shapes that writes by index refuse, as torch does: a source of too few elements is read past its end otherwise."""
import itertools

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
