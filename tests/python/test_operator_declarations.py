"""The examples and refusals that stand in the operator declarations: each must work, or raise, as it says there."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.kernels

ROOT = Path(__file__).parents[2]


def declared():
    with tempfile.TemporaryDirectory() as folder:
        families = sorted((ROOT / "operators").glob("*.cpp"))
        subprocess.run([sys.executable, ROOT / "tools" / "generate.py", folder, *families], check=True)
        return json.loads((Path(folder) / "operators.json").read_text())


OPERATORS = declared()
EXAMPLES = [(o["schema"].partition("(")[0], code) for o in OPERATORS for code in o["examples"]]
REFUSALS = [(o["schema"].partition("(")[0], *pair) for o in OPERATORS for pair in o["refuses"]]
IDS = [f"{name}-{index}" for index, (name, _) in enumerate(EXAMPLES)]


def value_of(code, module):
    """The value of an expression, or of the last line of several statements."""
    names = {"torch": module}
    *first, last = code.strip().splitlines()
    exec("\n".join(first), names)
    try:
        compiled = compile(last, "<declaration>", "eval")
    except SyntaxError:
        exec(last, names)
        return None
    return eval(compiled, names)


def plain(value):
    """Tensors as lists, so that two modules' answers can be compared."""
    if hasattr(value, "tolist"):
        return value.detach().resolve_conj().resolve_neg().tolist() if hasattr(value, "detach") else value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def close(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, (float, complex)) and isinstance(b, (float, complex)):
        return a == b or abs(a - b) <= 1e-5 + 1e-4 * abs(b) or (a != a and b != b)
    return a == b or (not isinstance(a, (int, float, complex, list, str, bool)) and str(a) == str(b))


@pytest.mark.parametrize("name, code", EXAMPLES, ids=IDS)
def test_example(name, code):
    import kindling

    kindling.manual_seed(0)
    ours = plain(value_of(code, kindling))
    reference = pytest.importorskip("torch")
    reference.manual_seed(0)
    try:
        theirs = plain(value_of(code, reference))
    except AttributeError:
        return  # an operator of our own
    assert "empty" in code or close(ours, theirs), (ours, theirs)


@pytest.mark.parametrize("name, code, error", REFUSALS, ids=[f"{r[0]}-{i}" for i, r in enumerate(REFUSALS)])
def test_refusal(name, code, error):
    import kindling

    kind, _, words = error.partition(":")
    with pytest.raises(Exception) as caught:
        value_of(code, kindling)
    assert type(caught.value).__mro__[0].__name__ == kind or kind in [c.__name__ for c in type(caught.value).__mro__]
    assert re.match(words.strip(), str(caught.value), re.S), str(caught.value)
