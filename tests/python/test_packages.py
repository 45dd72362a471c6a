"""Packages built on PyTorch: the programs of tests/packages, where an environment has them."""
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

TOOL = Path(__file__).parents[1] / "packages" / "run.py"
spec = importlib.util.spec_from_file_location("packages_run", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

# Ten; the command runs all of them.
HELD = ("accelerate captum diffusers gpytorch kornia lightning peft pyro torchmetrics transformers").split()


@pytest.mark.parametrize("name", HELD)
def test_package(name):
    """KINDLING_PACKAGES names the site-packages of an environment with the packages and without PyTorch."""
    folder = os.environ.get("KINDLING_PACKAGES")
    if not folder:
        pytest.skip("KINDLING_PACKAGES names no environment")
    python = str(Path(folder).parents[2] / "bin" / "python")
    row = tool.try_package(name, ([python, "-P", "-m", "kindling", "run"], None), ([sys.executable], folder), {})
    assert row["works"], row


def test_safetensors():
    """It is installed beside PyTorch here."""
    pytest.importorskip("safetensors")
    program = str(tool.PROGRAMS / "use_safetensors.py")
    texts = [subprocess.run([sys.executable, "-W", "ignore", *how, program], capture_output=True, text=True, cwd="/")
             for how in (["-P", "-m", "kindling", "run"], [])]
    assert [each.returncode for each in texts] == [0, 0], texts[0].stderr
    assert tool.far(texts[0].stdout, texts[1].stdout) < 1e-6


def test_texts_are_compared_by_their_numbers():
    assert tool.far("a 1.0 b2 [3]", "a 1.0 b2 [3]") == 0 and tool.far("a 1", "b 1") is None
    assert tool.far("x 1.00", "x 1.01") == pytest.approx(0.0099, rel=0.01) and tool.far("nan", "nan") == 0


def test_names_are_counted_through_imports():
    spec = importlib.util.spec_from_file_location("uses", TOOL.parents[2] / "tools" / "uses.py")
    uses = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(uses)
    text = "import torch\nimport torch.nn.functional as F\nfrom torch import nn as n\nF.relu(torch.ones(1))\ndef f(x): return n.Linear(1, 1), F.relu"
    assert uses.names(text) == {"torch": 1, "torch.nn.functional": 1, "torch.nn": 1, "torch.nn.functional.relu": 2, "torch.ones": 1, "torch.nn.Linear": 1}
