"""Tensors that wrap another one and have no memory of their own: what reads memory asks the class, or refuses, as in torch."""

import pytest
import torch

import kindling


def wrapper(t):
    class Wrapper(t.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return t.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def inner(value):
                return value.inner if isinstance(value, Wrapper) else value
            result = func(*map(inner, args), **{name: inner(value) for name, value in (kwargs or {}).items()})
            return Wrapper(result) if isinstance(result, t.Tensor) else result

    return Wrapper


def outcome(t, source):
    W = wrapper(t)
    scope = {"w": W(t.tensor(2.5)), "v": W(t.tensor([1.0, 2.0])), "t": t}
    try:
        return eval(source, scope)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("source", [
    "w.item()", "float(w)", "bool(w)", "int(w)", "complex(w)", "(w + 1).item()", "w.data.item()", "v.sum().item()", "v.detach().inner.tolist()",
    "w.numpy()", "v.numpy()", "v.numpy(force=True)", "v.tolist()", "v.data_ptr()", "v.untyped_storage().nbytes()", "v.is_contiguous()",
])
def test_as_torch(source):
    assert outcome(kindling, source) == outcome(torch, source)


@pytest.mark.parametrize("source", ["memoryview(v)", "t.empty(2, device='meta').untyped_storage()[0]", "t.empty(2, device='meta').untyped_storage().tolist()"])
def test_missing_memory_is_refused(source):
    assert outcome(kindling, source).split(":")[0] in ("BufferError", "NotImplementedError")


@pytest.mark.parametrize("source", ["t.from_dlpack(v)", "t.from_dlpack(v).numpy()", "t.utils.dlpack.from_dlpack(t.utils.dlpack.to_dlpack(w))"])
def test_no_capsule_stands_for_missing_memory(source):
    """PyTorch asks the class whether it is pinned, and reads beyond; NumPy would make an array of whatever."""
    assert outcome(kindling, source).startswith("RuntimeError: from_dlpack: the tensor has a non-zero number of elements")


GARBAGE = """
import gc
class S(t.Tensor):
    {slots}
x = t.ones(2).as_subclass(S)
x.elem = [5]
p = t.ones(2, requires_grad=True)
p.grad = x                         # held from C++ from now on
loop = [x]
loop.append(loop)
x.elem.append(loop)                # garbage refers to it, and it to the garbage
del x, loop
gc.collect()
"""


@pytest.mark.parametrize("slots", ["pass", "__slots__ = ['elem']"])
@pytest.mark.parametrize("library", [torch, kindling])
def test_attributes_of_a_tensor_held_elsewhere_outlive_garbage(library, slots):
    scope = {"t": library}
    exec(GARBAGE.format(slots=slots), scope)
    assert scope["p"].grad.elem[0] == 5


@pytest.mark.parametrize("slots", ["pass", "__slots__ = ['elem']"])
def test_a_cycle_through_an_attribute_is_collected(slots):
    import gc
    import weakref

    class Thing:
        pass
    scope = {"t": kindling, "thing": Thing()}
    seen = weakref.ref(scope["thing"])
    exec(f"class S(t.Tensor):\n    {slots}\nx = t.ones(2).as_subclass(S)\nx.elem = [x, thing]\ndel x, thing, S", scope)
    gc.collect()
    assert seen() is None


WRAPPER = """
class W(t.Tensor):
    __torch_function__ = t._C._disabled_torch_function_impl
    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        self = t.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype, requires_grad=requires_grad)
        self.inner = inner
        return self
    def __repr__(self):
        return super().__repr__(tensor_contents=f"{self.inner}")
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        calls.append(func.__name__)
        take = lambda e: e.inner if isinstance(e, W) else e
        result = func(*map(take, args), **{k: take(v) for k, v in (kwargs or {}).items()})
        return W(result) if isinstance(result, t.Tensor) else result
calls = []
x = W(t.tensor([1., 2.]), requires_grad=True)
"""


@pytest.mark.parametrize("program", [
    "x.exp()[1]", "x.tanh().sum()", "x.sigmoid().mul(2).sum()", "x.softmax(0)[0]", "x.sqrt().reshape(-1)[0]", "(x * x).sum()",
])
def test_results_that_a_wrapper_saves_are_wrappers(program):
    """What a node keeps of its own result, and the gradient it starts from, go through __torch_dispatch__, too."""
    def both(library):
        scope = {"t": library}
        exec(WRAPPER, scope)
        exec(f"y = {program}\ng, = t.autograd.grad(y, x, retain_graph=True)\nh, = t.autograd.grad(y, x)", scope)
        assert type(scope["g"]) is scope["W"] and "ones_like.default" in scope["calls"]
        return [[round(each, 5) for each in scope[name].inner.tolist()] for name in ("g", "h")]
    assert both(kindling) == both(torch)


def test_a_class_shows_what_it_wraps():
    def both(library):
        scope = {"t": library}
        exec(WRAPPER, scope)
        return repr(scope["x"]), library.Tensor.__repr__(library.ones(1), tensor_contents="here")
    assert both(kindling) == both(torch)


@pytest.mark.parametrize("library", [torch, kindling])
def test_what_a_wrapper_saves_counts_writes_after_the_result_is_gone(library):
    """The class makes the saved header over memory of its own; the count of writes must not lie in what the result has freed."""
    scope = {"t": library}
    exec(WRAPPER, scope)
    x = scope["x"]
    for _ in range(50):
        total = x.exp().sum()
        kept = [library.full((2,), 3.0) for _ in range(20)]     # take the memory that was freed
        for each in kept:
            each.add_(1)
        (slope,) = library.autograd.grad(total, x)
        assert slope.inner.tolist() == pytest.approx([2.718281828, 2.718281828**2], rel=1e-5)
