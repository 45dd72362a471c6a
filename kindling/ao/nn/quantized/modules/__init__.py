from .linear import Linear, LinearPackedParams

__all__ = ["Linear", "LinearPackedParams"]
