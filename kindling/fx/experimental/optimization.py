"""Modules made faster for inference."""
import copy

from kindling import fx, nn
from kindling.fx.passes.shape_prop import ShapeProp  # noqa: F401
from kindling.nn.utils.fusion import fuse_conv_bn_eval

__all__ = ["matches_module_pattern", "replace_node_module", "fuse", "remove_dropout", "extract_subgraph", "UnionFind"]


def _parent_name(target):
    """`a.b.c` as (`a.b`, `c`)."""
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern, node, modules):
    """Whether a node, and the one it takes, call modules of these classes."""
    if len(node.args) == 0:
        return False
    for expected, current in zip(pattern, (node.args[0], node)):
        if not isinstance(current, fx.Node) or current.op != "call_module" or not isinstance(current.target, str) or \
                current.target not in modules or type(modules[current.target]) is not expected:
            return False
    return True


def replace_node_module(node, modules, new_module):
    """Another module in the place of the one a node calls."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace=False, no_trace=False):
    """The model with batch norms computed into the convolutions before them, for inference.

    >>> from torch.fx.experimental.optimization import fuse
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2)).eval()
    >>> len(fuse(model).graph.nodes)
    3
    """
    patterns = [(nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d)]
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, fx.GraphModule) else fx.symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in patterns:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            if len(node.args[0].users) > 1:     # the convolution's result is used elsewhere too
                continue
            norm = modules[node.target]
            if not norm.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, fuse_conv_bn_eval(modules[node.args[0].target], norm))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return fx.GraphModule(traced, graph)


def remove_dropout(model):
    """The model without dropout."""
    traced = fx.symbolic_trace(model)

    class DropoutRemover(fx.Transformer):
        def call_module(self, target, args, kwargs):
            if isinstance(self.submodules[target], nn.Dropout):
                if len(args) != 1:
                    raise AssertionError(f"Expected 1 arg for Dropout, got {len(args)}")
                return args[0]
            return super().call_module(target, args, kwargs)

    return DropoutRemover(traced).transform()


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A module of some nodes."""
    graph, copies = fx.Graph(), {}
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
    for node in nodes:
        copies[node] = graph.node_copy(node, lambda n: copies[n])
    graph.output([copies[node] for node in outputs])
    graph.lint()
    return fx.GraphModule(orig_module, graph)


class UnionFind:
    """Sets of numbers that are joined."""

    def __init__(self, n):
        self.parent = [None] * n
        self.size = [0] * n

    def make_set(self, v):
        self.parent[v], self.size[v] = v, 1

    def find(self, v):
        parent = self.parent[v]
        if v == parent:
            return v
        if parent is None:
            raise AssertionError("Parent is None")
        self.parent[v] = self.find(parent)
        return self.parent[v]

    def join(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return a
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return None


