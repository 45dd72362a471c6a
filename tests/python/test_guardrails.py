"""The facade's guardrails under `kindling run -m pytest`, as a program that says `import torch` meets them."""
import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "guardrails.py"


def test_under_the_runner(tmp_path):
    (tmp_path / "test_program.py").write_text(PROGRAM.read_text())
    command = [sys.executable, "-m", "kindling", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", "/dev/null"]
    done = subprocess.run([*command, "test_program.py"], cwd=tmp_path, capture_output=True, text=True)
    written = len(re.findall(r"^def test_", PROGRAM.read_text(), re.M))
    passed = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0 and passed and int(passed[1]) >= written, done.stdout[-5000:] + done.stderr[-1000:]
