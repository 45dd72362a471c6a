"""Passes over graphs (`torch._C._jit_pass_*`): a graph before and after, as PyTorch 2.13 prints it; and that they change no result."""
import pytest

import kindling

torch = pytest.importorskip("torch")

GRAPHS = [
    ("cse", """
graph(%a : Tensor, %b : Tensor):
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=1]()
  %x : Tensor = aten::add(%a, %b, %one)
  %y : Tensor = aten::add(%a, %b, %two)
  %z : Tensor = aten::mul(%x, %y)
  return (%z)
"""),
    ("cse", """
graph(%a : Tensor, %b : Tensor):
  %x : Tensor = aten::mul(%a, %b)
  %y : Tensor = aten::mul(%a, %b)
  return (%x, %y)
"""),
    ("cse", """
graph(%a : Tensor, %b : Tensor):
  %x : Tensor = aten::mul(%a, %b)
  %w : Tensor = aten::relu_(%a)
  %y : Tensor = aten::mul(%a, %b)
  %z : Tensor = aten::mul(%x, %y)
  return (%z)
"""),
    ("cse", """
graph(%a : Tensor, %n : int, %c : bool):
  %x : int = aten::mul(%n, %n)
  %r : int = prim::If(%c)
    block0():
      %y : int = aten::mul(%n, %n)
      -> (%y)
    block1():
      %u : int = aten::add(%n, %n)
      %v : int = aten::add(%n, %n)
      %w : int = aten::mul(%u, %v)
      -> (%w)
  %s : int = aten::add(%r, %x)
  return (%s)
"""),
    ("cse", """
graph(%a : Tensor):
  %k : NoneType = prim::Constant()
  %p : Tensor = aten::rand_like(%a, %k, %k, %k, %k, %k)
  %q : Tensor = aten::rand_like(%a, %k, %k, %k, %k, %k)
  %z : Tensor = aten::mul(%p, %q)
  return (%z)
"""),
    ("dce", """
graph(%a : Tensor, %b : Tensor):
  %x : Tensor = aten::mul(%a, %b)
  %y : Tensor = aten::relu(%x)
  return (%x)
"""),
    ("dce", """
graph(%a : Tensor):
  %x : Tensor = aten::mul(%a, %a)
  %y : Tensor = aten::relu_(%x)
  %u : Tensor = aten::mul(%a, %a)
  %v : Tensor = aten::relu_(%u)
  %w : Tensor = aten::relu_(%a)
  return (%x)
"""),
    ("dce", """
graph(%a : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %t : bool = prim::Constant[value=1]()
  %x : Tensor, %y : Tensor = prim::Loop(%n, %t, %a, %a)
    block0(%i : int, %p : Tensor, %q : Tensor):
      %r : Tensor = aten::add(%p, %one, %one)
      %s : Tensor = aten::mul(%q, %q)
      -> (%t, %r, %s)
  return (%x)
"""),
    ("dce", """
graph(%a : Tensor, %c : bool):
  %x : Tensor, %y : Tensor = prim::If(%c)
    block0():
      %r : Tensor = aten::relu(%a)
      %s : Tensor = aten::mul(%a, %a)
      -> (%r, %s)
    block1():
      %t : Tensor = aten::abs(%a)
      -> (%t, %a)
  return (%y)
"""),
    ("dce", """
graph(%a : Tensor, %n : int):
  %l : int[] = prim::ListConstruct(%n)
  %m : int[] = aten::append(%l, %n)
  %k : int[] = prim::ListConstruct(%n)
  %o : int[] = aten::append(%k, %n)
  %v : Tensor = aten::view(%a, %k)
  return (%v)
"""),
    ("constant_propagation constant_propagation_immutable_types", """
graph(%a : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=3]()
  %3 : int = aten::mul(%1, %2)
  %4 : int = aten::add(%3, %2)
  %5 : int[] = prim::ListConstruct(%3, %4)
  %6 : Tensor = aten::view(%a, %5)
  %7 : (int, int) = prim::TupleConstruct(%3, %4)
  return (%6, %7)
"""),
    ("constant_propagation constant_propagation_immutable_types", """
graph(%a : Tensor):
  %1 : int = prim::Constant[value=2]()
  %2 : int = prim::Constant[value=3]()
  %c : bool = aten::gt(%1, %2)
  %r : Tensor = prim::If(%c)
    block0():
      %x : Tensor = aten::relu(%a)
      -> (%x)
    block1():
      %y : Tensor = aten::abs(%a)
      -> (%y)
  return (%r)
"""),
    ("constant_propagation", """
graph(%a : Tensor):
  %1 : int = prim::Constant[value=2]()
  %n : NoneType = prim::Constant()
  %s : int[] = prim::ListConstruct(%1)
  %z : Tensor = aten::ones(%s, %n, %n, %n, %n)
  %q : Tensor = aten::add(%z, %1, %1)
  %r : Tensor = aten::mul(%q, %a)
  return (%r)
"""),
    ("constant_propagation", """
graph(%a : Tensor):
  %1 : int = prim::Constant[value=2]()
  %s : int[] = prim::ListConstruct(%1)
  %t : int[] = aten::append(%s, %1)
  %r : Tensor = aten::view(%a, %s)
  return (%r)
"""),
    ("constant_propagation", """
graph(%a : Tensor, %n : int):
  %0 : int = prim::Constant[value=0]()
  %t : bool = prim::Constant[value=1]()
  %x : Tensor, %k : int = prim::Loop(%0, %t, %a, %n)
    block0(%i : int, %p : Tensor, %q : int):
      %s : Tensor = aten::relu(%p)
      -> (%t, %s, %q)
  %y : Tensor, %k2 : int = prim::Loop(%n, %t, %a, %n)
    block0(%i : int, %p : Tensor, %q : int):
      %s : Tensor = aten::add(%p, %q, %n)
      -> (%t, %s, %q)
  %o : Tensor = aten::add(%y, %k2, %k)
  return (%x, %o)
"""),
    ("constant_pooling", """
graph(%a : Tensor, %c : bool):
  %x : Tensor = prim::If(%c)
    block0():
      %1 : int = prim::Constant[value=1]()
      %r : Tensor = aten::add(%a, %1, %1)
      -> (%r)
    block1():
      %2 : int = prim::Constant[value=1]()
      %3 : float = prim::Constant[value=1.]()
      %s : Tensor = aten::sub(%a, %3, %2)
      -> (%s)
  return (%x)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %x : Tensor = aten::mul(%a, %1)
  %r : Tensor = aten::relu(%x)
  return (%r)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %r : Tensor = aten::mul(%a, %1)
  return (%r)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %y : Tensor = aten::relu(%a)
  %r : Tensor = aten::mul(%y, %1)
  return (%r)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %y : Tensor = aten::t(%a)
  %z : Tensor = aten::t(%y)
  %r : Tensor = aten::relu(%z)
  return (%r)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %y : Tensor = aten::transpose(%a, %0, %1)
  %z : Tensor = aten::transpose(%y, %0, %1)
  %r : Tensor = aten::relu(%z)
  return (%r)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %y : int = aten::add(%n, %0)
  %z : int = aten::mul(%y, %1)
  %w : int = aten::sub(%z, %0)
  %v : int = aten::floordiv(%w, %1)
  %r : Tensor = aten::add(%a, %v, %1)
  return (%r)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %y : int = aten::add(%n, %2)
  %z : int = aten::add(%y, %1)
  %w : int = aten::sub(%z, %2)
  %r : Tensor = aten::add(%a, %w, %1)
  return (%r)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %c : bool = aten::__is__(%o, %none)
  %d : bool = aten::__is__(%a, %none)
  %e : bool = aten::__isnot__(%a, %none)
  %g : bool = aten::__isnot__(%none, %none)
  return (%c, %d, %e, %g)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %c : Tensor = prim::unchecked_cast(%a)
  %d : Tensor = aten::_unwrap_optional(%a)
  %e : Tensor = prim::unchecked_cast(%o)
  %r : Tensor = aten::mul(%c, %d)
  return (%r, %e)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %c : bool = aten::gt(%n, %0)
  %r : bool = prim::If(%c)
    block0():
      -> (%true)
    block1():
      -> (%false)
  return (%r)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %y : int = aten::Int(%n)
  %z : float = aten::Float(%f)
  %w : Tensor = aten::add(%a, %y, %1)
  %v : Tensor = aten::mul(%w, %z)
  return (%v)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %y : int = aten::dim(%a)
  %s : int[] = aten::size(%a)
  %k : int = aten::len(%s)
  %i : int = aten::size(%a, %0)
  return (%y, %k, %i)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %s : int[] = aten::size(%a)
  %i : int = aten::__getitem__(%s, %0)
  return (%i)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %l : int[] = prim::ListConstruct(%n, %1)
  %k : int = aten::len(%l)
  %i : int = aten::__getitem__(%l, %0)
  %p : int, %q : int = prim::ListUnpack(%l)
  %m : int[] = aten::add(%l, %l)
  return (%k, %i, %p, %q, %m)
"""),
    ("peephole", """
graph(%a : Tensor, %b : Tensor, %n : int, %o : Tensor?, %f : float):
  %0 : int = prim::Constant[value=0]()
  %1 : int = prim::Constant[value=1]()
  %2 : int = prim::Constant[value=2]()
  %none : NoneType = prim::Constant()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
  %y : Tensor = aten::type_as(%a, %b)
  return (%y)
"""),
    ("peephole", """
graph(%a : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu), %b : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)):
  %0 : int = prim::Constant[value=0]()
  %y : int = aten::dim(%a)
  %s : int[] = aten::size(%a)
  %k : int = aten::len(%s)
  %i : int = aten::size(%a, %0)
  %t : Tensor = aten::type_as(%a, %b)
  %d : int = prim::dtype(%a)
  %fl : bool = aten::is_floating_point(%a)
  %dev : Device = prim::device(%a)
  %v : Tensor = aten::relu(%t)
  return (%y, %s, %k, %i, %d, %fl, %dev, %v)
"""),
    ("peephole", """
graph(%a : Tensor, %w : Tensor, %bias : Tensor?, %l : int[]):
  %1 : int = prim::Constant[value=1]()
  %c : Tensor = aten::conv2d(%a, %w, %bias, %l, %l, %l, %1)
  %d : int = aten::dim(%c)
  return (%c, %d)
"""),
    ("lower_all_tuples", """
graph(%a : Tensor, %t : (Tensor, int)):
  %x : Tensor, %n : int = prim::TupleUnpack(%t)
  %u : (Tensor, Tensor) = prim::TupleConstruct(%a, %x)
  %p : Tensor, %q : Tensor = prim::TupleUnpack(%u)
  %r : Tensor = aten::mul(%p, %q)
  %o : (Tensor, int) = prim::TupleConstruct(%r, %n)
  return (%o)
"""),
    ("lower_all_tuples", """
graph(%a : Tensor, %c : bool):
  %o : (Tensor, Tensor) = prim::If(%c)
    block0():
      %u : (Tensor, Tensor) = prim::TupleConstruct(%a, %a)
      -> (%u)
    block1():
      %b : Tensor = aten::relu(%a)
      %v : (Tensor, Tensor) = prim::TupleConstruct(%b, %a)
      -> (%v)
  %0 : int = prim::Constant[value=0]()
  %i : Tensor = prim::TupleIndex(%o, %0)
  return (%i)
"""),
    ("loop_unrolling constant_loop_unrolling", """
graph(%a : Tensor):
  %n : int = prim::Constant[value=3]()
  %1 : int = prim::Constant[value=1]()
  %t : bool = prim::Constant[value=1]()
  %o : Tensor = prim::Loop(%n, %t, %a)
    block0(%i : int, %s : Tensor):
      %y : Tensor = aten::add(%s, %i, %1)
      -> (%t, %y)
  return (%o)
"""),
    ("loop_unrolling constant_loop_unrolling", """
graph(%a : Tensor, %n : int):
  %1 : int = prim::Constant[value=1]()
  %t : bool = prim::Constant[value=1]()
  %o : Tensor = prim::Loop(%n, %t, %a)
    block0(%i : int, %s : Tensor):
      %y : Tensor = aten::add(%s, %i, %1)
      -> (%t, %y)
  return (%o)
"""),
    ("loop_unrolling", """
graph(%a : Tensor, %n : int, %c : bool):
  %1 : int = prim::Constant[value=1]()
  %o : Tensor = prim::Loop(%n, %c, %a)
    block0(%i : int, %s : Tensor):
      %y : Tensor = aten::add(%s, %i, %1)
      %d : bool = aten::gt(%i, %1)
      -> (%d, %y)
  return (%o)
"""),
    ("remove_mutation", """
graph(%a : Tensor):
  %1 : int = prim::Constant[value=1]()
  %x : Tensor = aten::add(%a, %1, %1)
  %y : Tensor = aten::add_(%x, %1, %1)
  %z : Tensor = aten::relu_(%y)
  %w : Tensor = aten::mul(%x, %y)
  return (%w)
"""),
    ("remove_mutation", """
graph(%a : Tensor):
  %1 : int = prim::Constant[value=1]()
  %y : Tensor = aten::add_(%a, %1, %1)
  %x : Tensor = aten::add(%a, %1, %1)
  %v : Tensor = aten::t(%x)
  %w : Tensor = aten::relu_(%x)
  %r : Tensor = aten::mul(%v, %w)
  return (%r)
"""),
    ("remove_mutation", """
graph(%n : int):
  %1 : int = prim::Constant[value=1]()
  %l : int[] = prim::ListConstruct(%n)
  %m : int[] = aten::append(%l, %1)
  %k : int[] = aten::append(%l, %n)
  return (%l)
"""),
    ("remove_mutation", """
graph(%a : Tensor):
  %1 : int = prim::Constant[value=1]()
  %x : Tensor = aten::add(%a, %1, %1)
  %y : Tensor = aten::fill_(%x, %1)
  %z : Tensor = aten::zero_(%x)
  return (%x)
"""),
    ("erase_number_types", """
graph(%a : Tensor, %n : int):
  %1 : int = prim::Constant[value=1]()
  %f : float = prim::Constant[value=1.5]()
  %b : bool = prim::Constant[value=1]()
  %m : int = aten::add(%n, %1)
  %x : Tensor = aten::add(%a, %m, %1)
  return (%x)
"""),
    ("erase_shape_information", """
graph(%a : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu), %l : Float(2)[]):
  %x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::relu(%a)
  return (%x)
"""),
    ("remove_inplace_ops", """
graph(%a : Tensor):
  %1 : int = prim::Constant[value=1]()
  %y : Tensor = aten::add_(%a, %1, %1)
  %z : Tensor = aten::relu_(%y)
  return (%z)
"""),
    ("canonicalize", """
graph(%a.5 : Tensor, %b : Tensor):
  %x : Tensor = aten::mul(%a.5, %b)
  %c : bool = prim::Constant[value=1]()
  %r : Tensor = prim::If(%c)
    block0():
      %y : Tensor = aten::relu(%x)
      -> (%y)
    block1():
      -> (%x)
  return (%r)
"""),
    ("remove_expands", """
graph(%a : Tensor, %s : int[]):
  %f : bool = prim::Constant[value=1]()
  %g : bool = prim::Constant[value=0]()
  %x : Tensor = aten::expand(%a, %s, %f)
  %y : Tensor = aten::expand(%x, %s, %g)
  return (%y)
"""),
    ("lint inline dce_allow_deleting_nodes_with_side_effects", """
graph(%a : Tensor):
  %x : Tensor = aten::relu_(%a)
  return (%a)
"""),
]
CASES = [(name, text.strip() + "\n") for names, text in GRAPHS for name in names.split()]


def after(module, name, text):
    graph = module._C.parse_ir(text)
    try:
        answer = getattr(module._C, "_jit_pass_" + name)(graph)
    except RuntimeError as error:
        return str(error)
    return str(answer), str(graph)


@pytest.mark.parametrize("name, text", CASES, ids=[f"{name}-{place}" for place, (name, _) in enumerate(CASES)])
def test_a_graph_after_a_pass(name, text):
    assert after(kindling, name, text) == after(torch, name, text)


# ---- results stay: programs in which writes and views meet

ALIASING = ["""
def f(x, n: int):
    y = x * 2
    v = y.view(-1)
    v.add_(1)
    z = x * 2
    return y + z, v
""", """
def f(x, n: int):
    y = torch.relu(x)
    z = torch.relu(x)
    z.mul_(3)
    return y, z, torch.relu(x)
""", """
def f(x, n: int):
    all = [x + 1]
    t = x.t()
    for i in range(n):
        all.append(t * i)
        t = t + x.t()
        all[0].add_(i)
    return all, t
""", """
def f(x, n: int):
    y = x.clone()
    for i in range(3):
        a = y.sum()
        y.add_(1)
        b = y.sum()
        y = y + a - b
    return y
""", """
def f(x, n: int):
    w = x + 0
    w.zero_()
    q = x.t().t()
    q.add_(1)
    return w, q, x
""", """
def f(x, n: int):
    y = x
    k = 0
    while k < n:
        if k % 2 == 0:
            y = y.t()
            y.add_(1)
        else:
            y = y * 1
        k += 1
    return y, x, k + 1 - 1
""", """
def f(x, n: int):
    a = torch.ones(2, 2)
    b = torch.ones(2, 2)
    c = torch.zeros(2, 2)
    a.add_(x)
    c.fill_(n)
    d = [1, 2]
    d.append(n)
    pair = (a, d)
    return pair, b, c, len(d), pair[0] + b
""", """
def f(x, n: int):
    total = x * 0
    for i in range(4):
        row = x.select(0, 0)
        row.mul_(2)
        total += row * (n * 2)
    return total, x
"""]
PASSES = ("cse dce dce_graph constant_propagation constant_pooling peephole lower_all_tuples loop_unrolling constant_loop_unrolling "
          "loop_invariant_motion remove_mutation inline fuse").split()


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value.tolist() if isinstance(value, kindling.Tensor) else value


def results(function):
    x = kindling.arange(4.0).view(2, 2) - 1
    return plain(function(x, 3)), x.tolist()


@pytest.mark.parametrize("text", ALIASING, ids=range(len(ALIASING)))
@pytest.mark.parametrize("name", PASSES)
def test_a_pass_changes_no_result(name, text):
    unit = kindling.jit.CompilationUnit(text)
    wanted = results(unit.f)
    graph = unit.f.graph.copy()
    getattr(kindling._C, "_jit_pass_" + name)(graph)
    graph.lint()
    if name == "fuse":                     # groups are there to be seen
        return
    given = results(kindling._C._create_function_from_graph("f", graph))
    if name == "lower_all_tuples":         # results in a row: nothing holds them together any more
        assert [str(graph).count("(Tensor, "), given[1]] == [0, wanted[1]]
    else:
        assert given == wanted


def test_every_pass_after_the_other():
    for text in ALIASING:
        unit = kindling.jit.CompilationUnit(text)
        graph = unit.f.graph.copy()
        for name in PASSES:
            if name not in ("fuse", "lower_all_tuples"):
                getattr(kindling._C, "_jit_pass_" + name)(graph)
                graph.lint()
        assert results(kindling._C._create_function_from_graph("f", graph)) == results(unit.f)


def test_what_a_loop_computes_anew():
    graph = kindling._C.parse_ir("""graph(%a : Tensor, %n : int):
  %1 : int = prim::Constant[value=1]()
  %t : bool = prim::Constant[value=1]()
  %three : int = prim::Constant[value=3]()
  %o : Tensor = prim::Loop(%three, %t, %a)
    block0(%i : int, %s : Tensor):
      %k : int = aten::mul(%n, %n)
      %b : Tensor = aten::relu(%a)
      %c : Tensor = aten::mul(%b, %k)
      %y : Tensor = aten::add(%s, %c, %i)
      -> (%t, %y)
  return (%o)
""")
    assert kindling._C._jit_pass_loop_invariant_motion(graph)
    assert str(graph) == """graph(%a : Tensor,
      %n : int):
  %2 : int = prim::Constant[value=1]()
  %3 : bool = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=3]()
  %8 : int = aten::mul(%n, %n)
  %9 : Tensor = aten::relu(%a)
  %10 : Tensor = aten::mul(%9, %8)
  %5 : Tensor = prim::Loop(%4, %3, %a)
    block0(%i : int, %s : Tensor):
      %11 : Tensor = aten::add(%s, %10, %i)
      -> (%3, %11)
  return (%5)
"""
    assert not kindling._C._jit_pass_loop_invariant_motion(graph)


def test_what_may_fail_or_is_written_stays_in_its_loop():
    text = """graph(%a : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %o : Tensor = prim::Loop(%n, %t, %a)
    block0(%i : int, %s : Tensor):
      %b : Tensor = aten::mm(%a, %a)
      %y : Tensor = aten::add(%s, %b, %i)
      -> (%t, %y)
  %three : int = prim::Constant[value=3]()
  %p : Tensor = prim::Loop(%three, %t, %o)
    block0(%i : int, %s : Tensor):
      %b : Tensor = aten::relu(%a)
      %w : Tensor = aten::add_(%a, %b, %i)
      -> (%t, %b)
  return (%p)
"""
    graph = kindling._C.parse_ir(text)
    assert not kindling._C._jit_pass_loop_invariant_motion(graph)


def test_calls_stand_in_line():
    unit = kindling.jit.CompilationUnit("""
def g(x):
    return x + 1
def f(x):
    return g(x) * g(x)
""")
    graph = unit.f.graph.copy()
    kindling._C._jit_pass_inline(graph)
    assert [node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"] == ["aten::add", "aten::add", "aten::mul"]
    assert kindling._C._jit_pass_cse(graph)
    assert [node.kind() for node in graph.nodes() if node.kind() != "prim::Constant"] == ["aten::add", "aten::mul"]


def test_the_fused_graph():
    @kindling.jit.script
    def mul5(a, b, c, d, e):
        return a * b * c * d * e

    ones = [kindling.ones(3)] * 5
    graph = mul5.graph_for(*ones)
    assert [node.kind() for node in graph.nodes()] == ["prim::FusionGroup"]
    assert "prim::FusionGroup_0(%a.1, %b.1, %c.1, %d.1, %e.1)\n  return" in str(graph) and "\nwith prim::FusionGroup_0 = graph(%0 : Tensor," in str(graph)
    body = graph.findNode("prim::FusionGroup").g("Subgraph")
    assert [node.kind() for node in body.nodes()] == ["aten::mul"] * 4
    with kindling.jit.optimized_execution(False):
        assert mul5.graph_for(*ones).findNode("prim::FusionGroup") is None
    kindling._C._jit_override_can_fuse_on_cpu(False)
    try:
        assert mul5.graph_for(*ones).findNode("prim::FusionGroup") is None
    finally:
        kindling._C._jit_override_can_fuse_on_cpu(True)


def test_the_fused_graph_of_a_loop():
    @kindling.jit.script
    def mul5(x):
        for i in range(5):
            x = x * x
        return x

    graph = mul5.graph_for(kindling.ones(3))
    assert [node.kind() for node in graph.nodes()] == ["prim::FusionGroup"]
    assert [node.kind() for node in graph.findNode("prim::FusionGroup").g("Subgraph").nodes()] == ["aten::mul"] * 5


@pytest.mark.parametrize("module", [torch, kindling])
def test_switches_of_fusers(module):
    with pytest.raises(Exception, match="unrecognized fuser option \\(name: other\\)"):
        with module.jit.fuser("other"):
            pass
    with pytest.raises(ValueError, match="FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: OTHER"):
        module.jit.set_fusion_strategy([("OTHER", 1)])
    before = module.jit.set_fusion_strategy([("STATIC", 1)])
    assert module.jit.set_fusion_strategy(before) == [("STATIC", 1)]
    with module.jit.fuser("fuser1"), module.jit.optimized_execution(True):
        pass
