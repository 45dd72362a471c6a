"""Patterns in graphs, and groups of nodes."""
import kindling as _kindling

_HOMES = dict.fromkeys(("HolderModule", "compare_graphs", "lift_subgraph_as_module"), "common")

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, ("common", "fuser_utils", "matcher_utils"))
