"""Runs the test suites of packages built on PyTorch under Kindling and under PyTorch, and compares them test by test.

    python tests/suites/run.py SOURCES --kindling PYTHON --torch PYTHON --packages FOLDER... --results FOLDER [--write docs/suites.md] [NAME...]

SOURCES is a folder with the sources that `suites.toml` lists, one folder for each suite, at the commit named there. `--fetch MIRRORS`
fills it first, from a folder of bare repositories named `owner+name/repo`, with the paths that the list names. PYTHON are an
interpreter that has Kindling and no PyTorch, and one that has PyTorch; FOLDERs of packages go on the path of both. Results are kept
in the results' folder: what PyTorch said is not asked again (`--again torch` asks), nor what ran under Kindling without `--again all`
or `--again failed`. A suite whose process dies goes on behind the test that killed it.
"""
import argparse
import ast
import collections
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What a suite's entry says where it says nothing.
DEFAULTS = {
    "paths": [], "tests": [], "python_path": [], "packages": [], "arguments": [], "environment": {}, "left_out": {},
    "sample": 1.0, "seed": 0, "limit": 60, "whole_limit": 600, "folder": ".", "bar": 99.0, "parts": {}, "each": {}, "helpers": {}, "helpers_if_missing": {}, "old_names": {}, "operators": {}, "edits": {}, "cut": [], "note": "",
}


def suites(listed):
    listed = tomllib.loads(listed.read_text())
    for name, entry in listed.items():
        unknown = set(entry) - set(DEFAULTS) - {"repository", "commit"}
        if unknown:
            sys.exit(f"{name} has unknown keys {sorted(unknown)}")
        suite = {**DEFAULTS, **entry, "name": name, "sources": name}
        for each, tests in suite.pop("each").items():
            yield {**suite, "name": f"{name}_{each}", "tests": tests}
        if suite["tests"]:
            yield suite


def fetch(suite, sources, mirrors):
    """Lays the wanted paths of one commit into the suite's folder."""
    parts = {".": suite, **suite["parts"]}
    for place, part in parts.items():
        target = sources / suite["sources"] / place
        mark = target / ".commit"
        edits, cut = (suite["edits"], suite["cut"]) if place == "." else ({}, [])
        wanted = "\n".join([part["commit"], " ".join(part["paths"]), *([json.dumps([edits, cut])] if edits or cut else [])])
        if mark.exists() and mark.read_text() == wanted:
            continue
        target.mkdir(parents=True, exist_ok=True)
        repository = mirrors / part["repository"].replace("/", "+") / "repo"
        git = ["git", f"--git-dir={repository}"]
        for path in part["paths"]:
            # A path at a time: a snapshot may lack its largest files, and an archive of the whole commit asks for all of them.
            named = f"{part['commit']}:{path}"
            kind = subprocess.run([*git, "cat-file", "-t", named], capture_output=True, text=True, check=True).stdout.strip()
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            if kind == "blob":
                (target / path).write_bytes(subprocess.run([*git, "show", named], capture_output=True, check=True).stdout)
                continue
            archive = subprocess.Popen([*git, "archive", f"--prefix={path}/", named], stdout=subprocess.PIPE)
            unpacked = subprocess.run(["tar", "x", "-C", str(target)], stdin=archive.stdout)
            if archive.wait() or unpacked.returncode:
                sys.exit(f"{suite['name']}: {part['repository']} at {part['commit']}: {path} did not come whole")
        for file, pairs in edits.items():
            text = (target / file).read_text()
            for old, new in pairs.items():
                if old not in text:
                    sys.exit(f"{suite['name']}: {file} has no {old!r}")
                text = text.replace(old, new)
            (target / file).write_text(text)
        for named in cut:
            empty_class(target / named.partition("::")[0], named.partition("::")[2])
        mark.write_text(wanted)


def empty_class(file, name):
    """Takes everything out of a class of a file, its decorators too."""
    text = file.read_text()
    lines = text.splitlines(keepends=True)
    found = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == name]
    if not found:
        sys.exit(f"{file} has no class {name}")
    node, = found
    lines[min([node.lineno, *[each.lineno for each in node.decorator_list]]) - 1 : node.end_lineno] = [f"class {name}(TestCase):\n    pass\n"]
    file.write_text("".join(lines))


def read(record):
    """What a record says: {test: (outcome, reason)}, the tests collected, those left out, and whether it came to an end."""
    results, collected, left, finished = {}, set(), set(), False
    if record.exists():
        for line in record.read_text().splitlines():
            line = json.loads(line)
            test, outcome = line["test"], line["outcome"]
            if outcome == "begun":
                results[test] = ("failed", "the process died")
            elif outcome == "collected":
                collected.add(test)
            elif outcome == "left out":
                left.add(test)
            elif outcome == "end":
                finished = True
            else:
                results[test] = (outcome, line.get("reason", ""))
    return results, collected, left, finished


def run(suite, side, given):
    """Runs the suite on one side and keeps a record of it."""
    record = given.results / f"{suite['name']}.{side}.jsonl"
    only = []
    if record.exists():
        results, collected, _, finished = read(record)
        if side in given.again or "all" in given.again:
            record.unlink()
        elif side == "kindling" and "failed" in given.again:
            theirs = read(given.results / f"{suite['name']}.torch.jsonl")[0]
            only = [test for test in theirs if theirs[test][0] == "passed" and results.get(test, ("",))[0] != "passed"]
        elif finished:
            return
    if given.match and not only:
        theirs = read(given.results / f"{suite['name']}.torch.jsonl")[0]
        only = [test for test in theirs if re.search(given.match, test)]
    folder = given.sources / suite["sources"]
    python = given.kindling if side == "kindling" else given.torch
    command = [python, "-m", "kindling", "run", "-m", "pytest"] if side == "kindling" else [python, "-m", "pytest"]
    command += ["-p", "recorder", "-p", "no:cacheprovider", "--continue-on-collection-errors", "-q", "--no-header", "--tb=short", "-c", os.devnull, "--rootdir", ".",
                "-W", "ignore", *suite["arguments"], *suite["tests"]]
    paths = [str(HERE), *[str(folder / each) for each in suite["python_path"]], *(given.ours if side == "kindling" else []), *given.packages]
    settings = {"record": str(record), "left_out": list(suite["left_out"]), **{key: suite[key] for key in ("sample", "seed", "limit", "old_names", "operators")}}
    if side == "kindling":
        settings["operators"] = {}  # ours loads the packages' libraries
    for key in ("helpers", "helpers_if_missing"):
        settings[key] = {module: str(folder / file) for module, file in suite[key].items()}
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "KINDLING_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **suite["environment"], "PYTHONPATH": os.pathsep.join(paths)}
    begin, last, done = time.monotonic(), None, set()
    while True:
        left = suite["whole_limit"] - (time.monotonic() - begin)
        if left <= 0:
            break
        environ["KINDLING_SUITES"] = json.dumps({**settings, "done": sorted(done), "only": only})
        with open(record.with_suffix(".log"), "w") as log:
            process = subprocess.Popen(command, cwd=folder / suite["folder"], env=environ, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                process.wait(left)
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        # Of a process that died, the tests it ended count; the one that killed it does not run again.
        results, _, _, finished = read(record)
        if finished or process.returncode in range(0, 6):
            break
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        run_now = {line["test"] for line in lines if line["outcome"] == "begun"}
        done |= run_now if not only else run_now & set(only)
        if len(done) == last:
            break
        last = len(done)


def compare(suite, results):
    """A row of the table, or None where the suite has not run on both sides."""
    theirs, wanted, left, _ = read(results / f"{suite['name']}.torch.jsonl")
    ours, collected, _, finished = read(results / f"{suite['name']}.kindling.jsonl")
    if not theirs or not (ours or collected):
        return None
    passed = [test for test, (outcome, _) in theirs.items() if outcome == "passed"]
    missing = [test for test in passed if test not in ours and test in collected]
    failures, reasons = {}, collections.Counter()
    uncollected = {test: reason for test, (outcome, reason) in ours.items() if outcome == "not collected"}
    for test in passed:
        outcome, reason = ours.get(test, ("", ""))
        if outcome == "passed" or test in missing:
            continue
        if not outcome:
            reason = uncollected.get(test.partition("::")[0], "no such test was collected")
        failures[test] = reason if outcome != "skipped" else "skipped: " + reason
    for reason in failures.values():
        reasons[shortened(reason)] += 1
    return {
        "name": suite["name"], "suite": suite, "torch": len(passed) - len(missing), "kindling": len(passed) - len(missing) - len(failures),
        "left": len(left), "missing": len(missing), "failures": failures, "reasons": reasons,
    }


def shortened(reason):
    """The reason without what differs from test to test: numbers and addresses."""
    reason = reason.partition(" To execute this test")[0]
    reason = re.sub(r"0x[0-9a-f]+", "0x#", reason)
    reason = re.sub(r"\d+\.?\d*(e[-+]\d+)?", "#", reason)
    return reason[:110].strip()


def table(rows):
    text = """# Test suites of other projects

Made by `tests/suites/run.py`: the suites of `tests/suites/suites.toml` run through `kindling run` in an environment without PyTorch, and under
PyTorch 2.13, the same sources on both sides, test by test. A test that passes under PyTorch and not here is a failure of ours;
one that is skipped or fails under PyTorch says nothing. PyTorch's own suites run with each side's `torch.testing._internal`, but for the tables of
tests in it (`helpers` in the list), which come with the suite. Suites with a part of their tests are sampled by name with a fixed seed.

| suite | commit | part | tests PyTorch passes | of these Kindling passes | per cent | bar | left out | commonest reasons |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
    for row in rows:
        suite = row["suite"]
        share = 100 * row["kindling"] / max(1, row["torch"])
        reasons = "; ".join(f"{count}: {reason.replace('|', '/').replace('`', '')}" for reason, count in row["reasons"].most_common(3))
        part = "all" if suite["sample"] == 1 else f"{suite['sample']:.0%}"
        if row["missing"]:
            part += f", {row['missing']} not reached in {suite['whole_limit']} s"
        # Rounded down: what misses its bar does not round up to it.
        text += (f"| {row['name']} | {suite['repository']} {suite['commit'][:9]} | {part} | {row['torch']} | {row['kindling']} "
                 f"| {int(share * 10) / 10:.1f} | {suite['bar']:g} | {row['left'] or ''} | {reasons} |\n")
    text += "\n## Left out\n\n"
    patterns = {(row["suite"]["sources"], *pair): None for row in rows for pair in row["suite"]["left_out"].items()}
    for sources, pattern, reason in patterns:
        text += f"- {sources}, `{pattern}`: {reason}\n"
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", type=lambda text: Path(text).resolve())
    parser.add_argument("--kindling", help="an interpreter with Kindling and without PyTorch")
    parser.add_argument("--torch", help="an interpreter with PyTorch")
    parser.add_argument("--packages", action="append", default=[], help="a folder of packages for both")
    parser.add_argument("--ours", action="append", default=[], help="a folder for Kindling's side alone, before the packages")
    parser.add_argument("--results", type=lambda text: Path(text).resolve(), required=True)
    parser.add_argument("--suites", type=Path, default=HERE / "suites.toml", help="another list of suites")
    parser.add_argument("--fetch", type=Path, metavar="MIRRORS")
    parser.add_argument("--again", action="append", default=[], choices=("torch", "kindling", "all", "failed"))
    parser.add_argument("--match", help="only tests whose name has this pattern")
    parser.add_argument("--show", type=int, default=5, help="how many reasons to print")
    parser.add_argument("--list", action="store_true", help="print each failure")
    parser.add_argument("--write")
    parser.add_argument("names", nargs="*")
    given = parser.parse_intermixed_args()
    given.results.mkdir(parents=True, exist_ok=True)
    listed = list(suites(given.suites))
    unknown = set(given.names) - {suite["name"] for suite in listed}
    if unknown:
        sys.exit(f"no such suite: {sorted(unknown)}")
    for suite in listed:
        if given.names and suite["name"] not in given.names:
            continue
        if given.fetch:
            fetch(suite, given.sources, given.fetch)
        if given.torch:
            run(suite, "torch", given)
        if given.kindling:
            run(suite, "kindling", given)
        row = compare(suite, given.results)
        if row is None:
            print(f"{suite['name']}: not run on both sides", flush=True)
            continue
        print(f"{row['name']:20} {row['kindling']} of {row['torch']}, {100 * row['kindling'] / max(1, row['torch']):.2f}%, left out {row['left']}, not reached {row['missing']}", flush=True)
        for reason, count in row["reasons"].most_common(given.show):
            print(f"    {count:5} {reason}")
        if given.list:
            for test, reason in row["failures"].items():
                print(f"  {test}\n      {reason[:200]}")
    if given.write:
        Path(given.write).write_text(table([row for row in (compare(suite, given.results) for suite in listed) if row]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
