"""Patterns in graphs, and groups of nodes."""
from kindling.fx.passes.utils import matcher_utils as matcher_utils
