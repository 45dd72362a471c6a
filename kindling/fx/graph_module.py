"""Modules made of graphs: the graph becomes Python text, and that the module's forward."""
import builtins
import copy
import itertools
import linecache
import sys
import warnings
from pathlib import Path

import kindling as torch
from kindling.fx._codegen import _custom_builtins, _PyTreeCodeGen
from kindling.fx.graph import Graph

__all__ = ["reduce_graph_module", "reduce_package_graph_module", "GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
FX_GRAPH_MODULE_FILE_PREFIX = "fx_generated_"
_serial = itertools.count()


class _EvalCacheLoader:
    """Keeps the text of generated functions, so that tracebacks and `inspect` show it."""

    def __init__(self):
        self.eval_cache = {}

    def cache(self, src, globals, co_fields=None):
        key = f"<eval_with_key>.{next(_serial)}"
        if co_fields and "co_filename" in co_fields:
            key += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name'].strip('<>')}"    # linecache leaves <...> alone
        self.eval_cache[key] = src
        globals_copy = globals.copy()
        globals_copy.update(__file__=key, __name__=key, __loader__=self)
        linecache.lazycache(key, globals_copy)
        return key

    def get_source(self, module_name):
        return self.eval_cache.get(module_name)


_loader = _EvalCacheLoader()


def _exec_with_source(src, globals, co_fields=None):
    key = _loader.cache(src, globals, co_fields)
    exec(compile(src, key, "exec"), globals)


def _forward_from_src(src, globals, co_fields=None):
    return _method_from_src("forward", src, globals, co_fields)


def _method_from_src(method_name, src, globals, co_fields=None):
    space = globals.copy()
    _exec_with_source(src, space, co_fields)
    return space.pop(method_name)


def _format_import_statement(name, obj, importer=None):
    """The line that gives a name its meaning in another process."""
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if getattr(obj, "__module__", None) == "builtins" and hasattr(builtins, name):
        return f"from builtins import {obj.__name__} as {name}"
    if isinstance(obj, type(sys)):
        return f"import {obj.__name__} as {name}"
    module, path = obj.__module__, obj.__name__
    if getattr(obj, "__qualname__", path) == path:
        return f"from {module} import {path} as {name}"
    first, _, rest = obj.__qualname__.partition(".")
    return f"from {module} import {first} as _{name}; {name} = _{name}.{rest}"


def _format_import_block(globals, importer=None):
    return "\n".join(sorted({_format_import_statement(name, obj, importer) for name, obj in globals.items()}))


def _imported(block):
    """What the lines of an import block give; `torch` there is this package."""
    real = builtins.__import__

    def import_(name, globals=None, locals=None, fromlist=(), level=0):
        if level == 0 and (name == "torch" or name.startswith("torch.")):
            full = "kindling" + name[5:]
            module = real(full, globals, locals, fromlist, 0)
            return module
        return real(name, globals, locals, fromlist, level)

    space = {"__builtins__": {**vars(builtins), "__import__": import_}, "__name__": "torch.fx"}
    exec(block, space)
    del space["__builtins__"], space["__name__"]
    return space


def reduce_graph_module(body, import_block):
    """A graph module from what pickle keeps of one: its attributes and its text, which is traced again."""
    source = body.get("_code") or body["code"]
    forward = _forward_from_src(source, _imported(import_block))
    return _deserialize_graph_module(forward, body)


def reduce_package_graph_module(importer, body, generated_module_name):
    raise NotImplementedError("torch.package is not there: a graph module is pickled by pickle or torch.save")


class _CodeOnlyModule(torch.nn.Module):
    """Attributes of a graph module, for its text to be traced on."""

    def __init__(self, body):
        super().__init__()
        self.__dict__ = body


def _deserialize_graph_module(forward, body, graph_module_cls=None):
    tracer_cls = body.get("_tracer_cls")
    if tracer_cls is None:
        from kindling.fx._symbolic_trace import Tracer as tracer_cls
    name = body.get("_graphmodule_cls_name", "GraphModule")
    extras = body.get("_tracer_extras", {}) or {}

    class KeepModules(tracer_cls):
        # Modules were leaves when the text was made: they stay so.
        def is_leaf_module(self, _, __):
            return True

    class CodeOnly(_CodeOnlyModule):
        pass

    CodeOnly.forward = forward
    root = CodeOnly(body)
    tracer = KeepModules()
    graph = tracer.trace(root, **extras)
    graph._tracer_cls = tracer_cls
    module = (graph_module_cls or GraphModule)(root, graph, class_name=name)
    for key, value in body.items():
        if not hasattr(module, key):
            setattr(module, key, value)
    return module


def _copy_attr(from_module, to_module, target):
    """Gives a module what another one has at a dotted name, with empty modules on the way."""
    *prefix, field = target.split(".")
    for item in prefix:
        source, there = getattr(from_module, item), getattr(to_module, item, None)
        if source is there:
            return
        if there is None:
            there = torch.nn.Module()
            setattr(to_module, item, there)
        from_module, to_module = source, there
    value = getattr(from_module, field)
    if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def _assign_attr(from_obj, to_module, target):
    """Puts an object at a dotted name."""
    *prefix, field = target.split(".")
    for item in prefix:
        there = getattr(to_module, item, None)
        if there is None:
            there = torch.nn.Module()
            setattr(to_module, item, there)
        to_module = there
    if isinstance(from_obj, torch.Tensor) and not isinstance(from_obj, torch.nn.Parameter):
        to_module.register_buffer(field, from_obj)
    else:
        setattr(to_module, field, from_obj)


def _get_attr(model, attr_name):
    for part in attr_name.split("."):
        model = getattr(model, part)
    return model


def _has_attr(model, attr_name):
    for part in attr_name.split("."):
        if not hasattr(model, part):
            return False
        model = getattr(model, part)
    return True


def _del_attr(model, attr_name):
    *prefix, last = attr_name.split(".")
    delattr(_get_attr(model, ".".join(prefix)) if prefix else model, last)


class _WrappedCall:
    """The call of a graph module; an error within says where in the generated text it arose."""

    def __init__(self, cls, cls_call):
        self.cls = cls
        self.cls_call = cls_call

    def __call__(self, obj, *args, **kwargs):
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)
        except Exception as error:
            trace, place = error.__traceback__, None
            while trace is not None:
                if trace.tb_frame.f_code.co_filename.startswith("<eval_with_key>"):
                    place = trace
                trace = trace.tb_next
            if place is not None and hasattr(error, "add_note") and not getattr(error, "_fx_noted", False):
                code = linecache.getline(place.tb_frame.f_code.co_filename, place.tb_lineno).strip()
                error._fx_noted = True
                error.add_note(f"Call using an FX-traced Module, line {place.tb_lineno} of the traced Module's generated forward function:\n"
                               f"    {code}")
            raise


class GraphModule(torch.nn.Module):
    """A module whose forward is a graph.

    `root`: a module, or a dict of values by dotted name, that has what the graph names. `graph` may be set again; after changes in it
    `recompile()` writes the code anew.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> for node in gm.graph.nodes:
    ...     if node.target is torch.relu: node.target = torch.sigmoid
    >>> code = gm.recompile()
    >>> gm(torch.zeros(1))
    tensor([0.5000])
    """

    def __new__(cls, *args, **kwargs):
        # A class for each module: forward is an attribute of the class.
        for base in cls.__mro__:
            if base.__qualname__.rpartition(".")[2] != "GraphModuleImpl":
                cls = base
                break

        class GraphModuleImpl(cls):
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        self.__class__.__name__ = class_name
        named = [node.target for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, torch.nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in named:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(f"Node {node} referenced target {node.target} but that target was not provided in ``root``!")
            # Parents before what lies in them.
            for target in sorted(dict.fromkeys(named), key=lambda name: name.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = graph._tracer_cls if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__ else None
        self._tracer_extras = dict(graph._tracer_extras) if graph._tracer_extras else {}
        self.meta = {}
        if isinstance(root, torch.nn.Module) and hasattr(root, "meta") and isinstance(root.meta, dict):
            self.meta.update(root.meta)
        self._replace_hooks, self._create_node_hooks, self._erase_node_hooks, self._deepcopy_hooks = [], [], [], []

    # Plain attributes: __setattr__ of modules needs not look at them.
    __jit_unused_properties__ = ["graph"]

    @property
    def graph(self):
        """The graph."""
        return self._graph

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The Python text of forward."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self):
        """Writes the code anew, after changes in the graph."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen) and codegen.pytree_info is not None:
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        python_code = self._graph.python_code(root_module="self")
        self._code = python_code.src
        self._lineno_map, self._prologue_start = python_code._lineno_map, python_code._prologue_start
        cls = type(self)
        cls.forward = _forward_from_src(self._code, python_code.globals, self._graph._co_fields)
        cls_call = cls.__call__ if "__call__" in vars(cls) else None
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, cls_call)

            def call_wrapped(self, *args, **kwargs):
                return self._wrapped_call(self, *args, **kwargs)

            cls.__call__ = call_wrapped
        return python_code

    def __reduce__(self):
        body = self.__dict__.copy()
        python_code = self.recompile()
        block = _format_import_block(python_code.globals)
        body.pop("_graph", None)
        body["_graphmodule_cls_name"] = type(self).__name__
        return reduce_graph_module, (body, block)

    def _deepcopy_init(self):
        return GraphModule.__init__

    def __deepcopy__(self, memo):
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        fake = _CodeOnlyModule({name: copy.deepcopy(value, memo) for name, value in vars(self).items() if name != "_graph"})
        self._deepcopy_init()(copied, fake, copy.deepcopy(self._graph, {}), class_name=type(self).__name__)
        for name in ("_state_dict_pre_hooks", "_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
                     "_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks", "_forward_hooks", "_forward_pre_hooks"):
            if name in fake.__dict__:
                setattr(copied, name, fake.__dict__[name])
        copied.meta = dict(self.meta)
        if _USER_PRESERVED_ATTRIBUTES_KEY in copied.meta:
            for name, value in copied.meta[_USER_PRESERVED_ATTRIBUTES_KEY].items():
                setattr(copied, name, value)
        for hook in self._deepcopy_hooks:
            hook(copied)
        return copied

    def __copy__(self):
        copied = GraphModule(self, self.graph)
        copied.meta = self.meta
        return copied

    def __str__(self):
        return "\n".join([super().__str__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"])

    def __dir__(self):
        return super().__dir__()

    def add_submodule(self, target, m):
        """Puts a module at a dotted name, with empty modules on the way: whether that was possible."""
        *prefix, field = target.split(".")
        module = self
        for item in prefix:
            below = getattr(module, item, None)
            if below is None:
                below = torch.nn.Module()
                setattr(module, item, below)
            if not isinstance(below, torch.nn.Module):
                return False
            module = below
        module.add_module(field, m)
        return True

    def delete_submodule(self, target):
        """Takes the module at a dotted name out: whether there was one."""
        *prefix, field = target.split(".")
        module = self
        for item in prefix:
            module = getattr(module, item, None)
            if not isinstance(module, torch.nn.Module):
                return False
        if not isinstance(getattr(module, field, None), torch.nn.Module):
            return False
        delattr(module, field)
        return True

    def delete_all_unused_submodules(self):
        """Takes out modules that the graph names neither themselves nor through something in them."""
        used = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = node.target.split(".")
            used.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
            if node.op == "call_module":
                try:
                    used.update(f"{node.target}.{name}" for name, _ in self.get_submodule(node.target).named_modules() if name)
                except AttributeError:
                    # Gone already: lint says so.
                    pass
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def to_folder(self, folder, module_name="FxModule"):
        """Writes the code, the modules and their state into a folder that can be imported."""
        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        torch.save(self.state_dict(), folder / "state_dict.pt")
        tab = " " * 4
        lines = [_format_import_block(self._graph.python_code(root_module="self").globals), "", "from torch.nn import *",
                 f"class {module_name}(torch.nn.Module):", f"{tab}def __init__(self):", f"{tab * 2}super().__init__()"]
        blobs = []
        for name, module in self.named_children():
            text = repr(module)
            if type(module) in (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d, torch.nn.ConvTranspose2d,
                                torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.ReLU):
                source = f"torch.nn.{text}"
            else:
                file = folder / f"{name}.pt"
                torch.save(module, file)
                blobs.append(name)
                source = f"torch.load(r'{file}', weights_only=False) # {text}".replace("\n", " ")
            lines.append(f"{tab * 2}self.{name} = {source}" if name.isidentifier() else f"{tab * 2}setattr(self, '{name}', {source})")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                lines.append(f"{tab * 2}self.register_buffer('{name}', torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))")
        for name, parameter in self._parameters.items():
            if parameter is not None:
                lines.append(f"{tab * 2}self.{name} = torch.nn.Parameter(torch.empty({list(parameter.shape)}, dtype={parameter.dtype}))")
        lines.append(f"{tab * 2}self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))")
        lines += [tab + line for line in self.code.split("\n")]
        (folder / "module.py").write_text("\n".join(lines).replace("kindling.", "torch.") + "\n")
        (folder / "__init__.py").write_text("from .module import *\n")
        if blobs:
            warnings.warn(f"Was not able to save the following children modules as reprs -saved as pickled files instead: {blobs}",
                          stacklevel=2)

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False, *, fast_sympy_print=False,
                       expanded_def=False, additional_meta=None):
        """The code of this module and of graph modules in it, with comments on where it is from; printed too.

        >>> text = torch.fx.symbolic_trace(lambda x: x + 1).print_readable(print_output=False)
        """
        source = self._graph.python_code(root_module="self", verbose=True, include_stride=include_stride, include_device=include_device,
                                         colored=colored).src.lstrip("\n")
        text = f"class {self._get_name()}(torch.nn.Module):\n" + _indent(source)
        for name, module in self.named_children():
            if hasattr(module, "print_readable"):
                text += "\n" + _indent(module.print_readable(print_output=False, include_stride=include_stride, include_device=include_device)
                                       .replace(f"class {module._get_name()}", f"class {name}", 1))
        if print_output:
            print(text)
        return text

    def _replicate_for_data_parallel(self):
        new = self.__copy__()
        new._is_replica = True
        return new

    def _set_replace_hook(self, f):
        """Calls `f(old, new, user)` whenever a node is replaced, within the context."""
        return _Hook(self.graph._replace_hooks, f)

    def _register_replace_node_hook(self, f):
        self.graph._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f):
        self.graph._replace_hooks.remove(f)

    def _register_create_node_hook(self, f):
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f):
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f):
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f):
        self._erase_node_hooks.remove(f)


class _Hook:
    def __init__(self, hooks, function):
        self.hooks, self.function = hooks, function

    def __enter__(self):
        self.hooks.append(self.function)

    def __exit__(self, *error):
        self.hooks.remove(self.function)


def _indent(text):
    return "\n".join("    " + line if line.strip() else line.strip() for line in text.split("\n"))


