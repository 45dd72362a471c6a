"""`replicate`: for devices beside the CPU, of which there are none."""
from kindling._common import placeholders as _placeholders

__all__ = ["replicate"]

replicate = _placeholders.function(__name__, "replicate", AssertionError, "Broadcast function not implemented for CPU tensors")
