"""The list of what may fail beside PyTorch's databases (tests/conformance/known.toml): what it lets through and what not."""
import importlib.util
import tomllib
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("conformance_known", Path(__file__).resolve().parents[1] / "conformance" / "known.py")
known = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(known)

LISTED = {"subjects": 2, "checks": {"forward": 4}, "fails": {"b": {"checks": "^variant .*out=", "reason": "so"}}}


def report(**failures):
    rows = {name: {"status": "wrong" if failed else "pass", "failures": failed, "checks": {"forward": [0, 2]}} for name, failed in failures.items()}
    left_out = {"status": "excluded", "failures": [], "checks": {"forward": [0, 0]}}
    return {"suite": "ops", "kinds": ["forward"], "subjects": {**rows, "left out": left_out}}


def test_what_is_known_is_let_through():
    assert known.problems(report(a=[], b=[["variant", "float32#0 out=", "wrong", "so"]]), LISTED) == []


def test_all_else_is_told():
    failed = ["forward", "float32#0", "wrong", "values differ"]
    out = ["variant", "float32#0 out=", "wrong", "so"]
    assert "a: 1 checks fail, first forward [float32#0] wrong" in known.problems(report(a=[failed], b=[out]), LISTED)[0]
    assert known.problems(report(a=[], b=[out, failed]), LISTED)[0].startswith("b: 1 checks fail")
    assert known.problems(report(a=[], b=[]), LISTED) == ["b passes: take it out of known.toml"]
    assert known.problems(report(a=[failed, failed]), LISTED) == [
        "1 subjects instead of 2: the harness, or PyTorch's database, is another one",
        "2 forward checks instead of 4: the harness has lost some",
        "a: 2 checks fail, first forward [float32#0] wrong: values differ", "b is in known.toml and not in the database"]


def test_every_entry_of_the_list_has_a_reason():
    for suite, table in tomllib.loads(known.LIST.read_text()).items():
        assert table["subjects"] > 0 and table["checks"]["forward"] > 0 and suite in ("ops", "modules", "optims")
        for name, entry in table.get("fails", {}).items():
            assert entry["reason"] and set(entry) == {"checks", "reason"}, name


def test_the_list_made_anew_holds():
    failed, out = ["forward", "float32#0", "wrong", "values differ"], ["variant", "float32#0 out=", "wrong", "so"]
    for row in ([out], [out, failed], []):
        result = report(a=[failed], b=row)
        table = known.anew(result, LISTED)
        assert known.problems(result, tomllib.loads(known.text({"ops": table}))["ops"]) == []
        assert table["fails"].get("b") == {1: LISTED["fails"]["b"], 2: {"checks": "", "reason": "wrong: values differ"}}.get(len(row))
