"""__torch_function__, __torch_dispatch__, modes and wrapper classes: the same names seen as under PyTorch."""
import pytest

from both import same

FUNCTION = """
log = []
class Sub(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append((func.__name__, [t.__name__ for t in types]))
        return super().__torch_function__(func, types, args, kwargs or {})
s = Sub([1., 2.])
t = torch.tensor([3., 4.])
"""
CALLS = ["s + 1", "1 + s", "t + s", "s - 1", "1 - s", "s * 2", "2 / s", "s ** 2", "s.add(1)", "torch.add(s, 1)", "s.shape", "s.size()", "s[0]", "s == 1",
         "-s", "s.requires_grad", "s.add_(1)", "s @ s", "s.data", "s.tolist()", "s.numel()", "torch.stack([s, t])", "torch.zeros_like(s)",
         "F.relu(s)", "F.gelu(s)", "bool(s[0])", "len(s)", "s.sum()", "torch.cat([t, s])", "s.to(torch.float64)", "s.dtype", "s.dim()",
         "s.detach()", "s.clone()", "F.linear(s, t.unsqueeze(0))", "torch.where(s > 1, s, t)", "s.T", "s.grad", "torch.sum(s, dim=0)"]


@pytest.mark.parametrize("call", CALLS)
def test_torch_function(call):
    same(f"r = {call}\nlog, type(r).__name__", FUNCTION)


def test_function_order():
    same("""class A(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(cls.__name__)
        return NotImplemented
class B(A): pass
seen = []
try:
    torch.add(torch.ones(2).as_subclass(A), torch.ones(2).as_subclass(B))
except TypeError as error:
    seen.append("TypeError")
seen""")


def test_like():
    same("""class Like:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func.__name__, len(args)
torch.add(Like(), 1), torch.stack([Like()]), torch.is_tensor(Like()), torch.overrides.is_tensor_like(Like()), torch.ones(2) + Like()""")


def test_function_mode():
    same("""from torch.overrides import TorchFunctionMode
class Log(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        log.append(func.__name__)
        return func(*args, **(kwargs or {}))
log = []
a = torch.ones(2)
with Log():
    b = a + 1
    torch.zeros(2)
    b.sum()
    b.shape
    torch.tensor([1])
log""".replace("from torch.overrides import TorchFunctionMode", "TorchFunctionMode = torch.overrides.TorchFunctionMode"))


MODE = """
Base = __import__(torch.__name__ + '.utils._python_dispatch', fromlist=['x']).TorchDispatchMode
class Log(Base):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        shown = [tuple(x.shape) if isinstance(x, torch.Tensor) else x for x in args]
        # Factories get their options spelt out by PyTorch; detach appears where it hands a gradient over.
        if str(func) != "aten.detach.default":
            log.append((str(func), shown, {} if "zeros" in str(func) or "ones_like" in str(func) else kwargs))
        return func(*args, **(kwargs or {}))
log = []
a = torch.ones(2, 2)
w = torch.ones(2, 2, requires_grad=True)
"""
DISPATCHED = ["a + 1", "a * a", "a.add_(1)", "a.sum()", "a.sum(1)", "a.view(4)", "a @ a", "a.t()", "a[0]", "torch.zeros(2)", "a.relu()", "w * 2",
              "(w * 2.0).sum().backward()", "torch.cat([a, a])", "a.exp()", "a - 1", "a / 2", "a ** 2", "torch.add(a, a, alpha=2)",
              "F.softmax(a, -1)", "a.mean()", "a.max()", "a.clone()", "a > 0", "a.reshape(4)", "torch.where(a > 0, a, a)"]


@pytest.mark.parametrize("call", DISPATCHED)
def test_dispatch_mode(call):
    same(f"with Log():\n    r = {call}\nlog", MODE)


def test_wrapper_subclass():
    same("""class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)
    def __init__(self, inner):
        self.inner = inner
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        log.append(str(func))
        plain = [x.inner if isinstance(x, Wrapper) else x for x in args]
        r = func(*plain, **(kwargs or {}))
        return Wrapper(r) if isinstance(r, torch.Tensor) else r
log = []
w = Wrapper(torch.tensor([1., 2.]))
r = (w * 2 + 1).sum()
type(r).__name__, r.inner, r.shape, w.shape, log""")


def test_ops():
    same("""add = torch.ops.aten.add
add.Tensor(torch.ones(2), 1), str(add.Tensor), str(add), add.Tensor.name(), add.Tensor.namespace, add.Tensor.overloadpacket is add, torch.ops.aten.relu.default(torch.tensor([-1., 1.])), add(torch.ones(2), 2), 'Tensor' in add.overloads(), add.Tensor is torch.ops.aten.add.Tensor""")


def test_disable():
    same("""class Sub(torch.Tensor): pass
s = torch.ones(2).as_subclass(Sub)
with torch._C.DisableTorchFunctionSubclass():
    r = s + 1
type(r).__name__, type(s + 1).__name__""")
