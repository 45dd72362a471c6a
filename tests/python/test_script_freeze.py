"""torch.jit.freeze, optimize_for_inference and run_frozen_optimizations against PyTorch 2.13's."""
import re
import warnings

import pytest

import kindling

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit")


def make(module, name):
    nn = module.nn

    class Lin(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(2, 2)
            self.scale = 2
            self.w = nn.Parameter(module.ones(2))
            self.register_buffer("b", module.zeros(2))

        def forward(self, x):
            if self.training:
                x = x * 5
            return self.l(x) * self.scale + self.w + self.b

        @module.jit.export
        def other(self, x):
            return x + self.scale

    class ConvNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.Conv2d(1, 2, 3)
            self.b = nn.BatchNorm2d(2)
            self.d = nn.Dropout(0.5)

        def forward(self, x):
            return self.d(self.b(self.c(x)).relu())

    class LinearNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.Linear(3, 2, bias=False)
            self.b = nn.BatchNorm1d(2)

        def forward(self, x):
            return self.b(self.c(x))

    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", module.zeros(1))
            self.k = 0
            self.w = nn.Parameter(module.ones(1))

        def forward(self, x):
            self.n.add_(1)
            self.k += 1
            return x * self.n * self.w + self.k

    class Below(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = Counts()
            self.l = nn.Linear(1, 1)

        def forward(self, x):
            return self.m(self.l(x))

    class Behind(nn.Module):
        """Arithmetic behind a convolution, one kind of many."""

        def __init__(self, way):
            super().__init__()
            self.way = way
            self.c = nn.Conv2d(1, 2, 3, bias=way % 2 == 0)
            self.w = nn.Parameter(module.tensor([2.0, -3.0]).reshape(1, 2, 1, 1))
            self.p = nn.Parameter(module.tensor([[[2.0]], [[-3.0]]]))
            self.one = nn.Parameter(module.tensor(0.5))
            self.wide = nn.Parameter(module.ones(1, 2, 1, 1, dtype=module.float64))

        def forward(self, x):
            y = self.c(x)
            if self.way < 2:
                return (y * 2 + 1) / self.w - self.one
            elif self.way < 4:
                return module.add(y, self.w, alpha=2)
            elif self.way < 6:
                return module.sub(y, 3, alpha=0.5) * 2.5
            elif self.way == 6:
                return y + self.wide
            elif self.way == 7:
                return y * self.p
            elif self.way == 8:
                return y * 2 + y
            elif self.way == 9:
                return module.div(y, 2, rounding_mode="floor")
            elif self.way == 10:
                return y * x.mean()
            return 2 * y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.manual_seed(0)
        if isinstance(name, int):
            return Behind(name)
        made = {each.__name__: each for each in (Lin, ConvNorm, LinearNorm, Counts, Below)}[name]()
        if name in ("ConvNorm", "LinearNorm"):
            made(module.randn(2, 1, 5, 5) if name == "ConvNorm" else module.randn(4, 3))
        return made


def scripted(module, name):
    return module.jit.script(make(module, name).eval())


def kinds(graph):
    return [node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"]


def text(graph):
    """Without places, numbers, and PyTorch's way with constants that both have in another order."""
    lines = re.sub(r" # .*", "", str(graph)).splitlines()
    names = {}
    plain = [re.sub(r"%[\w.]+", lambda found: names.setdefault(found[0], f"%{len(names)}"), line) for line in lines if "prim::Constant" not in line]
    return [re.sub(r"___torch_mangle_\d+\.|__torch__\.[\w.]*\.", "", line) for line in plain]


def constants(graph):
    return sorted(re.sub(r" # .*|%\d+ ", "", line).strip() for line in str(graph).splitlines() if "prim::Constant" in line and "%self." in line)


@pytest.mark.parametrize("name, preserved", [("Lin", []), ("Lin", ["scale"]), ("Lin", ["other"]), ("Lin", ["training"]), ("Counts", []), ("ConvNorm", []), ("Below", [])])
def test_the_frozen_graph(name, preserved):
    ours, theirs = (module.jit.freeze(scripted(module, name), preserved_attrs=preserved) for module in (kindling, torch))
    assert text(ours.graph) == text(theirs.graph)
    if name == "Lin":
        assert constants(ours.graph) == constants(theirs.graph)
        assert ours.code == theirs.code
        assert list(ours.code_with_constants[1].const_mapping) == list(theirs.code_with_constants[1].const_mapping)
    else:
        assert [line.partition(" :")[0] for line in constants(ours.graph)] == [line.partition(" :")[0] for line in constants(theirs.graph)]


ASKED = ["f(x)", "hasattr(f, 'training'), hasattr(f, 'scale'), hasattr(f, 'l'), hasattr(f, 'other')", "list(f.parameters()), type(f).__name__, f.original_name",
         "p.scale, p.other(x), setattr(p, 'scale', 3), p(x), list(p.state_dict())"]


@pytest.mark.parametrize("expression", ASKED)
def test_what_a_frozen_module_is(expression):
    def answer(module):
        script = scripted(module, "Lin")
        space = {"f": module.jit.freeze(script), "p": module.jit.freeze(script, ["scale", "other"]), "x": module.ones(2), "setattr": setattr}
        return str(eval(expression, space))
    assert answer(kindling) == answer(torch)


@pytest.mark.parametrize("module", [torch, kindling])
def test_what_cannot_be_frozen(module):
    plain = make(module, "Lin")
    with pytest.raises(RuntimeError, match="Freezing expects a ScriptModule as input. Please use torch.jit.script"):
        module.jit.freeze(plain)
    with pytest.raises(RuntimeError, match="optimize_for_inference expects a ScriptModule as input"):
        module.jit.optimize_for_inference(plain)
    with pytest.raises(RuntimeError, match="Freezing is currently only implemented for modules in eval mode. Please call .eval"):
        module.jit.freeze(module.jit.script(plain))
    with pytest.raises(RuntimeError, match="Unknown name: nope"):
        module.jit.freeze(scripted(module, "Lin"), ["nope"])


def close(ours, theirs):
    torch.testing.assert_close(torch.tensor(ours.tolist()), theirs.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name, shape", [("ConvNorm", (2, 1, 5, 5)), ("LinearNorm", (4, 3))])
def test_normalisation_becomes_part_of_weights(name, shape):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(shape, generator=generator)
    ours, theirs = scripted(kindling, name), scripted(torch, name)
    given = kindling.tensor(x.tolist())
    frozen = kindling.jit.freeze(ours)
    assert not any("norm" in kind or "dropout" in kind for kind in kinds(frozen.graph)) and "weight_fused_bn" in str(frozen.graph)
    close(frozen(given), theirs(x))
    assert "aten::batch_norm" in kinds(kindling.jit.freeze(ours, optimize_numerics=False).graph)
    best = kindling.jit.optimize_for_inference(ours)
    close(best(given), torch.jit.optimize_for_inference(theirs)(x))
    assert "batch_norm" not in str(best.graph)


@pytest.mark.parametrize("way", range(12))
def test_arithmetic_behind_a_convolution(way):
    """What is one number, or a number a channel, becomes part of the weights; else it stays."""
    x = torch.randn((2, 1, 5, 5), generator=torch.Generator().manual_seed(1))
    ours, theirs = scripted(kindling, way), scripted(torch, way)
    frozen, other = kindling.jit.freeze(ours), torch.jit.freeze(theirs)
    if way == 6:   # float64 numbers: PyTorch folds them, and the result is of another dtype than the script's
        assert kinds(frozen.graph) == ["aten::conv2d", "aten::add"] and frozen(kindling.tensor(x.tolist())).dtype == kindling.float64
        return
    assert kinds(frozen.graph) == kinds(other.graph)
    close(frozen(kindling.tensor(x.tolist())), theirs(x))
    plain = kindling.jit.freeze(ours, optimize_numerics=False)
    assert kinds(plain.graph) == kinds(torch.jit.freeze(theirs, optimize_numerics=False).graph)
    for name in ("fold_frozen_conv_add_or_sub", "fold_frozen_conv_mul_or_div"):
        answers = [getattr(module._C, "_jit_pass_" + name)(module.jit.freeze(script, optimize_numerics=False).graph)
                   for module, script in ((kindling, ours), (torch, theirs))]
        assert answers[0] == answers[1], name


def test_what_changes_stays_an_attribute():
    for module in (kindling, torch):
        script = scripted(module, "Counts")
        frozen = module.jit.freeze(script)
        assert [float(frozen(module.ones(1))) for _ in range(3)] == [2, 4, 6]
        assert list(frozen.state_dict()) == ["n"]
        assert float(script.n) == 3 and script.k == 0     # tensors are shared, numbers are not


def test_a_tied_buffer_that_is_written_through_another_name():
    class Tied(kindling.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", kindling.zeros(2))
            self.register_buffer("v", self.a[:1])

        def forward(self, x):
            self.v.add_(1)
            return x + self.a

    frozen = kindling.jit.freeze(kindling.jit.script(Tied().eval()))
    assert [frozen(kindling.zeros(2)).tolist() for _ in range(2)] == [[1, 0], [2, 0]]


def test_traces_freeze_too():
    traced = kindling.jit.trace(make(kindling, "ConvNorm").eval(), kindling.ones(1, 1, 5, 5))
    frozen = kindling.jit.freeze(traced)
    assert list(frozen.parameters()) == [] and "batch_norm" not in str(frozen.graph)
    assert kindling.allclose(frozen(kindling.ones(1, 1, 5, 5)), traced(kindling.ones(1, 1, 5, 5)), atol=1e-5)


def test_equal_constants_that_are_given_out_stay_apart():
    """Who writes to one result must not change another one, or the next call's."""
    class Two(kindling.nn.Module):
        def forward(self, x):
            h = kindling.zeros(2)
            c = kindling.zeros(2)
            return x + h, c, h

    frozen = kindling.jit.freeze(kindling.jit.trace(Two().eval(), kindling.ones(2)))
    total, first, second = frozen(kindling.ones(2))
    first.add_(3)
    assert second.tolist() == [0, 0] and frozen(kindling.ones(2))[0].tolist() == [1, 1]
