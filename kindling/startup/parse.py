"""From the recorder's records to modules, threads, cycles, failures and marks."""

import io
import marshal
import os
import sys

STANDARD = frozenset(sys.stdlib_module_names)
_KINDS = {
    "SourceFileLoader": "bytecode",
    "SourcelessFileLoader": "bytecode",
    "ExtensionFileLoader": "extension",
    "BuiltinImporter": "builtin",
    "FrozenImporter": "frozen",
    "NamespaceLoader": "namespace",
    "_NamespaceLoader": "namespace",
    "zipimporter": "zip",
}

_SITE = ("", "sitecustomize", "usercustomize")


class Span:
    """One import that was not in sys.modules. Times in ns on the recorder's clock, ``real`` ones on the machine's."""

    def __init__(self, number, parent, words):
        self.number, self.parent = number, parent
        self.thread, self.name, self.importer, self.line, self.begin, self.modules, self.real, self.importer_file = words
        self.end = self.real_end = self.modules_end = None
        self.file = self.loader = self.error = self.error_name = ""
        self.causes, self.children, self.counts = (), [], None


class Recording:
    """What one recorded run wrote."""

    def __init__(self, data):
        self.spans, self.native, self.threads, self.marks, self.cycles = {}, [], [], [], []
        self.operators, self.stacks = [], []
        self.cached, self.path, self.causes, self.status = [], [], (), {}
        self.end = self.python = self.version = None
        self.entered = self.ready = self.lost = 0
        self.present = []
        at, size = io.BytesIO(data), len(data)
        while at.tell() < size:
            try:
                kind, *words = marshal.load(at)
                getattr(self, "_" + _NAMES[kind])(*words)
            except (EOFError, ValueError, KeyError, TypeError):
                break  # cut off in the middle of a write
        self._drop_empty()
        for span in self.spans.values():
            if span.parent:
                span.parent.children.append(span)

    def _drop_empty(self):
        """`import a.b` imports `a` first; where that imports `a.b` itself, the outer import found it done."""
        empty = set()
        for span in self.spans.values():
            above = span.parent
            while above is not None and not span.error:
                if above.name == span.name:
                    empty.add(above.number)
                above = above.parent
        for span in self.spans.values():
            while span.parent and span.parent.number in empty:
                span.parent = span.parent.parent
        for number in empty:
            del self.spans[number]

    def _start(self, entered, ready, python, version, present):
        self.entered, self.ready, self.python, self.version, self.present = entered, ready, python, version, present

    def _begin(self, number, parent, *words):
        self.spans[number] = Span(number, self.spans.get(parent), words)

    def _done(self, number, at, real, modules, file, loader, counts):
        span = self.spans[number]
        span.end, span.real_end, span.modules_end = at, real, modules
        span.file, span.loader, span.counts = file, loader, counts

    def _failed(self, number, at, modules, causes, error, name):
        span = self.spans[number]
        span.end, span.modules_end, span.causes, span.error, span.error_name = at, modules, causes, error, name

    def _native(self, *words):
        self.native.append(words)

    def _thread(self, *words):
        self.threads.append(words)

    def _cycle(self, *words):
        self.cycles.append(words)

    def _mark(self, at, name):
        self.marks.append(("M", at, name))

    def _open(self, at, name):
        self.marks.append(("(", at, name))

    def _close(self, at, name):
        self.marks.append((")", at, name))

    def _exit(self, at, causes, lost, path):
        self.end, self.causes, self.lost, self.path = at, causes, lost, path

    def _cached(self, *words):
        self.cached.append(words)

    def _operator(self, text):
        self.operators.append(text)

    def _stack(self, *words):
        self.stacks.append(words)

    def _status(self, fields):
        self.status = {key: value.strip() for key, _, value in (field.partition(":") for field in fields)}


_NAMES = {
    "V": "start", "B": "begin", "E": "done", "F": "failed", "N": "native", "T": "thread", "C": "cycle", "M": "mark",
    "(": "open", ")": "close", "X": "exit", "I": "cached", "R": "operator", "Y": "stack", "S": "status",
}  # fmt: skip


def standard(name):
    return name.partition(".")[0] in STANDARD


def origin(span, source):
    """``source``, ``bytecode``, ``extension``, ``builtin``, ``frozen``, ``namespace``, ``zip`` or ``other``."""
    kind = _KINDS.get(span.loader, "other" if span.loader else "")
    return "source" if kind == "bytecode" and source else kind


def modules(recording, finish, details=None):
    """``(rows, row of a span)``: the modules of the schema in order of import; ``finish`` closes spans cut short."""
    extra = {}
    for span in details.spans.values() if details else ():
        extra.setdefault(span.name, []).append(span)
    rows, by_span = [], {}
    for index, span in enumerate(recording.spans.values()):
        end = span.end if span.end is not None else max(finish, span.begin)
        inside = sum((child.end if child.end is not None else end) - child.begin for child in span.children)
        row = {
            "id": index,
            "name": span.name,
            "self_ms": _ms(max(end - span.begin - inside, 0)),
            "cumulative_ms": _ms(end - span.begin),
            "start_ms": _ms(span.begin - recording.ready),
            "importer": span.importer,
            "line": span.line or None,
            "importer_file": span.importer_file,
            "parent": by_span[span.parent.number]["id"] if span.parent else None,
            "depth": by_span[span.parent.number]["depth"] + 1 if span.parent else 0,
            "file": span.file,
            "package": span.name.partition(".")[0],
            "distribution": "",
            "standard": standard(span.name),
            "origin": origin(span, False),
            "phase": "program",
            "thread": span.thread,
            "failed": bool(span.error),
            "unfinished": span.end is None,
            "modules_added": (span.modules_end - span.modules) if span.modules_end is not None else None,
        }
        twins = extra.get(span.name)
        twin = twins.pop(0) if twins else None
        if twin is not None and twin.counts:
            counts = list(twin.counts)
            for child in twin.children:
                for place, value in enumerate(child.counts or ()):
                    counts[place] -= value
            row.update(zip(("bytes_read", "opens", "stats"), counts))
            row["origin"] = origin(span, counts[3] > 0)
            row.update(zip(("page_faults", "major_faults", "memory_kb"), counts[4:]))
            row["memory_cumulative_kb"] = twin.counts[6]
        rows.append(row)
        by_span[span.number] = row
    return rows, by_span


def failures(recording, by_span):
    """``(failed, probes)``: probes are modules of other systems that the standard library asks for and does without."""
    failed, probes = [], []
    for span in recording.spans.values():
        if not span.error:
            continue
        roots = set(span.causes)
        swallowed = not roots & set(recording.causes)
        cause = min(roots) if roots else span.number
        row = {
            "name": span.name,
            "error": span.error,
            "importer": span.importer,
            "line": span.line or None,
            "importer_file": span.importer_file,
            "swallowed": swallowed,
            "cause": recording.spans[cause].name if cause in recording.spans else span.name,
            "ms": by_span[span.number]["cumulative_ms"],
        }
        missing = span.error.startswith("ModuleNotFoundError") and (span.name + ".").startswith(span.error_name + ".")
        probe = swallowed and missing and (standard(span.importer) or span.importer in _SITE)
        (probes if probe else failed).append(row)
    return failed, probes


def threads(recording, native):
    """Python's own threads as the recorder saw them; ``native`` are `native.threads` of the run for details."""
    rows = []
    for number, at, name, module, line, file, target in recording.threads:
        rows.append({"name": name or target, "module": module, "line": line or None, "file": file, "kind": "python",
                     "target": target, "library": None, "at_ms": _ms(at - recording.ready)})  # fmt: skip
    for time, span, library, function in native:
        rows.append({"name": function, "module": span.name if span else "__main__", "line": span.line if span else None,
                     "file": span.file if span else "", "kind": "native", "target": function, "library": library,
                     "at_ms": _ms(time - recording.ready)})  # fmt: skip
    return rows


def cycles(recording):
    """Lists of module names: each imports the next, the last one the first."""
    found = []
    for number, importer, line, name in recording.cycles:
        names, span = [importer], recording.spans.get(number)
        while span is not None:
            if names[-1] != span.name:
                names.append(span.name)
            if span.name == name:
                break
            span = span.parent
        else:
            continue
        names.reverse()
        if all(map(standard, names)):
            continue
        low = names.index(min(names))
        turned = names[low:] + names[:low]
        if turned not in found:
            found.append(turned)
    return found


def marks(recording):
    rows, last, opened = [], recording.ready, {}
    for kind, at, name in recording.marks:
        if kind == "(":
            opened.setdefault(name, []).append(at)
            continue
        row = {"name": name, "at_ms": _ms(at - recording.ready), "since_ms": _ms(at - last), "ms": None}
        if kind == ")" and opened.get(name):
            begin = opened[name].pop()
            row.update(at_ms=_ms(begin - recording.ready), since_ms=_ms(begin - last), ms=_ms(at - begin))
        rows.append(row)
        last = at
    return rows


def distributions(path):
    """Top-level module name -> distribution name, from the metadata on ``path``."""
    from importlib.metadata import distributions as all_of

    found = {}
    for distribution in all_of(path=[entry for entry in path if entry]):
        try:
            name = distribution.metadata["Name"]
            tops = (distribution.read_text("top_level.txt") or "").split()
            if not tops:
                record = distribution.read_text("RECORD") or ""
                tops = {line.split(",", 1)[0].strip('"').partition("/")[0] for line in record.splitlines()}
            for top in tops:
                top = top.partition(".")[0]
                if top and top.isidentifier():
                    found.setdefault(top, name)
        except (OSError, KeyError, TypeError):
            continue
    return found


def _ms(nanoseconds):
    return round(nanoseconds / 1e6, 4)


def parent_modules(text):
    """``[(name, self us, cumulative us, depth)]`` of an ``-X importtime`` log, in order of completion."""
    rows = []
    for line in text.splitlines():
        if not line.startswith("import time:") or "[us]" in line:
            continue
        parts = line[12:].split("|")
        if len(parts) != 3:
            continue
        try:
            own, cumulative = int(parts[0]), int(parts[1])
        except ValueError:
            continue
        name = parts[2][1:]
        rows.append((name.strip(), own, cumulative, (len(name) - len(name.lstrip(" "))) // 2))
    return rows


def relative(path):
    return os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
