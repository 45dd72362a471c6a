"""``torch._dynamo.backends.registry``: backends by their names."""
import functools

from kindling._dynamo import lookup_backend, register_backend  # noqa: F401
from kindling.compiler import get_default_backend, list_backends, set_default_backend  # noqa: F401

register_debug_backend = functools.partial(register_backend, tags=("debug",))
register_experimental_backend = functools.partial(register_backend, tags=("experimental",))
