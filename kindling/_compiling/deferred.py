"""``kindling.deferred`` and ``kindling.compiler.explain``: loops that are put off, and what became of them (docs/compile.md)."""

import contextlib

from kindling import _C


class deferred(contextlib.ContextDecorator):
    """Context, or decorator: loops over elements are put off, and run fused when a value is needed, as in a call of a compiled function.

    Results are those without it, bit for bit. Contexts nest; what is pending runs at the end of the outermost one, also by
    an exception. Raises MemoryError at the end, or where a value is read, if there is no room for a result.

    >>> x = torch.ones(3)
    >>> with torch.deferred():
    ...     y = (x * 2 + 1).sqrt()
    >>> y.tolist()
    [1.7320507764816284, 1.7320507764816284, 1.7320507764816284]
    """

    def __enter__(self):
        _C._begin_recording()
        return self

    def __exit__(self, *details):
        _C._end_recording()
        return False


class Run:
    """Loops that ran together: how many were recorded and how many they became, the bytes that both read and write, seconds,
    where in the program a value was needed (None: at the end of the call), and both as text."""

    def __init__(self, recorded, ran, bytes_apart, bytes_fused, seconds, where, before, after):
        self.recorded, self.ran, self.bytes_apart, self.bytes_fused = recorded, ran, bytes_apart, bytes_fused
        self.seconds, self.where, self.before, self.after = seconds, where, before, after

    def __str__(self):
        return (f"{self.recorded} loops ran as {self.ran}, {self.bytes_apart:,} bytes became {self.bytes_fused:,}, {self.seconds * 1e6:.0f} us, "
                f"{'needed at ' + self.where if self.where else 'at the end'}\n{self.after}")


class Explanation:
    """What a call recorded and ran; ``runs`` in their order. ``loops``, of a scripted function: for each loop over elements, what kept
    it from running as machine code, "" where nothing did; ``lanes`` and ``threads``: what kept its rounds from running four at once, and
    in several threads. ``str()`` shows it."""

    def __init__(self, result, runs, loops=()):
        self.result, self.runs = result, runs
        self.loops, self.lanes, self.threads, self.lines = map(list, zip(*loops)) if loops else ([], [], [], [])

    @property
    def recorded(self):
        return sum(run.recorded for run in self.runs)

    @property
    def ran(self):
        return sum(run.ran for run in self.runs)

    def __str__(self):
        def told(why, lanes, threads, line):
            parts = "; ".join(f"not in {kind}: {reason}" if reason else f"in {kind}" for kind, reason in (("lanes", lanes), ("threads", threads)))
            return f"loop at line {line}: " + (f"interpreted: {why}" if why else f"machine code; {parts}")

        loops = map(told, self.loops, self.lanes, self.threads, self.lines)
        return "\n".join([*map(str, self.runs), *loops]) or "no loop was recorded"


def explain(function):
    """Returns a function that calls ``function`` with loops put off, and tells what was recorded, fused and forced.

    >>> told = torch.compiler.explain(lambda x: (x * 2 + 1).exp())(torch.ones(5000))
    >>> told.recorded, told.ran
    (3, 1)
    """

    def call(*arguments, **keywords):
        _C._begin_explaining()
        try:
            with deferred():
                result = function(*arguments, **keywords)
        finally:
            runs = [Run(*each) for each in _C._end_explaining()]
        return Explanation(result, runs, function._loops() if hasattr(function, "_loops") else ())

    return call
