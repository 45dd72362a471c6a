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
