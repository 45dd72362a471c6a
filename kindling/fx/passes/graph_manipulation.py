"""Targets replaced, sizes of nodes."""
from typing import NamedTuple

import kindling as torch
from kindling.fx.graph import Graph
from kindling.fx.node import map_arg
from kindling.fx.passes.shape_prop import ShapeProp

__all__ = ["replace_target_nodes_with", "size_bytes", "get_size_of_all_nodes", "get_tensor_meta", "get_size_of_node"]


def replace_target_nodes_with(fx_module, old_op, old_target, new_op, new_target):
    """All nodes of an operation and target become nodes of another one."""
    graph, copies = Graph(), {}
    for node in fx_module.graph.nodes:
        if node.op == old_op and node.target == old_target:
            args, kwargs = map_arg(node.args, lambda n: copies[n]), map_arg(node.kwargs, lambda n: copies[n])
            copies[node] = graph.create_node(new_op, new_target, args, kwargs, node.name)
        else:
            copies[node] = graph.node_copy(node, lambda n: copies[n])
    fx_module.graph = graph


class size_bytes(NamedTuple):
    """Bytes of a node's result, and with its parameters."""

    output_size: int
    total_size: int


def get_size_of_all_nodes(fx_module, args=None):
    """Writes on each node how many bytes it is, after a run with `args`."""
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


def get_tensor_meta(node):
    """What ShapeProp wrote; RuntimeError without it."""
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run.")
    return meta


def get_size_of_node(fx_module, node):
    """The bytes of one node."""
    total = 0
    if node.op == "call_module":
        total = sum(parameter.nelement() for _, parameter in dict(fx_module.named_modules())[node.target].named_parameters())
    meta = get_tensor_meta(node)
    output = meta.shape.numel()
    size = torch.tensor([], dtype=meta.dtype).element_size()
    return size_bytes(size * output, size * (total + output))
