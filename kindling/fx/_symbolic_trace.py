"""Symbolic tracing: a module or function is called with proxies, and what they saw becomes a graph."""
import builtins
import functools
import inspect
import math
import types
import warnings

import kindling as torch
from kindling.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from kindling.fx.graph import Graph
from kindling.fx.node import Node, base_types, map_aggregate  # noqa: F401
from kindling.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from kindling.utils import _pytree as pytree

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_proxyable_classes = {}
_is_fx_tracing_flag = False
_constant_attribute_types = (torch.Tensor,)

# Functions that `wrap` named, by the globals they are looked up in.
_wrapped_fns_to_patch = {}
_wrapped_methods_to_patch = []
CURRENT_PATCHER = None


def is_fx_tracing():
    """Whether a symbolic trace is going on.

    >>> torch.fx._symbolic_trace.is_fx_tracing()
    False
    """
    return _is_fx_tracing_flag


def is_fx_symbolic_tracing():
    """Whether a symbolic trace is going on, and nothing is compiled."""
    return _is_fx_tracing_flag and not torch.compiler.is_compiling()


class ProxyableClassMeta(type):
    """A metaclass whose classes can be made inside a traced function: making one with proxies is a node."""

    def __init__(cls, name, bases, attrs):
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        instance = cls.__new__(cls)
        if not is_fx_tracing():
            cls.__init__(instance, *args, **kwargs)
            return instance
        found = _find_proxies(args, kwargs)
        if not found:
            cls.__init__(instance, *args, **kwargs)
            return instance
        tracer = found[0].tracer
        if any(proxy.tracer is not tracer for proxy in found):
            raise RuntimeError("Proxies of more than one tracer in the arguments of a proxyable class")
        cls.__init__(instance, *args, **kwargs)
        return instance


class PHBase:
    """Says in `concrete_args` that an argument stays an input."""

    def __repr__(self):
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """An input with attributes that its node's meta gets."""

    def __init__(self, ph_key=None):
        super().__init__()
        self.ph_key = ph_key


def _transfer_attrs(fr, to):
    for name in dir(fr):
        if not name.startswith("__") and not callable(getattr(fr, name)) and not hasattr(to, name):
            setattr(to, name, getattr(fr, name))


def _assert_is_none(value, msg):
    if value is not None:
        raise AssertionError(msg)


def _patch_function(fn, nargs):
    """A function that takes what were *args and **kwargs as ordinary arguments."""
    code = fn.__code__
    code = code.replace(co_flags=code.co_flags & ~HAS_VARSTUFF, co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0)
    # No defaults: all arguments are given.
    return types.FunctionType(code, fn.__globals__, fn.__name__, None, fn.__closure__)


def _find_proxies(*objects):
    found = []

    def look(value):
        if isinstance(value, Proxy):
            found.append(value)

    map_aggregate(objects, look)
    return found


def _find_proxy(*objects_to_search):
    """The first proxy in some arguments, or None."""
    found = _find_proxies(*objects_to_search)
    return found[0] if found else None


def _create_wrapped_func(orig_fn):
    """The function; with a proxy among its arguments a node that calls it."""

    @functools.wraps(orig_fn)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", orig_fn, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return wrapped


def _create_wrapped_method(cls, name):
    """The method; with a proxy among its arguments a node that calls it by name."""
    orig_fn = getattr(cls, name)

    @functools.wraps(orig_fn)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return orig_fn(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


class _Patcher:
    """Things replaced for a while, and put back in the order opposite to that."""

    def __init__(self):
        self.undo = []
        self.visited = set()

    def patch(self, frame_dict, name, new_fn, deduplicate=True):
        """Another value of a global."""
        if getattr(new_fn, "__fx_already_patched", deduplicate and frame_dict.get(name) is new_fn):
            return
        missing = name not in frame_dict
        former = frame_dict.get(name)
        frame_dict[name] = new_fn
        self.undo.append(lambda: frame_dict.pop(name) if missing else frame_dict.__setitem__(name, former))

    def patch_method(self, cls, name, new_fn, deduplicate=True):
        """Another attribute of a class."""
        own = name in vars(cls)
        former = vars(cls).get(name)
        setattr(cls, name, new_fn)
        self.undo.append(lambda: setattr(cls, name, former) if own else delattr(cls, name))

    def visit_once(self, thing):
        """Whether it is met for the first time."""
        new = id(thing) not in self.visited
        self.visited.add(id(thing))
        return new

    def __enter__(self):
        return self

    def __exit__(self, *error):
        while self.undo:
            self.undo.pop()()
        self.visited.clear()


def _patch_wrapped_functions(patcher):
    for (_, name), frame_dict in _wrapped_fns_to_patch.copy().items():
        if name not in frame_dict and hasattr(builtins, name):
            orig_fn = getattr(builtins, name)
        else:
            orig_fn = frame_dict[name]
        patcher.patch(frame_dict, name, _create_wrapped_func(orig_fn))
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, _create_wrapped_method(cls, name))


def _autowrap_check(patcher, frame_dict, function_ids):
    """Wraps the functions among some globals that a tracer was told to wrap."""
    if not patcher.visit_once(frame_dict):
        return
    for name, value in list(frame_dict.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch(frame_dict, name, _create_wrapped_func(value))


def wrap(fn_or_name):
    """A function that is not looked into: traced calls of it become one node. Called at the top level of a module, or as a decorator.

    >>> torch.fx.wrap("len")    # calls of len in this module  # doctest: +SKIP
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name.__name__ if callable(fn_or_name) else fn_or_name
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


class Tracer(TracerBase):
    """Traces modules and functions. Subclasses say which modules are leaves, and more.

    >>> tracer = torch.fx.Tracer()
    >>> graph = tracer.trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_module', 'output']
    """

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        super().__init__()
        self._autowrap_function_ids = {id(value) for module in autowrap_modules for name, value in vars(module).items()
                                       if not name.startswith("_") and callable(value)}
        self._autowrap_function_ids.update(id(function) for function in autowrap_functions)
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.root_module_name = ""
        self.root = torch.nn.Module()
        self.num_calls = {}

    def get_fresh_qualname(self, prefix):
        """A name with a number that the module has not yet."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a):
        """An argument of a node: parameters, buffers and other tensors become what is fetched from the module."""
        if isinstance(a, torch.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
        elif isinstance(a, torch.nn.Module):
            for name, module in self.root.named_modules():
                if a is module:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            args = tuple(self.create_arg(item) for item in a)
            return self.create_node("call_function", type(a), args, {})
        if isinstance(a, _constant_attribute_types):
            path = self.tensor_attrs.get(a)
            if not path:
                path = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[a] = path
                setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        if type(a) in _proxyable_classes:
            path = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        return super().create_arg(a)

    def is_leaf_module(self, m, module_qualified_name):
        """Whether a submodule stays one node: those of torch.nn do, but for Sequential."""
        return m.__module__.startswith(("torch.nn", "torch.ao.nn", "kindling.nn", "kindling.ao.nn")) and \
            not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod):
        """The dotted name of a submodule; NameError if it is none."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if mod is module:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m, forward, args, kwargs):
        """What becomes of a submodule's call: one node for a leaf, else what `forward(*args, **kwargs)` does."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            count = self.num_calls.get(path, 0)
            key = f"{scope.module_path}@{count}" if count > 0 else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = count + 1
            try:
                if not self.is_leaf_module(m, path):
                    return forward(*args, **kwargs)
                return self.create_proxy("call_module", path, args, kwargs)
            finally:
                self.module_stack.popitem(last=True)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What becomes of an attribute of a module: parameters (and buffers, if `proxy_buffer_attributes`) are proxies."""
        def known(values):
            for name, value in values:
                if attr_val is value:
                    if name not in parameter_proxy_cache:
                        # Subclasses may have a create_proxy without the option.
                        options = {}
                        if self.param_shapes_constant and isinstance(attr_val, torch.nn.Parameter):
                            options["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, name, attr_val)
                        parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, **options)
                    return parameter_proxy_cache[name]
            return None

        found = None
        if isinstance(attr_val, torch.nn.Parameter):
            found = known(self.root.named_parameters())
        elif self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            found = known(self.root.named_buffers())
        return attr_val if found is None else found

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """The function to call, and its arguments: proxies, and what `concrete_args` fixes."""
        analysed = inspect.unwrap(root_fn)
        code = analysed.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        signature = inspect.signature(analysed)
        args, skip = [], 0
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            skip = 1
            args.append(self.root)

        def default(name):
            value = signature.parameters[name].default
            return () if value is inspect.Parameter.empty else (value,)

        def fixed(name):
            count = 0

            def leaf(value):
                nonlocal count
                count += 1
                out = self.create_proxy("placeholder", f"{name}_{count}", default(name), {})
                if isinstance(value, PHBase):
                    if value is not PH:
                        _transfer_attrs(fr=value, to=out.node)
                    return out
                if type(value) is bool or type(value) in base_types and type(value) is not torch.Tensor:
                    torch._assert(out == value, f"{name} has been specialized to have value {value} but got another value")
                elif value is None:
                    self.create_proxy("call_function", _assert_is_none,
                                      (out, f"{name} has been specialized to have value None but got another value"), {})
                else:
                    warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to "
                                  "the user to make sure that your inputs match the inputs you specialized the function with.",
                                  stacklevel=2)
                return value

            return pytree.tree_map(leaf, concrete_args[name])

        def proxy_placeholder(name):
            if concrete_args is not None and name in concrete_args:
                return fixed(name)
            return self.create_proxy("placeholder", name, () if name[0] == "*" else default(name), {},
                                     type_expr=analysed.__annotations__.get(name))

        arg_names = names[skip:total]
        if isinstance(concrete_args, tuple):
            if len(arg_names) != len(concrete_args):
                raise RuntimeError(f"Tracing expected {len(arg_names)} arguments but got {len(concrete_args)} concrete arguments")
            concrete_args = dict(zip(arg_names, concrete_args))
        args.extend(proxy_placeholder(name) for name in arg_names)
        if code.co_kwonlyargcount > 0 or code.co_flags & HAS_VARSTUFF:
            rest = names[total:]
            if code.co_flags & inspect.CO_VARARGS:
                args.append(proxy_placeholder("*" + rest.pop(0)))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(proxy_placeholder("**" + rest.pop(0)))
            root_fn = _patch_function(root_fn, len(args))

        flat, in_spec = pytree.tree_flatten(tuple(args))
        if len(flat) != len(args) or any(one is not other for one, other in zip(flat, args)):
            # Nested arguments: the graph has their leaves.
            self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names[:total], in_spec, None))

            def flatten_fn(*args):
                out = root_fn(*pytree.tree_unflatten(list(args), in_spec))
                leaves, out_spec = pytree.tree_flatten(out)
                self.graph._codegen.pytree_info = self.graph._codegen.pytree_info._replace(out_spec=out_spec)
                return leaves

            return flatten_fn, flat
        return root_fn, args

    def trace(self, root, concrete_args=None):
        """The graph of a module's forward, or of a function.

        `concrete_args`: arguments, by name, that are values and not inputs; control flow on them is allowed.
        """
        global _is_fx_tracing_flag, CURRENT_PATCHER
        former, former_patcher = _is_fx_tracing_flag, CURRENT_PATCHER
        _is_fx_tracing_flag = True
        try:
            is_module = isinstance(root, torch.nn.Module)
            if is_module:
                self.root = root
                if not hasattr(type(root), self.traced_func_name):
                    raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
                fn = getattr(type(root), self.traced_func_name)
                self.root_module_name = root._get_name()
                self.submodule_paths = {module: name for name, module in root.named_modules()}
            else:
                self.root = torch.nn.Module()
                fn = root
            self.graph = Graph(tracer_cls=type(self))
            code = getattr(fn, "__code__", None)
            if code is not None:
                self.graph._co_fields = {"co_name": code.co_name, "co_filename": code.co_filename, "co_firstlineno": code.co_firstlineno}

            # Tensors that lie in modules as plain attributes are fetched from there.
            self.tensor_attrs = {}
            for prefix, module in self.root.named_modules():
                for name, value in vars(module).items():
                    if isinstance(value, _constant_attribute_types):
                        self.tensor_attrs[value] = f"{prefix}.{name}" if prefix else name
            if not isinstance(fn, types.FunctionType):
                raise AssertionError(f"Expected FunctionType, got {type(fn)}")
            fn_globals = fn.__globals__
            fn, args = self.create_args_for_root(fn, is_module, concrete_args)
            cache = {}
            module_class = torch.nn.Module
            orig_getattr, orig_call = module_class.__getattr__, module_class.__call__

            def module_getattr_wrapper(mod, attr):
                return self.getattr(attr, orig_getattr(mod, attr), cache)

            @functools.wraps(orig_call)
            def module_call_wrapper(mod, *args, **kwargs):
                def forward(*args, **kwargs):
                    return orig_call(mod, *args, **kwargs)

                _autowrap_check(patcher, getattr(getattr(mod, "forward", mod), "__globals__", {}), self._autowrap_function_ids)
                return self.call_module(mod, forward, args, kwargs)

            with _Patcher() as patcher:
                CURRENT_PATCHER = patcher
                patcher.patch_method(module_class, "__getattr__", module_getattr_wrapper, deduplicate=False)
                patcher.patch_method(module_class, "__call__", module_call_wrapper, deduplicate=False)
                _patch_wrapped_functions(patcher)
                _autowrap_check(patcher, fn_globals, self._autowrap_function_ids)
                for module in self._autowrap_search:
                    _autowrap_check(patcher, vars(module), self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(fn(*args)),), {}, type_expr=fn.__annotations__.get("return", None))
            self.submodule_paths = None
        finally:
            _is_fx_tracing_flag, CURRENT_PATCHER = former, former_patcher
        return self.graph

    def __deepcopy__(self, memo):
        new = Tracer.__new__(type(self))
        new.__dict__.update({name: value for name, value in vars(self).items() if name != "_autowrap_search"})
        new._autowrap_search = list(self._autowrap_search)
        return new


def symbolic_trace(root, concrete_args=None):
    """A graph module that does what a module or function does.

    >>> def f(x): return torch.relu(x) + 1
    >>> print(torch.fx.symbolic_trace(f).code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return torch.fx.GraphModule(tracer.root, graph, name)
