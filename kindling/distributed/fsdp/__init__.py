"""Models whose parameters are spread over processes, of which here is one."""
import kindling as _kindling

_HOMES = {"FullyShardedDataParallel": "fully_sharded_data_parallel", "fully_shard": "_sharded", "FSDPModule": "_sharded",
          "register_fsdp_forward_method": "_sharded", "UnshardHandle": "_sharded"}

__all__ = ["BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "FullyShardedDataParallel", "LocalOptimStateDictConfig",
           "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
           "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType", "FSDPModule", "fully_shard", "UnshardHandle",
           "register_fsdp_forward_method", "CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]
__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, {"fully_sharded_data_parallel", "_sharded", "wrap"})
