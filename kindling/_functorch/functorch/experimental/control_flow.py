"""``functorch.experimental.control_flow``: branches, which torch has now."""
from kindling import cond

__all__ = ["cond"]
