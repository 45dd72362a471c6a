"""Small helpers of graphs."""
import warnings

_said = set()


def warn_once(text):
    if text not in _said:
        _said.add(text)
        warnings.warn(text, stacklevel=3)


def lazy_format_graph_code(name, gm, maybe_id=None, **kwargs):
    """An object whose text is the code of a graph module."""
    class Text:
        def __str__(self):
            title = f"{name} {maybe_id}" if maybe_id is not None else name
            return f" ===== {title} =====\n{gm.print_readable(print_output=False)}"

    return Text()


def _format_graph_code(name, filename, graph_str):
    return f"TRACED GRAPH\n {name} {filename} {graph_str}\n"


def first_call_function_nn_module_stack(graph):
    """The module stack of the first function call that has one."""
    return next((node.meta["nn_module_stack"] for node in graph.nodes if node.op == "call_function" and "nn_module_stack" in node.meta), None)


def get_node_context(node, num_nodes=2):
    """The code of a node and of those before it."""
    lines, current = [], node
    while len(lines) < num_nodes and current.op != "root":
        lines.insert(0, current.format_node() or "")
        current = current.prev
    return "\n".join(lines)
