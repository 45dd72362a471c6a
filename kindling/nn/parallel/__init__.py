"""Parallelism over devices and processes: on the CPU of one process there is little to do, and everything else says so."""
import kindling as _kindling

_HOMES = {"DataParallel": "data_parallel", "data_parallel": "data_parallel", "replicate": "replicate", "parallel_apply": "parallel_apply",
          "scatter": "scatter_gather", "gather": "scatter_gather",
          "DistributedDataParallel": "distributed", "DistributedDataParallelCPU": "distributed"}

__all__ = ["replicate", "scatter", "parallel_apply", "gather", "data_parallel", "DataParallel", "DistributedDataParallel"]
__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, set(_HOMES.values()), ("data_parallel", "replicate", "parallel_apply"))
