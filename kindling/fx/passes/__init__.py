"""Passes over graphs. Each file loads at its first use."""
import kindling as _kindling

_PARTS = ("graph_manipulation", "infra", "operator_support", "param_fetch", "shape_prop", "split_module", "split_utils", "tools_common", "utils")

__getattr__, __dir__ = _kindling._lazy_parts(globals(), {}, _PARTS)
