"""Graphs as modules, and compared."""
from kindling.fx.graph import Graph
from kindling.fx.graph_module import GraphModule
from kindling.fx.passes.utils.matcher_utils import SubgraphMatcher
from kindling.nn import Module

__all__ = ["HolderModule", "lift_subgraph_as_module", "compare_graphs"]


class HolderModule(Module):
    """Holds modules by name."""

    def __init__(self, d):
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(gm, subgraph, comp_name="", class_name="GraphModule"):
    """A graph as a module with what it names, and {name there: name in `gm`}."""
    root, names = HolderModule({}), {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        names[f"{comp_name}.{node.target}"] = node.target
        *prefix, last = node.target.split(".")
        holder, value = root, gm
        for part in prefix:
            value = getattr(value, part)
            if not hasattr(holder, part):
                setattr(holder, part, HolderModule({}))
            holder = getattr(holder, part)
        setattr(holder, last, getattr(value, last))
    return GraphModule(root, subgraph, class_name), names


def compare_graphs(left, right):
    """Whether two graphs are the same but for names."""
    if not isinstance(left, Graph) or not isinstance(right, Graph):
        raise AssertionError("compare_graphs takes graphs")
    return len(left.nodes) == len(right.nodes) and len(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)) > 0
