"""Whether the numbers of `kindling startup` are right: its totals against wall time, its imports against `-X importtime`.

    python benchmarks/startup_profiler.py                    # torch, numpy, transformers, kindling; about two minutes
    python benchmarks/startup_profiler.py --only numpy,kindling --rounds 5

Each round starts every subject three times, in fresh processes one after another: as it is, recorded, and under
`-X importtime`. Compared are medians over the rounds:

- total: `total_ms` of the recording against the wall time of the bare process, within 5% or 3 ms;
- imports: the modules' times against the log's, within 10% or 3 ms;
- overhead: recorded against bare, at most 10% or 3 ms;
- core: what mapping, relocating, constructing and initialising the libraries of torch._C adds up to, against that
  module's own time in the log, within 10%.

The exit status is 1 when one of them does not hold. On a busy machine look at the spread, which stands beside each.
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
    """Milliseconds of a module's libraries, part by part."""
    from kindling.startup import model

    return sum(model.library_ms(row) for row in data["libraries"] if row["importer"] == name)


def own(data, name="torch._C"):
    return next(row["self_ms"] for row in data["modules"] if row["name"] == name)


def measure(subject, rounds):
    """``{what: [milliseconds of each round]}``."""
    from kindling.startup import measure

    program = measure.Program(["-c", f"import {subject}"])
    measure.check(program)
    program.quiet = True
    program.run("bare")  # fills the page cache and the bytecode cache
    found = {name: [] for name in ("bare", "total", "recorded", "imports", "logged", "core", "lump")}
    for turn in range(rounds):
        # Which of the three comes first changes: what runs before leaves the caches in another state.
        for step in range(3):
            kind = (step + turn) % 3
            if kind == 0:
                run = program.run("bare")
                if run.status:
                    sys.exit(f"import {subject} ends with status {run.status}")
                found["bare"].append(run.wall_ms)
            elif kind == 1:
                run, data = recorded(program)
                found["recorded"].append(run.wall_ms)
                found["total"].append(data["total_ms"])
                found["imports"].append(imports(data))
                if subject == "torch":
                    found["core"].append(core(data))
            else:
                log = logged(program)
                found["logged"].append(imports(log))
                if subject == "torch":
                    found["lump"].append(own(log))
    return found


def compare(found, subject):
    """Rows ``(what, ours, against, difference, allowed, holds, spread)`` of one subject."""
    rows = []
    for what, mine, theirs, share, floor in (("total", "total", "bare", 0.05, 3.0), ("imports", "imports", "logged", 0.1, 3.0),
                                             ("overhead", "recorded", "bare", 0.1, 3.0), ("core", "core", "lump", 0.1, 0.0)):  # fmt: skip
        if not found[mine]:
            continue
        ours, against = statistics.median(found[mine]), statistics.median(found[theirs])
        allowed = max(share * against, floor)
        difference = ours - against
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
