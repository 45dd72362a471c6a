"""Device memory: see `torch.cuda`."""
from kindling.cuda import (empty_cache, max_memory_allocated, max_memory_reserved, memory_allocated, memory_reserved,
                           memory_stats, memory_stats_as_nested_dict)

__all__ = ["empty_cache", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
           "memory_stats", "memory_stats_as_nested_dict"]


def __getattr__(name):
    import kindling.cuda
    return getattr(kindling.cuda, name)
