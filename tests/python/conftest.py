"""Tests see the installed package, not the source folder beside them (which has no compiled part)."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
