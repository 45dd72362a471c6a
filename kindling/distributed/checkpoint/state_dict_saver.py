"""Saving."""
from kindling.distributed.checkpoint import _flat, _rank
from kindling.distributed.checkpoint.default_planner import DefaultSavePlanner
from kindling.distributed.checkpoint.filesystem import FileSystemWriter

__all__ = ["save", "async_save", "save_state_dict"]


def save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False, use_collectives=True):
    """Writes a dictionary of tensors, numbers, and of what has a `state_dict`, into a folder; what was written.

    PyTorch reads it, on however many processes.
    """
    writer = _rank.storage(storage_writer, checkpoint_id, FileSystemWriter, "storage_writer")
    _rank.planned(planner, DefaultSavePlanner)
    state = {key: value.state_dict() if _rank.is_stateful(value) else value for key, value in state_dict.items()}
    values, places = _flat.flatten(state) if planner is None or planner.flatten_state_dict else (state, None)
    return _rank.tried(writer._write, values, places)


def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0, no_dist=False, planner=None):
    """`save`, by its old name: nothing in the dictionary is asked for its own state."""
    values, places = _flat.flatten(state_dict)
    return _rank.tried(storage_writer._write, values, places)


def async_save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, **options):
    """`save` of a copy in another thread: a future."""
    import copy
    import threading

    import kindling as torch
    kept = {key: copy.deepcopy(value.state_dict() if _rank.is_stateful(value) else value) for key, value in state_dict.items()}
    done = torch.futures.Future()

    def run():
        try:
            done.set_result(save(kept, checkpoint_id=checkpoint_id, storage_writer=storage_writer, planner=planner))
        except BaseException as error:      # CheckpointException is none of Exception's
            done.set_exception(error)
    threading.Thread(target=run).start()
    return done
