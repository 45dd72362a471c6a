"""Logs of ``python -X importtime`` and ``PYTHONPROFILEIMPORTTIME=1``, as far as they go, in the form of the measurement."""

import sys

from . import model, record
from .formats import Refused

MARK = "import time:"


def read(path):
    """The measurement (docs/startup/schema.md) that a log holds; Refused for a file that holds none."""
    try:
        if path == "-":
            content = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                content = file.read()
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror}") from None
    # A shell on Windows redirects in UTF-16.
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = content.decode("utf-16" if wide else "utf-8-sig", errors="replace")
    entries, cached, heads, broken = parse(text)
    if not entries:
        raise Refused(f"{path} is no log of -X importtime: no line in it has '{MARK} self | cumulative | name'")
    return measurement(path, entries, cached, heads, broken)


def parse(text):
    """``(entries, cached, heads, broken)``: ``[depth, name, self us, cumulative us]`` in the log's order (an import stands
    after those inside it); names found in sys.modules (Python 3.14, -X importtime=2) with their place and depth or None; how many
    times a process began; how many lines were cut off."""
    entries, cached, heads, broken = [], [], 0, 0
    for line in text.splitlines():
        # The program's own output may stand before it on the same line.
        _, mark, rest = line.rpartition(MARK)
        if not mark:
            continue
        columns = rest.split("|", 2)
        if len(columns) < 3:
            broken += columns[0].strip().isdigit()  # else words of the program
            continue
        own, whole, name = columns
        own, whole = own.strip(), whole.strip()
        if own.startswith("self"):
            heads += 1
            continue
        bare = name.strip()
        depth = (len(name) - len(name.lstrip()) - 1) // 2
        if own == "cached" and bare:
            # Set flush right in a field of twice the depth: where the name fills that, the depth is lost.
            cached.append((len(entries), (len(name) - 1) // 2 if len(name) > len(bare) + 1 else None, bare))
            continue
        try:
            entries.append([max(depth, 0), bare, int(own), int(whole)])
        except ValueError:
            broken += 1
    return entries, cached, heads, broken


def measurement(path, entries, cached, heads, broken):
    """The schema's object from a parsed log; null where the log has nothing to say."""
    # Backwards an import stands before those inside it, the last one first.
    above, below, stack = {}, {}, []
    tops = []
    for at in range(len(entries) - 1, -1, -1):
        depth = entries[at][0]
        while stack and entries[stack[-1]][0] >= depth:
            stack.pop()
        if stack:
            above[at] = stack[-1]
            below.setdefault(stack[-1], []).append(at)
        else:
            tops.append(at)
        stack.append(at)
    rows, ids = [], {}
    # All that the interpreter imports by itself ends with `site`.
    sites = [at for at in tops if entries[at][1] == "site"]
    clock = 0.0
    todo = []
    for top in reversed(tops):
        todo.append((top, 0, clock))
        clock += entries[top][3] / 1e3
        while todo:
            at, depth, begin = todo.pop()
            _, name, own, whole = entries[at]
            ids[at] = len(rows)
            importer = above.get(at)
            # As `import a.b` has a inside a.b in such logs: a's importer is that of a.b.
            while importer is not None and entries[importer][1].startswith(name + "."):
                importer = above.get(importer)
            package = name.partition(".")[0]
            rows.append({
                "id": len(rows), "name": name, "self_ms": own / 1e3, "cumulative_ms": whole / 1e3,
                "start_ms": round(begin, 4),
                "importer": entries[importer][1] if importer is not None else "" if sites and top <= sites[0] else "__main__",
                "line": None, "importer_file": None, "parent": ids.get(above.get(at)), "depth": depth, "file": None,
                "package": package, "distribution": "", "standard": package in sys.stdlib_module_names,
                "origin": None, "phase": "program", "thread": None, "failed": False, "unfinished": False,
                "modules_added": None, "bytes_read": None, "opens": None, "stats": None, "page_faults": None,
                "major_faults": None, "memory_kb": None, "memory_cumulative_kb": None,
            })  # fmt: skip
            inside = below.get(at, ())[::-1]
            for inner in inside:
                todo.append((inner, depth + 1, begin))
                begin += entries[inner][3] / 1e3
            todo[len(todo) - len(inside) :] = todo[len(todo) - len(inside) :][::-1]
    times = {}
    for at, depth, name in cached:
        # The import that it was found in is the next one further out.
        outer = depth and next((entry[1] for entry in entries[at:] if entry[0] < depth), "__main__")
        times[outer, name] = times.get((outer, name), 0) + 1
    total = round(sum(entries[top][3] for top in tops) / 1e3, 3)
    notes = [
        f"from the log {path}: imports only; the rest of the process is not in it, distributions and lines neither"
    ]
    if heads > 1:
        notes.append(f"{heads} processes wrote this log: their imports stand after one another, and nesting is wrong where "
                     "they wrote at the same time")  # fmt: skip
    if broken:
        notes.append(f"{broken} lines of the log are cut off or overwritten and were left out")
    if entries[-1][0]:
        notes.append("the log ends inside an import: what was under way is missing, and its parts stand by themselves")
    return {
        "schema_version": model.SCHEMA_VERSION,
        "command": {"kind": "log", "what": path, "arguments": []},
        "python": {"executable": None, "version": None},
        "system": None,
        "exit": {"status": None, "signal": None, "timed_out": False, "timeout_s": None},
        "total_ms": total, "bare_ms": None, "instrumented_ms": None, "interpreter_ms": None, "overhead_ms": None,
        "overhead_percent": None, "overhead_cpu_ms": None, "recorder_ms": None, "start_ms": 0.0, "main_ms": 0.0,
        "leave_ms": 0.0, "statistics": {"bare": None, "recorded": None, "interpreter": None}, "runs": [], "modules": rows,
        "present_at_start": [], "longest_chain": record.longest_chain(rows), "shares": record.shares(rows),
        "libraries": [], "threads": [], "cycles": [], "failed": [], "probes": [],
        "cached_imports": [{"importer": importer, "name": name, "times": count} for (importer, name), count in times.items()],
        "marks": [], "eviction": None, "registrations": None, "native_stacks": None, "memory": {}, "advice": [], "tried": [],
        "environment": [],
        "notes": notes,
    }  # fmt: skip
