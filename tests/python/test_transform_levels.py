"""What asks about the transforms of torch.func that are open, beside torch: writes to what they capture, requires_grad_, autograd.Function,
how tensors are printed, `torch._C._functorch` and `torch._functorch`."""
import importlib
import re
import subprocess
import sys

import pytest
from both import run

SETUP = """
import importlib
name = torch.__name__
fn, core = importlib.import_module(name + ".func"), torch._C._functorch
def part(which): return importlib.import_module(f"{name}._functorch.{which}")
X, Y = torch.tensor([0.5, 1.0, -2.0]), torch.tensor([3.0, 0.25, 1.5])

class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return g * 2

class Alone(torch.autograd.Function):
    @staticmethod
    def forward(x): return x * 2
    @staticmethod
    def setup_context(ctx, inputs, output): pass
    @staticmethod
    def backward(ctx, g): return g * 2

class Mapped(Alone):
    generate_vmap_rule = True

def both(*steps): return steps[-1]
def seen(transform, ask, *args):
    found = []
    def f(x): found.append(ask(x)); return x.sin().sum()
    transform(f)(*args or (X,))
    return found[0]
def escaped(transform, *args):
    kept = []
    def f(x): kept.append(x.sin()); return kept[0].sum()
    transform(f)(*args or (X,))
    return kept[0]
def hooked(f):
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        try: return f()
        except RuntimeError as error: return str(error)
"""

CASES = r'''
fn.grad(lambda x: both(Y.copy_(x), x.sum()))(X)
fn.jacrev(lambda x: both(Y.mul_(x), x.sum()))(X)
fn.vjp(lambda x: both(Y.mul_(x), x.sum()), X)
fn.jvp(lambda x: both(Y.mul_(x), x.sum()), (X,), (X,))
fn.jvp(lambda x: both(Y.copy_(x), x.sum()), (X,), (X,))
fn.grad(lambda x: fn.grad(lambda y: both(x.clone().mul_(y), y.sum()))(X).sum())(X)
fn.grad(lambda x: (lambda z: fn.grad(lambda y: both(z.mul_(y), y.sum()))(X).sum())(x.clone()))(X)
fn.grad(lambda x, y: both(y.mul_(x), (y * x).sum()))(X, Y)
(fn.grad(lambda x, y: both(y.mul_(x), (y * x).sum()))(X, Y), Y, Y.requires_grad)
(fn.grad(lambda x, d: both(d["y"].mul_(x), d["y"].sum()))(X, {"y": Y}), Y, Y.requires_grad)
fn.jacfwd(lambda x, y: y.copy_(x))(X, Y)
fn.jacrev(lambda x, y: y.copy_(x))(X, Y)
fn.jvp(lambda x: x.clone().mul_(x), (X,), (Y,))
fn.grad(lambda x: torch.zeros(3).copy_(x).sum())(X)
fn.grad(lambda x: both(x.requires_grad_(), x.sum()))(X)
fn.vmap(lambda x: x.requires_grad_())(X)
fn.grad(lambda x: (lambda y: both(y.retain_grad(), y.sum()))(x.sin()))(X)
fn.vmap(lambda x: torch.autograd.functional.jvp(torch.sin, (x,), (x,)))(X)
fn.grad(lambda x: torch.autograd.functional.vjp(torch.sin, (x,), (x,))[1].sum())(X)
fn.grad(lambda x: nn.Parameter(torch.ones(3)).mul(x).sum())(X)
fn.grad(lambda x: torch.ones(3, requires_grad=True).mul(x).sum())(X)
fn.vmap(Old.apply)(X)
fn.grad(lambda x: Old.apply(x).sum())(X)
fn.jvp(Old.apply, (X,), (Y,))
fn.functionalize(Old.apply)(X)
Old.apply(X)
fn.grad(lambda x: Alone.apply(x).sum())(X)
fn.vmap(Alone.apply)(X)
fn.vmap(Mapped.apply)(X)
fn.vmap(fn.grad(Mapped.apply))(X)
hooked(lambda: fn.grad(lambda x: x.sum())(X))
[hooked(lambda: fn.jacrev(torch.sin)(X)), X.clone().requires_grad_().requires_grad]
fn.jacrev(lambda x: x[x.nonzero()[:, 0]], chunk_size=1)(X)
fn.vmap(torch.nonzero)(X.view(3, 1))
fn.vmap(torch.argwhere)(X.view(3, 1))
fn.vmap(lambda x: torch.where(x))(X.view(3, 1))
fn.vmap(torch.unique)(X.view(3, 1))
fn.vmap(torch.unique_consecutive)(X.view(3, 1))
fn.vmap(lambda x: x.is_contiguous(memory_format=torch.channels_last) and x)(X)
fn.vmap(lambda x: x.clone().bernoulli_(torch.tensor(0.5)), randomness="same")(X.repeat(3, 1))
fn.vmap(lambda x: torch.multinomial(x, 2), in_dims=-1, randomness="different")(torch.arange(12.).reshape(3, 4).exp())
fn.vmap(lambda x: torch.multinomial(x, 2), randomness="different")(torch.arange(24.).reshape(2, 3, 4).exp())
[torch.ops.aten._is_all_true(X > 0), torch._is_any_true(X > 0)]
fn.vmap(lambda x: torch.ops.aten._is_all_true(x) & x)(X > 0)
fn.vmap(fn.vmap(lambda x: torch._is_any_true(x) | x))((X > 0).repeat(2, 1))
seen(fn.grad, repr)
seen(lambda f: fn.grad(fn.grad(f)), repr, torch.tensor(0.5))
seen(lambda f: fn.vmap(fn.grad(f)), repr, X.repeat(2, 1))
seen(lambda f: fn.grad(lambda x: fn.vmap(f)(x).sum()), repr, X.repeat(2, 1))
seen(lambda f: lambda x: fn.jvp(f, (x,), (Y,)), repr)
seen(fn.grad, core.maybe_get_level)
seen(lambda f: fn.grad(fn.grad(f)), core.maybe_get_level, torch.tensor(0.5))
seen(lambda f: fn.vmap(fn.grad(f)), lambda x: [core.maybe_get_level(x), core.is_batchedtensor(x), core.is_gradtrackingtensor(x)], X.repeat(2, 1))
seen(lambda f: fn.grad(lambda x: fn.vmap(f)(x).sum()), lambda x: [core.maybe_get_level(x), core.is_batchedtensor(x), core.is_gradtrackingtensor(x)], X.repeat(2, 1))
seen(fn.vmap, lambda x: [core.maybe_get_level(x), core.maybe_get_bdim(x), core.is_functorch_wrapped_tensor(x), core.current_level()])
seen(fn.grad, lambda x: [core.maybe_get_level(X), core.is_functorch_wrapped_tensor(X), core.maybe_current_level()])
[core.maybe_get_level(X), core.maybe_current_level(), torch._C._are_functorch_transforms_active(), core.get_dynamic_layer_stack_depth()]
seen(fn.grad, lambda x: torch._C._are_functorch_transforms_active())
[core.dlevel(escaped(fn.grad)), core.dlevel(escaped(fn.grad).sum()), core.is_dead_tensor_wrapper(escaped(fn.grad)), core.maybe_get_level(escaped(fn.grad))]
[core.dlevel(each) for each in (fn.grad(torch.sin)(X[0]), *fn.jvp(torch.sin, (X,), (Y,)), fn.vjp(torch.sin, X)[0], fn.jacrev(torch.sin)(X), fn.linearize(torch.sin, X)[0])]
core.unwrap_if_dead(escaped(fn.grad)).add(1)
seen(lambda f: fn.vmap(fn.grad(f), randomness="same"), lambda x: [each.get_state() for each in part("pyfunctorch").retrieve_all_functorch_interpreters()], X.repeat(2, 1))
seen(lambda f: lambda x: fn.jvp(f, (x,), (Y,)), lambda x: [each.get_state()[:2] for each in part("pyfunctorch").retrieve_all_functorch_interpreters()])
seen(fn.vmap, lambda x: part("pyfunctorch").retrieve_current_functorch_interpreter().batch_size())
core.peek_interpreter_stack()
fn.debug_unwrap(X) is X
seen(fn.vmap, fn.debug_unwrap)
seen(lambda f: fn.grad(lambda x: fn.vmap(f)(x).sum()), lambda x: fn.debug_unwrap(x).shape, X.repeat(2, 1))
[core.reshape_dim_into(0, 1, torch.arange(24.).reshape(2, 3, 4)), core.reshape_dim_outof(1, 2, torch.arange(24.).reshape(2, 12))]
part("vmap").restore_vmap(lambda x, y: (x + y, y, 3), (0, None), 3, "error")(X, Y[0])
part("vmap").unwrap_batched((), 1)
part("vmap").get_chunk_sizes(7, 3)
[part("vmap")._process_batched_inputs((0, None), (X, Y), torch.add)[:2], part("vmap")._get_name(torch.add)]
part("eager_transforms")._slice_argnums((1, 2, 3), (0, -1))
part("eager_transforms")._slice_argnums((1, 2, 3), 1, as_tuple=False)
part("eager_transforms")._slice_argnums((1, 2, 3), (0, 0.5))
part("apis").chunk_vmap(torch.sin, chunks=2)(X)
part("apis").chunk_vmap(lambda x, y: x * y, in_dims=(0, None), out_dims=1, chunks=2)(torch.ones(5, 3), Y)
part("apis").chunk_vmap(torch.sin, randomness="any")
fn.vmap(lambda x: x.as_strided((2,), (1,)))(X.repeat(2, 1))
fn.vmap(lambda x: x.as_strided((2,), (1, 1)))(X.repeat(2, 1))
torch.ops.aten._new_zeros_with_same_feature_meta(torch.ones(2, 3), torch.ones(4, 5).t(), self_num_batch_dims=1).stride()
part("autograd_function").reductify((X.repeat(2, 1), None), (0, None), (None, 0), 2)
part("autograd_function").reductify_leaf(torch.ones(3, 4), None, 1, 2, (4,))
part("autograd_function").reductify_leaf(torch.ones(3, 4, 5, 2), 3, 0, 2, (5,))
part("autograd_function").CtxWithSavedTensors(type("C", (), {"a": 1})(), (1, 2)).saved_tensors
part("autograd_function").CtxWithSavedTensors(type("C", (), {"_pt_inner_ctx": 1})(), (1, 2))
'''.strip().split("\n")


def plain(text):
    return re.sub(r"-(0\.0*)(?=[,\]])", r" \1", re.sub(r"grad_fn=<\w+>", "grad_fn", re.sub(r"0x[0-9a-f]+", "", text))).replace(" ", "")


@pytest.mark.parametrize("source", CASES)
def test_as_torch(source):
    assert plain(run("kindling", source, SETUP)) == plain(run("torch", source, SETUP))


FUNCTIONAL = """
import torch, warnings
from functorch import make_functional, make_functional_with_buffers, combine_state_for_ensemble
from functorch.experimental import chunk_vmap, replace_all_batch_norm_modules_, functionalize
from functorch.experimental.control_flow import cond
from torch._functorch.make_functional import functional_init, functional_init_with_buffers
from torch._functorch.batch_norm_replacement import batch_norm_without_running_stats
from torch._functorch.functional_call import functional_call
from torch.fx.experimental.proxy_tensor import make_fx
torch.manual_seed(0)
x = torch.ones(4, 3)
weights, call, names = functional_init(torch.nn.Linear, (5,))(3, 2)
print([tuple(w.shape) for w in weights], names, torch.vmap(call, (0, None))(weights, (x,)).shape, weights[0].requires_grad)
weights, buffers, call, names, others = functional_init_with_buffers(torch.nn.BatchNorm1d, (2,))(3)
print([tuple(b.shape) for b in buffers], names, others)
weights, call, names = functional_init(torch.nn.Linear)(3, 2)
print(len(weights), call(weights, (x,)).shape, names)
for shape in ((1, 2), (0,)):
    try: functional_init(torch.nn.Linear, shape)(3, 2)
    except ValueError as error: print(error)
try: functional_init(torch.nn.BatchNorm1d)(3)
except RuntimeError as error: print(error)
print(torch._functorch.autograd_function.reductify_leaf(None, None, 0, 2), torch._functorch.eager_transforms._slice_argnums((1, 2), 1))
def f(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor: return x[at]
print(make_fx(functionalize(f))(x, torch.arange(2)).code, make_fx(f)(x, torch.arange(2)).code, make_fx(torch.func.grad(lambda y: (y ** 2).sum()))(x).code[:30])
"""


def test_older_paths():
    said = [subprocess.run([sys.executable, "-W", "ignore", *how, "-c", FUNCTIONAL], capture_output=True, text=True, cwd="/")
            for how in (["-P", "-m", "kindling", "run"], [])]
    assert said[0].stdout == said[1].stdout != "", said[0].stderr


def test_a_child_finds_functorch_first():
    text = "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-W', 'error', '-c', 'import functorch; print(functorch.vmap.__name__, functorch.__version__)'], text=True))"
    done = subprocess.run([sys.executable, "-P", "-m", "kindling", "run", "-c", text], capture_output=True, text=True, cwd="/")
    assert done.stdout.split() == ["vmap", importlib.import_module("kindling").__version__], done.stderr


def test_levels_close_after_errors():
    import kindling as torch

    def fails(x):
        raise KeyError

    x = torch.ones(2)
    for transform in (torch.func.grad, torch.func.jacrev, torch.func.jacfwd, torch.func.vmap, torch.func.functionalize):
        with pytest.raises(KeyError):
            transform(fails)(x)
    with pytest.raises(KeyError):
        torch.func.jvp(fails, (x,), (x,))
    assert torch._C._transform_depth() == 0 and torch._C._transforms() == []


def test_what_may_not_go_slice_by_slice_is_told():
    import kindling as torch

    native = torch._C._functorch
    assert native._is_vmap_fallback_enabled()
    native._set_vmap_fallback_enabled(False)
    try:
        with pytest.raises(RuntimeError, match="fallback which is currently disabled"):
            torch.vmap(torch.histc)(torch.ones(2, 3))
        torch.vmap(torch.sin)(torch.ones(2, 3))
    finally:
        native._set_vmap_fallback_enabled(True)
    torch.vmap(torch.histc)(torch.ones(2, 3))


def test_a_slice_sees_no_further_than_itself():
    import kindling as torch

    with pytest.raises(RuntimeError, match="can access memory outside of `tensor`"):
        torch.vmap(lambda x: x.as_strided((3,), (1,), 1))(torch.ones(2, 3))
