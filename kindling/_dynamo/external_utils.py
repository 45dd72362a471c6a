"""``torch._dynamo.external_utils``: what compiled programs ask."""
from kindling.compiler import is_compiling  # noqa: F401
