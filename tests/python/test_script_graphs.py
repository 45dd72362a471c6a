"""Graphs of scripts from Python: their text (`torch._C.parse_ir`), and changes by hand, as PyTorch 2.13 has them."""
import pytest

import kindling

torch = pytest.importorskip("torch")

TEXT = """graph(%a : Float(2, 3, strides=[3, 1], requires_grad=1, device=cpu), %b : Tensor, %n : int):
  %2 : int = prim::Constant[value=1]()
  %l : int[] = prim::ListConstruct(%2, %2)
  %3 : Tensor = aten::add(%a, %b, %2)
  %c : bool = prim::Constant[value=1]()
  %r : Tensor = prim::If(%c)
    block0():
      %4 : Tensor = aten::relu(%3)
      -> (%4)
    block1():
      -> (%3)
  return (%r)
"""

READ = [
    TEXT,
    "graph(%a):\n  return (%a)",
    "graph():\n  return ()\n",
    "graph(%a : Tensor, %a : int):\n return (%a)\n",
    """graph(%x.1 : Tensor,
      %n : int):
  %2 : bool = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%n, %2, %x.1)
    block0(%i : int, %z.1 : Tensor):
      %7 : Tensor = aten::add(%z.1, %i, %i)
      -> (%2, %7)
  return (%y)""",
    """graph(%a : Double(*, *), %c:Dict(str, int), %d : (int, Tensor?), %e : int?, %f: Float(2,3), %q : Long(requires_grad=0, device=cpu), %l : Tensor[][], %u : Union(int, str)):
  %s : str = prim::Constant[value="a\\nb"]()
  %ff : float = prim::Constant[value=-1.5]()
  %fg : float = prim::Constant[value=1.]()
  %li : int[] = prim::Constant[value=[1, 2]]()
  %lf : float[] = prim::Constant[value=[1., 2.]]()
  %n : NoneType = prim::Constant()
  %dev : Device = prim::Constant[value="cpu"]()
  %c1 : complex = prim::Constant[value=1j]()
  %x, %y = prim::foo[a=1, b=[1,2], c="s", d=2.5, e=-3](%s)
  %un = prim::CallMethod[name="forward"](%x)
  return (%x, %y)
""",
    # what is refused
    "", "graph(%a):\n  return (%z)\n", "graph(%a):\n  %b = aten::relu(%a\n  return (%b)\n", "graph(%a):\n  %2 : Foo = aten::relu(%a)\n  return (%a)\n",
    "graph(%a):\n   = prim::Print(%a)\n  return (%a)\n", "graph():\n %x : Tensor = my.op::foo()\n return (%x)\n",
    "graph(%a : Tensor):\n  %c : Tensor = prim::Constant[value=<Tensor>]()\n  return (%c)", "graph(%a : Tensor):\n  %c : int = aten::relu(%a)\n  return (%c)\n",
]


def answer(function):
    try:
        return str(function())
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("text", READ)
def test_the_text_of_a_graph(text):
    assert answer(lambda: kindling._C.parse_ir(text)) == answer(lambda: torch._C.parse_ir(text))


SETUP = f"""
C = torch._C
g = C.parse_ir({TEXT!r})
a, b, n = g.inputs()
add, choice = g.findNode("aten::add"), g.findNode("prim::If")
"""

ASKED = """\
a.type().sizes(), a.type().dtype() == torch.float32, a.type().strides(), a.requires_grad(), a.isCompleteTensor(), b.isCompleteTensor(), str(a.type())
a.type().str()
b.setType(a.type()) and str(g)
b.setType(C.ListType(C.TensorType.get())).type(), str(g)
b.setTypeAs(n).type(), b.debugName(), b.unique(), b.offset()
[(u.user.kind(), u.offset) for u in add.output().uses()], add.output().uses()[1].isAfter(add.output().uses()[0])
str(g.copy()), g.lint()
choice.schema(), add.schema(), add.namedInput("other").debugName(), add.matches("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
[node.kind() for node in g.nodes()], [len(list(block.nodes())) for block in choice.blocks()], [node.kind() for node in g.findAllNodes("aten::relu")]
g.insertConstant(2.5).node(), g.insertConstant([1, 2]).node(), g.insertConstant("hi").node(), g.insertConstant(None).node(), g.insertConstant(torch.ones(2)).node(), str(g)
g.insertConstant([1, 2]).node().kindOf("value"), g.insertConstant(True).node().kindOf("value"), g.insertConstant(torch.ones(2)).node().kindOf("value")
g.insert("aten::mul", [b, b]).node(), g.insert("aten::mul", [b, n]).node().schema()
g.permuteInputs([2, 0, 1]), str(g)
g.makeMultiOutputIntoTuple(), g.registerOutput(b), g.makeMultiOutputIntoTuple(), str(g)
g.registerOutput(b), g.eraseOutput(0), str(g)
g.setInsertPoint(add), g.insertNode(g.create("aten::abs", [b], 1)), g.prependNode(g.create("my::first")), g.appendNode(g.create("my::last", [a], 2)), str(g)
g.str(False), g.return_node(), g.block() is not None
choice.outputsAt(0).debugName(), choice.inputsAt(0).debugName(), choice.outputsSize(), choice.inputsSize(), choice.hasMultipleOutputs(), choice.hasUses()
add.replaceInput(0, b).debugName(), str(g), add.replaceInputWith(b, a), str(g), add.removeInput(0), str(g), add.addInput(b).debugName(), str(g)
add.output().replaceAllUsesAfterNodeWith(choice, a), str(g), add.output().replaceAllUsesWith(b), str(g), add.destroy(), str(g)
choice.addBlock().addInputToBlock().setDebugName("q"), choice.addOutput().setDebugName("q"), list(choice.blocks())[2].registerOutput(a), str(g)
add.isBefore(choice), add.isAfter(choice), list(choice.blocks())[0].findNode("aten::relu").isAfter(add), add.moveAfter(choice), str(g)
g.insertGraph(C.parse_ir("graph(%a : Tensor):\\n  %b : Tensor = aten::relu(%a)\\n  return (%b)\\n"), [b])[0].node(), str(g)
g.addInput("fresh").debugName(), g.addInput().debugName(), g.eraseInput(3), str(g)
list(choice.blocks())[0].addNode("aten::abs", [a]), choice.owningBlock() is not None, list(choice.blocks())[0].owningNode().kind(), str(g)
"""

ATTRIBUTES = """\
m.attributeNames(), [m.kindOf(name) for name in ("i", "f", "s", "is", "ss", "t", "ts", "iv", "ty")], str(m)
m.i("i"), m.f("f"), m.s("s"), m.c("c"), getattr(m, "is")("is"), m.fs("fs"), m.ss("ss"), m.t("t").tolist(), len(m.ts("ts")), m.ival("iv"), m.ty("ty")
m.removeAttribute("i").attributeNames(), m.hasAttribute("i"), m.hasAttributes()
m.i("zz")
g.create("other::op", 0).copyAttributes(m).attributeNames()
m.i_("i", 7).i("i"), m.attributeNames()
"""
WITH = SETUP + """
m = g.create("my::op", [a], 2).i_("i", 1).f_("f", 2.5).s_("s", "z").c_("c", 1j).is_("is", [1, 2]).fs_("fs", [1., 2.]).ss_("ss", ["a"])
m.t_("t", torch.ones(2)).ts_("ts", [torch.ones(1)]).ival_("iv", [1, 2]).ty_("ty", C.IntType.get())
"""


def said(setup, expression, module):
    space = {"torch": module}
    exec(setup, space)
    return answer(lambda: eval(expression, space))


@pytest.mark.parametrize("setup, expression", [(SETUP, line) for line in ASKED.splitlines()] + [(WITH, line) for line in ATTRIBUTES.splitlines()])
def test_what_programs_ask_of_graphs(setup, expression):
    assert said(setup, expression, kindling) == said(setup, expression, torch)


def test_a_graph_that_was_compiled_is_of_the_same_class():
    @kindling.jit.script
    def f(x):
        return x.relu() + 1

    assert type(f.graph) is type(kindling._C.parse_ir(TEXT)) is kindling._C.Graph is kindling.Graph
    assert f.graph.findNode("aten::relu").output().uses()[0].user.kind() == "aten::add"


def test_lint_sees_a_value_that_is_made_later():
    graph = kindling._C.parse_ir(TEXT)
    graph.findNode("prim::If").moveBefore(graph.findNode("aten::add"))
    with pytest.raises(RuntimeError, match="not made before"):
        graph.lint()


def test_a_node_stands_in_one_place():
    graph = kindling._C.parse_ir(TEXT)
    with pytest.raises(RuntimeError, match="stands in a graph already"):
        graph.appendNode(graph.findNode("aten::add"))
