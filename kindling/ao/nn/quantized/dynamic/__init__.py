"""Layers that take float32 and compute in whole numbers, with scales from the input's range."""
from .modules import Linear

__all__ = ["Linear"]
