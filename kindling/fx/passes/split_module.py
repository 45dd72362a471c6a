"""A module split into parts."""
import inspect

import kindling as torch
from kindling.fx._lazy_graph_module import _make_graph_module
from kindling.fx.graph import Graph
from kindling.fx.node import map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """A part: its nodes, inputs and results by name, and which parts it needs."""

    def __init__(self, name):
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names = []
        self.inputs, self.outputs = {}, {}
        self.dependencies, self.dependents = {}, {}
        self.graph = Graph()
        self.environment = {}
        self.targets = {}

    def __repr__(self):
        return (f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n partitions depended on: "
                f"{self.dependencies},\n partition dependents: {self.dependents}")


def _value(module, target):
    for part in target.split("."):
        if not hasattr(module, part):
            raise AttributeError(f"Operator target {target} not found!")
        module = getattr(module, part)
    return module


def split_module(m, root_m, split_callback, qualname_map=None, keep_original_order=False, keep_original_node_name=False,
                 keep_original_input_name=True, *, partition_affix=None, tuple_return=False):
    """A graph module whose parts are modules `submod_0`, ...: `split_callback(node)` says which part a node is in.

    Inputs and attributes stay outside. `qualname_map` learns {name in a part: name in `m`}. RuntimeError where parts need each other.

    >>> from torch.fx.passes.split_module import split_module
    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> parts = split_module(gm, gm, lambda node: 0 if node.name == "relu" else 1)
    >>> [name for name, _ in parts.named_children()]
    ['submod_0', 'submod_1']
    """
    partitions, home, nodes = {}, {}, {node.name: node for node in m.graph.nodes}

    def used(node, user):
        there, here = home.get(node), home.get(user) if user is not None else None
        if there == here:
            return
        if there is not None:
            partitions[there].outputs.setdefault(node.name)
            if here is not None:
                partitions[there].dependents.setdefault(here)
        if here is not None:
            partitions[here].inputs.setdefault(node.name)
            if there is not None:
                partitions[here].dependencies.setdefault(there)

    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        if name not in partitions:
            partitions[name] = Partition(name)
            if partition_affix is not None:
                partitions[name].submod_name = f"submod_{partition_affix}_{name}"
        partitions[name].node_names.append(node.name)
        home[node] = name
    for node in m.graph.nodes:
        if node.op == "output":
            map_arg(node.args[0], lambda n: used(n, None))
        elif node in home:
            map_arg(node.args, lambda n, node=node: used(n, node))
            map_arg(node.kwargs, lambda n, node=node: used(n, node))

    left = {name: dict(part.dependencies) for name, part in partitions.items()}
    ready, order = [name for name, needs in left.items() if not needs], []
    while ready:
        name = ready.pop(0)
        order.append(name)
        for later in partitions[name].dependents:
            left[later].pop(name)
            if not left[later]:
                ready.append(later)
    if len(order) != len(partitions):
        raise RuntimeError("cycle exists between partitions!")

    for part in partitions.values():
        for name in part.inputs:
            node = nodes[name]
            default = node.args[0] if node.op == "placeholder" and node.args else inspect.Signature.empty
            made = part.graph.placeholder(name if keep_original_input_name else f"arg_{len(part.environment)}",
                                          type_expr=node.type, default_value=default)
            made.meta = node.meta.copy()
            part.environment[node] = made
    for node in m.graph.nodes:
        if node not in home:
            continue
        part = partitions[home[node]]
        args, kwargs = (map_arg(each, lambda n: part.environment[n]) for each in (node.args, node.kwargs))
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            part.targets[target] = _value(m, node.target)
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = node.target
        made = part.graph.create_node(node.op, target, args, kwargs, type_expr=node.type, name=node.name if keep_original_node_name else None)
        made.meta = node.meta.copy()
        part.environment[node] = made

    base, environment, attributes = Graph(), {}, {}

    def fetched(node):
        """A node outside all parts, in the new graph."""
        if node not in environment:
            if node.op == "get_attr":
                attributes[node.target] = _value(m, node.target)
            environment[node] = base.node_copy(node, lambda n: environment[n])
        return environment[node]

    for node in m.graph.nodes:
        if node.op == "placeholder" or node.op == "get_attr" and not keep_original_order:
            if node.op == "placeholder" or node.users:
                fetched(node)
    for name in order:
        part = partitions[name]
        outputs = tuple(part.environment[nodes[each]] for each in part.outputs)
        part.graph.output(outputs[0] if len(outputs) == 1 and not tuple_return else outputs if outputs else None)
        attributes[part.submod_name] = _make_graph_module(part.targets, part.graph)
        call = base.call_module(part.submod_name, tuple(fetched(nodes[each]) for each in part.inputs))
        if len(part.outputs) > 1 or tuple_return and part.outputs:
            proxy = torch.fx.Proxy(call)
            for place, each in enumerate(part.outputs):
                environment[nodes[each]] = proxy[place].node
        elif part.outputs:
            environment[nodes[next(iter(part.outputs))]] = call
    for node in m.graph.nodes:
        if node.op == "output":
            base.output(map_arg(node.args[0], fetched)).meta.update(node.meta)
    result = _make_graph_module(attributes, base)
    result.meta.update(m.meta if hasattr(m, "meta") else {})
    return result
