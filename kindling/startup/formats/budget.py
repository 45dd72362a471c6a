"""The gate: ``--budget FILE`` holds a measurement against limits, ``--write-budget FILE`` makes them from one.

Times are ratios to an empty interpreter, so that a file made on one machine means something on another.
"""

import sys
from fnmatch import fnmatchcase

from .. import model

OPTIONS = [
    ("--budget", "FILE", "compare with the limits in FILE (TOML); exit status 3 and a list where they do not hold"),
    ("--write-budget", "FILE", "write limits that this measurement keeps with a quarter to spare"),
]
BROKEN, WRONG = 3, 2
TABLES = {
    "time": {"total": float},
    "time.packages": float,
    "time.libraries": float,
    "modules": {"allowed": list, "forbidden": list},
    "libraries": {"allowed": list, "forbidden": list},
    "counts": {"modules": int, "opens": int, "threads": int, "constructors": int},
}


def write(data, options):
    """Write the file that is asked for, then compare; exit status."""
    target = options.given.get("--write-budget")
    if target:
        with open(target, "w", encoding="utf-8") as file:
            file.write(text(data))
    source = options.given.get("--budget")
    if not source:
        return 0
    try:
        with open(source, encoding="utf-8") as file:
            budget = check(parse(file.read()))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"kindling startup: budget {source}: {error}\n")
        return WRONG
    broken = breaches(data, budget)
    out = sys.stderr if options.json == "-" else sys.stdout
    if broken:
        out.write(f"\nbudget {source}: {len(broken)} broken\n" + "".join(f"  {line}\n" for line in broken))
        return BROKEN
    out.write(f"\nbudget {source}: kept\n")
    return 0


def interpreter(data):
    """Milliseconds of an empty interpreter: the unit. ValueError where it was not measured."""
    if not data["interpreter_ms"]:
        raise ValueError("the program did not end, so there is nothing to compare its time with")
    return data["interpreter_ms"]


def parse(source):
    """The tables of a TOML text. Where the interpreter has no tomllib (3.10), a reader of what these files need: tables,
    comments, strings without escapes, numbers, true and false, arrays of them over any number of lines."""
    try:
        import tomllib
    except ImportError:
        return read_subset(source)
    try:
        return tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(str(error)) from None


def read_subset(source):
    """See `parse`; ValueError with the line for anything else."""
    import re

    word = r'[A-Za-z0-9_-]+|"[^"\\\n]*"|\'[^\'\n]*\''
    token = re.compile(rf"[ \t]*(?:#[^\n]*)?(?:(?P<end>\n|$)|(?P<word>{word})|(?P<mark>[\[\].=,]))")
    result = {}
    table, at, line = result, 0, 1

    def fail(what):
        raise ValueError(f"{what} (line {line})")

    def take():
        nonlocal at
        if at >= len(source):
            return "end", ""
        match = token.match(source, at)
        if not match or match.end() == at and at < len(source):
            fail(f"can't read {source[at : at + 20]!r}")
        at = match.end()
        return match.lastgroup, match[match.lastgroup]

    def plain(text):
        return text[1:-1] if text[0] in "\"'" else text

    def value(kind, text):
        nonlocal line
        if (kind, text) == ("mark", "["):
            items, comma = [], True
            while True:
                kind, text = take()
                if kind == "end":
                    line += 1
                    if at >= len(source):
                        fail("an array without end")
                elif (kind, text) == ("mark", "]"):
                    return items
                elif (kind, text) == ("mark", ",") and not comma:
                    comma = True
                elif comma:
                    items.append(value(kind, text))
                    comma = False
                else:
                    fail("a comma is missing")
        if kind != "word":
            fail("a value is missing")
        if text[0] in "\"'":
            return text[1:-1]
        if text in ("true", "false"):
            return text == "true"
        return number(text)

    def number(text):
        nonlocal at
        while at < len(source) and source[at] in "+-.0123456789eE_":  # past the point of 0.5
            text += source[at]
            at += 1
        try:
            return float(text) if set(text) & set(".eE") else int(text)
        except ValueError:
            fail(f"{text!r} is no value")

    while at < len(source):
        kind, text = take()
        if kind == "end":
            line += 1
            continue
        names = []
        head = (kind, text) == ("mark", "[")
        if head:
            kind, text = take()
        while True:
            if kind != "word":
                fail("a name is missing")
            names.append(plain(text))
            kind, text = take()
            if (kind, text) != ("mark", "."):
                break
            kind, text = take()
        if (kind, text) != ("mark", "]" if head else "="):
            fail("] is missing" if head else "= is missing")
        place = result if head else table
        for name in names if head else names[:-1]:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                fail(f"{name} is a value")
        if head:
            table = place
        else:
            if names[-1] in place:
                fail(f"{names[-1]} stands twice")
            place[names[-1]] = value(*take())
        kind, text = take()
        if kind != "end":
            fail(f"{text!r} is left over")
        line += 1
    return result


def check(budget):
    """The tables by their names in ``TABLES``; ValueError for names and values that mean nothing, so that a slip of the
    pen is no limit that always holds."""
    flat = {}
    for name, table in budget.items():
        if not isinstance(table, dict) or name not in TABLES:
            raise ValueError(f"there is no table [{name}]; there are {', '.join(f'[{known}]' for known in TABLES)}")
        for key, entry in table.items():
            if isinstance(entry, dict):
                flat[f"{name}.{key}"] = entry
            else:
                flat.setdefault(name, {})[key] = entry
    for name, table in flat.items():
        if name not in TABLES:
            raise ValueError(f"there is no table [{name}]; there are {', '.join(f'[{known}]' for known in TABLES)}")
        for key, entry in table.items():
            kind = TABLES[name] if not isinstance(TABLES[name], dict) else TABLES[name].get(key)
            if kind is None:
                raise ValueError(f"[{name}] has no {key}; it has {', '.join(TABLES[name])}")
            if kind is list:
                good = isinstance(entry, list) and all(isinstance(item, str) for item in entry)
            else:
                good = isinstance(entry, (int, kind)) and not isinstance(entry, bool)
            if not good:
                wanted = {list: "a list of strings", int: "a whole number", float: "a number"}[kind]
                raise ValueError(f"{key} in [{name}] is {wanted}, not {entry!r}")
    return flat


def breaches(data, budget):
    """A line for each limit that does not hold."""
    found = []
    unit = interpreter(data) if any(name.startswith("time") for name in budget) else None
    time = budget.get("time", {})
    if "total" in time and data["bare_ms"] / unit > time["total"]:
        found.append(f"total: {data['bare_ms']:.1f} ms are {data['bare_ms'] / unit:.2f} empty interpreters, "
                     f"{time['total']} allowed")  # fmt: skip
    packages = {row["name"]: row for row in model.group(data, "package")}
    for name, limit in budget.get("time.packages", {}).items():
        row = packages.get(name)
        if row and row["self_ms"] / unit > limit:
            found.append(f"package {name}: {row['self_ms']:.1f} ms are {row['self_ms'] / unit:.2f} empty interpreters, "
                         f"{limit} allowed; {route(data, name)}")  # fmt: skip
    for pattern, limit in budget.get("time.libraries", {}).items():
        for row in matching(data["libraries"], pattern):
            spent = model.library_ms(row)
            if spent / unit > limit:
                found.append(f"library {row['path']}: {spent:.1f} ms are {spent / unit:.2f} empty interpreters, {limit} "
                             f"allowed; {route(data, row['importer'])}")  # fmt: skip
    limits = budget.get("modules", {})
    strangers, inside = [], {}
    for row in data["modules"]:
        name = row["name"]
        if row["failed"]:
            continue
        if "allowed" in limits and not any(fnmatchcase(name, pattern) for pattern in limits["allowed"]):
            # What a stranger imports follows from it: only the first of a chain is a line.
            above = next((step["name"] for step in ancestors(data, row) if step["name"] in strangers), None)
            if above:
                inside[above] = inside.get(above, 0) + 1
            elif name not in strangers:
                strangers.append(name)
    for name in strangers:
        more = f", with {inside[name]} more inside it" if name in inside else ""
        found.append(f"module {name} is not among the allowed ones{more}; {route(data, name)}")
    for name in dict.fromkeys(row["name"] for row in data["modules"] if not row["failed"]):
        if any(fnmatchcase(name, pattern) for pattern in limits.get("forbidden", ())):
            found.append(f"module {name} is forbidden; {route(data, name)}")
    limits = budget.get("libraries", {})
    for row in loaded(data):
        if "allowed" in limits and not any(row in matching([row], pattern) for pattern in limits["allowed"]):
            found.append(f"library {row['path']} is not among the allowed ones; {route(data, row['importer'])}")
        if any(row in matching([row], pattern) for pattern in limits.get("forbidden", ())):
            found.append(f"library {row['path']} is forbidden; {route(data, row['importer'])}")
    for name, limit in budget.get("counts", {}).items():
        rows = COUNTS[name](data)
        if sum(rows.values()) > limit:
            most = sorted(rows.items(), key=lambda item: -item[1])[:3]
            found.append(f"{name}: {sum(rows.values())}, {limit} allowed; most in "
                         + ", ".join(f"{where} ({number})" for where, number in most))  # fmt: skip
    return found


def loaded(data):
    """The libraries that the program brought, not the interpreter."""
    return [row for row in data["libraries"] if row["importer"]]


def matching(rows, pattern):
    """Those whose path, or its last part, matches the pattern."""
    return [row for row in rows if fnmatchcase(row["path"], pattern) or fnmatchcase(row["path"].rpartition("/")[2], pattern)]


def ancestors(data, row):
    """The imports inside which this one ran, outermost first."""
    return model.path_to(data, row["name"], row)[:-1]


def _sum(pairs):
    sums = {}
    for name, number in pairs:
        sums[name] = sums.get(name, 0) + number
    return sums


COUNTS = {
    "modules": lambda data: _sum((row["package"], 1) for row in data["modules"] if not row["failed"]),
    "opens": lambda data: _sum((row["name"], row.get("opens") or 0) for row in data["modules"]),
    "threads": lambda data: _sum((f"{row['module']}:{row['line']}", 1) for row in data["threads"]),
    "constructors": lambda data: _sum((row["path"], len(row["constructors"])) for row in loaded(data)),
}


def route(data, name):
    """Who imported it: ``__main__:1 > torch:445 > numpy``."""
    chain = model.path_to(data, name)
    if not chain:
        return "loaded by the interpreter"
    steps = [f"{row['importer']}:{row['line']}" for row in chain]
    return "imported by " + " > ".join([*steps, chain[-1]["name"]])


def any_python(path):
    """The file's name as a pattern that fits extension modules of other Python versions too."""
    name = path.rpartition("/")[2]
    stem, mark, _ = name.partition(".cpython-")
    return stem + ".*.so" if mark else name


def text(data):
    """The limits as TOML."""
    unit = interpreter(data)

    def room(ratio):
        return round(ratio + 0.25 * max(ratio, 1.0), 2)  # small ones move by as much as an interpreter's start does

    def listed(names):
        return "[" + "".join(f"\n    {quoted(name)}," for name in names) + ("\n]" if names else "]")

    def quoted(name):
        return "'" + name + "'" if '"' in name or "\\" in name else f'"{name}"'

    command = data["command"]
    lines = [
        f"# Limits for the start of {command['kind']} {command['what']!r}, made by kindling startup --write-budget.",
        "# Times are in empty interpreters; a quarter is left to spare, of an interpreter at least. Patterns may hold *, ? and [...].",
        "",
        "[time]",
        f"total = {room(data['bare_ms'] / unit)}",
        "",
        "[time.packages]",
    ]
    for row in model.group(data, "package"):
        if row["self_ms"] > 0.1 * unit:
            lines.append(f"{quoted(row['name'])} = {room(row['self_ms'] / unit)}")
    lines += ["", "[time.libraries]"]
    for row in loaded(data):
        if model.library_ms(row) > 0.1 * unit:
            lines.append(f"{quoted(any_python(row['path']))} = {room(model.library_ms(row) / unit)}")
    names = sorted({row["package"] for row in data["modules"] if not row["failed"]})
    lines += ["", "[modules]", f"allowed = {listed([form for name in names for form in (name, name + '.*')])}",
              "forbidden = []", "", "[libraries]",
              f"allowed = {listed(sorted({any_python(row['path']) for row in loaded(data)}))}",
              "forbidden = []", "", "[counts]"]  # fmt: skip
    lines += [f"{name} = {sum(count(data).values())}" for name, count in COUNTS.items()]
    return "\n".join(lines) + "\n"
