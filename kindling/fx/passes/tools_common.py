"""What passes share."""
import heapq

import kindling as torch
from kindling.fx.graph import Graph
from kindling.fx.node import Node, _get_qualified_name

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]

Tensors = tuple[torch.Tensor] | list[torch.Tensor]
TensorOrTensors = torch.Tensor | Tensors
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k):
    if isinstance(k, str):
        return k
    if k.__module__ and "acc_ops" in k.__module__:
        return f"acc_ops.{k.__name__}"
    module = k.__module__.replace("torch._ops", "torch.ops").replace("kindling", "torch")
    return f"{module if module else ''}.{k.__name__}"


def get_node_target(submodules, node):
    """What a node calls, as text: a function's name, a method's, or the class of a module."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}")
    if node.op == "call_module":
        module = submodules[node.target]
        return torch.typename(getattr(module, "_base_class_origin", type(module)) if not isinstance(module, type) else module).replace(
            "kindling.", "torch.")
    if node.op == "call_function":
        return _get_qualified_name(node.target)
    return node.target


def is_node_output_tensor(node):
    """Whether a node gives a tensor, by what ShapeProp wrote."""
    kind = node.meta.get("type", None)
    return kind is not None and issubclass(kind, torch.Tensor)


def _reordered(gm, key):
    """The graph with its nodes in another order in which each comes behind its inputs."""
    waiting = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    order = {node: place for place, node in enumerate(gm.graph.nodes)}
    counter = 0
    ready = []
    for node, left in waiting.items():
        if left == 0:
            heapq.heappush(ready, (key(order[node], counter), node))
            counter += 1
    graph, copies = Graph(tracer_cls=gm.graph._tracer_cls), {}
    while ready:
        _, node = heapq.heappop(ready)
        copies[node] = graph.node_copy(node, lambda n: copies[n])
        for user in node.users:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, (key(order[user], counter), user))
                counter += 1
    if len(copies) < len(waiting):
        raise RuntimeError(f"Input graph has cycles, unable to add {[node for node, left in waiting.items() if left]}")
    graph._codegen = gm.graph._codegen
    gm.graph = graph
    return gm


def legalize_graph(gm):
    """Puts the nodes into an order in which each comes behind its inputs."""
    return _reordered(gm, lambda place, counter: counter)


def stable_topological_sort(gm):
    """The same, with the order kept as far as it can be."""
    return _reordered(gm, lambda place, counter: place)
