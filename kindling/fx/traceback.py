"""Notes on nodes while graphs are made from graphs: which node is running, and what new nodes take over from it."""
import contextlib
import copy
import enum
import functools
import json
import traceback

__all__ = ["annotate", "annotate_fn", "preserve_node_meta", "has_preserved_node_meta", "set_stack_trace", "set_grad_fn_seq_nr",
           "reset_grad_fn_seq_nr", "format_stack", "set_current_meta", "get_current_meta", "NodeSource", "NodeSourceAction",
           "get_graph_provenance_json", "set_current_replay_node", "get_current_replay_node"]

current_meta = {}
current_replay_node = None
should_preserve_node_meta = False
GRADIENT_ACC_SPECIAL_STACK = "Gradient addition node due to multiple use of tensor around:"


class NodeSourceAction(enum.Enum):
    """What a pass did to make a node of another."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """Where a node is from: another node, the pass, and what that did."""

    def __init__(self, node, pass_name="", action=None):
        self.pass_name = pass_name
        self.action = [action] if isinstance(action, NodeSourceAction) else list(action or [])
        self.name = node.name if node is not None else ""
        self.target = getattr(node, "_pretty_print_target", str)(node.target) if node is not None else ""
        self.graph_id = id(node.graph) if node is not None else -1
        self.from_node = copy.deepcopy(node.meta.get("from_node", [])) if node is not None else []

    def __repr__(self):
        return f"(name={self.name}, pass_name={self.pass_name}, action={[each.name for each in self.action]}, graph_id={self.graph_id})"

    def to_dict(self):
        return {"name": self.name, "target": self.target, "graph_id": self.graph_id, "pass_name": self.pass_name,
                "action": [each.name for each in self.action], "from_node": [each.to_dict() for each in self.from_node]}


@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """New nodes take over notes of the current one, for a while."""
    global should_preserve_node_meta, current_meta
    former, former_meta = should_preserve_node_meta, current_meta.copy()
    should_preserve_node_meta = enable
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = former, former_meta


def has_preserved_node_meta():
    return should_preserve_node_meta


def set_stack_trace(stack):
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


@contextlib.contextmanager
def annotate(annotation_dict):
    """Notes for the nodes made within, under `meta["custom"]`."""
    global current_meta
    if not isinstance(annotation_dict, dict):
        raise TypeError(f"Expected dict, got {type(annotation_dict)}")
    former = current_meta
    current_meta = {**former, "custom": {**former.get("custom", {}), **annotation_dict}}
    try:
        yield
    finally:
        current_meta = former


def annotate_fn(annotation_dict):
    """`annotate` around a function."""
    def decorator(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return wrapped

    return decorator


def set_grad_fn_seq_nr(seq_nr):
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = [*current_meta.get("grad_fn_seq_nr", []), seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr():
    if should_preserve_node_meta:
        level = current_meta.get("in_grad_fn", 0)
        if level <= 1:
            current_meta.pop("in_grad_fn", None)
            current_meta.pop("grad_fn_seq_nr", None)
        else:
            current_meta["in_grad_fn"] = level - 1
            current_meta["grad_fn_seq_nr"] = current_meta["grad_fn_seq_nr"][:-1]


def format_stack():
    """The stack of the current node, or of the program."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """`node` is the one that runs, for a while."""
    global current_meta
    if not (should_preserve_node_meta and node.meta):
        yield
        return
    former = current_meta
    current_meta = node.meta.copy()
    current_meta["from_node"] = [NodeSource(node, pass_name)]
    try:
        yield
    finally:
        current_meta = former


def get_current_meta():
    return current_meta


@contextlib.contextmanager
def set_current_replay_node(node):
    global current_replay_node
    former, current_replay_node = current_replay_node, node
    try:
        yield
    finally:
        current_replay_node = former


def get_current_replay_node():
    return current_replay_node


def get_graph_provenance_json(graph):
    """Where the nodes of a graph are from, as JSON."""
    return json.dumps({node.name: [source.to_dict() for source in node.meta.get("from_node", [])] for node in graph.nodes})
