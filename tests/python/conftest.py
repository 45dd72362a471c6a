"""Tests see the installed package, not the source folder beside them (which has no compiled part)."""

import os
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A shell that runs us in the background has interrupts ignored, and processes started from here would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]


def pytest_sessionstart():
    import kindling

    kindling.manual_seed(0)     # a process starts with a seed of the system's; tests are to meet the same numbers each time
    if os.environ.get("KINDLING_SANITIZED"):
        # The environment of the sanitized package sees the ordinary one too.
        assert Path(kindling._C.__file__).is_relative_to(sys.prefix), kindling._C.__file__


def pytest_runtest_setup(item):
    for name in ("kindling", "torch"):
        if name in sys.modules:
            sys.modules[name].manual_seed(0)


# Seconds that a test may take. One that hangs must fail and be named, or the whole run ends without a word.
LIMIT = 3000 if os.environ.get("KINDLING_SANITIZED") else 900


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    def end(signum, frame):
        pytest.fail(f"took longer than {LIMIT} s")     # no Exception, so nothing on the way catches it

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(LIMIT)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
