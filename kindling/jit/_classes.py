"""Classes of Python's as classes of scripts: plain ones, enums, named tuples, interfaces."""
import types

from kindling import _C
from kindling.jit import _frontend

_known = {}         # a class -> its _ScriptClass, while it lives; None: it is none
_names = set()
_mangled = 0


def qualified_name(kind):
    """ "__torch__.package.Name", with a number in it where the name is taken."""
    global _mangled
    module = (kind.__module__ or "__main__").replace("<", "_").replace(">", "_")
    module = "torch" + module[8:] if module.partition(".")[0] == "kindling" else module
    front = "__torch__" if module == "__main__" else f"__torch__.{module}"
    name = f"{front}.{kind.__name__}"
    while name in _names:
        name = f"{front}.___torch_mangle_{_mangled}.{kind.__name__}"
        _mangled += 1
    _names.add(name)
    return name


def class_of(kind, surroundings=None, more=None):
    """The class of scripts that a class of Python's is; None if it cannot be one. RuntimeError where its code is no TorchScript."""
    if kind in _known:
        return _known[kind]
    import enum
    if issubclass(kind, enum.Enum):
        made = _enum(kind)
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        made = _named_tuple(kind)
    elif getattr(kind, "__torch_script_interface__", None) is not None:
        made = _interface(kind)
    elif _compiles(kind):
        return _plain(kind, more)
    else:
        return None
    _known[kind] = made
    return made


_frontend.class_of = class_of


def _compiles(kind):
    import kindling as torch
    if _frontend.is_ignored(kind) or issubclass(kind, (torch.nn.Module, tuple, list, dict, set, str, int, float, bytes, BaseException)):
        return False
    if scripted_form(kind) is not kind:
        return True
    if (kind.__module__ or "").partition(".")[0] in ("builtins", "kindling", "torch", "typing", "collections"):
        return False
    import inspect
    functions = [value for value in (getattr(kind, name, None) for name in kind.__dict__) if inspect.isroutine(value)]
    return all(hasattr(each, "__code__") for each in functions)


def scripted_form(kind):
    """What a script takes for a class of the package."""
    if (kind.__module__ or "").endswith(("autograd.grad_mode", "autograd.profiler")):
        from kindling.autograd import _scripted
        return getattr(_scripted, kind.__name__, kind)
    if (kind.__module__ or "").endswith("amp.autocast_mode"):
        from kindling.jit import _autocast
        return getattr(_autocast, kind.__module__.split(".")[-3] if kind.__bases__ != (object,) else kind.__name__, kind)
    return kind


def type_of_object(value):
    """The type that an object of a class has whose code is TorchScript; None if it has none."""
    kind = type(value)
    held = value.__dict__.get("_c") if hasattr(value, "__dict__") else None
    if held is not None and hasattr(held, "_type"):
        return held._type()
    try:
        found = class_of(kind)
    except Exception:       # its code is no TorchScript: nothing but a script that uses it has to know
        return None
    return found.type() if found is not None else None


def _enum(kind):
    made = _C._script_class(qualified_name(kind), "enum", kind, None)
    values = None
    for member in kind:
        inferred = _C._script_infer(member.value)
        if inferred is None or (values is not None and values != inferred):
            raise RuntimeError(f"No enum values with the same type: {kind.__name__}" if inferred else f"the values of the enum {kind.__name__} are nothing that scripts know")
        values = inferred
        made.add_member(member.name, member.value, inferred)
    return made


def _named_tuple(kind):
    made = _C._script_class(qualified_name(kind), "namedtuple", kind, None)
    surroundings = _around_class(kind)
    annotations = getattr(kind, "__annotations__", {})
    for name in kind._fields:
        found = _frontend.type_of_annotation(annotations[name], surroundings) if name in annotations else _C._script_type("Tensor")
        if found is None:
            raise RuntimeError(f"Unknown type annotation: '{annotations[name]}' in NamedTuple {kind.__name__}")
        made.add_attribute(name, found, "")
    defaults = getattr(kind, "_field_defaults", {})
    made.add_default(*[defaults[name] for name in kind._fields if name in defaults])
    return made


def _around_class(kind):
    """What names mean where a class stands: the globals of its module."""
    import sys
    module = sys.modules.get(kind.__module__)

    class Frame:
        f_locals, f_globals = {kind.__name__: kind}, vars(module) if module is not None else {}
    return _frontend.Names(Frame)


def _function(value):
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value


def add_method(made, name, function, more=None, on_objects=True):
    """Has a class keep the text of a method; it is compiled when it is asked for."""
    text, file, line, begin = _frontend.source_of(function)
    made.define(name, text, file, line, begin, True, _frontend.Surroundings(function, more), _frontend.defaults_of(function))


def _interface(kind):
    made = _C._script_class(qualified_name(kind), "interface", kind, None)
    _known[kind] = made
    for name, value in kind.__dict__.items():
        if isinstance(value, types.FunctionType):
            add_method(made, name, value, {kind.__name__: kind})
            made.promise(name)
    return made


def _plain(kind, more):
    source = scripted_form(kind)
    members = {name: value for name, value in source.__dict__.items()}
    statics = {name: value.__func__ for name, value in members.items() if isinstance(value, staticmethod)}

    def asked(name, what):
        if what == "outside" and name in statics:
            return _frontend.meaning_of(statics[name], False)
        return None

    made = _C._script_class(qualified_name(kind), "plain", kind, asked)
    _known[kind] = made
    names = {**(more or {}), kind.__name__: kind}
    try:
        order = []
        for name, value in members.items():
            if isinstance(value, types.FunctionType) and not _frontend.is_ignored(value):
                text = None
                if "__dataclass_fields__" in members:
                    from kindling.jit import _dataclasses
                    around = _around_class(kind)
                    around.closure.update(names)
                    text = _dataclasses.text_of(kind, name, value, around.closure)
                if text:
                    made.define(name, text, "<string>", 1, 0, True, around, _frontend.defaults_of(value))
                elif text is None:
                    add_method(made, name, value, names)
                if text != "":
                    order.append(name)
            elif isinstance(value, property):
                add_property(made, name, value, names, order)
            elif isinstance(value, classmethod):    # of its objects; compiled where a script calls it
                try:
                    add_method(made, name, value.__func__, names)
                except Exception:
                    pass
        if "__init__" in order:
            made.method("__init__")
        for name in order:
            made.method(name)
    except Exception:
        del _known[kind]
        raise
    return made


def add_property(made, name, value, names, order):
    """A property's getter and setter, under the names that TorchScript gives them."""
    getter, setter = f"__{name}_getter", f"__{name}_setter" if value.fset else ""
    add_method(made, getter, value.fget, names)
    order.append(getter)
    if setter:
        add_method(made, setter, value.fset, names)
        order.append(setter)
    made.add_property(name, getter, setter)


def future_of(held):
    """The future in Python of a call that a script forked."""
    from kindling.futures import Future

    class ScriptFuture(Future):
        """What `torch.jit.fork` gave in a script."""

        def wait(self):
            return _C._script_wait(held)

        value = wait

        def done(self):
            return _C._script_done(held)

        def then(self, callback):
            made = Future()
            made.set_result(callback(self))
            return made
    return ScriptFuture()


def object_of(value):
    """The script's object of an object of Python's: a copy."""
    made = class_of(type(value)).new()
    for name, _, _ in made._class().attributes():
        made.setattr(name, getattr(value, name))
    return made
