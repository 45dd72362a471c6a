"""From Python functions to scripts: their source, what their names mean, and the function that comes of it.

The compiler itself is native (script/); it asks here for names that neither the function nor the language defines.
"""
import sys
import types

from kindling import _C, _jit_internal

# What a class of Python's is in scripts, and one of modules: _classes and _recursive, which stand on this file, put it here.
class_of = module_class_of = None
_compiled = {}      # id of a Python function -> (the function, its ScriptFunction)


class FrontendError(Exception):
    """The source of a function is no TorchScript."""


class NotSupportedError(FrontendError):
    """The source of a function has something that scripts do not know."""


class UnsupportedNodeError(NotSupportedError):
    """The source of a function has a statement or an expression that scripts do not know."""


def source_of(function):
    """(text, file, first line, where the `def` begins): lines as they stand in the file, decorators included.

    OSError or TypeError where there is no source.
    """
    import inspect
    import linecache
    function = inspect.unwrap(function)
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"there is no source of {function}")
    code = function.__code__
    file, first = code.co_filename, code.co_firstlineno
    linecache.checkcache(file)
    # By the function's own globals: its __module__ may say another.
    all_lines = linecache.getlines(file, function.__globals__)
    if first > len(all_lines):
        raise OSError("could not get source code")
    lines = inspect.getblock(all_lines[first - 1:])
    begin = 0
    depth = 0
    for line in lines:
        word = line.lstrip()
        if depth == 0 and (word.startswith("def ") or word.startswith("async def ")):
            break
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        begin += len(line)
    return "".join(lines), file, first, begin


class Surroundings:
    """What names mean to a function: its closure, its globals, Python's own; then `more`."""

    def __init__(self, function, more=None):
        self.globals = function.__globals__
        self.more = more or {}
        self.closure = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                self.closure[name] = cell.cell_contents
            except ValueError:      # not set yet
                pass

    def find(self, dotted):
        """(whether it is there, the object)"""
        import builtins
        first, *rest = dotted.split(".")
        for scope in (self.closure, self.globals, self.more, builtins.__dict__):
            if first in scope:
                value = scope[first]
                break
        else:
            return False, None
        for name in rest:
            try:
                value = getattr(value, name)
            except AttributeError:
                return False, None
        return True, value

    def __call__(self, name, is_type):
        if is_type:
            return self.type_of(name)
        there, value = self.find(name)
        return meaning_of(value, "." in name) if there else None

    def type_of(self, text):
        """The type that an annotation says; None where the compiler reads it as it stands."""
        if text.isidentifier():
            there, value = self.find(text)
            return type_of_annotation(value, self) if there else None
        try:
            value = eval(text, {**self.globals, **self.more}, self.closure)
        except Exception:   # a name of TorchScript's that Python does not know here
            return None
        return type_of_annotation(value, self)


class Names(Surroundings):
    """What names mean where a text stands: the variables there."""

    def __init__(self, frame):
        self.closure, self.globals, self.more = frame.f_locals, frame.f_globals, {}


class Asked(Surroundings):
    """What names mean where a text is compiled: what a function says, or the variables of who asks. Nothing is kept afterwards."""

    def __init__(self):
        self.closure, self.globals, self.more = {}, {}, {}

    def compile(self, make, scope):
        self.globals = scope
        try:
            return make()
        finally:
            self.globals = {}


class Told(dict):
    """A scope that a function fills: ``rcb`` of PyTorch's ``define``."""

    def __init__(self, ask):
        self.ask = ask

    def __contains__(self, name):
        return self[name] is not None

    def __missing__(self, name):
        return self.ask(name)


def _plain_types():
    import kindling as torch
    return {None: "None", type(None): "None", bool: "bool", int: "int", float: "float", complex: "complex", str: "str", torch.device: "Device", torch.dtype: "int",
            torch.layout: "int", torch.memory_format: "int", torch.Generator: "Generator", list: "list", tuple: "tuple"}


def type_of_annotation(kind, surroundings=None):
    """The type of scripts that an annotation says; None for one that they do not know."""
    import kindling as torch
    make = _C._script_type
    if isinstance(kind, str):
        return surroundings.type_of(kind) if surroundings is not None else None
    try:
        plain = _plain_types().get(kind)
    except TypeError:       # not hashable
        return None
    if plain:
        return make(plain)
    if kind is torch.Size:
        return make("List", (make("int"),))
    typing = sys.modules.get("typing")
    if typing is not None:
        if kind is typing.Any:
            return make("Any")
        if isinstance(kind, typing.ForwardRef):
            return type_of_annotation(kind.__forward_arg__, surroundings)
    origin, inside = getattr(kind, "__origin__", None), getattr(kind, "__args__", ())
    if typing is not None and origin is typing.Final:
        return type_of_annotation(inside[0], surroundings)
    if origin in (list, tuple, dict) or type(kind) is types.UnionType or (typing is not None and origin is typing.Union):
        if inside == ((),):
            inside = ()
        parts = tuple(type_of_annotation(each, surroundings) for each in inside)
        if not all(parts):
            return None
        if origin in (list, tuple, dict):
            return make({list: "List", tuple: "Tuple", dict: "Dict"}[origin], parts) if origin is tuple or parts else None
        return make("Union", parts)
    # Whose annotation names it has loaded it; to load it takes as long as the rest of a first script.
    if inside and "kindling.futures" in sys.modules and origin is torch.futures.Future:
        inside = type_of_annotation(inside[0], surroundings)
        return make("Future", (inside,)) if inside else None
    if isinstance(kind, type):
        if issubclass(kind, torch.Tensor):
            return make("Tensor")
        found = class_of(kind, surroundings)
        if found is None and module_class_of and issubclass(kind, torch.nn.Module):     # isinstance(self.head, nn.Identity)
            found = module_class_of(kind)
        return found.type() if found is not None else None
    return None


def ScriptFunction_base():
    return _C._script_function_type(None)


def is_ignored(function):
    """Whether a mark says that it stays Python's: `ignore`, `unused`."""
    modifiers = _jit_internal.FunctionModifiers
    return getattr(function, "_torchscript_modifier", None) in (modifiers.IGNORE, modifiers.UNUSED, modifiers._DROP)


def meaning_of(value, of_module):
    """What the compiler makes of a Python object: see `outside_of` in bindings/script/script.cpp. None: nothing."""
    import kindling as torch
    if isinstance(value, types.ModuleType):
        return ("module",)
    if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format)) and of_module:
        return ("constant", value)
    if of_module and isinstance(value, (bool, int, float, complex, str)):
        return ("constant", value)
    form = _forms().get(id(value))
    if form:
        return ("special", form)
    if id(value) in _never():
        return ("special", "is_tracing")
    if isinstance(value, type):
        if type(value).__name__ == "_LegacyType":       # torch.FloatTensor
            return ("special", str(value.dtype))
        if value is torch.device:
            return ("builtin", "aten::device")
        if value is torch.Size:
            return ("builtin", "aten::Size")
        if value.__name__ == "OrderedDict" and issubclass(value, dict):
            return ("builtin", "aten::dict")
        if value is torch.Generator:
            return ("builtin", "aten::Generator")
        if value is torch.set_grad_enabled:
            return ("builtin", "aten::set_grad_enabled")
        if issubclass(value, BaseException):
            return ("exception", f"{value.__module__}.{value.__qualname__}")
        found = class_of(value, None)
        return ("type", found.type()) if found is not None else ("unusable", f"{type(value).__module__}.{type(value).__qualname__}", *_written_in_c(value))
    if isinstance(value, _C._script_function_type(None)):
        return value
    overloads = _jit_internal._overloads_of(value)
    if overloads:
        return ("functions", [compile_overload(value, each) for each in overloads])
    choice = getattr(value, "_chosen_by", None)
    if choice is not None:
        flag, place, default, if_true, if_false = choice
        return ("choice", flag, place, default, meaning_of(if_true, False), meaning_of(if_false, False))
    if isinstance(value, types.FunctionType):
        other = scripted_form(value)
        if other is not None:
            return meaning_of(other, of_module)
    if is_warn(value):
        return ("builtin", "aten::warn")
    name = builtin_name(value)
    if name:
        return ("builtin", name)
    if isinstance(value, types.FunctionType):
        if is_ignored(value):
            return foreign(value)
        if getattr(value, "_absent", False):
            value()         # says that it is not there yet
        if hasattr(value, "__prepare_scriptable__"):
            value = value.__prepare_scriptable__()
        try:
            return compile_function(value)
        except (RuntimeError, FrontendError):
            if (value.__module__ or "").partition(".")[0] not in ("kindling", "torch"):
                raise
            return ("builtin", f"aten::{value.__name__}")   # the package's own source is nothing that a program can mend
    if isinstance(value, types.MethodType) and not is_ignored(value.__func__):
        return ("unusable", "method")
    if of_module and value is None:
        return ("constant", None)
    return ("unusable", type(value).__name__, *_written_in_c(value))


def _written_in_c(value):
    """(value,) for a function or class without source and annotations: a script calls it, of as many tensors as are given, for a tensor."""
    return (value,) if isinstance(value, types.BuiltinFunctionType) or (isinstance(value, type) and value.__module__ == "builtins") else ()


def _forms():
    """Functions that are forms of the language, by their identity."""
    global _known_forms
    if _known_forms is None:
        import kindling as torch
        _known_forms = {id(_jit_internal.annotate): "annotate", id(_jit_internal.isinstance_): "isinstance", id(_jit_internal.is_scripting): "is_scripting",
                        id(_jit_internal.is_tracing): "is_tracing", id(torch.fork): "fork", id(torch.wait): "wait"}
    return _known_forms


def _never():
    """Functions of the package whose answer a script knows: nobody looks at its calls."""
    global _known_no
    if _known_no is None:
        from kindling import overrides
        from kindling.nn import _functional
        _known_no = {id(each) for each in (overrides.has_torch_function, overrides.has_torch_function_unary, overrides.has_torch_function_variadic,
                                           _functional.has_one, getattr(_functional, "has_any", None)) if each is not None}
    return _known_no


def is_warn(value):
    import warnings
    from kindling.nn import _functional
    return value is warnings.warn or value is _functional.warn


_known_forms = _known_no = None


def scripted_form(function):
    """What stands for a function of the package whose own source is no TorchScript; None: it is."""
    module = function.__module__ or ""
    if not module.startswith(("kindling.", "torch.")):
        return None
    from kindling.nn._functional import _scripted
    other = getattr(_scripted, function.__name__, None)
    if other is None or other is function:
        return None
    if getattr(other, "__module__", None) == _scripted.__name__ and not module.partition(".")[2].startswith(("nn.", "functional", "_VF")):
        return None
    return other


def foreign(function, takes_self=False):
    """A function that is called in Python, as the compiler wants to know it."""
    import inspect
    unwrapped = inspect.unwrap(function)
    surroundings = Surroundings(unwrapped)
    signature = _by_comment(unwrapped, inspect.signature(unwrapped), surroundings, takes_self)
    parameters = list(signature.parameters.values())[takes_self:]
    formals = []
    for each in parameters:
        kind = None if each.annotation is inspect.Parameter.empty else type_of_annotation(each.annotation, surroundings)
        has = each.default is not inspect.Parameter.empty
        formals.append((each.name, kind, has, each.default if has else None))
    given = signature.return_annotation
    result = _C._script_type("Tensor") if given is inspect.Signature.empty else type_of_annotation(given, surroundings)
    modifiers = _jit_internal.FunctionModifiers
    dropped = getattr(function, "_torchscript_modifier", None) in (modifiers.UNUSED, modifiers._DROP)
    return ("foreign", None if dropped else function, formals, result)


def _by_comment(function, signature, surroundings, takes_self):
    """A signature with the types of `# type: (int, Tensor) -> float`, where it has no annotations."""
    import re
    import typing
    if function.__annotations__:
        return signature
    try:
        found = re.search(r"^[^'\"#]*#\s*type:\s*(\(.*\))\s*->\s*([^#\n]+)", source_of(function)[0], re.M)
    except (OSError, TypeError):
        return signature
    if not found:
        return signature
    import kindling as torch
    scope = {**vars(typing), "torch": torch, "Tensor": torch.Tensor, **surroundings.globals, **surroundings.closure}
    types_ = eval(found[1][:-1].rstrip().removesuffix(",") + ",)" if found[1] != "()" else "()", scope)
    parameters = list(signature.parameters.values())
    parameters[takes_self:] = [each.replace(annotation=kind) for each, kind in zip(parameters[takes_self:], types_)]
    return signature.replace(parameters=parameters, return_annotation=eval(found[2], scope))


def builtin_name(value):
    """ "aten::add" for an operator's function or one of Python's own that the language has; None for others."""
    import math
    module = getattr(value, "__module__", None)
    name = getattr(value, "__name__", None)
    if not isinstance(name, str) or isinstance(value, type):
        return None
    if type(value).__name__ == "OpOverloadPacket":      # torch.ops.torchvision.nms
        return value._qualified_op_name
    if isinstance(value, types.BuiltinFunctionType) and module == "math" and getattr(math, name, None) is value:
        return f"aten::{name}"
    if type(value).__name__ in ("builtin_function", "method_descriptor"):
        return f"aten::{name}"
    if isinstance(value, types.BuiltinFunctionType) and (not module or module.partition(".")[0] in ("torch", "kindling")) and _C._script_has(f"aten::{name}"):
        return f"aten::{name}"
    if isinstance(value, types.FunctionType) and isinstance(module, str) and module.partition(".")[0] in ("torch", "kindling") and ".nn." not in module and _C._script_has(f"aten::{name}"):
        return f"aten::{name}"
    return None


def defaults_of(function):
    """The defaults of its parameters, by name."""
    import inspect
    return {name: each.default for name, each in inspect.signature(function).parameters.items() if each.default is not inspect.Parameter.empty}


def finish(made, function):
    made.__doc__ = function.__doc__
    made.__name__, made.__qualname__ = "ScriptFunction", "torch.jit.ScriptFunction"
    made._torchdynamo_inline = function
    return made


def compile_function(function):
    """The ScriptFunction of a Python function, made once. RuntimeError that shows the line of what scripts do not know."""
    known = _compiled.get(id(function))
    if known is not None:
        if known[1] is None:
            raise RuntimeError(f"function '{function.__name__}' is called recursively. Recursive calls are not supported")
        return known[1]
    import inspect
    text, file, line, begin = source_of(function)
    unit = _C._script_unit(Surroundings(inspect.unwrap(function)))     # whose text it is
    _compiled[id(function)] = (function, None)
    try:
        names = unit.define(text, file, line, begin, True, defaults_of(function))
        if not names:
            raise RuntimeError(f"Expected a single top-level function: {file}:{line}")   # a lambda
        made = finish(unit.get(names[0]), function)
    finally:
        del _compiled[id(function)]
    _compiled[id(function)] = (function, made)
    return made


def compile_overload(function, overload):
    """A function's body under the signature of one of its overloads."""
    known = _compiled.get(id(overload))
    if known is not None:
        return known[1]
    text, file, line, begin = source_of(function)
    head, head_file, head_line, head_begin = source_of(overload)
    unit = _C._script_unit(Surroundings(function))
    names = unit.define(text, file, line, begin, True, defaults_of(overload), (head, head_file, head_line, head_begin))
    made = finish(unit.get(names[0]), function)
    _compiled[id(overload)] = (overload, made)
    return made
