"""Advice by trying: the program runs with an import put off, and the difference is what deferring it saves."""

import os
from time import perf_counter

from . import measure, model

LEAST_MS = 10.0  # an import that costs less is not tried


class Trials:
    """Runs with imports put off (``inject/deferral.py``), and runs in the same way with none to compare with."""

    def __init__(self, program, status, rounds):
        self.program, self.status, self.rounds = program, status, rounds
        self.folder = os.path.join(program.folder.name, "deferral")
        os.makedirs(self.folder, exist_ok=True)
        source = __loader__.get_data(os.path.join(measure.HERE, "inject", "deferral.py"))
        with open(os.path.join(self.folder, "sitecustomize.py"), "wb") as file:
            file.write(source)
        self.controls = []  # the last ones serve the next trial, too

    def run(self, defer=(), watch=()):
        """(run, lines of its log)."""
        log = os.path.join(self.folder, "log")
        if os.path.exists(log):
            os.unlink(log)
        path = self.program.environ.get("PYTHONPATH")
        run = self.program.run("trial", environ={
            "KINDLING_DEFERRAL_LOG": log,
            "KINDLING_DEFERRAL_NAMES": ",".join(defer),
            "KINDLING_DEFERRAL_WATCH": ",".join(watch),
            "KINDLING_DEFERRAL_PATH": "" if path is None else "=" + path,
            "PYTHONPATH": self.folder + (os.pathsep + path if path else ""),
        })  # fmt: skip
        lines = []
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                lines = [line.rstrip("\n").split("\t") for line in file]
        return run, lines

    def without(self, row, expected):
        """What happens without this import: ``{"module", "outcome", "saving_ms", "used_by", "line"}``."""
        result = {"module": row["name"], "importer": row["importer"], "outcome": "deferred", "saving_ms": 0.0,
                  "used_by": None, "line": None}  # fmt: skip
        walls, keep = [], self.rounds
        most = 1.5 * max(expected, row["cumulative_ms"]) + 5.0  # more than the import takes is the machine's doing
        for turn in range(2 * self.rounds):
            if turn == self.rounds:  # once more where a busy machine may have hidden it, or made it up
                if 0.7 * expected <= result["saving_ms"] <= most:
                    break
                keep *= 2
            if not turn or len(self.controls) < keep:
                self.controls.append(self.run()[0].wall_ms)
            run, lines = self.run([row["name"]])
            if run.timed_out or run.status != self.status:
                result["outcome"] = "fails"
                return result
            walls.append(run.wall_ms)
            used = [line for line in lines if line[0] == "used"]
            if used:
                result.update(outcome="used", used_by=used[0][3], line=int(used[0][4]))
                if used[0][3] != "__main__":
                    return result  # it was loaded anyway, while other modules were: nothing is gained
            result["saving_ms"] = round(min(self.controls[-keep:]) - min(walls), 3)
        return result


def candidates(data, least):
    """Imports worth a try, longest first: Python modules of which much is not that of one import inside them. What the
    command itself names is asked for, and the standard library's own imports nobody can change."""
    rows, inside = data["modules"], model.children(data)
    found = []
    for row in rows:
        below = inside.get(row["id"], ())
        if row["cumulative_ms"] >= least and can_defer(data, row):
            if row["cumulative_ms"] - (below[0]["cumulative_ms"] if below else 0.0) >= least / 2:
                found.append(row)
    return sorted(found, key=lambda row: -row["cumulative_ms"])


def can_defer(data, row):
    if row["failed"] or row["unfinished"] or row["origin"] not in ("source", "bytecode") or row["parent"] is None:
        # What a script imports is its own choice; what -c or -m names is what was asked about.
        return row["parent"] is None and data["command"]["kind"] == "script" and row["origin"] in ("source", "bytecode") \
            and not row["failed"] and not row["unfinished"]  # fmt: skip
    above = data["modules"][row["parent"]]
    return not above["standard"] and not above["name"].startswith(row["name"] + ".")


def advise(program, data, seconds, rounds):
    """Add to ``advice`` and ``tried`` of the measurement what could be deferred, in about so many seconds."""
    least = max(LEAST_MS, 0.02 * data["total_ms"])
    rows = candidates(data, least)
    if not rows:
        return
    if data["bare_ms"] is None or data["bare_ms"] * 2 * (rounds + 1) > 600 * seconds:
        data["notes"].append("advice: the program runs too long to try what could be deferred; --advise takes the time")
        return
    trials = Trials(program, data["exit"]["status"], rounds)
    until = perf_counter() + seconds
    # Is it slow again, and what does it leave behind? A machine that was busy for a moment is no reason for advice.
    took, effects = {}, {}
    for _ in range(2):
        for line in trials.run(watch=[row["name"] for row in rows])[1]:
            if line[0] == "took":
                took[line[1]] = min(took.get(line[1], 1e18), int(line[2]) / 1e6)
            elif line[0] == "effect":
                effects.setdefault(line[1], {})[line[2]] = None
    rows = [row for row in rows if took.get(row["name"], 0.0) >= least / 2]
    results, saved = {}, set()
    for heavy in rows:
        path = model.path_to(data, heavy["name"], heavy)
        # From the heavy one outwards: the first import that can be put off is where the chain is cut.
        for row in reversed(path):
            if row is not heavy and not can_defer(data, row) or perf_counter() > until:
                break
            if row["name"] not in results:
                results[row["name"]] = trials.without(row, took[heavy["name"]])
                data["tried"].append(results[row["name"]])
            result = results[row["name"]]
            if result["outcome"] != "fails" and result["saving_ms"] >= 0.4 * took[heavy["name"]]:
                if row["name"] not in saved:
                    saved.add(row["name"])
                    threads = [
                        f"thread {thread['name']}" for thread in data["threads"] if thread["module"] == row["name"]
                    ]
                    data["advice"].append({
                        "kind": "defer", "module": row["name"], "saving_ms": result["saving_ms"], "line": row["line"],
                        "importer": row["importer"], "importer_file": row["importer_file"], "heavy": heavy["name"],
                        "chain": ["__main__", *[step["name"] for step in path]],
                        "effects": [*effects.get(row["name"], {}), *threads],
                    })  # fmt: skip
                break
    if perf_counter() > until:
        data["notes"].append(f"advice: not every import was tried in {seconds:g} s; --advise tries for longer")
    data["advice"].sort(key=lambda row: -row["saving_ms"])
