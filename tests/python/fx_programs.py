"""Programs over torch.fx; what each prints is compared with PyTorch's (test_fx.py). `P` prints, `show` traces and prints.

CALLS are calls with a proxy `p` or a constant tensor `t` beside one: each is a node, or the same error.
"""
PROGRAMS = r'''
def f(x, y=1): return torch.relu(x) + y
show(f)
---
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 4); self.p = nn.Parameter(torch.ones(4)); self.register_buffer('b', torch.zeros(4)); self.t = torch.ones(4)
        self.seq = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))
        self.lst = nn.ModuleList([nn.Linear(2,2)])
    def forward(self, x, scale: float = 2.0, *, flag=None):
        x = self.lin(x) + self.p
        x = x * self.b + self.t
        x = self.seq(x)
        for l in self.lst: x = l(x)
        return {'a': x, 'b': [x, (x, scale)]}
show(M(), torch.ones(1,3))
---
def f(x):
    a = x.view(-1, 2).t()
    b = F.relu(a, inplace=False); c = F.gelu(b); d = F.softmax(c, dim=-1); e = torch.nn.functional.dropout(d, 0.5, training=False)
    g = F.linear(e, e); h = torch.cat([g, g], dim=0); i = h[0]; j = h[:, 1:2]; k = h[..., None]; l = x.shape[0]; m = x.size(0)
    n = torch.einsum('ij,kj->ik', h, h); o = torch.split(h, 1); p = o[0]; q = -p; r = q.sum().item if False else q.sum(); s = torch.add(q, 1, alpha=2)
    t = x.T; u = x.dtype; v = torch.zeros(2, 2); w = x @ x; z = 2 ** x; aa = 1 - x; bb = x // 2; cc = ~x; dd = x > 1; ee = (x == 1); ff = abs(x); gg = x % 2; hh = divmod(x, 2) if False else 0
    return a, (b, [c, d]), {'k': e}, torch.Size, i, j, k, l, m, n, p, r, s, t, u, v, w, z, aa, bb, cc, dd, ee, ff, gg, torch.linalg.norm(x), torch.fft.fft(x), torch.special.erf(x), torch.float32, torch.device('cpu'), slice(1,2,None), None, True, 1.5, 'str', float('inf'), float('nan'), ...
show(f)
---
def f(x):
    if x.sum() > 0: return x
    return -x
show(f)
---
def f(x):
    for y in x: pass
show(f)
---
def f(x): return len(x)
show(f)
---
def f(x): return int(x)
show(f)
---
def f(x): return [*x]
show(f)
---
def f(x):
    a, b = x
    return a + b
show(f)
---
def f(x, *args, **kwargs): return x + args[0] + kwargs['a']
show(f)
---
def f(x, n): return x + 1 if n else x - 1
show(f, concrete_args={'n': True})
---
def f(x, d): return x + d['a'] + d['b'][0]
show(f, concrete_args={'d': {'a': fx.PH, 'b': [fx.PH]}})
---
def f(x, n=5): return x + n
show(f, concrete_args={'n': 5})
---
def f(x): return math.sqrt(2) + x
show(f)
---
def f(x):
    x[0] = 1
    x += 1
    return x
show(f)
---
def f(x):
    y = x.add_(1); torch.relu_(y); x.foo = 3
    return y
show(f)
---
def f(x, y):
    return torch.where(x > y, x, y).max(dim=0)[0], x.max(0).values, x.unsqueeze(0).squeeze(0), x.to(torch.float32), x.to('cpu'), x.to(device='cpu', dtype=torch.int64), torch.ones_like(x), x.new_zeros(3), F.pad(x, (1,1)), torch.stack((x,y)), x.permute(1,0), x.reshape([2, x.shape[0]]), x.shape, x.ndim, getattr(x, 'is_cuda'), x.float(), x.detach(), x.device
show(f)
---
class Leaf(nn.Module):
    def forward(self, x): return x + 1
class Inner(nn.Module):
    def __init__(self): super().__init__(); self.leaf = Leaf(); self.conv = nn.Conv2d(1,1,1)
    def forward(self, x): return self.leaf(self.conv(x))
class M(nn.Module):
    def __init__(self): super().__init__(); self.a = Inner(); self.b = Inner(); self._x1 = nn.ReLU(); self.features = nn.Sequential(nn.Conv2d(1,1,1), nn.BatchNorm2d(1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(1))
    def forward(self, x): return self.features(self._x1(self.b(self.a(x)) + self.a.conv.weight))
show(M())
---
class T(fx.Tracer):
    def is_leaf_module(self, m, n): return False
m = nn.Sequential(nn.Linear(2,2), nn.ReLU(), nn.BatchNorm1d(2), nn.Dropout(0.1), nn.LayerNorm(2)).eval()
t = T(); g = t.trace(m); P(g); P(g.python_code('self').src); gm = fx.GraphModule(m, g); P(gm.code); P(gm(torch.ones(3,2))); P(gm)
---
class M(nn.Module):
    def __init__(self): super().__init__(); self.w = nn.Parameter(torch.ones(2))
    def forward(self, x: torch.Tensor, y: int = 3, z: 'float' = 1.) -> torch.Tensor: return x @ self.w + y * z
show(M())
---
def f(x): return foo(x, 1) + bar(x)
def foo(x, n): return x + n
def bar(x): return x
fx.wrap('foo') if False else None
show(f)
---
P(repr(fx.symbolic_trace(lambda x: x + 1).graph))
P(str(fx.symbolic_trace(lambda x, y: x).graph))
---
g = fx.Graph()
x = g.placeholder('x'); w = g.get_attr('w') if False else None
a = g.call_function(torch.add, (x, 1), {'alpha': 2}); b = g.call_method('relu', (a,)); c = g.create_node('call_function', operator.mul, (b, b), name='my'); d = g.output(c)
P(g); P([n.format_node() for n in g.nodes]); P([(n.name, n.op, str(n.args), str(n.kwargs), len(n.users), n.all_input_nodes) for n in g.nodes]); g.lint(); P(a.next, a.prev, d.next.op)
with g.inserting_after(a): e = g.call_function(torch.neg, (a,))
P(g); a.replace_all_uses_with(e); P(g); e.args = (a,); P(g); P(e.users, a.users)
P(g.eliminate_dead_code(), g)
E = None
try: g.erase_node(a)
except Exception as E: P(type(E).__name__, E)
c.args = (x, x); P(g.eliminate_dead_code()); P(g)
gm = fx.GraphModule(nn.Module(), g); P(gm.code, gm(torch.ones(2)))
g2 = fx.Graph(); m = {}; r = g2.graph_copy(g, m); P(r, m); g2.output(r); P(g2); g2.lint()
P(g.find_nodes(op='placeholder'), g.find_nodes(op='call_function', target=operator.mul))
P(copy.deepcopy(g))
n = next(iter(g.nodes)); P(n.target, n.op, n.type, n.meta, n.name, repr(n), n.graph is g, n._prev.op)
---
gm = fx.symbolic_trace(lambda x, y: torch.relu(x) + torch.sigmoid(y) * x)
with contextlib.redirect_stdout(io.StringIO()) as o:
    try: gm.graph.print_tabular()
    except Exception as E: print(type(E).__name__)
P(o.getvalue())
P(gm.print_readable(print_output=False))
for n in gm.graph.nodes: P(n.op, n.name, n.target if isinstance(n.target, str) else n._pretty_print_target(n.target), n.args, n.kwargs, list(n.users), n.format_node(), n.is_impure(), n.all_input_nodes)
n = list(gm.graph.nodes)[2]
P(n.args, type(n.args), type(n.kwargs).__name__)
try: n.args.append(1)
except Exception as E: P(type(E).__name__, E)
try: n.kwargs['a'] = 1
except Exception as E: P(type(E).__name__, E)
n.update_arg(0, 5); n.update_kwarg('k', 6); P(n.args, n.kwargs); n.insert_arg(0, 7); P(n.args)
try: n.insert_arg(9, 7)
except Exception as E: P(type(E).__name__, E)
---
class M(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(2,2); self.d = nn.Dropout()
    def forward(self, x): return self.d(self.l(x))
m = M().eval(); gm = fx.symbolic_trace(m); x = torch.ones(1,2)
P(gm.training, gm, [n for n,_ in gm.named_parameters()], gm._graph is gm.graph, type(gm).__name__, type(gm).__mro__[1].__name__)
gm2 = copy.deepcopy(gm); P(gm2.code == gm.code, torch.equal(gm2(x), gm(x)), gm2.l.weight is gm.l.weight)
gm3 = pickle.loads(pickle.dumps(gm)); P(gm3.code == gm.code, torch.equal(gm3(x), m(x)), gm3.graph)
P(gm.add_submodule('new.sub', nn.ReLU()), gm.add_submodule('new', nn.Module()) , gm.add_submodule('new.sub', nn.ReLU()), gm.delete_submodule('new.sub'), gm.delete_submodule('nope'))
gm.delete_all_unused_submodules(); P([n for n,_ in gm.named_modules()])
gm.graph.call_module('zzz') if False else None
with gm.graph.inserting_before(list(gm.graph.nodes)[-1]):
    n = gm.graph.call_module('l', (list(gm.graph.nodes)[0],)); 
gm.recompile(); P(gm.code)
P(gm.nested_str() if hasattr(gm,'nested_str') else '')
st = gm.state_dict(); P(list(st))
sd = gm.graph.owning_module is gm; P(sd)
---
class Sub(fx.Interpreter):
    def call_function(self, target, args, kwargs):
        P('cf', target.__name__, len(args)); return super().call_function(target, args, kwargs)
    def call_module(self, target, args, kwargs): P('cm', target); return super().call_module(target, args, kwargs)
    def get_attr(self, target, args, kwargs): P('ga', target); return super().get_attr(target, args, kwargs)
    def placeholder(self, target, args, kwargs): P('ph', target); return super().placeholder(target, args, kwargs)
    def call_method(self, target, args, kwargs): P('me', target); return super().call_method(target, args, kwargs)
    def output(self, target, args, kwargs): P('out', target); return super().output(target, args, kwargs)
class M(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(2,2); self.p = nn.Parameter(torch.ones(2))
    def forward(self, x, y=3): return torch.relu(self.l(x) * self.p).sum() + y
gm = fx.symbolic_trace(M())
P(torch.allclose(Sub(gm).run(torch.ones(1,2)), gm(torch.ones(1,2))))
P(torch.allclose(Sub(gm).run(torch.ones(1,2), 4), gm(torch.ones(1,2), 4)))
try: fx.Interpreter(gm).run()
except Exception as E: P(type(E).__name__, str(E).split('\n')[0])
class Tr(fx.Transformer):
    def call_function(self, target, args, kwargs):
        if target is torch.relu: return super().call_function(torch.sigmoid, args, kwargs)
        return super().call_function(target, args, kwargs)
    def call_method(self, target, args, kwargs): return super().call_method('mean' if target == 'sum' else target, args, kwargs)
t = Tr(gm).transform(); P(t.code, t.graph)
---
class M(nn.Module):
    def forward(self, x, w1, w2):
        m1 = torch.cat([w1, w2]).sum(); m2 = torch.cat([w1, w2]).sum()
        return x + torch.max(m1) + torch.max(m2)
gm = fx.symbolic_trace(M())
def pattern(w1, w2): return torch.cat([w1, w2]).sum()
def repl(w1, w2): return torch.stack([w1, w2])
ms = fx.replace_pattern(gm, pattern, repl); P(gm.code, len(ms), [(m.anchor, len(m.nodes_map)) for m in ms]); P(gm.graph)
---
class M(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(2,2)
    def forward(self, x): return torch.sigmoid(self.l(x)) + torch.neg(torch.relu(x))
gm = fx.symbolic_trace(M())
fx.replace_pattern(gm, lambda x: torch.neg(torch.relu(x)), lambda x: torch.tanh(x) * 2); P(gm.code)
fx.replace_pattern(gm, lambda x: torch.sigmoid(x), lambda x: x.sigmoid().add(1)); P(gm.code)
fx.replace_pattern(gm, lambda x: torch.cos(x), lambda x: x); P(gm.code)
---
def f(x):
    a = x.view(-1, 2).t()
    b = F.relu(a, inplace=False); c = F.gelu(b); d = F.softmax(c, dim=-1); e = torch.nn.functional.dropout(d, 0.5, training=False)
    g = F.linear(e, e); h = torch.cat([g, g], dim=0); i = h[0]; j = h[:, 1:2]; k = h[..., None]; l = x.shape[0]; m = x.size(0)
    n = torch.einsum('ij,kj->ik', h, h); o = torch.split(h, 1); p = o[0]; q = -p; s = torch.add(q, 1, alpha=2)
    t = x.T; u = x.dtype; v = torch.zeros(2, 2); w = x @ x; z = 2 ** x; aa = 1 - x; bb = x // 2; cc = ~x; dd = x > 1; ee = (x == 1); gg = x % 2
    return a, (b, [c, d]), {'k': e}, i, j, k, l, m, n, p, s, t, u, v, w, z, aa, bb, cc, dd, ee, gg, torch.linalg.norm(x), torch.fft.fft(x), torch.special.erf(x), torch.float32, torch.device('cpu'), slice(1,2,None), None, True, 1.5, 'str', float('inf'), float('nan'), ..., x ^ x, x | 1, x & 1, x << 1, 1 >> x, 1 / x, x / 1, +x, x <= 1, x != 2, x >= 2, x < 3, 3 % x, 3 // x, 2 @ x
show(f)
---
def f(x): return abs(x)
show(f)
---
def f(x): return round(x)
show(f)
---
def f(x): return divmod(x, 2)
show(f)
---
def f(x): return math.sqrt(x) + math.floor(x)
show(f)
---
def f(x): return torch.ones(2) + x, x + torch.ones(2), torch.add(torch.ones(2), x), torch.ones(2).add(x), torch.ones(2) @ x, torch.ones(2)[x], torch.ones(2) == x
show(f)
---
def f(input, type, self_, class_): return input + type + self_
show(f)
---
def f(x): return x.max_pool, x._foo, x.foo.bar(1).baz
show(f)
---
class T(fx.Tracer):
    def is_leaf_module(self, m, n): return False
m = nn.Sequential(nn.Linear(2,2), nn.ReLU(), nn.Sigmoid(), nn.Dropout(0.1), nn.Softmax(-1), nn.GELU(), nn.Hardswish(), nn.Tanh(), nn.Flatten(), nn.SiLU(), nn.LeakyReLU(), nn.Softplus(), nn.LayerNorm(2)).eval()
t = T(); g = t.trace(m); P(g); P(g.python_code('self').src); gm = fx.GraphModule(m, g); P(gm.code); P(gm(torch.ones(3,2))); P(gm)
---
class Own(fx.Tracer):
    "A tracer whose create_proxy has no options, as torchvision's and timm's."
    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None):
        P(kind); return super().create_proxy(kind, target, args, kwargs, name, type_expr)
class M(nn.Module):
    def __init__(self): super().__init__(); self.w = nn.Parameter(torch.ones(2)); self.l = nn.Linear(2, 2)
    def forward(self, x): return self.l(x) * self.w.shape[0] + self.w
m = M(); P(Own().trace(m)); P(fx.Tracer(param_shapes_constant=True).trace(m)); P(Own(autowrap_functions=(len,)).trace(m))
---
import torch.nn.functional as FF
P([FF.__name__])
def ident(x): return x
@fx.wrap
def wrapped(x, n=2): return x * n
class M(nn.Module):
    def forward(self, x): return wrapped(x) + wrapped(x, n=3) + ident(x)
show(M(), torch.ones(1))
---
fx.wrap('len')
class M(nn.Module):
    def forward(self, x): return x + len(x)
show(M(), torch.ones(2))
---
def f(x):
    fx.wrap('q')
show(f)
---
fx.wrap(3)
---
import collections, enum
NT = collections.namedtuple('NT', 'a b')
class EN(enum.Enum): A = 1
def f(x): return NT(x, 1), torch.Size([1,2]), range(3), torch.zeros(1, dtype=torch.int8), x.to(torch.channels_last), x.foo(EN.A), x.foo(torch.strided), 1j, b'a'
show(f)
---
def f(x): return x.foo(object())
show(f)
---
def f(x): return x.foo(int, torch.Tensor, torch.nn.Linear, f2, math.sqrt, torch.relu, F.relu, operator.add, complex, torch.device)
def f2(): pass
show(f)
---
class M(nn.Module):
    def __init__(self): super().__init__(); self.a = nn.Linear(1,1); self.b = self.a; self.w = self.a.weight; self.k = 3; self.cfg = {'a': 1}
    def forward(self, x): return self.b(self.a(x)) + self.w + self.k + self.cfg['a'] + self.helper(x)
    def helper(self, x): return x * 2
show(M(), torch.ones(1,1))
---
class M(nn.Module):
    def forward(self, x): return torch.ones(3) + x * torch.arange(3)
gm = fx.symbolic_trace(M()); P(gm.code, gm.graph, [n for n,_ in gm.named_buffers()], gm(torch.ones(3)))
---
gm = fx.symbolic_trace(nn.Sequential(nn.Linear(1,1), nn.ReLU())); P(gm.code, type(gm).__name__, gm)
---
def f(x): return torch.relu(x)
gm = fx.symbolic_trace(f)
P(type(gm).__name__, gm.__class__.__module__, repr(gm.forward)[:13], gm.forward.__name__, gm.code)
gm.graph.lint()
n = [n for n in gm.graph.nodes][1]; n.target = torch.sigmoid; gm.recompile(); P(gm.code); P(gm(torch.zeros(1)))
gm.graph = copy.deepcopy(gm.graph); P(gm.code)
try: gm.code = 1
except AttributeError as E: P(E)
gm.meta['a'] = 1; P(copy.deepcopy(gm).meta, gm.meta)
del gm._code if False else None
---
try: fx.GraphModule(nn.Module(), 3)
except Exception as E: P(type(E).__name__, E)
try: fx.GraphModule(3, fx.Graph())
except Exception as E: P(type(E).__name__, E)
gm = fx.GraphModule({'a': nn.Linear(1,1), 'b': nn.ReLU()}, (lambda g: (g.output(g.call_module('a', (g.placeholder('x'),))), g)[1])(fx.Graph())); P(gm, type(gm).__name__, type(gm).__mro__[0])
try: fx.GraphModule({'b': nn.ReLU()}, (lambda g: (g.output(g.call_module('a', (g.placeholder('x'),))), g)[1])(fx.Graph()))
except Exception as E: P(type(E).__name__, E)
gm = fx.GraphModule(nn.Module(), (lambda g: (g.output(g.placeholder('x')), g)[1])(fx.Graph()), class_name='Foo'); P(gm, type(gm).__name__)
---
g = fx.Graph(); x = g.placeholder('x', torch.Tensor, 3); y = g.placeholder('y')
for bad in (lambda: g.create_node('foo', 'x'), lambda: g.call_function(torch.add, [x]), lambda: g.call_module('nope', (x,)), lambda: g.get_attr('nope'), lambda: g.call_method(3, (x,)), lambda: g.call_function(torch.add, (x,), {3: 4}), lambda: g.erase_node(fx.Graph().placeholder('q')), lambda: g.inserting_before(fx.Graph().placeholder('q')), lambda: g.output((x, fx.Graph().placeholder('q')))):
    try: P(bad())
    except Exception as E: P(type(E).__name__, E)
P(g)
try: g.lint()
except Exception as E: P(type(E).__name__, E)
g = fx.Graph(); x = g.placeholder('x'); 
with g.inserting_before(x): y = g.call_function(torch.relu, (x,))
try: g.lint()
except Exception as E: P(type(E).__name__, E)
g = fx.Graph(); x = g.placeholder('x'); g.call_module('foo', (x,)); g.owning_module = nn.Module(); 
try: g.lint()
except Exception as E: P(type(E).__name__, E)
g = fx.Graph(); a = g.placeholder('x'); b = g.placeholder('x'); c = g.create_node('placeholder', 'x', name='x'); P(g); 
try: g.lint()
except Exception as E: P(type(E).__name__, E)
---
g = fx.Graph(); x = g.placeholder('x'); 
names = [g.create_node('call_function', torch.add, (x, x), name=n).name for n in ('add','add','add_1','add_1','1a','a b','a-b','ReLU','len','None','torch','a_5','a_5','a','a','a_x_1','self','x','_','__','é','lambda','inf','device', 'add_3')]; P(names)
P([g.call_function(f, (x,)).name for f in (operator.getitem, torch.relu, F.relu, math.sqrt, lambda a: a, int, len, nn.Linear, torch.Tensor)])
P([g.call_method(m, (x,)).name for m in ('__add__', 'add_', '__getitem__', 'MyMethod', 'size')]); P([g.create_node('call_module', m, (x,)).name for m in ('layer1.0.conv', 'Foo.Bar', 'a.1.2')] )
---
n = fx.Graph().placeholder('x')
P(fx.node.map_arg((n, [1, {'a': n}], slice(n, None, 2)), lambda v: v.name), fx.node.map_aggregate([1, (2, {'a': 3})], lambda v: v if isinstance(v, int) else v), type(fx.node.map_aggregate([1], lambda v: v)).__name__, fx.map_arg(n, lambda q: 1))
from collections import namedtuple
L = fx.immutable_collections.immutable_list([1,2]); D = fx.immutable_collections.immutable_dict(a=1); P(L, D, hash(D) is not None, copy.deepcopy(L), type(copy.copy(L)).__name__, L + [3], type(L + [3]).__name__, D == {'a': 1}, L == [1, 2], isinstance(L, list), pickle.loads(pickle.dumps(L)), pickle.loads(pickle.dumps(D)))
for fn in (lambda: L.append(1), lambda: L.__setitem__(0, 1), lambda: L.clear(), lambda: L.sort(), lambda: L.__iadd__([1]), lambda: D.update({}), lambda: D.pop('a'), lambda: D.__delitem__('a'), lambda: D.setdefault('b'), lambda: D.__ior__({}), lambda: L.reverse(), lambda: L.insert(0, 1)):
    try: P(fn())
    except TypeError as E: P(str(E).split('\n')[0])
P(torch.utils._pytree.tree_map(lambda v: v + 1, L), type(torch.utils._pytree.tree_map(lambda v: v + 1, L)).__name__)
---
p = fx.Proxy(fx.Graph().placeholder('x')); P(p, p.foo, type(p.foo).__name__, p[0], p.node, type(p.tracer).__name__, p.node.name, (p + 1).node, p.add(1).node, [p.foo.node, p.foo.bar.node], p.__class__.__name__, hash(p) is not None)
for f in (lambda: bool(p), lambda: [*p], lambda: p(1), lambda: float(p), lambda: p.keys(), lambda: {**p}, lambda: len(p), lambda: 1 in p, lambda: p.__index__, lambda: range(p), lambda: p and p, lambda: not p, lambda: copy.copy(p), lambda: iter(p), lambda: p is p, lambda: isinstance(p, torch.Tensor), lambda: list(zip(p, p)), lambda: p == None, lambda: f"{p}", lambda: '%s' % p, lambda: torch.zeros(p), lambda: torch.is_tensor(p), lambda: p.size()[0].node.target, lambda: assert_(p)):
    try: P(f())
    except Exception as E: P(type(E).__name__, E)
def assert_(p):
    assert p > 1
---
class M(nn.Module):
    def forward(self, x, k): return x * k['a'], [v for v in ()]
gm = fx.symbolic_trace(M(), concrete_args={'k': {'a': 3}}); P(gm.code, gm.graph)
---
gm = fx.symbolic_trace(lambda x, y=2, *args: x + y); P(gm.code, gm.graph, gm(1), gm(1, 3))
gm = fx.symbolic_trace(lambda *, x, y=2: x + y); P(gm.code, gm.graph, gm(x=1))
gm = fx.symbolic_trace(lambda: 3); P(gm.code, gm.graph, gm())
gm = fx.symbolic_trace(lambda x: None); P(gm.code, gm.graph, gm(1))
---
def f(a, b, c): return a + b
import functools
P(fx.symbolic_trace(functools.partial(f, c=1) if False else f).code)
P(fx.is_fx_tracing() if hasattr(fx,'is_fx_tracing') else 'no', fx._symbolic_trace.is_fx_tracing())
def g(x): P(fx._symbolic_trace.is_fx_tracing()); return x
fx.symbolic_trace(g); P(fx._symbolic_trace.is_fx_tracing())
'''.strip().split("\n---\n")

# The same over passes.
PASSES = r'''
from_ = importlib.import_module(torch.__name__ + '.fx.passes.shape_prop')
gm = fx.symbolic_trace(nn.Sequential(nn.Linear(3,4), nn.ReLU())); from_.ShapeProp(gm).propagate(torch.ones(2,3)); P([(n.name, n.meta['tensor_meta'], n.meta['type'].__name__) for n in gm.graph.nodes])
gm = fx.symbolic_trace(lambda x: (x.split(1), {'a': x.sum(), 'b': 3}, x.t())); from_.ShapeProp(gm).propagate(torch.ones(2,3)); P([(n.name, n.meta.get('tensor_meta'), n.meta['type'].__name__) for n in gm.graph.nodes])
gm = fx.symbolic_trace(lambda x: x @ x)
try: from_.ShapeProp(gm).propagate(torch.ones(2,3))
except Exception as E: P(type(E).__name__, str(E).split(chr(10))[0])
P(from_._extract_tensor_metadata(torch.ones(1,2,2,2).to(memory_format=torch.channels_last)))
---
sm = importlib.import_module(torch.__name__ + '.fx.passes.split_module')
class M(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(2,2); self.p = nn.Parameter(torch.ones(2))
    def forward(self, x, y): a = self.l(x + y); b = torch.relu(a) * self.p; c = b + x; return c - a, b
m = M(); gm = fx.symbolic_trace(m); place = {}
def split(n): return {'add':0,'l':0,'relu':1,'mul':1,'add_1':2,'sub':2}.get(n.name, 0)
s = sm.split_module(gm, m, split); P(s.code); P([(n, c.code) for n, c in s.named_children()]); x = torch.ones(1,2); P([torch.equal(a, b) for a, b in zip(s(x, x), m(x, x))])
s = sm.split_module(gm, m, lambda n: 0); P(s.code, s.submod_0.code)
s = sm.split_module(gm, m, split, partition_affix='foo', keep_original_order=True); P(s.code)
try: sm.split_module(gm, m, lambda n: {'add':1,'l':0,'relu':1}.get(n.name, 0))
except Exception as E: P(type(E).__name__, E)
q = {}; sm.split_module(gm, m, split, q); P(q)
---
tc = importlib.import_module(torch.__name__ + '.fx.passes.tools_common'); gmn = importlib.import_module(torch.__name__ + '.fx.passes.graph_manipulation')
g = fx.Graph(); x = g.placeholder('x'); a = g.call_function(torch.relu, (x,)); b = g.call_function(torch.neg, (a,)); g.output(b)
b.prepend(a) ; x.prepend(b) if False else None
gm = fx.GraphModule(nn.Module(), g); a.append(b); tc.legalize_graph(gm); P(gm.graph)
P([tc.get_node_target({'l': nn.Linear(1,1)}, n) for n in g.nodes if n.op in ('call_function','call_method')], tc.is_node_output_tensor(a) if 'type' in a.meta else None)
gmn.replace_target_nodes_with(gm, 'call_function', torch.relu, 'call_function', torch.sigmoid); P(gm.graph)
m = fx.symbolic_trace(nn.Sequential(nn.Linear(3,4), nn.ReLU())); importlib.import_module(torch.__name__ + '.fx.passes.shape_prop').ShapeProp(m).propagate(torch.ones(2,3)); P([gmn.get_size_of_node(m, n) for n in m.graph.nodes if n.op != 'output'], gmn.get_size_of_all_nodes(m), gmn.get_tensor_meta(list(m.graph.nodes)[1]))
---
pb = importlib.import_module(torch.__name__ + '.fx.passes.infra.pass_base'); pm = importlib.import_module(torch.__name__ + '.fx.passes.infra.pass_manager')
class A(pb.PassBase):
    def call(self, gm):
        done = False
        for n in gm.graph.nodes:
            if n.target is torch.relu: n.target = torch.neg; done = True
        return pb.PassResult(gm, done)
    def requires(self, gm): P('requires')
    def ensures(self, gm): P('ensures')
gm = fx.symbolic_trace(lambda x: torch.relu(x)); r = A()(gm); P(r.modified, r.graph_module.graph)
def f(gm): P('f'); return pb.PassResult(gm, False)
def g(gm): P('g'); return pb.PassResult(gm, False)
def h(gm): P('h')
man = pm.PassManager(passes=[g, f, A()], constraints=[pm.this_before_that_pass_constraint(f, g)], run_checks_after_each_pass=True); man.add_checks(lambda m: P('check')); r = man(gm); P(r.modified)
try: pm.PassManager(passes=[f, g], constraints=[pm.this_before_that_pass_constraint(f, g), pm.this_before_that_pass_constraint(g, f)])(gm)
except Exception as E: P(type(E).__name__, str(E)[:60])
try: pm.PassManager(passes=[h])(gm)
except Exception as E: P(type(E).__name__, str(E)[:100])
P(pm.PassManager(passes=[pm.pass_result_wrapper(h)])(gm) is not None) if False else None
man = pm.PassManager(passes=[f], steps=3); man(gm)
---
ps = importlib.import_module(torch.__name__ + '.fx.passes.operator_support'); pt = importlib.import_module(torch.__name__ + '.fx.passes.infra.partitioner')
class S(ps.OperatorSupportBase):
    def is_node_supported(self, submodules, node): return node.op == 'call_function' and node.target in (torch.relu, operator.add, torch.neg)
def prog(x, y): a = torch.relu(x); b = a + y; c = b.sin(); d = torch.neg(c) + b; return d
gm = fx.symbolic_trace(prog); p = pt.CapabilityBasedPartitioner(gm, S(), allows_single_node_partition=True); parts = p.propose_partitions(); P(sorted([sorted(n.name for n in q.nodes) for q in parts])); fused = p.fuse_partitions(parts); P(fused.code); P([(n, c.code) for n, c in fused.named_children()]); x = torch.ones(2); P(torch.equal(fused(x, x), prog(x, x)))
gm = fx.symbolic_trace(prog); P(len(pt.CapabilityBasedPartitioner(gm, S()).propose_partitions()))
gm = fx.symbolic_trace(prog); P(pt.CapabilityBasedPartitioner(gm, S(), allows_single_node_partition=True).partition_and_fuse().code)
c = ps.chain(S(), ps.create_op_support(lambda sub, n: 'neg' not in n.name)); gm = fx.symbolic_trace(prog); P([c.is_node_supported({}, n) for n in gm.graph.nodes], [ps.any_chain(S(), ps.OpSupports.decline_if_node_in_names({'sin'})).is_node_supported({}, n) for n in gm.graph.nodes])
---
op = importlib.import_module(torch.__name__ + '.fx.experimental.optimization')
class M(nn.Module):
    def __init__(self): super().__init__(); self.c = nn.Conv2d(1,2,1); self.b = nn.BatchNorm2d(2); self.d = nn.Dropout(); self.r = nn.ReLU(); self.c2 = nn.Conv2d(2,2,1); self.b2 = nn.BatchNorm2d(2)
    def forward(self, x): x = self.r(self.b(self.c(x))); y = self.c2(x); return self.d(self.b2(y)) + y
m = M().eval(); m.b.running_mean.fill_(.5); f = op.fuse(m); P(f.code); x = torch.ones(1,1,2,2); P(torch.allclose(f(x), m(x), atol=1e-6)); P(op.remove_dropout(m).code); P(torch.allclose(op.remove_dropout(m)(x), m(x)))
P(op.matches_module_pattern((nn.Conv2d, nn.BatchNorm2d), [n for n in fx.symbolic_trace(m).graph.nodes if n.name == 'b'][0], dict(m.named_modules())))
u = op.UnionFind(4); [u.make_set(i) for i in range(4)]; u.join(0, 1); u.join(2, 3); P(u.find(1) == u.find(0), u.find(2) == u.find(0))
---
cf = importlib.import_module(torch.__name__ + '.fx.experimental.const_fold')
class M(nn.Module):
    def __init__(self): super().__init__(); self.a = nn.Parameter(torch.ones(2)); self.b = nn.Parameter(torch.full((2,), 3.))
    def forward(self, x): c = self.a + self.b; return x * c
m = M(); f = cf.split_const_subgraphs(m); x = torch.full((2,), 2.); P(torch.equal(f(x), m(x)), type(f).__name__, f.code, f.const_subgraph_module.code if f.const_subgraph_module else None, f.fx_const_folded_attrs_name)
---
su = importlib.import_module(torch.__name__ + '.fx.passes.split_utils')
gm = fx.symbolic_trace(lambda x: (torch.relu(x) + 1).sin())
for n in gm.graph.nodes:
    if n.op not in ('placeholder', 'output'): n.tag = 'a' if n.name in ('relu', 'add') else 'b'
s = su.split_by_tags(gm, ['a', 'b']); P(s.code, [(n, c.code) for n, c in s.named_children()]); P(s(torch.ones(1)))
su.setattr_recursive(gm, 'q', 3); P(su.getattr_recursive(gm, 'q'))
---
pf = importlib.import_module(torch.__name__ + '.fx.passes.param_fetch')
gm = fx.symbolic_trace(nn.Sequential(nn.Linear(1, 1), nn.ReLU())); P({k: str(v) for k, v in pf.extract_attrs_for_lowering(gm.get_submodule('0')).items()});
'''.strip().split("\n---\n")

CALLS = r'''
torch.zeros(p)
torch.zeros((p[0],3))
torch.arange(p)
torch.arange(0,p[0])
torch.ones(p.shape)
torch.full((p[0],2),1.)
torch.full((2,2),p)
torch.empty(p.size(0))
torch.rand(p[0])
torch.eye(p[0])
t.view(p[0],3)
t.view((p[0],3))
t.expand(p.shape)
t.reshape(p.shape)
t.repeat(p[0],1)
t[p]
t[0,p]
t[p:]
t[:, None, p[0]:2]
t.sum(p[0])
t.sum(dim=p[0])
t + p
t * p
p * t
t.add(p)
t.to(p.device)
t.to(p)
t.type_as(p)
t.to(dtype=p.dtype)
torch.zeros(2, device=p.device)
torch.zeros(2, dtype=p.dtype)
torch.zeros_like(p)
torch.linspace(0, p, 3)
torch.tensor([p])
torch.flatten(t, p[0])
t.chunk(p[0])
t.narrow(0,p[0],1)
torch.narrow(t,0,0,p[0])
F.interpolate(t, size=p.shape)
F.interpolate(t, size=(p[0],p[1]))
F.pad(t,(p[0],1))
t.__setitem__(p, 1)
t.__setitem__(0, p)
torch.cat([t,p])
torch.stack((t,p))
torch.cat(p)
torch.stack(p)
torch.einsum('ij->i',p)
torch.meshgrid(p,p)
torch.broadcast_tensors(p,t)
torch.where(p,t,t)
torch.where(p)
torch.nn.functional.one_hot(p)
torch.bmm(p,t)
torch.baddbmm(t,p,p,beta=p)
torch.addmm(t,t,t,beta=p)
torch.clamp(t, min=p)
torch.clamp(t, p[0], 2)
t.masked_fill(p, 1)
t.masked_fill(t>0, p)
torch.topk(t, p[0])
t.unsqueeze(p[0])
t.transpose(p[0],1)
torch.max(t,p[0])
torch.randn(2, p[0])
torch.randint(0,p[0],(2,))
torch.randperm(p[0])
torch.Size(p)
torch.nn.utils.rnn.pad_sequence([p,p])
torch.div(t,p,rounding_mode='floor')
torch.pow(2,p)
torch.pow(p,2)
torch.outer(p,p)
torch.tril(p)
torch.triu_indices(p[0],2)
torch.conv2d(p,t)
F.scaled_dot_product_attention(p,p,p,attn_mask=None,dropout_p=0.0,is_causal=True)
F.conv2d(t,t,stride=p)
F.layer_norm(p, p.shape[1:])
F.layer_norm(t, p.shape[1:])
F.embedding(p,t)
F.multi_head_attention_forward(p,p,p,4,1,None,None,None,False,0.,t,t)
t @ p
p @ t
t == p
t > p
p > t
t // p
t ** p
2 ** p
t % p
-p
t & p
t.bool() | p
t >> p
divmod(t,p)
t.__rsub__(p)
1 - p
t.matmul(p)
torch.nn.Parameter(t) + p
torch.special.expit(p)
torch.unbind(p)
torch.tensor_split(p, 2)
torch.squeeze(p)
torch.dropout(p, 0.5, False)
torch.batch_norm(p, None, None, None, None, True, .1, 1e-5, False)
torch.nn.functional.rms_norm(p, (3,))
torch.gather(t, 0, p)
torch.scatter(t, 0, p, 1.)
t.scatter_add(0, p, t)
t.index_select(0, p)
torch.index_select(t, 0, p)
torch.roll(t, p[0])
torch.nn.functional.avg_pool2d(p, p[0])
torch.nn.functional.grid_sample(p, t)
torch.nn.functional.unfold(p, 3)
torch.histc(p)
torch.cdist(p, p)
torch.cumsum(p, 0)
torch.lerp(t, t, p)
torch.addcmul(t, t, t, value=p)
torch.result_type(p, t)
'''.strip().split("\n")
