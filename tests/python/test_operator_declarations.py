"""The examples and refusals that stand in the operator declarations: each must work, or raise, as it says there."""

import re
from pathlib import Path

import declared_calls
import pytest

OPERATORS = declared_calls.declared()
OVERLOADS = {declared_calls.overload_of(operator) for operator in OPERATORS}
EXAMPLES = [(o["schema"].partition("(")[0], code) for o in OPERATORS for code in o["examples"]]
REFUSALS = [(o["schema"].partition("(")[0], *pair) for o in OPERATORS for pair in o["refuses"]]
IDS = [f"{name}-{index}" for index, (name, _) in enumerate(EXAMPLES)]
# Calls of PyTorch's test database, made by tests/conformance/examples.py: an overload, a call, and the error if it raises one.
TABLE = [line.split("\t") for line in Path(__file__).with_name("operator_examples.tsv").read_text().splitlines()]
CALLS = [line for line in TABLE if len(line) == 2]
ERRORS = [line for line in TABLE if len(line) == 3]
# How many declarations have one.
SHOWN, REFUSING = 950, 220


def test_most_operators_have_an_example():
    """The numbers may only grow: examples.py makes the table anew."""
    shown = {name for name, _ in CALLS} | {o for o in OVERLOADS if any(o in (name, f"{name}.default") for name, _ in EXAMPLES)}
    refusing = {name for name, *_ in ERRORS} | {name if "." in name else f"{name}.default" for name, *_ in REFUSALS}
    assert [name for name, *_ in TABLE if name not in OVERLOADS] == []
    assert len(shown) >= SHOWN and len(refusing) >= REFUSING, (len(shown), len(refusing))


@pytest.mark.parametrize("name, code", CALLS, ids=[name for name, _ in CALLS])
def test_call(name, code):
    pytest.importorskip("torch")
    assert declared_calls.difference(code) == "", code


@pytest.mark.parametrize("name, code, error", ERRORS, ids=[name for name, *_ in ERRORS])
def test_error(name, code, error):
    import kindling

    assert declared_calls.refusal(code, kindling) == error, code


@pytest.mark.parametrize("name, code", EXAMPLES, ids=IDS)
def test_example(name, code):
    import kindling

    ours = declared_calls.outcome(code, kindling)
    reference = pytest.importorskip("torch")
    try:
        theirs = declared_calls.outcome(code, reference)
    except AttributeError:
        return  # an operator of our own
    assert "empty" in code or declared_calls.close(ours, theirs), (ours, theirs)


@pytest.mark.parametrize("name, code, error", REFUSALS, ids=[f"{r[0]}-{i}" for i, r in enumerate(REFUSALS)])
def test_refusal(name, code, error):
    import kindling

    kind, _, words = error.partition(":")
    with pytest.raises(Exception) as caught:
        declared_calls.value_of(code, kindling)
    assert type(caught.value).__mro__[0].__name__ == kind or kind in [c.__name__ for c in type(caught.value).__mro__]
    assert re.match(words.strip(), str(caught.value), re.S), str(caught.value)
