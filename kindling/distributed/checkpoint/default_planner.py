"""What is asked of saving and loading. Nothing is planned on one rank: the methods by which classes of one's own would plan refuse."""
from kindling import _absent

__all__ = ["DefaultSavePlanner", "DefaultLoadPlanner"]


class DefaultSavePlanner:
    """Saves each value under its place in the dictionary."""

    def __init__(self, flatten_state_dict=True, flatten_sharded_tensors=True, dedup_replicated_tensors=None, dedup_save_to_lowest_rank=False,
                 enable_plan_caching=False):
        self.flatten_state_dict = flatten_state_dict


class DefaultLoadPlanner:
    """Loads into the values that the dictionary has; `allow_partial_load` leaves those that the checkpoint has not."""

    def __init__(self, flatten_state_dict=True, flatten_sharded_tensors=True, allow_partial_load=False):
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads all that the checkpoint has, or what lies under `keys`."""

    def __init__(self, keys=None, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.keys = keys

    def _wants(self, name, path):
        return self.keys is None or name in self.keys or any(".".join(map(str, path[:end])) in self.keys for end in range(1, len(path) + 1))


for _kind, _names in ((DefaultSavePlanner, "create_global_plan create_local_plan finish_plan lookup_object resolve_data set_up_planner transform_object"),
                      (DefaultLoadPlanner, "commit_tensor create_global_plan create_local_plan finish_plan load_bytes lookup_tensor resolve_tensor "
                                           "set_up_planner transform_tensor")):
    for _name in _names.split():
        setattr(_kind, _name, _absent.function(__name__, _name, f"torch.distributed.checkpoint.default_planner.{_kind.__name__}.{_name}"))
