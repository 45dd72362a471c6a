"""Marks and commands for compilers that have nothing to do here: each gives the function or class itself.

Under KINDLING_VERBOSE=1 a command says so, once each, on standard error.
"""
import sys

_told = set()


def tell(name):
    """One line on standard error about a command that gives its argument, if the user wants to know."""
    import os
    if name not in _told and os.environ.get("KINDLING_VERBOSE", "0") not in ("", "0"):
        _told.add(name)
        sys.stderr.write(f"kindling: torch.{name}: what it was given is left as it is, and runs in Python\n")


def mark(name):
    """A function, also a decorator with arguments, that gives what it is called on."""
    def itself(fn=None, *args, **kwargs):
        return fn if callable(fn) else lambda fn: fn

    itself.__name__ = itself.__qualname__ = name
    return itself


def command(name, below, check=None):
    """As `mark`, for what a program asks for rather than remarks: `below` is the path that it is told by, `check` refuses arguments."""
    def itself(fn=None, *args, **kwargs):
        tell(f"{below}.{name}")
        if check:
            check(fn)
        return fn if fn is not None else lambda fn: fn

    itself.__name__ = itself.__qualname__ = name
    return itself


def nothing(name):
    """A function that says something to a compiler, and has no effect without one."""
    def say(*args, **kwargs):
        return None

    say.__name__ = say.__qualname__ = name
    return say


class Block:
    """A block, or a decorator, that says something to a compiler."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *details):
        return False

    def __call__(self, fn):
        return fn
