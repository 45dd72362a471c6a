"""The command that runs other projects' test suites (tests/suites): a small suite of our own, on both sides."""
import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(__file__).parents[1] / "suites" / "run.py"
TESTS = """
import os, time, unittest
import pytest, torch

kindling = "kindling" in torch.__file__

def test_passes():
    assert torch.ones(2).sum().item() == 2

def test_not_here():
    assert not kindling, "no 7 things here"

def test_dies_here():
    if kindling:
        os._exit(9)

def test_behind_it():
    pass

@pytest.mark.skipif(kindling, reason="not today")
def test_skipped_here():
    pass

def test_passes_nowhere():
    assert False

def test_too_long():
    time.sleep(0 if not kindling else 60)

def test_left_out_forward_mode():
    assert False

@pytest.mark.parametrize("n", range(40))
def test_many(n):
    pass
"""
LIST = """
[own]
repository = "nobody/own"
commit = "0123456789abcdef"
limit = 2
python_path = ["."]

[own.each]
one = ["test_one.py"]
two = ["test_two.py"]

[own.left_out]
forward_mode = "is not built"

[half]
repository = "nobody/half"
commit = "0123456789abcdef"
tests = ["test_one.py"]
left_out = { "dies|long|here|one::test_(passes|behind)" = "the same tests as above" }
sample = 0.5
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suites")
    for name in ("own", "half"):
        (folder / name).mkdir()
        (folder / name / "test_one.py").write_text(TESTS)
    (folder / "own" / "test_two.py").write_text("import torch\nassert 'kindling' not in torch.__file__\ndef test_two(): pass\n")
    (folder / "list.toml").write_text(LIST)

    def command(*more):
        return subprocess.run(
            [sys.executable, COMMAND, folder, "--suites", folder / "list.toml", "--kindling", sys.executable, "--torch", sys.executable,
             "--results", folder / "results", "--list", *more], capture_output=True, text=True)

    first = command("--write", folder / "suites.md")
    assert not first.stderr, first.stderr
    return folder, first.stdout, (folder / "suites.md").read_text(), command


def test_each_test_is_compared_with_pytorchs_outcome(ran):
    _, printed, table, _ = ran
    assert "own_one              42 of 46, 91.30%, left out 1, not reached 0" in printed
    for said in ("AssertionError: no 7 things here", "the process died", "skipped", "OutOfTime: more than 2 s"):
        assert said in printed, printed
    assert "own_two              0 of 1, 0.00%" in printed
    row = next(line for line in table.splitlines() if line.startswith("| own_one"))
    assert "| nobody/own 012345678 | all | 46 | 42 | 91.3 | 99 | 1 |" in row and "no # things" in row
    assert "- own, `forward_mode`: is not built" in table


def test_both_sides_take_the_same_sample(ran):
    folder, printed, _, _ = ran
    chosen = [{line["test"] for line in map(json.loads, (folder / "results" / f"half.{side}.jsonl").read_text().splitlines())
               if line["outcome"] == "collected"} for side in ("torch", "kindling")]
    assert chosen[0] == chosen[1] and 10 < len(chosen[0]) < 30


def test_what_failed_runs_again_alone(ran):
    folder, _, _, command = ran
    path = folder / "own" / "test_one.py"
    path.write_text(TESTS.replace("assert not kindling", "assert kindling"))
    again = command("--again", "failed", "own_one").stdout
    assert "own_one              43 of 46" in again, again
