"""Whether programs are compiled and traced at all: ``PYTORCH_JIT=0``, :func:`disable`."""
import os


class EnabledProxy:
    """True, but with ``PYTORCH_JIT=0`` or after :func:`disable`: then ``script`` and ``trace`` give back what they are given."""

    def __init__(self):
        self.enabled = self.parse_env("PYTORCH_JIT", True, "> Using PyTorch JIT", "> PyTorch JIT DISABLED")

    def parse_env(self, name, default, true_message, false_message):
        value = os.environ.get(name)
        if value is None:
            return default
        if value.lower() in ("1", "true", "yes", "0", "false", "no"):
            return value.lower() in ("1", "true", "yes")
        if value not in ("0v", "1v"):
            raise ValueError(f"Unknown setting of {name}. Try using 0 or 1.")
        print(true_message if value == "1v" else false_message)
        return value == "1v"

    def __bool__(self):
        return self.enabled


_enabled = EnabledProxy()


def disable():
    _enabled.enabled = False


def enable():
    _enabled.enabled = True
