"""``--native-stacks HZ``: what runs inside an import or a constructor, from samples of the C and the Python stack.

A timer interrupts the main thread; the audit library copies registers and stack, the recorder notes Python's frames at
the next instruction of Python code, which is the call that the native frames belong to.
"""

import os
import struct
from bisect import bisect_left, bisect_right

from . import native, parse, unwind
from .elf import Elf
from .measure import LIBRARIES

OWN = os.path.basename(LIBRARIES[0]) + "+"  # between the loader and a constructor


def measure(program, data, hertz):
    """Add ``native_stacks`` to the measurement: one run, its distortion against the bare runs stated."""
    run = program.run("stacks", options=f"stacks={hertz}")
    data["runs"].append(run.fields())
    recording = parse.Recording(run.log or b"")
    try:
        records, dropped = native.records(run.native)
    except ValueError:
        data["notes"].append("no native stacks: the audit library was not loaded")
        return
    if dropped:
        data["notes"].append(f"{dropped} samples did not fit; a lower rate keeps more of the run")
    stacks, number = _stacks(records, recording)
    bare = data["bare_ms"] or 0
    data["native_stacks"] = {
        "hertz": hertz,
        "samples": number,
        "ms_per_sample": round(1000 / hertz, 4),
        "distortion_percent": round(100 * (run.wall_ms - bare) / bare, 1) if bare else None,
        "stacks": stacks,
    }


class _Places:
    """Addresses to functions, over the libraries of one process."""

    def __init__(self, executable):
        self.executable, self.starts, self.rows = executable, [], []
        self.files, self.symbols, self.names = {}, {}, {}

    def add(self, address, path):
        at = bisect_left(self.starts, address)
        self.starts.insert(at, address)
        self.rows.insert(at, unwind.VDSO if path.startswith("linux-vdso") else os.path.realpath(path or self.executable or ""))
        self.names.clear()

    def find(self, address):
        index = bisect_right(self.starts, address) - 1
        if index < 0:
            return None
        path = self.rows[index]
        if path not in self.files:
            try:
                self.files[path] = unwind.Tables(path)
            except (OSError, ValueError, struct.error):
                self.files[path] = None
        tables = self.files[path]
        return (tables, self.starts[index]) if tables and tables.covers(address - self.starts[index]) else None

    def name(self, address):
        """``function`` or ``library+0xoffset``."""
        if address not in self.names:
            self.names[address] = self._name(address)
        return self.names[address]

    def _name(self, address):
        if self.find(address) is None:
            return "[outside all libraries]"  # code made at run time
        index = bisect_right(self.starts, address) - 1
        path, offset = self.rows[index], address - self.starts[index]
        if path not in self.symbols:
            try:
                self.symbols[path] = Elf(path)
            except (OSError, ValueError, struct.error):
                self.symbols[path] = None
        elf = self.symbols[path]
        symbol = elf.symbol(offset) if elf else None
        return plain(symbol) if symbol else f"{os.path.basename(path)}+{offset:#x}"


def plain(symbol):
    """The names in a mangled C++ symbol, without its argument types: ``_ZN2at6detail3fooEv`` -> ``at::detail::foo``."""
    if not symbol.startswith("_Z"):
        return symbol
    at = 3 if symbol[2:3] == "N" else 2
    while symbol[at : at + 1] in ("K", "V", "r"):
        at += 1
    if symbol[at : at + 2] == "St":
        parts, at = ["std"], at + 2
    else:
        parts = []
    if symbol[at : at + 1] == "L":
        at += 1
    while symbol[at : at + 1].isdigit():
        end = at
        while symbol[end : end + 1].isdigit():
            end += 1
        size = int(symbol[at:end])
        parts.append(symbol[end : end + size].replace("_GLOBAL__N_1", "(anonymous)"))
        at = end + size
        if symbol[2:3] != "N":
            break
    return "::".join(parts) or symbol


def _stacks(records, recording):
    spans, places, libraries = native._Spans(recording), _Places(recording.python), {}
    running, found, number = [], {}, 0
    times = [time for time, _ in recording.stacks]
    for kind, _, slot, time, value, _, rest in records:
        if kind == native.OPEN:
            path = rest.split(b"\0")[0].decode("utf-8", "surrogateescape")
            places.add(value, path)
            libraries[slot] = value, path
        elif kind == native.SELF:
            places.add(value, LIBRARIES[0])
        elif kind == native.INIT:
            if running and running[-1][0] == slot:  # DT_INIT has one of its own, without an end where more follow
                running.pop()
            running.append((slot, time, rest, int(value)))
        elif kind == native.INIT_END and slot in [each[0] for each in running]:
            while running and running.pop()[0] != slot:
                pass
        elif kind == native.SAMPLE:
            number += 1
            words = struct.unpack_from("<7Q", rest)
            frames = unwind.stack(value, words, rest[56:], places.find)
            names = [places.name(address if not index else address - 1) for index, address in enumerate(frames)]
            names = [name for name in names if not name.startswith(OWN)]
            span = spans.span(time)
            at = bisect_left(times, time)
            python = _frames(recording.stacks[at][1]) if at < len(times) else ()
            constructor = _constructor(running[-1], time, libraries, places) if running else None
            key = (tuple(names[::-1]), python, span.name if span else "", constructor)
            found[key] = found.get(key, 0) + 1
    rows = [
        {"samples": samples, "module": module, "constructor": constructor, "python": list(python), "native": list(names)}
        for (names, python, module, constructor), samples in found.items()
    ]
    return sorted(rows, key=lambda row: -row["samples"]), number


def _frames(rows):
    """``file:line function`` of each frame, outermost first."""
    frames = [f"{rows[at]}:{rows[at + 1]} {rows[at + 2]}" for at in range(0, len(rows), 3)]
    return tuple(frame for frame in frames[::-1] if not frame.startswith("<frozen importlib"))


def _constructor(running, time, libraries, places):
    slot, begin, rest, count = running
    passed = begin
    for offset, duration in struct.iter_unpack("<QQ", rest[: count * 16]):
        passed += duration
        if time <= passed or not duration:
            return places.name(libraries[slot][0] + offset)
    return None


def text(found, top):
    """The report's part on the terminal, as lines."""
    each = found["ms_per_sample"]
    yield (f"\nnative stacks: {found['samples']} samples at {found['hertz']} Hz; the run took "
           f"{found['distortion_percent']:+.1f}% against a bare one")  # fmt: skip
    for title, key in (("innermost functions", lambda row: row["native"][-1] if row["native"] else "?"),
                       ("inside constructors", lambda row: row["constructor"]),
                       ("by import", lambda row: row["module"] or "(interpreter and program)")):  # fmt: skip
        sums = {}
        for row in found["stacks"]:
            if key(row):
                sums[key(row)] = sums.get(key(row), 0) + row["samples"]
        if sums:
            yield f"  {title} (ms)"
            for name, samples in sorted(sums.items(), key=lambda item: -item[1])[:top]:
                yield f"  {samples * each:9.1f}  {name}"
