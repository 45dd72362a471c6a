"""torch.autograd.Function, gradcheck, functional, anomaly mode, long chains, threads and re-entry: the same under both."""
import itertools

import pytest

from both import same

SETUP = """
from torch.autograd import Function
x = torch.tensor([1., 2., 3.], requires_grad=True)
w = torch.tensor([2., 3., 4.], requires_grad=True)
class Mul(Function):
    @staticmethod
    def forward(ctx, a, b, k=1):
        ctx.save_for_backward(a, b)
        ctx.k = k
        ctx.needs = ctx.needs_input_grad
        return a * b * k
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b * ctx.k, g * a * ctx.k, None
""".replace("from torch.autograd import Function", "Function = torch.autograd.Function")


def function(forward, backward, setup=""):
    lines = ["class F1(Function):", "    @staticmethod", f"    def forward({forward[0]}):"]
    lines += ["        " + line for line in forward[1:]]
    lines += ["    @staticmethod", f"    def backward({backward[0]}):"] + ["        " + line for line in backward[1:]]
    return "\n".join(lines) + "\n" + setup


FUNCTIONS = [
    "y = Mul.apply(x, w, 3)\ny.sum().backward()\nx.grad, w.grad, y.grad_fn.name(), y.grad_fn.needs, type(y.grad_fn).__name__",
    "y = Mul.apply(x, w.detach())\ny.grad_fn.needs_input_grad, len(y.grad_fn.next_functions)",
    "y = Mul.apply(x, w)\ng, = torch.autograd.grad(y.sum(), x, create_graph=True)\ntorch.autograd.grad((g * g).sum(), w)",
    "with torch.no_grad(): y = Mul.apply(x, w)\ny.requires_grad, y.grad_fn",
    "y = Mul.apply(x, w)\ny.sum().backward()\ny.sum().backward()",
    "y = Mul.apply(x, w)\ny.sum().backward()\ny.grad_fn.saved_tensors",
    "y = Mul.apply(x * 1, w)\n[type(t).__name__ for t in y.grad_fn.saved_tensors], y.grad_fn.saved_tensors[1] is w",
    function(["ctx, a", "y = a.exp()", "ctx.save_for_backward(y)", "return y"], ["ctx, g", "return g * ctx.saved_tensors[0]"],
             "y = F1.apply(x)\ny.grad_fn.saved_tensors[0].grad_fn is y.grad_fn, torch.autograd.grad(y.sum(), x)"),
    function(["ctx, a", "ctx.mark_dirty(a)", "a.mul_(2)", "return a"], ["ctx, g", "return g * 2"],
             "y = x * 1\nz = F1.apply(y)\nz.sum().backward()\nz is y, x.grad, y._version, y.grad_fn.name()"),
    function(["ctx, a", "ctx.mark_dirty(a)", "a.mul_(2)", "return a"], ["ctx, g", "return g * 2"], "F1.apply(x)"),
    function(["ctx, a", "ctx.mark_dirty(a)", "return a * 2"], ["ctx, g", "return g * 2"], "F1.apply(x * 1)"),
    function(["ctx, a", "return a"], ["ctx, g", "return g * 5"], "y = F1.apply(x)\ny.sum().backward()\ny is x, x.grad, y.grad_fn.name()"),
    function(["ctx, a", "return a.view(3, 1)"], ["ctx, g", "return g.view(3)"], "y = F1.apply(x * 1)\ny.mul_(2)"),
    function(["ctx, a", "ctx.mark_non_differentiable(i := a.argsort())", "return a * 2, i"], ["ctx, g, i", "return g * 2"],
             "y, i = F1.apply(x)\ny.sum().backward()\nx.grad, i.requires_grad"),
    function(["ctx, a", "b = a * 3", "ctx.mark_non_differentiable(b)", "return a * 2, b"], ["ctx, g, h", "return g * 2 + h"],
             "y, b = F1.apply(x)\ny.sum().backward()\nx.grad, b.requires_grad"),
    function(["ctx, a", "ctx.set_materialize_grads(False)", "return a * 2, a * 3"], ["ctx, g, h", "return g if h is None else h"],
             "y, z = F1.apply(x)\ny.sum().backward()\nx.grad"),
    function(["ctx, a", "return a * 2, a * 3"], ["ctx, g, h", "return g + h"], "y, z = F1.apply(x)\ny.sum().backward()\nx.grad"),
    function(["ctx, a, b", "return a * b"], ["ctx, g", "return g"], "F1.apply(x, w).sum().backward()"),
    function(["ctx, a", "return a * 2"], ["ctx, g", "return g, None, None"], "F1.apply(x).sum().backward()\nx.grad"),
    function(["ctx, a", "return a * 2"], ["ctx, g", "return g[:2]"], "F1.apply(x).sum().backward()\nx.grad"),
    function(["ctx, a", "return a * 2"], ["ctx, g", "return 3"], "F1.apply(x).sum().backward()\nx.grad"),
    function(["ctx, a, k", "return a * k"], ["ctx, g", "return g, g"], "F1.apply(x, 2).sum().backward()\nx.grad"),
    function(["ctx, a", "return a * 2"], ["ctx, g", "raise ValueError('inside')"], "F1.apply(x).sum().backward()"),
    function(["ctx, a", "return 'text'"], ["ctx, g", "return g"], "F1.apply(x)"),
    function(["ctx, a", "return a * 2, 'text', 3"], ["ctx, g, h, i", "return g"], "y = F1.apply(x)\ny[0].sum().backward()\ny[1:], x.grad"),
    function(["ctx, a", "ctx.save_for_backward(3)", "return a * 2"], ["ctx, g", "return g"], "F1.apply(x)"),
    "class S(Function):\n    @staticmethod\n    def forward(a, k): return a * k\n    @staticmethod\n    def setup_context(ctx, inputs, output):\n"
    "        ctx.k = inputs[1]\n        ctx.save_for_backward(output)\n    @staticmethod\n    def backward(ctx, g): return g * ctx.k, None\n"
    "y = S.apply(x, 4)\ny.sum().backward()\nx.grad",
    "class O(Function):\n    @staticmethod\n    def forward(ctx, a): return a * 2\n    @staticmethod\n    @torch.autograd.function.once_differentiable\n"
    "    def backward(ctx, g): return g * 2\n"
    "g, = torch.autograd.grad(O.apply(x * 1).pow(2).sum(), x, create_graph=True)\ng, torch.autograd.grad(g.sum(), x)",
    "class N(Function):\n    @staticmethod\n    def forward(ctx, a): return a * 2\nN.apply(x).sum().backward()",
    "class N(Function): pass\nN.apply(x)",
    "class C(Function):\n    @staticmethod\n    def forward(ctx, a, b):\n        return a * b\n    @staticmethod\n    def backward(ctx, g):\n"
    "        seen.append(ctx.needs_input_grad)\n        return g, g\nseen = []\ny = C.apply(x, w)\ntorch.autograd.grad(y.sum(), w)\nseen",
    "y = Mul.apply(x, w)\nrepr(y.grad_fn).partition(' at ')[0], type(y.grad_fn), repr((y * 1).grad_fn).partition(' at ')[0]",
    "y = Mul.apply(x, w)\ny.grad_fn.k = 7\ny.grad_fn.metadata['a'] = 1\ny.grad_fn.k, y.grad_fn.metadata",
]


@pytest.mark.parametrize("source", FUNCTIONS)
def test_function(source):
    same(source, SETUP)


DEEP = [
    "y = torch.ones(1, requires_grad=True)\nz = y\nfor i in range(300000): z = z + 1\nz.backward()\ny.grad",
    "y = torch.ones(1, requires_grad=True)\nz = y\nfor i in range(300000): z = z * 1.0\ndel z\ny.grad",
    "class R(Function):\n    @staticmethod\n    def forward(ctx, a):\n        ctx.save_for_backward(a)\n        return a.detach()\n    @staticmethod\n"
    "    def backward(ctx, g):\n        a, = ctx.saved_tensors\n        with torch.enable_grad():\n            b = a.detach().requires_grad_()\n"
    "            (b * b).sum().backward()\n        return b.grad * g\nR.apply(x).sum().backward()\nx.grad",
    "class D(Function):\n    @staticmethod\n    def forward(ctx, a):\n        ctx.n = a.item()\n        return a.detach() - 1\n    @staticmethod\n"
    "    def backward(ctx, g):\n        if ctx.n <= 0: return g\n        with torch.enable_grad():\n"
    "            D.apply(torch.tensor([ctx.n - 1], requires_grad=True)).sum().backward()\n        return g\n"
    "z = torch.tensor([300.], requires_grad=True)\nD.apply(z).sum().backward()\nz.grad",
    "import threading\ny = (x * 2).pow(2).sum()\n"
    "ts = [threading.Thread(target=lambda: [y.backward(retain_graph=True) for _ in range(20)]) for _ in range(4)]\n"
    "[t.start() for t in ts]\n[t.join() for t in ts]\nx.grad",
    "import threading\nout = []\ndef work():\n    a = torch.ones(3, requires_grad=True)\n    Mul.apply(a, a * 2).sum().backward()\n    out.append(a.grad)\n"
    "ts = [threading.Thread(target=work) for _ in range(4)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nout",
    "import gc, weakref\nclass Keep: pass\nk = Keep()\nr = weakref.ref(k)\ny = Mul.apply(x, w)\ny.grad_fn.keep = k\ny.grad_fn.out = y\ndel k, y\ngc.collect()\nr()",
]


@pytest.mark.parametrize("source", DEEP)
def test_deep_threads_and_garbage(source):
    same(source, SETUP)


CHECKS = [
    "a = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)\ntorch.autograd.gradcheck(lambda t: (t.exp() * t).sum(0), [a])",
    "a = torch.randn(3, dtype=torch.complex128, requires_grad=True)\ntorch.autograd.gradcheck(lambda t: t * t.conj() + t.exp(), [a])",
    "a = torch.randn(3, dtype=torch.complex128, requires_grad=True)\ntorch.autograd.gradcheck(lambda t: t.abs(), [a])",
    "a = torch.randn(3, dtype=torch.float64, requires_grad=True)\ntorch.autograd.gradgradcheck(lambda t: t ** 3, [a])",
    "a = torch.randn(3, dtype=torch.float64, requires_grad=True)\ntorch.autograd.gradcheck(lambda t: Wrong.apply(t), [a], raise_exception=False)",
    "a = torch.randn(3, dtype=torch.float64)\ntorch.autograd.gradcheck(lambda t: t, [a])",
    "a = torch.randn(3, dtype=torch.float64, requires_grad=True)\ntype(torch.autograd.gradcheck.GradcheckError).__name__ if False else 1",
]
WRONG = SETUP + """
class Wrong(Function):
    @staticmethod
    def forward(ctx, a): return a * 2
    @staticmethod
    def backward(ctx, g): return g * 3
"""


@pytest.mark.parametrize("source", CHECKS)
def test_gradcheck(source):
    same(source, WRONG)


FUNCTIONAL = [
    "A.jacobian(lambda a: a ** 2 * w.detach(), x)", "A.jacobian(lambda a, b: (a * b, a.sum()), (x, w))",
    "A.hessian(lambda a: (a ** 3).sum(), x)", "A.hessian(lambda a, b: (a * a * b).sum(), (x, w))",
    "A.vjp(lambda a: a ** 2, x, torch.ones(3))", "A.vjp(lambda a: (a ** 2).sum(), x)", "A.jvp(lambda a: a ** 2, x, torch.ones(3))",
    "A.hvp(lambda a: (a ** 3).sum(), x, torch.ones(3))", "A.vhp(lambda a: (a ** 3).sum(), x, torch.ones(3))",
    "A.jacobian(lambda a: a ** 2, x, create_graph=True).requires_grad", "A.jacobian(lambda a: a.detach(), x)",
    "A.jacobian(lambda a: a.detach(), x, strict=True)", "A.vjp(lambda a: a ** 2, x)", "A.vjp(lambda a: a ** 2, x, torch.ones(2))",
    "A.jacobian(lambda a: a ** 2, x, vectorize=True)",
]


@pytest.mark.parametrize("source", FUNCTIONAL)
def test_functional(source):
    same(source, SETUP + "\nA = torch.autograd.functional\n")


ANOMALY = [
    "with torch.autograd.set_detect_anomaly(True): y = (x - x).sqrt().sum(); y.backward()",
    "with torch.autograd.set_detect_anomaly(True):\n    y = x.sqrt()\n'traceback_' in y.grad_fn.metadata, torch.is_anomaly_enabled()",
    "with torch.autograd.detect_anomaly(): y = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()\ny, torch.is_anomaly_enabled()",
    "import warnings\nwith warnings.catch_warnings(record=True) as seen, torch.autograd.set_detect_anomaly(True):\n    warnings.simplefilter('always')\n"
    "    y = (x * 0).log().mul(0).sum()\n    try: y.backward()\n    except RuntimeError as e: text = str(e)\ntext, 'Traceback of forward call that caused the error' in str(seen[-1].message)",
]


@pytest.mark.parametrize("source", ANOMALY)
def test_anomaly(source):
    same(source, SETUP)


FORWARD = [
    "with fw.dual_level():\n    d = fw.make_dual(x.detach(), torch.tensor([1., 0., 2.]))\n    y = fw.unpack_dual(d.exp() * w.detach())\ny.primal, y.tangent",
    "with fw.dual_level():\n    d = fw.make_dual(x.detach(), torch.ones(3))\n    e = fw.make_dual(w.detach(), torch.ones(3) * 2)\n"
    "    y = fw.unpack_dual((d * e).sum())\ny.tangent",
    "with fw.dual_level():\n    d = fw.make_dual(x, torch.ones(3))\n    y = fw.unpack_dual(d ** 3).tangent\ntorch.autograd.grad(y.sum(), x)",
    "with fw.dual_level():\n    y = fw.unpack_dual(x.detach())\ny.tangent",
    "fw.make_dual(x, torch.ones(3))",
    "with fw.dual_level(): fw.make_dual(torch.ones(3, dtype=torch.int64), torch.ones(3))",
    "z = torch.tensor([1 + 2j, 3 - 1j])\nwith fw.dual_level():\n    d = fw.make_dual(z, torch.tensor([1j, 2.]))\n    y = fw.unpack_dual(d * d).tangent\ny",
    "a = torch.randn(3, dtype=torch.float64, requires_grad=True)\ntorch.autograd.gradcheck(lambda t: (t.exp() * t).cumsum(0), [a], check_forward_ad=True)",
]


@pytest.mark.parametrize("source", FORWARD)
def test_forward_mode(source):
    same(source, SETUP + "\nfw = torch.autograd.forward_ad\n")


def test_outputs_that_are_inputs():
    """Written or not, differentiable or not, of a leaf or not, with gradients or without: what comes out, and what becomes of the input."""
    for dirty, marked, result, leaf, mode in itertools.product([0, 1], [0, 1], ["a", "a.view(-1)", "a * 3", "(a, a * 2)"], [0, 1], ["no_grad", "enable_grad"]):
        if not dirty and marked and "view" in result:
            continue
        body = ["ctx, a", *["ctx.mark_dirty(a)", "a.mul_(2)"] * dirty, f"r = {result}"]
        body += ["ctx.mark_non_differentiable(r[0] if type(r) is tuple else r)"] * marked + ["return r"]
        same(function(body, ["ctx, g, *h", "return g"],
                       f"z = {'x' if leaf else 'x * 1'}\nwith torch.{mode}(): y = F1.apply(z)\ny = y[0] if type(y) is tuple else y\n"
                       "z.requires_grad, z.is_leaf, z.grad_fn is None, y.requires_grad, y.is_leaf, y.grad_fn is None, y is z, y._is_view(), "
                       "y.data_ptr() == z.data_ptr(), y.tolist(), z.tolist(), z._version, y._version"), SETUP)


@pytest.mark.parametrize("view", [False, True])
def test_what_a_function_wrote_to_has_no_gradient_yet(view):
    def run(torch):
        class Dirty(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x.mul_(2))
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        x = torch.ones(3, requires_grad=True) * 1
        x = x[:2] if view else x
        x.retain_grad()
        x.sum().backward(retain_graph=True)
        before = x.grad.tolist()
        Dirty.apply(x)
        after = x.grad
        x.sum().backward()
        return before, after, x.grad.tolist()

    import torch as reference

    import kindling

    assert run(kindling) == run(reference)
