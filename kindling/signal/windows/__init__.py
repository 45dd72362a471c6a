"""Window functions: ``torch.signal.windows``."""
import kindling as _kindling

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming",
           "hann", "kaiser", "nuttall"]
__getattr__, __dir__ = _kindling._lazy_parts(globals(), dict.fromkeys(__all__, "windows"), ("windows",))
