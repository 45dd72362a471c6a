"""``--speedscope``, ``--trace`` (Chrome's and Perfetto's format) and ``--flamegraph`` (collapsed stacks)."""

import json

from .. import spans
from . import put, title

OPTIONS = [
    ("--speedscope", "FILE", "imports and libraries over time for speedscope.app"),
    ("--trace", "FILE", "the same in Chrome's trace format, for chrome://tracing and Perfetto"),
    ("--flamegraph", "FILE", "collapsed stacks in microseconds, for flamegraph.pl and its kin"),
]


def write(data, options):
    """Write what was asked for."""
    tracks = spans.tracks(data)
    for name, make in (("--speedscope", speedscope), ("--trace", chrome)):
        if name in options.given:
            put(options.given[name], json.dumps(make(data, tracks), separators=(",", ":")) + "\n")
    if "--flamegraph" in options.given:
        put(options.given["--flamegraph"], collapsed(tracks))


def file_of(span):
    return (span.row or {}).get("file" if span.kind == "module" else "path")


def speedscope(data, tracks):
    """An "evented" profile a thread: https://www.speedscope.app/file-format-schema.json."""
    frames, profiles = {}, []
    for name, top in tracks:
        events, ends = [], []
        for span, above in spans.walk(top):
            while len(ends) > len(above):
                events.append(ends.pop())
            label = span.name if span.kind in ("program", "phase", "module") else f"{span.kind} {span.name}"
            frame = frames.setdefault((label, file_of(span)), len(frames))
            events.append({"type": "O", "frame": frame, "at": round(span.begin, 4)})
            ends.append({"type": "C", "frame": frame, "at": round(span.end, 4)})
        events += reversed(ends)
        profiles.append({"type": "evented", "name": name, "unit": "milliseconds", "startValue": round(top.begin, 4),
                         "endValue": round(top.end, 4), "events": events})  # fmt: skip
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": title(data),
        "exporter": "kindling startup",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name, **({"file": file} if file else {})} for name, file in frames]},
        "profiles": profiles,
    }


def chrome(data, tracks):
    """Complete events ("X"), in microseconds; marks and started threads as instants."""
    events = []
    for number, (name, top) in enumerate(tracks, 1):
        events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": {"name": name}})
        for span, _ in spans.walk(top):
            row = span.row or {}
            more = {key: row[key] for key in ("importer", "line", "origin", "package", "self_ms") if key in row}
            if file_of(span):
                more["file"] = file_of(span)
            events.append({"ph": "X", "name": span.name, "cat": span.kind, "pid": 1, "tid": number, "args": more,
                           "ts": round(span.begin * 1e3, 1), "dur": round((span.end - span.begin) * 1e3, 1)})  # fmt: skip
    for kind, rows in (("mark", data["marks"]), ("thread", data["threads"])):
        for row in rows:
            events.append({"ph": "i", "s": "p", "name": row["name"], "cat": kind, "pid": 1, "tid": 1,
                           "ts": round((row["at_ms"] + data["start_ms"]) * 1e3, 1)})  # fmt: skip
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"program": title(data)}}


def collapsed(tracks):
    """``a;b;c 123`` lines, microseconds of self time; other threads have their name at the front."""
    lines = []
    for _, top in tracks:
        for span, above in spans.walk(top):
            own = round(span.self_ms * 1e3)
            if own > 0:
                names = [one.name.replace(";", ":").replace("\n", " ") for one in (*above, span)]
                lines.append(f"{';'.join(names)} {own}")
    return "\n".join(lines) + "\n"
