"""Training over several processes, which this build has not: questions are answered, everything else says so."""

__all__ = ["is_available", "is_initialized"]

_CLASSES = """
Backend BackendConfig DebugLevel BuiltinCommHookType DeviceMesh GradBucket Logger P2POp ProcessGroup ProcessGroupGloo Reducer Work
Store FileStore(Store) HashStore(Store) PrefixStore(Store) TCPStore(Store)
AllToAllOptions AllreduceOptions AllreduceCoalescedOptions BarrierOptions BroadcastOptions GatherOptions ReduceOptions ReduceScatterOptions
ScatterOptions"""
_ERRORS = "DistError DistBackendError(DistError) DistNetworkError(DistError) DistStoreError(DistError) QueueEmptyError(DistStoreError)"
# What torch refuses before `init_process_group`, which cannot succeed here.
_NEEDS_GROUP = ("all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
                "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "gather", "gather_object",
                "get_backend", "get_rank", "get_world_size", "irecv", "isend", "monitored_barrier", "new_group", "recv",
                "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send")


def is_available():
    """Whether there is a distributed package: no."""
    return False


def is_initialized():
    """Whether the default group of processes has been made: no."""
    return False


def is_gloo_available():
    """Whether there is such a backend: no."""
    return False


is_nccl_available = is_mpi_available = is_ucc_available = is_xccl_available = is_gloo_available


def is_backend_available(backend):
    """Whether there is a backend of that name: no."""
    return False


def is_torchelastic_launched():
    """Whether torchrun started this process."""
    import os
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def init_process_group(*args, **kwargs):
    """Joins the default group of processes: RuntimeError, as there is no distributed package."""
    raise RuntimeError("Kindling has no distributed package: torch.distributed.is_available() is False")


def destroy_process_group(group=None):
    """Leaves a group of processes: AssertionError, as there is none."""
    raise AssertionError("Process group cannot be None")


class ReduceOp:
    """The ways to reduce, by name."""
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class group:
    """Holds the default group of processes: there is none."""
    WORLD = None


class GroupMember:
    """Stands for membership in a group."""
    WORLD = None
    NON_GROUP_MEMBER = -100


def __getattr__(name):
    from kindling import _placeholders
    if name in _NEEDS_GROUP:
        return globals().setdefault(name, _placeholders.function(
            __name__, name, ValueError, "Default process group has not been initialized, please make sure to call init_process_group."))
    made = globals().setdefault("_made", {
        **_placeholders.classes(__name__, _CLASSES, RuntimeError, "Kindling has no distributed package: torch.distributed.is_available() is False"),
        **_placeholders.errors(__name__, _ERRORS)})
    if name not in made:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, made[name])
