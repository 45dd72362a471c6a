"""einsum: random equations against torch's answers and words."""
import random

import kindling
import pytest
import torch

pytestmark = pytest.mark.kernels


def equation(rng):
    """An equation and the shapes of its operands, mostly right."""
    letters = "ijkAb"[:rng.choice((2, 3, 5))]
    size = {letter: rng.choice((0, 1, 2, 3, 2, 3)) for letter in letters}
    dots, terms, shapes = [2, 1][:rng.randrange(3)], [], []
    for _ in range(rng.choice((1, 2, 2, 3))):
        term = "".join(rng.choice(letters) for _ in range(rng.randrange(4)))
        shape = [size[letter] if rng.random() > 0.1 else 1 for letter in term]
        if rng.random() < 0.3:
            place, dims = rng.randrange(len(term) + 1), dots[rng.randrange(len(dots) + 1):]
            term, shape = term[:place] + "..." + term[place:], shape[:place] + dims + shape[place:]
        terms.append(term)
        shapes.append(shape)
    text = ",".join(terms)
    if rng.random() < 0.6:
        used = sorted(set(text) - set(",."))
        text += "->" + rng.choice(("", "...")) + "".join(rng.sample(used, rng.randrange(len(used) + 1)))
    if rng.random() < 0.1:
        place = rng.randrange(len(text) + 1)
        text = text[:place] + rng.choice(" .,->z1") + text[place:]
    return text, shapes


def test_random_equations():
    rng = random.Random(5)

    def answer(module, text, shapes):
        module.manual_seed(0)
        try:
            result = module.einsum(text, [module.rand(shape, dtype=module.float64) for shape in shapes])
        except (RuntimeError, ValueError) as problem:
            return type(problem).__name__, str(problem)
        return tuple(result.shape), result.flatten().tolist()

    refused = 0
    for _ in range(800):
        text, shapes = equation(rng)
        mine, theirs = answer(kindling, text, shapes), answer(torch, text, shapes)
        assert mine[0] == theirs[0], (text, shapes, mine, theirs)
        if isinstance(mine[0], str):
            refused += 1
            assert mine[1] == theirs[1], (text, shapes)
        else:
            assert mine[1] == pytest.approx(theirs[1]), (text, shapes)
    assert 50 < refused < 400


def test_an_operator_as_any_other():
    a, b = kindling.rand(2, 3), kindling.rand(3, 4)
    assert kindling.equal(kindling.ops.aten.einsum("ij,jk", [a, b]), a @ b)
    assert kindling.equal(kindling.einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b)
    a.requires_grad_()
    kindling.einsum("ij,jk->", a, b).backward()
    assert kindling.allclose(a.grad, b.sum(1).expand(2, 3))
