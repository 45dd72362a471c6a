"""Batch norms that transforms can differentiate, by the path that PyTorch defines them at."""
from kindling.func import replace_all_batch_norm_modules_
from kindling.func._modules import batch_norm_without_running_stats

__all__ = ["batch_norm_without_running_stats", "replace_all_batch_norm_modules_"]
