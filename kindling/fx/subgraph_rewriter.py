"""Patterns in graphs, replaced."""
from collections import namedtuple

import kindling as torch
from kindling.fx._symbolic_trace import symbolic_trace
from kindling.fx.graph import Graph
from kindling.fx.graph_module import GraphModule
from kindling.fx.node import Node, map_arg

__all__ = ["Match", "replace_pattern", "replace_pattern_with_filters", "ReplacedPatterns"]

Match = namedtuple("Match", ("anchor", "nodes_map"))
Match.__doc__ = "A pattern found: the last node of it, and the graph's nodes by those of the pattern."


class ReplacedPatterns:
    """A pattern replaced: its last node, the nodes by those of the pattern, and the new nodes."""

    def __init__(self, anchor, nodes_map, replacements):
        self.anchor, self.nodes_map, self.replacements = anchor, nodes_map, replacements


def _replace_attributes(gm, replacement):
    """Gives the module what the replacement names."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()

    def fetch(module, target):
        for part in target.split("."):
            module = getattr(module, part, None)
        return module

    from kindling.fx.graph_module import _copy_attr

    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        if fetch(gm, node.target) is not None:
            continue
        if fetch(replacement, node.target) is None:
            raise RuntimeError(f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but the referenced '
                               "attribute does not exist in the replacement GraphModule")
        _copy_attr(replacement, gm, node.target)
    gm.graph.lint()


def replace_pattern(gm, pattern, replacement):
    """Replaces all places of a graph that look like `pattern` by `replacement` (functions, modules or graph modules with the same inputs).

    Places do not overlap. The list of matches: (last node, {node of the pattern: node of the graph}).

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.neg(torch.relu(x)))
    >>> matches = torch.fx.replace_pattern(gm, lambda x: torch.relu(x), lambda x: torch.sigmoid(x))
    >>> len(matches), gm(torch.zeros(1))
    (1, tensor([-0.5000]))
    """
    return [Match(anchor=each.anchor, nodes_map=each.nodes_map) for each in _replace_pattern(gm, pattern, replacement)]


def replace_pattern_with_filters(gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None,
                                 node_name_match=""):
    """`replace_pattern` where all of `match_filters(match, graph, pattern graph)` agree; the replacement may come from a function."""
    return _replace_pattern(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match)


def _graph_of(thing):
    if isinstance(thing, GraphModule):
        return thing.graph
    return thing if isinstance(thing, Graph) else symbolic_trace(thing).graph


def _replace_pattern(gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None, node_name_match=""):
    from kindling.fx.passes.utils.matcher_utils import SubgraphMatcher

    match_filters = match_filters or []
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, match_output=False, match_placeholder=False, remove_overlapping_matches=True,
                              ignore_literals=ignore_literals)
    matches = [match for match in matcher.match(graph, node_name_match=node_name_match)
               if all(accept(match, graph, pattern_graph) for accept in match_filters)]
    common = _graph_of(replacement) if replacement is not None else None
    if common is None and replacement_callback is None:
        raise AssertionError("Must provide either a replacement GraphModule or a replacement callback")
    replaced, changed = [], {}
    for match in matches:
        own = common if replacement_callback is None else replacement_callback(match, graph, pattern_graph)
        if len(match.placeholder_nodes) != len([node for node in own.nodes if node.op == "placeholder"]) and replacement_callback is None:
            raise AssertionError("the replacement has another number of inputs than the pattern")
        inputs = match.placeholder_nodes
        val_map = {}
        for place, (node, given) in enumerate(zip([node for node in own.nodes if node.op == "placeholder"], inputs)):
            if isinstance(given, Node):
                # An earlier replacement may stand there by now.
                given = changed.get(given, given)
                if given is not inputs[place]:
                    match.placeholder_nodes[place] = given
            val_map[node] = given

        # The new nodes go before the first user of a result, and behind all inputs.
        users = {user for node in match.returning_nodes for user in node.users if user not in match.nodes_map.values()}
        matched = set(match.nodes_map.values())
        if len(users) == 1:
            point = next(iter(users))
        else:
            point = next((node for node in graph.nodes if node in users), None)
        if point is None:
            raise AssertionError("the pattern's result is used by nobody")
        with graph.inserting_before(point):
            copied = graph.graph_copy(own, val_map)
        results = (copied,) if isinstance(copied, Node) else tuple(each for each in _flat(copied) if isinstance(each, Node))
        replacements = [node for node in own.nodes if node.op != "placeholder" and node.op != "output"]
        new_nodes = [val_map[node] for node in replacements]
        if len(match.returning_nodes) != len(results):
            raise AssertionError(f"the pattern has {len(match.returning_nodes)} results, the replacement {len(results)}")
        for old, new in zip(match.returning_nodes, results):
            old.replace_all_uses_with(new)
            changed[old] = new
        for node in reversed(pattern_graph.nodes):
            if node.op not in ("placeholder", "output"):
                there = match.nodes_map[node]
                if there in matched and not there._erased and not there.users:
                    graph.erase_node(there)
        replaced.append(ReplacedPatterns(match.anchors[0], match.nodes_map, new_nodes))
    gm.recompile()
    if isinstance(replacement, torch.nn.Module):
        _replace_attributes(gm, replacement)
    return replaced


def _flat(value):
    found = []
    map_arg(value, lambda node: found.append(node) or node)
    return found
