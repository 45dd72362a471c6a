"""Holds a result of conform.py to known.toml, the subjects that may fail: python known.py [--write] RESULT.json

A check that fails and is not in the list, a listed subject that passes, and fewer subjects or fewer checks of a kind than the list
has are told, and the exit status is 1. --write makes the list of the result's suite anew: what is listed and still fails keeps
its patterns and reason, what is new is let fail altogether, with its first message for a reason until someone writes one.
"""
import json
import re
import sys
import tomllib
from pathlib import Path

LIST = Path(__file__).parent / "known.toml"
HEAD = """\
# Subjects that may fail, with the checks that may (a pattern over "kind label") and why. ./test fails where any other check
# does, where a listed subject passes, and where there are fewer subjects, or fewer checks of a kind.
# Settings: tools/test.py, CONFORMANCE.
# Made anew from a result by `python known.py --write RESULT.json`.
"""


def counted(report):
    return sum(row["status"] != "excluded" for row in report["subjects"].values())


def unlisted(row, allowed):
    return [check for check in row["failures"] if allowed is None or not re.search(allowed["checks"], f"{check[0]} {check[1]}")]


def problems(report, listed=None):
    """What does not hold, a line each. `listed`: the list's table for the report's suite."""
    if listed is None:
        listed = tomllib.loads(LIST.read_text())[report["suite"]]
    subjects, found = report["subjects"], []
    if counted(report) < listed["subjects"]:
        found.append(f"{counted(report)} subjects instead of {listed['subjects']}: the harness, or PyTorch's database, is another one")
    for kind, number in listed["checks"].items():
        made = sum(row["checks"][kind][1] for row in subjects.values())
        if made < number:
            found.append(f"{made} {kind} checks instead of {number}: the harness has lost some")
    may_fail = listed.get("fails", {})
    for name, row in subjects.items():
        allowed = may_fail.get(name)
        bad = unlisted(row, allowed)
        if bad:
            kind, label, status, message = bad[0]
            found.append(f"{name}: {len(bad)} checks fail, first {kind} [{label}] {status}: {message}")
        elif allowed is not None and not row["failures"]:
            found.append(f"{name} passes: take it out of {LIST.name}")
    found += [f"{name} is in {LIST.name} and not in the database" for name in may_fail if name not in subjects]
    return found


def anew(report, listed):
    """The table of a suite that holds for this report."""
    fails = {}
    for name, row in report["subjects"].items():
        before = listed.get("fails", {}).get(name)
        if row["failures"]:
            bad = unlisted(row, before)
            fails[name] = {"checks": "", "reason": f"{bad[0][2]}: {bad[0][3]}"} if bad else before
    totals = {kind: sum(row["checks"][kind][1] for row in report["subjects"].values()) for kind in report["kinds"]}
    return {"subjects": counted(report), "checks": totals, "fails": fails}


def text(tables):
    lines = [HEAD]
    for suite, table in tables.items():
        checks = ", ".join(f"{kind} = {number}" for kind, number in table["checks"].items())
        lines.append(f"[{suite}]\nsubjects = {table['subjects']}\nchecks = {{{checks}}}\n")
        if table.get("fails"):
            lines.append(f"[{suite}.fails]")
            for name, entry in table["fails"].items():
                key = name if re.fullmatch(r"[\w-]+", name) else json.dumps(name)
                lines.append(f"{key} = {{checks = {json.dumps(entry['checks'])}, reason = {json.dumps(entry['reason'])}}}")
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--write"]
    if len(words) != 1:
        sys.exit(__doc__)
    with open(words[0]) as file:
        result = json.load(file)
    if "--write" in sys.argv:
        tables = tomllib.loads(LIST.read_text())
        tables[result["suite"]] = anew(result, tables.get(result["suite"], {}))
        LIST.write_text(text(tables))
    lines = problems(result)
    print("\n".join(lines or ["as known"]))
    sys.exit(1 if lines else 0)
