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
        import shlex
        import subprocess

        words = shlex.split(line)
        if not any(word in ("-c", "-m") for word in words) and not os.path.exists((words or [""])[-1]):
            options = []
            while words and words[0].startswith("--"):
                options.append(words.pop(0))
            words = [*options, "-c", " ".join(words)]
        done = subprocess.run([sys.executable, "-m", "kindling", "startup", *words], capture_output=True, text=True)
        print(done.stderr + done.stdout, end="")

    shell.register_magic_function(kindling_startup, magic_kind="line", magic_name="kindling_startup")
