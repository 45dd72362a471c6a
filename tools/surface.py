"""Walks PyTorch's package and Kindling's: which public names there are, and the tables of those that Kindling has not built.

    python tools/surface.py tables      # writes kindling/_absent/*.py; needs torch and kindling installed
    python tools/surface.py torch       # PyTorch's names as JSON: how each would be declared there, and members of classes
    python tools/surface.py kindling    # reads that, and says of each name whether it is there, only raises, or is missing

Public is what stands in a module's `__all__`, or else what begins without an underscore and is torch's own. Private names count where
packages use them (tests/packages/private.tsv).
"""
import ast
import contextlib
import enum
import importlib
import inspect
import io
import json
import os
import pkgutil
import subprocess
import sys
import types
import typing
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
USED = ROOT / "tests" / "packages" / "private.tsv"


# ---- PyTorch's side

def modules(package):
    """A package and the public modules below it that import."""
    yield package
    for each in pkgutil.iter_modules(list(getattr(package, "__path__", ()))):
        if each.name[0] == "_":
            continue
        try:
            module = importlib.import_module(f"{package.__name__}.{each.name}")
        except Exception:       # a package that it needs is not installed
            continue
        yield from modules(module) if each.ispkg else (module,)


def public(module):
    """The sorted public names of a module."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted({name for name in listed if name[0] != "_" and name.isidentifier()})
    plain = (bool, int, float, str, bytes, tuple, list, dict, set, frozenset, type(None))
    found = []
    for name, value in list(vars(module).items()):
        home = getattr(value, "__module__", None)
        if name[0] == "_" or name == "annotations":
            continue
        if isinstance(value, types.ModuleType):
            own = value.__name__ == f"{module.__name__}.{name}"
        elif home is None:
            own = isinstance(value, plain)
        else:
            own = str(home).partition(".")[0] == "torch"
        if own:
            found.append(name)
    return sorted(found)


def members(cls):
    """The public members that a class itself defines; those of Tensor with its native base's."""
    spaces = [vars(each) for each in cls.__mro__ if each is cls or each.__name__ == "TensorBase"]
    return sorted({name for space in spaces for name in space if name[0] != "_"})


def literal(value):
    """The text of a field's value without blanks, or None."""
    text = constant(value)
    return None if text is None or any(sign in text for sign in ";<>(){}@") else text


def constant(value):
    """A constant's text without blanks, or None: what `ast.literal_eval` reads back and is the same on each machine."""
    if isinstance(value, set) and value and all(isinstance(each, str) for each in value):
        text = f"{{{','.join(map(repr, sorted(value)))}}}"
    elif isinstance(value, dict) and any(isinstance(key, int) and key > 1 << 32 for key in value):     # addresses
        return None
    else:
        text = repr(value).replace(", ", ",").replace(": ", ":")
    try:
        same = ast.literal_eval(text) == value
    except (ValueError, SyntaxError, TypeError, MemoryError):
        return None
    return text if same and len(text) < 200 and not any(sign in text for sign in " \t\n\\/") else None


def answers_no(question):
    """Whether a function without arguments says False on a machine without devices beside the CPU."""
    try:
        return not inspect.signature(question).parameters and question() is False
    except Exception:
        return False


def home_of(value, module, name):
    """Where a class or function is defined, if that is another module that has it: (module, qualified name)."""
    home, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(home, str) or not isinstance(qualified, str) or home.startswith("torch._C") or (home, qualified) == (module, name):
        return None
    if home.partition(".")[0] != "torch":
        return None
    at = sys.modules.get(home)
    for part in qualified.split("."):
        at = getattr(at, part, None)
    return (home, qualified) if at is value else None


class Declarations:
    """How each name would be declared in a table, by module; grows by what the names refer to."""

    def __init__(self):
        self.found, self.packages, self.aliases = {}, set(), {}

    def add(self, module, name):
        space = self.found.setdefault(module, {})
        if name in space:
            return
        space[name] = ""
        if hasattr(sys.modules[module], "__path__"):
            self.packages.add(module)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = getattr(sys.modules[module], name)
        except Exception:
            del space[name]
            return
        space[name] = self.how(value, module, name)

    def refer(self, home, qualified):
        first = qualified.partition(".")[0]
        if home.startswith("torch._C"):
            return
        self.add(home, first)

    def how(self, value, module, name):
        if isinstance(value, types.ModuleType):
            return f"@:{value.__name__[6:]}" if value.__name__.startswith("torch.") else "?"
        if isinstance(value, type) or isinstance(value, types.FunctionType):
            home = home_of(value, module, name)
            if home is not None:
                self.refer(*home)
                return f"@{home[0][6:] or '.'}" + (f":{home[1]}" if home[1] != name else "")
        if isinstance(value, type) and (value.__module__ or "").startswith("torch"):
            return self.cls(value)
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)) or type(value).__name__ in (
                "OpOverloadPacket", "OpOverload", "_lru_cache_wrapper", "partial", "CustomOpDef"):
            return "()no" if name.lstrip("_")[:3] in ("is_", "has") and answers_no(value) else "()"
        text = constant(value)
        if text is not None:
            return f"={text}"
        if type(value).__module__ == "typing" and hasattr(typing, getattr(value, "_name", None) or ""):
            return f"~{value._name}" if getattr(typing, value._name) is value else "~"
        if type(value).__module__ in ("typing", "types") or isinstance(value, type):
            return "~"
        home = type(value).__module__       # an object of a class of torch's, made where that is
        if home != module and home.startswith("torch.") and not home.startswith("torch._C") and getattr(sys.modules.get(home), name, None) is value:
            self.refer(home, name)
            return f"@{home[6:]}"
        return "?"

    def cls(self, cls):
        if issubclass(cls, enum.Enum):
            return "{" + ";".join(f"{key}={literal(each.value) or at}" for at, (key, each) in enumerate(cls.__members__.items())) + "}"
        pybind = getattr(cls, "__members__", None)
        if isinstance(pybind, dict) and pybind:
            return "{" + ";".join(f"{key}={int(each)}" for key, each in pybind.items()) + "}"
        bases = []
        for base in cls.__bases__:
            if base.__module__ == "builtins" and base is not object and issubclass(base, (BaseException, dict, list, str)):
                bases.append(base.__name__)
            elif base.__module__.partition(".")[0] == "torch" and not base.__module__.startswith("torch._C"):
                home = home_of(base, "", "")
                if home is not None and "<" not in home[1]:
                    self.refer(*home)
                    bases.append(f"{home[0][6:] or '.'}:{home[1]}")
        listed = f"({';'.join(bases)})" if bases else ""
        if issubclass(cls, BaseException):
            return "!" + listed
        fields = getattr(cls, "__dataclass_fields__", None)
        if fields is not None:
            import dataclasses
            texts = []
            for each in fields.values():
                given = each.default is not dataclasses.MISSING or each.default_factory is not dataclasses.MISSING
                if each.init:
                    texts.append(each.name + (f"={literal(each.default) or 'None'}" if given else ""))
            return f"<{';'.join(texts)}>{listed}"
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            defaults = cls._field_defaults
            return "<" + ";".join(each + (f"={literal(defaults[each]) or 'None'}" if each in defaults else "") for each in cls._fields) + ">"
        inside = any(part[0] == "_" for part in cls.__module__.split("."))      # of a private module: the class alone
        texts = [("*" if isinstance(vars(cls)[each], property) else "") + each for each in sorted(vars(cls)) if each[0] != "_" and not inside
                 and (callable(getattr(cls, each, None)) or isinstance(vars(cls)[each], property))]
        return listed + (":" + ",".join(texts) if texts else "")


def torch_side():
    """{"public": {module: names}, "how": {module: {name: declaration}}, "packages": [...], "members": {class: names}}"""
    import logging

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    with contextlib.redirect_stdout(io.StringIO()):
        import torch
        found, listed, methods = Declarations(), {}, {}
        for module in modules(torch):
            listed[module.__name__] = public(module)
        for name, names in listed.items():
            found.found.setdefault(name, {})
            if hasattr(sys.modules[name], "__path__"):
                found.packages.add(name)
            for each in names:
                found.add(name, each)
        for name in settings():
            module = importlib.import_module("torch." + name)
            found.found[module.__name__] = {key: "?" if constant(value) is None else f"={constant(value)}"
                                            for key, value in sorted((module.to_dict() if hasattr(module, "to_dict") else vars(module)).items())
                                            if not key.startswith("_") and not isinstance(value, (type, types.ModuleType))}
            for each in listed.get(module.__name__, ()):     # other names of some
                found.add(module.__name__, each)
        private = []
        for line in USED.read_text().splitlines() if USED.exists() else ():
            used = line.split("\t")[0]
            place = where(used)
            if place is not None:
                private.append([used, *place])
                found.add(*place)
        for module, names in listed.items():
            for name in names:
                value = getattr(sys.modules[module], name, None)
                if isinstance(value, type) and value.__module__ == module and type(value).__name__ != "tensortype":
                    methods[f"{module}.{name}"] = members(value)
    overloads = {}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space == "aten":
            overloads.setdefault(name, []).append(schema.overload_name)
    operators = sorted(set(dir(torch._C._VariableFunctions)) & set(torch.__all__))
    return {"public": listed, "how": found.found, "packages": sorted(found.packages), "members": methods, "private": private,
            "all": sorted(torch.__all__), "operators": operators, "overloads": overloads}


def settings():
    """The modules of settings, by the text of kindling/_absent."""
    source = (ROOT / "kindling" / "_absent" / "__init__.py").read_text()
    space = {}
    exec(source[source.index("SETTINGS = ("):source.index("_SIGN = ")], space)
    return space["SETTINGS"]


def where(name):
    """(module, name in it) of a dotted name, or None."""
    parts, module = name.split("."), "torch"
    for at in range(1, len(parts)):
        inner = ".".join(parts[:at + 1])
        try:
            importlib.import_module(inner)
            module = inner
        except Exception:
            return module, parts[at]
    return None


# ---- Kindling's side

def kindling_side(asked, tables=True):
    """{"there": {module: names}, "raises": {module: names}, "modules": [...], "members": {class: missing names}}"""
    warnings.simplefilter("ignore")
    import kindling

    if not tables:
        import kindling._absent
        kindling._absent.table = lambda area: {}
    there, raises, present, methods = {}, {}, [], {}
    for module, names in asked["names"].items():
        ours = "kindling" + module[5:]
        try:
            if (ours + ".").startswith(("kindling._C.", "kindling.ops.")) and ours != "kindling._C":     # a name space, and no file
                found = kindling
                for part in ours.split(".")[1:]:
                    found = getattr(found, part)
                sys.modules[ours] = found
            else:
                importlib.import_module(ours)
        except Exception as error:
            if not isinstance(error, ImportError):
                print(module, repr(error), file=sys.stderr)
            continue
        present.append(module)
        space = sys.modules[ours]
        for name in names:
            try:
                value = getattr(space, name)
            except Exception as error:
                if not isinstance(error, (AttributeError, ImportError)):
                    print(module, name, repr(error), file=sys.stderr)
                continue
            refused = getattr(value, "_absent", False) is True
            (raises if refused else there).setdefault(module, []).append(name)
            listed = asked["members"].get(f"{module}.{name}")
            if listed and not refused and isinstance(value, type):
                missing = [each for each in listed if not hasattr(value, each)]
                if missing:
                    methods[f"{module}.{name}"] = missing
    lacking = {}
    for name, each in asked.get("overloads", {}).items():
        known = set(kindling._C._overload_names(name) or ())
        absent = [overload or "default" for overload in each if overload not in known]
        if absent:
            lacking[name] = absent
    return {"there": there, "raises": raises, "modules": present, "members": methods, "overloads": lacking, "all": sorted(kindling.__all__)}


def plain_environment():
    """The environment without what PyTorch's settings start from: its own variables, and those that a continuous integration sets."""
    return {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR", "LANG") or name.startswith(("PYTHON", "LD_", "VIRTUAL_", "ASAN_", "UBSAN_"))}


def ask(side, given=None):
    """What a side says, from a process of its own."""
    done = subprocess.run([sys.executable, __file__, *side], input=given, capture_output=True, text=True, cwd=Path(__file__).parent, env=plain_environment())
    if done.returncode:
        raise SystemExit(done.stderr)
    if done.stderr and side[0] == "kindling":
        sys.stderr.write(done.stderr)
    return json.loads(done.stdout)


# ---- the tables

def write_tables():
    theirs = ask(["torch"])
    for module in list(theirs["how"]):      # the packages above a private one
        while "." in module:
            module = module.rpartition(".")[0]
            if module not in theirs["how"]:
                theirs["how"][module] = {}
                theirs["packages"].append(module)
    ours = ask(["kindling", "without-tables"], json.dumps({"names": theirs["how"], "members": {}, "overloads": theirs["overloads"]}))
    present, areas = set(ours["modules"]), {}
    for module, names in sorted(theirs["how"].items()):
        have = {*ours["there"].get(module, ()), *ours["raises"].get(module, ())}
        below = module[6:]
        lacking = {name: how for name, how in names.items() if name not in have and how is not None}
        # A module of its own is found by importing it.
        lacking = {name: how for name, how in lacking.items() if how != f"@:{(below + '.' + name).lstrip('.')}"}
        if not lacking and module in present:
            continue
        mark = "/" if module in theirs["packages"] else ""
        line = f"{below or '.'}{mark if below else ''} " + " ".join(name + how for name, how in sorted(lacking.items()))
        areas.setdefault(below.partition(".")[0] or "torch", []).append(line.rstrip())
    folder = ROOT / "kindling" / "_absent"
    for path in folder.glob("*.py"):
        if path.name != "__init__.py":
            path.unlink()
    for area, lines in areas.items():
        text = "\n".join(lines)
        (folder / f"{area}.py").write_text(f'"""Names of torch{"." + area if area != "torch" else ""}, written by tools/surface.py."""\n'
                                           f'TABLE = r"""\n{text}\n"""  # noqa: E501\n')
    lines, line = [], ""
    for name, absent in sorted(ours["overloads"].items()):
        each = f"{name}:{','.join(absent)}"
        if len(line) + len(each) > 130:
            lines, line = [*lines, line], ""
        line = f"{line} {each}".lstrip()
    text = "\n".join([*lines, line])
    (folder / "ops.py").write_text(f'"""Overloads of operators of PyTorch, written by tools/surface.py."""\nTABLE = """\n{text}\n"""  # noqa: E501\n')
    print(f"{sum(map(len, areas.values()))} modules in {len(areas)} tables")


if __name__ == "__main__":
    what = sys.argv[1]
    if what == "torch":
        print(json.dumps(torch_side()))
    elif what == "kindling":
        print(json.dumps(kindling_side(json.load(sys.stdin), "without-tables" not in sys.argv)))
    else:
        write_tables()
