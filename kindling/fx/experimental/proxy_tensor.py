"""Graphs of operators: a function runs on its arguments, and what it calls below autograd is written down."""
import contextlib
import functools
import inspect
import operator

import kindling as torch
from kindling import _C
from kindling.fx._lazy_graph_module import _make_graph_module
from kindling.fx._symbolic_trace import PH, Tracer
from kindling.fx.node import Node
from kindling.fx.proxy import Proxy
from kindling.overrides import TorchFunctionMode
from kindling.utils._python_dispatch import TorchDispatchMode
from kindling.utils._pytree import tree_leaves, tree_map

__all__ = ["PythonKeyTracer", "make_fx"]


class PythonKeyTracer(Tracer):
    """A tracer that looks into every module, and takes attributes as they are."""

    def __init__(self):
        super().__init__(autowrap_modules=())

    def call_module(self, m, forward, args, kwargs):
        return forward(*args, **kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        return attr_val

    def create_arg(self, a):
        if isinstance(a, torch.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            name = self.get_fresh_qualname("_param_constant")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return a if isinstance(a, Node) else super().create_arg(a)


class _Recorder(TorchDispatchMode):
    """Writes down each operator; knows which node gave which tensor."""

    def __init__(self, tracer, table):
        super().__init__()
        self.tracer, self.table = tracer, table
        self.sizes = None       # who knows sizes as symbols, where they are traced so
        self.by_id, self.by_place = {}, {}

    @staticmethod
    def _place(tensor):
        """What two tensor objects over the same numbers have in common: a saved tensor comes back as another object."""
        if tensor.layout != torch.strided or tensor.device.type == "meta":
            return id(tensor)
        return (tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)

    def track(self, tensor, node):
        # Held, so that neither id nor memory is used again.
        self.by_id[id(tensor)] = (tensor, node)
        if tensor.numel():
            self.by_place[self._place(tensor)] = (tensor, node)

    def node_of(self, tensor):
        found = self.by_id.get(id(tensor)) or (self.by_place.get(self._place(tensor)) if tensor.numel() else None)
        return found[1] if found else None

    def fetched(self, value):
        """A tensor as the node that gave it, or as a constant of the module; a size as its node."""
        if self.sizes and isinstance(value, torch.SymInt):
            return self.sizes.part(value)
        if not isinstance(value, torch.Tensor):
            return value
        node = self.node_of(value)
        return self.tracer.create_arg(value) if node is None else node

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in self.table:
            with self, self.sizes or contextlib.nullcontext():
                result = self.table[func](*args, **kwargs)
            if result is not NotImplemented:
                return result
        if func is torch.ops.aten._local_scalar_dense.default and self.node_of(args[0]) is not None:
            _no_value()
        if func is torch.ops.aten.detach.default and self.node_of(args[0]) is not None:
            # The same numbers: PyTorch leaves most of these out as well.
            result = func(*args, **kwargs)
            self.track(result, self.node_of(args[0]))
            return result
        plain = tree_map(self.sizes.value, (args, kwargs)) if self.sizes else (args, kwargs)
        result = func(*plain[0], **plain[1])
        if result is not None and not isinstance(result, (torch.Tensor, tuple, list)):
            return result       # a question about dtypes or sizes: no step of the program
        nodes = tree_map(self.fetched, (args, kwargs))
        create, name = self.tracer.create_node, self.tracer.graph._target_to_str(func.overloadpacket.__name__)
        call = create("call_function", func, self.tracer.create_arg(nodes[0]), self.tracer.create_arg(nodes[1]), name)
        if isinstance(result, torch.Tensor):
            self.track(result, call)
        elif isinstance(result, (tuple, list)):
            for place, each in enumerate(result):
                if isinstance(each, torch.Tensor):
                    self.track(each, create("call_function", operator.getitem, (call, place), {}))
        return result


class _NoValues(TorchFunctionMode):
    """Refuses to give out the value of a traced tensor: a graph would hold the number of this one call."""

    NAMES = {"item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__complex__", "__index__", "__array__"}

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in self.NAMES and args and isinstance(args[0], torch.Tensor) and self.recorder.node_of(args[0]) is not None:
            _no_value()
        return func(*args, **(kwargs or {}))


def _no_value():
    raise RuntimeError("It appears that you're trying to get value out of a tracing tensor with aten._local_scalar_dense.default - erroring "
                       "out! It's likely that this is caused by data-dependent control flow or similar.  It may be possible to trace this "
                       "with dynamic shapes; try setting tracing_mode='symbolic' in your make_fx call.")


def _named(f, count):
    """The function, or one of so many arguments that calls it where it has no plain ones."""
    named = inspect.unwrap(f)
    if inspect.isfunction(named) and not named.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) and \
            not named.__code__.co_kwonlyargcount and named.__code__.co_argcount == count:
        return f
    names = ", ".join(f"arg{place}" for place in range(count))
    return eval(f"lambda {names}: fn({names})", {"fn": f})


def make_fx(f, decomposition_table=None, tracing_mode="real", _allow_non_fake_inputs=False, *, pre_dispatch=False, record_module_stack=False,
            _allow_fake_constant=False, _error_on_data_dependent_ops=True, record_stack_traces=False):
    """A function that runs `f` on its arguments and gives the operators it called, as a graph module for arguments of these shapes.

    Those of gradients too. `decomposition_table`: {operator: function} to be called in its place. `tracing_mode`: "real", "fake", or
    "symbolic": then sizes are values of the graph, as far as what is called goes on with them, and `shape_env.guards` of what comes back
    says for which sizes it holds.

    >>> from torch.fx.experimental.proxy_tensor import make_fx
    >>> print(make_fx(lambda x: x.sin() + 1)(torch.ones(2)).code.strip())
    def forward(self, x_1):
        sin = torch.ops.aten.sin.default(x_1);  x_1 = None
        add = torch.ops.aten.add.Tensor(sin, 1);  sin = None
        return add
    >>> graph = make_fx(lambda x: x.flatten(1), tracing_mode="symbolic")(torch.ones(2, 3, 4))
    >>> graph(torch.ones(5, 6, 7)).shape, graph.shape_env.guards
    (torch.Size([5, 42]), [])
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"tracing_mode must be one of ['real', 'fake', 'symbolic'], got {tracing_mode}")

    @functools.wraps(f, assigned=tuple(name for name in functools.WRAPPER_ASSIGNMENTS if hasattr(f, name)))
    def wrapped(*args):
        tracer = PythonKeyTracer()
        recorder = _Recorder(tracer, decomposition_table or {})
        func = _named(f, len(args))
        modes = [_NoValues(recorder), recorder]
        if tracing_mode == "symbolic":
            from kindling.fx.experimental._sizes import Sizes
            recorder.sizes = Sizes(recorder, lambda function, args, name: tracer.create_node("call_function", function, args, {}, name))
            modes.append(recorder.sizes)

        def body(*proxies):
            for value, proxy in zip(tree_leaves(args), tree_leaves(proxies)):
                if isinstance(value, torch.Tensor) and isinstance(proxy, Proxy):
                    recorder.track(value, proxy.node)
            with contextlib.ExitStack() as stack:
                for mode in modes:
                    stack.enter_context(mode)
                out = func(*args)
            return tree_map(lambda value: Proxy(recorder.fetched(value), tracer) if isinstance(value, (torch.Tensor, torch.SymInt)) else value, out)

        body.__wrapped__ = func
        body.__annotations__ = getattr(func, "__annotations__", {})
        outer = _C._record_sizes(None)      # of a trace that this one is made in
        try:
            graph = tracer.trace(body, concrete_args=tuple(tree_map(lambda _: PH, args)))
        finally:
            _C._record_sizes(outer)
        module = _make_graph_module(tracer.root, graph, getattr(f, "__name__", type(f).__name__))
        if recorder.sizes:
            recorder.sizes.drop_unused(module.graph)
            module.recompile()
            module.shape_env = recorder.sizes.env
        return module

    del wrapped.__wrapped__
    return wrapped
