"""Training over several processes, which this build has not. A world of one process works, so that such programs run on one."""
import kindling as _kindling

_C10D = """
all_gather all_gather_into_tensor all_gather_object all_gather_single all_reduce all_reduce_coalesced all_to_all all_to_all_single Backend barrier
batch_isend_irecv broadcast broadcast_object_list destroy_process_group FileStore gather gather_object get_backend get_backend_config
get_default_backend_for_device get_global_rank get_group_rank get_node_local_rank get_pg_count get_process_group_ranks get_rank get_world_size
group GroupMember HashStore init_process_group irecv is_available is_backend_available is_gloo_available is_initialized is_mpi_available
is_nccl_available is_torchelastic_launched is_ucc_available is_xccl_available isend monitored_barrier new_group new_subgroups
new_subgroups_by_enumeration P2POp PrefixStore ProcessGroup ProcessGroupGloo recv recv_object_list reduce reduce_scatter reduce_scatter_single
reduce_scatter_tensor ReduceOp scatter scatter_object_list send send_object_list Store supports_complex TCPStore Work DistError DistBackendError
DistNetworkError DistStoreError QueueEmptyError _rank_not_in_group"""
_HOMES = {**dict.fromkeys(_C10D.split(), "distributed_c10d"), "DeviceMesh": "device_mesh", "init_device_mesh": "device_mesh"}
_CLASSES = """
BackendConfig DebugLevel BuiltinCommHookType GradBucket Logger Reducer
AllToAllOptions AllreduceOptions AllreduceCoalescedOptions BarrierOptions BroadcastOptions GatherOptions ReduceOptions ReduceScatterOptions
ScatterOptions"""

__all__ = ["is_available", "is_initialized"]
_find, __dir__ = _kindling._lazy_parts(globals(), _HOMES, {"distributed_c10d", "device_mesh"})


def __getattr__(name):
    if name not in _CLASSES.split():
        return _find(name)
    from kindling._common import placeholders as _placeholders
    made = _placeholders.classes(__name__, _CLASSES, RuntimeError, "Kindling has no distributed package: torch.distributed.is_available() is False")
    return globals().setdefault(name, made[name])
