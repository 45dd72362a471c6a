"""The pipes that a pipe is made of."""
from kindling.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]


def _sources(value, found, seen):
    """The pipes in a value, those in containers and other objects too."""
    if id(value) in seen:
        return
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        seen.add(id(value))
        found.append(value)
    elif isinstance(value, dict):
        seen.add(id(value))
        for each in value.values():
            _sources(each, found, seen)
    elif isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "deque":
        seen.add(id(value))
        for each in value:
            _sources(each, found, seen)


def traverse_dps(datapipe):
    """{id: (pipe, the same of its sources)}"""
    if not isinstance(datapipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found")
    return _traverse(datapipe, set())


def _traverse(pipe, above):
    if id(pipe) in above:
        return {}
    found, below = [], {}
    _sources(vars(pipe), found, {id(pipe)})
    for each in found:
        below.update(_traverse(each, above | {id(pipe)}))
    return {id(pipe): (pipe, below)}


def traverse(datapipe, only_datapipe=None):
    """As `traverse_dps`."""
    return traverse_dps(datapipe)
