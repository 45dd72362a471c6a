import kindling as _kindling

__all__ = ["Linear", "LinearPackedParams"]

__getattr__, __dir__ = _kindling._lazy_parts(globals(), dict.fromkeys(__all__, "linear"), ("linear", "utils"))
