"""``--registrations``: operators that a start declares and kernels that it registers, by name space, dispatch key, file.

Asks torch's own dispatcher, or Kindling's, at the program's end, in a run of its own. A C++ file's time is that of its static constructor
in the measurement, a Python file's the self time of its module, of which registering is a part.
"""

import os
import re

from . import model, parse

_KERNEL = re.compile(r"(\w+)(?:\[alias\])?( \(inactive\))?: registered at (.*?)(?::(\d+))? :: ")


def measure(program, data):
    """Add ``registrations`` to the measurement."""
    run = program.run("registrations", options="registrations")
    data["runs"].append(run.fields())
    recording = parse.Recording(run.log or b"")
    if not recording.operators:
        data["notes"].append("no registrations: the program did not load torch's dispatcher, or ended without exit")
    data["registrations"] = summary(recording.operators, data)


def summary(dumps, data):
    """``namespaces``, ``keys``, ``sources`` of the schema from the dispatcher's own text for each operator."""
    spaces, keys, sources = {}, {}, {}
    for text in dumps:
        lines = text.split("\n")
        name = lines[0].partition(": ")[2]
        space = spaces.setdefault(name.partition("::")[0], {"schemas": 0, "kernels": 0, "cpp": 0, "python": 0})
        for line in lines[1:]:
            if line.startswith("debug: registered at "):
                file = re.sub(r":\d+$", "", line[21:])
                space["schemas"] += 1
                _source(sources, file)["schemas"] += 1
                continue
            match = _KERNEL.match(line)
            if match is None:
                continue
            key, _, file, _ = match.groups()
            language = "python" if file.endswith(".py") else "cpp"
            row = keys.setdefault(key, {"kernels": 0, "cpp": 0, "python": 0})
            for count in (space, row):
                count["kernels"] += 1
                count[language] += 1
            _source(sources, file)["kernels"] += 1
    _times(sources, data)
    return {
        "namespaces": _rows(spaces, "kernels"),
        "keys": _rows(keys, "kernels"),
        "sources": _rows(sources, "ms"),
    }


def _source(sources, file):
    row = sources.get(file)
    if row is None:
        row = sources[file] = {"language": "python" if file.endswith(".py") else "cpp", "schemas": 0, "kernels": 0,
                               "ms": 0.0, "library": None, "module": None}  # fmt: skip
    return row


def _times(sources, data):
    constructors, libraries = {}, {}
    for library in data["libraries"]:
        libraries[os.path.basename(library["path"]).partition(".")[0].removeprefix("lib")] = library
        for item in library["constructors"]:
            if item["symbol"].startswith("_GLOBAL__sub_I_"):
                constructors.setdefault(item["symbol"][15:], (item["ms"], library["path"]))
    modules = {}
    for module in data["modules"]:
        modules.setdefault(os.path.realpath(module["file"]), module)
    for file, row in sources.items():
        if row["language"] == "cpp":
            if file in libraries:  # Kindling's operators have no constructors: all that there is, is the library itself
                row["ms"], row["library"] = round(model.library_ms(libraries[file]), 4), libraries[file]["path"]
            else:
                row["ms"], row["library"] = constructors.get(os.path.basename(file), (0.0, None))
        elif os.path.realpath(file) in modules:
            module = modules[os.path.realpath(file)]
            row["ms"], row["module"] = module["self_ms"], module["name"]


def _rows(table, key):
    return sorted(({"name": name, **row} for name, row in table.items()), key=lambda row: -row[key])


def text(found, top):
    """The report's part on the terminal, as lines."""
    yield "\noperators declared and kernels registered (C++, Python)"
    for row in found["namespaces"][:top]:
        yield f"  {row['name']:24} {row['schemas']:6} schemas {row['kernels']:7} kernels ({row['cpp']}, {row['python']})"
    yield "\nkernels by dispatch key (C++, Python)"
    for row in found["keys"][:top]:
        yield f"  {row['name']:40} {row['kernels']:6} ({row['cpp']}, {row['python']})"
    yield "\nregistering files by time (ms of their static constructor or module; schemas, kernels)"
    for row in found["sources"][:top]:
        where = os.path.basename(row["library"] or "") or row["module"] or "time not known"
        yield f"  {row['ms']:9.2f} {row['schemas']:6} {row['kernels']:6}  {os.path.basename(row['name'])}  ({where})"
