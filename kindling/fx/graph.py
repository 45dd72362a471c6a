"""Graphs: nodes in the order in which they run."""
import copy
import inspect

import kindling as torch
from kindling.fx._codegen import (  # noqa: F401
    CodeGen, PythonCode, _BoxedCodeGen, _custom_builtins, _CustomBuiltin, _format_target, _illegal_names, _is_magic, _Namespace,
    _PyTreeCodeGen, _PyTreeInfo, _register_custom_builtin, _snake_case, inplace_methods, magic_methods, reflectable_magic_methods)
from kindling.fx._names import is_from_torch as _is_from_torch  # noqa: F401
from kindling.fx.node import Node, _get_qualified_name, _legal_ops, _type_repr, dtype_abbrs, map_arg  # noqa: F401

__all__ = ["PythonCode", "CodeGen", "Graph"]


class _node_list:
    """The nodes of a graph, in order; nodes may be put in and taken out while it is walked."""

    def __init__(self, graph, direction="_next"):
        if direction not in ("_next", "_prev"):
            raise AssertionError(f"direction must be '_next' or '_prev', got {direction}")
        self.graph = graph
        self.direction = direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root = self.graph._root
        node = getattr(root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return _node_list(self.graph, "_next" if self.direction == "_prev" else "_prev")


class _InsertPoint:
    """Where new nodes go; as a context, for a while."""

    def __init__(self, graph, new_insert):
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self):
        pass

    def __exit__(self, type, value, tb):
        self.graph._insert = self.orig_insert


class _FindNodesLookupTable:
    """Nodes by operation, and function calls by function."""

    def __init__(self):
        self.table = {}

    @staticmethod
    def _key(node):
        return node.op, node.target if node.op == "call_function" else None

    def __contains__(self, node):
        return node in self.table.get(self._key(node), ())

    def insert(self, node):
        self.table.setdefault(self._key(node), {})[node] = None

    def remove(self, node):
        self.table[self._key(node)].pop(node)

    def find_nodes(self, *, op, target=None):
        if op == "call_function":
            if target is None:
                raise AssertionError("target cannot be None for call_function")
            return list(self.table.get((op, target), ()))
        nodes = list(self.table.get((op, None), ()))
        return nodes if target is None else [node for node in nodes if node.target == target]


class Graph:
    """The steps of a program.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torch.relu, (x,))
    >>> _ = graph.output(y)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._find_nodes_lookup_table = _FindNodesLookupTable()
        self._root = Node(self, "", "root", "", (), {})
        self._used_names = {}
        self._insert = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields = {}
        self._replace_hooks, self._rename_hooks = [], []

    @property
    def owning_module(self):
        """The graph module that runs this graph."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod):
        self._owning_module = mod

    @property
    def nodes(self):
        """The nodes, in the order in which they run; `reversed(graph.nodes)` the other way round."""
        return _node_list(self)

    def output_node(self):
        """The output."""
        node = next(iter(reversed(self.nodes)))
        if node.op != "output":
            raise AssertionError(f"Expected output node, got {node.op}")
        return node

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of a kind, and of a target (needed for function calls); in order unless `sort` is False."""
        found = self._find_nodes_lookup_table.find_nodes(op=op, target=target)
        return sorted(found) if sort else found

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copies the nodes of another graph in; `val_map` says what has its place here already, and learns the rest.

        The value of its output, or (that, the output node) if `return_output_node`; None if it has none.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo=None):
        memo = memo if memo else {}
        g = Graph(tracer_cls=self._tracer_cls)
        val_map = {}
        output = g.graph_copy(self, val_map=val_map, return_output_node=True)
        memo.update((id(old), new) for old, new in val_map.items())
        g._codegen = copy.deepcopy(self._codegen)
        if output is not None:
            value, old = output
            new = g.output(value, type_expr=getattr(old, "type", None))
            new.meta = copy.copy(old.meta)
        return g

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """A new node at the insertion point."""
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        candidate = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(candidate, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        if self.owning_module is not None and getattr(self.owning_module, "_create_node_hooks", None):
            for hook in self.owning_module._create_node_hooks:
                hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._find_nodes_lookup_table.insert(node)
        self._len += 1
        return node

    def process_inputs(self, *args):
        """Arguments of the generated function as inputs of the graph."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """The graph's result as that of the generated function."""
        return self._codegen.process_outputs(out)

    def erase_node(self, to_erase):
        """Takes a node out; RuntimeError if others use it."""
        if len(to_erase.users) > 0:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!")
        if to_erase.graph != self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            from kindling.fx._utils import warn_once

            warn_once(f"erase_node({to_erase}) on an already erased node")
            return
        if self.owning_module is not None:
            for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
                hook(to_erase)
        self._find_nodes_lookup_table.remove(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        # It is no user of its inputs any more.
        to_erase._update_args_kwargs(map_arg(to_erase.args, lambda n: None), map_arg(to_erase.kwargs, lambda n: None))

    def inserting_before(self, n=None):
        """A context in which new nodes go before `n`; without one, to the beginning."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph != self:
            raise AssertionError("Node to insert before is not in graph.")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n=None):
        """A context in which new nodes go behind `n`; without one, to the end."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph != self:
            raise AssertionError("Node to insert after is not in graph.")
        return _InsertPoint(self, n.append)

    def placeholder(self, name, type_expr=None, default_value=inspect.Signature.empty):
        """An input; `*args` and `**kwargs` are names too."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """What lies at a dotted name in the module."""
        if self.owning_module is not None and not self._there(qualified_name):
            from kindling.fx._utils import warn_once

            warn_once("Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                      "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary "
                      "Parameter, or nn.Module.register_buffer to add the necessary buffer")
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def _there(self, path):
        value = self.owning_module
        for part in path.split("."):
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return isinstance(value, (torch.nn.Module, torch.Tensor)) or not isinstance(value, torch.nn.Module)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """The call of a submodule."""
        if self.owning_module is not None and not self._there(module_name):
            from kindling.fx._utils import warn_once

            warn_once("Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! Call "
                      "GraphModule.add_submodule to add the necessary submodule")
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """The call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """The call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def node_copy(self, node, arg_transform=lambda x: x):
        """A copy of a node of another graph; `arg_transform(node)` gives the nodes of this graph for its inputs."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        result = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        result.meta = copy.copy(node.meta)
        return result

    def output(self, result, type_expr=None):
        """The result."""
        return self.create_node("output", target="output", args=(result,), type_expr=type_expr)

    def _target_to_str(self, target):
        if callable(target):
            text = getattr(target, "__name__", None) or type(target).__name__
        else:
            if not isinstance(target, str):
                raise AssertionError(f"Expected target to be str, got {type(target)}")
            text = target
            if _is_magic(text):
                text = text[2:-2]
        return _snake_case(text)

    def python_code(self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False, expanded_def=False,
                    record_func=False, additional_meta=None):
        """The graph as Python text; `root_module` is what the module is called in it.

        >>> print(torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph.python_code("self").src.strip())
        def forward(self, x):
            relu = torch.relu(x);  x = None
            return relu
        """
        namespace = _Namespace()
        former = {}
        for node in self.nodes:
            former[node] = node._repr_fn
            node._repr_fn = lambda n: namespace.create_name(n.name, n)
        try:
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, verbose=verbose, include_stride=include_stride,
                                                  include_device=include_device, colored=colored, expanded_def=expanded_def,
                                                  record_func=record_func, additional_meta=additional_meta)
        finally:
            for node, function in former.items():
                node._repr_fn = function

    def __str__(self):
        return "\n    ".join(["graph():", *(node.format_node() for node in self.nodes)])

    def print_tabular(self):
        """Prints the nodes as a table; needs the tabulate package."""
        try:
            from tabulate import tabulate
        except ImportError:
            print("`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run `pip install tabulate` "
                  "to install the library.")
            raise
        print(tabulate([[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes], headers=["opcode", "name", "target", "args", "kwargs"]))

    def lint(self):
        """Checks that the graph is whole: nodes belong to it, are defined before they are used, and name what the module has."""
        def check(node, user):
            if node.graph is not self:
                raise RuntimeError(f"Argument '{node}' of Node '{user}' does not belong to this Graph, but was used as an argument! If you are "
                                   "copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n"
                                   f"{self}")
            if node not in seen:
                raise RuntimeError(f"Argument '{node}' of Node '{user}' was used before it has been defined! Please check that Nodes in the "
                                   f"graph are topologically ordered\n{self}")

        seen, names = set(), set()
        for node in self.nodes:
            if node.op not in _legal_ops or node.op == "root":
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node not in self._find_nodes_lookup_table:
                raise RuntimeError(f"Node '{node}' is not added to the side table")
            for each in node._input_nodes:
                check(each, node)
                if node not in each.users:
                    raise RuntimeError(f"Node '{each}' does not know its user '{node}'")
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is None:
            return
        for node in self.nodes:
            if node.op == "call_function" and not callable(node.target):
                raise ValueError(f"Node {node} target {node.target} has type {torch.typename(node.target)} but a Callable is expected")
            if node.op != "call_function" and not isinstance(node.target, str):
                raise ValueError(f"Node {node} target {node.target} has type {torch.typename(node.target)} but a str is expected")
            if node.op not in ("get_attr", "call_module"):
                continue
            value = self.owning_module
            parts = node.target.split(".")
            for place, part in enumerate(parts):
                missing = object()
                below = getattr(value, part, missing)
                if below is missing:
                    raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of "
                                       f"{'.'.join(parts[:place])}")
                if node.op == "call_module" and place == len(parts) - 1 and not isinstance(below, torch.nn.Module):
                    raise RuntimeError(f"Node {node} target {node.target} {part} of {'.'.join(parts[:place])} does not reference an nn.Module")
                value = below

    def eliminate_dead_code(self, is_impure_node=None):
        """Takes out nodes that nobody uses, but those that do something beside (`Node.is_impure`): whether there were any.

        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x"); y = graph.call_function(torch.relu, (x,)); _ = graph.output(x)
        >>> graph.eliminate_dead_code(), len(graph.nodes)
        (True, 2)
        """
        self.lint()
        impure = is_impure_node or (lambda node: node.is_impure())
        changed = False
        for node in reversed(self.nodes):
            if not len(node.users) and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def set_codegen(self, codegen):
        """Another way to write the graph."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """Registers a change of the generated text: `make_transformer(current)` gives a function from lines to lines.

        A context that takes it back at its end, if it is used as one.
        """
        former = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(former)

        class Context:
            def __enter__(self):
                pass

            def __exit__(_, *args):
                self._codegen._body_transformer = former

        return Context()

    def _clear_nodes(self):
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)
