"""What programs ask the tape for beside gradients: nodes and what they saved, the order of a backward pass, names below torch._C: as under PyTorch."""
import gc
import warnings

import pytest
import torch

import kindling
from both import run, same

SETUP = """
Function, graph, gradcheck = torch.autograd.Function, torch.autograd.graph, torch.autograd.gradcheck
a = torch.arange(1., 5).reshape(2, 2).requires_grad_()
b = torch.tensor([2., 3.], requires_grad=True)
class Twice(Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return g * 2
class View(Function):
    @staticmethod
    def forward(ctx, x): return x.view_as(x)
    @staticmethod
    def backward(ctx, g): return g
d = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
c = torch.ones(2, 2, dtype=torch.complex128, requires_grad=True)
def hooked(hook, of=lambda x: x.clone()):
    def function(x):
        y = of(x)
        y.register_hook(hook)
        return y
    return function
def told(function):
    try: return str(function())
    except Exception as error: return type(error).__name__ + ' ' + ' '.join(str(error).split()).partition(', numerical')[0].partition(', at input')[0].partition('. Expected two')[0].partition('. The following')[0]
"""
SAME = [
    "told(lambda: (b ** 2).grad_fn(b.detach(), b.detach()))", "told(lambda: (b ** 2).grad_fn())", "(b ** 2).grad_fn(torch.ones(2))",
    "(b * 2).grad_fn(None)", "(b + b).grad_fn(None)", "b.exp().grad_fn(None)", "a.sum().grad_fn(None)", "b.view(-1).grad_fn(None)", "b[:1].grad_fn(None)", "a.unbind(0)[0].grad_fn(None, None)",
    "torch.stack([b, b]).grad_fn(None)", "b.softmax(0).grad_fn(None)", "told(lambda: b.clone().grad_fn(None))", "told(lambda: (b * 1).grad_fn.next_functions[0][0](None))",
    "told(lambda: torch._C._autograd.SavedTensor())", "told(lambda: torch.autograd.SavedTensor())",
    "y = b * b\ntold(lambda: y.grad_fn._raw_saved_self.register_hooks(lambda x: x))", "y = b * b\ntold(lambda: y.grad_fn._raw_saved_self.register_hooks(1, 1))",
    "y = a[:, torch.tensor([0, 1])]\ntold(lambda: y.grad_fn._raw_saved_indices[0].register_hooks(lambda x: x, lambda x: x))",
    "y = b * b\nsaved = y.grad_fn._raw_saved_self\ny.sum().backward()\ntold(lambda: saved.register_hooks(lambda x: x, lambda x: x))",
    "a[:, torch.tensor([0, 1])].grad_fn._saved_self_sym_sizes", "a.mean().grad_fn._saved_self_sym_sizes", "a.sum().grad_fn._saved_self_sym_sizes",
    "[name for name in dir(a[0:1].grad_fn) if 'saved' in name]", "[name for name in dir(a.sum(1).grad_fn) if 'saved' in name]",
    "[name for name in dir(a[:, torch.tensor([0])].grad_fn) if 'saved' in name]", "[name for name in dir((a * a).grad_fn) if 'saved' in name]",
    "x = torch.randn(2)\nx._backward_hooks = {'t': 1}\nx._backward_hooks",
    "x = torch.ones(2)\nx._backward_hooks = {1: lambda g: g * 3}\nx.requires_grad_().sum().backward()\nx.grad",
    "v = View.apply(torch.rand(1, 2))\ntold(lambda: v.add_(b))", "v = View.apply(torch.rand(1, 2))\ntold(lambda: v.copy_(b))",
    "v = View.apply(torch.rand(1, 2))\nv.add_(1).shape", "with torch.no_grad(): v = torch.ones(2).view(2)\ntold(lambda: v.add_(b))",
    "told(lambda: torch._C._will_engine_execute_node(a))", "told(lambda: torch._C._will_engine_execute_node((a * 2).grad_fn))",
    "said = []\ny = a * 2\ny.register_hook(lambda g: said.append(told(lambda: torch._C._will_engine_execute_node(a.clone().grad_fn.next_functions[0][0]))))\n"
    "torch.autograd.grad(y.sum(), a)\ny.sum().backward()\nsaid",
    "told(lambda: torch._C._current_graph_task_execution_order())",
    "x = torch.autograd.grad((b * a), a, torch.ones(2, 2), create_graph=True)\nx = torch.autograd.grad(x, a, [torch.ones(2, 2)], allow_unused=True, materialize_grads=True, create_graph=True)\n"
    "(x, torch.autograd.grad(x[0].sum(), a, materialize_grads=True))",
    "torch._C._functions.DelayedError('Boom', 1)(b)", "torch._C._functions.DelayedError('Boom', 2)(b, None)", "told(lambda: torch._C._functions.DelayedError('Boom', 2)(b))",
    "y = torch._C._functions.DelayedError(b'Boom', 2)(b, torch.ones(2))[0]\n[each is None for each, _ in y.grad_fn.next_functions]",
    "told(lambda: torch._C._functions.DelayedError(b'Boom', 1)(b).sum().backward())", "torch._C._functions.DelayedError(b'Boom', 1)(torch.ones(2))",
    "[issubclass(each, graph.Node) for each in (torch._C._functions.DelayedError, torch._C._functions.AccumulateGrad, type((a * 2).grad_fn), torch.autograd.function.BackwardCFunction, int, graph.Node)]",
    "[isinstance(each, graph.Node) for each in (None, 1, graph.Node, (a * 2).grad_fn, Twice.apply(a).grad_fn, a)]", "graph.Node in type((a * 2).grad_fn).mro()",
    "torch._unique(torch.tensor([3, 1, 3]), True, True)", "r = torch._unique(b)\n[each.requires_grad for each in r]",
    "torch._VF.unique_dim(torch.tensor([1, 2, 1]), dim=0, sorted=True, return_inverse=True, return_counts=True)", "torch._VF.frobenius_norm(a, 1).tolist()", "hasattr(torch._VF, '_absent')",
    "torch.autograd._profiler_enabled()", "with torch.autograd.profiler.profile(): x = torch.autograd._profiler_enabled()\nx",
    "torch.autograd._calculate_shape(torch.nested.as_nested_tensor([a, b[None]]), torch.nested.as_nested_tensor([b[None], a]), False)",
    *[f"told(lambda: {program})" for fast in (False, True) for program in (
        f"gradcheck(hooked(lambda g: g * (2 - 1 // (g is not None))), d, fast_mode={fast})", f"gradcheck(hooked(lambda g: g + 1), d, fast_mode={fast}, atol=10)",
        f"gradcheck(hooked(lambda g: g + .01), d, fast_mode={fast})", f"gradcheck(hooked(lambda g: g + .01), c, fast_mode={fast})",
        f"gradcheck(hooked(lambda g: g + .01), c, fast_mode={fast}, raise_exception=False)",
        f"gradcheck(hooked(lambda g: g + .01, of=lambda x: torch.complex(x, x)), d, fast_mode={fast})", f"gradcheck(hooked(lambda g: g + .01, of=torch.real), c, fast_mode={fast})",
        f"gradcheck(lambda x: x.repeat(2, 1) if x.min() >= 1 else x, d, fast_mode={fast})", f"gradcheck(lambda x: x.float() if x.min() >= 1 else x, d, fast_mode={fast})",
        f"gradcheck(lambda x: hooked(lambda g: g.to_dense().to_sparse(1) if g is not None else g)(x).to_dense(), d.detach().to_sparse().requires_grad_(), masked=True, fast_mode={fast})")],
    "told(lambda: torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), b, strict=True, vectorize=True))",
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", SAME)
def test_programs(source):
    same(source, SETUP)


@pytest.mark.parametrize("kind", ["scatter_reduce", "index_reduce"])
@pytest.mark.parametrize("source", [[0., 0.], [0., 2.], [3., 2.]])
def test_products_with_zeros_twice_differentiated(kind, source):
    program = f"x, s = torch.tensor([1.], requires_grad=True), torch.tensor({source}, requires_grad=True)\n" \
              f"y = torch.{kind}(x, 0, torch.tensor([0, 0]), s, 'prod')\ng = torch.autograd.grad(y.sum(), (x, s), create_graph=True)\n" \
              "told(lambda: torch.autograd.grad(sum(each.sum() for each in g), (x, s)))"
    ours, theirs = run("kindling", program, SETUP), run("torch", program, SETUP)
    assert ours == theirs or "Double backward is unsupported for s" in ours and "Double backward is unsupported for s" in theirs


@pytest.mark.parametrize("program", [
    "torch.tensor(1., requires_grad=True).clone().sin().exp()", "a = torch.tensor(1., requires_grad=True); (a.cos() * a.sin() + a)",
    "a, b = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True); ((a @ b).relu() + a[0] * b.t()).sum()"])
@pytest.mark.parametrize("only", [False, True])
def test_order_of_a_backward_pass(program, only):
    def order(t):
        scope = {"torch": t}
        body, _, last = program.rpartition(";")
        exec(body.strip(), scope)
        result, found = eval(last.strip(), scope), []
        result.register_hook(lambda g: found.extend(t._C._current_graph_task_execution_order()))
        with t.autograd.set_multithreading_enabled(False):
            if only and "a" in scope:
                t.autograd.grad(result, scope["a"])
            else:
                result.backward()
        with pytest.raises(RuntimeError, match="multithreading disabled"):
            again = eval(last.strip(), scope)
            again.register_hook(lambda g: t._C._current_graph_task_execution_order())
            again.backward()
        return [node.name() for node in found]

    ours = order(kindling)
    assert [name.replace("Mm", "Matmul") for name in ours] == [name.replace("Mm", "Matmul") for name in order(torch)] and ours


def test_weak_references():
    def kept(t):
        y = t.ones(2, requires_grad=True) * 2
        reference = t._C._WeakTensorRef(y)
        before, z = reference.expired(), y / 2
        del y
        gc.collect()
        held = [t.ones(2)]
        second = t._C._WeakTensorRef(held[0])
        first = second.expired()
        held.clear()
        return before, reference.expired(), first, second.expired(), z.sum().item()

    assert kept(kindling) == kept(torch)


@pytest.mark.parametrize("view", ["select(x, 0, 0)", "as_strided(x, (4,), (1,))", "t(x)", "view_as_complex(x)", "flatten(x)", "unbind(x)[1]"])
def test_views_of_another_base(view):
    def again(t):
        x, y = t.arange(4.).reshape(2, 2).clone(), t.arange(4., 8).reshape(2, 2).clone()
        out = eval(f"t.{view}", {"t": t, "x": x})
        new = out._view_func(y)
        return new.tolist(), new.stride(), new.storage_offset(), new._base is y, out._view_func(t.ones(3)), x._view_func(y)

    assert again(kindling) == again(torch)


def test_saved_variables_are_deprecated():
    def said(t):
        class Square(t.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, g):
                return 2 * g * ctx.saved_variables[0]

        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            x = t.ones(2, requires_grad=True)
            Square.apply(x).sum().backward()
        return x.grad.tolist(), [(each.category, str(each.message)) for each in found]

    assert said(kindling) == said(torch)


def test_events_by_hand():
    def found(t):
        import importlib
        util = importlib.import_module(t.__name__ + ".autograd.profiler_util")
        events = util.EventList()
        for number, (thread, begin, end) in enumerate([(1, 0, 1), (1, 1, 2), (0, 0, 2), (0, 1, 2), (0, 1, 3), (0, 4, 9), (0, 5, 6), (0, 5, 7)]):
            events.append(util.FunctionEvent(id=number, node_id=0, name="", thread=thread, start_us=begin, end_us=end))
        events._populate_cpu_children()
        return [[child.id for child in event.cpu_children] for event in events]

    assert found(kindling) == found(torch)


def test_forks():
    future = kindling.jit._fork(lambda x: x + 1, kindling.ones(2))
    assert kindling.jit._wait(future).tolist() == [2, 2]


def test_numbers_are_not_shown_to_hooks():
    def packed(t):
        shapes = []
        with t.autograd.graph.saved_tensors_hooks(lambda x: (shapes.append(tuple(x.shape)), 2 * x)[1], lambda x: x):
            a = t.ones(5, requires_grad=True)
            gradient, = t.autograd.grad((a ** 3).sum(), a, create_graph=True)
            gradient.sum().backward()
        return shapes, a.grad.tolist()

    assert packed(kindling) == packed(torch)


class Marked(kindling.Tensor):
    __slots__ = ["mark"]
    __torch_function__ = kindling._C._disabled_torch_function_impl


def test_what_the_tape_holds_keeps_its_attributes():
    """Of garbage that is cleared one by one, a tensor that a node has saved lives on whole."""
    leaf = kindling.ones(2, requires_grad=True)
    for first in (False, True):
        box = []
        tensor = (leaf * 1).as_subclass(Marked)
        box = [] if first else box
        tensor.mark, tensor.note = "slot", "dict"
        result = tensor.pow(3)
        box += [box, tensor]
        del tensor, box
        gc.collect()
        saved = result.grad_fn._saved_self
        assert (type(saved), saved.mark, saved.note) == (Marked, "slot", "dict")


def test_a_gradient_that_leads_back_is_collected():
    leaf = kindling.ones(2, requires_grad=True)
    leaf.grad = kindling.ones(2)
    leaf.grad.owner = leaf
    gone = kindling._C._WeakTensorRef(leaf)
    del leaf
    gc.collect()
    assert gone.expired()


@pytest.mark.parametrize("call", [
    lambda x, lib: x.random_(), lambda x, lib: x.random_(5), lambda x, lib: x.random_(1, 5), lambda x, lib: x.bernoulli_(0.5),
    lambda x, lib: x.bernoulli_(lib.ones(3)), lambda x, lib: x.fill_(2.0), lambda x, lib: x.fill_(lib.tensor(2.0)),
    lambda x, lib: lib.normal(x, lib.ones(3)), lambda x, lib: lib.normal(0.0, x), lambda x, lib: x.sum(0)])  # fmt: skip
def test_numbers_in_names_of_nodes_stand_in_declarations(call):
    ours, theirs = (call(lib.ones(3, requires_grad=True) * 1, lib).grad_fn.name() for lib in (kindling, torch))
    assert ours == theirs
