"""The examples under type checkers: the stubs say enough, and nothing wrong."""
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import kindling

PACKAGE = Path(kindling.__path__[0])
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.fixture
def programs(tmp_path):
    """The examples with `import kindling as torch`, which is what a checker can follow, beside the installed package."""
    if not (PACKAGE / "__init__.pyi").exists():
        pytest.skip("a development build has no stubs")
    for path in EXAMPLES:
        text = re.sub(r"^import torch$", "import kindling as torch", path.read_text(), flags=re.M)
        (tmp_path / path.name).write_text(re.sub(r"^(from|import) torch\.", r"\1 kindling.", text, flags=re.M))
    return tmp_path


def test_mypy(programs):
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    done = subprocess.run([sys.executable, "-m", "mypy", "--ignore-missing-imports", "--check-untyped-defs", "--disable-error-code", "var-annotated", "--cache-dir", str(programs / "cache"),
                           "--explicit-package-bases", *(path.name for path in EXAMPLES)], cwd=programs, capture_output=True, text=True,
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent) if "site-packages" not in str(PACKAGE) else ""})
    assert done.returncode == 0, done.stdout


def test_pyright(programs):
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    (programs / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(PACKAGE.parent)], "reportMissingImports": "none",
                                                             "reportMissingModuleSource": False}))
    done = subprocess.run([sys.executable, "-m", "pyright", "-p", "pyrightconfig.json", "--outputjson"], cwd=programs, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        pytest.skip("pyright does not start here (it fetches its own Node.js)")
    found = json.loads(done.stdout)
    assert [f"{each['file']}:{each['range']['start']['line']}: {each['message']}" for each in found["generalDiagnostics"]
            if each["severity"] == "error"] == []
