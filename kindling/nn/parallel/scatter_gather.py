"""Pieces of tensors to devices beside the CPU, of which there are none, and back."""
from kindling._common import placeholders as _placeholders

__all__ = ["scatter", "scatter_kwargs", "gather"]

scatter, scatter_kwargs = (_placeholders.function(__name__, name, RuntimeError, f"torch.nn.parallel.{name} needs devices beside the CPU, and there are none")
                           for name in ("scatter", "scatter_kwargs"))
gather = _placeholders.function(__name__, "gather", AssertionError, "Gather function not implemented for CPU tensors")
