"""torch.library, torch.ops and the questions about dispatch: the same program under torch and under Kindling."""
import json
import os
import subprocess
import sys

import both
import pytest

import kindling

torch = pytest.importorskip("torch")
COUNT = iter(range(10**6))


def same(source, setup=""):
    """Runs it under both in a namespace of operators of its own, NS."""
    name = f"kt{next(COUNT)}"
    found = [both.run(which, source.replace("NS", name), setup.replace("NS", name)) for which in ("torch", "kindling")]
    assert found[1] == found[0]
    return found[0]


LIBRARY = """
lib = torch.library.Library("NS", "DEF")
lib.define("twice(Tensor x) -> Tensor")
lib.define("scale(Tensor x, float by=2.0, *, int plus=0) -> Tensor")
lib.define("pair(Tensor x) -> (Tensor, Tensor)")
lib.define("add_one_(Tensor(a!) x) -> Tensor(a!)")
lib.define("many(Tensor[] xs) -> Tensor[]")
lib.define("number(Tensor x) -> int")
lib.define("over.int(Tensor x, int n) -> Tensor")
lib.define("over.float(Tensor x, float n, str s) -> Tensor")
lib.impl("twice", lambda x: x * 2, "CPU")
lib.impl("twice", lambda x: torch.empty_like(x), "Meta")
lib.impl("scale", lambda x, by=2.0, *, plus=0: x * by + plus, "CompositeExplicitAutograd")
lib.impl("pair", lambda x: (x + 1, x + 2), "CompositeImplicitAutograd")
lib.impl("add_one_", lambda x: x.add_(1), "CPU")
lib.impl("many", lambda xs: [x + 1 for x in xs], "CPU")
lib.impl("number", lambda x: x.numel(), "CPU")
lib.impl("over.int", lambda x, n: x + n, "CPU")
lib.impl("over.float", lambda x, n, s: x - n, "CPU")
o = torch.ops.NS
x = torch.tensor([1., 2.])
"""


@pytest.mark.parametrize("what", [
    "o.twice(x), o.twice.default(x)", "o.scale(x), o.scale(x, 3.0), o.scale(x, by=4.0, plus=1)", "o.pair(x)", "y = x.clone()\n(o.add_one_(y), y)",
    "o.many([x, x + 1])", "o.number(x)", "o.over(x, 1), o.over(x, 1.5, 'a'), o.over.int(x, 2)", "o.twice(x.to('meta')).device",
    "o.nothing", "o.twice()", "o.twice('a')", "o.scale(x.to('meta')).shape", "o.number(x.to('meta'))",
    "str(o.twice.default._schema), o.twice.default._schema.name, o.over.overloads()", "o.twice.default.name(), str(o.over.int)",
    "[a.name for a in o.scale.default._schema.arguments], o.scale.default._schema.arguments[1].default_value",
    "o.add_one_.default._schema.is_mutable, o.twice.default._schema.is_mutable", "lib.define('twice(Tensor x) -> Tensor')",
    "lib.impl('twice', 3)", "torch.library.Library('NS', 'MAKE')",
    "torch.library.Library('prim', 'DEF')", "w = x.clone().requires_grad_()\no.pair(w)[0].sum().backward()\nw.grad",
    "w = x.clone().requires_grad_()\no.scale(w).requires_grad", "frag = torch.library.Library('NS', 'FRAGMENT')\nfrag.define('more(Tensor x) -> Tensor')\n"
    "frag.impl('more', lambda x: x * 10, 'CPU')\no.more(x)",
    "lib._destroy()\nhasattr(torch.ops.NS, 'twice')", "with torch.library._scoped_library('NS', 'FRAGMENT') as f:\n    f.define('brief(Tensor x) -> Tensor')\n"
    "    f.impl('brief', lambda x: x, 'CompositeImplicitAutograd')\n    a = o.brief(x)\n(a, hasattr(torch.ops.NS, 'brief'))",
    "torch.library.Library('NS', 'DEF') if False else 1",
])
def test_library(what):
    theirs, mine = [], []
    name = f"kl{next(COUNT)}"
    for found, which in ((theirs, "torch"), (mine, "kindling")):
        found.append(both.run(which, what.replace("NS", name), LIBRARY.replace("NS", name)))
    if ": " in theirs[0] and theirs[0].split(":")[0].endswith("Error"):       # the class; texts name places in torch's C++
        assert mine[0].split(":")[0] == theirs[0].split(":")[0], (mine, theirs)
    else:
        assert mine == theirs


CUSTOM = """
import numpy
Tensor = torch.Tensor
from typing import Optional, List, Tuple, Sequence
@torch.library.custom_op("NS::sine", mutates_args=())
def sine(x: Tensor) -> Tensor:
    "words"
    return torch.from_numpy(numpy.sin(x.detach().numpy()))
@sine.register_fake
def _(x):
    return torch.empty_like(x)
def context(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
sine.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0].cos(), setup_context=context)
@torch.library.custom_op("NS::bump", mutates_args={"x"})
def bump(x: Tensor, n: int = 1) -> None:
    x.add_(n)
@torch.library.custom_op("NS::alias", mutates_args=())
def alias(x: Tensor) -> Tensor:
    return x
@torch.library.custom_op("NS::kw", mutates_args=())
def kw(x: Tensor, *, by: float = 2.0) -> Tensor:
    return x * by
def kw_context(ctx, inputs, keyword_only_inputs, output):
    ctx.by = keyword_only_inputs["by"] if "by" in keyword_only_inputs else 2.0
kw.register_autograd(lambda ctx, g: g * ctx.by, setup_context=kw_context)
x = torch.tensor([0.5, 1.0], requires_grad=True)
"""


@pytest.mark.parametrize("what", [
    "sine(x)", "sine(x).sum().backward()\nx.grad", "torch.ops.NS.sine(x), torch.ops.NS.sine.default(x)", "sine(torch.ones(2, device='meta')).shape",
    "y = torch.zeros(2)\nbump(y)\nbump(y, 3)\ny", "alias(torch.ones(1))", "kw(x, by=3.0).sum().backward()\nx.grad", "kw(x).sum().backward()\nx.grad",
    "str(sine._opoverload._schema)", "torch.library.opcheck(sine, (x,), test_utils='test_schema')",
    "torch.autograd.gradcheck(sine, (x.detach().double().requires_grad_(),))", "sine._qualname, sine._name, repr(sine)",
    "torch.library.custom_op('nowhere', mutates_args=())(lambda x: x)", 
    "@torch.library.register_kernel('NS::sine', 'cpu')\ndef _(x):\n    return x.detach() * 0 + 7\nsine(x)"])
def test_custom_operators(what):
    name = f"kc{next(COUNT)}"
    theirs, mine = (both.run(which, what.replace("NS", name), CUSTOM.replace("NS", name)) for which in ("torch", "kindling"))
    if what.startswith("alias"):
        mine, theirs = (text.partition("): ")[2] for text in (mine, theirs))
    assert mine == theirs


SCHEMAS = ["x: Tensor", "x: Tensor, n: int", "x: Tensor, a: float = 1.5, b: bool = True, s: str = 'hi'", "x: Optional[Tensor] = None",
           "xs: List[Tensor]", "xs: Sequence[int]", "x: Tensor, *, n: int = 3", "x: Tensor, d: torch.dtype = torch.float32", "x: Tensor, v: Optional[List[float]] = None",
           "x: Tensor, d: torch.device", "x", "*xs: Tensor"]


@pytest.mark.parametrize("parameters", SCHEMAS)
def test_inferred_schemas(parameters):
    same(f"def f({parameters}) -> Tensor:\n    pass\ntorch.library.infer_schema(f, mutates_args=())",
         "Tensor = torch.Tensor\nfrom typing import Optional, List, Sequence, Tuple")


def test_a_kernel_may_come_before_its_operator():
    library = kindling.library.Library("kearly", "DEF")
    library.impl("f", lambda x: x + 1, "CPU")
    library.define("f(Tensor x) -> Tensor")
    assert kindling.ops.kearly.f(kindling.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="already a kernel"):
        library.impl("f", len, "CPU")
    library.impl("f", lambda x: x + 2, "CPU", allow_override=True)
    assert kindling.ops.kearly.f(kindling.ones(1)).item() == 3


def test_overriding_a_built_in():
    library = kindling.library.Library("aten", "IMPL")
    x = kindling.tensor([1.0, -2.0], requires_grad=True)
    before = kindling.abs(x).tolist()
    library.impl("abs", lambda a: a.clone() * 0 + 5, "CPU")
    try:
        y = kindling.abs(x)
        assert y.tolist() == [5, 5] and kindling.ops.aten.abs(x.detach()).tolist() == [5, 5] and kindling.abs(x.to("meta")).device.type == "meta"
        y.sum().backward()
        assert x.grad.tolist() == [1, -1]              # autograd's layer is the built-in one
        row = kindling.dispatch.table("aten::abs")["CPU"]
        assert "test_library.py" in row[2] and "lambda" in row[1]
        with pytest.raises(RuntimeError, match="already a kernel registered from python overriding abs's behavior for CPU"):
            kindling.library.Library("aten", "IMPL").impl("abs", len, "CPU")
    finally:
        library._destroy()
    assert kindling.abs(x).tolist() == before and kindling.dispatch.table("aten::abs")["CPU"][2] == "kindling"


def test_opcheck_of_a_sound_operator():
    scope = {"torch": kindling}
    exec(CUSTOM.replace("NS", "ksound"), scope)
    assert set(kindling.library.opcheck(scope["sine"], (scope["x"],)).values()) == {"SUCCESS"}


def test_opcheck_finds_what_is_wrong():
    @kindling.library.custom_op("ktest::liar", mutates_args=())
    def liar(x: kindling.Tensor) -> kindling.Tensor:
        x.add_(1)
        return x + 1

    @kindling.library.custom_op("ktest::shapes", mutates_args=())
    def shapes(x: kindling.Tensor) -> kindling.Tensor:
        return kindling.cat([x, x])
    shapes.register_fake(lambda x: kindling.empty_like(x))
    x = kindling.ones(2, requires_grad=True)
    found = kindling.library.opcheck(liar, (x.detach(),), raise_exception=False)
    assert "was mutated" in str(found["test_schema"]) and "no fake impl" in str(found["test_faketensor"])
    found = kindling.library.opcheck(shapes, (x,), raise_exception=False)
    assert "has shape" in str(found["test_faketensor"]) and "no backward" in str(found["test_autograd_registration"])
    from kindling._operators.custom import OpCheckError

    with pytest.raises(OpCheckError, match="test_schema failed with"):
        kindling.library.opcheck(liar, (x.detach(),))


def test_wrong_implementations():
    library = kindling.library.Library("kwrong", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.define("g(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="Could not run 'kwrong::f' with arguments from the 'CPU' backend"):
        kindling.ops.kwrong.f(kindling.ones(1))
    library.impl("f", lambda x: 3, "CPU")
    with pytest.raises(TypeError, match="Unable to cast int to Tensor"):
        kindling.ops.kwrong.f(kindling.ones(1))
    library.impl("g", lambda x: x * 2, "CPU")
    with pytest.raises(RuntimeError, match="derivative for kwrong::g is not implemented: no autograd formula"):
        kindling.ops.kwrong.g(kindling.ones(2, requires_grad=True)).sum().backward()
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
        kindling.library.Library("aten", "DEF")


def test_table():
    table = kindling.dispatch.table(kindling.ops.aten.add.Tensor)
    assert table.name == "aten::add.Tensor" and {row[0] for row in table} >= {"CPU", "Meta", "Autograd"}
    assert "registered by" in str(table) and "aten::add.Tensor(Tensor self" in str(table)
    library = kindling.library.Library("ktable", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", len, "CPU")
    table = kindling.dispatch.table("ktable::f")
    assert table["CPU"][1] == "builtins.len" and "test_library.py" in table.defined_by and len(table) == 1
    with pytest.raises(RuntimeError, match="its overloads are"):
        kindling.dispatch.table("aten::add.Nothing")


FRESH = """
import json, kindling as torch
def ask():
    C = torch._C
    return [sorted(dir(torch.ops.aten)), C._dispatch_get_all_op_names(), C._dispatch_has_kernel("aten::add.Tensor"), C._dispatch_has_kernel("aten::zzz"),
            C._dispatch_has_kernel_for_dispatch_key("aten::add.Tensor", "CPU"), C._dispatch_has_kernel_for_dispatch_key("aten::add.Tensor", "CUDA"),
            str(torch.dispatch.table("aten::conv2d")), len(C._jit_get_all_schemas())]
"""


def test_answers_are_whole_in_a_fresh_process_and_stay():
    code = FRESH + "first = ask()\nimport torch.nn as nn\n" if False else FRESH + (
        "first = ask()\nx = torch.nn.Conv2d(3, 4, 3)(torch.randn(1, 3, 8, 8)).relu().sum(); x.backward()\nfor n in torch.__all__: getattr(torch, n)\n"
        "print(json.dumps([first, ask() == first]))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    first, same_again = json.loads(done.stdout), None
    assert done.returncode == 0, done.stderr
    (names, operators, has, has_not, cpu, cuda, table, schemas), same_again = first
    assert same_again and len(names) > 1000 and len(operators) > len(names) and (has, has_not, cpu, cuda) == (True, False, True, False)
    assert "CompositeImplicitAutograd" in table or "CPU" in table
    assert set(names) >= set(kindling._C._operator_names(1)) and schemas == len(operators)


def test_each_question_first():
    """Each question is the first thing a process does."""
    for question in ("len(dir(torch.ops.aten)) > 1000", "torch._C._dispatch_has_kernel('aten::add.Tensor')", "len(torch._C._dispatch_get_all_op_names()) > 1500",
                     "'CPU' in str(torch.dispatch.table('aten::mul.Tensor'))", "'aten' in dir(torch.ops)"):
        done = subprocess.run([sys.executable, "-c", f"import kindling as torch\nassert {question}"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("what", ["torch.classes.mine.Thing", "torch.classes.mine", "torch.classes.loaded_libraries", "torch.ops.aten.nothing_here",
                                  "torch._C._dispatch_key_name(torch.DispatchKey.CPU), str(torch._C._dispatch_key_parse('CPU'))",
                                  "str(torch._C._dispatch_keys(torch.ones(1)))", "torch._C._dispatch_key_for_device('cpu')",
                                  "torch._C._dispatch_is_alias_key('Autograd'), torch._C._dispatch_is_alias_key('CPU')",
                                  "torch._C._dispatch_has_kernel('aten::add.Tensor'), torch._C._dispatch_has_kernel('aten::zzz')",
                                  "torch._C._dispatch_num_backends() > 3", "torch._C._nothing_here",
                                  "torch.ops.aten.add.Tensor.has_kernel_for_dispatch_key(torch.DispatchKey.CPU)"])
def test_questions(what):
    theirs, mine = both.run("torch", what), both.run("kindling", what)
    if "nothing_here" in what:
        assert mine.split(":")[0] == theirs.split(":")[0]
    elif what == "torch.classes.mine":
        assert "Error" not in mine
    else:
        assert mine == theirs


def test_torch_classes_are_not_loaded_before_they_are_asked():
    code = "import kindling, sys\nassert 'kindling._ops' not in sys.modules\nkindling.classes\nassert 'kindling._native_names.types' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr


def test_doctor_counts():
    done = subprocess.run([sys.executable, "-m", "kindling", "doctor", "--json"], capture_output=True, text=True)
    facts = json.loads(done.stdout)
    counts = kindling.dispatch.counts()
    assert facts["overloads"] == f"{counts['declared']} declared, {counts['C++']} of these with C++ kernels, 0 defined from Python"


def test_results_in_the_memory_of_arguments_are_found_wherever_those_are():
    @kindling.library.custom_op("aliasing::pick", mutates_args=())
    def pick(xs: list[kindling.Tensor], y: kindling.Tensor, which: int) -> kindling.Tensor:
        return [xs[0] + 0, xs[0], y, y[1:], xs[1].view(-1)][which]

    x, y = kindling.ones(2), kindling.ones(2)
    assert pick([x, x], y, 0).tolist() == [1, 1] and pick(xs=[x, x], y=y, which=0).tolist() == [1, 1]
    for which in (1, 2, 3, 4):
        with pytest.raises(RuntimeError, match="may not alias any inputs"):
            pick([x, kindling.ones(2)], y, which)
        with pytest.raises(RuntimeError, match="may not alias any inputs"):
            pick(which=which, xs=[x, kindling.ones(2)], y=y)
    with pytest.raises(RuntimeError, match="Declaration"):
        pick(1)
