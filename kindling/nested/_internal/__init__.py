"""The classes of nested tensors and the operators on them."""
import kindling as _kindling

__getattr__, __dir__ = _kindling._lazy_parts(globals(), {}, ("jagged", "nested_tensor", "ops", "strided"))
