"""Settings for all pipes that a pipe is made of: shuffling, seeds, parts for workers."""
import inspect
import warnings

import kindling as torch
from kindling.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES, _ShardingIterDataPipe
from kindling.utils.data.graph import traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph):
    """The pipes of a graph that `traverse_dps` gives, each once."""
    return _listed(graph, set())


def _listed(graph, seen):
    found = []
    for key, (pipe, below) in graph.items():
        if key not in seen:
            seen.add(key)
            found += [pipe, *_listed(below, seen)]
    return found


def _is_sharding(pipe):
    return isinstance(pipe, _ShardingIterDataPipe) or inspect.ismethod(getattr(pipe, "apply_sharding", None))


def apply_sharding(datapipe, num_of_instances, instance_id, sharding_group=SHARDING_PRIORITIES.DEFAULT):
    """Tells the `sharding_filter` pipes how many instances there are and which this one is."""
    def visit(graph, above):
        for pipe, below in graph.values():
            here = None
            if _is_sharding(pipe):
                if above is not None:
                    raise RuntimeError(f"Sharding twice on a single pipeline is likely unintended and will cause data loss. Sharding already applied to {above} "
                                       f"while trying to apply to {pipe}")
                if len(inspect.signature(pipe.apply_sharding).parameters) < 3:
                    pipe.apply_sharding(num_of_instances, instance_id)
                else:
                    pipe.apply_sharding(num_of_instances, instance_id, sharding_group=sharding_group)
                here = pipe
            visit(below, above if here is None else here)
    visit(traverse_dps(datapipe), None)
    return datapipe


def _is_shuffle(pipe):
    return inspect.ismethod(getattr(pipe, "set_shuffle", None)) and inspect.ismethod(getattr(pipe, "set_seed", None))


def apply_shuffle_settings(datapipe, shuffle=None):
    """Whether the shuffling pipes shuffle; one is added, with a warning, where there is none to do it."""
    if shuffle is None:
        return datapipe
    shufflers = [each for each in get_all_graph_pipes(traverse_dps(datapipe)) if _is_shuffle(each)]
    if not shufflers and shuffle:
        warnings.warn("`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware that the default "
                      "buffer size might not be sufficient for your task.", stacklevel=2)
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for each in shufflers:
        each.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe, rng):
    """As `apply_random_seed`."""
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe, rng):
    """A seed from a generator for each pipe that takes one."""
    for each in get_all_graph_pipes(traverse_dps(datapipe)):
        if inspect.ismethod(getattr(each, "set_seed", None)):
            each.set_seed(int(torch.empty((), dtype=torch.int64).random_(generator=rng).item()))
    return datapipe
