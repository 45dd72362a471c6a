"""Python text of a graph."""
import builtins
import enum
import keyword
import math
import re
import types
from collections import namedtuple

import kindling as torch
from kindling.fx import _names
from kindling.fx import _pytree as fx_pytree
from kindling.fx.node import _get_qualified_name, _type_repr, dtype_abbrs, map_arg
from kindling.utils import _pytree as pytree

# How functions of the operator module are written.
reflectable_magic_methods = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "mod": "{} % {}",
    "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "getitem": "{}[{}]", "matmul": "{} @ {}"}
magic_methods = {"eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}",
                 "neg": "-{}", "invert": "~{}", **reflectable_magic_methods}
inplace_methods = {"iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
                   "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
                   "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}"}

_CustomBuiltin = namedtuple("_CustomBuiltin", ("import_str", "obj"))
# Names that generated code may use without saying where they are from: repr of values consists of them.
_custom_builtins = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": _CustomBuiltin("import torch", torch),
    "device": _CustomBuiltin("from torch import device", torch.device),
    "fx_pytree": _CustomBuiltin("import torch.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin("import torch.utils._pytree as pytree", pytree),
}


def _register_custom_builtin(name, import_str, obj):
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


_illegal_names = {**{word: object() for word in keyword.kwlist}, **vars(builtins),
                  **{name: builtin.obj for name, builtin in _custom_builtins.items()}}


def _is_magic(name):
    return name.startswith("__") and name.endswith("__")


def _snake_case(text):
    """`ReLU` as `re_lu`, `Linear` as `linear`."""
    parts = []
    lower = False
    for char in text:
        parts.append("_" + char.lower() if lower and char.isupper() else char.lower())
        lower = char.islower()
    return "".join(parts)


class _Namespace:
    """Names that are taken; a new one gets a number where needed."""

    _ILLEGAL = re.compile("[^0-9a-zA-Z_]+")
    _NUMBERED = re.compile(r"(.*)_(\d+)$")

    def __init__(self):
        self._obj_to_name = {}
        self._used_names = set()
        self._base_count = {}

    def create_name(self, candidate, obj):
        """A name like `candidate` that nothing else has; the same one for the same object (None stands for no object)."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = self._ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = "_" + candidate
        match = self._NUMBERED.match(candidate)
        base, number = (match[1], int(match[2])) if match else (candidate, None)
        if number is None:
            number = self._base_count.get(base, 0)
        while candidate in self._used_names or self._is_illegal_name(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name, obj):
        """Gives an object a name; AssertionError if it has another."""
        if self._obj_to_name.setdefault(obj, name) is not name and self._obj_to_name[obj] != name:
            raise AssertionError(f"obj {obj} already associated with {self._obj_to_name[obj]}")

    def _is_illegal_name(self, name, obj):
        return name in _illegal_names and _illegal_names[name] is not obj

    def _rename_object(self, obj, name):
        self._obj_to_name[obj] = name
        self._used_names.add(name)


class PythonCode:
    """The text of a function, and what its global names mean."""

    def __init__(self, src, globals, _lineno_map, _prologue_start=0):
        self.src = src
        self.globals = globals
        self._lineno_map = _lineno_map
        self._prologue_start = _prologue_start


def _format_target(base, target):
    """`base.a.b`, with getattr where a part is no identifier."""
    text = base
    for part in target.split("."):
        text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
    return text


class CodeGen:
    """How a graph becomes text. A subclass may change inputs, outputs and the function around them (`Graph.set_codegen`)."""

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        """The line `def forward(...):`."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args, *, descs=None):
        """The return statement."""
        return f"return {self._repr(output_args)}"

    def process_inputs(self, *args):
        """Inputs of the function as those of the graph."""
        return args

    def process_outputs(self, outputs):
        """Outputs of the graph as those of the function."""
        return outputs

    def additional_globals(self):
        """(name, object) that the text uses beside what the graph needs."""
        return []

    def _repr(self, value):
        return repr(value)

    def _gen_python_code(self, nodes, root_module, namespace, *, verbose=False, include_stride=False, include_device=False, colored=False,
                         expanded_def=False, record_func=False, additional_meta=None):
        free_vars, body, globals_, wrapped = [], [], {}, {}
        returns = [""]
        nodes = list(nodes)

        def add_global(hint, obj):
            """A name for a function or class; torch's own are written as what they are."""
            if _names.is_from_torch(obj) and obj is not torch.device and not any(map(keyword.iskeyword, hint.split("."))):
                return _get_qualified_name(obj)
            name = namespace.create_name(hint.replace(".", "_") if "." in hint else hint, obj)
            if name in globals_ and globals_[name] is not obj:
                raise AssertionError(f"name {name} is taken")
            globals_[name] = obj
            return name

        for name, builtin in _custom_builtins.items():
            globals_[name] = builtin.obj
            namespace._obj_to_name.setdefault(_key(builtin.obj), name)

        def type_repr(annotation):
            # A bare tuple is written with its empty brackets.
            if annotation == ():
                return "()"
            name = _type_repr(annotation)
            origin = getattr(annotation, "__origin__", None)
            if origin is not None and getattr(annotation, "__args__", ()):
                base = add_global(_type_repr(origin), origin)
                inner = ", ".join(type_repr(each) for each in annotation.__args__)
                return f"{base}[{inner}]"
            return add_global(name, annotation)

        def text(arg):
            if isinstance(arg, tuple) and hasattr(arg, "_fields"):
                return f"{add_global(_type_repr(type(arg)), type(arg))}({', '.join(text(item) for item in arg)},)" if len(arg) == 1 else \
                    f"{add_global(_type_repr(type(arg)), type(arg))}({', '.join(text(item) for item in arg)})"
            if isinstance(arg, tuple):
                return f"({', '.join(text(item) for item in arg)}{',' if len(arg) == 1 else ''})"
            if isinstance(arg, list):
                return f"[{', '.join(text(item) for item in arg)}]"
            if isinstance(arg, dict):
                return "{" + ", ".join(f"{key!r}: {text(value)}" for key, value in arg.items()) + "}"
            if isinstance(arg, slice):
                return f"slice({text(arg.start)}, {text(arg.stop)}, {text(arg.step)})"
            if isinstance(arg, enum.Enum):
                cls = type(arg)
                return f"{add_global(cls.__name__, cls)}.{arg.name}"
            if type(arg).__name__ in ("OpOverload", "OpOverloadPacket"):
                return add_global(_get_qualified_name(arg), arg)
            if isinstance(arg, type) or isinstance(arg, types.FunctionType):
                return add_global(getattr(arg, "__name__", "value"), arg)
            return repr(arg).replace("kindling.", "torch.") if isinstance(arg, (torch.dtype, torch.layout, torch.memory_format)) else repr(arg)

        def arguments(args, kwargs):
            return ", ".join([*(text(arg) for arg in args), *(f"{key} = {text(value)}" for key, value in kwargs.items())])

        # Where each value is used last: there its name is given up.
        last_use, dying = {}, {}
        for node in reversed(nodes):
            def use(input_node, user=node):
                if input_node not in last_use:
                    last_use[input_node] = user
                    dying.setdefault(user, []).append(input_node)
                return input_node

            map_arg(node.args, use)
            map_arg(node.kwargs, use)

        def end(node):
            if node.op == "placeholder":
                return
            if node.op == "output":
                body.append("\n")
                return
            names = [repr(each) for each in dying.get(node, [])]
            if not node.users:
                names.append(repr(node))
            body.append(f";  {' = '.join(names)} = None\n" if names else "\n")

        def emit(node):
            typed = "" if node.type is None else f" : {type_repr(node.type)}"
            if verbose and node.op not in ("placeholder", "output"):
                meta = node.meta.get("tensor_meta", node.meta.get("val"))
                if meta is not None and hasattr(meta, "shape") and hasattr(meta, "dtype"):
                    typed = f': "{dtype_abbrs.get(meta.dtype, str(meta.dtype))}[{", ".join(str(size) for size in meta.shape)}]"'
            if node.op == "placeholder":
                default = "" if not node.args else f" = {text(node.args[0])}"
                free_vars.append(f"{node.target}{typed}{default}")
                plain = node.target.replace("*", "")
                if plain != repr(node):
                    body.append(f"{node!r} = {plain}\n")
                return
            if node.op == "call_method":
                body.append(f"{node!r}{typed} = {_format_target(text(node.args[0]), node.target)}({arguments(node.args[1:], node.kwargs)})")
                return
            if node.op == "call_function":
                target = node.target
                module, name = getattr(target, "__module__", None), getattr(target, "__name__", None)
                if module == "_operator" and name in magic_methods:
                    body.append(f"{node!r}{typed} = {magic_methods[name].format(*(text(arg) for arg in node.args))}")
                    return
                if module == "_operator" and name in inplace_methods:
                    body.append(f"{inplace_methods[name].format(*(text(arg) for arg in node.args))};  {node!r}{typed} = {text(node.args[0])}")
                    return
                called = add_global(_get_qualified_name(target), target)
                if called == "getattr" and isinstance(node.args, tuple) and len(node.args) == 2 and isinstance(node.args[1], str) and \
                        node.args[1].isidentifier():
                    body.append(f"{node!r}{typed} = {_format_target(text(node.args[0]), node.args[1])}")
                    return
                body.append(f"{node!r}{typed} = {called}({arguments(node.args, node.kwargs)})")
                if node.meta.get("is_wrapped", False):
                    wrapped.setdefault(called)
                return
            if node.op == "call_module":
                body.append(f"{node!r}{typed} = {_format_target(root_module, node.target)}({arguments(node.args, node.kwargs)})")
                return
            if node.op == "get_attr":
                body.append(f"{node!r}{typed} = {_format_target(root_module, node.target)}")
                return
            if node.op == "output":
                if node.type is not None:
                    returns[0] = f" -> {type_repr(node.type)}"
                self._repr = text
                try:
                    body.append(self.generate_output(node.args[0]))
                finally:
                    del self._repr
                return
            raise NotImplementedError(f"node: {node.op} {node.target}")

        line_nodes, trace = [], [None]
        for index, node in enumerate(nodes):
            if verbose and node.op not in ("placeholder", "output"):
                body.extend(_origin(node, trace))
            line_nodes.append((len(body), index))
            emit(node)
            end(node)
        if not body:
            body.append("pass\n")
        if wrapped:
            wrap_name = add_global("wrap", torch.fx.wrap)
            wrap_statements = "\n".join(f'{wrap_name}("{name}")' for name in wrapped)
        else:
            wrap_statements = ""
        if self._body_transformer:
            body = self._body_transformer(body)
        for name, value in self.additional_globals():
            add_global(name, value)
        prologue = self.gen_fn_def(free_vars, returns[0])
        code = "\n".join("    " + line for line in "".join(body).split("\n"))
        lineno_map, line = {}, wrap_statements.count("\n") + prologue.count("\n") + 5
        starts = dict(line_nodes)
        for place, piece in enumerate(body):
            if place in starts:
                lineno_map[line - (wrap_statements.count("\n") + 4)] = starts[place]
            line += piece.count("\n")
        return PythonCode(f"\n{wrap_statements}\n\n{prologue}\n{code}", globals_, lineno_map, wrap_statements.count("\n") + 4)


def _key(value):
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def _origin(node, trace):
    """A comment about where a node is from, if that differs from the node before."""
    stack = node.stack_trace
    if stack:
        if stack == trace[0]:
            return []
        trace[0] = stack
        lines = stack.strip().split("\n")
        for place in range(len(lines) - 2, -1, -1):
            match = re.match(r'^ *File "(.+)", line (\d+), in (.+)$', lines[place].rstrip())
            if match:
                return [f"\n# File: {match[1]}:{match[2]} in {match[3]}, code: {lines[place + 1].strip()}\n"]
        return ["\n"]
    if trace[0] == "":
        return []
    trace[0] = ""
    return ["# No stacktrace found for following nodes\n"]


class _PyTreeInfo(namedtuple("_PyTreeInfo", ("orig_args", "in_spec", "out_spec"))):
    """The names of nested arguments, and the structures of arguments and results."""


class _PyTreeCodeGen(CodeGen):
    """Text of a graph whose function takes nested arguments."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out):
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return out
        if not isinstance(out, (list, tuple)):
            out = [out]
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation)
        names = list(self.pytree_info.orig_args)
        has_self = bool(names) and names[0] == "self"
        if has_self:
            free_vars.insert(0, "self")
        definition = super().gen_fn_def(names, maybe_return_annotation)
        if free_vars:
            plain = [each.partition(":")[0].partition("=")[0].strip() for each in free_vars]
            definition += f"\n    {', '.join(plain)}, = fx_pytree.tree_flatten_spec([{', '.join(self.pytree_info.orig_args)}], self._in_spec)"
        return definition

    def generate_output(self, output_args, *, descs=None):
        if self.pytree_info and self.pytree_info.out_spec:
            return f"return pytree.tree_unflatten({self._repr(output_args)}, self._out_spec)"
        return super().generate_output(output_args)


class _BoxedCodeGen(CodeGen):
    """Text of a function that takes one list, and empties it."""

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        names = [each.partition(":")[0].partition("=")[0].strip() for each in free_vars if each != "self"]
        text = f"def {self._func_name}(self, args_list){maybe_return_annotation}:"
        if names:
            text += f"\n    {', '.join(names)}, = args_list"
        return text + "\n    args_list.clear()"
