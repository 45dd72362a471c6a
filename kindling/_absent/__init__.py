"""Names of PyTorch for what is not here: each can be imported, handed on, subclassed and used as a decorator's target; using it raises.

The names stand in tables beside this file, one for each part of torch, written by ``python tools/surface.py`` from PyTorch itself less
what Kindling has; NEEDS below says, by hand, what each part would need. A module that is in a table alone comes from ``spec``; one that
is a file of ours asks ``find`` for the names it has not got. Nothing here is loaded before such a name is asked for.

A table is lines of a module's path below torch (``/`` behind it: a package) and its names:

    name()  name()no                a function, one that is asked whether something is there or on, and it is not
    Name                            a class; Name(Base;Base) its bases, Name:method,*property what it has
    Name<field;field=1>             a record with these fields, which can be made and read
    Name{A=1;B=2}                   an enumeration
    Name!(Base)                     an exception
    name=literal  name~Any  name?   a value, something for annotations (of typing), an object that can only be named
    name@module  name@module:other  what is defined there

`ops` has overloads of operators instead: name:overload,overload.
"""
import sys
from _thread import get_ident

import kindling
from kindling._importer import with_absent

_QUANTISED = "needs quantised operators that are not there yet; dynamic quantisation of linear and recurrent layers is"

# What would be needed, by the beginning of a name below torch; the longest one counts. The tables have no other text.
NEEDS = {
    "": "is not there yet in Kindling",
    "_C": "belongs to the inside of PyTorch's C++ library",
    "_dynamo": "belongs to PyTorch's compiler, which reads bytecode; Kindling runs the function itself",
    "_export": "needs graphs of whole programs, which come with compilation",
    "_functorch": "belongs to PyTorch's compiler",
    "_inductor": "belongs to PyTorch's code generator",
    "_subclasses": "needs tensors without data in place of real ones, which come with compilation",
    "ao": _QUANTISED,
    "ao.pruning": "is not there yet; torch.nn.utils.prune is",
    "ao.ns": "compares quantised models, and quantised tensors are not there yet",
    "ao.quantization": "belongs to static quantisation or to quantisation of graphs, which are not there yet; dynamic quantisation of linear and recurrent layers is",
    "compiler": "needs compiled code, and functions run as they are",
    "cpp": "wraps modules of PyTorch's own C++ library, which is not in the process",
    "cuda": "needs an NVIDIA GPU, and this build is for CPUs: Torch not compiled with CUDA enabled",
    "distributed": "needs several processes, and Kindling has worlds of one process",
    "distributed.elastic": "starts and watches groups of processes, and Kindling has worlds of one process",
    "distributed.rpc": "calls other processes, and Kindling has worlds of one process",
    "export": "needs graphs of whole programs, which come with compilation",
    "fx": "is not there yet in Kindling",
    "fx.experimental": "needs symbolic shapes or PyTorch's tracers below autograd, which come with compilation",
    "fx.passes": "belongs to PyTorch's compilers, which work on graphs of whole programs",
    "jit": "needs scripts, which come with compilation; call the function itself",
    "monitor": "belongs to PyTorch's monitoring of servers",
    "mps": "needs an Apple GPU",
    "mtia": "needs an MTIA device",
    "nativert": "needs graphs of whole programs, which come with compilation",
    "nn.intrinsic": _QUANTISED,
    "nn.parallel": "needs devices beside the CPU, and there are none",
    "nn.qat": _QUANTISED,
    "nn.quantizable": _QUANTISED,
    "nn.quantized": _QUANTISED,
    "numa": "binds processes to nodes of memory, which Kindling leaves to numactl",
    "ops": "is an operator of PyTorch's that is not there yet",
    "onnx": "needs graphs of whole programs, which come with compilation",
    "package": "stores Python code in archives that run as they are loaded, which Kindling refuses; use torch.save",
    "quantization": _QUANTISED,
    "sparse": "needs a GPU that multiplies tensors with two of four elements",
    "utils.bundled_inputs": "needs scripts, which come with compilation",
    "utils.cpp_extension": "builds against PyTorch's C++ library; Kindling's own is found by find_package(Kindling)",
    "utils.data": "belongs to data pipes of data frames or to decoders of files, which are not there",
    "utils.hipify": "rewrites PyTorch's own CUDA sources",
    "utils.jit": "needs scripts, which come with compilation",
    "utils.mkldnn": "needs oneDNN's own tensors",
    "utils.mobile_optimizer": "needs scripts, which come with compilation",
    "utils.model_dump": "shows scripts, which come with compilation",
    "xpu": "needs an Intel GPU",
}

# Modules of settings, which are kept.
SETTINGS = ("_dynamo.config", "_functorch.config", "_inductor.config", "compiler.config", "distributed.config", "fx.config",
            "fx.experimental._config")

# Marks and registrations for what is not here: decorators give the function itself, and nobody asks for what is registered.
MARKS = ("distributed.elastic.metrics.api.prof", "distributed.elastic.multiprocessing.errors.record",
         "onnx._internal.torchscript_exporter.symbolic_helper.parse_args", "onnx._internal.torchscript_exporter.utils.register_custom_op_symbolic")

# What questions to PyTorch's compiler and tracers give where nothing is compiled or traced.
ANSWERS = {"_guards.active_fake_mode": None, "_guards.detect_fake_mode": None, "_subclasses.fake_tensor.is_fake": False,
           "_subclasses.fake_tensor.maybe_get_fake_mode": None}

# What is there under another path: of a whole module, or one name.
SAME = {"_dynamo.decorators": "_dynamo", **dict.fromkeys((f"jit.{each}" for each in ("_async", "_freeze", "_fuser", "_script", "_serialization")), "jit"),
        "_inductor.cudagraph_mark_step_begin": "compiler", "_tensor._rebuild_from_type_v2": "_utils"}

_SIGN = "()<{=~?@:!"
_tables = {}
_BUSY = set()
_found = {}     # what two threads make at once is one object


class Missing(NotImplementedError, AttributeError):
    """Says what a name would need. Also an AttributeError, so that `hasattr` and `getattr` with a default go on."""


def why(path):
    """What a name below torch would need."""
    while path not in NEEDS:
        path = path.rpartition(".")[0]
    return NEEDS[path]


def table(area):
    """{module: (is a package, {name: how it is declared})} of one part; ``""`` for names of torch itself."""
    found = _tables.get(area)
    if found is None:
        full = f"kindling._absent.{area or 'torch'}"
        found = {}
        try:
            lines = __import__(full, fromlist=("__name__",)).TABLE.strip().splitlines()
        except ModuleNotFoundError as error:
            if error.name != full:
                raise
        else:
            for line in lines:
                module, *names = line.split()
                declared = {}
                for each in names:
                    end = next((at for at, sign in enumerate(each) if sign in _SIGN), len(each))
                    declared[each[:end]] = each[end:]
                found[module.strip("/.")] = module[-1] == "/", declared
        _tables[area] = found
    return found


def names(module):
    """{name: how it is declared} of a module, by its path below torch."""
    return table(module.partition(".")[0]).get(module, (False, {}))[1]


def spec(name, path):
    """The import system's spec of a module that is in a table and no file; None if it is not."""
    below = name[9:]
    area = below.partition(".")[0]
    # Name spaces of the native module are its attributes (kindling/_native_names/private.py).
    known = None if area in ("_absent", "ops", "_C") else table(area).get(below)
    if known is None:
        return None
    made = type(sys.__spec__)(name, _Loader, origin="declared")
    if known[0]:
        leaf = "/" + below.rpartition(".")[2]
        made.submodule_search_locations = [each + leaf for each in path or kindling.__path__]
    return made


class _Loader:
    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        below = module.__spec__.name[9:]
        module.__name__ = _package(below)
        if kindling.__name__ != "kindling":
            sys.modules.setdefault(module.__name__, module)
        module.__doc__ = f"torch.{below} {why(below)}: names that can be imported and handed on."
        declared = names(below)
        if below in SETTINGS:
            from kindling._common import settings as _settings
            _settings.install(module, below, declared, lambda name: find(below, name))
            return
        module.__all__ = [each for each in declared if each[0] != "_"]
        with_absent(module, vars(module))


def find(module, name):
    """The object of that name in a module (its path below torch), made on first use; AttributeError if none is declared."""
    how = names(module).get(name)
    below = f"{module}.{name}" if module else name
    if how is None and below in table(below.partition(".")[0]):
        return kindling._import("kindling." + below)
    asked = get_ident(), module, name       # another thread may ask for the same name at the same time
    if how is None or asked in _BUSY:
        raise AttributeError(f"module '{f'{kindling.__name__}.{module}' if module else 'torch'}' has no attribute '{name}'")
    _BUSY.add(asked)        # what is declared as another module's, which has it not after all
    try:
        return _found.setdefault((module, name), _made(module, name, how))
    finally:
        _BUSY.discard(asked)


def _made(module, name, how):
    full = f"torch.{module}.{name}" if module else f"torch.{name}"
    sign = how[:1]
    if sign == "@":
        home, _, other = how[1:].partition(":")
        if not home:
            home, _, name = other.rpartition(".")
            if home == "_C":        # its name spaces are attributes, and no modules
                return resolve(home, name)
            return kindling._import("kindling." + other)
        return resolve(home, other or name)
    if sign == "=":
        import ast
        return ast.literal_eval(how[1:])
    if sign == "~":
        import typing
        return getattr(typing, how[1:] or "Any")
    if how == "?":
        return type(name, (_Object,), {"_text": f"{full} {why(full[6:])}"})()
    if full[6:] in ANSWERS:
        return answer(_package(module), name, ANSWERS[full[6:]])
    if full[6:] == "_subclasses.fake_tensor.unset_fake_temporarily":
        from kindling._common import eagerly as _eagerly
        return _eagerly.Block
    home = SAME.get(full[6:]) or SAME.get(module)
    if home:
        value = getattr(kindling._import("kindling." + home), name, None)
        if value is not None:
            return value
    if full[6:] in MARKS:
        from kindling._common import eagerly as _eagerly
        return _eagerly.mark(name)
    # What is not there is not available, whatever PyTorch says of its own.
    if how == "()no" or name == "is_available":
        return answer(_package(module), name)
    if how == "()":
        return function(_package(module), name, full)
    return _class(_package(module), name, how, full)


def _package(module):
    return f"{kindling.__name__}.{module}" if module else kindling.__name__


def resolve(home, name):
    """The object of that qualified name in a module below torch; "." is torch itself."""
    value = kindling if home == "." else kindling._import("kindling." + home)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def overloads(name):
    """The overloads that an operator of PyTorch's has, and the core has not."""
    found = _tables.get("ops")
    if found is None:
        text = kindling._import("kindling._absent.ops").TABLE.split()
        found = _tables["ops"] = dict(each.split(":") for each in text)
    return found[name].split(",") if name in found else []


def function(module, name, full):
    """A function that raises when it is called. As a decorator it waits: what it is put before raises when that is called."""
    def refuse(*args, **kwargs):
        if len(args) == 1 and not kwargs and type(args[0]) is type(function) and args[0].__name__ != "<lambda>":
            import functools
            return functools.wraps(args[0])(lambda *args, **kwargs: refuse())
        raise Missing(f"{full} {why(full[6:])}")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__, refuse._absent = module, True
    return refuse


def answer(module, name, given=False):
    """A function that says so, False mostly."""
    def no(*args, **kwargs):
        return given

    no.__name__ = no.__qualname__ = name
    no.__module__ = module
    return no


class _Object:
    """Something that can be named and handed on; any use of it raises."""

    _absent = True

    def _refuse(self, *args, **kwargs):
        raise Missing(self._text)

    __call__ = __iter__ = __len__ = __getitem__ = __setitem__ = __contains__ = __enter__ = _refuse

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(name)
        raise Missing(self._text)

    def __exit__(self, *details):
        return False

    def __repr__(self):
        return f"<{self._text}>"


def _class(module, name, how, full):
    space = {"__module__": module, "__qualname__": name, "__doc__": f"{full} {why(full[6:])}.", "_absent": True}
    if how[:1] == "{":
        import enum
        members = [each.partition("=")[::2] for each in how[1:-1].split(";")]
        import ast
        values = [(key, ast.literal_eval(value)) for key, value in members]
        base = enum.IntEnum if all(type(value) is int for _, value in values) else enum.Enum
        return base(name, values, module=module)
    if how[:1] == "<":
        fields, _, listed = how[1:].partition(">")
        return _record(name, fields.split(";"), tuple(_base(each) for each in listed[1:-1].split(";") if each), space)
    error, how = how[:1] == "!", how.lstrip("!")
    listed, methods = "", how[1:] if how[:1] == ":" else ""
    if how[:1] == "(":
        listed, _, methods = how[1:].partition(")")
        methods = methods[1:]
    bases = tuple(_base(each) for each in listed.split(";") if each)
    if error:
        del space["_absent"]
        return type(bases[0])(name, bases, space) if bases else type(name, (RuntimeError,), space)
    for each in methods.split(","):
        if each[:1] == "*":
            space[each[1:]] = property(function(module, each[1:], f"{full}.{each[1:]}"))
        elif each:
            space[each] = function(module, each, f"{full}.{each}")
    if not any(issubclass(base, kindling.nn.Module) for base in bases):
        space.setdefault("__init__", _keep)
        space.setdefault("__call__", function(module, "__call__", full))
    else:
        space.setdefault("__init__", _keep_module)
        space["forward"] = function(module, "forward", full)
    space["__enter__"] = function(module, "__enter__", full)
    space["__exit__"] = lambda self, *details: False
    space["__class_getitem__"] = classmethod(type(list[int]))
    return type(name, bases, space)


def _base(text):
    import builtins
    home, _, name = text.rpartition(":")
    return resolve(home, name) if home else getattr(builtins, name)


def _keep(self, *args, **kwargs):
    """Making one is no use of it yet: what is given by name can be read back."""
    self.__dict__.update(kwargs)


def _keep_module(self, *args, **kwargs):
    kindling.nn.Module.__init__(self)
    self.__dict__.update(kwargs)


def _record(name, fields, bases, space):
    import ast
    pairs = [each.partition("=") for each in fields if each]
    keys = [key for key, _, _ in pairs]
    defaults = {key: ast.literal_eval(value) if value else None for key, sign, value in pairs if sign}
    del space["_absent"]

    def __init__(self, *args, **kwargs):
        if len(args) > len(keys) or not set(kwargs) <= set(keys):
            raise TypeError(f"{name}() takes {', '.join(keys)}")
        values = {**{key: None for key in keys}, **defaults, **dict(zip(keys, args)), **kwargs}
        missing = [key for key in keys if key not in defaults and key not in kwargs and key not in keys[:len(args)]]
        if missing:
            raise TypeError(f"{name}() missing required arguments: {', '.join(missing)}")
        self.__dict__.update(values)

    def __repr__(self):
        return f"{name}({', '.join(f'{key}={getattr(self, key)!r}' for key in keys)})"

    def __eq__(self, other):
        return type(self) is type(other) and vars(self) == vars(other)

    return type(name, bases, {**space, **defaults, "__init__": __init__, "__repr__": __repr__, "__eq__": __eq__, "__hash__": None, "__match_args__": tuple(keys)})
