"""Layers of quantised models."""
import kindling as _kindling

__getattr__, __dir__ = _kindling._lazy_parts(globals(), {}, ("intrinsic", "qat", "quantizable", "quantized", "sparse"))
