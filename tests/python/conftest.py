"""Tests see the installed package, not the source folder beside them (which has no compiled part)."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Files whose numbers depend on the instruction set; ./test runs them again for each.
KERNELS = re.compile(r"test_(op|kernel|linalg|random|tensor|nn|autograd)")

# A shell that runs us in the background has interrupts ignored, and processes started from here would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]


def pytest_sessionstart():
    if os.environ.get("KINDLING_SANITIZED"):
        import kindling._C

        # The environment of the sanitized package sees the ordinary one too.
        assert Path(kindling._C.__file__).is_relative_to(sys.prefix), kindling._C.__file__


def pytest_collection_modifyitems(items):
    for item in items:
        if KERNELS.match(item.path.name):
            item.add_marker(pytest.mark.kernels)
