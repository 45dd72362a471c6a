"""Quantised layers: Linear's parts; the others are declared in _absent."""
from . import dynamic
from .modules import Linear, LinearPackedParams

__all__ = ["Linear", "LinearPackedParams", "dynamic"]
