"""Graphs run node by node."""
import inspect
from contextlib import nullcontext

from kindling.fx import traceback as fx_traceback
from kindling.fx._symbolic_trace import Tracer
from kindling.fx.graph import Graph
from kindling.fx.node import map_aggregate, map_arg
from kindling.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


def _format_fx_node(n):
    return n.format_node()


class Interpreter:
    """Runs a graph module, node by node; subclasses say what each kind of node does.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> torch.fx.Interpreter(gm).run(torch.zeros(1))
    tensor([1.])
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = graph if graph is not None else module.graph
        self.env = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = {}
        if garbage_collect_values:
            seen = {}

            def register(node, user):
                if node not in seen:
                    seen[node] = user
                    self.user_to_last_uses.setdefault(user, []).append(node)

            for node in reversed(self.graph.nodes):
                for each in node._input_nodes:
                    register(each, node)

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """The graph's result for these inputs; `initial_env` has results of nodes that are known already."""
        self.env = initial_env if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    words = f"While executing {node.format_node()}"
                    words = f"{error.args[0]}\n\n{words}" if error.args and error.args[0] else str(words)
                    words += f"\nOriginal traceback:\n{node.stack_trace}"
                    error.args = (words, *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            if self.garbage_collect_values:
                for done in self.user_to_last_uses.get(node, []):
                    del self.env[done]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result

    def boxed_run(self, args_list):
        """`run` that empties the list of its inputs."""
        args = iter(args_list)
        env = {}
        for node in self.graph.nodes:
            if node.op == "placeholder":
                env[node] = next(args)
        args_list.clear()
        return self.run(initial_env=env)

    def _set_current_node(self, node):
        return fx_traceback.set_current_meta(node) if fx_traceback.has_preserved_node_meta() else nullcontext()

    def run_node(self, n):
        """The result of one node."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            if not isinstance(args, tuple):
                raise AssertionError(f"args must be a tuple, got {type(args)}")
            if not isinstance(kwargs, dict):
                raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """The next input; what is left of them for `*args`."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration as error:
            if len(args) > 0:
                return args[0]
            raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!") from error

    def get_attr(self, target, args, kwargs):
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        self_obj, *rest = args
        return getattr(self_obj, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        return args[0]

    def fetch_attr(self, target):
        """What lies at a dotted name in the module."""
        value = self.module
        parts = target.split(".")
        for place, part in enumerate(parts):
            if not hasattr(value, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[:place + 1])}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n):
        """The arguments of a node, as values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """An argument with the values of its nodes."""
        def load(node):
            if node not in self.env:
                raise RuntimeError(f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues")
            return self.env[node]

        return map_arg(args, load)


class Transformer(Interpreter):
    """An interpreter whose values are proxies: `transform()` gives a new module, with what the methods changed.

    >>> class Swap(torch.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)
    >>> Swap(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()(torch.zeros(1))
    tensor([0.5000])
    """

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph):
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}

            def is_leaf_module(self, _, __):
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target, args, kwargs):
        default = next(iter(args)) if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target, args, kwargs):
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        return self.tracer.call_module(self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs)

    def call_function(self, target, args, kwargs):
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target, args, kwargs):
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def transform(self):
        """The new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            def strip(value):
                return value.node if isinstance(value, Proxy) else value

            node = self.new_graph.output(map_aggregate(result, strip))
            old = next(iter(reversed(self.module.graph.nodes)))
            node.meta.update(old.meta)
        from kindling.fx._lazy_graph_module import _make_graph_module

        return _make_graph_module(self.module, self.new_graph)


