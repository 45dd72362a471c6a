"""``torch.jit.trace``: programs, values, gradients, warnings and errors, beside PyTorch's."""

import os
import re
import subprocess
import sys
import warnings

import numpy
import pytest

import kindling

torch = pytest.importorskip("torch")


def array(*shape, seed=0):
    return numpy.random.RandomState(seed).uniform(0.1, 1, shape).astype("float32")


def plain(graph, names=True):
    """A graph's text without places; values are numbered in the order in which they stand there (and lose their names)."""
    text = "\n".join(line.split(" # ")[0] for line in str(graph).splitlines())
    if names:
        return text
    seen = {}
    return re.sub(r"%[\w.]+", lambda found: seen.setdefault(found[0], f"%{len(seen)}"), text)


def kinds(graph):
    return [node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"]


def quietly(function, *arguments, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **keywords)


def flat(value):
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in flat(part)]
    if isinstance(value, dict):
        return [each for name in value for each in flat(value[name])]
    return [value]


# ---- functions, each with the shapes of its inputs

def arithmetic(m, x, y):
    return 2 * x + y, x - 1, 1 - x, x / 2, x ** 2, 2 ** x, -x, x @ y, abs(x), x < 1, ~(x > 0), x == y


def made(m, x):
    return (m.zeros(3), m.ones(2, 3, dtype=m.float64), m.full((2,), 1.5), m.zeros_like(x), m.arange(3), m.arange(0, 6, 2), m.eye(2),
            m.linspace(0, 1, 3), x.new_zeros(2), x + m.tensor(2.0), m.as_tensor([1, 2]))


def converted(m, x):
    return x.to(m.float64), x.double(), x.to("cpu"), x.to(x), x.cpu(), x.int(), x.type_as(x), x.contiguous(), x.clone()


def views(m, x):
    return (x.permute(1, 0), x.transpose(0, 1), x.view(-1), x.view(3, 2), x.flatten(), x.squeeze(), x.repeat(2, 1), x.expand(2, 2, 3), x[0],
            x[0, 1], x[..., 0], x[None], x[0:1, 1:2:1], x.t(), x.T, x.unfold(0, 1, 1), x[:, 0])


def indexed(m, x):
    return x[x > 0.5], x[m.tensor([0, 1])], m.where(x > 0.5, x, 0.0), x.masked_fill(x > 0.5, 1.0)


def many(m, x):
    return m.max(x, dim=0), m.sort(x), x.topk(2), x.chunk(2), m.stack([x, x]), m.cat([x, x], 0), x.unbind(0), x.max(0)[0]


def written(m, x):
    x = x + 1
    x += 1
    x.mul_(2)
    x[0] = 3
    x[1:] = x[:-1] * 2
    out = m.empty(3)
    m.add(x, 1, out=out)
    part = x.view(3, 1)
    part.fill_(5)
    return out, x


def dead(m, x, y):
    x.add_(1)
    lost = m.zeros(3)
    lost.add_(1)
    kept = m.zeros(3)
    seen = kept.view(1, 3)
    kept.add_(3)
    return y * 2 + seen


def layers(m, x):
    f = m.nn.functional
    return (f.softmax(x, -1), f.relu(x), f.gelu(x), f.layer_norm(x, (4,)), f.linear(x, m.ones(2, 4)), f.log_softmax(x, 1), f.dropout(x, 0.5, False),
            m.einsum("ij,kj->ik", x, x), x.sum(dim=0), x.mean(), f.cross_entropy(x, m.tensor([0, 1])))


def convolutions(m, x):
    f = m.nn.functional
    y = f.conv2d(x, m.ones(3, 2, 3, 3), stride=2, padding=1)
    return y, f.max_pool2d(y, 2), f.interpolate(x, scale_factor=2.0), f.avg_pool2d(x, 2)


def nested(m, d, l, t):
    return d["a"] + l[0] + t[0] + t[1][0], [l[1], d["b"]]


def same_twice(m, x, y):
    return x + y, y


def aliases(m, x):
    return m.absolute(x), m.clip(x, 0, 1), m.multiply(x, 2), m.true_divide(x, 2), x.swapaxes(0, 0), m.special.expit(x), m.arccos(x)


def constants(m, x):
    return x + m.from_numpy(array(2, 3)), x * m.from_numpy(numpy.array([True])), x + m.from_numpy(array(5, 1, 3))


x3, x23 = array(3), array(2, 3)
FUNCTIONS = {
    arithmetic: (x3, array(3, seed=1)), made: (x3,), converted: (x3,), views: (x23,), indexed: (x3,), many: (x3,), written: (x3,),
    dead: (x3, array(3, seed=1)), layers: (array(2, 4),), convolutions: (array(1, 2, 8, 8),),
    nested: ({"a": x3, "b": x3}, [x3, x3 + 1], (x3, (x3,))), same_twice: (x3, x3), aliases: (x3,), constants: (x23,)}
# Values are numbered otherwise where an operator consists of other ones here, or has one name only.
UNNUMBERED = {aliases, many, made, indexed, arithmetic}


def given(module, value, grad=False):
    if isinstance(value, numpy.ndarray):
        tensor = module.from_numpy(value.copy())
        return tensor.requires_grad_(True) if grad else tensor
    if isinstance(value, dict):
        return {name: given(module, each, grad) for name, each in value.items()}
    return type(value)(given(module, each, grad) for each in value)


def traced(module, function, inputs, **options):
    import inspect
    names = ", ".join(list(inspect.signature(function).parameters)[1:])
    run = eval(f"lambda {names}: function(module, {names})", {"function": function, "module": module, "__name__": __name__})
    options.setdefault("strict", False)
    return quietly(module.jit.trace, run, inputs, check_trace=False, **options)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions(function):
    inputs = FUNCTIONS[function]
    programs = [traced(module, function, given(module, inputs)) for module in (torch, kindling)]
    assert plain(programs[1].graph, function not in UNNUMBERED) == plain(programs[0].graph, function not in UNNUMBERED)
    results = [flat(quietly(program, *given(module, inputs))) for program, module in zip(programs, (torch, kindling))]
    eager = flat(quietly(function, kindling, *given(kindling, inputs)))
    assert len(results[0]) == len(results[1]) == len(eager)
    for ours, theirs, direct in zip(results[1], results[0], eager):
        assert str(ours.dtype) == str(theirs.dtype) and ours.stride() == theirs.stride()
        numpy.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)
        numpy.testing.assert_array_equal(ours.detach().numpy(), direct.detach().numpy())


@pytest.mark.parametrize("function", [written, dead], ids=lambda f: f.__name__)
def test_out_of_place(function):
    inputs = FUNCTIONS[function]
    graphs = [plain(traced(module, function, given(module, inputs), _force_outplace=True).graph) for module in (torch, kindling)]
    assert graphs[0] == graphs[1]


@pytest.mark.parametrize("function", [arithmetic, layers, convolutions, views], ids=lambda f: f.__name__)
def test_gradients(function):
    found = []
    for module in (torch, kindling):
        inputs = given(module, FUNCTIONS[function], True)
        program = traced(module, function, inputs)
        leaves = flat(given(module, FUNCTIONS[function], True))
        total = sum(each.double().sum() for each in flat(program(*leaves)) if each.requires_grad)
        found.append([leaf.numpy() for leaf in module.autograd.grad(total, leaves)])
    for one, other in zip(*found):
        numpy.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-5)


# ---- sizes

def sizes(m, x):
    n, k = x.shape
    return (m.zeros(x.shape), x.view(x.size(0) * x.size(1)), x.reshape(n, -1), x[: n - 1], x[n - 1], m.arange(0, x.size(1)), x * n, x + x.numel(),
            x.expand(2, n, k), m.ones(x.size(-1), 2), x.narrow(0, 0, n), x.shape)


@pytest.mark.parametrize("shape", [(2, 3), (5, 4)])
def test_sizes_are_computed_anew(shape):
    programs = [traced(module, sizes, (given(module, x23),)) for module in (torch, kindling)]
    assert plain(programs[1].graph) == plain(programs[0].graph)
    ours, theirs = (flat(program(given(module, array(*shape)))) for program, module in zip(programs[::-1], (kindling, torch)))
    assert [each.tolist() for each in ours] == [each.tolist() for each in theirs]


# ---- what leaves the graph

LEAVES = {
    "bool": "x + 1 if x.sum() > 0 else x", "int": "x + int(x[0])", "float": "x + float(x[0])", "index": "x[:[2, 1][x[0].long()]]",
    "item": "x + x[0].item()", "list": "x + x.tolist()[0]", "numpy": "x + float(x.numpy()[0])", "iteration": "sum(each for each in x)",
    "len": "x + len(x)", "tensor": "x + m.tensor([1.0, 2.0, 3.0])", "as_tensor": "x + m.as_tensor([1.0])", "new_tensor": "x + x.new_tensor([1.0])",
    "from_numpy": "x + m.from_numpy(numpy.ones(3, 'float32'))", "resize_": "(x * 1).resize_(2) + x[:2]", "list of results": "[x, x + 1]",
    "nothing": "x * 2", "aliased": "(x * 2).view(3, 1)"}
SILENT = {LEAVES[name] for name in ("index", "new_tensor", "nothing", "aliased")}   # as PyTorch has it


def warned(module, text, **options):
    run = eval(f"lambda x: {text}", {"m": module, "numpy": numpy, "__name__": __name__})
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        module.jit.trace(run, given(module, x3), check_trace=False, **options)
    return [(each.category.__name__, str(each.message)) for each in seen if each.category is not DeprecationWarning]


@pytest.mark.parametrize("text", LEAVES.values(), ids=LEAVES)
def test_warnings(text):
    theirs = warned(torch, text)
    assert warned(kindling, text) == theirs
    assert bool(theirs) == (text not in SILENT)


def test_library_warnings_are_not_shown(recwarn):
    kindling.jit.trace(kindling.nn.functional.gelu, given(kindling, x3))
    assert not [each for each in recwarn if each.category is kindling.jit.TracerWarning]


# ---- errors

def refusal(module, make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as caught:
            make(module, given(module, x3))
    return type(caught.value).__name__, str(caught.value).split("\n")[0]


grown = {module: module.ones(3, requires_grad=True) for module in (torch, kindling)}


class Shared:
    pass


def defined(module, text):
    return module.jit.CompilationUnit("def f" + text).f


REFUSED = {
    "nothing": lambda m, x: m.jit.trace(lambda x: None, x), "number": lambda m, x: m.jit.trace(lambda x: 3, x),
    "dict": lambda m, x: m.jit.trace(lambda x: {"a": x}, x), "part": lambda m, x: m.jit.trace(lambda x: (x, None), x),
    "empty list": lambda m, x: m.jit.trace(lambda x: [], x), "mixed": lambda m, x: m.jit.trace(lambda x: {"a": x, "b": [x]}, x, strict=False),
    "object": lambda m, x: m.jit.trace(lambda x: (x, Shared()), x), "input": lambda m, x: m.jit.trace(lambda x, y: x, (x, 3)),
    "unseen": lambda m, x: m.jit.trace(lambda x: grown[m].detach().data, x), "grows": lambda m, x: m.jit.trace(lambda x: x + grown[m], x),
    "nested": lambda m, x: m.jit.trace(lambda x: m.jit.trace(lambda y: y, x)(x), x), "by name": lambda m, x: m.jit.trace(lambda x: x, example_kwarg_inputs={"q": x}),
    "raises": lambda m, x: m.jit.trace(lambda x: x.view(7), x), "no module": lambda m, x: m.jit.trace_module(lambda x: x, {"forward": x}),
    "a script's number": lambda m, x: m.jit.trace(lambda x: x + defined(m, "(x):\n    return x.size(0)")(x), x),
    "a script's pair": lambda m, x: m.jit.trace(lambda x: defined(m, "(x):\n    return [(x, 1.5)]")(x)[0][0], x),
    "a script's None": lambda m, x: m.jit.trace(lambda x: x if defined(m, "(x):\n    pass")(x) is None else x, x),
    "no dict": lambda m, x: m.jit.trace_module(m.nn.ReLU(), x), "method": lambda m, x: m.jit.trace(m.nn.ReLU().extra_repr, x),
    "too many": lambda m, x: m.jit.trace(lambda x: x * 2, x)(x, x), "no tensor": lambda m, x: m.jit.trace(lambda x: x * 2, x)(3)}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_errors(make):
    assert refusal(kindling, make) == refusal(torch, make)
    assert not kindling.jit.is_tracing()


# ---- checks

def test_check_finds_what_differs():
    texts = []
    for module in (torch, kindling):
        calls = []

        def changes(x):
            calls.append(0)
            return x + 1 if len(calls) % 2 else x * 3

        with pytest.raises(module.jit.TracingCheckError) as caught, warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            module.jit.trace(changes, given(module, x3))
        texts.append(([re.sub(r" # .*", "", line).rstrip() for line in str(caught.value).splitlines() if "): " not in line],
                      [str(each.message).split("\n")[0] for each in seen if each.category is not DeprecationWarning]))
    assert texts[0] == texts[1]


def test_check_finds_constants_that_differ():
    for module in (torch, kindling):
        state = [0.0]

        def drifts(x):
            state[0] += 1
            return x + module.full((3,), state[0]).detach().data

        with pytest.raises(module.jit.TracingCheckError, match="Tensor-valued Constant nodes differed in value across invocations"):
            quietly(module.jit.trace, drifts, given(module, x3))


def test_check_warns_of_random_numbers():
    texts = []
    for module in (torch, kindling):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            module.jit.trace(lambda x: x + module.bernoulli(x), given(module, x3))
        texts.append([re.sub(r"#.*|\d\.\d+|at index \(\d,\)|\d / 3.*", "", str(each.message)) for each in seen if each.category is not DeprecationWarning])
    assert texts[0][:1] == texts[1][:1] and len(texts[0]) == len(texts[1]) == 2


def test_check_inputs_and_tolerance():
    for module in (torch, kindling):
        def near(x):
            return x * (1.0 if x.sum() > 2 else 1.01)

        def check(**options):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                module.jit.trace(near, given(module, x3 * 0), **options)
            return sum("does not match" in str(each.message) for each in seen)
        assert check(check_inputs=[(given(module, x3 * 0),)]) == 0
        try:
            assert check(check_inputs=[given(module, x3 + 5)]) == 1
        except module.jit.TracingCheckError:
            pass
        assert check(check_inputs=[given(module, x3 * 0)], check_tolerance=0.1) == 0


# ---- modules

class Part:
    """Made for both: a module that uses tensors of its parent, gives two things, and is called twice."""

    def __new__(cls, m):
        class Sub(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = m.nn.Parameter(m.full((3,), 2.0))
                self.register_buffer("b", m.ones(3))

            def forward(self, x, y):
                return x * self.w + self.b + y, x

        class Net(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.sub = Sub()
                self.lin = m.nn.Linear(3, 3)
                self.k = m.nn.Parameter(m.ones(3))

            def forward(self, x):
                a, b = self.sub(x, self.k)
                c, d = self.sub(a, self.lin.weight[0])
                return self.lin(c) + d + self.sub.w

            def other(self, x):
                return x + self.k
        return Net()


def filled(module, seed=0):
    numbers, made = numpy.random.RandomState(seed), torch if isinstance(module, torch.nn.Module) else kindling
    with kindling.no_grad(), torch.no_grad():
        for name, tensor in module.state_dict().items():
            tensor.copy_(made.from_numpy(numpy.asarray(numbers.uniform(0.1, 1, tuple(tensor.shape)), "float32")))
    return module


def nets(m):
    n = m.nn
    return {
        "own": (Part(m), (2, 3)),
        "sequence": (n.Sequential(n.Linear(3, 4), n.ReLU(), n.Sequential(n.Linear(4, 5), n.BatchNorm1d(5))), (2, 3)),
        "images": (n.Sequential(n.Conv2d(2, 3, 3, padding=1), n.BatchNorm2d(3), n.ReLU(), n.MaxPool2d(2), n.Flatten(), n.Linear(48, 2)).eval(), (2, 2, 8, 8)),
        "norms": (n.Sequential(n.LayerNorm(4), n.GELU(), n.Dropout(0.5), n.Softmax(-1)).eval(), (2, 4)),
    }


@pytest.mark.parametrize("name", nets(torch))
def test_modules(name):
    texts, results, grads, methods = [], [], [], []
    for module in (torch, kindling):
        net, shape = nets(module)[name]
        filled(net)
        program = quietly(module.jit.trace, net, given(module, array(*shape)), check_trace=False)
        texts.append(re.sub(r"___torch_mangle_\d+\.", "", plain(program.graph)))
        x = given(module, array(*shape, seed=1), True)
        y = program(x)
        y.square().sum().backward()
        results.append(y.detach().numpy())
        grads.append([x.grad.numpy(), *(each.grad.numpy() for each in net.parameters())])
        methods.append((sorted(name for name, _ in program.named_parameters()), sorted(program.state_dict()), repr(program)))
        again = net(x).detach().numpy() if name != "sequence" else None
        assert again is None or numpy.allclose(again, results[-1], atol=1e-6)
    assert texts[0] == texts[1] and methods[0] == methods[1]
    numpy.testing.assert_allclose(results[1], results[0], rtol=1e-4, atol=1e-5)
    for one, other in zip(*grads):
        numpy.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-4)


def test_several_methods_share_parameters():
    for module in (torch, kindling):
        net = Part(module)
        program = quietly(module.jit.trace_module, net, {"forward": given(module, array(2, 3)), "other": given(module, x3)})
        with module.no_grad():
            net.k.fill_(5)
        assert program.other(given(module, x3)).tolist() == (given(module, x3) + 5).tolist()
        assert kinds(program.other.graph) == ["prim::GetAttr", "aten::add"]
        with pytest.raises(RuntimeError, match="Trace submodules cannot be called"):
            program.sub(given(module, x3))


def test_module_by_name_and_trace_again():
    for module in (torch, kindling):
        program = quietly(module.jit.trace, module.nn.Linear(3, 2), example_kwarg_inputs={"input": given(module, x23)})
        assert program(input=given(module, x23)).shape == (2, 2)
        with pytest.warns(UserWarning, match="already a ScriptModule, tracing it is a no-op"):
            assert module.jit.trace(program, given(module, x23)) is program


# ---- scripts

def test_traced_functions_in_traces():
    texts = []
    for module in (torch, kindling):
        inner = traced(module, same_twice, given(module, (x3, x3 + 1)))
        outer = quietly(module.jit.trace, lambda x: inner(x, x * 2)[0] + 1, given(module, x3))
        texts.append(kinds(outer.graph))
        numpy.testing.assert_allclose(outer(given(module, x3)).numpy(), x3 * 3 + 1, rtol=1e-6)
    assert texts[0] == texts[1]


def test_is_tracing_and_state():
    seen = []
    quietly(kindling.jit.trace, lambda x: seen.append((kindling.jit.is_tracing(), kindling._C._get_tracing_state() is not None)) or x + 1,
            given(kindling, x3), check_trace=False)
    assert seen == [(True, True)] and not kindling.jit.is_tracing() and kindling._C._get_tracing_state() is None


def test_trace_graph_of_module():
    graphs = []
    for module in (torch, kindling):
        graph, result = quietly(module.jit._get_trace_graph, module.nn.Linear(3, 2), given(module, x23))
        graphs.append((kinds(graph), len(list(graph.inputs())), tuple(result.shape)))
    assert graphs[0] == graphs[1]


def test_scripted_functions_in_traces():
    text = "def f(x, n: int):\n    if n > 2:\n        return x + n\n    return x\n"
    texts = []
    for module in (torch, kindling):
        f = quietly(module.jit.CompilationUnit, text).f
        program = quietly(module.jit.trace, lambda x: f(x, 3) * f(x, 1), given(module, x3))
        texts.append(plain(program.graph))
        numpy.testing.assert_allclose(program(given(module, x3 + 1)).numpy(), (x3 + 4) * (x3 + 1), rtol=1e-6)
        numpy.testing.assert_allclose(sum(kind == "prim::If" for kind in kinds(program.inlined_graph)), 2)
    assert texts[0] == texts[1]


def doubled(m):
    class Double(m.autograd.Function):
        """With a derivative that is not its own, so that it shows who computed it."""

        @staticmethod
        def forward(ctx, x, by, y):
            return x * by, y + 1

        @staticmethod
        def backward(ctx, a, b):
            return a * 10, None, b * 100
    return Double


def test_autograd_functions_keep_their_derivatives():
    texts, grads = [], []
    for module in (torch, kindling):
        double = doubled(module)

        def run(x):
            first, second = double.apply(x, 2.5, x + 1)
            return first * 2 + second
        program = quietly(module.jit.trace, run, given(module, x3), check_trace=False)
        texts.append(re.findall(r"\^Double\[inplace=0, .*?Subgraph=<Graph>\]\((.*?)\)\(%", str(program.graph)))
        if module is kindling:
            x = given(module, x3 + 1, True)
            y = program(x)
            y.sum().backward()
            grads = x.grad.tolist()
            numpy.testing.assert_allclose(y.detach().numpy(), (x3 + 1) * 5 + x3 + 3, rtol=1e-6)
    assert texts == [["2.5"]] * 2 and grads == [120.0] * 3


def test_autograd_functions_may_give_none():
    def program(m):
        class Half(m.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x / 2, None

            @staticmethod
            def backward(ctx, grad, none):
                return grad / 2
        return quietly(m.jit.trace, lambda x: Half.apply(x)[0] + 1, given(m, x3))(given(m, x3 * 4)).tolist()
    assert program(kindling) == program(torch)


def test_hooks_and_threads_do_not_disturb_a_trace():
    import threading
    net, seen = kindling.nn.Linear(3, 3), []
    handle = net.register_forward_hook(lambda module, args, result: seen.append(0) or result * 2)

    def run(x):
        other = threading.Thread(target=lambda: seen.append(kindling.jit.is_tracing()))
        other.start()
        other.join()
        return net(x) + 1
    net.requires_grad_(False)
    program = quietly(kindling.jit.trace, run, given(kindling, x23), check_trace=False)
    assert seen == [False, 0] and kinds(program.graph) == ["aten::linear", "aten::mul", "aten::add"]
    handle.remove()
    numpy.testing.assert_allclose(program(given(kindling, x23)).numpy(), (net(given(kindling, x23)) * 2 + 1).numpy(), rtol=1e-6)


def test_traced_module_follows_its_tensors():
    for module in (torch, kindling):
        net = module.nn.BatchNorm1d(3).eval().requires_grad_(False)
        program = quietly(module.jit.trace, net, given(module, x23))
        program.running_mean.fill_(2)
        assert numpy.allclose(program(given(module, x23)).numpy(), (x23 - 2) / numpy.sqrt(1 + 1e-5), atol=1e-6)
        program.load_state_dict({**program.state_dict(), "bias": module.full((3,), 7.0)})
        assert float(program(given(module, x23)).min()) > 4 and program.double()(given(module, x23).double()).dtype == module.float64
        assert float(net.bias.detach().float()[0]) == 7 and not program.training


def test_gradients_inside_of_a_trace():
    for module in (torch, kindling):
        def run(x):
            return module.autograd.grad((x * x * 3).sum(), x)[0] * 2
        program = quietly(module.jit.trace, run, given(module, x3, True), check_trace=False)
        assert program(given(module, x3 + 1, True)).shape == (3,)


@pytest.mark.parametrize("setting", ["0", "no", "1v", "0v", "maybe"])
def test_pytorch_jit(setting, tmp_path):
    """Without the JIT, what is to be compiled or traced comes back as it is."""
    code = """
import {0} as torch, warnings
warnings.simplefilter("ignore")
def f(x):
    return x + 1
net = torch.nn.ReLU()
try:
    print(torch.jit.script(f) is f, torch.jit.script(net) is net, torch.jit.trace(f, torch.ones(2)) is f,
          torch.jit.trace(net, torch.ones(2)) is net, torch.jit.trace_module(net, {{"forward": torch.ones(2)}}) is net)
    torch.jit._state.enable()
    print(torch.jit.script(f) is f)
    torch.jit._state.disable()
    print(torch.jit.script(f) is f)
except ValueError as error:
    print(error)
"""
    said = []
    for module in ("torch", "kindling"):
        program = tmp_path / f"with_{module}.py"
        program.write_text(code.format(module))
        done = subprocess.run([sys.executable, program], capture_output=True, text=True, env={**os.environ, "PYTORCH_JIT": setting})
        said.append(done.stdout.splitlines()[-4 if setting.endswith("v") else -3:] if done.returncode == 0 else [done.stderr.splitlines()[-1].split(": ")[-1]])
    assert said[0] == ([said[1][0]] if setting == "maybe" else said[1]) and said[1]     # PyTorch says it when it is imported
