"""The frame of passes."""
import kindling as _kindling

__getattr__, __dir__ = _kindling._lazy_parts(globals(), {}, ("partitioner", "pass_base", "pass_manager"))
