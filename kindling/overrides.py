"""``torch.overrides``: helpers for classes and modes with ``__torch_function__``."""
from kindling import _C
from kindling._common.blocks import Block as _Block
from kindling._C import (DisableTorchFunction, DisableTorchFunctionSubclass, Tensor, _disabled_torch_function_impl,
                         _get_function_stack_at, _has_torch_function as has_torch_function,
                         _has_torch_function_unary as has_torch_function_unary,
                         _has_torch_function_variadic as has_torch_function_variadic,
                         _is_torch_function_all_disabled, _is_torch_function_enabled, _len_torch_function_stack,
                         _pop_torch_function_stack, _push_on_torch_function_stack)

__all__ = ["get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function",
           "has_torch_function", "resolve_name", "is_tensor_like", "is_tensor_method_or_property", "wrap_torch_function",
           "enable_reentrant_dispatch"]


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Calls ``__torch_function__`` of the modes and of the arguments that have one.

    TypeError when every one returns NotImplemented.
    """
    return _C._handle_torch_function(public_api, relevant_args, args, kwargs)


def wrap_torch_function(dispatcher):
    """A decorator that lets a Python function be overridden; ``dispatcher`` gives its relevant arguments."""

    def inner(function):
        import functools

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(value):
    """Whether ``value`` is a Tensor or has ``__torch_function__``."""
    return type(value) is Tensor or hasattr(value, "__torch_function__")


def get_default_nowrap_functions():
    """Functions whose results keep their class: Tensor.grad and the like."""
    return {Tensor._base.__get__, Tensor.grad.__get__, Tensor._grad.__get__}


def _namespaces():
    import kindling as torch

    return ((torch, "torch"), (torch.functional, "torch.functional"), (torch.nn.functional, "torch.nn.functional"),
            (torch.nn.init, "torch.nn.init"), (Tensor, "torch.Tensor"), (torch.linalg, "torch.linalg"),
            (torch.fft, "torch.fft"), (torch.special, "torch.special"))


def resolve_name(function):
    """The public name of a function that ``__torch_function__`` is given: "torch.Tensor.add"; None if it has none."""
    from kindling._ops import OpOverload, OpOverloadPacket

    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return str(function)
    owner = getattr(function, "__self__", None)
    if owner is not None and type(owner).__name__ == "getset_descriptor":
        return f"torch.Tensor.{owner.__name__}.{function.__name__}"
    name = getattr(function, "__name__", None)
    for space, prefix in _namespaces():
        if name and getattr(space, name, None) is function:
            return f"{prefix}.{name}"
    return None


def get_ignored_functions():
    """Public functions that cannot be overridden: they take no tensors."""
    import kindling as torch

    names = ("typename is_tensor is_storage set_default_tensor_type set_default_device get_default_device manual_seed "
             "initial_seed seed save load set_printoptions from_numpy frombuffer tensor arange empty eye full linspace "
             "logspace ones rand randn randint randperm zeros scalar_tensor get_default_dtype set_default_dtype "
             "promote_types can_cast").split()
    return {getattr(torch, name) for name in names if hasattr(torch, name)}


def get_overridable_functions():
    """Public functions that ``__torch_function__`` may see, by the namespace they are in."""
    ignored = get_ignored_functions()
    result = {}
    for space, _ in _namespaces():
        found = []
        for name in dir(space):
            if name.startswith("_") and space is not Tensor:
                continue
            value = getattr(space, name, None)
            if callable(value) and not isinstance(value, type) and value not in ignored:
                found.append(value)
        result[space] = found
    return result


def get_testing_overrides():
    """For each overridable function a dummy of any signature."""
    return {function: (lambda *args, **kwargs: -1) for functions in get_overridable_functions().values() for function in functions}


def is_tensor_method_or_property(function):
    """Whether a function that ``__torch_function__`` was given is a method or property of Tensor."""
    return (getattr(function, "__name__", None) == "__get__" or
            getattr(Tensor, getattr(function, "__name__", ""), None) is function)


class TorchFunctionMode:
    """Inside ``with`` every call of the public API goes to ``__torch_function__`` of this object first.

    >>> class Log(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    """

    inner = None

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _push_on_torch_function_stack(self)
        return self

    def __exit__(self, kind, value, trace):
        _pop_torch_function_stack()

    @classmethod
    def push(cls, *args, **kwargs):
        import warnings

        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    depth = _len_torch_function_stack()
    return _get_function_stack_at(depth - 1) if depth else None


def _get_current_function_mode_stack():
    return [_get_function_stack_at(i) for i in range(_len_torch_function_stack())]


class enable_reentrant_dispatch(_Block):
    """Inside ``__torch_dispatch__``, lets calls go through every layer again."""

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass
