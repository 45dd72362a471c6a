"""Less settled passes. Each file loads at its first use."""
import kindling as _kindling

__getattr__, __dir__ = _kindling._lazy_parts(globals(), {}, ("const_fold", "optimization", "proxy_tensor"))
