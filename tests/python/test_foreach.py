"""Operators over lists of tensors, and the optimizers' steps in one pass, beside torch."""
import itertools

import numpy as np
import pytest
import torch as reference

import kindling

pytestmark = pytest.mark.kernels

SHAPES = [(3,), (2, 4), ()]
UNARY = ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
         "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc").split()


def arrays(seed):
    random = np.random.default_rng(seed)
    return [np.array(0.1 + 0.8 * random.random(shape)) for shape in SHAPES]


def both(name, *arguments, **options):
    seen = []
    for torch in (reference, kindling):
        given = [[torch.from_numpy(each.copy()) for each in a] if isinstance(a, list) and isinstance(a[0], np.ndarray)
                 else torch.tensor(a.tolist(), dtype=torch.float64) if isinstance(a, np.ndarray) else a for a in arguments]
        result = getattr(torch, name)(*given, **options)
        if name.endswith("_"):
            assert result is given[0]
        seen.append(result)
    assert len(seen[0]) == len(seen[1])
    for expected, got in zip(*seen):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("suffix", ["", "_"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, suffix):
    both(f"_foreach_{name}{suffix}", arrays(0))


@pytest.mark.parametrize("suffix", ["", "_"])
@pytest.mark.parametrize("name", "add sub mul div clamp_min clamp_max maximum minimum pow".split())
def test_binary(name, suffix):
    both(f"_foreach_{name}{suffix}", arrays(0), 0.5)
    both(f"_foreach_{name}{suffix}", arrays(0), arrays(1))
    both(f"_foreach_{name}{suffix}", arrays(0), [0.5, 2.0, 0.25])
    if name in ("add", "mul", "div"):
        both(f"_foreach_{name}{suffix}", arrays(0), np.array(2.0))


@pytest.mark.parametrize("suffix", ["", "_"])
@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_ternary(name, suffix):
    for value in (0.5, [0.5, 2.0, 0.25], np.array([0.5, 2.0, 0.25])):
        both(f"_foreach_{name}{suffix}", arrays(0), arrays(1), arrays(2), value)
    both(f"_foreach_lerp{suffix}", arrays(0), arrays(1), 0.3)
    both(f"_foreach_lerp{suffix}", arrays(0), arrays(1), arrays(2))


def test_norms_and_copies():
    for order in (1, 2, float("inf")):
        both("_foreach_norm", arrays(0), order)
    both("_foreach_max", arrays(0))
    both("_foreach_zero_", arrays(0))
    both("_foreach_copy_", arrays(0), arrays(1))


def test_lists_that_do_not_fit():
    with pytest.raises(RuntimeError, match="at least one tensor"):
        kindling._foreach_add([], 1)
    with pytest.raises(RuntimeError, match="same number"):
        kindling._foreach_add([kindling.ones(2)], [1.0, 2.0])


def test_writes_are_counted_and_gradients_flow():
    x = kindling.ones(2, requires_grad=True)
    kindling._foreach_mul([x], 3)[0].sum().backward()
    assert x.grad.tolist() == [3, 3]
    with kindling.no_grad():
        before = x._version
        kindling._foreach_add_([x], 1)
    assert x._version == before + 1


@pytest.mark.parametrize("name,options", [
    *[(name, {"amsgrad": a}) for name, a in itertools.product(("Adam", "AdamW"), (False, True))],
    ("Adagrad", {"lr_decay": 0.1}), ("SGD", {}), ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("SGD", {"momentum": 0.9, "dampening": 0.1})])
@pytest.mark.parametrize("weight_decay,maximize", [(0, False), (0.1, True)])
@pytest.mark.parametrize("form", ["fused", "foreach"])
def test_optimizers(name, options, weight_decay, maximize, form):
    seen = []
    for torch in (reference, kindling):
        random = np.random.default_rng(0)
        parameters = [torch.nn.Parameter(torch.from_numpy(random.standard_normal(shape))) for shape in ((3,), (2, 5))]
        optimizer = getattr(torch.optim, name)(parameters, lr=0.01, weight_decay=weight_decay, maximize=maximize,
                                               **{form: True}, **options)
        for _ in range(5):
            for parameter in parameters:
                parameter.grad = torch.from_numpy(random.standard_normal(tuple(parameter.shape)))
            optimizer.step()
        seen.append([parameter.detach().numpy() for parameter in parameters])
    for expected, got in zip(*seen):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
