"""From Python functions to scripts: their source, what their names mean, and the function that comes of it.

The compiler itself is native (script/); it asks here for names that neither the function nor the language defines.
"""
import sys
import types

from kindling import _C

_compiled = {}      # id of a Python function -> (the function, its ScriptFunction)


class NotSupportedError(RuntimeError):
    """The source of a function has something that scripts do not know."""


def source_of(function):
    """(text, file, first line, where the `def` begins): lines as they stand in the file, decorators included.

    OSError or TypeError where there is no source.
    """
    import inspect
    lines, first = inspect.getsourcelines(function)
    begin = 0
    depth = 0
    for line in lines:
        word = line.lstrip()
        if depth == 0 and (word.startswith("def ") or word.startswith("async def ")):
            break
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        begin += len(line)
    return "".join(lines), inspect.getsourcefile(function) or "<string>", first, begin


class Surroundings:
    """What names mean to a function: its closure, its globals, Python's own."""

    def __init__(self, function):
        self.function = function
        cells = function.__closure__ or ()
        self.closure = {}
        for name, cell in zip(function.__code__.co_freevars, cells):
            try:
                self.closure[name] = cell.cell_contents
            except ValueError:      # not set yet
                pass

    def find(self, dotted):
        """(whether it is there, the object)"""
        import builtins
        first, *rest = dotted.split(".")
        for scope in (self.closure, self.function.__globals__, builtins.__dict__):
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
            return self.type_text(name)
        there, value = self.find(name)
        return meaning_of(value, "." in name) if there else None

    def type_text(self, text):
        """The type that an annotation says, as scripts write it; None where the compiler reads it as it stands."""
        import re
        if not re.fullmatch(r"[A-Za-z_][\w.]*", text):
            # `typing.List[int]`, `list[torch.Tensor] | None`: names of modules in front of what the language knows go away
            plain = re.sub(r"\b(?:typing|t|collections\.abc)\.(?=[A-Z])", "", text)
            return plain if plain != text else None
        there, value = self.find(text)
        return annotation_text(value) if there else None


def annotation_text(kind):
    """A type of Python's as TorchScript writes it; None for one that it does not know."""
    import kindling as torch
    if kind is None or kind is type(None):
        return "None"
    if isinstance(kind, str):
        return kind
    if isinstance(kind, type) and issubclass(kind, torch.Tensor):
        return "Tensor"
    for python, name in ((bool, "bool"), (int, "int"), (float, "float"), (complex, "complex"), (str, "str"), (torch.device, "Device"), (torch.dtype, "int"),
                         (torch.Size, "List[int]"), (torch.Generator, "Generator"), (list, "list"), (tuple, "tuple")):
        if kind is python:
            return name
    origin, inside = getattr(kind, "__origin__", None), getattr(kind, "__args__", ())
    typing = sys.modules.get("typing")
    if typing is not None and kind is typing.Any:
        return "Any"
    if origin in (list, tuple, dict):
        name = {list: "List", tuple: "Tuple", dict: "Dict"}[origin]
        if inside == ((),) or (origin is tuple and not inside):
            return "Tuple[()]"
        parts = [annotation_text(each) for each in inside]
        return f"{name}[{', '.join(parts)}]" if all(parts) else None
    if type(kind) is types.UnionType or (typing is not None and origin is typing.Union):
        parts = [annotation_text(each) for each in inside]
        if not all(parts):
            return None
        if len(parts) == 2 and "None" in parts:
            return f"Optional[{next(each for each in parts if each != 'None')}]"
        return f"Union[{', '.join(parts)}]"
    return None


def meaning_of(value, of_module):
    """What the compiler makes of a Python object: see `Unit::outside` in bindings/script.cpp. None: nothing."""
    import kindling as torch
    if isinstance(value, types.ModuleType):
        return ("module",)
    if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format)) and of_module:
        return ("constant", value)
    if of_module and isinstance(value, (bool, int, float, complex, str)):
        return ("constant", value)
    if isinstance(value, type) and issubclass(value, BaseException):
        return ("exception", f"{value.__module__}.{value.__qualname__}")
    name = builtin_name(value)
    if name:
        return ("builtin", name)
    if isinstance(value, types.FunctionType):
        return compile_function(value)
    if isinstance(value, _C._script_function_type(None)):
        return value
    return None


def builtin_name(value):
    """ "aten::add" for an operator's function or one of Python's own that the language has; None for others."""
    import math
    module = getattr(value, "__module__", None)
    name = getattr(value, "__name__", None)
    if not isinstance(name, str) or isinstance(value, type):
        return None
    if isinstance(value, types.BuiltinFunctionType) and module == "math" and getattr(math, name, None) is value:
        return f"aten::{name}"
    if type(value).__name__ in ("builtin_function", "method_descriptor"):
        return f"aten::{name}"
    if isinstance(value, types.FunctionType) and isinstance(module, str) and module.partition(".")[0] in ("torch", "kindling") and _C._script_has(f"aten::{name}"):
        return f"aten::{name}"
    return None


def compile_function(function):
    """The ScriptFunction of a Python function, made once. RuntimeError that shows the line of what scripts do not know."""
    known = _compiled.get(id(function))
    if known is not None:
        return known[1]
    import inspect
    text, file, line, begin = source_of(function)
    unit = _C._script_unit(Surroundings(function))
    names = unit.define(text, file, line, begin, True)
    made = unit.get(names[0])
    defaults = {name: each.default for name, each in inspect.signature(function).parameters.items() if each.default is not inspect.Parameter.empty}
    if defaults:
        unit.set_defaults(names[0], defaults)
    made.__doc__ = function.__doc__
    made.__name__, made.__qualname__ = "ScriptFunction", "torch.jit.ScriptFunction"
    made._torchdynamo_inline = function
    _compiled[id(function)] = (function, made)
    return made


class CompilationUnit:
    """Functions of TorchScript's text, by name.

    >>> import kindling as torch
    >>> unit = torch.jit.CompilationUnit("def double(x):\\n    return x * 2")
    >>> unit.double(torch.tensor(3))
    tensor(6)
    """

    def __init__(self, lang=None, _frames_up=0):
        self._unit = _C._script_unit(None)
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang, rcb=None, _frames_up=0):
        """Adds the functions of a text. RuntimeError that shows the line of what is wrong in one."""
        names = self._unit.define(lang, "<string>", 1, 0, False)
        for name in names:
            self._unit.get(name)

    def find_function(self, name):
        """The function of that name, or None."""
        return self._unit.get(name)

    def get_functions(self):
        """All functions, in the order in which they stand."""
        return [self._unit.get(name) for name in self._unit.names()]

    def drop_all_functions(self):
        """Forgets all functions."""
        self._unit = _C._script_unit(None)

    def set_optimized(self, should_optimize):
        """Takes the switch and does nothing: what is optimised gives the same results."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        function = self._unit.get(name)
        if function is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")
        return function
