"""Types and signatures of scripts as ``torch``'s objects."""
from kindling._native_names import types


class _Whole:
    """A type that is written by its name, whatever it is made of."""

    _parts = ()

    def containedTypes(self):
        return list(self._parts)

    elements = containedTypes

    def __str__(self):
        return self._name

    def _own(self):
        return self._name


class TupleType(_Whole, types.TupleType):
    """A named tuple's."""

    def __init__(self, name, parts, /):
        self._name, self._parts, self._inside = name, parts, ()


class EnumType(_Whole, types.EnumType):
    """An enumeration's."""

    def __init__(self, name, parts, /):
        super().__init__(name, parts[0], ())


class FunctionType(types._Named):
    """A function's: each is a type of its own."""


_WHOLE = {"NamedTuple": TupleType, "Enum": EnumType}
_MADE = {"List": types.ListType, "Optional": types.OptionalType, "Dict": types.DictType, "Future": types.FutureType}


def type_of(handle):
    """The type that a ``_ScriptType`` stands for."""
    text, name = handle.str(), str(handle)
    parts, outer = [type_of(each) for each in handle.parts()], name.partition("[")[0]
    whole = text.replace("<", "(").partition("(")[0]
    if outer in _MADE:
        made = _MADE[outer](*parts)
    elif outer in ("Tuple", "Union"):
        made = (types.TupleType if outer == "Tuple" else types.UnionType)(parts)
    elif whole in _WHOLE:
        made = _WHOLE[whole](name, parts)
    elif whole == "InterfaceType":
        made = types.InterfaceType(name)
    else:
        made = types._of_text(text)
        if type(made) is not types.ClassType:
            return made
    made._script_type = handle      # the class that is meant
    return made


class ScriptSchema(types.FunctionSchema):
    """The signature of a compiled function."""

    def __init__(self, name, text, formals, result, /):
        super().__init__(name, "", [types.Argument(each, type_of(kind), length or None, default, bool(keyword), None, bool(has)) for each, kind, length, default, has, keyword in formals],
                         [types.Argument("", type_of(result))])
        self._text = text

    def __str__(self):
        return self._text

    __repr__ = __str__


ScriptSchema.__name__, ScriptSchema.__qualname__, ScriptSchema.__module__ = "FunctionSchema", "FunctionSchema", types.PACKAGE
