"""From modules to scripts: what an nn.Module holds, which of its methods are compiled, and the module that runs them."""
import inspect
import types

from kindling import _C, _jit_internal
from kindling.jit import _classes, _frontend

_PLAIN = frozenset((
    "_version", "_parameters", "_buffers", "_non_persistent_buffers_set", "_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_forward_hooks_always_called", "_is_full_backward_hook", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_modules", "_initializing", "dump_patches", "_compiled_call_impl"))
_store = {}         # a class of modules -> [(what its scripts know of one, its _ScriptClass)]
# The classes in Python of what is made here: _script_module, which stands on this file, puts them here.
ScriptModule = RecursiveScriptModule = None


def _class_of(kind):
    """A class of scripts that one of modules has become; None if none has been."""
    return next((made for _, made in _store.get(kind, ())), None)


_frontend.module_class_of = _class_of


def check_ready(module):
    """RuntimeError for a module whose parameters or buffers have no shape yet, or that was not initialised."""
    import kindling as torch
    if "_parameters" not in module.__dict__:
        raise RuntimeError(f"'{torch.typename(type(module))}' has not been initialized, did you forget to call 'super()'?")
    for what, tensors in (("parameters", module._parameters), ("buffers", module._buffers)):
        for name, tensor in tensors.items():
            if tensor is not None and torch.nn.parameter.is_lazy(tensor):
                raise RuntimeError(f"'{torch.typename(type(module))}' has uninitialized {what} {name}. Did you forget to run a forward pass?")


def method_of(kind, name):
    """The function that a script compiles for a method of a class; None if the class has none."""
    from kindling.nn.modules import _scripted
    for each in kind.__mro__:
        if name in each.__dict__.get("_marked", ()):
            return each.__dict__["_marked"][name]
        if name in each.__dict__:
            forms = getattr(_scripted, each.__name__, None) if (each.__module__ or "").startswith(("kindling.nn.", "torch.nn.")) else None
            found = (forms.__dict__.get(name) if forms is not None else None) or each.__dict__[name]
            return found
        forms = getattr(_scripted, each.__name__, None) if (each.__module__ or "").startswith(("kindling.nn.", "torch.nn.")) else None
        if forms is not None and name in forms.__dict__:
            return forms.__dict__[name]
    return None


_within = None      # while a module is compiled: what is known of the classes and the modules below it


def statics(kind):
    """(name, attribute) of all that a class has, as it stands there."""
    known = _within
    if known is not None and kind in known:
        return known[kind]
    found = [(name, inspect.getattr_static(kind, name, None)) for name in dir(kind)]
    if known is not None:
        known[kind] = found
    return found


class _Kind:
    """What scripts know of a module besides its class; equal where one compiled class serves both."""

    def __init__(self, module):
        self.module, self.kind = module, type(module)
        self.attributes, self.constants, self.functions, self.failed = [], {}, {}, {}
        self.overloads = {}
        self.ignored = set(getattr(module, "__jit_ignored_attributes__", ()))
        self.forward = getattr(module.__dict__.get("forward"), "__func__", None)     # self.forward = self.one_of_two
        self.read()

    def key(self):
        return (self.attributes, sorted((name, type(value), value) if not isinstance(value, float) else (name, float, repr(value)) for name, value in self.constants.items()),
                [(name, value if isinstance(value, tuple) else id(value)) for name, value in self.functions.items()], self.overloads, self.hooks, id(self.forward))

    def read(self):
        import kindling as torch
        module = self.module
        annotations = _annotations(self.kind)
        surroundings = _classes._around_class(self.kind)
        added = set()

        def declared(name):
            kind = annotations.get(name)
            if kind is None or getattr(kind, "__origin__", kind) is _final():
                inside = getattr(kind, "__args__", ())
                return _frontend.type_of_annotation(inside[0], surroundings) if inside else None
            if isinstance(kind, str) and kind.replace("typing.", "").replace("torch.jit.", "").startswith("Final"):
                inside = kind.partition("[")[2].rpartition("]")[0]
                return surroundings.type_of(inside) if inside else None
            return _frontend.type_of_annotation(kind, surroundings)

        def infer(name, value):
            if isinstance(value, _jit_internal.Attribute):
                return _frontend.type_of_annotation(value.type, surroundings)
            return declared(name) or _C._script_infer(value)

        for kind, tensors in (("parameter", module._parameters), ("buffer", module._buffers)):
            for name, value in tensors.items():
                if name not in self.ignored:
                    self.attributes.append((name, infer(name, value), kind))
                    added.add(name)
        for name, value in module._modules.items():
            if name in self.ignored:
                continue
            added.add(name)
            if value is None:
                self.attributes.append((name, _C._script_type("None"), ""))
                continue
            promised = declared(name)
            self.attributes.append((name, promised or class_of_module(value).type(), "module"))
        constants = set(getattr(module, "__constants__", ()))
        constants |= {name for name, kind in annotations.items() if _is_final(kind)}
        for name in sorted(constants):
            if name in added or name in self.ignored:
                what = "submodule" if name in module._modules else "buffer" if name in module._buffers else "parameter"
                _warn(f"'{name}' was found in ScriptModule constants,  but it is a non-constant {what}. Consider removing it.")
            elif not hasattr(module, name):
                _warn(f"'{name}' was found in ScriptModule constants, but was not actually set in __init__. Consider removing it.")
            else:
                self.constants[name] = _constant(name, getattr(module, name), self.kind.__name__)
                added.add(name)
        for each in reversed(self.kind.__mro__):      # what the package's own layers differ in
            if each.__module__.startswith(("kindling.nn.modules.", "torch.nn.modules.")):
                self.constants.update((name, value) for name, value in each.__dict__.items()
                                      if isinstance(value, (bool, int, float, str)) and not name.startswith("__") and name not in _PLAIN and name not in module.__dict__)
        for name, method in statics(self.kind):
            overloads = _jit_internal._overloads_of(method) if isinstance(method, types.FunctionType) else None
            if overloads:
                self.overloads[name] = [f"{name}__{i}" for i in range(len(overloads))]
        for name, value in module.__dict__.items():
            if name in _PLAIN or name.startswith("__") or name in self.ignored or name in added:
                continue
            if isinstance(value, types.FunctionType):
                try:
                    self.functions[name] = _frontend.meaning_of(value, False)
                except Exception as error:
                    self.failed[name] = ("(This function exists as an attribute on the Python module, but we failed to compile it to a TorchScript function. "
                                         f"\nThe error stack is reproduced here:\n{error})")
                continue
            builtin = _frontend.builtin_name(value)
            if builtin:
                self.functions[name] = ("builtin", builtin)
                continue
            if isinstance(value, _C._script_function_type(None)):
                self.functions[name] = value
                continue
            try:
                kind = infer(name, value)
            except RuntimeError as error:
                raise RuntimeError(f"Error inferring type for {name}: {value}: {error}") from error
            if kind is not None:
                self.attributes.append((name, kind, ""))
            else:
                self.failed[name] = ("(This attribute exists on the Python module, but we failed to convert Python type: "
                                     f"'{torch.typename(type(value))}' to a TorchScript type. {_why_no_type(value)}. Its type was inferred; try adding a type annotation for the attribute.)")
        self.hooks = ([id(each) for each in module._forward_hooks.values()], [id(each) for each in module._forward_pre_hooks.values()])

    # ---- what the compiled class asks

    def asked(self, name, what):
        if what == "why":
            return self.failed.get(name) or ("attribute was ignored during compilation" if name in self.ignored else None)
        if what == "outside" and name in self.functions:
            found = self.functions[name]
            return ("builtin", found[1]) if isinstance(found, tuple) and found[0] == "builtin" else found
        method = name == "forward" and self.forward or method_of(self.kind, name)
        if what == "outside":
            if isinstance(method, staticmethod):
                return _frontend.meaning_of(method.__func__, False)
            if isinstance(method, types.FunctionType) and _frontend.is_ignored(method):
                kind, function, formals, result = _frontend.foreign(method, True)
                return (kind, _late(function) if function is not None else None, formals, result, True)
            return None
        if isinstance(method, classmethod):     # of the module, as in PyTorch
            method = method.__func__
        if what == "method" and isinstance(method, types.FunctionType) and not _frontend.is_ignored(method):
            _classes.add_method(self.made, name, method)
            return True
        return False


def _final():
    import typing
    return typing.Final


def _is_final(kind):
    if isinstance(kind, str):
        return kind.replace("typing.", "").replace("torch.jit.", "").partition("[")[0].rpartition(".")[2] == "Final"
    return getattr(kind, "__origin__", kind) is _final()


def _annotations(kind):
    for each in kind.__mro__:
        found = each.__dict__.get("__annotations__")
        if found and each.__module__.partition(".")[0] not in ("kindling", "torch"):
            return found
    return {}


def _warn(text):
    import warnings
    warnings.warn(text, stacklevel=4)


def _why_no_type(value):
    if isinstance(value, (list, dict)) and not value:
        return f"{type(value).__name__.capitalize()} trace inputs must have elements"
    return f"Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or outputs of traced functions, but instead got value of type {type(value).__name__}"


def _constant(name, value, owner):
    import textwrap

    import kindling as torch
    if isinstance(value, (bool, float, int, str, type(None), torch.device, torch.layout, torch.dtype)):
        return value
    if isinstance(value, (tuple, list)):
        return tuple(_constant(name, each, owner) for each in value)
    raise TypeError(textwrap.dedent(f"""
        '{torch.typename(type(value))}' object in attribute '{owner}.{name}' is not a valid constant.
        Valid constants are:
        1. a nn.ModuleList
        2. a value of type {{bool, float, int, str, NoneType, torch.device, torch.layout, torch.dtype, torch.qscheme}}
        3. a list or tuple of (2)
        """))


def _late(function):
    """An ignored method, as scripts call it: with the module that they know."""
    def call(module, *arguments):
        return types.MethodType(function, module)(*arguments)
    return call


def class_of_module(module, share=True):
    """The class of scripts for a module: one for all modules that differ in nothing that a script knows."""
    if isinstance(module, ScriptModule) and "_c" in module.__dict__:
        return module._c._class()
    within = _within if share else None
    if within is not None and id(module) in within:
        return within[id(module)]
    made = _new_class(module, share)
    if within is not None:
        within[id(module)] = made
    return made


def _new_class(module, share):
    check_ready(module)
    kind = _Kind(module)
    known = _store.setdefault(kind.kind, [])
    key = kind.key()
    if share:
        for other, made in known:
            if other == key:
                return made
    made = _C._script_class(_classes.qualified_name(kind.kind), "module", kind.kind, kind.asked)
    kind.made = made
    for name, attribute, what in kind.attributes:
        made.add_attribute(name, attribute, what)
    for name, value in kind.constants.items():
        made.add_constant(name, value)
    made.set_holds(_holds(module))
    _add_methods(kind, made)
    kind.module = None
    if share:
        known.append((key, made))
    return made


def _holds(module):
    from kindling import nn
    return ("dict" if isinstance(module, nn.ModuleDict) else "list" if isinstance(module, (nn.ModuleList, nn.Sequential))
            else "parameters" if isinstance(module, nn.ParameterList) else "named_parameters" if isinstance(module, nn.ParameterDict) else "")


def _add_methods(kind, made):
    """The texts of what is compiled for every object: overloads, properties, and a container's length."""
    for name, names in kind.overloads.items():
        method = method_of(kind.kind, name)
        for given, overload in zip(names, _jit_internal._overloads_of(method)):
            text, file, line, begin = _frontend.source_of(method)
            made.define(given, text, file, line, begin, True, _frontend.Surroundings(method), _frontend.defaults_of(overload), _frontend.source_of(overload))
        made.add_overloads(name, names)
    for name, names in _overloads_of_layer(kind.kind):
        made.add_overloads(name, names)
    properties = []
    for each in reversed(kind.kind.__mro__):
        if each.__module__.partition(".")[0] in ("kindling", "torch", "builtins"):
            continue
        for name, value in each.__dict__.items():
            if isinstance(value, property) and value.fget is not None and name not in kind.ignored and not _frontend.is_ignored(value.fget) and name not in getattr(kind.kind, "__jit_unused_properties__", ()):
                _classes.add_property(made, name, value, {}, properties)
    kind.properties = properties
    holds = _holds(kind.module)
    if holds in ("list", "dict") and not made.has_text("__len__"):
        made.define(None, f"def __len__(self):\n   return {len(kind.module)}\n", "<string>", 1, 0, False, None, {})
    if holds == "dict":
        keys = list(kind.module.keys())
        made.define(None, f"def __contains__(self, key: str):\n   return {f'key in {keys!r}' if keys else 'False'}\n", "<string>", 1, 0, False, None, {})


def _overloads_of_layer(kind):
    """(method, the methods that serve it) of one of the package's layers: that of a recurrent layer for packed sequences."""
    from kindling.nn.modules import _scripted
    for each in kind.__mro__:
        forms = getattr(_scripted, each.__name__, None) if (each.__module__ or "").startswith(("kindling.nn.", "torch.nn.")) else None
        for name, names in getattr(forms, "_overloads", {}).items():
            if method_of(kind, name) is forms.__dict__[name]:
                yield name, names


def methods_to_compile(module):
    """The names of methods that scripting starts from: forward, and those that are marked with `export`."""
    import kindling as torch
    kind, names = type(module), []
    forward = method_of(kind, "forward")
    own = inspect.getattr_static(module, "forward", None)
    if isinstance(forward, types.FunctionType) and forward is not torch.nn.Module.__dict__.get("forward") and not _frontend.is_ignored(forward):
        names.append("forward")
    elif isinstance(own, (types.FunctionType, types.MethodType)) and own.__name__ != "_forward_unimplemented":
        names.append("forward")
    modifiers = _jit_internal.FunctionModifiers
    for name, method in statics(kind):
        if getattr(method, "_torchscript_modifier", None) == modifiers.EXPORT and name not in names:
            names.append(name)
    return names


_compiled = set()


def prepared(module, known):
    """What stands for a module and those in it before they are scripted: `__prepare_scriptable__` of each, which may be another."""
    if id(module) not in known:
        ready = module.__prepare_scriptable__() if hasattr(module, "__prepare_scriptable__") else module
        known[id(module)] = ready
        if not isinstance(ready, ScriptModule):
            for name, below in ready._modules.items():
                if below is not None:
                    ready._modules[name] = prepared(below, known)
    return known[id(module)]


def script_module(module, methods=methods_to_compile, share=True, made=None):
    """The ScriptModule of a module, its submodules scripted in turn."""
    global _within
    if _within is not None:
        return _script_module(module, methods, share, made)
    _within = {}
    try:
        return _script_module(module, methods, share, made)
    finally:
        _within = None


def _script_module(module, methods, share, made):
    made = made or class_of_module(module, share)
    held = made.new()
    below = {}
    for name, kind, what in made.attributes():
        value = getattr(module, name)
        if isinstance(value, _jit_internal.Attribute):
            value = value.value
        if name in module._modules and value is not None:
            scripted = value if isinstance(value, ScriptModule) else script_module(value, _promised(kind) or methods)
            below[name] = scripted
            held.setattr(name, scripted._c)
        else:
            held.setattr(name, value)
    key = made.name()
    if key not in _compiled:
        for name in methods(module):
            if name in _overload_names(module):
                for each in _overload_names(module)[name]:
                    made.method(each)
            else:
                made.method(name)
        for name in ("__len__", "__contains__"):
            if made.has_text(name):
                made.method(name)
        _add_hooks(module, made)
        _compiled.add(key)
    return RecursiveScriptModule._construct(held, below, module)


def _promised(kind):
    """Of an interface's type: its methods are compiled. None: another type."""
    names = kind.promised()
    return None if names is None else lambda module: names


def _overload_names(module):
    return {name: [f"{name}__{i}" for i in range(len(overloads))] for name, method in statics(type(module)) if isinstance(method, types.FunctionType)
            for overloads in [_jit_internal._overloads_of(method)] if overloads}


def _add_hooks(module, made):
    seen = {}
    for hooks, before in ((module._forward_hooks, False), (module._forward_pre_hooks, True)):
        for hook in hooks.values():
            if seen.setdefault(hook.__name__, hook) is not hook:
                what = "Pre-hook" if before else "Hook"
                raise RuntimeError(f"{what} '{hook.__name__}' on {type(module).__name__} has at least two different python definitions. Please use unique names for all hooks.")
            _classes.add_method(made, hook.__name__, hook)
            made.add_hook(made.hook(hook.__name__), before)
