"""`Variable`: the old name of tensors."""
from kindling import _C

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    def __instancecheck__(cls, other):
        from kindling import Tensor
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """Variable(data, requires_grad=False) is data as a tensor of its own."""

    def __new__(cls, data=None, requires_grad=False, volatile=None):
        import kindling as torch
        result = torch.Tensor() if data is None else data.detach()
        if requires_grad:
            result.requires_grad_()
        return result


def __getattr__(name):
    if name == "ImperativeEngine":
        from kindling.autograd import _Engine
        return _Engine
    raise AttributeError(f"module 'torch.autograd.variable' has no attribute '{name}'")


from kindling.autograd import _engine  # noqa: E402

Variable._execution_engine = _engine
del _C
