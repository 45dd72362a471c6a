"""Sizes as symbols (core/size.h): what make_fx records with tracing_mode="symbolic" holds for other sizes, and says where it does not."""

import pytest

torch = pytest.importorskip("torch")

import kindling
from kindling.fx.experimental.proxy_tensor import make_fx

# Programs whose graphs are PyTorch's, line by line: each is a composition that goes on with symbols, or arithmetic in Python.
PROGRAMS = {
    "view": lambda t, x: x.view(x.shape[0], -1),
    "flatten": lambda t, x: x.flatten(1),
    "arithmetic": lambda t, x: x.view(x.shape[0] * x.size(1), x.size(-1)),
    "unused": lambda t, x: x.relu() if x.shape else x,
    "expand_as": lambda t, x: x.sum(1, keepdim=True).expand_as(x),
    "view_as": lambda t, x: x.relu().view_as(x),
    "reshape_as": lambda t, x: x.relu().reshape_as(x),
    "number": lambda t, x: x.shape[0] * 2 + 1,
    "floordiv": lambda t, x: x.new_zeros(x.shape[0] // 2, x.shape[1] % 4),
    "gradient": lambda t, x: t.autograd.grad(x.sum(), x)[0],
}
# Programs whose graphs differ in which operators they name: what they give at other sizes is compared.
MORE = {
    "matmul": lambda t, x: t.matmul(x, x.new_ones(5, 7)),
    "of_view": lambda t, x: t.autograd.grad(x.view(x.shape[0], -1).sum(), x)[0],
    "unflatten": lambda t, x: x.unflatten(1, (2, -1)),
    "unflatten_symbol": lambda t, x: x.flatten(0, 1).unflatten(0, (x.shape[0], x.shape[1])),
    "repeat": lambda t, x: x.repeat(2, 1, x.shape[0]),
    "tile": lambda t, x: x.tile(2, x.shape[1]),
    "chunk": lambda t, x: x.chunk(2, 0)[1],
    "reshape": lambda t, x: x.transpose(0, 1).reshape(-1, 5),
    "broadcast_to": lambda t, x: x[:1].broadcast_to(x.shape[0], x.shape[1], 5),
    "mixed": lambda t, x: t.nn.functional.pixel_shuffle(x.flatten(1).view(x.shape[0], x.shape[1], 5, 1).repeat(1, 4, 1, 1), 2),
    "sum_grad": lambda t, x: t.autograd.grad((x * x).flatten(1).sum(), x)[0],
    "batch": lambda t, x: t.stack([x.flatten(0, 1).sum(0)] * 2).view(-1),
}

GUARDED = {"unflatten", "unflatten_symbol"}


def graph_of(module, function):
    x = module.arange(120.0).view(4, 6, 5).requires_grad_()
    trace = make_fx if module is kindling else torch.fx.experimental.proxy_tensor.make_fx
    return trace(lambda x: function(module, x), tracing_mode="symbolic")(x)


def text(graph):
    """The graph's result as one expression, without arguments that one side alone writes down."""
    known = {}

    def show(value):
        if isinstance(value, (list, tuple)):
            return "[" + ", ".join(map(show, value)) + "]"
        return known.get(getattr(value, "name", None)) or str(value)

    for node in graph.graph.nodes:
        if node.op == "call_function":
            name = getattr(node.target, "__name__", str(node.target)).removeprefix("aten.")
            known[node.name] = f"{name}({', '.join(map(show, node.args))})"
    (result,) = (node.args[0] for node in graph.graph.nodes if node.op == "output")
    return show(result)


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_are_those_of_pytorch(name):
    import torch.fx.experimental.proxy_tensor

    ours, theirs = graph_of(kindling, PROGRAMS[name]), graph_of(torch, PROGRAMS[name])
    assert text(ours) == text(theirs)


@pytest.mark.parametrize("name", [*PROGRAMS, *MORE])
@pytest.mark.parametrize("shape", [(4, 6, 5), (8, 2, 5), (2, 10, 5)])
def test_a_graph_holds_for_other_sizes(name, shape):
    function = {**PROGRAMS, **MORE}[name]
    graph = graph_of(kindling, function)
    # Tensor.unflatten compares sizes, in Python.
    assert bool(graph.shape_env.guards) == (name in GUARDED)
    x = kindling.randn(shape).requires_grad_()
    given, wanted = graph(x), function(kindling, x)
    if isinstance(wanted, kindling.Tensor):
        assert given.shape == wanted.shape and kindling.equal(given, wanted)
    else:
        assert given == wanted


def test_what_a_graph_relies_on_is_told():
    def branch(x):
        return x + 1 if x.shape[0] > 3 else x - 1

    graph = make_fx(branch, tracing_mode="symbolic")(kindling.ones(4, 2))
    assert [guard.expr for guard in graph.shape_env.guards] == ["x_1.size(0) > 3"]
    small = make_fx(branch, tracing_mode="symbolic")(kindling.ones(2, 2))
    assert [guard.expr for guard in small.shape_env.guards] == ["x_1.size(0) <= 3"]
    # A composition that takes sizes as numbers: what it made holds for them alone.
    stays = make_fx(lambda x: kindling.tensor_split(x, x.shape[0] // 2), tracing_mode="symbolic")(kindling.ones(4, 2))
    assert [guard.expr for guard in stays.shape_env.guards] == ["Eq(floordiv(x_1.size(0), 2), 2)"]
    index = make_fx(lambda x: x[int(x.shape[0]) - 1], tracing_mode="symbolic")(kindling.ones(4, 2))
    assert [guard.expr for guard in index.shape_env.guards] == ["Eq(x_1.size(0), 4)"]


def test_a_size_is_an_operand():
    graph = make_fx(lambda x: (x / x.shape[0]).sum() + x.numel(), tracing_mode="symbolic")(kindling.ones(4, 2))
    assert graph(kindling.ones(10, 2)).item() == 22 and not graph.shape_env.guards


def test_sizes_are_numbers_again_after_a_trace():
    kept = []

    def function(x):
        kept.append(x.shape[0])
        y = x.flatten()
        kept.append(y.sum())
        return y

    x = kindling.ones(2, 3, requires_grad=True)
    graph = make_fx(function, tracing_mode="symbolic")(x)
    assert graph(kindling.ones(5, 5)).shape == (25,)
    assert type(x.shape[0]) is int and isinstance(kept[0], kindling.SymInt)
    kept[1].backward()      # what was saved then has symbols of a trace that is over
    assert x.grad.tolist() == [[1.0] * 3] * 2
    again = make_fx(lambda x: x.view(x.shape[1], -1), tracing_mode="symbolic")(x)
    assert again(kindling.ones(5, 4)).shape == (4, 5)


def test_an_error_ends_the_recording():
    with pytest.raises(RuntimeError, match="shape"):
        make_fx(lambda x: x.view(x.shape[0] + 1, -1), tracing_mode="symbolic")(kindling.ones(4, 3))
    assert type(kindling.ones(2).shape[0]) is int
    with pytest.raises(RuntimeError, match="too large|overflow"):
        make_fx(lambda x: x.repeat(2**62, 2, x.shape[0]), tracing_mode="symbolic")(kindling.ones(4, 3))
    assert kindling.ones(2, 2).flatten().shape == (4,)


def test_traces_in_traces():
    inner = []

    def function(x):
        inner.append(make_fx(lambda y: y.view(y.shape[0], -1), tracing_mode="symbolic")(kindling.ones(2, 3, 4)))
        return x.flatten(1)

    graph = make_fx(function, tracing_mode="symbolic")(kindling.ones(4, 3, 2))
    assert graph(kindling.ones(2, 5, 5)).shape == (2, 25) and inner[0](kindling.ones(3, 3, 3)).shape == (3, 9)


def test_decompositions_see_symbols():
    table = {kindling.ops.aten.relu.default: lambda x: x.new_zeros(x.shape[0], 1) + x}
    graph = make_fx(lambda x: x.relu(), table, tracing_mode="symbolic")(kindling.ones(4, 2))
    assert graph(kindling.ones(3, 2)).tolist() == [[1.0, 1.0]] * 3


def test_operators_take_sizes():
    """As make_fx asks modes for functions, its calls do not come by the signs; those under a dispatch mode alone do."""
    from kindling import _C
    from kindling.fx.experimental._sizes import Sizes

    made = []

    class Recorder:
        def node_of(self, tensor):
            return "x" if tensor is x else None

        def track(self, shape, node):
            raise AssertionError("nothing is saved here")

    x = kindling.tensor([2.0, 3.0, 4.0])
    with Sizes(Recorder(), lambda function, parts, name: made.append(name) or len(made)) as sizes:
        rows = x.shape[0]
        results = [x + rows, rows + x, x - rows, rows - x, x * rows, x / rows, rows / x, x // rows, x % rows, x ** rows, x > rows]
    assert [each.tolist() for each in results] == [
        [5, 6, 7], [5, 6, 7], [-1, 0, 1], [1, 0, -1], [6, 9, 12], pytest.approx([2 / 3, 1, 4 / 3]), pytest.approx([1.5, 1, 0.75]), [0, 1, 1],
        [2, 0, 1], [8, 27, 64], [False, False, True]]
    assert [guard.expr for guard in sizes.env.guards] == ["Eq(x.size(0), 3)"] and made == ["sym_size_int"]     # kernels take numbers
    assert type(x.shape[0]) is int and _C._record_sizes(None) is None
