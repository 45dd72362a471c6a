"""First, second and third derivatives of operators, in float64, against PyTorch's."""
import pytest
import torch

import kindling

UNARY = ("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh atanh sigmoid erf erfc erfinv lgamma digamma "
         "sqrt rsqrt reciprocal abs square neg sign floor round i0 sinc logit").split()
BINARY = "add sub mul div pow atan2 hypot maximum minimum logaddexp fmod remainder copysign xlogy".split()
COMPOSED = {
    "softmax": lambda t, x, y: t.softmax(x.view(2, 3), 1),
    "log_softmax": lambda t, x, y: t.log_softmax(x.view(2, 3), 0),
    "matmul": lambda t, x, y: x.view(2, 3) @ y.view(3, 2),
    "bmm": lambda t, x, y: t.bmm(x.view(2, 1, 3), y.view(2, 3, 1)),
    "var": lambda t, x, y: x.view(2, 3).var(1),
    "norm": lambda t, x, y: x.norm() * y,
    "prod": lambda t, x, y: x.view(2, 3).prod(1),
    "cumsum": lambda t, x, y: x.cumsum(0) * y,
    "logsumexp": lambda t, x, y: t.logsumexp(x.view(2, 3), 1),
    "gelu": lambda t, x, y: t.nn.functional.gelu(x),
    "silu": lambda t, x, y: t.nn.functional.silu(x),
    "softplus": lambda t, x, y: t.nn.functional.softplus(x),
    "elu": lambda t, x, y: t.nn.functional.elu(x - .5),
    "where": lambda t, x, y: t.where(x > .5, x * y, y.exp()),
    "lerp": lambda t, x, y: t.lerp(x, y, x),
    "addcmul": lambda t, x, y: t.addcmul(x, y, x, value=2.),
    "addcdiv": lambda t, x, y: t.addcdiv(x, y, x, value=2.),
    "clamp": lambda t, x, y: (x.clamp(.3, .7) * y) ** 2,
    "index": lambda t, x, y: (x[[0, 2, 2]] * y[1:4]) ** 2,
    "gather": lambda t, x, y: (x.gather(0, t.tensor([0, 1, 1])) ** 3),
    "cat": lambda t, x, y: t.cat([x, y, x]) ** 3,
    "stack": lambda t, x, y: t.stack([x, y]).prod(0),
    "max": lambda t, x, y: x.view(2, 3).max(1)[0] ** 3,
    "amax": lambda t, x, y: x.amax() ** 3,
    "mean": lambda t, x, y: x.mean() ** 3,
    "expand": lambda t, x, y: (x.view(6, 1).expand(6, 3) * y.view(2, 3).repeat(3, 1)) ** 2,
    "layer_norm": lambda t, x, y: t.nn.functional.layer_norm(x.view(2, 3), [3], y[:3], y[3:]),
    "mse_loss": lambda t, x, y: t.nn.functional.mse_loss(x, y),
    "cross_entropy": lambda t, x, y: t.nn.functional.cross_entropy(x.view(2, 3), t.tensor([0, 2])),
    "linear": lambda t, x, y: t.nn.functional.linear(x.view(2, 3), y.view(2, 3)) ** 2,
    "complex": lambda t, x, y: (t.complex(x, y) ** 3).abs(),
    "complex_mul": lambda t, x, y: t.view_as_real(t.complex(x, y) * t.complex(y, x).conj()) ** 2,
    "in_place": lambda t, x, y: (x * 1).mul_(y).add_(x).square_().exp_(),
    "view_write": lambda t, x, y: write(t, x, y),
    "broadcast": lambda t, x, y: (x.view(2, 3) / y[:3]) ** 2,
    "scalar": lambda t, x, y: 2 / (3 - x) + x / 4 + 2 ** y,
}


def write(t, x, y):
    base = t.zeros(3, 4, dtype=t.float64)
    base[1:, :3] = x.view(2, 3)
    base[0].copy_(y[:4] ** 2)
    base[:, 1].mul_(y[:3])
    return base ** 2


def derivatives(module, function, orders=3):
    """Values, then gradients of growing order, flat. A gradient that is not there counts as zeros."""
    x = module.tensor([.3, .8, .45, .6, .2, .7], dtype=module.float64, requires_grad=True)
    y = module.tensor([.5, .25, .9, .35, .65, .15], dtype=module.float64, requires_grad=True)
    weights = module.tensor([1., -2., .5, 3., -1., .25, 2., -3., 1.5, .75, -.5, 1.25, 1., 1., 2., 3., 1., 2.], dtype=module.float64)
    value = function(module, x, y)
    seen = [value.detach().reshape(-1).tolist()]
    for _ in range(orders):
        flat = value.reshape(-1)
        total = (flat * weights[:flat.numel()]).sum() if flat.numel() <= 18 else flat.sum()
        if not total.requires_grad:
            break
        gradients = module.autograd.grad(total, [x, y], create_graph=True, allow_unused=True)
        gradients = [module.zeros_like(x) if each is None else each for each in gradients]
        value = module.cat(gradients)
        seen.append(value.detach().tolist())
    return seen


def compare(function, orders=3):
    expected, got = derivatives(torch, function, orders), derivatives(kindling, function, orders)
    zeros = [0.0] * 12
    for order in range(max(len(expected), len(got))):
        want = expected[order] if order < len(expected) else zeros
        have = got[order] if order < len(got) else zeros
        assert have == pytest.approx(want, rel=1e-8, abs=1e-9, nan_ok=True), f"order {order}"


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    compare(lambda t, x, y: getattr(t, name)(x) * y)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    compare(lambda t, x, y: getattr(t, name)(x, y))


@pytest.mark.parametrize("name", COMPOSED)
def test_composed(name):
    # PyTorch's third derivative of layer_norm is wrong: it differs from that of the formula written out, which ours equals.
    compare(COMPOSED[name], 2 if name == "layer_norm" else 3)


def test_third_derivative_of_layer_norm():
    def written_out(t, x, y):
        a = x.view(2, 3)
        centred = a - a.mean(1, keepdim=True)
        return centred / ((centred ** 2).mean(1, keepdim=True) + 1e-5).sqrt() * y[:3] + y[3:]
    assert derivatives(kindling, COMPOSED["layer_norm"])[3] == pytest.approx(derivatives(torch, written_out)[3], rel=1e-6)
