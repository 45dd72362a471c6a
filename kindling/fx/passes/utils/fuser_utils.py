"""Groups of nodes, taken out into modules of their own."""
from kindling.fx.graph import Graph
from kindling.fx.passes.tools_common import stable_topological_sort
from kindling.fx.passes.utils.common import lift_subgraph_as_module
from kindling.fx.proxy import Proxy

__all__ = ["topo_sort", "validate_partition", "fuse_as_graphmodule", "insert_subgm", "erase_nodes", "fuse_by_partitions"]


def topo_sort(nodes):
    """The nodes with each behind its inputs among them."""
    waits = {node: sum(each in nodes for each in node.all_input_nodes) for node in nodes}
    ready = [node for node in nodes if waits[node] == 0]
    order = []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for user in node.users:
            if user in waits:
                waits[user] -= 1
                if waits[user] == 0:
                    ready.append(user)
    if len(order) != len(nodes):
        raise AssertionError("topological sorted nodes doesn't have same length as input nodes")
    return order


def validate_partition(partition):
    """Whether a group can be one node: nothing outside lies between nodes of it."""
    inside = set(partition)
    seen, waiting = set(), [user for node in partition for user in node.users if user not in inside]
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            waiting.extend(node.users)
    return True


def fuse_as_graphmodule(gm, nodes, module_name, partition_lookup_table=None, *, always_return_tuple=False):
    """(A module of these nodes, the nodes that are its inputs, those that are its results)."""
    for node in nodes:
        if node.graph.owning_module is not gm:
            raise AssertionError(f"{node} doesn't belong to passed in graph module {gm._get_name()}")
        if node._erased:
            raise AssertionError(f"{node} has been removed from owning graph")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    inside = set(nodes)
    graph, inputs, copies = Graph(), {}, {}

    def placeholder(node):
        if node not in copies:
            copies[node] = inputs[node] = graph.placeholder(node.name, type_expr=node.type)
            copies[node].meta = node.meta.copy()
        return copies[node]

    for node in nodes:
        copies[node] = graph.node_copy(node, lambda n: copies[n] if n in inside else placeholder(n))
    # What is used outside is a result.
    outputs = {node: copies[node] for node in nodes if any(user not in inside for user in node.users)}
    values = tuple(outputs.values())
    graph.output(values[0] if len(values) == 1 and not always_return_tuple else values)
    graph.lint()
    module, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return module, tuple(inputs), tuple(outputs)


def insert_subgm(gm, sub_gm, orig_inputs, orig_outputs, insertion_point=None):
    """A call of the module in the place of nodes' results."""
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    last = insertion_point
    if last is None:
        wanted = set(orig_outputs)
        last = next(node for node in reversed(gm.graph.nodes) if node in wanted)
    with gm.graph.inserting_after(last):
        call = gm.graph.call_module(name, args=orig_inputs, kwargs=None)
    output = next(iter(reversed(sub_gm.graph.nodes)))
    if len(orig_outputs) == 1 and not isinstance(output.args[0], tuple):
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
    else:
        with gm.graph.inserting_after(call):
            proxy = Proxy(call)
            for place, node in enumerate(orig_outputs):
                node.replace_all_uses_with(proxy[place].node, propagate_meta=True)
        call.meta["val"] = tuple(node.meta.get("val", None) for node in orig_outputs)
    return gm


def erase_nodes(gm, nodes):
    """Takes the nodes out."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm, partitions, prefix="fused_", always_return_tuple=False):
    """A module for each group of nodes."""
    for number, group in enumerate(partitions):
        nodes = topo_sort(list(group))
        module, inputs, outputs = fuse_as_graphmodule(gm, nodes, prefix + str(number), always_return_tuple=always_return_tuple)
        insert_subgm(gm, module, inputs, outputs, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm
