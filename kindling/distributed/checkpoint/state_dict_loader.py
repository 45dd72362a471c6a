"""Loading."""
from kindling import Tensor
from kindling.distributed.checkpoint import _flat, _rank
from kindling.distributed.checkpoint.default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from kindling.distributed.checkpoint.filesystem import FileSystemReader

__all__ = ["load", "load_state_dict"]


def load(state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None, no_dist=False):
    """Reads a checkpoint into the tensors of a dictionary; other values are replaced, and what has a `load_state_dict` is given its state.

    CheckpointException for what the checkpoint has not, and for tensors of another shape.
    """
    reader = _rank.storage(storage_reader, checkpoint_id, FileSystemReader, "storage_reader")
    state = {key: value.state_dict() if _rank.is_stateful(value) else value for key, value in state_dict.items()}
    _load_state_dict(state, reader, planner=planner)
    for key, value in state_dict.items():
        if _rank.is_stateful(value):
            value.load_state_dict(state[key])
    state_dict.update((key, value) for key, value in state.items() if not _rank.is_stateful(state_dict.get(key)))


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """`load`, by its old name: nothing in the dictionary is given its own state."""
    _load_state_dict(state_dict, storage_reader, planner=planner)


def _load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    _rank.planned(planner, DefaultLoadPlanner)
    _rank.tried(_read, state_dict, storage_reader, planner if planner is not None else DefaultLoadPlanner())


def _read(state_dict, reader, planner):
    import kindling as torch
    metadata = reader.read_metadata()
    known, places = metadata.state_dict_metadata, metadata.planner_data or {}
    if isinstance(planner, _EmptyStateDictLoadPlanner):
        if state_dict:
            raise AssertionError("the state_dict must be empty")
        values = {name: None for name in known if planner._wants(name, places.get(name, (name,)))}
        paths = {name: places.get(name, (name,)) for name in values}
    elif planner.flatten_state_dict:
        values, paths = _flat.flatten(state_dict)
    else:
        values, paths = dict(state_dict), {name: (name,) for name in state_dict}
    for name, value in values.items():
        if name not in known:
            if planner.allow_partial_load:
                continue
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        if not hasattr(known[name], "chunks"):
            _flat.put(state_dict, paths[name], reader._value(metadata, name))
            continue
        if not isinstance(value, Tensor):
            value = torch.empty(known[name].size, dtype=known[name].properties.dtype)
            _flat.put(state_dict, paths[name], value)
        reader._into(metadata, name, value.to_local() if hasattr(value, "to_local") else value)
