"""``torch.ops``: operators by namespace, name and overload; what ``__torch_dispatch__`` is given."""
import sys

from kindling import _C
from kindling._operators import registry

_overloads = {}      # (name, overload) -> OpOverload


# The tags of what the core knows: by traits of operators (core/operator.h).
_TAGS = {"Random": "nondeterministic_seeded", "ShapeByValue": "dynamic_output_shape", "NumberByValue": "data_dependent_output"}


def _tags_of(facts):
    from kindling._native_names.keys import Tag

    return [getattr(Tag, tag) for trait, tag in _TAGS.items() if facts and trait in facts[5]]


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

    _overloadpacket = overloadpacket

    @property
    def _schema(self):
        schema = self.__dict__.get("_known_schema")
        if schema is None:
            from kindling._native_names.types import parse_schema

            found = _C._schema_text(self._core, self._raw)
            if found is None:
                from kindling import _absent
                raise _absent.Missing(f"torch.ops.{self.namespace}.{self.__name__} has no schema of its own in Kindling: the operator chooses by the arguments")
            text = found[0]
            schema = self._known_schema = parse_schema(text if "::" in text.partition("(")[0] else f"aten::{text}")
        return schema

    @property
    def name_in_core(self):
        return f"{self.namespace}::{self._opname}"

    @property
    def tags(self):
        added = registry.tags.get((self._core, self._raw), ())
        return [*added, *_tags_of(_C._operator_facts(self._core, self._raw))]

    @property
    def _nondeterministic_seeded(self):
        return any(tag.name == "nondeterministic_seeded" for tag in self.tags)

    @property
    def _core(self):
        return self._opname if self.namespace == "aten" else self.name_in_core

    def py_impl(self, key):
        """A decorator: the function serves this operator under a dispatch key."""
        def register(function):
            registry.add(self._core, self._raw, key if isinstance(key, str) else key.name, function, self.namespace, True)
            return function
        return register

    def has_kernel_for_dispatch_key(self, key):
        """Whether a kernel serves this operator under a key."""
        return _C._dispatch_has_kernel_for_dispatch_key(self.name(), key)

    def has_kernel_for_any_dispatch_key(self, keys):
        """Whether a kernel serves this operator under one of the keys of a set."""
        return _C._dispatch_has_kernel_for_any_dispatch_key(self.name(), keys)

    @property
    def is_view(self):
        arguments = self._schema.arguments
        return any(a.alias_info is not None for a in arguments) and not any(a.is_write for a in arguments)

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
            function = self._function = _C._packet_function(self._core_name)
        return function(*args, **kwargs)

    def __getattr__(self, overload):
        if overload[:2] != "__" and overload not in self._overload_names and self._namespace == "aten":
            from kindling import _absent
            if overload in _absent.overloads(self._name):
                # What PyTorch keeps apart and the core does not: the operator chooses by the arguments.
                value = OpOverload(self, "aten", self._name, "" if overload == "default" else overload, self)
                setattr(self, overload, value)
                return value
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


class _Namespace(type(sys)):
    """``torch.ops.<name>``."""

    def __init__(self, name):
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self.__name__ = self.__module__ = f"torch.ops.{name}"

    def __getattr__(self, name):
        if name == "name" or name[:2] == "__" and name in ("__file__", "__path__", "__wrapped__"):
            raise AttributeError(name)      # a copy in the making has no name yet
        core_name = name if self.name == "aten" else f"{self.name}::{name}"
        if self.name == "profiler" and name[:17] == "_record_function_":
            from kindling.autograd import profiler
            return getattr(profiler, name)
        overloads = _C._overload_names(core_name)
        if not overloads and self.name == "aten":
            from kindling import _absent
            names = _absent.overloads(name)
            if names:
                value = OpOverloadPacket("aten", name, core_name, names)
                value._function, value._overload_names, value._absent = _absent.function("torch.ops.aten", name, f"torch.ops.aten.{name}"), [], True
                setattr(self, name, value)
                return value
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


class _Quantized(_Namespace):
    """``torch.ops.quantized``: functions in Python, since packed weights are no tensors."""

    def __getattr__(self, name):
        from kindling._quantized import operators as _quantized_ops
        if name[:1] != "_" and name != "name" and callable(getattr(_quantized_ops, name, None)):
            value = self.__dict__[name] = _function_packet(name, getattr(_quantized_ops, name))
            return value
        return super().__getattr__(name)


def _function_packet(name, function):
    packet = OpOverloadPacket("quantized", name, f"quantized::{name}", ("default",))
    packet._function = function
    packet.default = OpOverload(packet, "quantized", name, "", function)
    return packet


class _Ops(type(sys)):
    """``torch.ops``."""

    __file__ = "_ops.py"

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        value = _Quantized(name) if name == "quantized" else _Namespace(name)
        setattr(self, name, value)
        return value

    def __dir__(self):
        spaces = {n.partition("::")[0] for n in _C._operator_names(0xFFFFFFFF) if "::" in n}
        return sorted(spaces | {"aten", "load_library", "loaded_libraries"})

    def __init__(self):
        super().__init__("torch.ops")
        self.loaded_libraries = set()

    def load_library(self, path):
        """Loads a library that registers operators with Kindling's C++ API; OSError for one that needs PyTorch's own.

        Nothing is loaded for the libraries whose operators are built in (``_BUILT_IN``), as the binaries of torchvision.
        """
        import os

        path = os.path.realpath(path)
        name = f"{os.path.basename(os.path.dirname(path))}/{os.path.basename(path).partition('.')[0]}"
        if name not in _BUILT_IN:
            import ctypes

            from kindling._start.alias import needed_libraries

            linked = [each for each in needed_libraries(path) if each.startswith(("libtorch", "libc10"))]
            if linked:
                raise OSError(f"Could not load this library: {path}: it needs PyTorch's own C++ library ({linked[0]})")
            ctypes.CDLL(path)
        elif _BUILT_IN[name]:
            __import__(_BUILT_IN[name])
        self.loaded_libraries.add(path)


# Libraries of packages whose operators Kindling has: folder and name, and the module that registers them, if they are not
# declared in operators/.
_BUILT_IN = {"torchvision/_C": "kindling._operators.boxes", "torchvision/image": "kindling._operators.images"}


class _Classes(type(sys)):
    """``torch.classes``: TorchScript classes from C++ libraries, by namespace; there are none."""

    __file__ = "_classes.py"

    def __init__(self):
        super().__init__("torch.classes")
        self.loaded_libraries = set()

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        space = _ClassSpace(name)
        setattr(self, name, space)
        return space

    def load_library(self, path):
        ops.load_library(path)


class _ClassSpace:
    def __init__(self, name):
        self.name, self.__name__ = name, f"torch.classes.{name}"

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        raise RuntimeError(f"Tried to instantiate class '{self.name}.{name}', but it does not exist! Ensure that it is registered via "
                           "torch::class_")


ops = _Ops()
classes = _Classes()


def _forget(name):
    """What is kept of a name is looked up anew."""
    namespace, _, short = name.rpartition("::")
    getattr(ops, namespace or "aten").__dict__.pop(short, None)
    for key in [key for key in _overloads if key[0] == name]:
        del _overloads[key]


registry.forgetters.append(_forget)
