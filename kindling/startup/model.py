"""The measurement as plain data (docs/startup/schema.md): made, stored, read, and grouped for the reports."""

import json

SCHEMA_VERSION = 1


def save(data, path):
    """Write the measurement to a file as JSON; ``-`` is stdout."""
    import sys

    text = json.dumps(data, indent=1, ensure_ascii=True)
    if path == "-":
        sys.stdout.write(text + "\n")
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def load(path):
    """Read a measurement; ValueError that names the file when it is none, or of another schema."""
    with open(path, encoding="utf-8") as file:
        try:
            data = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is not JSON: {error}") from None
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise ValueError(f"{path} has schema_version {version!r}; this is for {SCHEMA_VERSION}")
    return data


def statistics(values):
    """``{"min", "median", "max", "n"}`` of some milliseconds, or None of none."""
    values = sorted(values)
    if not values:
        return None
    middle = len(values) // 2
    median = values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
    return {"min": round(values[0], 3), "median": round(median, 3), "max": round(values[-1], 3), "n": len(values)}


def library_ms(library):
    """All that one library cost: mapping, relocation, constructors, init function."""
    return library["map_ms"] + library["relocate_ms"] + library["constructors_ms"] + library["init_ms"]


def group(data, key):
    """Rows ``{"name", "self_ms", "percent", "modules", "first_importer", "line"}`` by ``package`` or ``distribution``
    (or any other field of a module), longest first. The first importer is the first one from outside the group."""
    rows = {}
    total = data["total_ms"] or 1.0
    for module in data["modules"]:
        name = module[key] or ("(standard library)" if module["standard"] else module["package"])
        row = rows.get(name)
        if row is None:
            row = rows[name] = {"name": name, "self_ms": 0.0, "percent": 0.0, "modules": 0,
                                "first_importer": module["importer"], "line": module["line"]}  # fmt: skip
        row["self_ms"] += module["self_ms"]
        row["modules"] += 1
    for row in rows.values():
        row["self_ms"] = round(row["self_ms"], 3)
        row["percent"] = round(100 * row["self_ms"] / total, 2)
    return sorted(rows.values(), key=lambda row: -row["self_ms"])


def path_to(data, name, row=None):
    """The chain of imports to the first import of ``name`` (or to ``row``), outermost first, as rows of ``modules``."""
    modules = data["modules"]
    row = row or next((module for module in modules if module["name"] == name), None)
    chain = []
    while row is not None:
        chain.append(row)
        row = modules[row["parent"]] if row["parent"] is not None else None
    return chain[::-1]


def children(data):
    """``{id or None: rows of the imports made directly inside it, longest first}``."""
    found = {}
    for module in data["modules"]:
        found.setdefault(module["parent"], []).append(module)
    for rows in found.values():
        rows.sort(key=lambda row: -row["cumulative_ms"])
    return found
