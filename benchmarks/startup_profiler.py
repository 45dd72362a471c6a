"""Whether the numbers of `kindling startup` are right: its totals against wall time, its imports against `-X importtime`.

    python benchmarks/startup_profiler.py                    # torch, numpy, transformers, kindling; about four minutes
    python benchmarks/startup_profiler.py --only numpy,kindling --rounds 5

Each round starts the subject in three ways, in fresh processes in turns: as it is, recorded, and under `-X importtime`,
each as often as a report of `kindling startup` starts it (three times at least, short programs up to fifteen times), and
as there the least counts. What is measured is compared with what it is measured against within its round, since machines
get slower and faster for seconds at a time; shown are medians over the rounds, of both and of the difference:

- total: `total_ms` of the recording against the wall time of the bare process, within 5% or 3 ms;
- imports: the modules' times against the log's, within 10% or 3 ms;
- overhead: recorded against bare, at most 10% or 3 ms;
- core: what mapping, relocating, constructing and initialising the libraries of torch._C adds up to, against that
  module's own time in the log, within 10%.

The exit status is 1 when one of them does not hold. On a busy machine look at the spread over the rounds, which stands
beside each.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

SUBJECTS = ["torch", "numpy", "transformers", "kindling"]


def recorded(program):
    """The measurement of one recorded run."""
    from kindling.startup import record

    run = program.run("recorded", options="time")
    return run, record.build(program, [run], run, run, {"kind": "-c", "what": program.words[1], "arguments": []})


def logged(program):
    """The measurement that a log of -X importtime gives."""
    from kindling.startup import importtime

    with tempfile.TemporaryFile() as file:
        subprocess.run([program.python, "-X", "importtime", *program.words], stderr=file, check=True, env=program.environ)
        file.seek(0)
        return importtime.measurement("log", *importtime.parse(file.read().decode()))


def imports(data):
    """Milliseconds of all that the program imports, the interpreter's own imports left out."""
    return sum(row["cumulative_ms"] for row in data["modules"] if row["depth"] == 0 and row["importer"] == "__main__")


def core(data, name="torch._C"):
    """Milliseconds of that module's libraries, part by part, where it is imported."""
    from kindling.startup import model

    spent = [model.library_ms(row) for row in data["libraries"] if row["importer"] == name]
    return {"core": sum(spent)} if spent else {}


def lump(data, name="torch._C"):
    """The same as the log has it: one number."""
    return {"lump": row["self_ms"] for row in data["modules"] if row["name"] == name}


def start(program, kind):
    """``{what: milliseconds}`` of one start."""
    if kind == "bare":
        run = program.run("bare")
        if run.status:
            sys.exit(f"{program.words[1]} ends with status {run.status}")
        return {"bare": run.wall_ms}
    if kind == "recorded":
        run, data = recorded(program)
        return {"recorded": run.wall_ms, "total": data["total_ms"], "imports": imports(data), **core(data)}
    log = logged(program)
    return {"logged": imports(log), **lump(log)}


def measure(subject, rounds):
    """``{what: [milliseconds of each round]}``."""
    from kindling.startup import measure, record

    program = measure.Program(["-c", f"import {subject}"])
    measure.check(program)
    program.quiet = True
    program.run("bare")  # fills the page cache and the bytecode cache
    kinds = ["bare", "recorded", "logged"]
    found = {}
    for turn in range(rounds):
        least = {}
        for _ in record.rounds():
            for step in range(len(kinds)):
                # Which of the three comes first changes: what runs before leaves the caches in another state.
                for what, spent in start(program, kinds[(step + turn) % len(kinds)]).items():
                    least[what] = min(least.get(what, spent), spent)
        for what, spent in least.items():
            found.setdefault(what, []).append(spent)
    return found


def compare(found, subject):
    """Rows ``(what, ours, against, difference, allowed, holds, spread)`` of one subject."""
    rows = []
    for what, mine, theirs, share, floor in (("total", "total", "bare", 0.05, 3.0), ("imports", "imports", "logged", 0.1, 3.0),
                                             ("overhead", "recorded", "bare", 0.1, 3.0), ("core", "core", "lump", 0.1, 0.0)):  # fmt: skip
        if mine not in found:
            continue
        ours, against = statistics.median(found[mine]), statistics.median(found[theirs])
        allowed = max(share * against, floor)
        difference = statistics.median(one - other for one, other in zip(found[mine], found[theirs], strict=True))
        holds = difference <= allowed if what == "overhead" else abs(difference) <= allowed
        spread = max(max(found[name]) / min(found[name]) for name in (mine, theirs))
        rows.append((f"{subject}: {what}", ours, against, difference, allowed, holds, spread))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default=",".join(SUBJECTS), help="subjects, by commas: any module that can be imported")
    given = parser.parse_args()
    print(f"{f'medians of {given.rounds} rounds, ms':28}{'measured':>10}{'against':>10}{'differs':>10}{'allowed':>10}{'max/min':>9}")
    broken = 0
    folder = tempfile.TemporaryDirectory()
    os.chdir(folder.name)  # `-c` puts the working folder in front of the path
    for subject in given.only.split(","):
        for what, ours, against, difference, allowed, holds, spread in compare(measure(subject, given.rounds), subject):
            broken += not holds
            print(f"{what:28}{ours:10.1f}{against:10.1f}{difference:+10.1f}{allowed:10.1f}{spread:9.2f}  "
                  f"{'holds' if holds else 'DOES NOT HOLD'}", flush=True)  # fmt: skip
    print("all hold" if not broken else f"{broken} do not hold")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
