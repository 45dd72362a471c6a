"""Nodes of a graph."""
import types
import typing

import kindling as torch
from kindling.fx import _names
from kindling.fx.immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "map_arg", "map_aggregate", "has_side_effect"]

base_types = (str, int, float, bool, complex, torch.dtype, torch.Tensor, torch.device, torch.memory_format, torch.layout, torch.SymInt,
              torch.SymBool, torch.SymFloat)
ArgumentT = typing.Any
_legal_ops = dict.fromkeys(("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"))

# Functions that stay although nobody uses their result.
_side_effectful_functions = {torch._assert, torch.manual_seed, torch.seed, torch.set_rng_state, torch.set_grad_enabled,
                             *(getattr(torch._C, name) for name in ("_set_grad_enabled", "_vmap_increment_nesting") if hasattr(torch._C, name))}
_side_effectful_need_to_be_preserved_pre_dispatch = [torch._C._set_grad_enabled] if hasattr(torch._C, "_set_grad_enabled") else []

dtype_abbrs = {torch.bfloat16: "bf16", torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.complex32: "c32",
               torch.complex64: "c64", torch.complex128: "c128", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
               torch.bool: "b8", torch.uint8: "u8", torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64",
               torch.float8_e4m3fn: "f8e4m3fn", torch.float8_e5m2: "f8e5m2", torch.float8_e4m3fnuz: "f8e4m3fnuz",
               torch.float8_e5m2fnuz: "f8e5m2fnuz", torch.float8_e8m0fnu: "f8e8m0fnu"}


def has_side_effect(fn):
    """Registers a function as one that is called for what it does: `eliminate_dead_code` leaves it.

    >>> @torch.fx.has_side_effect
    ... def log(x): print(x)
    """
    _side_effectful_functions.add(fn)
    return fn


_find_module_of_method = _names.method_home
_get_qualified_name = _names.qualified_name


def _type_repr(obj):
    """A type as it is written in an annotation."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        module = _names.module_name(obj)
        if module == "builtins":
            return obj.__qualname__
        # torch's classes are known by their public home, `torch.Tensor`.
        if module.startswith("torch"):
            short = f"torch.{obj.__qualname__}"
            return short if _names.resolve(short) is obj else f"{module}.{obj.__qualname__}"
        return f"{module}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace("kindling.", "torch.") if not isinstance(obj, str) else repr(obj)


def _format_arg(arg, max_list_len=float("inf")):
    """An argument as text, nodes as `%name`."""
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, (list, tuple)):
        items = ", ".join(_format_arg(item) for place, item in enumerate(arg) if place < max_list_len)
        if len(arg) > max_list_len:
            items += f", ...[total_len={len(arg)}]"
        if isinstance(arg, list):
            return f"[{items}]"
        return f"({items},)" if len(arg) == 1 else f"({items})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return "%" + str(arg) if isinstance(arg, Node) else str(arg)


def map_aggregate(a, fn):
    """`fn` of each leaf of nested tuples, lists, dicts and slices.

    >>> torch.fx.node.map_aggregate([1, (2, {"a": 3})], lambda x: x + 1)
    [2, (3, {'a': 4})]
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(value, fn)) for key, value in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a, fn):
    """`fn` of each node in an argument.

    >>> node = torch.fx.Graph().placeholder("x")
    >>> torch.fx.map_arg((node, [1, node]), lambda n: n.name)
    ('x', [1, 'x'])
    """
    if not callable(fn):
        raise AssertionError(f"Expected callable, got {type(fn)}")
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


class Node:
    """One step of a graph.

    `op` says what kind: ``placeholder`` (an input), ``get_attr``, ``call_function``, ``call_module``, ``call_method``, ``output``.
    `target` says what is fetched or called, `args` and `kwargs` with what; nodes among them are results of earlier steps, and have
    this node among their `users`.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> graph.call_function(torch.relu, (x,)).format_node()
    '%relu : [num_users=0] = call_function[target=torch.relu](args = (%x,), kwargs = {})'
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function":
            if not callable(target):
                raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {torch.typename(target)} "
                                 "but a Callable is expected")
        elif not isinstance(target, str):
            raise ValueError(f"Node [graph = {graph}, name = '{name}'] target {target} has type {torch.typename(target)} "
                             "but a str is expected")
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self._input_nodes = {}
        self.users = {}
        self.type = return_type
        self._sort_key = ()
        self._repr_fn = None
        self.meta = {}
        self._prev = self._next = self
        self._erased = False
        self._update_args_kwargs(args, kwargs)

    def __getstate__(self):
        state = dict(self.__dict__)
        state["_erased"], state["_prev"], state["_next"] = self._erased, self._prev, self._next
        return state

    @property
    def next(self):
        """The node after this one; the root node after the last."""
        return self._next

    @property
    def prev(self):
        """The node before this one; the root node before the first."""
        return self._prev

    def __lt__(self, other):
        return self._sort_key < other._sort_key

    def __gt__(self, other):
        return self._sort_key > other._sort_key

    def __le__(self, other):
        return self is other or self < other

    def __ge__(self, other):
        return self is other or self > other

    def _remove_from_list(self):
        before, after = self._prev, self._next
        before._next, after._prev = after, before

    def prepend(self, x):
        """Puts a node of the same graph before this one."""
        if self.graph != x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            from kindling.fx._utils import warn_once

            warn_once("Trying to prepend a node to itself. This behavior has no effect on the graph.")
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        # A key between those of its neighbours: shorter keys come first, the root's is empty.
        low, high = before._sort_key, self._sort_key
        if len(low) > len(high):
            x._sort_key = (*low[:len(high)], low[len(high)] + 1)
        elif len(low) < len(high):
            x._sort_key = (*high[:len(low)], high[len(low)] - 1)
        else:
            x._sort_key = (*low, 0)

    def append(self, x):
        """Puts a node of the same graph behind this one."""
        self._next.prepend(x)

    @property
    def args(self):
        """The positional arguments: a tuple, set as a whole."""
        return self._args

    @args.setter
    def args(self, a):
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self):
        """The keyword arguments: a dict that does not change, set as a whole."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k):
        self._update_args_kwargs(self._args, k)

    def _update_args_kwargs(self, new_args, new_kwargs):
        for node in self._input_nodes:
            node.users.pop(self, None)
        inputs = {}

        def use(node):
            inputs.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = map_arg(tuple(new_args), use)
        self._kwargs = map_arg(immutable_dict(new_kwargs), use)
        self._input_nodes = inputs

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx, arg):
        """Sets one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """Puts a positional argument in."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key, arg):
        """Sets one keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    @property
    def stack_trace(self):
        """Where in the program the node came from, if that was recorded."""
        return self.meta.get("stack_trace", None)

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target):
        """A function as `format_node` names it: `operator.add`, `builtins.getattr`."""
        if isinstance(target, str):
            return target
        if hasattr(target, "__module__"):
            name = getattr(target, "__name__", None)
            if name is None:
                return _get_qualified_name(target)
            if target.__module__ == "builtins":
                return f"builtins.{name}"
            if target.__module__ == "_operator":
                return f"operator.{name}"
        return _get_qualified_name(target)

    def format_node(self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False):
        """A line of text about the node; None for placeholders and outputs if lists are given that take what belongs in a header."""
        if self.op == "placeholder":
            if not isinstance(self.target, str):
                raise AssertionError(f"Expected target to be str, got {type(self.target)}")
            text = self.target + (f": {_type_repr(self.type)}" if self.type else "")
            if placeholder_names:
                placeholder_names.append(text)
                return None
            typed = f"{_type_repr(self.type)} " if self.type else ""
            default = "(default=" + str(self.args[0]) + ")" if self.args else ""
            return f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            typed = f"{_type_repr(self.type)} " if self.type is not None else ""
            return f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        typed = f"{_type_repr(self.type)} " if self.type is not None else ""
        return (f"%{self.name} : {typed}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
                f"(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})")

    def replace_all_uses_with(self, replace_with, delete_user_cb=None, *, propagate_meta=False):
        """Another node in this one's place, in the arguments of all users (for which `delete_user_cb(user)` holds): those users."""
        if propagate_meta:
            if len(replace_with.meta):
                raise AssertionError("Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has .meta keys")
            for key, value in self.meta.items():
                replace_with.meta[key] = value
        users = list(self.users)
        replaced = []
        hooks = getattr(self.graph, "_replace_hooks", ()) or ()
        for user in users:
            if delete_user_cb is not None and not delete_user_cb(user):
                continue
            for hook in hooks:
                hook(old=self, new=replace_with.name, user=user)
            replaced.append(user)
            user._replace(self, replace_with)
        return replaced

    def _replace(self, old, new):
        def change(node):
            return new if node is old else node

        self._update_args_kwargs(map_arg(self.args, change), map_arg(self.kwargs, change))

    def replace_input_with(self, old_input, new_input):
        """Another node in the place of one input."""
        for hook in getattr(self.graph, "_replace_hooks", ()) or ():
            hook(old=old_input, new=new_input.name, user=self)
        self._replace(old_input, new_input)

    def is_impure(self, impure_random=True):
        """Whether the node does something beside its result, so that it stays although nobody uses that."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            schema = getattr(self.target, "_schema", None)
            if schema is not None and schema.is_mutable:
                return True
            if impure_random and getattr(self.target, "_nondeterministic_seeded", False):
                return True
            return self.target in _side_effectful_functions
        if self.op == "call_method" and isinstance(self.target, str):
            return False
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            module = self.graph.owning_module.get_submodule(self.target)
            if module is None:
                raise AssertionError(f"Did not find expected submodule target {self.target}")
            return getattr(module, "_is_impure", False)
        return False

    def normalized_arguments(self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
        """The arguments by the parameters of what is called, as (args, kwargs); None if that has no signature."""
        from kindling.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    def __setattr__(self, name, value):
        graph = self.__dict__.get("graph")
        if graph is not None and name in ("op", "target") and "_erased" in self.__dict__:
            table = graph._find_nodes_lookup_table
            if self in table:
                table.remove(self)
                object.__setattr__(self, name, value)
                table.insert(self)
                return
        if name == "name" and graph is not None and "name" in self.__dict__:
            for hook in getattr(graph, "_rename_hooks", ()):
                hook(self, value)
        object.__setattr__(self, name, value)
