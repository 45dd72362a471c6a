"""From the audit library's records to libraries: what mapping, relocation and constructors cost, and for which module."""

import os
import struct

from .elf import KINDS, Elf

SEARCH, OPEN, ACTIVITY, INIT, INIT_END, PREINIT, CLOSE, THREAD, SAMPLE, SELF = range(1, 11)
_CONSISTENT, _ADD = 0, 1


def records(data):
    """``(kind, thread, slot, time, value, faults, rest)`` in order; ValueError where the file is none of ours."""
    if data[:8] != b"kstart01":
        raise ValueError("the audit library was not loaded")
    used, capacity, dropped = struct.unpack_from("<QQQ", data, 16)
    at, found = 64, []
    while at + 40 <= min(used, len(data)):
        kind, size, thread, slot, time, value, faults = struct.unpack_from("<IIIIQQQ", data, at)
        if size < 40:
            break
        if kind:
            found.append((kind, thread, slot, time, value, faults, data[at + 40 : at + size]))
        at += size
    return found, dropped


def libraries(data, recording):
    """``(rows of the schema's libraries, notes)``."""
    try:
        rows, dropped = records(data)
    except ValueError:
        return [], ["the native side was not recorded: the dynamic loader did not load the audit library (a wrapper "
                    "that clears the environment, or another loader)"]  # fmt: skip
    notes = [f"{dropped} native events did not fit and are missing"] if dropped else []
    spans = _Spans(recording)
    found, by_slot, group, waiting = [], {}, [], None
    search = last = None
    groups = before = 0
    for kind, _, slot, time, value, faults, rest in rows:
        if kind in (SELF, SAMPLE):
            continue
        if kind == SEARCH:
            search = search or time
        elif kind == OPEN:
            path = rest.split(b"\0")[0].decode("utf-8", "surrogateescape")
            row = _row(path, recording, time, (time - (search or last or time)) / 1e6, groups)
            row["importer"] = spans.at(time)
            row["_address"], row["_time"] = value, time
            search = None
            found.append(row)
            group.append(row)
            if slot != 0xFFFFFFFF:
                by_slot[slot] = row
        elif kind == ACTIVITY and value == _ADD:
            before = faults
        elif kind == ACTIVITY and value == _CONSISTENT and group:
            # At start the loader says so after it has relocated everything, later before it does.
            if groups:
                waiting = time, faults, group
            else:
                _relocated((last, before, group), time, faults)
            group = []
            groups += 1
        elif kind in (INIT, PREINIT):
            if waiting:
                _relocated(waiting, time, faults)
                waiting = None
            if kind == INIT and slot in by_slot:
                row = by_slot[slot]
                row["_faults"] = faults
                for offset, duration in struct.iter_unpack("<QQ", rest[: int(value) * 16]):
                    row["constructors"].append([offset, duration])
        elif kind == INIT_END and slot in by_slot:
            row = by_slot[slot]
            row["page_faults"] += faults - row.pop("_faults", faults)
        last = time
    if waiting:
        _relocated(waiting, last, waiting[1])
    found = [row for row in found if os.path.isabs(row["path"])]  # the kernel's own has no file
    for row in found:
        _finish(row)
    _init_functions(found, recording)
    for row in found:
        for key in [key for key in row if key.startswith("_")]:
            del row[key]
    return found, notes


def threads(data, recording):
    """``[(time, module, library, function)]`` of every pthread_create that a library other than Python's asked for."""
    try:
        rows, _ = records(data)
    except ValueError:
        return []
    spans, places, found = _Spans(recording), [], []
    for kind, _, _, time, value, _, rest in rows:
        if kind == OPEN:
            places.append((value, rest.split(b"\0")[0].decode("utf-8", "surrogateescape")))
        elif kind == THREAD:
            (back,) = struct.unpack_from("<Q", rest)
            by = _place(places, back)
            if by and not os.path.basename(by[1]).startswith(("python", "libpython")) and by[1]:
                at = _place(places, value)
                symbol = None
                try:
                    symbol = at and Elf(os.path.realpath(at[1])).symbol(value - at[0])
                except (OSError, ValueError, struct.error):
                    pass
                library = os.path.basename(at[1]) if at else "?"
                span = spans.span(time)
                found.append((time, span, by[1], symbol or f"{library}+{value - at[0] if at else value:#x}"))
    return found


def _place(places, address):
    below = [place for place in places if place[0] <= address]
    return max(below) if below else None


def _row(path, recording, time, map_ms, group):
    whole = path or recording.python or ""
    if os.sep in whole:
        whole = os.path.abspath(whole)
    row = {
        "path": whole,
        "importer": "",
        "start_ms": round((time - recording.ready) / 1e6, 4),
        "map_ms": round(max(map_ms, 0.0), 4),
        "relocate_ms": 0.0,
        "estimated": False,
        "relocations": dict.fromkeys(KINDS, 0),
        "lazy": None,
        "constructors": [],
        "constructors_ms": 0.0,
        "init_symbol": None,
        "init_ms": 0.0,
        "group": group,
        "size_bytes": 0,
        "page_faults": 0,
    }
    try:
        row["_elf"] = elf = Elf(os.path.realpath(whole))
        row["relocations"], row["lazy"] = elf.relocations, elf.lazy
        row["size_bytes"] = os.path.getsize(whole)
    except (OSError, ValueError, struct.error):
        row["_elf"] = None  # linux-vdso, or a file that is gone
    return row


def _relocated(waiting, time, faults):
    begin, before, group = waiting
    weights = [row["_elf"].weight() if row["_elf"] else 0 for row in group]
    whole = sum(weights) or 1
    for row, weight in zip(group, weights):
        row["relocate_ms"] = round((time - begin) / 1e6 * weight / whole, 4)
        row["estimated"] = sum(1 for weight in weights if weight) > 1
        row["page_faults"] += round(max(faults - before, 0) * weight / whole)


def _finish(row):
    elf, name = row["_elf"], os.path.basename(row["path"])
    constructors = []
    for offset, duration in row["constructors"]:
        symbol = elf.symbol(offset) if elf else None
        constructors.append({"symbol": symbol or f"{name}+{offset:#x}", "ms": round(duration / 1e6, 5), "offset": offset})
    row["constructors"] = constructors
    row["constructors_ms"] = round(sum(item["ms"] for item in constructors), 4)


class _Spans:
    """The innermost import at a moment."""

    def __init__(self, recording):
        self.edges = []
        for span in recording.spans.values():
            self.edges.append((span.real, span))
        self.edges.sort(key=lambda edge: edge[0])

    def at(self, time):
        span = self.span(time)
        return span.name if span else ""

    def span(self, time):
        from bisect import bisect_right

        index = bisect_right(self.edges, time, key=lambda edge: edge[0]) - 1
        span = self.edges[index][1] if index >= 0 else None
        while span is not None and span.real_end is not None and span.real_end < time:
            span = span.parent
        return span


def _init_functions(found, recording):
    """The rest of the time in create_dynamic, past the loader's work and without imports inside, and the exec slots."""
    by_path = {}
    for row in found:
        by_path.setdefault(os.path.realpath(row["path"]), row)
    for kind, number, begin, end, spent, name, path in recording.native:
        row = by_path.get(os.path.realpath(path)) if path else None
        if row is None:
            continue
        span = recording.spans.get(number)
        inside = sum((child.end or child.begin) - child.begin for child in (span.children if span else ())
                     if begin <= child.real <= end)  # fmt: skip
        loader = 0
        if kind == "create":
            row["init_symbol"] = "PyInit_" + name.rpartition(".")[2]
            mine = [other for other in found if begin <= other["_time"] <= end]
            if span:  # those of the imports inside have their own call of create_dynamic
                mine = [other for other in mine if other["importer"] == span.name]
            loader = sum(other["map_ms"] + other["relocate_ms"] + other["constructors_ms"] for other in mine)
        row["init_ms"] = round(row["init_ms"] + max((spent - inside) / 1e6 - loader, 0.0), 4)
