"""``torch._dynamo.backends.registry``: backends by their names."""
import functools

from kindling.compiler import get_default_backend, list_backends, set_default_backend  # noqa: F401


def lookup_backend(compiler_fn):
    """A backend by its name, or the function itself. InvalidBackend if there is none of that name; ours give the graph."""
    from kindling._compile import find_backend
    if isinstance(compiler_fn, str):
        return find_backend(compiler_fn) or (lambda graph, inputs, **keywords: graph)
    return compiler_fn


def register_backend(compiler_fn=None, name=None, tags=()):
    """Makes a backend known to `torch.compile` by a name, its function's own if none is given."""
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    from kindling._compile import BACKENDS, FUNCTIONS
    name = name or compiler_fn.__name__
    BACKENDS[name], FUNCTIONS[name] = tuple(tags), compiler_fn
    return compiler_fn


register_debug_backend = functools.partial(register_backend, tags=("debug",))
register_experimental_backend = functools.partial(register_backend, tags=("experimental",))
