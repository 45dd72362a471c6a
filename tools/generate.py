"""Reads the operator declarations' text and writes what is computed from it.

    python tools/generate.py OUTPUT_FOLDER operators/*.cpp

Writes generated/: index.cpp (names -> declarations), functions.h and functions.cpp (the C++ functions), out_functions.h (those with out=),
tensor_methods.inc (methods of Tensor), numbers.h; and operators.json (for stubs, docs and tests).
Refuses a declaration that leaves a question open.
"""
import json
import os
import re
import sys

SPACES = {"Torch": 1, "Method": 2, "Nn": 4, "Linalg": 8, "Fft": 16, "Special": 32, "Hidden": 64, "Sparse": 128}
CPP_WORDS = {"and", "or", "not", "xor", "default", "double", "float", "int", "long", "short", "char", "bool", "auto",
             "case", "char", "class", "delete", "new", "operator", "register", "return", "signed", "static", "switch",
             "this", "union", "unsigned", "while", "template", "and_eq", "xor_eq", "or_eq", "not_eq", "bitand", "bitor"}
class Refused(Exception):
    pass


def split_top(text, separator=","):
    parts, depth, start, quote = [], 0, 0, ""
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[place - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == separator and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    tail = text[start:].strip()
    return parts + [tail] if tail else parts


def skip_literal(text, at):
    """The place behind a string or character literal, or comment, that starts at `at`; `at` if none does."""
    if text.startswith('R"', at):
        fence = text[at + 2:text.index("(", at)]
        return text.index(")" + fence + '"', at) + len(fence) + 2
    if text[at] in "\"'":
        if text[at] == "'" and at and (text[at - 1].isalnum()):
            return at                                        # a digit separator
        end = at + 1
        while text[end] != text[at]:
            end += 2 if text[end] == "\\" else 1
        return end + 1
    if text.startswith("//", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    return at


def closing(text, at):
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    while True:
        past = skip_literal(text, at)
        if past != at:
            at = past
            continue
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1


def literals(text):
    """The value of adjacent string literals at the start of `text`, and the rest."""
    value, at = "", 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at < len(text) and text[at] == '"':
            end = skip_literal(text, at)
            value += json.loads(text[at:end])
            at = end
        else:
            return value, text[at:]


def declarations(path):
    with open(path) as file:
        text = file.read()
    family = re.search(r"^OPERATORS\((\w+)\)", text, re.M)
    if not family:
        return None, []
    found, at = [], family.end()
    while at < len(text):
        past = skip_literal(text, at)
        if past != at:
            at = past
            continue
        if text.startswith("declare(", at) and not (text[at - 1].isalnum() or text[at - 1] in "_."):
            fields = closing(text, at + 7)
            end = closing(text, fields)
            schema, _ = literals(text[at + 8:fields - 1])
            line = text.count("\n", 0, at) + 1
            found.append(Declaration(schema, text[fields + 1:end - 1].strip()[1:-1], f"{path}:{line}", family[1]))
            at = end
        else:
            at += 1
    return family[1], found


BODIES = ("pointwise", "composition", "kernel", "reduction", "rows", "elements", "scan", "view", "header")


class Declaration:
    def __init__(self, schema, rest, where, family):
        self.where, self.family, self.schema = where, family, " ".join(schema.split())
        match = re.fullmatch(r"((?:\w+::)?\w+)(?:\.(\w+))?\((.*)\) -> (.*)", self.schema)
        if not match:
            raise Refused(f"{where}: malformed schema: {self.schema}")
        self.long_out = False      # "clamp.Tensor_out", since "clamp.out" is another overload's
        self.name, self.overload, arguments, results = match[1], match[2] or "", match[3], match[4]
        self.arguments, keyword_only = [], False
        for part in split_top(arguments):
            if part == "*":
                keyword_only = True
                continue
            kind, _, name = part.partition(" ")
            if kind.endswith("->") or "(" in kind and ")" not in kind:   # "Tensor(a -> *) name"
                kind, name = re.match(r"(\S+\(.*?\)\S*) (.*)", part).groups()
            name, _, default = name.partition("=")
            self.arguments.append({"type": kind, "name": name.strip(), "default": default or None,
                                   "keyword_only": keyword_only})
        self.results = split_top(results[1:-1]) if results.startswith("(") else [results]
        fields = split_top(rest)
        self.fields = []
        for field in fields:
            field = re.sub(r"^(\s*//.*\n)+", "", field).strip()
            head = re.match(r"\w+", field)
            if head:
                self.fields.append((head[0], field[len(head[0]):].strip()))
        names = [name for name, _ in self.fields]
        get = {name: body for name, body in self.fields}
        flags = " ".join(body for name, body in self.fields if name == "flags")
        self.doc = literals(get["doc"][1:])[0] if "doc" in get else ""
        self.pointwise = "pointwise" in names
        self.view = "view" in names
        self.random = "random_numbers" in names or "Random" in flags
        if not self.doc:
            raise Refused(f"{where}: {self.name} has no doc")
        bodies = [name for name in names if name in BODIES]
        if len(bodies) != 1:
            raise Refused(f"{where}: {self.name} has {len(bodies)} bodies; it needs one")
        self.body = bodies[0]
        answered = "derivative" in names or "not_differentiable" in names or "no_derivative" in names or "NotDifferentiable" in flags
        if self.body not in ("pointwise", "composition") and not answered:
            raise Refused(f"{where}: {self.name}: neither a derivative nor not_differentiable()")
        for given in re.findall(r"GIVEN\(([^)]*)\)", " ".join(body for name, body in self.fields if name == "derivative")):
            for argument in self.arguments:          # there these names are the incoming gradients
                if re.fullmatch(r"grad\d*|grads|wanted", argument["name"]) and re.search(rf"\b{argument['name']}\b", given):
                    raise Refused(f"{where}: {self.name}: its derivative can't tell the argument {argument['name']} from the gradient")
        self.differentiable = "not_differentiable" not in names and "NotDifferentiable" not in flags
        self.targets = literals(get["targets"][1:])[0].split(", ") if "targets" in get else []
        self.aliases = [literals(body[1:])[0] for name, body in self.fields if name == "alias"]
        self.examples = [literals(body[1:])[0] for name, body in self.fields if name == "example"]
        self.refusals = []
        for name, body in self.fields:
            if name == "refuses":
                call, after = literals(body[1:])
                self.refusals.append([call, literals(after.lstrip(", \n"))[0]])
        self.spaces = self.find_spaces(get.get("in"))
        functional = not any("!" in argument["type"] for argument in self.arguments)
        tensors_only = all(re.match(r"Tensor(?!\S*\[)", result) for result in self.results) and self.results != [""]
        self_first = bool(self.arguments) and self.arguments[0]["type"] in ("Tensor", "Tensor(a)") and self.arguments[0]["name"] == "self"
        self.has_inplace = functional and len(self.results) == 1 and self_first and (
            self.pointwise and "no_inplace" not in names and "NoInplace" not in flags
            or "has_inplace" in names or "Inplace" in flags.replace("NoInplace", ""))
        # True, or the one alias that it is said of
        self.inplace_is_method = "inplace_is_method" in names and (literals(get["inplace_is_method"][1:])[0] or True)
        self.lists = self.results in (["Tensor[]"], ["Tensor(a)[]"])
        self.has_out = "has_out" in names or (
            functional and tensors_only and not self.view and "no_out" not in names and "NoOut" not in flags
            and self.spaces != SPACES["Hidden"] and not self.name.startswith("_"))

    def find_spaces(self, given):
        if given is not None:
            spaces = 0
            for word in re.findall(r"\w+", given):
                spaces |= SPACES.get(word, 0)
            return spaces
        if "::" in self.name:       # of a package's own: in torch.ops alone
            return SPACES["Hidden"]
        for prefix, space in (("linalg_", "Linalg"), ("fft_", "Fft"), ("special_", "Special")):
            if self.name.startswith(prefix):
                return SPACES[space]
        first = self.arguments[0] if self.arguments else None
        method = first and first["name"] == "self" and first["type"].startswith("Tensor") and "[" not in first["type"]
        return SPACES["Torch"] | (SPACES["Method"] if method else 0)

    def forms(self):
        """(form number, name, overload, arguments, results) for each form."""
        yield 0, self.name, self.overload, self.arguments, self.results
        if self.has_inplace:
            first = dict(self.arguments[0], type="Tensor(a!)")
            yield 1, self.name + "_", self.overload, [first, *self.arguments[1:]], ["Tensor(a!)"]
        if self.has_out and self.lists:
            out = {"type": "Tensor(a!)[]", "keyword_only": True, "default": None, "name": "out"}
            yield 2, self.name, f"{self.overload}_out".lstrip("_"), [*self.arguments, out], [""]
        elif self.has_out:
            overload = "out" if self.overload in ("", "Tensor") and not self.long_out else self.overload + "_out"
            outs = [{"type": f"Tensor({chr(97 + i)}!)", "keyword_only": True, "default": None,
                     "name": "out" if len(self.results) == 1 else self.targets[i] if self.targets else result.split(" ")[1] if " " in result else f"out{i}"}
                    for i, result in enumerate(self.results)]
            yield 2, self.name, overload, self.arguments + outs, [out["type"] for out in outs]


def cpp_type(kind):
    kind = re.sub(r"\([^)]*\)", "", kind)
    optional, plain = kind.endswith("?"), kind.rstrip("?")
    listed = re.fullmatch(r"(\w+)(\??)\[(\d*)\]", plain)
    if listed:
        base = {"Tensor": "TensorList", "int": "IntList", "SymInt": "SizeList", "float": "Span<double>", "bool": "Span<bool>",
                "Scalar": "Span<Scalar>"}[listed[1]]
        return f"std::optional<{base}>" if optional else base
    if plain == "SymInt" and not optional:
        return "Size"
    base = {"Tensor": "const Tensor&", "Scalar": "const Scalar&", "number": "const Scalar&", "int": "int64_t",
            "SymInt": "int64_t", "float": "double", "bool": "bool", "str": "Text", "ScalarType": "DType",
            "Layout": "Layout", "Device": "Device", "MemoryFormat": "MemoryFormat", "Generator": "Generator*",
            "Storage": "const Ref<Storage>&", "Any": "const Value&"}[plain]
    if not optional or plain in ("Tensor", "ScalarType", "Generator"):
        return base
    return f"std::optional<{base.removeprefix('const ').removesuffix('&')}>"


def cpp_default(argument):
    kind, default = cpp_type(argument["type"]), argument["default"]
    if default is None:
        return None
    if default == "None":
        return {"const Tensor&": "{}", "DType": "DType::None", "Generator*": "nullptr"}.get(kind, "std::nullopt")
    if default in ("True", "False"):
        return default.lower()
    if kind in ("IntList", "SizeList"):
        if default.startswith("["):
            items = default[1:-1].replace(" ", "")
            return "{}" if not items else "generated::ints<" + items + ">()"
        size = re.search(r"\[(\d+)\]", argument["type"])
        return "generated::ints<" + ", ".join([default] * (int(size[1]) if size else 1)) + ">()"
    if default.startswith("["):
        return "{}"
    words = {"contiguous_format": "MemoryFormat::Contiguous", "preserve_format": "MemoryFormat::Preserve", "Mean": "1",
             "Sum": "2", "inf": "__builtin_inf()", "long": "DType::Int64", "float": "DType::Float32",
             "strided": "Layout::Strided"}
    if default in words:
        return words[default]
    if default[0] in "'\"":
        return '"' + default[1:-1] + '"'
    return default


def cpp_name(name):
    name = name.replace("::", "_")
    return name + "_value" if name in CPP_WORDS else name


def cpp_result(results):
    if results in ([""], []):
        return "void"
    kinds = [re.sub(r"\([^)]*\)", "", result.split(" ")[0]) for result in results]
    each = {"Tensor": "Tensor", "Tensor[]": "std::vector<Tensor>", "bool": "bool", "int": "int64_t", "SymInt": "int64_t",
            "float": "double", "Scalar": "Scalar", "number": "Scalar", "ScalarType": "DType"}
    if len(kinds) == 1:
        return each[kinds[0]]
    return "std::tuple<" + ", ".join(each[kind] for kind in kinds) + ">"


def signature(arguments, defaults, skip_self=False):
    parts, open_ended = [], True
    usable = [cpp_default(argument) for argument in arguments]
    for place in range(len(arguments) - 1, -1, -1):                # C++ defaults must be trailing
        open_ended = open_ended and usable[place] is not None
        if not open_ended:
            usable[place] = None
    for place, argument in enumerate(arguments):
        if skip_self and argument["name"] == "self":
            continue
        text = f"{cpp_type(argument['type'])} {cpp_name(argument['name'])}"
        parts.append(text + (f" = {usable[place]}" if defaults and usable[place] is not None else ""))
    return ", ".join(parts)


def key_of(arguments, skip_self=False):
    return tuple(cpp_type(argument["type"]) for argument in arguments
                 if not (skip_self and argument["name"] == "self"))


def required(arguments, skip_self=False):
    usable = [cpp_default(argument) for argument in arguments]
    count = len(arguments)
    for place in range(len(arguments) - 1, -1, -1):
        if usable[place] is None:
            break
        count = place
    return count - (1 if skip_self else 0)


# How core/forward.cpp is told what an argument is: a letter each, behind an "o" for an optional one; and what a result is.
LETTERS = {"const Tensor&": "t", "const Scalar&": "s", "Scalar": "s", "int64_t": "i", "double": "d", "bool": "b", "Text": "T",
           "DType": "D", "Layout": "L", "Device": "V", "MemoryFormat": "M", "Generator*": "G", "const Ref<Storage>&": "R",
           "const Value&": "v", "TensorList": "l", "IntList": "I", "SizeList": "Z", "Size": "z", "Span<double>": "F", "Span<bool>": "B", "Span<Scalar>": "S"}
RESULT_LETTERS = {"Tensor": "t", "std::vector<Tensor>": "l", "Scalar": "s", "void": ".", "bool": "b", "int64_t": "i", "DType": "D"}


def letter(kind):
    optional = re.fullmatch(r"std::optional<(.*)>", kind)
    return "o" + LETTERS[optional[1]] if optional else LETTERS[kind]


def letters(result, results, arguments):
    """What core/forward.cpp is told of a function; None if its result is a tuple of other things than tensors."""
    if result.startswith("std::tuple<"):
        first = str(len(results)) if set(result[11:-1].split(", ")) == {"Tensor"} and len(results) < 8 else None
    else:
        first = RESULT_LETTERS[result]
    return first and first + "".join(letter(cpp_type(argument["type"])) for argument in arguments)


def settle_numbers(every):
    """Where one overload has a size and another an optional number, C++ could not tell whose a number is: the first takes it as it is."""
    optional = {(declaration.name, place) for declaration in every for place, argument in enumerate(declaration.arguments)
                if argument["type"] in ("int?", "SymInt?")}
    for declaration in every:
        declaration.arguments = [dict(argument, type="int") if argument["type"] == "SymInt" and (declaration.name, place) in optional else argument
                                 for place, argument in enumerate(declaration.arguments)]


class Letters:
    """The distinct texts of letters, one behind the other."""

    def __init__(self):
        self.text, self.places = "", {}

    def place(self, letters):
        if letters not in self.places:
            self.places[letters] = len(self.text)
            self.text += letters + "\0"
        return self.places[letters]


def members_of_tensor(path):
    """What every Tensor has of its own, by its class in C++; an operator of the same name is reached as a free function."""
    with open(path) as file:
        text = file.read()
    start = text.index("\nclass Tensor {")
    return set(re.findall(r"^    (?!//).*?\b(\w+)\(", text[start:text.index("\nprivate:", start)], re.M))


# ---- declarations that follow from others

PARTNERS = {"Scalar": ("Scalar scalar", "a number"), "List": ("Tensor[] other", "its partner"),
            "ScalarList": ("Scalar[] scalars", "its number"), "Tensor": ("Tensor other", "a 0-d tensor")}


def parameters(schema_arguments):
    arguments = [part.partition("=")[0].rpartition(" ") for part in split_top(schema_arguments) if part != "*"]
    return ", ".join(f"{cpp_type(kind)} {cpp_name(name)}" for kind, _, name in arguments)


def over_lists(every):
    """(schema, fields) of the operators over lists of tensors: the plain one on every tensor. In the order in which overloads are tried."""
    wanted = {}
    for declaration in every:
        for field, body in declaration.fields:
            if field == "over_lists":
                kinds = re.findall(r"second::(\w+)", body)
                wanted.setdefault(declaration.name, {}).update(dict.fromkeys(kinds or [""], declaration))
    for name, ways in wanted.items():
        if "" in ways and len(ways[""].arguments) > 1:
            yield from over_triples(name)
            continue
        for kind in [kind for kind in ("", *PARTNERS) if kind in ways]:
            declaration = ways[kind]
            second, words = PARTNERS.get(kind, ("", ""))
            more = declaration.arguments[2:] if kind in ("List", "Tensor") else []
            taken = "".join(f", {argument['name']}" for argument in more)
            arguments = ", ".join(filter(None, [second, more and "*", *[f"{a['type']} {a['name']}={a['default']}" for a in more]]))
            # A number stands for a tensor where the operator takes one.
            number = "wrap_number({})" if len(declaration.arguments) > 1 and declaration.arguments[1]["type"] == "Tensor" else "{}"
            given = {"Scalar": ", " + number.format("scalar"), "List": ", u", "ScalarList": ", " + number.format("u"), "Tensor": ", other"}.get(kind, "")
            partner = {"List": ("other", "const Tensor& u"), "ScalarList": ("scalars", "const Scalar& u")}.get(kind)
            for place in ("", "_"):
                call = f"{name}{place}(t{given}{taken});"
                walk = ("pairs" if partner else "each") + ("_in_place" if place else "")
                over = f"self, {partner[0]}, [&](const Tensor& t, {partner[1]})" if partner else "self, [&](const Tensor& t)"
                body = f"{'' if place else 'return '}{walk}({over} {{ {'' if place else 'return '}{call} }});"
                if kind == "Tensor":
                    body = "check_zero_dim(other); " + body
                yield listed(name + place, kind, arguments, f"{name} of every tensor" + (f" and {words}" if words else ""), body)


def over_triples(name):
    for place in ("", "_"):
        walk = ("" if place else "return ") + "triples" + ("_in_place" if place else "")
        for kind, scalar, number, words, first in (
                ("Tensor", "Tensor scalars", "values[i]", "the numbers packed in a tensor", "const std::vector<Scalar> values = unpacked(scalars, self.size()); "),
                ("Scalar", "Scalar value=1", "value", "a number", ""),
                ("ScalarList", "Scalar[] scalars", "scalars[i]", "a number of its own", "check_lists(self, scalars); ")):
            body = (f"{first}{walk}(self, tensor1, tensor2, [&](const Tensor& t, const Tensor& a, const Tensor& b, [[maybe_unused]] size_t i) "
                    f"{{ {'' if place else 'return '}{name}{place}(t, a, b, {number}); }});")
            yield listed(name + place, kind, f"Tensor[] tensor1, Tensor[] tensor2, {scalar}", f"{name} of every tensor and its partners, {words}", body)


def listed(name, overload, arguments, doc, body):
    in_place = name.endswith("_")
    mine = ", ".join(filter(None, [f"Tensor{'(a!)' * in_place}[] self", arguments]))
    schema = f"_foreach_{name}{'.' * bool(overload)}{overload}({mine}) -> {'()' if in_place else 'Tensor[]'}"
    return schema, (f'doc("{doc}{", in place" * in_place}"), {"gives_self(), " * in_place}in(space::Torch),\n'
                    f"        composition([]({parameters(mine)}) {{ {body} }})")


def copied(every):
    """(schema, fields) of the operators that copy what a view shows."""
    for declaration in every:
        if not any(field == "copied" for field, _ in declaration.fields):
            continue
        dot = "." * bool(declaration.overload)
        arguments = re.sub(r"Tensor\(\S*?( -> \*)?\)", "Tensor", declaration.schema[declaration.schema.index("(") + 1:declaration.schema.rindex(") -> ")])
        call = f"{declaration.name}({', '.join(argument['name'] for argument in declaration.arguments)})"
        result = f"copies_of({call})" if declaration.lists else f"clone({call}, MemoryFormat::Contiguous)"
        yield (f"{declaration.name}_copy{dot}{declaration.overload}({arguments}) -> Tensor{'[]' * declaration.lists}",
               f'doc("{declaration.name}, copied"), {"has_out(), " * declaration.lists}takes_float8(), in(space::Torch),\n'
               f"        composition([]({parameters(arguments)}) {{ return {result}; }})")


def write_derived(folder, every):
    """A family of what follows from other declarations; gives its declarations."""
    made = [*over_lists(every), *copied(every)]
    text = "\n".join(f'    declare("{schema}")({{\n        {fields}}});' for schema, fields in made)
    write(folder, "derived.cpp", "// Written by tools/generate.py: operators over lists, and copies of views.\n"
          f'#include "operators/lists.h"\n\nOPERATORS(derived) {{\n{text}\n}}\n')
    return [Declaration(schema, fields, f"derived.cpp: {schema}", "derived") for schema, fields in made]


def write(folder, name, text):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        with open(path) as file:
            if file.read() == text:
                return
    with open(path, "w") as file:
        file.write(text)


def main(folder, paths):
    os.makedirs(folder, exist_ok=True)
    families, every = [], []
    for path in sorted(paths):
        family, found = declarations(path)
        if found:
            families.append((family, len(every), len(found)))
            every += found
    derived = write_derived(folder, every)
    families.append(("derived", len(every), len(derived)))
    every += derived
    plain = {declaration.name for declaration in every if declaration.overload == "" and declaration.has_out}
    for declaration in every:
        declaration.long_out = declaration.overload == "Tensor" and declaration.name in plain
    seen = {}
    for declaration in every:
        for _, name, overload, _, _ in declaration.forms():
            full = f"{name}.{overload}"
            if full in seen:
                raise Refused(f"{declaration.where}: {full} is already declared at {seen[full]}")
            seen[full] = declaration.where
    write_index(folder, families, every)
    write_functions(folder, every)
    write(folder, "operators.json", json.dumps([{
        "name": d.name, "overload": d.overload, "schema": d.schema, "family": d.family, "doc": d.doc, "body": d.body,
        "spaces": d.spaces, "inplace": d.has_inplace, "inplace_is_method": d.inplace_is_method, "out": d.has_out, "aliases": d.aliases, "examples": d.examples,
        "refuses": d.refusals, "differentiable": d.differentiable, "random": d.random} for d in every], indent=1))


def write_index(folder, families, every):
    names = {}
    for number, declaration in enumerate(every):
        for form, name, _, _, _ in declaration.forms():
            spellings = [name] + [other + ("_" if form == 1 else "") for other in declaration.aliases]
            for spelling in spellings:
                entry = names.setdefault(spelling, [[], 0])
                entry[0].append(3 * number + form)
                spaces = declaration.spaces
                if form == 1 and declaration.inplace_is_method in (True, spelling[:-1]):
                    spaces &= ~SPACES["Torch"]
                if spelling != name:                    # an alias lives where its own prefix says
                    for prefix, space in (("linalg_", 8), ("fft_", 16), ("special_", 32)):
                        if spelling.startswith(prefix):
                            spaces = space
                            break
                    else:
                        if spaces in (8, 16, 32):
                            spaces = SPACES["Torch"] | SPACES["Method"]
                entry[1] |= spaces
    pool, rows, overloads = "", [], []
    for name in sorted(names, key=lambda text: text.encode()):
        numbers, spaces = names[name]
        rows.append(f"    {{{len(pool)}, {len(overloads)}, {len(numbers)}, {spaces}}},  // {name}")
        overloads += numbers
        pool += name + "\0"
    chunks = [pool[i:i + 100] for i in range(0, len(pool), 100)]
    pool_text = "\n".join('    "' + chunk.replace("\0", "\\000") + '"' for chunk in chunks) or '    ""'
    forms = [(1 if d.has_inplace else 0) | (2 if d.has_out else 0) | (4 if d.long_out else 0) for d in every]
    family_of = [number for number, (_, _, count) in enumerate(families) for _ in range(count)]
    lines = ["// Written by tools/generate.py from the operator declarations.", '#include "core/operator.h"', '#include "operators/index.h"', "",
             "namespace kindling {", *[f"void declare_{family}(Declarations&);" for family, _, _ in families],
             f"const Operator* operator_table[{3 * len(every) + 1}];", "namespace generated {",
             "const FamilyEntry families[] = {",
             *[f"    {{declare_{family}, {first}, {count}}}," for family, first, count in families], "};",
             f"const int family_count = {len(families)};", f"const int declaration_count = {len(every)};",
             f"const int name_count = {len(rows)};", "const char name_pool[] =", pool_text + ";",
             "const NameEntry names[] = {", *rows, "};",
             f"const uint16_t overloads[] = {{{', '.join(map(str, overloads)) or 0}}};",
             f"const uint8_t forms[] = {{{', '.join(map(str, forms)) or 0}}};",
             f"const uint8_t family_of[] = {{{', '.join(map(str, family_of)) or 0}}};",
             "}  // namespace generated", "}  // namespace kindling", ""]
    write(folder, "index.cpp", "\n".join(lines))


def write_functions(folder, every):
    head, methods, outs, taken = [], [], [], {}
    bodies, pool = [], Letters()
    settle_numbers(every)
    own_members = members_of_tensor(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "core", "tensor.h"))
    for number, declaration in enumerate(every):
        for form, name, overload, arguments, results in declaration.forms():
            if form == 2:                                   # C++ spells it add_out(out, self, other)
                targets = [argument for argument in arguments if argument["keyword_only"] and "!" in argument["type"]]
                ordered = targets + [argument for argument in arguments if argument not in targets]
                ordered = [dict(argument, default=None) if argument in targets else argument for argument in ordered]
                spelled = name + "_out"
            else:
                ordered, spelled = arguments, name
            spelled = cpp_name(spelled)
            result = cpp_result(results)
            text = letters(result, results, ordered)
            if text is None:
                continue
            least, most = required(ordered), len(ordered)
            clash = False
            for kinds, low, _ in taken.get(spelled, []):    # C++ can't tell these two apart
                depth = max(low, least)
                if kinds[:depth] == key_of(ordered)[:depth] and len(kinds) >= depth and most >= depth:
                    clash = True
            defaults = True
            if clash:
                if any(kinds == key_of(ordered) for kinds, _, _ in taken[spelled]):
                    spelled += "_" + (declaration.overload or "default")
                else:
                    defaults = False
                    least = most
            taken.setdefault(spelled, []).append((key_of(ordered), least, most))
            if form == 2 and "_backward" in name and result == "Tensor":
                continue                                    # parts of derivatives: nobody calls them into memory of their own
            if form == 2:
                call = {"Tensor": "call_out", "void": "call_into"}.get(result, "call_outs") + f'<"{name}"'
                if result not in ("Tensor", "void"):
                    call += f', "{overload}", {result}'
                elif overload != "out":                     # the default
                    call += f', "{overload}"'
                call += ">"
                given = ", ".join(cpp_name(argument["name"]) for argument in arguments)
                parameters = signature(ordered, defaults)
                first, last = "const Tensor& out, ", ", out"
                if call == f'call_out<"{name}">' and spelled == name + "_out" and parameters.startswith(first) and given.endswith(last):
                    outs.append(f"K_OUT({name}, ({parameters.removeprefix(first)}), {given.removesuffix(last)})")
                    continue
                outs.append(f"inline {result} {spelled}({signature(ordered, defaults)}) {{ {'return ' * (result != 'void')}{call}({given}); }}")
                continue
            head.append(f"{result} {spelled}({signature(ordered, defaults)});")
            where = "kindling_forward_number" if text[0] in ".biD" else "kindling_forward"
            what = 3 * number + form | pool.place(text) << 16
            body = f"{{ KINDLING_FORWARD({where}, {what}); }}"
            kinds = [cpp_type(argument["type"]) for argument in ordered]
            bodies.append(f"[[gnu::naked]] {result} {spelled}({', '.join(kinds)}) {body}")
            if (declaration.spaces & SPACES["Method"] and arguments and arguments[0]["name"] == "self" and name not in own_members
                    and result != "void"):      # `this` comes as the argument would
                methods.append(f"{result} {spelled}({signature(ordered, defaults, True)}) const;")
                bodies.append(f"[[gnu::naked]] {result} Tensor::{spelled}({', '.join(kinds[1:])}) const {body}")
    if 3 * len(every) > 65536 or len(pool.text) > 65536:
        raise Refused("core/forward.h has 16 bits for the operator's number and for the place of its letters")
    prelude = "// Written by tools/generate.py from the operator declarations.\n"
    write(folder, "functions.h", prelude + '#pragma once\n#include <tuple>\n\n#include "core/value.h"\n\nnamespace KINDLING_VISIBLE kindling {\n\n'
          + "\n".join(head) + "\n\n}  // namespace kindling\n")
    # Most lines say no more than name, parameters and arguments: 18 KB less to install.
    macros = ("// K_OUT(name, (parameters), arguments): Tensor name_out(out, parameters)\n#define K_LIST(...) __VA_ARGS__\n"
              "#define K_OUT(name, parameters, ...) "
              "inline Tensor name##_out(const Tensor& out, K_LIST parameters) { return call_out<#name>(__VA_ARGS__, out); }\n\n")
    write(folder, "out_functions.h", prelude + '#pragma once\n#include "core/named.h"\n\nnamespace kindling {\n\n' + macros + "\n".join(outs)
          + "\n\n#undef K_OUT\n#undef K_LIST\n}  // namespace kindling\n")
    write(folder, "tensor_methods.inc", prelude + "\n".join(methods) + "\n")
    quoted = "\n".join(f'    "{each}\\0"' for each in pool.text.split("\0")[:-1])
    write(folder, "functions.cpp", prelude + '#include "generated/functions.h"\n\n#include "core/forward.h"\n\n'
          f"namespace kindling {{\n\nconst char forward_letters[] =\n{quoted};\n\n" + "\n".join(bodies) + "\n\n}  // namespace kindling\n")


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2:])
    except Refused as refusal:
        sys.exit(f"error: {refusal}")
