"""Dictionaries of dictionaries as one with names: "optim.state.0.step" and the path ("optim", "state", "0", "step")."""
from collections.abc import Mapping

from kindling import Tensor


def flatten(state_dict):
    """(values by name, paths by name). Lists without tensors and dictionaries are one value."""
    values, places = {}, {}

    def walk(path, value):
        if isinstance(value, Mapping):
            for key, inner in value.items():
                walk((*path, str(key)), inner)
        elif isinstance(value, list) and not _is_value(value):
            for i, inner in enumerate(value):
                walk((*path, i), inner)
        else:
            name = ".".join(map(str, path))
            if name in values:
                raise ValueError(f"duplicated flatten key {name}")
            values[name], places[name] = value, path
    walk((), state_dict)
    walk = None             # it calls itself: a cycle that would keep the tensors
    return values, places


def _is_value(items):
    return not any(isinstance(each, (Mapping, Tensor)) or isinstance(each, list) and not _is_value(each) for each in items)


def put(state_dict, path, value):
    """Puts a value at its path; dictionaries and lists on the way are made."""
    at = state_dict
    for step, after in zip(path, path[1:]):
        at = at[_reach(at, step, {} if isinstance(after, str) else [])]
    at[_reach(at, path[-1], None)] = value


def _reach(at, step, fresh):
    """The key or the index of a step, which is there from then on."""
    if isinstance(at, list):
        at.extend([None] * (step + 1 - len(at)))
        if at[step] is None:
            at[step] = fresh
        return step
    # Keys that are no strings were saved as such.
    key = next((key for key in at if str(key) == step), step) if step not in at else step
    at.setdefault(key, fresh)
    return key
