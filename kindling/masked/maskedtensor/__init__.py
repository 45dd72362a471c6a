"""Tensors that carry a mask of the elements that count."""
import kindling as _kindling

__all__ = ["MaskedTensor", "is_masked_tensor"]

__getattr__, __dir__ = _kindling._lazy_parts(globals(), dict.fromkeys(__all__, "core"), ("core", "creation"))
