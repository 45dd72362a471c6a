"""Types and signatures as TorchScript writes them: ``IntType``, ``ListType``, ``FunctionSchema``, ``parse_schema``."""
from kindling import _C

PACKAGE = _C.Size.__module__     # the name the package goes by


class Type:
    """A type of a script: equal when it says the same; ``str()`` gives its Python form."""

    def __init_subclass__(cls):
        cls.__module__ = PACKAGE

    def __new__(cls, *arguments, **keywords):
        if cls.__init__ is Type.__init__:
            raise TypeError(f"torch.{cls.__name__}: No constructor defined!")
        return object.__new__(cls)

    def __init__(self):
        self._inside = ()

    @classmethod
    def get(cls):
        """The one object of this type."""
        if "_one" not in cls.__dict__:
            cls._one = object.__new__(cls)
            cls._one._inside = ()
        return cls._one

    def kind(self):
        return type(self).__name__

    def containedTypes(self):
        return list(self._inside)

    def isSubtypeOf(self, other):
        """Whether a value of this type may stand where ``other`` is wanted."""
        if self == other or type(other) is AnyType:
            return True
        if type(other) is NumberType:
            return type(self) in (IntType, FloatType, ComplexType)
        if type(other) in (OptionalType, UnionType):
            if type(self) is UnionType:
                return all(each.isSubtypeOf(other) for each in self._inside)
            return type(other) is OptionalType and type(self) is NoneType or any(self.isSubtypeOf(each) for each in other._inside)
        if type(self) is TupleType and type(other) is TupleType and len(self._inside) == len(other._inside):
            return all(a.isSubtypeOf(b) for a, b in zip(self._inside, other._inside))
        return False

    def is_interface_type(self):
        return type(self) is InterfaceType

    def str(self):
        """The form in schemas: ``int[]``, ``Tensor?``."""
        return _in_schema(self)

    @property
    def annotation_str(self):
        return self.__str__()

    def __str__(self):
        inside = ", ".join(map(str, self._inside))
        return f"{self._name}[{inside}]" if inside else self._name

    def __repr__(self):
        return self.__str__()

    def __eq__(self, other):
        return type(self) is type(other) and self._inside == other._inside and self._own() == other._own()

    __hash__ = None

    def _own(self):
        return None

    def __reduce__(self):
        return (_single, (type(self).__name__,)) if type(self).__init__ is Type.__init__ else (type(self), self._arguments())

    def _arguments(self):
        return self._inside


def _single(name):
    return globals()[name].get()


def _simple(name, text):
    return type(name, (Type,), {"_name": text, "__doc__": f"The type `{text}`.", "__qualname__": name})


AnyType = _simple("AnyType", "Any")
BoolType = _simple("BoolType", "bool")
ComplexType = _simple("ComplexType", "complex")
DeviceObjType = _simple("DeviceObjType", "Device")
FloatType = _simple("FloatType", "float")
IntType = _simple("IntType", "int")
NoneType = _simple("NoneType", "NoneType")
NumberType = _simple("NumberType", "number")
PyObjectType = _simple("PyObjectType", "PyObject")
StreamObjType = _simple("StreamObjType", "Stream")
StringType = _simple("StringType", "str")
SymBoolType = _simple("SymBoolType", "bool")
SymIntType = _simple("SymIntType", "int")
_GeneratorType = _simple("_GeneratorType", "Generator")
_StorageType = _simple("_StorageType", "Storage")
_ScalarTypeType = _simple("_ScalarTypeType", "ScalarType")
_LayoutType = _simple("_LayoutType", "Layout")
_QSchemeType = _simple("_QSchemeType", "QScheme")
_MemoryFormatType = _simple("_MemoryFormatType", "MemoryFormat")


class TensorType(Type):
    """The type `Tensor`, with dtype, device and sizes where they are known."""

    _name = "Tensor"
    _known = (None, None, None, None, None)   # dtype, device, sizes, strides, requires_grad

    @classmethod
    def getInferred(cls):
        """What an argument without annotation has."""
        return cls.get()

    @classmethod
    def create_from_tensor(cls, tensor):
        """A type with all that is known of a tensor."""
        made = object.__new__(cls)
        made._inside = ()
        made._known = (tensor.dtype, tensor.device, list(tensor.shape), list(tensor.stride()), tensor.requires_grad)
        return made

    def _own(self):
        return self._known

    def _change(self, place, value):
        made = object.__new__(TensorType)
        made._inside = ()
        made._known = self._known[:place] + (value,) + self._known[place + 1:]
        return made

    def isSubtypeOf(self, other):
        if type(other) is TensorType:
            return all(b is None or a == b for a, b in zip(self._known, other._known))
        return super().isSubtypeOf(other)

    def dtype(self):
        return self._known[0]

    def device(self):
        return self._known[1]

    def sizes(self):
        return self._known[2]

    varyingSizes = sizes

    def strides(self):
        return self._known[3]

    def requires_grad(self):
        return bool(self._known[4])

    def dim(self):
        return None if self._known[2] is None else len(self._known[2])

    def with_dtype(self, dtype):
        return self._change(0, dtype)

    def with_device(self, device):
        return self._change(1, device)

    def with_sizes(self, sizes):
        return self._change(2, None if sizes is None else list(sizes))


class _Holder(Type):
    """A type around another one."""

    def __init__(self, element, /):
        if not isinstance(element, Type):
            raise TypeError(f"{type(self).__name__}(): incompatible constructor arguments: expected a torch._C.Type, "
                            f"not {type(element).__name__}")
        self._inside = (element,)

    def getElementType(self):
        return self._inside[0]


class ListType(_Holder):
    """`List[T]`."""

    _name = "List"
    ofInts, ofTensors, ofFloats, ofComplexDoubles, ofBools, ofStrings = (
        staticmethod(lambda name=name: ListType(globals()[name].get()))
        for name in ("IntType", "TensorType", "FloatType", "ComplexType", "BoolType", "StringType"))


class OptionalType(_Holder):
    """`Optional[T]`."""

    _name = "Optional"

    @staticmethod
    def ofTensor():
        return OptionalType(TensorType.get())


class FutureType(_Holder):
    """`Future[T]`."""

    _name = "Future"


class RRefType(_Holder):
    """`RRef[T]`."""

    _name = "RRef"


class AwaitType(_Holder):
    """`Await[T]`."""

    _name = "Await"


class DictType(Type):
    """`Dict[K, V]`."""

    _name = "Dict"

    def __init__(self, key, value, /):
        self._inside = (key, value)

    def getKeyType(self):
        return self._inside[0]

    def getValueType(self):
        return self._inside[1]


class TupleType(Type):
    """`Tuple[...]`."""

    _name = "Tuple"

    def __init__(self, elements, /):
        self._inside = tuple(elements)

    def elements(self):
        return list(self._inside)

    def __str__(self):
        return super().__str__() if self._inside else "Tuple[()]"

    def _arguments(self):
        return (self._inside,)


class UnionType(TupleType):
    """`Union[...]`: any of several types; those that others cover are left out."""

    _name = "Union"

    def __init__(self, elements, /):
        kept = []
        for each in elements:
            if each not in kept:
                kept.append(each)
        self._inside = tuple(kept)


class _Named(Type):
    def __init__(self, name, /):
        self._inside, self._name = (), name

    def _own(self):
        return self._name

    def name(self):
        return self._name.rpartition(".")[2]

    def qualified_name(self):
        return self._name

    def _arguments(self):
        return (self._name,)


class ClassType(_Named):
    """A class known to scripts, by its qualified name."""

    def method_names(self):
        return []


class InterfaceType(_Named):
    """An interface known to scripts, by its qualified name."""

    def getMethodNames(self):
        return []

    def getMethod(self, name):
        return None


class EnumType(_Named):
    """An enumeration: qualified name, type of its values, the values by name."""

    def __init__(self, name, value_type, members, /):
        self._inside, self._name, self._members = (value_type,), name, list(members)

    def __str__(self):
        return f"Enum<{self._name}>"

    def _arguments(self):
        return (self._name, self._inside[0], self._members)


class InferredType:
    """A type that was inferred, or the reason why none could be."""

    def __init__(self, what, /):
        self._type, self._reason = (what, "") if isinstance(what, Type) else (None, str(what))

    def success(self):
        return self._type is not None

    def type(self):
        if self._type is None:
            raise RuntimeError("type_ INTERNAL ASSERT FAILED: Tried to get the type from an InferredType but the type is null.")
        return self._type

    def reason(self):
        return self._reason


def unify_type_list(types):
    """The one type that all of a list can have; RuntimeError when there is none."""
    if not types:
        raise RuntimeError("Cannot get unified type from empty list")
    best = types[0]
    for place, each in enumerate(types[1:], 1):
        if each.isSubtypeOf(best):
            continue
        if best.isSubtypeOf(each):
            best = each
        elif type(best) is NoneType or type(each) is NoneType:
            other = each if type(best) is NoneType else best
            best = other if type(other) is OptionalType else OptionalType(other)
        else:
            raise RuntimeError(f"Could not unify type list since element {place} of type {each} did not match the types before it ({best})")
    return best


# ---- signatures

_WORDS = {"Tensor": TensorType, "Scalar": NumberType, "int": IntType, "float": FloatType, "bool": BoolType, "str": StringType,
          "ScalarType": _ScalarTypeType, "Layout": _LayoutType, "Device": DeviceObjType, "MemoryFormat": _MemoryFormatType,
          "Generator": _GeneratorType, "Storage": _StorageType, "Any": AnyType, "SymInt": SymIntType, "SymBool": SymBoolType,
          "complex": ComplexType, "number": NumberType, "NoneType": NoneType, "Stream": StreamObjType, "QScheme": _QSchemeType,
          "PyObject": PyObjectType, "Dimname": StringType, "SymFloat": FloatType}


def _in_schema(kind):
    if type(kind) is TensorType and kind._known[0] is not None:
        dtype, device, sizes, strides, grad = kind._known
        parts = [str(each) for each in sizes or ()] + ([f"strides={strides}"] if strides else [])
        parts += ([f"requires_grad={int(grad)}"] if grad is not None else []) + ([f"device={device}"] if device else [])
        return next(name for name, each in _C._scalar_types().items() if each is dtype) + (f"({', '.join(parts)})" if parts else "")
    if type(kind) is ListType:
        return _in_schema(kind._inside[0]) + "[]"
    if type(kind) is OptionalType:
        return _in_schema(kind._inside[0]) + "?"
    if type(kind) is TupleType:
        return "(" + ", ".join(map(_in_schema, kind._inside)) + ")"
    if kind._inside and type(kind) is not EnumType:
        return f"{kind._name}({', '.join(map(_in_schema, kind._inside))})"
    for word, known in _WORDS.items():
        if type(kind) is known:
            return word
    return str(kind)


def _plain(kind):
    """A type with what scripts see of it: a dtype is a number."""
    if isinstance(kind, _Holder):
        return type(kind)(_plain(kind._inside[0]))
    return IntType.get() if type(kind) in (_ScalarTypeType, _LayoutType, _MemoryFormatType, _QSchemeType) else kind


class _AliasInfo:
    """Which memory an argument shares, and whether it is written: ``(a!)``."""

    def __init__(self, text):
        before, arrow, after = text.partition("->")
        self.is_write = "!" in text
        self.before_set = {w.strip(" !") for w in before.split("|")}
        self.after_set = {w.strip(" !") for w in after.split("|") if w.strip()} if arrow else set(self.before_set)
        self._text = text


class Argument:
    """One argument or result of a signature."""

    def __init__(self, name, type, N=None, default_value=None, kwarg_only=False, alias_info=None, has_default=None):
        self.name, self.real_type, self.N, self.default_value = name, type, N, default_value
        self.type = _plain(type)
        self.kwarg_only, self.alias_info = kwarg_only, alias_info
        self._has_default = default_value is not None if has_default is None else has_default

    @property
    def is_write(self):
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self):
        return self.kwarg_only and self.is_write

    def has_default_value(self):
        return self._has_default

    def _text(self):
        text, inner = _in_schema(self.real_type), self.real_type
        optional = type(inner) is OptionalType
        inner = inner._inside[0] if optional else inner
        if self.N is not None:
            text = _in_schema(inner._inside[0]) + f"[{self.N}]" + "?" * optional
        if self.alias_info is not None:
            head = text.rstrip("[]?0123456789")
            text = f"{head}({self.alias_info._text}){text[len(head):]}"
        if self.name:
            text += " " + self.name
        if not self._has_default:
            return text
        value = self.default_value
        return text + "=" + _literal(value[0] if self.N is not None and isinstance(value, list) and len(set(value)) == 1 else value)


def _literal(value):
    if isinstance(value, str):
        return '"' + value + '"'
    if isinstance(value, float):
        return f"{value:.17g}" if value % 1 or abs(value) > 1e15 else f"{value:.0f}."
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return str(value)


class FunctionSchema:
    """The signature of an operator: ``name``, ``overload_name``, ``arguments``, ``returns``."""

    def __init__(self, name, overload_name, arguments, returns, is_vararg=False, is_varret=False):
        self.name, self.overload_name = name, overload_name
        self.arguments, self.returns = list(arguments), list(returns)
        self.is_vararg, self.is_varret = is_vararg, is_varret

    @property
    def is_mutable(self):
        return any(argument.is_write for argument in self.arguments)

    def is_backward_compatible_with(self, old):
        """Whether calls written for ``old`` still mean the same."""
        mine, before = self.arguments, old.arguments
        if (self.name, self.overload_name) != (old.name, old.overload_name) or len(self.returns) != len(old.returns):
            return False
        if not all(a.real_type.isSubtypeOf(b.real_type) for a, b in zip(self.returns, old.returns)):
            return False
        positional = [a for a in mine if not a.kwarg_only]
        if len(mine) < len(before) or any(
                b.name != a.name or not b.real_type.isSubtypeOf(a.real_type) or b.has_default_value() and (
                    not a.has_default_value() or a.default_value != b.default_value)
                for a, b in zip(positional, (b for b in before if not b.kwarg_only))):
            return False
        return all(a.has_default_value() for a in mine if a.name not in {b.name for b in before})

    def check_forward_compatible_with(self, old):
        """Whether new calls work where only ``old`` is known: (answer, reason)."""
        return (True, "") if old.is_backward_compatible_with(self) else (False, f"{self} is not forward compatible with {old}")

    def __str__(self):
        parts, keyword = [], False
        for argument in self.arguments:
            if argument.kwarg_only and not keyword:
                keyword = True
                parts.append("*")
            parts.append(argument._text())
        if self.is_vararg:
            parts.append("...")
        results = [result._text() for result in self.returns]
        returns = results[0] if len(results) == 1 else f"({', '.join(results)})"
        name = self.name + ("." + self.overload_name if self.overload_name else "")
        return f"{name}({', '.join(parts)}) -> {returns}"

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


class _Reader:
    """A schema's text, read from left to right."""

    def __init__(self, text):
        import re
        self.text, self.at, self.match, self.fresh = text, 0, re.compile, 0
        self.space, self.word = re.compile(r"\s*"), re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
        self.value = re.compile(r'"[^"]*"|\'[^\']*\'|[-+]?(?:inf|nan|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)')
        self.dots = re.compile(r"[A-Za-z_][A-Za-z0-9_.:]*")
        self.alias = re.compile(r"\(\s*([a-z*][\w*| ]*!?(?:\s*->\s*[a-z*|\w ]+)?)\)")

    def fail(self, wanted):
        raise RuntimeError(f"expected {wanted} here:\n{self.text}\n{' ' * self.at}~ <--- HERE")

    def take(self, mark):
        self.at = self.space.match(self.text, self.at).end()
        if self.text.startswith(mark, self.at):
            self.at += len(mark)
            return True
        return False

    def need(self, mark):
        if not self.take(mark):
            self.fail(f"'{mark}'")

    def read(self, pattern, wanted):
        self.at = self.space.match(self.text, self.at).end()
        found = pattern.match(self.text, self.at)
        if not found:
            self.fail(wanted) if wanted else None
            return None
        self.at = found.end()
        return found.group()

    def kind(self):
        """(type, length of a list, alias)"""
        if self.take("("):
            inside = []
            while not self.take(")"):
                inside.append(self.kind()[0])
                self.take(",")
            made = TupleType(inside)
        else:
            start = self.at
            word = self.read(self.dots, "a type")
            if word in ("Dict", "Future", "RRef", "Await", "Union"):
                self.need("(")
                inside = [self.kind()[0]]
                while self.take(","):
                    inside.append(self.kind()[0])
                self.need(")")
                made = {"Dict": DictType, "Future": FutureType, "RRef": RRefType, "Await": AwaitType}[word](*inside) \
                    if word != "Union" else UnionType(inside)
            elif word in _WORDS:
                made = _WORDS[word].get()
            elif word in _C._scalar_types():
                made = self.seen(_C._scalar_types()[word])
            elif word.startswith("__torch__"):
                made = ClassType(word)
            elif word[0].islower() and word.isalpha() and len(word) <= 2:
                made = _Named(word)      # a type variable: t, tVal
            else:
                self.at = start
                raise RuntimeError(f"Unknown type specifier: {word}\n{self.text}\n{' ' * start}~ <--- HERE")
        alias, length = None, None
        found = self.alias.match(self.text, self.at)
        if found:
            alias, self.at = _AliasInfo(found.group(1)), found.end()
        elif self.text.startswith("!", self.at):    # mutated, and nothing else aliases it
            alias, self.at, self.fresh = _AliasInfo(f"${self.fresh}! -> "), self.at + 1, self.fresh + 1
        while True:
            if self.take("["):
                number = self.read(self.match(r"\d+"), None)
                self.need("]")
                made, length = ListType(made), int(number) if number else None
            elif self.take("?"):
                made = OptionalType(made)
            else:
                return made, length, alias

    def seen(self, dtype):
        """What a tensor looked like: ``(2, 3, strides=[3, 1], requires_grad=0, device=cpu)``, or nothing more."""
        import kindling
        found = self.read(self.match(r"\((?:[^()\[\]]|\[[^\]]*\])*\)"), None) or "()"
        strides = self.match(r"strides=\[([^\]]*)\]").search(found)
        plain = found if strides is None else found[:strides.start()] + found[strides.end():]
        parts = [each.strip() for each in plain[1:-1].split(",") if each.strip()]
        known = dict(each.split("=") for each in parts if "=" in each)
        sizes = [int(each) if each.isdigit() else None for each in parts if "=" not in each]
        made = object.__new__(TensorType)
        made._inside = ()
        made._known = (dtype, kindling.device(known["device"]) if "device" in known else None, sizes if sizes or "requires_grad" in known else None,
                       [int(each) for each in strides.group(1).split(",")] if strides else [] if "requires_grad" in known else None,
                       known["requires_grad"] == "1" if "requires_grad" in known else None)
        return made

    def literal(self, kind):
        while type(kind) is OptionalType:
            kind = kind._inside[0]
        if self.take("["):
            values = []
            while not self.take("]"):
                values.append(self.literal(kind._inside[0] if kind._inside else kind))
                self.take(",")
            return values
        word = self.read(self.word, None) if self.text[self.at:self.at + 3] not in ("inf", "nan") else None
        if word is not None:
            known = {"None": None, "True": True, "False": False, "true": True, "false": False, "Mean": 1, "Sum": 2, "strided": 0,
                     "contiguous_format": 0, "long": 4, "float": 6, "double": 7, "int": 3}
            if word not in known:
                self.fail("a default value")
            return known[word]
        text = self.read(self.value, "a default value")
        if text[0] in "\"'":
            return text[1:-1]
        if type(kind) is FloatType or "." in text or "e" in text.lower() or "n" in text:
            return float(text)
        return [int(text)] if type(kind) is ListType else int(text)


def _of_text(text):
    """The type that a graph or a schema writes so."""
    return _Reader(text).kind()[0]


def parse_schema(schema, allow_typevars=True):
    """A :class:`FunctionSchema` of its text; RuntimeError that shows the place where it is not one.

    >>> torch.parse_schema("mine::twice(Tensor x, int n=2) -> Tensor").arguments[1].default_value
    2
    """
    reader = _Reader(schema)
    name = reader.read(reader.dots, "a name")
    name, _, overload = name.partition(".")
    reader.need("(")
    arguments, keyword, vararg = [], False, False
    while not reader.take(")"):
        if arguments or keyword:
            reader.need(",")
        if reader.take("..."):
            vararg = True
            reader.need(")")
            break
        if reader.take("*"):
            keyword = True
            continue
        kind, length, alias = reader.kind()
        word = reader.read(reader.word, "an argument's name")
        default, given = None, reader.take("=")
        if given:
            default = reader.literal(kind)
            if length is not None and isinstance(default, list) and len(default) == 1:
                default = default * length
        arguments.append(Argument(word, kind, length, default, keyword, alias, given))
    reader.need("->")
    returns, varret = [], False

    def result():
        kind, length, alias = reader.kind()
        returns.append(Argument(reader.read(reader.word, None) or "", kind, length, None, False, alias, False))
    if reader.take("..."):
        varret = True
    elif reader.take("("):
        while not reader.take(")"):
            if returns:
                reader.need(",")
            if reader.take("..."):
                varret = True
            else:
                result()
    else:
        result()
    if reader.text[reader.at:].strip():
        reader.fail("the end")
    return FunctionSchema(name, overload, arguments, returns, vararg, varret)


for _each in (Type, Argument, FunctionSchema, InferredType):
    _each.__module__ = PACKAGE
