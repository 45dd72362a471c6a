"""What saving and loading share on the one rank there is."""
import sys

from kindling.distributed.checkpoint.api import CheckpointException


def is_stateful(value):
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def storage(given, path, kind, name):
    """The reader or the writer that is given, or one for the path."""
    if given is None:
        if path is None:
            raise RuntimeError(f"`checkpoint_id` must be specified if {name} is None.")
        return kind(path)
    if not isinstance(given, kind) or type(given).__module__ != kind.__module__:
        from kindling import _absent
        raise _absent.Missing(f"torch.distributed.checkpoint takes a {kind.__name__} as {name}, and not a {type(given).__name__}, in Kindling")
    return given if path is None else kind(path)


def planned(given, kind):
    # A class of one's own overrides what is never called here.
    if given is not None and not (isinstance(given, kind) and type(given).__module__ == kind.__module__):
        from kindling import _absent
        raise _absent.Missing(f"torch.distributed.checkpoint takes a {kind.__name__} as planner, and not a {type(given).__name__}, in Kindling")


def tried(function, *args):
    """What the function gives; its error is told as that of rank 0."""
    try:
        return function(*args)
    except Exception as error:
        import traceback
        raise CheckpointException(function.__name__.strip("_"), {0: (error, traceback.extract_tb(sys.exc_info()[2]))}) from error
