"""Warnings that come once: for deprecated names, and for settings of the whole process. On the way of users only, never at start."""
import os
import sys

_state = {"always": False}
_given = set()


class GlobalStateWarning(UserWarning):
    """A default of the whole process was changed outside of a `with`."""


def once(key, message, category=None, stacklevel=1):
    """Warns at the caller's line the first time that `key` is given; each time after `torch.set_warn_always(True)`."""
    if key in _given and not _state["always"]:
        return
    _given.add(key)
    import warnings
    warnings.warn(message, category or FutureWarning, stacklevel=stacklevel + 1)


def global_changes_warn():
    """Whether a change of a global default outside of a `with` is worth a warning.

    KINDLING_WARN_GLOBAL says so (1 or 0). Without it: under `import kindling` yes; in a program that runs on Kindling as torch only
    if the interpreter was given -W.
    """
    wanted = os.environ.get("KINDLING_WARN_GLOBAL")
    if wanted:
        return wanted != "0"
    return sys.modules.get("torch") is not sys.modules["kindling"] or bool(sys.warnoptions)


class Changed:
    """What a `set_default_*` gives back under `import kindling`: in a `with` it takes the change back at the end; left alone it warns."""

    def __init__(self, name, restore):
        self._name, self._restore, self._entered = name, restore, False

    def __enter__(self):
        self._entered = True

    def __exit__(self, *error):
        self._restore()
        return False

    def __repr__(self):
        return f"<torch.{self._name}: the change stays; in a `with` it ends with the block>"

    def __del__(self):
        # Nobody took it into a `with`: it goes away in the statement that made the change.
        if self._entered or sys is None or sys.is_finalizing():
            return
        frame = sys._getframe(1)
        once(self._name, f"torch.{self._name}() changes a default of the whole process at {frame.f_code.co_filename}:{frame.f_lineno}; "
             f"`with torch.{self._name}(...):` takes it back at the end of the block (KINDLING_WARN_GLOBAL=0 switches this warning off)",
             GlobalStateWarning, 2)


def changed(name, restore):
    return Changed(name, restore) if global_changes_warn() else None
