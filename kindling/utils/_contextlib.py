"""Contexts that are decorators too."""
from kindling.autograd.grad_mode import _DecoratorContextManager, _NoParamDecoratorContextManager
from kindling.autograd.grad_mode import context_decorator as _decorate

__all__ = []


def context_decorator(ctx, func):
    """The function inside of a context at every call; `ctx` is one, or makes one."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous which "
                             "interface to use.  If you intended to pass a context manager factory, rewrite your call as "
                             "context_decorator(lambda: ctx()); if you intended to pass a context manager directly, rewrite your call as "
                             "context_decorator(lambda: ctx)")
    if isinstance(func, type):
        raise RuntimeError("Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the "
                           "context manager applied; additionally, decorating a class at definition-site will prevent use of the identifier "
                           "as a conventional type.  To specify which methods to decorate, decorate each of them individually.")
    return _decorate(ctx if callable(ctx) else lambda: ctx, func)


_DecoratorContextManager, _NoParamDecoratorContextManager
