"""Module side by side with torch: hooks in order, registration, attributes, state and its errors, conversion."""
import pytest
import torch as reference
from nn_cases import check

import kindling

NET = """
log = []
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 3), nn.Linear(3, 1)
    def forward(self, x, k=1):
        log.append('forward')
        return self.b(self.a(x).relu()) * k
class Boom(nn.Module):
    def forward(self, x):
        raise ValueError('boom')
def flush():
    show(list(log)); log.clear()
m, x = Net(), torch.ones(1, 2, requires_grad=True)
"""

CASES = {
    "hooks in order": NET + """
handles = [m.register_forward_pre_hook(lambda m, a: log.append('pre')),
           m.register_forward_pre_hook(lambda m, a, k: log.append(sorted(k)), with_kwargs=True, prepend=True),
           m.register_forward_hook(lambda m, a, o: log.append('post')),
           m.register_forward_hook(lambda m, a, k, o: log.append(('first', sorted(k))), with_kwargs=True, prepend=True),
           m.register_full_backward_pre_hook(lambda m, g: log.append(('backward pre', len(g)))),
           m.register_full_backward_hook(lambda m, gi, go: log.append((gi[0] is None, go[0].shape[0])))]
m(x, k=2).sum().backward(); flush()
m(torch.ones(1, 2)).sum().backward(); flush()
[handle.remove() for handle in handles]
m(x).sum().backward(); flush()
with m.register_forward_hook(lambda *a: log.append('inside')): m(x)
m(x); flush()""",
    "hooks that change values": NET + """
for hook in (lambda m, a: (a[0] * 0,), lambda m, a: a[0] * 0):
    with m.register_forward_pre_hook(hook): show(m(x))
with m.register_forward_pre_hook(lambda m, a, k: ((a[0] * 0,), {'k': 5}), with_kwargs=True): show(m(x))
with m.register_forward_pre_hook(lambda m, a, k: 3, with_kwargs=True): show(lambda: m(x))
with m.register_forward_hook(lambda m, a, o: 3): show(m(x))
for hook in (lambda m, gi, go: (gi[0] * 0 + 7,), lambda m, gi, go: (gi[0], gi[0])):
    x.grad = None
    with m.register_full_backward_hook(hook): show(lambda: m(x).sum().backward()); show(x.grad)
for hook in (lambda m, go: (go[0] * 10,), lambda m, go: (go[0], go[0])):
    x.grad = None
    with m.register_full_backward_pre_hook(hook): show(lambda: m(x).sum().backward()); show(x.grad)
with m.register_full_backward_hook(lambda m, gi, go: (torch.ones(1),)):
    show(lambda: m(torch.ones(1, 2)).sum().backward())
m.register_full_backward_hook(lambda *a: None)
show(lambda: m.register_backward_hook(lambda *a: None))""",
    "backward hooks with several inputs and outputs": NET + """
class Several(nn.Module):
    def forward(self, x, y, z):
        return x * y, x + 1, 'a'
s = Several()
s.register_full_backward_hook(lambda m, gi, go: log.append(([g if g is None else g.item() for g in gi],
                                                            [g if g is None else g.item() for g in go])))
a = torch.tensor(2., requires_grad=True)
s(a, torch.tensor(3.), None)[0].backward(); flush()
with torch.no_grad(): show(s(a, a, None))
m.b.register_backward_hook(lambda m, gi, go: log.append(('old', len(gi), len(go))))
m(x).sum().backward(); flush()""",
    "where attributes are found, after many looks, too": NET + """
class Odd(nn.Linear):
    kept = 'class'
    @property
    def broken(self): return self.nothing
    @property
    def hidden(self): raise AttributeError('inside')
class Own(Odd):
    def __getattr__(self, name): return 'made up' if name == 'ghost' else super().__getattr__(name)
class First(Odd):
    def __getattribute__(self, name): return 'first' if name == 'ghost' else super().__getattribute__(name)
class Mapping(dict):
    def __getitem__(self, key): return 'mapped ' + key
kinds = [Odd(2, 2, bias=False), Own(2, 2, bias=False), First(2, 2, bias=False)]
def looks(o):
    for use in (lambda: o.weight.shape, lambda: o.bias, lambda: o.kept, lambda: o.broken, lambda: o.hidden, lambda: o.ghost,
                lambda: o.in_features, lambda: getattr(o, 'missing', 0), lambda: hasattr(o, 'forward'), lambda: o.__dict__['training'],
                lambda: o.child, lambda: o.count):
        show(use)
for turn in range(3):
    for o in kinds: looks(o)
for o in kinds: o.child, o.count = nn.Identity(), 3
for o in kinds: looks(o)
for o in kinds:
    o.__dict__['weight'] = torch.zeros(1); show(o.weight.shape); del o.__dict__['weight']; show(o.weight.shape)
    del o.child; show(lambda: o.child)
    o.register_buffer('count', None) if 'count' not in o.__dict__ else show('count is there')
    o._buffers = Mapping(late=1); show(o.late); show(lambda: o.later)
    o._buffers = None; show(lambda: o.late)
    show(lambda: getattr(o, 3))
old = nn.Module.__getattr__
nn.Module.__getattr__ = lambda self, name: ('patched', name)
for o in kinds: show(o.weight); show(o.in_features)
nn.Module.__getattr__ = old
for o in kinds: looks(o)
Odd.__getattr__ = lambda self, name: 'of Odd'
for o in kinds: show(lambda: o.weight)
del Odd.__getattr__
for o in kinds: show(lambda: o.weight.shape)
Odd.weight = property(lambda self: 'property'); show(kinds[0].weight); del Odd.weight; show(kinds[0].weight.shape)
show(lambda: nn.Module.__getattr__(kinds[0], 'weight').shape);
show(lambda: nn.Module.__new__(nn.Module).weight)""",
    "hooks that run after an error": NET + """
b = Boom()
b.register_forward_hook(lambda m, a, o: log.append(('always', o)), always_call=True)
b.register_forward_hook(lambda m, a, o: log.append('never'))
b.register_forward_hook(lambda m, a, k, o: 1 / 0, always_call=True, with_kwargs=True)
show(lambda: b(1)); flush()
m.register_forward_hook(lambda m, a, o: 1 / 0)
m.register_forward_hook(lambda m, a, o: log.append('ran'), always_call=True)
show(lambda: m(x)); flush()""",
    "global hooks": NET + """
G = nn.modules.module
handles = [G.register_module_forward_pre_hook(lambda m, a: log.append('pre ' + type(m).__name__)),
           G.register_module_forward_hook(lambda m, a, o: log.append('post ' + type(m).__name__)),
           G.register_module_full_backward_hook(lambda m, gi, go: log.append('back ' + type(m).__name__)),
           G.register_module_full_backward_pre_hook(lambda m, go: log.append('before ' + type(m).__name__))]
m.register_forward_hook(lambda *a: log.append('own'))
m.register_full_backward_hook(lambda *a: log.append('own back'))
m(x).sum().backward(); flush()
[handle.remove() for handle in handles]
m(x); flush()
handles = [G.register_module_parameter_registration_hook(lambda m, n, p: log.append(('parameter', n))),
           G.register_module_buffer_registration_hook(lambda m, n, p: log.append(('buffer', n))),
           G.register_module_module_registration_hook(lambda m, n, p: log.append(('module', n)))]
nn.Sequential(nn.BatchNorm1d(2))[0].running_mean = torch.ones(2); flush()
[handle.remove() for handle in handles]""",
    "registration and its errors": """
m = nn.Linear(2, 2)
for name in ('a.b', '', 'weight', 3):
    show(lambda: m.register_buffer(name, None))
    show(lambda: m.add_module(name, None))
for name in ('a.b', '', 'in_features', 3):
    show(lambda: m.register_parameter(name, None))
for value in (3, torch.zeros(2), nn.Parameter(torch.zeros(2)) * 2):
    show(lambda: m.register_parameter('x', value))
show(lambda: m.register_buffer('x', 3)); show(lambda: m.add_module('x', 3))
show(lambda: setattr(m, 'weight', torch.zeros(2))); show(lambda: setattr(m, 'weight', nn.ReLU()))
show(lambda: setattr(nn.Sequential(m), '0', 3)); show(lambda: setattr(nn.BatchNorm1d(2), 'running_mean', 3))
for make in (lambda: nn.Parameter(torch.zeros(2)), lambda: nn.Linear(2, 2), lambda: nn.Buffer(torch.zeros(2)),
             lambda: 3):
    class Early(nn.Module):
        def __init__(self):
            self.x = make()
    show(lambda: Early()(2))
for call in (lambda: nn.Module(3), lambda: nn.Module(a=3), lambda: nn.Module()(2), lambda: m.foo,
             lambda: delattr(m, 'foo'),
             lambda: m.train(3), lambda: m.get_extra_state(), lambda: m.apply(3)):
    show(call)""",
    "paths": """
m = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.BatchNorm1d(2)))
for path in ('', '1.0', '1.0.weight', '1.5', 'a.b'):
    show(lambda: m.get_submodule(path))
for path in ('0.weight', '0.foo', '0.in_features', '1.0.running_mean', '1'):
    show(lambda: m.get_parameter(path)); show(lambda: m.get_buffer(path))
for path, module in (('', m), ('1.0', nn.ReLU()), ('0.weight', nn.ReLU()), ('1.1', 3), ('2', nn.ReLU()),
                     ('9.9', nn.ReLU())):
    show(lambda: m.set_submodule(path, module))
show(lambda: m.set_submodule('7', nn.ReLU(), strict=True)); show(m)""",
    "one name, one place": """
m = nn.Module()
m.b = nn.Buffer(torch.ones(2), persistent=False)
show(sorted(m._non_persistent_buffers_set)); show(list(m.state_dict()))
m.b = None; show(m._buffers)
m.b = nn.Parameter(torch.ones(1)); show([list(m._parameters), list(m._buffers)])
show(lambda: setattr(m, 'b', nn.ReLU())); del m.b; show(hasattr(m, 'b'))
m.w = nn.Parameter(torch.ones(1)); m.w2 = m.w; m.c = nn.Linear(1, 1); m.d = m.c
show([name for name, _ in m.named_parameters()])
show([name for name, _ in m.named_parameters('z', remove_duplicate=False)])
show([name for name, _ in m.named_modules()]); show([name for name, _ in m.named_modules(remove_duplicate=False)])
show(len(list(m.children()))); show([name for name, _ in m.named_parameters(recurse=False)])
m.c = None; show(m); m.d.weight = None; show(m.d)
m.d.in_features = nn.Linear(1, 1); show(m.d)""",
    "state_dict and its hooks": """
log = []
s = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
s.register_state_dict_pre_hook(lambda m, p, k: log.append(('pre', p, k)))
s[0].register_state_dict_post_hook(lambda m, sd, p, meta: log.append(('post', list(sd), p, meta)))
s._register_state_dict_hook(lambda m, sd, p, meta: log.append(('old', len(sd))))
show(list(s.state_dict(prefix='q.'))); show(log); show(s.state_dict()._metadata)
show(s.state_dict(keep_vars=True)['0.weight'].requires_grad); show(s.state_dict()['0.weight'].requires_grad)
s[1].register_state_dict_post_hook(lambda *a: 3); show(lambda: s.state_dict())
s, log = nn.Sequential(nn.Linear(1, 1)), []
s[0].register_load_state_dict_pre_hook(lambda m, sd, p, *rest: log.append(('pre', type(m).__name__, p, len(rest))))
s.register_load_state_dict_post_hook(lambda m, keys: log.append(('post', list(keys.missing_keys))))
s[0].register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
show(lambda: s.load_state_dict({'0.weight': torch.ones(1, 1)})); show(log)
s.register_load_state_dict_post_hook(lambda *a: 3); show(lambda: s.load_state_dict(s.state_dict()))""",
    "load_state_dict and its errors": """
m = nn.Linear(2, 2)
show(lambda: m.load_state_dict(3))
show(lambda: m.load_state_dict({'weight': torch.zeros(3, 2), 'bias': 3, 'z': 1, 'y.x': 2}))
show(lambda: m.load_state_dict({'z': 1}, strict=False)); show(lambda: m.load_state_dict(m.state_dict()))
show(lambda: m.load_state_dict({'weight': torch.ones(2, 2, device='meta'), 'bias': torch.ones(2)}))
class Extra(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.Linear(1, 1)
    def get_extra_state(self): return {'a': 1}
class Both(Extra):
    def set_extra_state(self, state): self.got = state
show(lambda: Extra().load_state_dict(Extra().state_dict())); b = Both()
show(lambda: b.load_state_dict(Extra().state_dict()))
show(b.got); show(lambda: b.load_state_dict(nn.Linear(1, 1).state_dict()))
sd = {'weight': torch.ones(2, 2, dtype=torch.float64), 'bias': torch.ones(2)}
m.weight.requires_grad_(False); show(lambda: m.load_state_dict(sd, assign=True))
show([m.weight, m.weight.requires_grad, m.bias.requires_grad, m.bias.data_ptr() == sd['bias'].data_ptr()])
empty = nn.Linear(2, 2, device='meta'); show(lambda: empty.load_state_dict(m.state_dict(), assign=True))
show(empty.weight)
old = nn.BatchNorm1d(2); sd = dict(old.state_dict()); del sd['num_batches_tracked']
show(lambda: old.load_state_dict(sd))""",
    "conversion": """
m = nn.Linear(2, 2); w = m.weight; w.grad = torch.ones(2, 2)
m.double(); show([w is m.weight, w, w.grad])
m.to('meta'); show([w is m.weight, m.weight]); m.to_empty(device='cpu'); show(m.weight.device.type)
show(lambda: nn.Linear(2, 2, device='meta').to('cpu')); show(lambda: m.to(torch.int32)); show(lambda: m.to('nowhere'))
b = nn.Sequential(nn.BatchNorm1d(2))
for convert in (lambda: b.half(), lambda: b.bfloat16(), lambda: b.to(torch.ones(1, dtype=torch.float64)),
                lambda: b.to('cpu', torch.float16, True), lambda: b.to(device='cpu', dtype=torch.float32),
                lambda: b.type(torch.float64), lambda: b.float()):
    convert(); show([str(v.dtype).split('.')[-1] for v in b.state_dict().values()])
show(nn.Conv2d(1, 2, 3).to(memory_format=torch.channels_last).weight.stride())
m = nn.Linear(1, 1); m.weight.grad = torch.ones(1, 1); m.zero_grad(False); show(m.weight.grad); m.zero_grad()
show(m.weight.grad)
show([m.eval().training, m.train().training, m.requires_grad_(False).weight.requires_grad])""",
    "parameters": """
p = nn.Parameter(torch.ones(2)); p.foo = 3
show(repr(p)); show(repr([nn.Parameter(torch.tensor(1.), False)])); show(lambda: nn.Parameter(torch.ones(2).long()))
show([type(p.data) is torch.Tensor, type(p + 1) is torch.Tensor, isinstance(torch.ones(1), nn.Parameter)])
c = copy.deepcopy(p); show([type(c) is nn.Parameter, c is p, c]); show(nn.Parameter()); show(nn.Parameter(p) is p)
q = torch.ones(1); q._is_param = True; show(isinstance(q, nn.Parameter)); show({p: 1}[p])
class Sub(torch.Tensor): pass
s = nn.Parameter(torch.ones(2).as_subclass(Sub)); show([type(s).__name__, isinstance(s, nn.Parameter)])
show(isinstance(nn.Buffer(torch.ones(1)), nn.Buffer)); show(isinstance(torch.ones(1), nn.Buffer))
u = nn.UninitializedParameter()
for use in (lambda: u.shape, lambda: u + 1, lambda: u.numel(), lambda: u.data, lambda: u.dtype, lambda: u.to('cpu')):
    show(lambda: str(use())[:60])
u.materialize((2,)); show([type(u) is nn.Parameter, list(u.shape)])""",
    "copies": """
m = nn.Sequential(nn.Linear(2, 2), nn.LSTM(2, 3))
c = copy.deepcopy(m); show([c[0].weight is m[0].weight, c[0].weight.equal(m[0].weight), copy.copy(m)[0] is m[0]])
c.load_state_dict({k: v * 0 for k, v in m.state_dict().items()}, assign=True); c.double()
show(c[1]._flat_weights[0] is c[1].weight_ih_l0); show(c[1](torch.ones(1, 2, dtype=torch.float64))[0])""",
    "containers": """
s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
for use in (lambda: s[5], lambda: s[-1], lambda: s[1:], lambda: s.insert(9, nn.ReLU()), lambda: s.insert(-1, nn.ReLU()),
            lambda: s + 3, lambda: s * 0, lambda: s * 2, lambda: s.pop(0), lambda: s.append(3), lambda: s.insert(0, 3),
            lambda: s.extend([nn.GELU()]), lambda: s.__delitem__(0), lambda: s, lambda: nn.Sequential()(3)):
    show(lambda: str(use()).replace('kindling.nn', 'torch.nn'))
l = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Linear(1, 1)])
for use in (lambda: l, lambda: l[9], lambda: l[0:2], lambda: l.insert(1, nn.GELU()), lambda: l,
            lambda: l.__delitem__(0),
            lambda: l + [nn.Tanh()], lambda: l.extend(3), lambda: nn.ModuleList()(3), lambda: nn.ModuleList()):
    show(lambda: str(use()))
d = nn.ModuleDict({'a': nn.ReLU()})
for use in (lambda: d, lambda: d.update(3), lambda: d.update([3]), lambda: d.update([[3]]), lambda: d.pop('a'),
            lambda: d,
            lambda: d.update({'a.b': nn.ReLU()}), lambda: d.update({'clear': nn.ReLU()}), lambda: 'a' in d):
    show(lambda: str(use()))
for use in (lambda: nn.ParameterList([torch.ones(2), 3]), lambda: nn.ParameterList(torch.ones(2)),
            lambda: nn.ParameterList()(3),
            lambda: nn.ParameterDict({'b': torch.ones(2), 'a': 3}), lambda: nn.ParameterDict({3: torch.ones(2)}),
            lambda: nn.ParameterDict({'a': 1}) | nn.ParameterDict({'b': 2}),
            lambda: nn.ParameterDict({'a': 1}).popitem()):
    show(lambda: str(use()))""",
}


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name):
    check(reference, CASES[name])


def test_pickled_modules_come_back():
    import pickle

    import kindling
    model = kindling.nn.Sequential(kindling.nn.Linear(2, 3), kindling.nn.LazyLinear(2))
    again = pickle.loads(pickle.dumps(model))
    assert repr(again) == repr(model)
    assert again[0].weight.equal(model[0].weight)
    assert again(kindling.ones(1, 2)).shape == (1, 2)


@pytest.mark.parametrize("command, more", [("script", 0), ("trace", 1)], ids=["script", "trace"])
def test_scripts_of_modules_without_shapes_are_refused(command, more):
    module = kindling.nn.Sequential(kindling.nn.LazyLinear(2))
    make = getattr(kindling.jit, command)
    arguments = (kindling.ones(1, 3),) * more
    with pytest.raises(RuntimeError, match="LazyLinear' has uninitialized parameters weight. Did you forget to run a forward pass?"):
        make(module, *arguments)
    module(kindling.ones(1, 3))
    x = kindling.ones(2, 3)
    assert make(module, *arguments)(x).equal(module(x))
    module.register_buffer("late", kindling.nn.parameter.UninitializedBuffer())
    with pytest.raises(RuntimeError, match="has uninitialized buffers late"):
        make(module, *arguments)


PARAMETRISATIONS = {
    "two": "(lambda x: (x, x), None)", "dtype": "(lambda x: x.bool(), None)", "shape": "(lambda x: x[:-1], None)", "two back": "(lambda x: x, lambda x: (x, x))",
    "dtype back": "(lambda x: x, lambda x: x.bool())", "shape back": "(lambda x: x, lambda x: x[:-1])", "both": "(lambda x: x[:-1], lambda x: x[:-1])",
}


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("which", PARAMETRISATIONS)
def test_parametrisations_that_change_a_tensor_are_refused(which, second):
    def said(t):
        forward, back = eval(PARAMETRISATIONS[which])
        there = type("P", (t.nn.Module,), {"forward": lambda self, x: forward(x), **({"right_inverse": lambda self, x: back(x)} if back else {})})
        module = t.nn.Linear(3, 4)
        register = t.nn.utils.parametrize.register_parametrization
        if second:
            register(module, "weight", t.nn.Identity())
        try:
            register(module, "weight", there())
        except (ValueError, TypeError) as error:
            return type(error), str(error).replace(t.__name__ + ".", "torch.").partition("<locals>")[2] or str(error).replace(t.__name__ + ".", "torch."), t.nn.utils.parametrize.is_parametrized(module)

    assert said(kindling) == said(reference)
