"""A pytest plug-in that writes one line of JSON for each test as it begins and as it ends, so that a process that dies loses one test.

Settings come from the environment variable KINDLING_SUITES (JSON): `record` (the file), `done` (tests that have a result already),
`only` (if given, all others are left), `left_out` (patterns of tests that are not run), `sample` and `seed` (the part of the
tests that runs, chosen by name, so that both sides choose the same), `limit` (seconds for a test), `helpers` (files of modules that a suite brings, by module; `helpers_if_missing`: where
the side has no such module itself),
`old_names` (names that an older suite imports and PyTorch has dropped since, with their values: `unchanged` is a decorator that does nothing),
`operators` (declared where they are not there, so that a package imports whose library does not load: by name, the schema).
"""
import importlib.util
import json
import os
import re
import signal
import sys
import zlib

given = json.loads(os.environ["KINDLING_SUITES"])
left_out = [re.compile(each) for each in given["left_out"]]
problems = {}
skipped = set()


class Helpers:
    """Finds the modules that the suite brings."""

    def __init__(self, files):
        self.files = files

    def find_spec(self, name, path=None, target=None):
        file = self.files.get(name)
        return file and importlib.util.spec_from_file_location(name, file)


sys.meta_path.insert(0, Helpers(given["helpers"]))
sys.meta_path.append(Helpers(given["helpers_if_missing"]))
VALUES = {"unchanged": lambda test: test, "no": lambda *given, **named: False, "false": False}
for old, value in given["old_names"].items():
    module, _, old = old.rpartition(".")
    module = importlib.import_module(module)
    if not hasattr(module, old):
        setattr(module, old, VALUES[value])

for name, schema in given["operators"].items():
    import torch
    space, _, name = name.partition("::")
    if not hasattr(getattr(torch.ops, space), name):
        torch.library.define(f"{space}::{name}", schema)


def write(**line):
    with open(given["record"], "a") as file:
        file.write(json.dumps(line) + "\n")


def name_of(nodeid):
    return nodeid.encode("ascii", "backslashreplace").decode()


def is_sampled(name):
    return zlib.crc32(f"{given['seed']} {name}".encode()) < given["sample"] * 2**32


def pytest_collection_modifyitems(config, items):
    chosen, done, only = [], set(given["done"]), given["only"] and set(given["only"])
    for item in items:
        name = name_of(item.nodeid)
        if any(each.search(name) for each in left_out):
            write(test=name, outcome="left out")
        elif is_sampled(name):
            write(test=name, outcome="collected")
            if name not in done and (not only or name in only):
                chosen.append(item)
    items[:] = chosen


def pytest_collectreport(report):
    if report.failed:
        write(test=name_of(report.nodeid), outcome="not collected", reason=reason_of(report))


def pytest_sessionfinish(session):
    write(test="", outcome="end")


class OutOfTime(BaseException):
    pass


def ring(number, frame):
    raise OutOfTime(f"more than {given['limit']} s")


def pytest_runtest_logstart(nodeid, location):
    write(test=name_of(nodeid), outcome="begun")
    signal.signal(signal.SIGALRM, ring)
    signal.alarm(given["limit"])


def reason_of(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    lines = [line.removeprefix("E").strip() for line in text.strip().splitlines() if line.strip()]
    if crash is None:
        lines = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit)\b", line)][-1:] or lines[-1:]
    return " ".join(lines[:3])[:400]


def pytest_runtest_logreport(report):
    name = name_of(report.nodeid)
    if report.failed and name not in problems:
        problems[name] = reason_of(report)
    if report.skipped:
        skipped.add(name)


def pytest_runtest_logfinish(nodeid, location):
    signal.alarm(0)
    name = name_of(nodeid)
    if name in problems:
        write(test=name, outcome="failed", reason=problems[name])
    else:
        write(test=name, outcome="skipped" if name in skipped else "passed")
    sys.stdout.flush()
