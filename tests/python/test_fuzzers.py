"""The fuzzers of tests/fuzz find what they are made to find: each is given one fault of its kind, and tells it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"


def planted(tmp_path, tool, patch, *options):
    """What a fuzzer prints whose children run `patch` first."""
    script = tmp_path / "planted.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(FUZZ)!r})\nimport {tool}\n{patch}\n{tool}.__file__ = __file__\nsys.exit({tool}.main())\n")
    done = subprocess.run([sys.executable, script, "--jobs", "1", *map(str, options)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


DIFFERENCES = """
import kindling
from draw import Entry

def ours(x):
    return isinstance(x, kindling.Tensor)

def raises(x, i):
    raise (TypeError if ours(x) else RuntimeError)("no")

def writes(x, i):
    if ours(x):
        x.resize_(0)

bodies = [lambda x, i: x == x if ours(x) else x != x, lambda x, i: x[None] if ours(x) else x, raises, writes,
          lambda x, i: x.clone() if ours(x) else x, lambda x, i: kindling._C.no_such_thing if ours(x) else x, lambda x, i: __import__("os").abort()]
differences.operators = lambda: [Entry(f"body{i}", None, body) for i, body in enumerate(bodies)]
"""


def test_differences(tmp_path):
    code, text = planted(tmp_path, "differences", DIFFERENCES, "--count", 63)
    assert code == 1
    for words in ("body0: result: value", "body1: result: shape", "body2: RuntimeError there, TypeError here: no", "body3: arguments after the call: shape",
                  "body4: result: shares", "body5: an answer there, AttributeError here", "ended the process (-6)", "63 calls in"):
        assert words in text, words + "\n" + text[-3000:]


def test_programs_come_out_as_in_pytorch():
    """Of one seed; ./test --fuzz makes ten thousand of another each time."""
    done = subprocess.run([sys.executable, FUZZ / "programs.py", "--jobs", "1", "--count", "300", "--seed", "508"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs(tmp_path):
    patch = """
import kindling, torch
class Writer:
    def __init__(self, rng):
        pass
    def program(self):
        return ["v1 = torch.tensor([1.0, 2.0], requires_grad=True)", "v2 = v1.sin()", "with torch.no_grad():\\n    v3 = v2 * 2", "v4 = v1 * (2 if torch.__name__ == 'kindling' else 3)",
                "v5 = v3 + v2", "v4.sum().backward()"]
programs.Writer = Writer
"""
    code, text = planted(tmp_path, "programs", patch, "--count", 2)
    assert code == 1
    assert "grad: value" in text and "2 calls in" in text and "2 faults of 1 kinds" in text
    told = text[:text.index("  repeat with")]
    assert "v4 = v1 * (2" in told and "v3 =" not in told and "v5 =" not in told  # what does not matter is gone


@pytest.mark.skipif("KINDLING_SANITIZED" in os.environ, reason="under a sanitizer neither the tensors' bytes nor malloc's are counted")
def test_leaks(tmp_path):
    patch = """
import kindling
from draw import Entry
kept = []
def forgets(x, i):
    if isinstance(x, kindling.Tensor):  # what PyTorch keeps as well is not told
        kept.append(kindling.ones(10))
leaks.operators = lambda: [Entry("forgets", None, forgets), Entry("does not", None, lambda x, i: x + 1)]
"""
    code, text = planted(tmp_path, "leaks", patch, "--count", 20, "--operators", "forgets")
    assert code == 1 and "forgets: bytes of tensors" in text and "20 calls in" in text, text[-3000:]
    code, text = planted(tmp_path, "leaks", patch, "--count", 20, "--operators", "does")
    assert "does not:" not in text, text[-3000:]


def test_stacks(tmp_path):
    patch = "stacks.SETUP, stacks.CALLS[:] = '', ['3', '__import__(\"os\").abort()']"
    code, text = planted(tmp_path, "stacks", patch, "--count", 8)
    assert code == 1 and "SIGABRT with a stack of 64 KB" in text and "'answered': 4" in text and "4 faults" in text, text[-3000:]


def test_what_stacks_calls_is_answered(tmp_path):
    """Each statement by itself, with its gradient, where there is room: what is refused there tells nothing of stacks."""
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import stacks
body = stacks.CHILD[:stacks.CHILD.index("if {thread}")].format(module="kindling", setup=stacks.SETUP, call="0")
scope = {}
exec(body, scope)
scope["torch"].manual_seed(0)
for call in stacks.CALLS:
    exec(body.replace("eval('0', scope)", f"eval({call!r}, scope)"), scope)
    try:
        scope["body"]()
    except Exception as problem:
        print(call, type(problem).__name__, problem)
"""
    done = subprocess.run([sys.executable, "-c", code, str(FUZZ)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout, (done.stdout + done.stderr)[-3000:]
