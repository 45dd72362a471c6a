"""Branches and loops under their names as operators."""
from kindling._face.control import cond, while_loop  # noqa: F401
