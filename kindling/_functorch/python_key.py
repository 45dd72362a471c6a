"""`make_fx`, by the path that functorch had it at."""
from kindling.fx.experimental.proxy_tensor import make_fx

__all__ = ["make_fx"]
