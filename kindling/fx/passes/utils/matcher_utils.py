"""Subgraphs that look like a pattern."""
import copy

from kindling.fx.graph import Graph  # noqa: F401
from kindling.fx.node import Node

__all__ = ["SubgraphMatcher", "InternalMatch"]


class InternalMatch:
    """A place where the pattern was found."""

    def __init__(self, anchors):
        self.anchors = anchors              # the pattern's results
        self.nodes_map = {}                 # node of the pattern -> node of the graph
        self.placeholder_nodes = []         # what the pattern's inputs are
        self.returning_nodes = []           # the nodes whose values the pattern returns
        self.name_node_map = {}

    def __copy__(self):
        new = InternalMatch(self.anchors)
        new.nodes_map, new.placeholder_nodes = self.nodes_map.copy(), self.placeholder_nodes.copy()
        new.returning_nodes = self.returning_nodes.copy()
        return new


def _attribute(node):
    """What a get_attr node fetches."""
    value = node.graph.owning_module
    for part in node.target.split("."):
        value = getattr(value, part, None)
    return value


class SubgraphMatcher:
    """Finds a pattern's graph in other graphs."""

    def __init__(self, pattern, match_output=False, match_placeholder=False, remove_overlapping_matches=True, ignore_literals=False):
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        output = next(iter(reversed(pattern.nodes)))
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            # Results that nothing else of the pattern needs.
            self.pattern_anchors = [node for node in output.all_input_nodes if len(node.users) == 1]

    def _match_attributes(self, pn, gn):
        one, other = _attribute(pn), _attribute(gn)
        return one is not None and type(one) is type(other)

    def _nodes_are_equal(self, pn, gn, node_name_match=""):
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        if pn.op == "get_attr":
            return self._match_attributes(pn, gn)
        return pn.target == gn.target

    def _is_contained(self, nodes_map):
        """Whether values between matched nodes are used by matched nodes only."""
        lookup = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder" and isinstance(gn, Node)}
        return all(pn in self.pattern_returning_nodes or all(user in lookup for user in gn.users) for gn, pn in lookup.items())

    def _remove_overlapping_matches(self, matches):
        kept, taken = [], set()
        for match in matches:
            nodes = [gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")]
            if not any(node in taken for node in nodes):
                kept.append(match)
                taken.update(nodes)
        return kept

    def _match_literals(self, pn, gn, match):
        if isinstance(pn, Node) and isinstance(gn, Node):
            raise AssertionError("pn and gn cannot both be Node")
        if isinstance(pn, Node):
            if pn.op != "placeholder":
                return False
            if pn in match.nodes_map:
                return match.nodes_map[pn] == gn
            match.nodes_map[pn] = gn
            return True
        if isinstance(gn, Node):
            return False
        return self.ignore_literals or type(gn) is type(pn) and gn == pn

    def _match_args(self, one, other, match):
        if isinstance(one, Node) and isinstance(other, Node):
            return self._match_nodes(one, other, match)
        if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
            return len(one) == len(other) and all(self._match_args(a, b, match) for a, b in zip(one, other))
        if isinstance(one, dict) and isinstance(other, dict):
            return one.keys() == other.keys() and all(self._match_args(value, other[key], match) for key, value in one.items())
        return self._match_literals(one, other, match)

    def _match_nodes(self, pn, gn, match, node_name_match=""):
        if isinstance(pn, Node) and pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if any(gn is each for each in match.nodes_map.values()):
            return False
        if not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        saved = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        one, other = (pn.args, pn.kwargs), (gn.args, gn.kwargs)
        if len(pn.args) != len(gn.args) or pn.kwargs.keys() != gn.kwargs.keys():
            one, other = self._by_name(pn, gn)
        if one is not None and self._match_args(list(one[0]), list(other[0]), match) and self._match_args(dict(one[1]), dict(other[1]), match):
            return True
        match.nodes_map = saved.nodes_map
        return False

    @staticmethod
    def _by_name(pn, gn):
        """The arguments of two calls of one function by parameter, where one call names what the other does not."""
        if pn.op != "call_function":
            return None, None
        from kindling.fx.operator_schemas import normalize_function

        pair = [normalize_function(node.target, node.args, node.kwargs, normalize_to_only_use_kwargs=True) for node in (pn, gn)]
        return pair if None not in pair else (None, None)

    def match(self, graph, node_name_match=""):
        """The places, in order; without those that overlap earlier ones, if that was asked for."""
        candidates = [(anchor, [node for node in graph.nodes if self._nodes_are_equal(anchor, node, node_name_match)])
                      for anchor in self.pattern_anchors]
        found = []

        def search(place, match):
            if place == len(candidates):
                match.placeholder_nodes = [match.nodes_map[pn] for pn in self.pattern_placeholder_nodes if pn in match.nodes_map]
                match.returning_nodes = [match.nodes_map[pn] for pn in self.pattern_returning_nodes]
                found.append(match)
                return
            anchor, nodes = candidates[place]
            for node in nodes:
                new = copy.copy(match)
                if self._match_nodes(anchor, node, new, node_name_match):
                    search(place + 1, new)

        search(0, InternalMatch(self.pattern_anchors))
        found = [match for match in found if self._is_contained(match.nodes_map)]
        for match in found:
            match.name_node_map = {pn.name: gn for pn, gn in match.nodes_map.items()}
        if self.remove_overlapping_matches:
            found = self._remove_overlapping_matches(found)
        return found
