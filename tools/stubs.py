"""Writes the package's type stub from the operator declarations.

    python tools/stubs.py OPERATORS.JSON OUTPUT.PYI

Functions and methods of tensors come from the schemas, so no list of them is kept. What is written in Python has its
types, where it has any, in its own source; other names of the top module are `Any`.
"""

import json
import keyword
import re
import sys

# Where an operator is reached (the generator's bits).
TORCH, METHOD = 1, 2

PREFACE = '''\
"""Types of the top module; functions and methods are written by the build from the operator declarations."""

from collections.abc import Iterator, Sequence
from typing import Any, Union, overload

# A tensor has methods and attributes of these names, which hide them in its annotations.
_bool = bool
_int = int
_float = float
_complex = complex
_str = str
Number = Union[_bool, _int, _float, _complex]

__version__: str

class dtype:
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    itemsize: int

class device:
    type: str
    index: int | None
    def __init__(self, type: str | int | device, index: int | None = None) -> None: ...

class layout: ...
class memory_format: ...

_dtype = dtype
_device = device
_layout = layout
_memory_format = memory_format

class Generator:
    def __init__(self, device: device | str | int | None = None) -> None: ...
    def manual_seed(self, seed: int) -> Generator: ...
    def seed(self) -> int: ...
    def initial_seed(self) -> int: ...
    def get_state(self) -> Tensor: ...
    def set_state(self, state: Tensor) -> Generator: ...

class Size(tuple[int, ...]):
    def numel(self) -> int: ...

def install_as_torch() -> None: ...
def __getattr__(name: str) -> Any: ...

'''

# What a tensor has beyond its operators.
TENSOR = """\
class Tensor:
    dtype: _dtype
    device: _device
    layout: _layout
    shape: Size
    ndim: _int
    grad: Tensor | None
    grad_fn: Any
    data: Tensor
    requires_grad: _bool
    is_leaf: _bool
    T: Tensor
    mT: Tensor
    H: Tensor
    mH: Tensor
    real: Tensor
    imag: Tensor
    def __getitem__(self, index: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Tensor | Number) -> None: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __len__(self) -> _int: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> _int: ...
    def __float__(self) -> _float: ...
    def __complex__(self) -> _complex: ...
    def __index__(self) -> _int: ...
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Sequence[Tensor] | Tensor | None = None,
    ) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Tensor: ...
    def __getattr__(self, name: _str) -> Any: ...
"""
UNARY = "neg pos invert abs"
BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
COMPARISONS = "eq ne lt le gt ge"

TYPES = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "int": "_int",
    "SymInt": "_int",
    "float": "_float",
    "bool": "_bool",
    "str": "_str",
    "complex": "_complex",
    "ScalarType": "_dtype",
    "Layout": "_layout",
    "Device": "_device | _str | _int",
    "MemoryFormat": "_memory_format",
    "Generator": "Generator",
    "Dimname": "_str",
    "Storage": "Any",
    "Stream": "Any",
}

def type_of(text, result=False):
    """The Python type of a schema type such as ``Tensor(a!)``, ``int[2]?`` or ``(Tensor, Tensor)``."""
    text = text.strip()
    if text == "()":
        return "None"
    if text.startswith("("):
        parts = [part.strip() for part in text[1:-1].split(",")]
        return f"tuple[{', '.join(type_of(part, True) for part in parts)}]"
    text = re.sub(r"\([^)]*\)", "", text).split(" ")[0]
    optional = text.endswith("?")
    text = text.removesuffix("?")
    found = re.match(r"^(\w+)(\?)?(\[(\d*)\])?$", text)
    if not found:
        return "Any"
    name = TYPES.get(found[1], "Any")
    if found[2]:
        name += " | None"
    if found[3]:
        name = f"list[{name}]" if result else f"Sequence[{name}]"
        if found[4] and found[1] in ("int", "SymInt", "float", "bool") and not result:
            name = f"{TYPES[found[1]]} | {name}"
    return f"{name} | None" if optional and "None" not in name.split(" | ") else name


def default_of(text):
    if text in ("None", "True", "False") or re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", text) or text[:1] in "'\"":
        return text
    return "..."


def split(text):
    """The arguments of a schema, commas inside brackets and quotes left alone."""
    parts, depth, quote, start = [], 0, "", 0
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    return [part for part in [*parts, text[start:].strip()] if part]


def signature(schema, method):
    """(parameters, result type) of the Python form; None for a method whose schema has no self."""
    inside, _, result = schema[schema.index("(") + 1 :].rpartition("->")
    arguments = split(inside.strip().removesuffix(")"))
    words, has_self, optional = [], False, False
    for argument in arguments:
        if argument == "*":
            words.append("*")
            continue
        kind, _, name = argument.rpartition(" ") if "=" not in argument else argument.partition("=")[0].rpartition(" ")
        default = argument.partition("=")[2] if "=" in argument else None
        if name == "self":
            has_self = True
            words.append("self" if method else f"input: {type_of(kind)}")
            continue
        if keyword.iskeyword(name):
            name += "_"
        # As in PyTorch, the second operand may be a number.
        word = f"{name}: {type_of(kind)}" + (" | Number" if (name, kind) == ("other", "Tensor") else "")
        if default is not None:
            word += f" = {default_of(default)}"
            optional = "*" not in words
        elif optional and "*" not in words:
            word += " = ..."
        words.append(word)
    if method and not has_self:
        return None
    if method:
        words.sort(key=lambda word: word != "self")
    if words and words[-1] == "*":
        words.pop()
    return words, type_of(result, True)


def spread_out(words):
    """The form that takes sizes one by one, ``x.view(2, 3)``, where the first argument is a list of them; None for others."""
    places = [word for word in words[:words.index("*") if "*" in words else None] if word not in ("self", "input: Tensor")]
    if not places or not re.match(r"(size|sizes|shape|dims|repeats): (_int \| )?Sequence\[_int\]", places[0]):
        return None
    if any(" = " not in word for word in places[1:]):
        return None
    after = words[words.index("*") + 1:] if "*" in words else []
    return [*words[:words.index(places[0])], f"*{places[0].partition(':')[0]}: _int", *after]


def forms(operator, method):
    """(name, parameters, result) of each Python form of an operator."""
    found = signature(operator["schema"], method)
    if found is None:
        return
    words, result = found
    # An alias such as special_erf is found in torch.special.
    aliases = [name for name in operator["aliases"] if not name.startswith(("linalg_", "fft_", "special_"))]
    for name in [operator["name"], *aliases]:
        if not name.isidentifier() or keyword.iskeyword(name):
            continue
        extra = []
        if operator["out"] and not method:
            extra = [*([] if "*" in words else ["*"]), f"out: {result} | None = None"]
        yield name, words + extra, result
        spread = spread_out(words + extra)
        if spread:
            yield name, spread, result
        by_method = operator["inplace_is_method"] in (True, name)       # torch has no function for it
        if operator["inplace"] and not name.endswith("_") and (method or not by_method):
            yield name + "_", words, result


def accepts(words):
    """What a form takes, parameter by parameter: name, the types it may have, whether it may be left out; by position up to the `*`."""
    places, names, keyword_only = [], {}, False
    for word in words:
        if word[0] == "*":
            keyword_only = True
            if word == "*":
                continue
        name, _, kind = word.partition(":")
        kind, equals, _ = kind.partition(" = ")
        taken = (name, {each.strip() for each in kind.split(" | ")}, bool(equals))
        names[name] = taken
        if not keyword_only:
            places.append(taken)
    return places, names


def covers(wide, narrow):
    """Whether every call that `narrow` takes is one that `wide` takes too: a checker says that such an overload is never reached."""
    (wide_places, wide_names), (places, names) = accepts(wide), accepts(narrow)
    if len(wide_places) < len(places) or any(a[0] != b[0] for a, b in zip(wide_places, places)):
        return False
    return all(name in wide_names and (kinds <= wide_names[name][1] or "Any" in kinds | wide_names[name][1]) and (not optional or wide_names[name][2])
               for name, kinds, optional in names.values()) and all(
        optional for name, _, optional in wide_names.values() if name not in names)


def block(entries, indent=""):
    """The definitions, with ``overload`` where a name has several; those that an earlier one covers are left out."""
    grouped, taken = {}, {}
    for name, words, result in entries:
        if any(covers(earlier, words) for earlier in taken.setdefault(name, [])):
            grouped.setdefault(name, [])
            continue
        taken[name].append(words)
        grouped.setdefault(name, []).append(f"def {name}({', '.join(words)}) -> {result}: ...")
    text = []
    for name in sorted(grouped):
        for line in grouped[name]:
            if len(grouped[name]) > 1:
                text.append(indent + "@overload")
            text.append(indent + line)
    # Comparisons give tensors, which `object` does not expect.
    return re.sub(r"(def __(?:eq|ne)__\(.*)", r"\1  # type: ignore[override]", "\n".join(text)) + "\n"

# What many signatures have, by a short name of the stub's own, as PyTorch's stubs have: 8 KB less.
ALIASES = {"_Ints": "Sequence[_int]", "_Dims": "_int | _Ints", "_Tensors": "Sequence[Tensor]", "_Operand": "Tensor | Number", "_Device": "_device | _str | _int | None"}


def stub(operators):
    """The whole text of the stub."""
    functions, methods = [], []
    for operator in operators:
        if operator["spaces"] & TORCH:
            functions += [entry for entry in forms(operator, False) if not entry[0].startswith("__")]
        if operator["spaces"] & METHOD:
            methods += forms(operator, True)
    other = [(f"__{name}__", ["self"], "Tensor") for name in UNARY.split()]
    for name in BINARY.split():
        for prefix in ("", "r") if name == "matmul" else ("", "r", "i"):
            other.append((f"__{prefix}{name}__", ["self", "other: Tensor | Number"], "Tensor"))
    for name in COMPARISONS.split():
        other.append((f"__{name}__", ["self", "other: Any"], "Tensor"))
    attributes = set(re.findall(r"^    (\w+):", TENSOR, re.M)) | set(re.findall(r"^    def (\w+)", TENSOR, re.M))
    methods = [entry for entry in methods if entry[0] not in attributes]
    text = TENSOR + block([*other, *methods], "    ") + "\n" + block(functions)
    for name, union in ALIASES.items():
        text = text.replace(union, name)
    return PREFACE + "".join(f"{name} = {union}\n" for name, union in ALIASES.items()) + text


def main(source, target):
    with open(source, encoding="utf-8") as file:
        text = stub(json.load(file))
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
