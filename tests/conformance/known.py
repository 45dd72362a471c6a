"""Holds a result of conform.py to known.toml, the subjects that may fail: python known.py RESULT.json

A check that fails and is not in the list, a listed subject that passes, and another number of subjects than the list has
are told, and the exit status is 1.
"""
import json
import re
import sys
import tomllib
from pathlib import Path

LIST = Path(__file__).parent / "known.toml"


def problems(report, listed=None):
    """What does not hold, a line each. `listed`: the list's table for the report's suite."""
    if listed is None:
        listed = tomllib.loads(LIST.read_text())[report["suite"]]
    subjects, found = report["subjects"], []
    counted = sum(row["status"] != "excluded" for row in subjects.values())
    if counted != listed["subjects"]:
        found.append(f"{counted} subjects instead of {listed['subjects']}: the harness, or PyTorch's database, is another one")
    may_fail = listed.get("fails", {})
    for name, row in subjects.items():
        allowed = may_fail.get(name)
        bad = [check for check in row["failures"] if allowed is None or not re.search(allowed["checks"], f"{check[0]} {check[1]}")]
        if bad:
            kind, label, status, message = bad[0]
            found.append(f"{name}: {len(bad)} checks fail, first {kind} [{label}] {status}: {message}")
        elif allowed is not None and not row["failures"]:
            found.append(f"{name} passes: take it out of {LIST.name}")
    found += [f"{name} is in {LIST.name} and not in the database" for name in may_fail if name not in subjects]
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        lines = problems(json.load(file))
    print("\n".join(lines or ["as known"]))
    sys.exit(1 if lines else 0)
