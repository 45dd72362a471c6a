"""Products that become one (`torch._C._jit_pass_batch_mm`): graphs afterwards as PyTorch 2.13 prints them, and what they compute."""
import pytest

import kindling

torch = pytest.importorskip("torch")

SUM = """graph(%a : Tensor, %b : Tensor, %c : Tensor, %d : Tensor):
  %1 : int = prim::Constant[value=1]()
  %p : Tensor = aten::mm(%a, %b)
  %q : Tensor = aten::mm(%c, %d)
  %r : Tensor = aten::mm(%a, %d)
  %s : Tensor = aten::mm(%c, %b)
  %x : Tensor = aten::add(%p, %q, %1)
  %y : Tensor = aten::add(%r, %s, %1)
  %z : Tensor = aten::add(%x, %y, %1)
  return (%z)
"""
TURNED = """graph(%a : Tensor, %b : Tensor, %c : Tensor, %d : Tensor):
  %1 : int = prim::Constant[value=1]()
  %p : Tensor = aten::mm(%a, %b)
  %q : Tensor = aten::mm(%d, %c)
  %u : Tensor = aten::t(%q)
  %x : Tensor = aten::add(%p, %u, %1)
  %r : Tensor = aten::mm(%a, %d)
  %y : Tensor = aten::add(%x, %r, %1)
  %v : Tensor = aten::t(%a)
  %s : Tensor = aten::mm(%d, %v)
  %w : Tensor = aten::t(%s)
  %z : Tensor = aten::add(%w, %y, %1)
  return (%z)
"""
READ_TWICE = SUM.replace("return (%z)", "%l : Tensor[] = prim::ListConstruct(%z, %x)\n  return (%l)")   # so %x is no part of the sum
TWO_SUMS = SUM.replace("  return (%z)", """  %j : Tensor = aten::relu(%z)
  %k : Tensor = aten::mm(%j, %b)
  %l : Tensor = aten::add(%k, %j, %1)
  return (%l)""")
INSIDE = """graph(%a : Tensor, %b : Tensor, %n : bool, %d : Tensor):
  %1 : int = prim::Constant[value=1]()
  %o : Tensor = prim::If(%n)
    block0():
      %p : Tensor = aten::mm(%a, %b)
      %q : Tensor = aten::mm(%b, %a)
      %r : Tensor = aten::mm(%a, %a)
      %s : Tensor = aten::mm(%b, %b)
      %x : Tensor = aten::add(%p, %q, %1)
      %y : Tensor = aten::add(%x, %r, %1)
      %z : Tensor = aten::add(%y, %s, %1)
      -> (%z)
    block1():
      -> (%d)
  return (%o)
"""
WRITES = SUM.replace("  return (%z)", "  %v : Tensor = aten::relu_(%a)\n  return (%z)")


def shared(side, count, depends=False, writes=False):
    """Products with one operand in common; the fifth may depend on the second."""
    given = ", ".join(f"%x{i} : Tensor" for i in range(count))
    lines = [f"graph({given}, %w : Tensor):"]
    for i in range(count):
        other = "%r1" if depends and i == 4 else f"%x{i}"
        lines.append(f"  %y{i} : Tensor = aten::mm({other + ', %w' if side else '%w, ' + other})")
        lines.append(f"  %r{i} : Tensor = aten::relu{'_' * writes}(%y{i})")
    lines.append(f"  %l : Tensor[] = prim::ListConstruct({', '.join(f'%r{i}' for i in range(count))})")
    return "\n".join(lines) + "\n  return (%l)\n"


GRAPHS = {"sum": SUM, "turned": TURNED, "read twice": READ_TWICE, "two sums": TWO_SUMS, "inside": INSIDE, "writes": WRITES,
          "left": shared(0, 8), "right": shared(1, 8), "few": shared(1, 7), "left depends": shared(0, 9, True),
          "right depends": shared(1, 9, True), "right writes": shared(1, 8, writes=True)}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_after_the_pass(name):
    texts = []
    for module in (torch, kindling):
        graph = module._C.parse_ir(GRAPHS[name])
        module._C._jit_pass_batch_mm(graph)
        texts.append(str(graph))
    assert texts[1] == texts[0]
    assert ("prim::MM" in texts[1]) == (name not in ("read twice", "writes", "few", "right writes"))


def test_a_sum_with_alpha_stays():
    """PyTorch makes it one product as well, and forgets alpha."""
    graph = kindling._C.parse_ir(SUM.replace("[value=1]", "[value=2]"))
    kindling._C._jit_pass_batch_mm(graph)
    assert "prim::MM" not in str(graph)


@pytest.mark.parametrize("name, rows", [(name, 6) for name in GRAPHS if name != "inside"] + [("right", rows) for rows in (0, 1, 40)])
def test_what_it_computes(name, rows):
    """Whole numbers, so that the order of sums does not show; and gradients."""
    text = GRAPHS[name]
    before, after = kindling._C.parse_ir(text), kindling._C.parse_ir(text)
    kindling._C._jit_pass_batch_mm(after)
    kindling.manual_seed(0)
    count = len(list(after.inputs()))
    matrices = [kindling.randint(-4, 5, (rows if i < count - 1 else 6, 6)).double() for i in range(count)]
    results = []
    for graph in (before, after):
        given = [each.clone().requires_grad_("writes" not in name) for each in matrices]
        function = kindling._C._create_function_from_graph("f", graph)
        out = function(*given)
        out = out if isinstance(out, list) else [out]
        if given[0].requires_grad:
            sum(each.sum() for each in out).backward()
        results.append([each.tolist() for each in out] + [each.grad.tolist() for each in given if each.grad is not None])
    assert results[0] == results[1]


def test_operands_of_different_sizes_and_dtypes():
    graph = kindling._C.parse_ir(shared(1, 8))
    kindling._C._jit_pass_batch_mm(graph)
    function = kindling._C._create_function_from_graph("f", graph)
    others, w = [kindling.ones(i % 3 + 1, 4) for i in range(8)], kindling.ones(4, 2)
    assert [each.tolist() for each in function(*others, w)] == [kindling.mm(each, w).tolist() for each in others]
    with pytest.raises(RuntimeError, match="dtype"):
        function(*[kindling.ones(2, 4, dtype=kindling.float64 if i == 3 else kindling.float32) for i in range(8)], w)
