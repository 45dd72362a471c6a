"""Groups of nodes that a backend takes, as large as they can be without a way out and in again."""
from kindling.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["Partition", "CapabilityBasedPartitioner"]


class Partition:
    """A group of nodes."""

    def __init__(self, id=None, nodes=None, node_orders=None):
        self.id = id
        self.nodes = dict.fromkeys(nodes or ())

    def __repr__(self):
        return str(self.nodes)

    def add_node(self, node, node_order=None):
        self.nodes[node] = None

    def remove_node(self, node):
        del self.nodes[node]

    def size(self):
        return len(self.nodes)


class CapabilityBasedPartitioner:
    """Proposes groups of supported nodes, and makes each a module."""

    def __init__(self, graph_module, operator_support, allows_single_node_partition=False, non_compute_ops=None,
                 allowed_single_node_partition_ops=None, skip_horizontal_fusion=False):
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def _is_node_supported(self, node):
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def _after(self):
        """{node: all nodes that depend on it}."""
        after = {}
        for node in reversed(self.graph_module.graph.nodes):
            after[node] = set()
            for user in node.users:
                after[node] |= {user} | after[user]
        return after

    def propose_partitions(self):
        """The groups."""
        after = self._after()
        groups, home = {}, {}       # number -> nodes; node -> number

        def can_join(nodes):
            """Whether no node outside lies between two of them."""
            inside = set(nodes)
            below = set().union(*(after[node] for node in nodes)) - inside
            return not any(inside & after[node] for node in below)

        # From the end: a node joins the groups of its users, and groups that one value feeds join each other.
        for number, node in enumerate(reversed(self.graph_module.graph.nodes)):
            if not self._is_node_supported(node) or node.op in ("placeholder", "output"):
                continue
            groups[number] = {node: None}
            home[node] = number
            near = [home[user] for user in node.users if user in home]
            for other in sorted(set(near)):
                own = home[node]
                if other != own and other in groups and can_join([*groups[own], *groups[other]]):
                    keep, gone = other, own
                    groups[keep].update(groups.pop(gone))
                    home.update(dict.fromkeys(groups[keep], keep))
        if not self.skip_horizontal_fusion:
            for node in self.graph_module.graph.nodes:
                numbers = sorted({home[user] for user in node.users if user in home})
                for one, other in zip(numbers, numbers[1:]):
                    if one in groups and other in groups and can_join([*groups[one], *groups[other]]):
                        groups[one].update(groups.pop(other))
                        home.update(dict.fromkeys(groups[one], one))
        found = [Partition(id=number, nodes=nodes) for number, nodes in groups.items()]
        if not self.allows_single_node_partition:
            def name(node):
                return getattr(node.target, "__module__", "") + "." + getattr(node.target, "__name__", str(node.target))

            found = [each for each in found if sum(node.op in ("call_function", "call_method", "call_module") and
                                                   name(node) not in self.non_compute_ops for node in each.nodes) > 1 or
                     any(name(node) in self.allowed_single_node_partition_ops for node in each.nodes)]
        return [each for each in found if each.size() > 0]

    def fuse_partitions(self, partitions, prefix="fused_"):
        """The graph module with a module for each group."""
        return fuse_by_partitions(self.graph_module, [dict(each.nodes) for each in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions):
        """Takes nodes that compute nothing from the ends of groups."""
        def computes(node):
            return getattr(node.target, "__name__", str(node.target)) not in self.non_compute_ops and str(node.target) not in self.non_compute_ops

        for each in partitions:
            changed = True
            while changed:
                changed = False
                for node in list(each.nodes):
                    at_end = not any(user in each.nodes for user in node.users) or not any(other in each.nodes for other in node.all_input_nodes)
                    if at_end and not computes(node):
                        each.remove_node(node)
                        changed = True

    def partition_and_fuse(self, prefix="fused_"):
        """Both."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)
