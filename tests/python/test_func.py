"""torch.func beside torch: values, structures, errors; the signs of zeros may differ."""
import re

import pytest
from both import run

SETUP = """
import importlib
fn = importlib.import_module(torch.__name__ + ".func")
X, Y = torch.tensor([0.5, 1.0, -2.0]), torch.tensor([3.0, 0.25, 1.5])
LIN = nn.Linear(3, 2)
with torch.no_grad():
    LIN.weight.copy_(torch.arange(6.).reshape(2, 3))
    LIN.bias.copy_(torch.ones(2))
ST = fn.stack_module_state([LIN, LIN])

def NG(f):
    with torch.no_grad(): return f()

def ND(x):
    with torch.no_grad(): return x.sum()
"""

CASES = r'''
fn.grad(lambda x: x.sin().sum())(X)
fn.grad(lambda x: x)(X)
fn.grad(lambda x: 3)(X)
fn.grad(lambda x: (x.sum(),))(X)
fn.grad(lambda x: x.sum(), argnums=1)(X)
fn.grad(lambda x, y: (x*y).sum(), argnums=1)(X, Y)
fn.grad(lambda x, y: (x*y).sum(), argnums=(0,1))(X, Y)
fn.grad(lambda x, y: (x*y).sum(), argnums=(0,0))(X, Y)
fn.grad(lambda x, y: (x*y).sum(), argnums=-1)(X, Y)
fn.grad(lambda x, y: (x*y).sum(), argnums=())(X, Y)
fn.grad(lambda x, y: (x*y).sum(), argnums='a')(X, Y)
fn.grad(lambda d: (d['a']*d['b'][0]).sum())({'a': X, 'b': [Y]})
fn.grad(lambda x: (x.sum(), x*2), has_aux=True)(X)
fn.grad(lambda x: x.sum(), has_aux=True)(X)
fn.grad_and_value(lambda x: x.sin().sum())(X)
fn.grad_and_value(lambda x: (x.sum(), {'q': x*2}), has_aux=True)(X)
fn.grad(lambda x: x.sum())(torch.ones(2, dtype=torch.int64))
fn.grad(lambda x: x.sum())(3.0)
fn.grad(lambda x: torch.ones(()))(X)
fn.grad(lambda x: x.sum()*1j)(X)
fn.grad(fn.grad(lambda x: x.sin()))(torch.tensor(0.5))
fn.grad(fn.grad(fn.grad(lambda x: x.sin())))(torch.tensor(0.5))
fn.grad(lambda x: fn.grad(lambda y: (x*y).sin())(x))(torch.tensor(0.5))
fn.vmap(fn.grad(lambda x: x.sin().sum()))(X)
fn.grad(lambda x: fn.vmap(torch.sin)(x).sum())(X)
(lambda w: fn.grad(lambda x: (x*w).sum())(X).requires_grad)(torch.ones(3, requires_grad=True))
(lambda x: (fn.grad(lambda y: (y**3).sum())(x)).sum().backward() or x.grad)(X.clone().requires_grad_())
fn.grad(lambda x: (x**2).sum())(X).requires_grad
fn.grad(lambda x: (x**2).sum())(X.clone().requires_grad_()).requires_grad
NG(lambda: fn.grad(lambda x: (x**2).sum())(X))
NG(lambda: fn.grad(lambda x: (x**2).sum())(X.clone().requires_grad_()).requires_grad)
fn.vjp(torch.sin, X)[0]
fn.vjp(torch.sin, X)[1](torch.ones(3))
fn.vjp(torch.sin, X)[1](torch.ones(2))
fn.vjp(torch.sin, X)[1]((torch.ones(3),))
fn.vjp(lambda x, y: (x*y, x+y), X, Y)[1]((torch.ones(3), torch.ones(3)))
fn.vjp(lambda x, y: {'a': x*y}, X, Y)[1]({'a': torch.ones(3)})
fn.vjp(lambda x: (x*2, 5), X, has_aux=True)[::2]
fn.vjp(lambda x: (x*2, x), X, has_aux=True)[2]
fn.vjp(lambda x: x*2)
fn.vjp(lambda x: 3, X)
fn.vjp(torch.sin, X)[0].requires_grad
fn.jacrev(torch.sin)(X)
fn.jacrev(lambda x, y: (x*y, x.sum()), argnums=(0,1))(X, Y)
fn.jacrev(lambda x: {'a': x*2, 'b': x.sum()})(X)
fn.jacrev(lambda d: d['a']*d['b'])({'a': X, 'b': Y})
fn.jacrev(lambda x: (x*2, x*3), has_aux=True)(X)
fn.jacrev(lambda x: x.outer(x))(X)
fn.jacrev(lambda x: torch.ones(2))(X)
fn.jacrev(torch.sin, chunk_size=2)(X)
fn.jacrev(torch.sin, chunk_size=0)(X)
fn.jacrev(torch.sin, chunk_size=-1)(X)
fn.jacrev(lambda x: 3)(X)
fn.jacfwd(torch.sin)(X)
fn.jacfwd(lambda x, y: (x*y, x.sum()), argnums=(0,1))(X, Y)
fn.jacfwd(lambda x: (x*2, x*3), has_aux=True)(X)
fn.jacfwd(lambda x: x.outer(x))(X)
fn.jacfwd(lambda x: {'a': x*2})(X)
fn.jacfwd(lambda x: 3)(X)
fn.hessian(lambda x: (x**3).sum())(X)
fn.hessian(lambda x, y: (x*y**2).sum(), argnums=(0,1))(X, Y)
fn.jacrev(fn.jacrev(lambda x: (x**3).sum()))(X)
fn.jacfwd(fn.jacfwd(lambda x: (x**3).sum()))(X)
fn.jacfwd(fn.jacrev(lambda x: (x**3)))(X)
fn.jvp(torch.sin, (X,), (Y,))
fn.jvp(lambda x, y: (x*y, x+y), (X, Y), (Y, X))
fn.jvp(lambda x: (x*2, x*3), (X,), (Y,), has_aux=True)
fn.jvp(torch.sin, X, Y)
fn.jvp(torch.sin, (X,), Y)
fn.jvp(torch.sin, (X,), (torch.ones(2),))
fn.jvp(torch.sin, (X,), (Y,Y))
fn.jvp(lambda x: torch.ones(2), (X,), (Y,))
fn.jvp(lambda x: torch.ones(2), (X,), (Y,), strict=True)
fn.jvp(torch.sin, (), ())
fn.jvp(lambda x: 3, (X,), (Y,))
fn.grad(lambda x: fn.jvp(torch.sin, (x,), (Y,))[1].sum())(X)
fn.vmap(lambda t: fn.jvp(torch.sin, (X,), (t,))[1])(torch.eye(3))
fn.linearize(torch.sin, X)[0]
fn.linearize(torch.sin, X)[1](Y)
fn.linearize(lambda x, y: (x*y, y), X, Y)[1](Y, X)
fn.linearize(torch.sin, X)[1](torch.ones(2))
fn.functionalize(lambda x: x.clone().add_(1))(X)
fn.functionalize(lambda x: x, remove='foo')(X)
fn.functional_call(LIN, {'weight': torch.ones(2,3), 'bias': torch.zeros(2)}, (X,))
fn.functional_call(LIN, ({'weight': torch.ones(2,3)}, {'bias': torch.zeros(2)}), X)
fn.functional_call(LIN, {'nope': torch.ones(2,3)}, X)
fn.functional_call(LIN, {'weight': torch.ones(2,3)}, X, strict=True)
fn.functional_call(LIN, ({'weight': torch.ones(2,3)}, {'weight': torch.zeros(2)}), X)
fn.functional_call(LIN, 3, X)
fn.functional_call(LIN, {'weight': torch.ones(2,3), 'bias': torch.zeros(2)}, None, {'input': X})
[{k: (v.shape, v.requires_grad) for k, v in d.items()} for d in fn.stack_module_state([nn.BatchNorm1d(2), nn.BatchNorm1d(2)])]
fn.stack_module_state([])
fn.stack_module_state([nn.Linear(1,1), nn.Linear(1,1).eval()])
fn.stack_module_state([nn.Linear(1,1), nn.ReLU()])
fn.vmap(lambda p, b, x: fn.functional_call(LIN, (p, b), (x,)), in_dims=(0,0,None))(*ST, X)
fn.grad(lambda p: fn.functional_call(LIN, p, (X,)).sum())({k: v.detach() for k, v in LIN.named_parameters()})
fn.vmap(fn.grad(lambda p, x: fn.functional_call(LIN, p, (x,)).pow(2).sum()), in_dims=(None, 0))({k: v.detach() for k, v in LIN.named_parameters()}, torch.ones(4,3))
(lambda m: (fn.replace_all_batch_norm_modules_(m), m, m[0].running_mean, m[0].num_batches_tracked))(nn.Sequential(nn.BatchNorm1d(2)))
fn.grad(lambda x, y=2: (x*y).sum())(X, y=3)
fn.grad(lambda x: x.sum())(x=X)
fn.debug_unwrap(X)
fn.vmap(fn.jacrev(torch.sin))(torch.stack([X,Y]))
fn.jacrev(fn.vmap(torch.sin))(X)
fn.vmap(fn.hessian(lambda x: (x**3).sum()))(torch.stack([X,Y]))
fn.grad(lambda x: x.detach().sum())(X)
fn.grad(lambda x: ND(x))(X)
fn.rearrange(torch.arange(6).reshape(2,3), 'a b -> b a')
fn.rearrange(torch.arange(6).reshape(2,3), 'a b -> (a b)')
fn.rearrange(torch.arange(24).reshape(2,3,4), 'a ... -> ... a').shape
fn.rearrange(torch.arange(6).reshape(2,3), 'a b -> 1 a b 1').shape
fn.rearrange(torch.arange(6).reshape(2,3), 'a b -> a c')
fn.grad(lambda x: fn.vjp(torch.sin, x)[1](torch.ones(3))[0].sum())(X)
fn.vjp(lambda x: fn.grad(lambda y: (y**3).sum())(x), X)[1](torch.ones(3))
(lambda w: fn.jacrev(lambda x: x * w)(X).sum().backward() or w.grad)(Y.clone().requires_grad_())
(lambda w: fn.vjp(lambda x: x * w, X)[0].requires_grad)(Y.clone().requires_grad_())
(lambda x: fn.jacrev(torch.sin)(x).sum().backward() or x.grad)(X.clone().requires_grad_())
fn.grad(lambda x, y: (x * y).sum())(X, Y.clone().requires_grad_()).requires_grad
fn.vmap(fn.vmap(fn.grad(torch.sin)))(torch.arange(4.).reshape(2, 2))
fn.hessian(lambda x: torch.nn.functional.softmax(x, 0)[0])(X)
fn.jacrev(lambda x: (x[0] * x[1]).exp())(X)
fn.grad(lambda p: nn.functional.cross_entropy(p.reshape(1, 3), torch.tensor([1])))(X)
'''.strip().split("\n")


def plain(text):
    return re.sub(r"-(0\.0*)(?=[,\]])", r" \1", re.sub(r"grad_fn=<\w+>", "grad_fn", re.sub(r"0x[0-9a-f]+", "", text))).replace(" ", "")


@pytest.mark.parametrize("source", CASES)
def test_transforms(source):
    assert plain(run("kindling", source, SETUP)) == plain(run("torch", source, SETUP))


@pytest.mark.parametrize("pattern, lengths", [("(a b) -> b a", {"b": 3}), ("a b -> (b a)", {}), ("a ... b -> b (a ...)", {}), ("a b c -> c (a b) 1", {})])
def test_rearrange_takes_dimensions_apart(pattern, lengths):
    import kindling as torch
    from kindling.func import rearrange

    x = torch.arange(24) if pattern.startswith("(") else torch.arange(24).reshape(4, 6) if "c" not in pattern and "..." not in pattern else \
        torch.arange(24).reshape(2, 3, 4)
    expected = {"(a b) -> b a": lambda: x.reshape(8, 3).t(), "a b -> (b a)": lambda: x.t().reshape(-1),
                "a ... b -> b (a ...)": lambda: x.permute(2, 0, 1).reshape(4, 6), "a b c -> c (a b) 1": lambda: x.permute(2, 0, 1).reshape(4, 6, 1)}
    assert torch.equal(rearrange(x, pattern, **lengths), expected[pattern]())


def test_rearrange_refuses_what_does_not_fit():
    import kindling as torch
    from kindling.func import rearrange

    for pattern, lengths in (("(a b) -> a b", {"b": 4}), ("(a b) -> a b", {}), ("a b -> a b", {}), ("a -> b", {}), ("(a -> a", {}), ("a a -> a", {})):
        with pytest.raises(ValueError):
            rearrange(torch.arange(6), pattern, **lengths)


REFUSED = r'''
fn.grad(lambda x: (x.sum(), 1), has_aux=True)(X)
fn.jvp(lambda x: (x, 'a'), (X,), (Y,), has_aux=True)
fn.jacrev(lambda x: (x, [x, 1.0]), has_aux=True)(X)
fn.jacfwd(lambda x: (x, None), has_aux=True)(X)
fn.vjp(lambda x: None, X)
fn.vjp(lambda x: (), X)
fn.jacrev(lambda x: None)(X)
fn.jvp(lambda x: [], (X,), (Y,))
fn.jacrev(lambda x: x.conj())(X + 1j)
fn.jacrev(lambda x: x * 0.5j)(X)
fn.jacfwd(lambda x: x * 0.5j)(X)
SAVING(lambda: fn.grad(lambda x: x.sin().sum())(X))
SAVING(lambda: fn.vjp(torch.sin, X))
SAVING(lambda: fn.jvp(torch.sin, (X,), (Y,)))
fn.jacrev(lambda x: SAVING(lambda: x.sin()))(X)
'''.strip().split("\n")


@pytest.mark.parametrize("source", REFUSED)
def test_what_transforms_refuse(source):
    setup = SETUP + """
def SAVING(f):
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x): return f()
"""
    assert plain(run("kindling", source, setup)) == plain(run("torch", source, setup))
