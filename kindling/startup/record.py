"""One measurement: the runs, and the whole of the JSON from what they recorded."""

import os
import platform
import sys
from time import perf_counter

from . import measure, model, parse


# Without --repeat: at least so many rounds, and on until so many seconds or rounds are over. Short programs need more of
# them for a minimum that means something.
ROUNDS, SECONDS, MOST = 3, 2.0, 15


def rounds(repeat=None):
    """Numbers the rounds of a measurement: ``repeat`` of them, or as the constants above have it."""
    until = perf_counter() + SECONDS
    turn = 0
    while turn < (repeat or ROUNDS) or (not repeat and turn < MOST and perf_counter() < until):
        yield turn
        turn += 1


def record(program, repeat=None, command=None):
    """Measure ``program`` (`measure.Program`): a first recorded run whose output is shown, one for details, then bare,
    recorded and empty ones in turns."""
    measure.check(program)
    first = program.run("first", options="time")
    program.quiet = True
    runs, recorded, details = [first], [], first
    if not first.timed_out:
        details = program.run("detail", options="detail")
        runs.append(details)
        for _ in rounds(repeat):
            bare = program.run("bare")
            run = program.run("recorded", options="time")
            runs += [bare, run, program.run("interpreter", words=["-c", "pass"])]
            if bare.timed_out or run.timed_out:
                break
            recorded.append(run)
    best = min(recorded, key=lambda run: run.wall_ms) if recorded else first
    return build(program, runs, best, details, command or {"words": program.words})


def build(program, runs, best, details, command):
    """The measurement as plain data; see docs/startup/schema.md."""
    first = runs[0]
    recording = parse.Recording(best.log or b"")
    detail = parse.Recording(details.log or b"") if details is not best else recording
    finish = best.end - recording.lost
    if recording.end is None:
        recording.lost = 0
    rows, by_span = parse.modules(recording, finish, detail)
    names = parse.distributions(detail.path or recording.path or sys.path)
    for row in rows:
        row["distribution"] = "" if row["standard"] else names.get(row["package"], "")
    failed, probes = parse.failures(recording, by_span)
    walls = {kind: model.statistics([run.wall_ms for run in runs if run.kind == kind and not run.timed_out])
             for kind in ("bare", "recorded", "interpreter")}  # fmt: skip
    setup = recording.ready - recording.entered
    lost = (recording.lost + setup) / 1e6
    instrumented = best.wall_ms
    bare = walls["bare"]["min"] if walls["bare"] else None
    overhead = instrumented - bare if bare is not None and walls["recorded"] else None
    total = max(instrumented - lost, 0.0)
    start = (recording.entered - best.begin) / 1e6 if recording.entered else 0.0
    leave = (best.end - (recording.end + recording.lost)) / 1e6 if recording.end else 0.0
    tops = sum(row["cumulative_ms"] for row in rows if row["parent"] is None)
    if program.native and best.native:
        from . import native

        libraries, notes = native.libraries(best.native, recording)
        native_threads = native.threads(details.native or b"", detail)
    else:
        native_threads = []
        libraries, notes = [], ["the native side was not recorded"]
    data = {
        "schema_version": model.SCHEMA_VERSION,
        "command": command,
        "python": {"executable": program.python, "version": recording.version},
        "system": {"machine": platform.machine(), "kernel": platform.release(), "libc": " ".join(platform.libc_ver()),
                   "processors": os.cpu_count()},
        "exit": {"status": first.status, "signal": first.signal, "timed_out": first.timed_out,
                 "timeout_s": program.timeout},
        "total_ms": round(total, 3),
        "bare_ms": bare,
        "instrumented_ms": round(instrumented, 3),
        "interpreter_ms": walls["interpreter"]["min"] if walls["interpreter"] else None,
        "overhead_ms": round(overhead, 3) if overhead is not None else None,
        "overhead_percent": round(100 * overhead / bare, 2) if overhead is not None else None,
        "overhead_cpu_ms": processor_overhead(runs),
        "recorder_ms": round(lost, 3),
        "start_ms": round(start, 3),
        "main_ms": round(max(total - start - leave - tops, 0.0), 3),
        "leave_ms": round(leave, 3),
        "statistics": walls,
        "runs": [run.fields() for run in runs],
        "modules": rows,
        "present_at_start": recording.present,
        "longest_chain": longest_chain(rows),
        "shares": shares(rows),
        "libraries": libraries,
        "threads": parse.threads(detail, native_threads),
        "cycles": parse.cycles(detail),
        "failed": failed,
        "probes": probes,
        "cached_imports": [{"importer": importer, "name": name, "times": times}
                           for importer, name, times in detail.cached],
        "marks": parse.marks(recording),
        "eviction": None,
        "registrations": None,
        "native_stacks": None,
        "memory": {key: int(value.split()[0]) for key, value in detail.status.items() if value.endswith("kB")},
        "advice": [],
        "tried": [],
        "environment": [],
        "notes": notes,
    }  # fmt: skip
    if first.timed_out:
        data["notes"].append(f"the program was still running after {program.timeout:g} s and was stopped; times are of "
                             "that run (--timeout sets the limit)")  # fmt: skip
    return data


def processor_overhead(runs):
    """The same in processor time, which other programs on the machine disturb less."""
    least = {}
    for run in runs:
        used = (run.usage.ru_utime + run.usage.ru_stime) * 1e3
        least[run.kind] = min(least.get(run.kind, used), used)
    return round(least["recorded"] - least["bare"], 3) if {"recorded", "bare"} <= least.keys() else None


def shares(rows):
    """Milliseconds in what the program itself imports, in the standard library, and in what those bring along."""
    own = {row["package"] for row in rows if row["importer"] == "__main__" and not row["standard"]}
    found = {"own": 0.0, "external": 0.0, "standard": 0.0}
    for row in rows:
        found["standard" if row["standard"] else "own" if row["package"] in own else "external"] += row["self_ms"]
    return {"packages": sorted(own), **{name: round(spent, 3) for name, spent in found.items()}}


def longest_chain(rows):
    """``{"depth", "names"}`` of the deepest nesting of imports."""
    if not rows:
        return {"depth": 0, "names": []}
    row = max(rows, key=lambda row: row["depth"])
    names = [row["name"]]
    while row["parent"] is not None:
        row = rows[row["parent"]]
        names.append(row["name"])
    return {"depth": len(names), "names": names[::-1]}
