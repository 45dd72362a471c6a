"""``--html FILE``: one page with everything in it: an icicle of imports, packages and libraries to zoom and search."""

import json

from .. import model, spans
from . import diff, put, title

OPTIONS = [("--html", "FILE", "a page to look at it in a browser, in one file; with --diff, coloured by change")]
STANDARD = "(standard library)"


def write(data, options):
    """Write the page."""
    if "--html" in options.given:
        put(options.given["--html"], page(data, diff.old(options), options.given.get("--diff")))


def page(data, before=None, name=None):
    """The page as one string; ``before`` is an older measurement to compare with, from the file ``name``."""
    from ..page import PAGE

    # Inside <script>, HTML looks for no entities, only for its end.
    text = json.dumps(content(data, before, name), separators=(",", ":")).replace("<", "\\u003c")
    plain = title(data)[:120].replace("&", "&amp;").replace("<", "&lt;")
    head, middle, tail = PAGE.replace("@TITLE@", "\0").replace("@DATA@", "\1").replace("\1", "\0").split("\0")
    return f"{head}{plain} - start{middle}{text}{tail}"


def content(data, before=None, name=None):
    """What the page's script draws: see `make` there for the nodes."""
    changes = {
        what: {row: (now or 0.0) - (was or 0.0) for row, was, now in diff.changes(diff.times(before, what),
                                                                                  diff.times(data, what))}
        for what in ("module", "library")
    } if before else {"module": {}, "library": {}}  # fmt: skip
    packs = {row["package"] for row in data["modules"]}

    def package(row):
        return STANDARD if row["standard"] else row["package"]

    def owner(row):
        """The package that a library was loaded for."""
        first = row["importer"].partition(".")[0]
        return first if first in packs else ""

    nodes, depth = [], 0
    for _, top in spans.tracks(data):
        lowest = depth
        for span, _ in spans.walk(top):
            module = span.kind == "module"
            row = span.row or {}
            lowest = max(lowest, depth + span.depth)
            nodes.append([
                depth + span.depth, span.name, round(span.begin, 4), round(span.end - span.begin, 4), span.kind,
                package(row) if module else owner(row) if row else "", round(span.self_ms, 4),
                place(row["importer"], row["line"]) if module else row.get("importer", ""),
                (row.get("file") if module else row.get("path")) or "",
                changes.get(span.kind, {}).get(span.name),
            ])  # fmt: skip
        depth = lowest + 2
    libraries = [
        {"name": (path := row["path"]).rpartition("/")[2], "path": path, "importer": row["importer"], "pack": owner(row),
         "ms": model.library_ms(row), "change": changes["library"].get(path.rpartition("/")[2]),
         "parts": [[part, kind, ms] for part, kind, ms in spans.parts(row) if ms > 0]}
        for row in sorted(data["libraries"], key=lambda row: -model.library_ms(row))
    ]  # fmt: skip
    tiles = [("total", data["total_ms"]), ("without the profiler", data["bare_ms"]),
             ("empty interpreter", data["interpreter_ms"]), (f"{len(data['modules'])} imports",
             sum(row["self_ms"] for row in data["modules"])), (f"{len(libraries)} libraries",
             sum(row["ms"] for row in libraries) if libraries else None), ("Python", data["python"]["version"])]  # fmt: skip
    if before:
        tiles.insert(1, (f"total in {name}", before["total_ms"]))
    return {
        "title": title(data),
        "tiles": [tile for tile in tiles if tile[1] is not None],
        "nodes": nodes,
        "libraries": libraries,
        "packages": [row["name"] for row in model.group(data, "package") if any(
            not module["standard"] for module in data["modules"] if module["package"] == row["name"])],
        "diff": name if before else None,
        "lists": [
            ("Failed imports", [(row["name"], f"{row['error']} - {place(row['importer'], row['line'])}"
                                 + ("" if row["swallowed"] else ", ended the program")) for row in data["failed"]]),
            ("Threads started", [(row["name"], f"by {place(row['module'], row['line'])} ({row['kind']})")
                                 for row in data["threads"]]),
            ("Import cycles", [(" \u2192 ".join([*row, row[0]]), "") for row in data["cycles"]]),
            ("Advice", [(f"{row['kind']}: {row['module']}", "" if row["saving_ms"] is None
                         else f"saves {row['saving_ms']:.1f} ms") for row in data["advice"]]),
        ],
        "notes": data["notes"],
    }  # fmt: skip


def place(importer, line):
    return f"{importer}:{line}" if line else importer or ""
