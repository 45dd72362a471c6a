"""Proxies: values that write down what is done to them."""
import collections
import dis
import inspect
import operator
import sys
import traceback

import kindling as torch
from kindling.fx._codegen import magic_methods, reflectable_magic_methods
from kindling.fx.node import Node, base_types, map_aggregate

__all__ = ["TracerBase", "GraphAppendingTracer", "TraceError", "Proxy", "MetaProxy", "Attribute", "ParameterProxy", "Scope",
           "ScopeContextManager"]


class TraceError(ValueError):
    """A program does what a graph cannot hold: control flow or a loop over values."""


def assert_fn(x):
    assert x  # noqa: S101  the assertion is what is traced


class Scope:
    """The module whose forward is being traced: its path and its class."""

    def __init__(self, module_path, module_type):
        super().__init__()
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Another scope for a while."""

    def __init__(self, scope, current_scope):
        super().__init__()
        self._former = Scope(scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self):
        return self._scope

    def __exit__(self, *args):
        self._scope.module_path, self._scope.module_type = self._former.module_path, self._former.module_type


_COPY_META_FIELDS = ["nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "ac_graph_id", "has_backward_hook",
                     "from_node", "quantization_tag", "_numeric_debug_handle", "custom", "partitioner_tag", "arg_kwarg_vals"]
_no_nodes_error = "One or more Nodes are neither Nodes nor Proxies"


class TracerBase:
    """What proxies ask: how arguments become nodes, and what to do about control flow. Subclasses answer."""

    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    name = "torch"

    def __init__(self):
        super().__init__()
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.node_name_to_scope = {}

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """A node in the graph, with notes on where it is from."""
        if kind == "call_function" and self.check_mutable_operations:
            from kindling.fx.operator_schemas import check_for_mutable_operation

            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        from kindling.fx import traceback as fx_traceback

        if fx_traceback.has_preserved_node_meta():
            meta = fx_traceback.get_current_meta()
            if "stack_trace" in meta:
                node.stack_trace = meta["stack_trace"]
            for field in _COPY_META_FIELDS:
                if field in meta:
                    node.meta[field] = meta[field]
        elif self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def proxy(self, node):
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """A node from arguments that may hold proxies, as a proxy."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args, tuple):
            raise AssertionError(f"Expected args to be tuple, got {type(args)}")
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        proxy = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not proxy.node.stack_trace:
            proxy.node.stack_trace = "".join(self._user_frames().format())
        return proxy

    def _user_frames(self):
        """The stack without our own frames."""
        frames = traceback.extract_stack()
        here = __file__.rpartition("fx")[0] + "fx"
        return traceback.StackSummary.from_list([frame for frame in frames if not frame.filename.startswith(here) and
                                                 "kindling/fx/" not in frame.filename])

    def create_arg(self, a):
        """An argument of a node: proxies become their nodes, containers are walked, constants stay."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            if hasattr(a, "_fields"):
                return type(a)(*[self.create_arg(item) for item in a])
            return type(a)([self.create_arg(item) for item in a]) if type(a) not in (tuple, torch.Size) else \
                tuple(self.create_arg(item) for item in a)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            result = {}
            for key, value in a.items():
                key = self.create_arg(key)
                no_nodes = _holds_node(key)
                if no_nodes:
                    raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node. Got key: " + str(key))
                result[key] = self.create_arg(value)
            return result
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, base_types) or a is None or a is ...:
            return a
        if type(a).__name__ in ("OpOverload", "OpOverloadPacket"):
            return a
        fields = getattr(type(a), "__dataclass_fields__", None)
        if fields is not None and not isinstance(a, type):
            kwargs = {name: self.create_arg(getattr(a, name)) for name in fields}
            return self.create_node("call_function", type(a), (), kwargs)
        if type(a).__module__ == "enum" or hasattr(type(a), "__members__"):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj):
        """The truth of a proxy, asked by an if: TraceError. A subclass may know better."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """A proxy in a loop: TraceError. A subclass may know how many elements there are."""
        raise TraceError("Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
                         "function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of "
                         "control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors")

    def keys(self, obj):
        """What `**proxy` asks for."""
        return Attribute(obj, "keys")()


def _holds_node(value):
    found = []

    def look(leaf):
        if isinstance(leaf, Node):
            found.append(leaf)
        return leaf

    map_aggregate(value, look)
    return bool(found)


class GraphAppendingTracer(TracerBase):
    """A tracer for proxies made by hand: appends to a graph."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph


class Proxy:
    """A value whose uses become nodes of a graph.

    Attributes, methods, operators and calls of torch's functions give proxies again. The truth of a proxy, its length and loops over
    it are refused with a TraceError; unpacking to a known number of names is not.

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> (torch.relu(x) + 1).node.format_node()
    '%add : [num_users=0] = call_function[target=operator.add](args = (%relu, 1), kwargs = {})'
    """

    def __init__(self, node, tracer=None):
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        # Written down when it is used: a method call needs no attribute.
        return Attribute(self, k)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, d):
        self.__dict__ = d

    def __deepcopy__(self, memo):
        import copy

        new = type(self).__new__(type(self))
        new.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return new

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        frame = inspect.currentframe().f_back
        # `a, b = proxy`: the instruction says how many.
        if frame is not None:
            count = _unpacked(frame)
            if count is not None:
                return (self[place] for place in range(count))
        return self.tracer.iter(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        if self.tracer.trace_asserts:
            frame = inspect.currentframe().f_back
            if _asserted(frame):
                self.tracer.create_proxy("call_function", assert_fn, (self,), {})
                return True
        return self.tracer.to_bool(self)

    def keys(self):
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError("'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
                           "torch.fx.wrap('len') at module scope")

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = args if args else (), kwargs if kwargs else {}
        tracers = {}

        def look(value):
            if isinstance(value, Proxy):
                tracers[value.tracer] = None

        for value in (*args, *kwargs.values()):
            map_aggregate(value, look)
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}")
        tracer = next(iter(tracers))
        if torch.overrides.is_tensor_method_or_property(orig_method):
            name = orig_method.__name__
            return tracer.create_proxy("call_method", {"__eq__": "eq", "__ne__": "ne"}.get(name, name), args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(orig_method.__name__))


def _instruction(frame):
    """The instruction that a frame is at."""
    instructions = list(dis.get_instructions(frame.f_code))
    if sys.version_info >= (3, 11):
        place = next((number for number, each in enumerate(instructions) if each.offset == frame.f_lasti), None)
    else:
        place = frame.f_lasti // 2
    return instructions, place


def _unpacked(frame):
    instructions, place = _instruction(frame)
    if place is None:
        return None
    return instructions[place].argval if instructions[place].opname == "UNPACK_SEQUENCE" else None


def _asserted(frame):
    """Whether a frame asks for the truth of a value in an assert statement."""
    instructions, place = _instruction(frame)
    if place is None:
        return False
    here = instructions[place]
    if here.opname.startswith("POP_JUMP") and "TRUE" in here.opname:
        return any(each.opname == "LOAD_ASSERTION_ERROR" for each in instructions[place + 1:place + 3])
    return False


class MetaProxy(Proxy):
    """A proxy that has the data of a value with it."""

    def __init__(self, node, tracer=None, fake_mode=None):
        super().__init__(node, tracer)
        self.fake_mode = fake_mode


class Attribute(Proxy):
    """An attribute of a proxy: a node when it is used as a value, a method call when it is called."""

    def __init__(self, root, attr):
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node = None

    @property
    def node(self):
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter of the module: its shape, its size and their kin are known."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param = param
        self.name = name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        return self.param.shape

    def size(self):
        return self.param.size()

    def dim(self):
        return self.param.dim()

    @property
    def ndim(self):
        return self.param.ndim

    def numel(self):
        return self.param.numel()

    def nelement(self):
        return self.param.nelement()


def _define(name, reflected=False):
    function = getattr(operator, name)
    slot = f"__{'r' if reflected else ''}{name.strip('_')}__"

    def method(self, *args):
        args = (args[0], self) if reflected else (self, *args)
        return self.tracer.create_proxy("call_function", function, args, {})

    method.__name__ = slot
    method.__qualname__ = f"Proxy.{slot}"
    setattr(Proxy, slot, method)


for _name in magic_methods:
    _define(_name)
for _name in reflectable_magic_methods:
    if _name != "getitem":
        _define(_name, reflected=True)
Proxy.__hash__ = object.__hash__
del _name
