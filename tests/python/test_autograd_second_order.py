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


# ---- derivatives of derivatives that were written by hand: expressions of a leaf x of some shape, under both modules

SHAPED = {(2, 2, 8): ["F.max_pool1d(x, 2)", "F.max_pool1d(x, 3, 2, 1)", "F.avg_pool1d(x, 3, 2, 1, count_include_pad=False)", "F.adaptive_max_pool1d(x, 3)",
                      "F.adaptive_avg_pool1d(x, 3)", "F.lp_pool1d(x.abs(), 3, 2)", "F.interpolate(x, 5, mode='area')", "F.interpolate(x, 5, mode='linear')",
                      "F.pad(x, (2, 3), 'reflect')", "F.pad(x, (2, 3), 'replicate')", "F.group_norm(x, 2)", "torch.native_group_norm(x, None, None, 2, 2, 8, 1, 1e-5)",
                      "F.batch_norm(x, None, None, training=True)", "F.instance_norm(x)", "F.rms_norm(x, [8])", "F.local_response_norm(x, 2)", "x.unfold(2, 3, 2)",
                      "F.conv1d(x, x[:, :, :3])", "F.conv_transpose1d(x, x[:, :, :3])", "torch.logcumsumexp(x, 2)", "x.cumprod(2)", "x.cummax(2)[0]",
                      "F.glu(x, 2)", "F.normalize(x, dim=2)", "x.renorm(2, 0, 1.)", "x.median(2)[0]", "x.kthvalue(2, 2)[0]", "x.sort(2)[0]"],
          (1, 2, 6, 6): ["F.max_pool2d(x, 2)", "F.max_pool2d(x, 3, 2, 1)", "F.max_pool2d(x, 2, 1, dilation=2, ceil_mode=True)", "F.max_pool2d(x[0], 2)",
                         "F.adaptive_max_pool2d(x, (3, 4))", "F.adaptive_avg_pool2d(x, (3, 4))", "F.avg_pool2d(x, 3, 2, 1, divisor_override=5)", "F.avg_pool2d(x, 4, ceil_mode=True)",
                         "F.fractional_max_pool2d(x, 2, (3, 3), _random_samples=torch.full((1, 2, 2), .4, dtype=torch.float64))",
                         "F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)", "F.interpolate(x, (4, 9), mode='bilinear')", "F.interpolate(x, (4, 9), mode='bicubic')",
                         "F.interpolate(x, (4, 3), mode='bilinear', antialias=True)", "F.interpolate(x, (4, 9))", "F.interpolate(x, (4, 4), mode='area')", "F.unfold(x, 2, stride=2)",
                         "F.fold(x.view(1, 8, 9), (4, 4), 2)", "F.pixel_shuffle(x.repeat(1, 2, 1, 1), 2)", "F.conv2d(x, x[:, :, :2, :2])", "x.det()", "x.inverse()", "torch.linalg.lu(x)[1]",
                         *(f"F.grid_sample(x[:, :1], torch.sigmoid(x[:, :, :3, :4]).permute(0, 2, 3, 1) * 2.6 - 1.3, '{mode}', '{padding}', {corners})"
                           for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection") for corners in (True, False))],
          (1, 1, 4, 4, 4): ["F.max_pool3d(x, 2)", "F.max_pool3d(x, 3, 1, 1)", "F.adaptive_max_pool3d(x, 3)", "F.adaptive_avg_pool3d(x, 3)", "F.avg_pool3d(x, 2, 1)",
                            "F.interpolate(x, (3, 5, 6), mode='trilinear')", "F.grid_sample(x, torch.tanh(x[0, :, :2, :2, :3]).unsqueeze(0), align_corners=False)",
                            "F.fractional_max_pool3d(x, 2, (2, 2, 2), _random_samples=torch.full((1, 1, 3), .4, dtype=torch.float64))", "F.pad(x, (1, 1, 1, 1, 1, 1), 'replicate')"],
          (5,): ["torch.special.i1(x * k)", "torch.special.i1e(x * k)", "F.smooth_l1_loss(x * k, x.detach() * 0, reduction='none')", "F.huber_loss(x * k, x.detach() * 0, reduction='none')",
                 "torch.linalg.vector_norm(x[:, None] * k[:, None], dim=1)", "(x * k).norm()", "torch.nextafter(x, x * k)",
                 "x.scatter_reduce(0, torch.tensor([0, 0, 1, 2, 2]), x * k, 'prod')", "x.index_reduce(0, torch.tensor([0, 0, 1, 2, 2]), x + k, 'prod')", "torch.ones(3, 3).double().index_reduce(0, torch.tensor([0, 1, 1]), x[:3, None] * k[:3], 'amax')",
                 "torch.atan2(x + 1, x * k)", "x.remainder(x * x)", "torch.xlogy(x * k, x)"]}
SHAPED = [(expression, shape) for shape, expressions in SHAPED.items() for expression in expressions]


def twice(module, expression, shape):
    chooser = torch.Generator().manual_seed(3)
    values = (torch.rand(shape, dtype=torch.float64, generator=chooser) * 1.5 + .2).tolist()
    x = module.tensor(values, dtype=module.float64, requires_grad=True)
    scope = {"torch": module, "F": module.nn.functional, "x": x, "k": module.tensor([1., 0., -1., 2., 0.], dtype=module.float64)}
    result = eval(expression, scope)
    results = [each for each in (result if isinstance(result, tuple) else [result]) if each.is_floating_point()]

    def weights(tensor, salt):
        return module.tensor((torch.rand(tuple(tensor.shape), dtype=torch.float64, generator=torch.Generator().manual_seed(salt)) - .5).tolist(),
                             dtype=module.float64).requires_grad_()
    first_weights = [weights(each, 5) for each in results]
    first, = module.autograd.grad(results, [x], first_weights, create_graph=True)
    if not first.requires_grad:
        return [first.tolist()]
    second = module.autograd.grad(first, [x, *first_weights], weights(first, 7).detach(), allow_unused=True)
    return [first.tolist()] + [None if each is None or not each.count_nonzero() else (each + 0).tolist() for each in second]


def flat(value):
    return [item for each in value for item in flat(each)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("expression, shape", SHAPED, ids=[expression for expression, _ in SHAPED])
def test_shaped(expression, shape):
    expected, got = (flat(twice(module, expression, shape)) for module in (torch, kindling))
    assert len(got) == len(expected)
    for ours, theirs in zip(got, expected):
        assert ours is theirs is None or ours == pytest.approx(theirs, rel=1e-7, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("call", ["x // 2", "torch.heaviside(x, x)", "x.unique()", "x.unique_consecutive()", "torch.histogram(x, 3)[0]", "torch.bincount(torch.tensor([0, 1, 1, 2, 2]), x)",
                                  "torch.igamma(x, x)", "(x * 1).igamma_(x)", "(x * 1).floor_divide_(2)"])
def test_without_a_derivative(call):
    for module in torch, kindling:
        x = module.tensor([1., 2., 3., 4., 5.], requires_grad=True)
        result = eval(call, {"torch": module, "x": x})
        assert result.requires_grad
        with pytest.raises(RuntimeError, match="is not implemented"):
            result.sum().backward()


def test_permutations_have_no_gradient():
    for module in torch, kindling:
        p, low, up = module.linalg.lu(module.eye(2, requires_grad=True))
        assert (p.requires_grad, low.requires_grad, up.requires_grad, p.is_leaf) == (False, True, True, True)
        p, low, up = module.lu_unpack(*module.linalg.lu_factor(module.eye(2, requires_grad=True)))
        assert (p.requires_grad, low.requires_grad, up.requires_grad) == (False, True, True)
