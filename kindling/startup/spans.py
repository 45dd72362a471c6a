"""The measurement as spans that nest and follow each other, for the formats that draw: imports, with the parts of the
libraries inside the imports that loaded them."""

from . import model
from .formats import title


class Span:
    """From ``begin`` to ``end`` (ms from the process's start); ``row`` is the module or library it was made from."""

    __slots__ = ("name", "kind", "row", "at", "ms", "begin", "end", "below", "depth")

    def __init__(self, name, kind, row, at, ms):
        self.name, self.kind, self.row, self.at, self.ms = name, kind, row, at, max(ms, 0.0)
        self.begin = self.end = 0.0
        self.depth, self.below = 0, []

    @property
    def self_ms(self):
        return max(self.end - self.begin - sum(inner.end - inner.begin for inner in self.below), 0.0)


def tracks(data):
    """``[(thread's name, outermost span)]``, the main thread first. Inside it: the interpreter's start, the imports, the
    process's end. What was measured by different clocks, or taken out as the recorder's own time, is moved and shrunk
    as far as needed to nest."""
    rows, start = data["modules"], data["start_ms"]
    main = rows[0]["thread"] if rows else None
    whole = Span(title(data), "program", None, 0.0, data["total_ms"])
    begin = Span("(interpreter start)", "phase", None, 0.0, start)
    tops = {main: whole}
    spans, by_name = [], {}
    for row in rows:
        span = Span(row["name"], "module", row, row["start_ms"] + start, row["cumulative_ms"])
        spans.append(span)
        by_name.setdefault(row["name"], []).append(span)
        if row["parent"] is not None:
            spans[row["parent"]].below.append(span)
        else:
            if row["thread"] not in tops:
                tops[row["thread"]] = Span(f"thread {row['thread']}", "program", None, span.at, 0.0)
            top = tops[row["thread"]]
            top.below.append(span)
            if top is not whole:
                top.ms = max(top.ms, span.at + span.ms - top.at)
    for row in data["libraries"]:
        at = row["start_ms"] + start
        span = Span(row["path"].rpartition("/")[2], "library", row, at, model.library_ms(row))
        span.below = [Span(name, kind, row, at, ms) for name, kind, ms in parts(row) if ms > 0]
        for place, inner in enumerate(span.below):
            inner.at = at + place * 1e-6  # in this order
        choice = by_name.get(row["importer"])
        if choice:
            above = next((made for made in reversed(choice) if made.at <= at + 1e-3), choice[0])
        else:
            above = begin if at <= start else whole
        above.below.append(span)
    if start > 0:
        whole.below.append(begin)
    if data["leave_ms"] > 0:
        whole.below.append(Span("(exit)", "phase", None, data["total_ms"] - data["leave_ms"], data["leave_ms"]))
    found = []
    for thread, top in tops.items():
        top.ms = max(top.ms, sum(span.ms for span in top.below))
        top.begin, top.end = top.at, top.at + top.ms
        arrange(top)
        found.append(("main" if top is whole else f"thread {thread}", top))
    return found


def parts(library):
    """(name, kind, ms) of what one library's time is made of."""
    yield "map", "map", library["map_ms"]
    yield "relocate", "relocate", library["relocate_ms"]
    for row in library["constructors"]:
        yield row["symbol"], "constructor", row["ms"]
    yield library["init_symbol"] or "init", "init", library["init_ms"]


def arrange(top):
    """Begins and ends for all below ``top``, in order of time, without overlaps and inside what is above."""
    todo = [top]
    while todo:
        span = todo.pop()
        inside = sorted(span.below, key=lambda inner: inner.at)
        span.below = inside
        room = span.end - span.begin
        fixed = sum(inner.ms for inner in inside if inner.kind == "module")
        other = sum(inner.ms for inner in inside) - fixed
        shrink = max(room - fixed, 0.0) / other if fixed + other > room and other else 1.0
        tight = room / fixed if fixed > room else 1.0
        lengths = [inner.ms * (tight if inner.kind == "module" else shrink) for inner in inside]
        rest, at = sum(lengths), span.begin
        for inner, length in zip(inside, lengths):
            inner.begin = max(at, min(inner.at, span.end - rest))
            inner.end = at = inner.begin + length
            inner.depth = span.depth + 1
            rest -= length
        todo += inside


def walk(top):
    """Every span with the ones above it, outermost first: ``(span, [above...])``, in order."""
    todo = [(top, [])]
    while todo:
        span, above = todo.pop()
        yield span, above
        if span.below:
            path = [*above, span]
            todo += [(inner, path) for inner in reversed(span.below)]
