"""``torch.jit.CompilationUnit``."""
import sys

from kindling import _C
from kindling.jit import _classes, _frontend  # noqa: F401  functions may name classes


class CompilationUnit:
    """Functions of TorchScript's text, by name.

    >>> import kindling as torch
    >>> unit = torch.jit.CompilationUnit("def double(x):\\n    return x * 2")
    >>> unit.double(torch.tensor(3))
    tensor(6)
    """

    def __init__(self, lang=None, _frames_up=0):
        self.drop_all_functions()
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang, rcb=None, _frames_up=0):
        """Adds the functions of a text. RuntimeError that shows the line of what is wrong in one."""
        if rcb is None:
            frame = sys._getframe(1 + _frames_up)
            scope = {**frame.f_globals, **frame.f_locals}
        else:
            scope = _frontend.Told(rcb)
        self._names.compile(lambda: [self._unit.get(name) for name in self._unit.define(lang, "<string>", 1, 0, False)], scope)

    def find_function(self, name):
        """The function of that name, or None."""
        return self._unit.get(name)

    def get_functions(self):
        """All functions, in the order in which they stand."""
        return [self._unit.get(name) for name in self._unit.names()]

    def drop_all_functions(self):
        """Forgets all functions."""
        self._names = _frontend.Asked()
        self._unit = _C._script_unit(self._names)

    def set_optimized(self, should_optimize):
        """Takes the switch and does nothing: what is optimised gives the same results."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        function = self._unit.get(name)
        if function is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")
        return function
