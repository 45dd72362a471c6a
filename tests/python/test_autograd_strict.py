"""torch.autograd.functional in strict mode and out of it: results, error classes and texts as torch's."""

import itertools

import pytest
import torch

import kindling

FUNCTIONS = {
    "plain": lambda t, x, y: (x.exp() * y.exp()).sum(),
    "cubic": lambda t, x, y: (x ** 3 * y ** 3).sum(),
    "second_unused": lambda t, x, y: (x ** 3).sum(),
    "first_unused": lambda t, x, y: y.exp().sum(),
    "linear": lambda t, x, y: (2 * x + 3 * y).sum(),
    "linear_in_one": lambda t, x, y: (x ** 2).sum() + 3 * y.sum(),
    "square": lambda t, x, y: (x * x + y * y).sum(),
    "constant": lambda t, x, y: t.ones(()),
    "detached": lambda t, x, y: (x * y).sum().detach(),
    "two_outputs": lambda t, x, y: (x.sum(), (x * y).sum()),
    "one_constant_output": lambda t, x, y: ((x * y).sum(), t.ones(())),
    "vector": lambda t, x, y: x * y,
    "list": lambda t, x, y: [(x * y).sum()],
}
CALLS = ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"]


def outcome(t, call, function, strict, create_graph):
    x, y = t.tensor([0.5, 1.5]), t.tensor([2.0, -1.0])
    arguments = [lambda a, b: function(t, a, b), (x, y)]
    if call in ("jvp", "vhp", "hvp"):
        arguments.append((t.ones(2), t.ones(2)))
    try:
        result = getattr(t.autograd.functional, call)(*arguments, strict=strict, create_graph=create_graph)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

    def flat(value):
        return [flat(each) for each in value] if isinstance(value, tuple) else (value.tolist(), value.requires_grad)
    return flat(result)


@pytest.mark.parametrize("call, name", list(itertools.product(CALLS, FUNCTIONS)))
def test_strict(call, name):
    for strict, create_graph in itertools.product((True, False), (True, False)):
        expected = outcome(torch, call, FUNCTIONS[name], strict, create_graph)
        assert outcome(kindling, call, FUNCTIONS[name], strict, create_graph) == expected, (strict, create_graph)
