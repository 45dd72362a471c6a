"""What a program's start costs, down to the linker: ``kindling startup``. Nothing of it is loaded by ``import kindling``.

In a program, ``mark`` names moments and blocks that the report then shows; without the profiler it does nothing.
"""

import sys


class mark:
    """``mark("loaded")`` notes a moment, ``with mark("first step"):`` a block, in the report of `kindling startup`.

    A program that does not want to import Kindling calls ``sys._kindling_startup("loaded")`` where that exists.

    Example:
        >>> from kindling.startup import mark
        >>> with mark("first product"):
        ...     2 * 3
        6
    """

    def __init__(self, name):
        self.name = str(name)
        self._write = getattr(sys, "_kindling_startup", None)
        if self._write:
            self._write(self.name)

    def __enter__(self):
        if self._write:
            self._write(self.name, "(")
        return self

    def __exit__(self, *_):
        if self._write:
            self._write(self.name, ")")


def load_ipython_extension(shell):
    """``%load_ext kindling.startup`` gives ``%kindling_startup [OPTION...] CODE``, or ``-m MODULE``, or ``-c CODE``: the
    report of `kindling startup`, measured in processes of their own."""

    def kindling_startup(line):
        """What the start of a Python program costs: %kindling_startup import numpy"""
        import os
        import re
        import shlex
        import subprocess

        from . import cli

        words = shlex.split(line)
        try:
            rest = cli.parse(words, cli.reports()).words
        except SystemExit:
            return  # it has said why
        if rest and rest[0] not in ("-c", "-m") and not os.path.exists(rest[0]):
            code = line  # as it was written: with its quotes
            for _ in words[: len(words) - len(rest)]:
                code = re.sub(r"""^\s*("[^"]*"|'[^']*'|[^\s"'])+\s*""", "", code)
            words[len(words) - len(rest) :] = ["-c", code]
        done = subprocess.run([sys.executable, "-m", __spec__.name, *words], capture_output=True, text=True)
        print(done.stderr + done.stdout, end="")

    shell.register_magic_function(kindling_startup, magic_kind="line", magic_name="kindling_startup")
