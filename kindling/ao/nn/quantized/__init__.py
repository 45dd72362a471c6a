"""Quantised layers: Linear's parts; the others are declared in _absent."""
import kindling as _kindling

__all__ = ["Linear", "LinearPackedParams", "dynamic"]

__getattr__, __dir__ = _kindling._lazy_parts(globals(), dict.fromkeys(("Linear", "LinearPackedParams"), "modules.linear"), ("dynamic", "modules"))
