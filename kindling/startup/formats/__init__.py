"""One report a file; see `kindling.startup.cli.reports` for what a file has to define. Here is what they share."""

import sys


class Refused(Exception):
    """What the user can put right; printed as one line, exit status 2."""


def put(path, text):
    """Write a report to a file, or to stdout for ``-``."""
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
    except OSError as error:
        raise Refused(f"{path} can't be written: {error.strerror}") from None


def milliseconds(text):
    """Milliseconds of ``100ms``, ``0.2s``, ``50us`` or a bare number; ValueError for anything else."""
    for suffix, factor in (("ms", 1.0), ("us", 1e-3), ("s", 1e3), ("", 1.0)):
        if text.endswith(suffix):
            return float(text[: len(text) - len(suffix)]) * factor


def limits(options, above, top):
    """(milliseconds, rows) of --above and --top, or of the defaults given."""
    try:
        rows = options.given.get("--top")
        rows = top if rows is None else int(rows)
        least = milliseconds(options.given["--above"]) if "--above" in options.given else above
    except ValueError as error:
        raise Refused(f"--above and --top need numbers: {error}") from None
    if rows is not None and rows < 0:
        raise Refused("--top needs a number that is not negative")
    return least, rows


def title(data):
    """The program in one line, as it was called."""
    command = data["command"]
    words = ([command["kind"]] if command["kind"] in ("-c", "-m") else []) + [command["what"], *command["arguments"]]
    return " ".join(" ".join(words).split())
