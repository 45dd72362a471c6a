"""torch.fx.experimental.proxy_tensor.make_fx beside torch: the graph's results, and its operators where both have the same parts."""
import importlib

import pytest
from both import run

SETUP = """
import importlib
make_fx = importlib.import_module(torch.__name__ + ".fx.experimental.proxy_tensor").make_fx
x, y = torch.arange(6.).reshape(2, 3) / 3, torch.ones(3)
lin = nn.Linear(3, 2)
def g(x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad((x.sin() * x).sum(), x)[0]
def code(f, *args):
    gm = make_fx(f)(*args)
    return gm.code.strip(), gm(*args)
def values(f, *args):
    gm = make_fx(f)(*args)
    # Other inputs of the same shapes: nothing of the first ones is left in the graph.
    other = [a * 2 + 1 if isinstance(a, torch.Tensor) else a for a in args]
    assert torch.allclose(gm(*other), f(*other)), gm.code
    return gm(*args)
"""


@pytest.mark.parametrize("call", [
    "code(lambda x: x.sin() + 1, x)", "code(lambda x, y: (x + y).relu() @ y, x, y)", "code(lambda x: x.split(1), x)",
    "code(lambda d: {'o': d['a'] * d['b'][0]}, {'a': x, 'b': [y]})", "code(lambda x: x.clone().add_(1).mul(2), x)", "code(lambda x: x + y, x)",
    "code(lambda x: torch.max(x, 1)[0], x)", "code(lambda x: F.softmax(x, -1), x)", "code(lambda x: x.view(6)[1:3].t(), x)", "code(lambda x: lin(x), x)[0]",
    "code(lambda x, n: x * n, x, 3)", "code(lambda x: x, x)", "code(lambda x: torch.cat([x, x]), x)",
    "code(lambda x: x.to(torch.float64).mean(0, keepdim=True), x)", "code(lambda *a: a[0] + a[1], x, y)",
])
def test_graphs_of_operators(call):
    assert run("kindling", call, SETUP) == run("torch", call, SETUP)


@pytest.mark.parametrize("call", [
    "values(g, x)", "values(lambda x: F.linear(x, torch.ones(4, 3), torch.ones(4)), x)", "values(lambda x: torch.ones(2, 3) + x, x)",
    "values(lambda x: torch.einsum('ij,ij->i', x, x), x)", "values(lambda x: F.conv2d(x.view(1, 1, 2, 3), torch.ones(1, 1, 1, 2)), x)",
    "values(lambda x: F.layer_norm(x, (3,)), x)", "values(lambda x: torch.where(x > 1, x, 0.), x)", "values(lambda x: x.detach().exp(), x)",
    "values(lambda x: x.max(1).values + x.sort(1)[0].sum(1) + x.topk(2, 1)[0][:, 0] + torch.linalg.eigh(x @ x.T).eigenvalues, x)",
    "values(lambda x: torch.std_mean(x, 1)[0] + x.unbind(1)[0] + x.chunk(3, 1)[1].sum(1) + x.median(1)[0], x)",
    "values(lambda x: nn.functional.gelu(x.clone().mul_(2).sub_(x)).cumsum(1).index_select(0, torch.tensor([1, 0])), x)",
    "values(lambda x: nn.functional.scaled_dot_product_attention(x.view(1, 1, 2, 3), x.view(1, 1, 2, 3), x.view(1, 1, 2, 3)), x)",
])
def test_graphs_do_what_the_function_does(call):
    assert run("kindling", call, SETUP) == run("torch", call, SETUP)


@pytest.mark.parametrize("call", ["lambda x: x.sum().item()", "lambda x: x + 1 if x.sum() > 0 else x", "lambda x: x * float(x[0, 0])", "lambda x: x.tolist()",
                                  "lambda x: x[int(x.sum()):]"])
def test_values_of_traced_tensors_are_refused(call):
    with_ = run("kindling", f"code({call}, x)", SETUP)
    assert with_.startswith("RuntimeError: It appears that you're trying to get value out of a tracing tensor"), with_


def test_decompositions():
    torch = importlib.import_module("kindling")
    make_fx = importlib.import_module("kindling.fx.experimental.proxy_tensor").make_fx
    table = {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}
    graph = make_fx(lambda x: torch.nn.functional.silu(x), table)(torch.ones(2)).graph
    assert [str(node.target) for node in graph.nodes if node.op == "call_function"] == ["aten.sigmoid.default", "aten.mul.Tensor"]
