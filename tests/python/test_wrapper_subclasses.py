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
