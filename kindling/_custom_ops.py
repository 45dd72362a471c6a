"""Operators from Python by their older names (``torch._custom_ops``)."""
from kindling.library import get_ctx, infer_schema  # noqa: F401
from kindling.library import impl as _impl
from kindling.library import impl_abstract as _impl_abstract


def impl(qualname, *, device_types=("cpu", "cuda"), func=None):
    """Registers a function for an operator on kinds of devices; also as a decorator."""
    if func is None:
        return lambda function: impl(qualname, device_types=device_types, func=function)
    _impl(qualname, device_types, func)
    return func


def impl_abstract(qualname, *, func=None):
    """Registers what an operator gives on tensors without data; also as a decorator."""
    if func is None:
        return lambda function: impl_abstract(qualname, func=function)
    _impl_abstract(qualname, func)
    return func
