"""Collectives that gradients go through."""
import kindling as _kindling

_HOMES = dict.fromkeys("all_gather all_reduce all_to_all all_to_all_single broadcast gather reduce reduce_scatter scatter".split(), "functional")

__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, {"functional"})
