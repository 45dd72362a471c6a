"""A graph split by tags on its nodes."""
from kindling.fx.graph import Graph
from kindling.fx.graph_module import GraphModule
from kindling.fx.node import map_arg
from kindling.fx.passes.utils.common import HolderModule, lift_subgraph_as_module

__all__ = ["getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj, name):
    """The attribute at a dotted name; None where a part is missing."""
    for part in name.split("."):
        if not hasattr(obj, part):
            return None
        obj = getattr(obj, part)
    return obj


def setattr_recursive(obj, attr, value):
    """Sets the attribute at a dotted name."""
    first, _, rest = attr.partition(".")
    if rest:
        setattr_recursive(getattr(obj, first), rest, value)
    else:
        setattr(obj, attr, value)


def split_by_tags(gm, tags, return_fqn_mapping=False, return_tuple=False, GraphModuleCls=GraphModule):
    """A graph module of parts, one for each tag in their order: nodes have their part's name as attribute `tag`.

    Parts may use what earlier ones give. With `return_fqn_mapping` also {name in a part: name in `gm`}.
    """
    order = {tag: place for place, tag in enumerate(tags)}
    graphs, inputs, outputs, copies = ({tag: make() for tag in tags} for make in (Graph, dict, dict, dict))
    tag_of = {}
    main, outer = Graph(), {}
    final = None
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            continue
        if node.op == "output":
            final = node
            continue
        if not hasattr(node, "tag"):
            if node.op == "get_attr" and node.users:
                continue        # copied to where it is used
            raise AssertionError(f"Node {node} has no tag")
        tag_of[node] = node.tag

    def inside(tag, node):
        if node in copies[tag]:
            return copies[tag][node]
        if node.op == "get_attr":
            copies[tag][node] = graphs[tag].get_attr(node.target, type_expr=node.type)
            return copies[tag][node]
        if node in tag_of:
            if order[tag_of[node]] > order[tag]:
                raise AssertionError(f"Tag {tag} needs {node}, which tag {tag_of[node]} computes later")
            outputs[tag_of[node]].setdefault(node)
        made = graphs[tag].placeholder(node.name, type_expr=node.type)
        made.meta = node.meta.copy()
        inputs[tag][node] = copies[tag][node] = made
        return made

    for node in gm.graph.nodes:
        if node in tag_of:
            tag = tag_of[node]
            copies[tag][node] = graphs[tag].node_copy(node, lambda n: inside(tag, n))
    map_arg(final.args[0], lambda n: outputs[tag_of[n]].setdefault(n) if n in tag_of else None)

    for node in gm.graph.nodes:
        if node.op == "placeholder":
            outer[node] = main.node_copy(node)
    root, names = HolderModule({}), {}
    for tag in tags:
        values = tuple(copies[tag][node] for node in outputs[tag])
        if not values and not inputs[tag]:
            continue
        graphs[tag].output(values[0] if len(values) == 1 and not return_tuple else values)
        module, mapping = lift_subgraph_as_module(gm, graphs[tag], comp_name=tag)
        names.update(mapping)
        root.add_module(tag, module)
        call = main.call_module(tag, args=tuple(outer[node] for node in inputs[tag]))
        if len(values) == 1 and not return_tuple:
            outer[next(iter(outputs[tag]))] = call
        else:
            from kindling.fx.proxy import Proxy

            proxy = Proxy(call)
            for place, node in enumerate(outputs[tag]):
                outer[node] = proxy[place].node

    def last(node):
        if node not in outer and node.op == "get_attr":
            setattr(root, node.target, getattr_recursive(gm, node.target))
            outer[node] = main.get_attr(node.target)
        return outer[node]

    main.output(map_arg(final.args[0], last))
    result = GraphModuleCls(root, main)
    return (result, names) if return_fqn_mapping else result
