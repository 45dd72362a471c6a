"""`parallel_apply`: for devices beside the CPU, of which there are none."""
from kindling._common import placeholders as _placeholders

__all__ = ["parallel_apply"]

parallel_apply = _placeholders.function(__name__, "parallel_apply", RuntimeError, "torch.nn.parallel.parallel_apply needs devices beside the CPU, and there are none")
