"""``TorchDispatchMode``: sees every operator below autograd."""
from kindling import _C
from kindling._common.blocks import Block as _Block
from kindling._C import (_get_dispatch_stack_at, _len_torch_dispatch_stack, _pop_torch_dispatch_stack,
                         _push_on_torch_dispatch_stack)

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing"]


class TorchDispatchMode:
    """Inside ``with`` every operator goes to ``__torch_dispatch__(func, types, args, kwargs)`` of this object.

    ``func`` is an overload such as ``torch.ops.aten.add.Tensor``; calling it goes on without this mode.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key=None):
        pass

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _push_on_torch_dispatch_stack(self)
        return self

    def __exit__(self, kind, value, trace):
        _pop_torch_dispatch_stack()

    @classmethod
    def push(cls, *args, **kwargs):
        import warnings

        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode():
    depth = _len_torch_dispatch_stack()
    return _get_dispatch_stack_at(depth - 1) if depth else None


def _get_current_dispatch_mode_stack():
    return [_get_dispatch_stack_at(i) for i in range(_len_torch_dispatch_stack())]


class _disable_current_modes(_Block):
    """Takes every mode off the stack for a ``with`` block."""

    def __enter__(self):
        self.modes = [_pop_torch_dispatch_stack() for _ in range(_len_torch_dispatch_stack())]
        return self.modes

    def __exit__(self, *error):
        for mode in reversed(self.modes):
            _push_on_torch_dispatch_stack(mode)


def is_traceable_wrapper_subclass(value):
    """Whether a tensor's class says how to take it apart (``__tensor_flatten__``) and put it together again."""
    return isinstance(value, _C.Tensor) and type(value) is not _C.Tensor and hasattr(value, "__tensor_flatten__") and hasattr(
        value, "__tensor_unflatten__")


def return_and_correct_aliasing(func, args, kwargs, out):
    """What a wrapper's ``__torch_dispatch__`` returns: for in-place operators the argument they wrote to."""
    schema = func._schema
    written = [i for i, argument in enumerate(schema.arguments) if argument.is_write]
    if written and len(schema.returns) == 1:
        at = written[0]
        name = schema.arguments[at].name
        return args[at] if at < len(args) else kwargs.get(name, out)
    return out
