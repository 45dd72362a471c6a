"""Forward mode: tangents of what operators give, levels, views, writes in place, and the tape beside it; all as PyTorch has it."""
import contextlib

import numpy as np
import pytest

import kindling

torch = pytest.importorskip("torch")

SETUP = """
fw = torch.autograd.forward_ad
func = torch.func
def randn(*shape, seed=0, dtype=torch.float64):
    torch.manual_seed(seed)
    return torch.randn(*shape, dtype=dtype)
def dual(*shape, seed=0, dtype=torch.float64):
    return fw.make_dual(randn(*shape, seed=seed, dtype=dtype), randn(*shape, seed=seed + 100, dtype=dtype))
def both(value):
    pair = fw.unpack_dual(value)
    return pair.primal, pair.tangent
"""


def plain(value):
    if type(value).__name__ == "Tensor" or hasattr(value, "requires_grad"):
        return ("tensor", value.detach().resolve_conj().numpy().tolist(), bool(value.requires_grad))
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def outcome(module, source):
    names = {"torch": module, "kindling": module}
    exec(SETUP, names)
    try:
        exec(source, names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        with contextlib.suppress(Exception):
            names["fw"].exit_dual_level()
        names["fw"]._set_fwd_grad_enabled(True)
    return plain(names["out"])


def close(one, other):
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, (float, complex)) and isinstance(other, (float, complex)):
        return bool(np.isclose(one, other, 1e-9, 1e-9, equal_nan=True))
    return one == other


def same(source):
    expected, actual = outcome(torch, source), outcome(kindling, source)
    assert close(expected, actual), (expected, actual)


FUNCTIONS = """
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        y = x.exp() * k
        ctx.save_for_backward(x)
        ctx.save_for_forward(x, y)
        ctx.k = k
        return y
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x.exp() * ctx.k, None
    @staticmethod
    def jvp(ctx, t, k):
        assert k is None
        x, y = ctx.saved_tensors
        return t * y
class NoJvp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
class InPlace(torch.autograd.Function):
    good = True
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)
    @staticmethod
    def jvp(ctx, t):
        return t.mul_(3) if InPlace.good else t * 3
class View(torch.autograd.Function):
    good = True
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)
    @staticmethod
    def jvp(ctx, t):
        return t.view_as(t) if View.good else t * 3
class Two(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y, x + y, x > 0
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)
        ctx.mark_non_differentiable(output[2])
    @staticmethod
    def jvp(ctx, a, b):
        x, y = ctx.saved_tensors
        return a * y + b * x, a + b, None
class Wrong(Two):
    @staticmethod
    def jvp(ctx, a, b):
        return a
class Surplus(Two):
    @staticmethod
    def jvp(ctx, a, b):
        return a, b, a
"""
OF_FUNCTIONS = {
    "jvp is called": "out = both(Exp.apply(dual(3), 2))",
    "there is none": "out = both(NoJvp.apply(dual(3)))",
    "in place": "x = dual(3) * 1\nout = both(InPlace.apply(x)), both(x)",
    "in place, tangent not": "InPlace.good = False\nx = dual(3) * 1\nout = both(InPlace.apply(x)), both(x)",
    "in place, tangent not written to": "class Lazy(InPlace):\n    @staticmethod\n    def jvp(ctx, t):\n        return t\nout = both(Lazy.apply(dual(3) * 1))",
    "a view": "x = dual(3) * 1\ny = View.apply(x)\nout = both(y)",
    "a view, tangent not": "View.good = False\nout = both(View.apply(dual(3)))",
    "several": "x, y, z = Two.apply(dual(3), randn(3))\nout = both(x), both(y), both(z)",
    "too few": "out = both(Wrong.apply(dual(3), randn(3)))",
    "of what has none": "out = both(Surplus.apply(dual(3), randn(3)))",
    "recorded": "x = randn(3).requires_grad_()\nout = torch.autograd.grad(both(Exp.apply(fw.make_dual(x, randn(3, seed=1)), 2))[1].sum(), x)",
    "not called where it is off": "with fw._set_fwd_grad_enabled(False):\n    y = NoJvp.apply(dual(3))\nout = y",
}

PROGRAMS = {
    "a chain": "with fw.dual_level():\n    out = both((dual(3).sin() * 2 + 1).exp() / dual(3, seed=1))",
    "complex": "with fw.dual_level():\n    x = dual(3, dtype=torch.complex128)\n    out = both(x * x.conj() + x.abs() * x.angle() + torch.sgn(x))",
    "broadcast": "with fw.dual_level():\n    out = both(dual(3, 1) * dual(4, seed=1) - randn(3, 4))",
    "a module": "m = torch.nn.Linear(4, 3, dtype=torch.float64)\nwith torch.no_grad():\n    m.weight.copy_(randn(3, 4)); m.bias.copy_(randn(3))\n"
                "with fw.dual_level():\n    a, b = both(m(dual(2, 4)))\n    out = a.detach(), b.detach(), a.requires_grad, b.requires_grad",
    "closed level": "with fw.dual_level():\n    y = dual(3) * 2\nout = y, fw.unpack_dual(y).tangent, (y * 2)",
    "tangent is dropped by detach": "with fw.dual_level():\n    x = dual(3)\n    out = both(x.detach()), both(x.data), both(x.clone())",
    "a view of a dual is written to": "with fw.dual_level():\n    x = dual(4) * 1\n    v = x[1:3]\n    v.mul_(dual(2, seed=5))\n    out = both(x), both(v)",
    "a view without tangent gets one": "with fw.dual_level():\n    b = torch.zeros(4, dtype=torch.float64)\n    v, w = b[1:3], b[:2]\n    v.copy_(dual(2))\n"
                                       "    out = both(b), both(v), both(w)",
    "the base is written to": "with fw.dual_level():\n    b = torch.zeros(4, dtype=torch.float64)\n    v = b[1:3]\n    b.add_(dual(4))\n    out = both(b), both(v)",
    "tangent is aliased": "with fw.dual_level():\n    t = randn(3)\n    x = fw.make_dual(randn(3, seed=1), t)\n    x.mul_(3)\n    out = t, both(x)",
    "fill and zero": "with fw.dual_level():\n    x, y, z = dual(3) * 1, dual(3) * 1, dual(3) * 1\n    x.zero_(); y.fill_(2); z[0] = 7\n    out = both(x), both(y), both(z)",
    "uniform": "with fw.dual_level():\n    x = dual(3) * 1\n    x.uniform_()\n    out = fw.unpack_dual(x).tangent",
    "transpose in place": "with fw.dual_level():\n    x = dual(2, 3) * 1\n    x.t_()\n    out = both(x), both(x.contiguous())",
    "no_grad keeps tangents": "with fw.dual_level(), torch.no_grad():\n    out = both(dual(3).exp())",
    "switched off": "with fw.dual_level():\n    x = dual(3)\n    with fw._set_fwd_grad_enabled(False):\n        y = x * 2\n        out = fw.unpack_dual(x).tangent\n"
                    "    out = out, fw.unpack_dual(y).tangent, fw.unpack_dual(x).tangent",
    "comparisons": "with fw.dual_level():\n    x = dual(3)\n    out = fw.unpack_dual(x > 0).tangent, fw.unpack_dual(x.argmax()).tangent, both(x.floor())",
    "several results": "with fw.dual_level():\n    v, i = dual(3, 4).sort(1)\n    out = both(v), fw.unpack_dual(i).tangent, [both(p) for p in dual(4, 2).split(2)]",
    "out": "with fw.dual_level():\n    torch.add(dual(3), 1, out=torch.zeros(3, dtype=torch.float64))",
    "reverse over forward": "x = randn(3).requires_grad_()\nwith fw.dual_level():\n    d = fw.make_dual(x, randn(3, seed=1))\n    p, t = both(d.exp() * d.sin())\n"
                            "    out = torch.autograd.grad(t.sum(), x, retain_graph=True)[0], torch.autograd.grad(p.sum(), x)[0]",
    "forward over reverse": "x = randn(3)\nwith fw.dual_level():\n    d = fw.make_dual(x.requires_grad_(), randn(3, seed=1))\n"
                            "    g, = torch.autograd.grad((d.exp() * d.sin()).sum(), x, create_graph=False)\n    out = both(g)",
    "forward over reverse, saved results": "x = randn(3).requires_grad_()\nwith fw.dual_level():\n    d = fw.make_dual(x, randn(3, seed=1))\n"
                                           "    g, = torch.autograd.grad(torch.softmax(d.tanh(), 0)[0], x)\n    out = both(g)",
    "forward over reverse, norms": "x = randn(3, 4).requires_grad_()\nwith fw.dual_level():\n    d = fw.make_dual(x, randn(3, 4, seed=1))\n"
                                   "    y = torch.nn.functional.layer_norm(d, (4,)).pow(3).sum() + torch.nn.functional.cross_entropy(d, torch.tensor([0, 1, 3]))\n"
                                   "    g, = torch.autograd.grad(y, x)\n    out = both(g)",
    "jvp": "out = func.jvp(lambda x, y: (x @ y).tanh(), (randn(2, 3), randn(3, 2)), (randn(2, 3, seed=1), randn(3, 2, seed=2)))",
    "jvp in jvp": "f = lambda x: func.jvp(lambda y: y ** 3 * x, (x,), (torch.ones_like(x),))[1]\nout = func.jvp(f, (randn(3),), (randn(3, seed=1),))",
    "jvp with a tangent of its own": "out = func.jvp(lambda t: func.jvp(torch.sin, (randn(3),), (t,))[1], (randn(3, seed=1),), (randn(3, seed=2),))",
    "no confusion of levels": "out = func.jvp(lambda x: x * func.jvp(lambda y: x + y, (torch.ones((), dtype=torch.float64),), (torch.ones((), dtype=torch.float64),))[1], "
                              "(randn(()),), (torch.ones((), dtype=torch.float64),))",
    "jvp of grad": "out = func.jvp(func.grad(lambda x: (x ** 3).sum() + x.logsumexp(0)), (randn(3),), (randn(3, seed=1),))",
    "grad of jvp": "out = func.grad(lambda x: func.jvp(lambda y: y.exp() * x, (x,), (x.sin(),))[1].sum())(randn(3))",
    "jvp of vjp": "out = func.jvp(lambda x: func.vjp(torch.tanh, x)[1](x)[0], (randn(3),), (randn(3, seed=1),))",
    "hessian": "out = func.hessian(lambda x: (x.exp() * x[0]).sum())(randn(3)), func.jacfwd(func.jacfwd(lambda x: (x ** 3).sum()))(randn(2)), "
               "func.jacrev(func.jacfwd(lambda x: x.sin() * x[1]))(randn(2))",
    "jacfwd": "out = func.jacfwd(lambda x, y: (x * y.sum(), y @ y), argnums=(0, 1))(randn(2), randn(3, seed=1)), func.jacfwd(lambda x: (x * 2, x), has_aux=True)(randn(2))",
    "functional": "A = torch.autograd.functional\nf = lambda x, y: (x.exp() @ y, y * 2)\n"
                  "out = A.jacobian(f, (randn(2), randn(2, 3, seed=1)), strategy='forward-mode', vectorize=True), "
                  "A.hessian(lambda x: (x ** 3).sum(), randn(2), outer_jacobian_strategy='forward-mode', vectorize=True), "
                  "A.jacobian(lambda x: x ** 2, randn(2), strategy='forward-mode', vectorize=True)",
    "printed": "with fw.dual_level():\n    out = str(dual(2)), str(dual(2).sin()), str(randn(2))",
    "detach in place": "with fw.dual_level():\n    x = dual(3) * 2\n    x.detach_()\n    out = fw.unpack_dual(x).tangent, both(x * 2)",
    "gradcheck": "A = torch.autograd.gradcheck\nx, y = randn(3).requires_grad_(), randn(3, dtype=torch.complex128).requires_grad_()\n"
                 "f = lambda x, y: (x * y, y.abs(), x.cumsum(0), x > 0)\n"
                 "out = [A(f, (x, y), check_forward_ad=True, fast_mode=fast) for fast in (True, False)], torch.autograd.gradgradcheck(lambda x: x.tanh(), (x,), check_fwd_over_rev=True)",
    "lists": "with fw.dual_level():\n    x, y = dual(3) * 1, dual(2, seed=1) * 1\n    torch._foreach_mul_([x, y], 3)\n    torch._foreach_add_([x, y], [dual(3, seed=2), dual(2, seed=3)])\n"
             "    out = both(x), both(y), [both(each) for each in torch._foreach_exp([x, y])]",
    "products": "with fw.dual_level():\n    a, b, v = dual(3, 3), dual(3, 3, seed=1), dual(3, seed=2)\n    c = dual(3, 3, dtype=torch.complex128)\n"
                "    out = [both(each) for each in (a @ b, a.mv(v), v.dot(v), torch.addmm(a, a, b, beta=2, alpha=3), torch.addmv(v, a, v, alpha=2), c @ c.mH, "
                "torch.baddbmm(a[None], a[None], b[None]), torch.addmm(randn(3, 3), randn(3, 3), b), torch.addmm(c, c, c, alpha=2j), torch.outer(v, v))]",
    "convolutions": "F = torch.nn.functional\nwith fw.dual_level():\n    x, w, b = dual(2, 3, 5), dual(4, 3, 2, seed=1), dual(4, seed=2)\n    plain = randn(2, 3, 5), randn(4, 3, 2), randn(4)\n"
                    "    out = [both(each) for each in (F.conv1d(x, w, b), F.conv1d(plain[0], w), F.conv1d(*plain[:2], b), F.conv1d(x[0], w, b), "
                    "F.conv_transpose1d(x, dual(3, 4, 2, seed=3), b), F.conv1d(x, dual(6, 1, 2), groups=3), F.conv1d(plain[0][0], plain[1], b))]",
    "normalisation": "F = torch.nn.functional\nwith fw.dual_level():\n    x, w, b = dual(4, 3), dual(3, seed=1), dual(3, seed=2)\n    mean, var = randn(3), randn(3).square()\n"
                     "    out = [both(each) for each in (F.layer_norm(x, (3,), w, b), F.layer_norm(randn(4, 3), (3,), w), F.batch_norm(x, mean, var, w, b), "
                     "F.batch_norm(x, mean.clone(), var.clone(), w, b, training=True), F.rms_norm(x, (3,), w), F.group_norm(x[None].mT, 3, w, b))], fw.unpack_dual(mean).tangent",
    "norms": "with fw.dual_level():\n    x = dual(3, 4)\n    out = [both(x.norm(p, dim=d, keepdim=k)) for p in (0, 0.5, 1, 1.5, 2, 3, float('inf')) for d in (0, (0, 1)) for k in (True, False)]",
    "leaves nothing behind": "x = randn(3)\nfunc.jvp(torch.sin, (x,), (x,))\nout = fw._current_level, x",
}
ERRORS = [
    "torch.autograd.gradcheck(lambda x: x, (randn(2).requires_grad_(),), check_backward_ad=False, check_undefined_grad=False)",
    "with fw.dual_level():\n    torch.igamma(dual(3), dual(3))",
    "torch.autograd.functional.jacobian(lambda x: x, randn(2), strategy='forward-mode')",
    "torch.autograd.functional.jacobian(lambda x: x, randn(2), strategy='forward-mode', strict=True)",
    "fw.make_dual(randn(3), randn(3))",
    "with fw.dual_level():\n    fw.make_dual(randn(3), randn(4))",
    "with fw.dual_level():\n    fw.make_dual(torch.ones(3, dtype=torch.int64), randn(3))",
    "with fw.dual_level():\n    fw.make_dual(randn(3), torch.ones(3, dtype=torch.int64))",
    "with fw.dual_level():\n    x = dual(3)\n    fw.make_dual(x, randn(3))",
    "with fw.dual_level():\n    x = dual(3)\n    fw.make_dual(randn(3), x)",
    "fw.enter_dual_level()\nfw.enter_dual_level()",
    "fw.enter_dual_level()\nfw.exit_dual_level(level=3)",
    "func.jvp(torch.sin, (randn(3),), (randn(4),))",
    "func.jvp(torch.sin, randn(3), (randn(3),))",
    "func.jvp(torch.sin, (randn(3),), (randn(3), randn(3)))",
    "func.jvp(torch.sin, (1.0,), (1.0,))",
    "func.jvp(lambda x: 1, (randn(3),), (randn(3),))",
    "func.jvp(lambda x: None, (randn(3),), (randn(3),))",
    "func.jacfwd(lambda x: x)(torch.ones(2, dtype=torch.complex64))",
    "func.jvp(lambda x: torch.ones(2), (randn(3),), (randn(3),), strict=True)",
    "func.jvp(lambda x: x, (randn(3),), (randn(3),), has_aux=True)",
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    same(PROGRAMS[name])


@pytest.mark.parametrize("name", OF_FUNCTIONS)
def test_functions(name):
    same(FUNCTIONS + "with fw.dual_level():\n    " + OF_FUNCTIONS[name].replace("\n", "\n    "))


def test_jvp_of_a_function_is_called_for_each_level():
    names = {"torch": kindling}
    exec(FUNCTIONS, names)
    exec("""
class Apart(Exp):
    @staticmethod
    def forward(x, k):
        return x.exp() * k
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0], output)
        ctx.k = inputs[1]
""", names)
    torch, twice = kindling, lambda x: names["Apart"].apply(x, 2)
    x, one = torch.rand(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    inner = lambda y: torch.func.jvp(twice, (y,), (y,))[1]      # noqa: E731
    assert torch.allclose(torch.func.jvp(inner, (x,), (one,))[1], 2 * x.exp() * (1 + x))


@pytest.mark.parametrize("source", ERRORS)
def test_errors(source):
    expected = outcome(torch, source + "\nout = 0")
    assert expected != 0, "PyTorch does not refuse this"
    assert outcome(kindling, source + "\nout = 0") == expected


def test_a_tensor_times_itself_in_place():
    """PyTorch reads the second operand after the write, and gives t * (x + x * x)."""
    torch = kindling
    x, t = torch.tensor([3.0]), torch.tensor([1.0])
    assert torch.func.jvp(lambda y: y.clone().mul_(y), (x,), (t,))[1].item() == 6

    def twice(y):
        y = y.clone()
        return y.mul_(y)
    assert torch.func.jvp(twice, (x,), (t,))[1].item() == 6


def test_tangents_go_with_their_level_and_with_their_tensor():
    import gc
    import weakref
    torch, fw = kindling, kindling.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(torch.ones(3), torch.ones(3))
        y = x * 2
        tangent = weakref.ref(fw.unpack_dual(y).tangent)
        del y
        gc.collect()
        assert tangent() is None
        z = x.exp()
        tangent = weakref.ref(fw.unpack_dual(z).tangent)
    gc.collect()
    assert tangent() is None


def test_a_result_has_a_tangent_of_its_own():
    """What hands a gradient on as it is must not hand its argument's tangent on: that is written to with the result."""
    torch = kindling
    for make in (torch.clone, lambda y: y + 0, lambda y: torch.cat([y]), lambda y: y.repeat(1), lambda y: torch.stack([y])[0], lambda y: y.double().float(),
                 lambda y: torch.where(y > 0, y, y), lambda y: torch.nn.functional.pad(y, (0, 0))):
        t = torch.ones(3)
        torch.func.jvp(lambda y: make(y).mul_(7), (torch.ones(3),), (t,))  # noqa: B023
        assert t.tolist() == [1, 1, 1]


def test_second_tangents_of_what_keeps_statistics():
    """Against differences: PyTorch leaves out what goes through the statistics that these operators keep."""
    torch = kindling
    functional = torch.nn.functional
    torch.manual_seed(0)
    x, d = torch.randn(4, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    w = torch.randn(3, dtype=torch.float64)
    for f in (lambda x: functional.layer_norm(x, (3,), w), lambda x: functional.rms_norm(x, (3,), w), lambda x: x.log_softmax(1), lambda x: x.softmax(0),
              lambda x: functional.batch_norm(x, None, None, w, training=True), lambda x: functional.group_norm(x[None].mT, 3), lambda x: x.norm(dim=1),
              lambda x: torch.linalg.solve(x[:3], x[3]), lambda x: torch.linalg.slogdet(x[:3])[1], lambda x: x.logcumsumexp(0)):
        first = lambda x: torch.func.jvp(f, (x,), (x.sin(),))[1]      # noqa: E731, B023
        second = torch.func.jvp(first, (x,), (d,))[1]
        assert torch.allclose(second, (first(x + 1e-6 * d) - first(x - 1e-6 * d)) / 2e-6, 1e-6, 1e-7)
        weight = torch.randn_like(second)
        gradient = torch.func.grad(lambda x: (first(x) * weight).sum())(x)      # noqa: B023
        assert torch.allclose((gradient * d).sum(), (second * weight).sum())


def test_running_statistics_carry_no_tangent():
    torch, fw = kindling, kindling.autograd.forward_ad
    layer = torch.nn.BatchNorm1d(3)
    with fw.dual_level():
        layer(fw.make_dual(torch.randn(4, 3), torch.randn(4, 3)))
        assert fw.unpack_dual(layer.running_mean).tangent is None


@pytest.mark.parametrize("primal", ["t.arange(5.)[:4]", "t.arange(6.)[1:5]", "t.arange(4.)", "t.arange(8.)[::2]", "t.arange(12.).reshape(4, 3).t()[1]"])
def test_a_tangent_has_room_for_what_the_primals_storage_has(primal):
    def both(t):
        forward, tangent = t.autograd.forward_ad, t.ones(4)
        with forward.dual_level():
            dual = forward.make_dual(eval(primal, {"t": t}), tangent)
            found = forward.unpack_dual(dual).tangent
            seen = [found.stride(), len(found.untyped_storage()), found.storage_offset(), found.tolist()]
            found.mul_(2)
            return *seen, tangent.tolist()
    assert both(kindling) == both(torch)


@pytest.mark.parametrize("fast", [False, True])
def test_gradgradcheck_of_tangents_of_gradients(fast):
    torch = kindling
    x, w = (torch.rand(*shape, dtype=torch.float64, requires_grad=True) for shape in ((1, 2, 5), (3, 2, 2)))
    for f in (torch.nn.functional.conv1d, lambda x, w: (x.mT @ w[0]).tanh(), lambda x, w: torch.nn.functional.layer_norm(x, (5,)) * w[0, 0, 0]):
        torch.autograd.gradgradcheck(f, (x, w), check_fwd_over_rev=True, fast_mode=fast)

    class Wrong(torch.autograd.Function):       # its derivative has a wrong tangent
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad * ctx.saved_tensors[0].detach()

        @staticmethod
        def jvp(ctx, tangent):
            return 2 * tangent * ctx.saved_tensors[0]
    with pytest.raises(RuntimeError, match="forward mode mismatch"):
        torch.autograd.gradgradcheck(Wrong.apply, (x,), check_fwd_over_rev=True, check_rev_over_rev=False, fast_mode=fast)


@pytest.mark.parametrize("call", ["embedding(i, w, max_norm=1.)"])
def test_rows_that_are_scaled_keep_their_tangent(call):
    def both(t):
        t.manual_seed(0)
        forward, tangent = t.autograd.forward_ad, t.ones(4, 4)
        with forward.dual_level():
            w = forward.make_dual(t.randn(4, 4) * 2, tangent)
            found = eval(f"t.nn.functional.{call}", {"t": t, "w": w, "i": t.tensor([[0, 1], [2, 2]])})
            return forward.unpack_dual(found).tangent.tolist(), tangent.tolist()
    assert both(kindling) == both(torch)
