"""The tape: gradients, views and in-place writes, errors, hooks; each snippet runs under both and must show the same."""
import pytest

from both import same

SETUP = """
x = torch.tensor([.5, 1., 1.5, 2.5], requires_grad=True)
w = torch.tensor([.5, -1., 2., 3.], requires_grad=True)
def name(t): return None if t.grad_fn is None else t.grad_fn.name()
def follow(node): return node and [node.name().split("::")[-1], [follow(each[0]) for each in node.next_functions if each[0]]]
"""

GRADIENTS = [
    "(x * w).sum().backward()\nx.grad, w.grad",
    "y = x * w + x\ny.backward(torch.ones(4))\nx.grad, w.grad, follow(y.grad_fn)",
    "y = (x.exp() * 2).sum()\ny.backward(retain_graph=True)\ny.backward()\nx.grad",
    "(x.view(2, 2) @ w.view(2, 2)).sum().backward()\nx.grad, w.grad",
    "torch.autograd.grad((x ** 3).sum(), x)",
    "g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)\nh, = torch.autograd.grad(g.sum(), x, create_graph=True)\n"
    "torch.autograd.grad(h.sum(), x)",
    "g, = torch.autograd.grad((x.exp() * w.sin()).sum(), x, create_graph=True)\ntorch.autograd.grad(g.sum(), [x, w])",
    "torch.autograd.grad([x * 2, w * 3], [x, w], [torch.ones(4), torch.ones(4) * 2])",
    "torch.autograd.grad((x * 2).sum(), [x, w], allow_unused=True)",
    "torch.autograd.grad((x * 2).sum(), [x, w], materialize_grads=True)",
    "y = x * 2\ntorch.autograd.grad(y.exp().sum(), [y, x])",
    "y = x * 2\nz = y * 3\n(y + z).sum().backward(inputs=[w, y]) if False else z.sum().backward(inputs=[y])\ny.grad, x.grad",
    "torch.autograd.grad(x * w, x, torch.eye(4), is_grads_batched=True)",
    "m = torch.ones(3, 4, requires_grad=True)\n(m * x + w[0]).sum().backward()\nm.grad, x.grad, w.grad",
    "s = torch.tensor(2., requires_grad=True)\n(x * s).sum().backward()\ns.grad, x.grad",
    "z = x.detach().to(torch.float64).requires_grad_()\n(x * z).sum().backward()\nx.grad, z.grad",
    "z = torch.tensor([1 + 2j, 3 - 1j, 2j, 1.], requires_grad=True)\n(z * x).abs().sum().backward()\nz.grad, x.grad",
    "z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)\nz.real.sum().backward()\nz.grad",
    "torch.where(x > 2, x, w).sum().backward()\nx.grad, w.grad",
    "x.sum().backward()\nx.sum().backward()\nx.grad",
    "x.sum().backward()\ng = x.grad\nx.sum().backward()\ng is x.grad, g",
    "torch.stack([x, w, x]).sum(0).prod().backward()\nx.grad, w.grad",
    "a, b = x.split(2)\n(a * b).sum().backward()\nx.grad",
    "a, b, c, d = x.unbind()\n(a * c).backward()\nx.grad",
    "v, i = x.max(0)\nv.backward()\nx.grad, i.requires_grad",
    "x.mean().backward()\nx.grad",
    "y = x.detach()\ny.requires_grad, y.is_leaf, y.grad_fn",
    "y = (x * 2).half()\ny.sum().backward()\nx.grad, y.dtype",
]


@pytest.mark.parametrize("source", GRADIENTS)
def test_gradients(source):
    same(source, SETUP)


ERRORS = [
    "x.add_(1)", "x.view(2, 2).add_(1)", "x[0] = 1", "y = (x * x).sum()\ny.backward()\ny.backward()",
    "torch.ones(1).backward()", "(x * 2).backward()", "(x * 2).backward(torch.ones(3))", "(x * 2).backward(3)",
    "torch.autograd.grad((x * 2).sum(), [w])", "torch.autograd.grad((x * 2).sum(), [torch.ones(3)])",
    "y = x.exp()\ny.add_(1)\ny.sum().backward()", "y = x * 1\nz = y * y\ny.add_(1)\nz.sum().backward()",
    "(x * 2).requires_grad_(False)", "torch.ones(2, dtype=torch.int64).requires_grad_()", "x.grad = torch.ones(3)", "x.grad = 3",
    "x.grad = torch.ones(4, dtype=torch.float64)", "torch.ones(2).register_hook(print)", "torch.ones(2).retain_grad()",
    "torch.add(x, x, out=torch.ones(4))", "torch.add(torch.ones(4), 1, out=x)", "y = x * 1\na, b = y.split(2)\na.mul_(2)",
    "a, b = torch.ones(4).split(2)\na.mul_(w[:2])", "(x * 1).unbind()[0].mul_(2)",
    "with torch.no_grad(): v = x.view(2, 2)\nv.mul_(2)", "with torch.inference_mode(): i = torch.ones(4)\ni * x",
    "with torch.inference_mode(): i = torch.ones(4)\ni.add_(1)", "with torch.inference_mode(): i = torch.ones(4)\ni.requires_grad_()",
    "with torch.inference_mode(): i = torch.ones(4)\ni._version", "y = x * 1\nwith torch.inference_mode(): v = y.view(2, 2)\nv.add_(1)",
    "y = x * 1\nv = y.view(2, 2)\nv.detach_()", "(x * 2).numpy()", "torch.autograd.backward([x * 2, x * 3], [torch.ones(4)])",
    "(x * (1 + 1j)).sum().backward()", "(x * 2).backward(torch.ones(4, dtype=torch.complex64))", "(x * 2).sum().backward(inputs=[])",
    "torch.set_grad_enabled(3)", "(x * 1)[:1].expand(3).add_(1)", "(x * 2).register_post_accumulate_grad_hook(print)",
    "x.requires_grad = 1", "torch.autograd.grad(x.sum(), x, materialize_grads=True, allow_unused=False)",
]


@pytest.mark.parametrize("source", ERRORS)
def test_errors(source):
    same(source, SETUP)


IN_PLACE = [
    "y = x * 1\ny.mul_(w)\ny.sum().backward()\nx.grad, w.grad, name(y), y._version",
    "y = x * 1\ny.exp_()\ny.sum().backward()\nx.grad, name(y)",
    "y = x * 1\nv = y.view(2, 2)\nv.mul_(w.view(2, 2))\n(y ** 2).sum().backward()\nx.grad, w.grad, name(y), name(v)",
    "y = x * 1\nv = y[1:3]\ny.mul_(w)\nv.sum().backward()\nx.grad, w.grad, name(v)",
    "y = x * 1\nv = y[1:3]\nu = y[2:]\nv.mul_(w[:2])\nu.sum().backward()\nx.grad, w.grad, name(u)",
    "b = torch.ones(4)\nv = b.view(2, 2)\nb.mul_(w)\nv.requires_grad, v.is_leaf, name(v), name(b)",
    "b = torch.ones(4)\nv = b.view(2, 2)\nv.mul_(w.view(2, 2))\nb.sum().backward()\nw.grad, name(b), name(v), b._version",
    "y = x * 1\ny[1] = 7.\ny.sum().backward()\nx.grad, y",
    "y = x * 1\ny[1:3] = w[:2]\n(y * y).sum().backward()\nx.grad, w.grad",
    "y = x * 1\ny[torch.tensor([0, 2])] = w[:2]\n(y * y).sum().backward()\nx.grad, w.grad",
    "y = x * 1\ny[x > 2] = 0\n(y * y).sum().backward()\nx.grad",
    "y = torch.zeros(4)\ny.copy_(x)\ny.sum().backward()\nx.grad, name(y).split('::')[-1]",
    "y = x * 1\ny.copy_(w)\ny.sum().backward()\nx.grad, w.grad, [f[1] for f in y.grad_fn.next_functions]",
    "g, = torch.autograd.grad(torch.relu(x * w).pow(2).sum(), x, create_graph=True)\ntorch.autograd.grad(g.pow(2).sum(), [x, w])",
    "y = x * 1\ny.zero_()\ny.sum().backward()\nx.grad",
    "y = x * 1\ny.fill_(2.)\ny.sum().backward()\nx.grad",
    "y = x * 1\ny.uniform_()\ny.sum().backward()\nx.grad, y.requires_grad",
    "y = (x * 1).reshape(2, 2).clone()\ny.transpose_(0, 1)\n(y * torch.tensor([[1., 2.], [3., 4.]])).sum().backward()\nx.grad, y.shape",
    "y = x * 1\ny.data.mul_(2)\ny, y._version, y.data._version",
    "y = x * 1\nd = y.detach()\nd.add_(1)\ny._version, d._version",
    "with torch.no_grad(): x.add_(1)\nx, x._version, x.requires_grad",
    "with torch.no_grad(): v = x.view(2, 2)\nv.requires_grad, v.is_leaf, v._base is x, v._is_view()",
    "y = x * 1\nv = y.view(2, 2).t()[0]\nv._base is y, v._is_view(), y._is_view()",
    "y = x.view(2, 2)\ny._base is x, (x * 2)._base, x.detach()._is_view()",
    "y = torch.zeros(2, 2)\nfor i in range(2): y[i] = x[i:i + 2] * w[i]\n(y ** 2).sum().backward()\nx.grad, w.grad",
    "y = torch.zeros(2, 3)\ny[:, 1] = x[:2]\ny[1].mul_(w[0])\ny.sum().backward()\nx.grad, w.grad",
    "y = x * 1\ny.clamp_(2, 3)\ny.sum().backward()\nx.grad",
    "y = x * 1\nz = y.relu_()\nz is y, name(z)",
    "y = x * 1\ny += w\ny -= 1\ny *= w\ny /= 2\ny.sum().backward()\nx.grad, w.grad",
    "y = x.double() * 1\ny.mul_(w)\ny.sum().backward()\nx.grad, w.grad, w.grad.dtype",
    "z = torch.zeros(2, dtype=torch.complex64)\nr = torch.view_as_real(z)\nr[0, 0] = x[0]\nz.abs().sum().backward()\nx.grad",
    "y = x * 1\nv = y.view(2, 2)\ny.retain_grad()\nv.mul_(2)\ny.sum().backward()\ny.grad, x.grad",
    "x.data = torch.ones(2)\nx.shape, x.requires_grad, x.is_leaf",
    "g, = torch.autograd.grad(x.pow(2).sum(), x, create_graph=True)\ng.mul_(x)\ntorch.autograd.grad(g.sum(), x)",
]


@pytest.mark.parametrize("source", IN_PLACE)
def test_in_place_and_views(source):
    same(source, SETUP)


HOOKS = [
    "log = []\ny = x * 2\ny.register_hook(lambda g: log.append(('y', g)))\nx.register_hook(lambda g: g * 10)\ny.sum().backward()\nlog, x.grad",
    "log = []\nh = x.register_hook(lambda g: log.append(g))\nx.sum().backward()\nh.remove()\nx.sum().backward()\nlog",
    "log = []\ny = x * 2\ny.retain_grad()\ny.register_hook(lambda g: g * 3)\ny.sum().backward()\ny.grad, x.grad, y.retains_grad",
    "log = []\ny = x.exp()\ny.register_hook(lambda g: log.append('tensor'))\ny.grad_fn.register_prehook(lambda g: log.append('pre'))\n"
    "y.grad_fn.register_hook(lambda i, o: log.append('post'))\nx.register_hook(lambda g: log.append('leaf'))\n"
    "x.register_post_accumulate_grad_hook(lambda p: log.append('accumulated'))\ny.sum().backward()\nlog",
    "y = x.exp()\ny.grad_fn.register_prehook(lambda g: (g[0] * 2,))\ny.sum().backward()\nx.grad",
    "y = x * w\ny.grad_fn.register_hook(lambda i, o: (i[0] * 2, i[1]))\ny.sum().backward()\nx.grad, w.grad",
    "def step(p): p.grad = None\nx.register_post_accumulate_grad_hook(step)\nx.sum().backward()\nx.grad",
    "y = x * 2\ny.register_hook(lambda g: torch.ones(3))\ny.sum().backward()",
    "y = x * 2\ny.register_hook(lambda g: 3)\ny.sum().backward()",
    "y = x * 2\ny.register_hook(lambda g: 1 / 0)\ny.sum().backward()",
    "log = []\ntorch.autograd.graph.register_multi_grad_hook([x, w], lambda gs: log.append(gs))\n(x * w).sum().backward()\nx.sum().backward()\nlog",
    "log = []\ntorch.autograd.graph.register_multi_grad_hook([x, w], lambda g: log.append(g), mode='any')\n(x * 2 * w).sum().backward()\nlen(log)",
    "log = []\ny = x * 2\ny.register_hook(lambda g: log.append('captured'))\ntorch.autograd.grad(y.exp().sum(), y)\nlog",
    "log = []\ny = x * 1\ny.register_hook(lambda g: log.append(('before', g)))\ny.mul_(2)\ny.register_hook(lambda g: log.append(('after', g)))\n"
    "y.sum().backward()\nlog",
    "log = []\nclass F2(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a): return a * 2\n    @staticmethod\n"
    "    def backward(ctx, g):\n        torch.autograd.Variable._execution_engine.queue_callback(lambda: log.append('end'))\n        log.append('back')\n        return g * 2\n"
    "F2.apply(x).sum().backward()\nlog",
    "x._backward_hooks, x.register_hook(print).id is not None, list(x._backward_hooks.values()) == [print]",
]


@pytest.mark.parametrize("source", HOOKS)
def test_hooks(source):
    same(source, SETUP)


MODES = [
    "with torch.no_grad(): y = x * 2\ny.requires_grad, torch.is_grad_enabled()",
    "with torch.no_grad():\n    with torch.enable_grad(): y = x * 2\ny.requires_grad",
    "@torch.no_grad()\ndef f(): return x * 2\nf().requires_grad, f.__name__",
    "@torch.no_grad\ndef f(): return x * 2\nf().requires_grad",
    "@torch.no_grad()\ndef g():\n    yield torch.is_grad_enabled()\n    yield torch.is_grad_enabled()\nit = g()\n[next(it), torch.is_grad_enabled(), next(it), torch.is_grad_enabled()]",
    "torch.set_grad_enabled(False)\ny = (x * 2).requires_grad\ntorch.set_grad_enabled(True)\ny",
    "with torch.set_grad_enabled(False): y = x * 2\ny.requires_grad, torch.is_grad_enabled()",
    "with torch.inference_mode(): y = x * 2; m = torch.is_inference_mode_enabled()\ny.requires_grad, y.is_inference(), m, torch.is_inference_mode_enabled()",
    "with torch.inference_mode(): v = x.view(2, 2)\nv.is_inference(), v._is_view()",
    "with torch.inference_mode():\n    with torch.inference_mode(False): y = x * 2\ny.requires_grad",
    "@torch.inference_mode()\ndef f(): return x * 2\nf().is_inference()",
    "with torch.inference_mode(): i = torch.ones(4)\n(i.clone() * x).requires_grad",
    "repr(torch.set_grad_enabled(True))",
    "try:\n    with torch.no_grad(): raise ValueError\nexcept ValueError: pass\ntorch.is_grad_enabled()",
]


@pytest.mark.parametrize("source", MODES)
def test_modes(source):
    same(source, SETUP)


GRAPH = [
    "y = x * w\n[f[0].name().split('::')[-1] for f in y.grad_fn.next_functions], y.grad_fn.next_functions[0][0].variable is x",
    "y = x * w\ny.grad_fn._saved_self is x, y.grad_fn._saved_other is w",
    "y = x.exp()\ny.grad_fn._saved_result, y.grad_fn._saved_result.grad_fn is y.grad_fn",
    "y = x.sum(0)\ny.grad_fn.metadata, y.grad_fn.name()",
    "y = x.exp()\ny.sum().backward()\ny.grad_fn._saved_result",
    "y = x.exp()\ntype(y.grad_fn).__name__, isinstance(y.grad_fn, torch.autograd.graph.Node)",
    "e = torch.autograd.graph.get_gradient_edge(x * 2)\ne.node.name(), e.output_nr",
    "y = x * 2\ne = torch.autograd.graph.get_gradient_edge(y)\ntorch.autograd.grad(y.exp().sum(), [e])",
    "packed = []\nwith torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t * 2, lambda t: t): y = x.exp()\ny.sum().backward()\nx.grad, len(packed)",
    "with torch.autograd.graph.save_on_cpu(): y = x.exp() * w\ny.sum().backward()\nx.grad, w.grad",
    "with torch.autograd.graph.disable_saved_tensors_hooks('no'):\n    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): pass\n1",
    "y = x.exp()\ny.grad_fn._raw_saved_result.register_hooks(lambda t: t * 2, lambda t: t)\ny.sum().backward()\nx.grad",
    "with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t): y = x.exp() * w\n"
    "g, = torch.autograd.grad(y.sum(), x, create_graph=True)\ntorch.autograd.grad(g.sum(), [x, w])",
    "with torch.autograd.graph.allow_mutation_on_saved_tensors():\n    a = x * 1\n    b = a * a\n    a.mul_(3)\n    b.sum().backward()\nx.grad",
    "y = x * 2\ny.output_nr, x.output_nr, x.split(2)[1].output_nr",
    "(x * 2).grad_fn(torch.ones(4))",
]


@pytest.mark.parametrize("source", GRAPH)
def test_graph(source):
    same(source, SETUP)


@pytest.mark.parametrize("use", ["(x * w.t()).sum()", "x.sum()", "x.t().contiguous().sum()", "(x.t() * w).sum()", "x.mean() + (x * 2).sum()"])
@pytest.mark.parametrize("create_graph", [False, True])
def test_retained_gradients_lie_in_order(use, create_graph):
    """Whatever the strides of what arrives, and they are nobody else's."""
    for made in ("a * 2", "(a * 2).t().contiguous().t()", "(a.t() * 2).t()"):
        same(f"a = torch.ones(3, 2, requires_grad=True)\nw = torch.arange(6.).reshape(2, 3)\nx = {made}\nx.retain_grad()\n"
             f"y = {use}\ny.backward(retain_graph=True, create_graph={create_graph})\ng = x.grad\ny.backward(create_graph={create_graph})\n"
             "x.grad.stride(), x.grad.tolist(), x.grad.requires_grad, g.stride(), g is x.grad")
    same("a = torch.ones(2, 3, requires_grad=True)\nx = a * 2\nx.retain_grad()\ng = torch.ones(3, 2).t()\nx.backward(g)\ng.add_(5)\nx.grad, x.grad.stride()")


@pytest.mark.parametrize("call", ["x.resize_(2)", "x.resize_(3)", "x.resize_as_(torch.ones(2))", "(x * 2).resize_(2)", "x.data.resize_(2)", "x.detach().resize_(2)"])
def test_resize_of_what_requires_grad(call):
    for mode in ("torch.no_grad()", "torch.enable_grad()", "torch.inference_mode()"):
        same(f"x = torch.ones(3, requires_grad=True)\nwith {mode}:\n    r = {call}.shape\nr", message=False)
