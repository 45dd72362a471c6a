"""``torch.ops``: operators by namespace, name and overload; what ``__torch_dispatch__`` is given."""
from kindling import _C

_overloads = {}      # (name, overload) -> OpOverload
_registered = {}     # namespace -> {name: OpOverloadPacket}, of operators that torch.library defines


class _Argument:
    """One argument or result of a schema."""

    __slots__ = ("name", "type", "is_list", "is_optional", "_has_default", "kwarg_only", "is_write", "default_value")

    def __init__(self, fields):
        (self.name, self.type, self.is_list, self.is_optional, self._has_default, self.kwarg_only, self.is_write,
         self.default_value) = fields

    def has_default_value(self):
        return self._has_default

    @property
    def alias_info(self):
        return self if self.is_write else None

    def __repr__(self):
        return self.name


class Schema:
    """An operator's signature: ``name``, ``overload_name``, ``arguments``, ``returns``."""

    def __init__(self, namespace, name, overload, text, arguments, returns):
        self.name = f"{namespace}::{name}"
        self.overload_name = overload
        self.arguments = [_Argument(fields) for fields in arguments]
        self.returns = [_Argument(fields) for fields in returns]
        self._text = text

    @property
    def is_mutable(self):
        return any(argument.is_write for argument in self.arguments)

    def __str__(self):
        namespace = self.name.partition("::")[0]
        return self._text if "::" in self._text.partition("(")[0] else f"{namespace}::{self._text}"

    __repr__ = __str__


class OpOverload:
    """One overload of an operator. Calling it goes to the core with nothing left to choose."""

    def __init__(self, packet, namespace, name, overload, call):
        self._packet = packet
        self.namespace = namespace
        self._opname = name
        self._overloadname = overload or "default"
        self._op = call
        self._raw = overload
        self.__name__ = f"{name}.{self._overloadname}"
        self.__qualname__ = self.__name__
        self.__module__ = f"torch._ops.{namespace}"

    def __call__(self, /, *args, **kwargs):
        return self._op(*args, **kwargs)

    redispatch = __call__

    def name(self):
        return f"{self.namespace}::{self._opname}" + (f".{self._raw}" if self._raw else "")

    @property
    def overloadpacket(self):
        return self._packet

    @property
    def _schema(self):
        schema = self.__dict__.get("_known_schema")
        if schema is None:
            text, arguments, returns = _C._schema_text(self._opname if self.namespace == "aten" else self.name_in_core, self._raw)
            schema = self._known_schema = Schema(self.namespace, self._opname, self._raw, text, arguments, returns)
        return schema

    @property
    def name_in_core(self):
        return f"{self.namespace}::{self._opname}"

    @property
    def tags(self):
        return []

    @property
    def is_view(self):
        return any(argument.alias_info for argument in self._schema.arguments)

    def decompose(self, *args, **kwargs):
        return NotImplemented

    def __hash__(self):
        return id(self)

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _find, (self.namespace, self._opname, self._raw)


class OpOverloadPacket:
    """All overloads of one operator: ``torch.ops.aten.add``."""

    def __init__(self, namespace, name, core_name, overloads):
        self._namespace = namespace
        self._name = name
        self._core_name = core_name
        self._overload_names = [each or "default" for each in overloads]
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{name}"

    def __call__(self, /, *args, **kwargs):
        function = self.__dict__.get("_function")
        if function is None:
            function = self._function = _C._operator_any(self._core_name)
        return function(*args, **kwargs)

    def __getattr__(self, overload):
        if overload[:2] == "__" or overload not in self._overload_names:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")
        value = _make(self, self._namespace, self._name, self._core_name, "" if overload == "default" else overload)
        setattr(self, overload, value)
        return value

    def overloads(self):
        return list(self._overload_names)

    def __iter__(self):
        return iter(self._overload_names)

    def __dir__(self):
        return ["overloads", *self._overload_names]

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._namespace}.{self._name}')>"

    def __str__(self):
        return f"{self._namespace}.{self._name}"

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return _packet, (self._namespace, self._name)


def _make(packet, namespace, name, core_name, overload):
    key = (core_name, overload)
    value = _overloads.get(key)
    if value is None:
        value = _overloads[key] = OpOverload(packet, namespace, name, overload, _C._overload(core_name, overload))
    return value


def _packet(namespace, name):
    return getattr(getattr(ops, namespace), name)


def _find(namespace, name, overload):
    return getattr(_packet(namespace, name), overload or "default")


def _overload(name, overload):
    """What the core asks for when it shows a call to Python."""
    namespace, separator, rest = name.partition("::")
    return _find(namespace if separator else "aten", rest if separator else name, overload)


class _Namespace:
    """``torch.ops.<name>``."""

    def __init__(self, name):
        self.name = name
        self.__name__ = self.__module__ = f"torch.ops.{name}"

    def __getattr__(self, name):
        if name[:2] == "__" and name in ("__file__", "__path__", "__wrapped__"):
            raise AttributeError(name)
        core_name = name if self.name == "aten" else f"{self.name}::{name}"
        overloads = _C._overload_names(core_name)
        if not overloads:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        value = OpOverloadPacket(self.name, name, core_name, overloads)
        setattr(self, name, value)
        return value

    def __dir__(self):
        names = _C._operator_names(0xFFFFFFFF)
        mark = self.name + "::"
        return [n[len(mark):] for n in names if n.startswith(mark)] if self.name != "aten" else [n for n in names if "::" not in n]

    def __repr__(self):
        return f"<torch.ops.{self.name}>"


class _Ops:
    """``torch.ops``."""

    __name__ = __module__ = "torch.ops"
    __file__ = "_ops.py"

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        value = _Namespace(name)
        setattr(self, name, value)
        return value

    def load_library(self, path):
        raise RuntimeError(f"{path}: libraries built for PyTorch cannot be loaded; they need its own C++ library")


class _Classes:
    """``torch.classes``: there are none."""

    def __getattr__(self, name):
        raise RuntimeError(f"Class {name} is not registered: TorchScript classes from C++ are not supported")


ops = _Ops()
classes = _Classes()
