"""``--diff OLD.json``: what changed since a stored measurement, the longest change first."""

import sys

from .. import model
from . import Refused, limits

OPTIONS = [("--diff", "OLD.json", "what changed since a measurement stored by --json; colours --html, too")]


def old(options):
    """The stored measurement, or None where none was given."""
    path = options.given.get("--diff")
    if path is None:
        return None
    try:
        return model.load(path)
    except OSError as error:
        raise Refused(f"{path} can't be read: {error.strerror}") from None
    except ValueError as error:
        raise Refused(str(error)) from None


def standalone(options):
    """A file that is none is complained about before anything runs."""
    old(options)


def write(data, options):
    """Print it to stdout."""
    sys.stdout.write(text(old(options), data, *limits(options, 1.0, 15)))


def changes(before, after):
    """``[(name, old ms or None, new ms or None)]`` of two dictionaries, the longest change first."""
    rows = [(name, before.get(name), after.get(name)) for name in {**before, **after}]
    return sorted(rows, key=lambda row: (-abs((row[2] or 0.0) - (row[1] or 0.0)), row[0]))


def times(data, what):
    """``{name: ms}`` by module, package, distribution or library; of several with one name, their sum."""
    if what in ("package", "distribution"):
        return {row["name"]: row["self_ms"] for row in model.group(data, what)}
    found = {}
    for row in data["modules"] if what == "module" else data["libraries"]:
        name = row["name"] if what == "module" else row["path"].rpartition("/")[2]
        found[name] = found.get(name, 0.0) + (row["self_ms"] if what == "module" else model.library_ms(row))
    return found


def text(before, after, above, top):
    """The comparison as one string."""
    lines = ["\nchanges (ms: old, new, change)"]
    for key in ("total_ms", "bare_ms", "interpreter_ms", "start_ms", "main_ms", "leave_ms"):
        if before[key] is not None and after[key] is not None:
            lines.append(line(key[:-3], before[key], after[key]))
    quiet = True
    for what, plural in (("package", "packages"), ("distribution", "distributions"), ("module", "modules"),
                         ("library", "libraries")):  # fmt: skip
        rows = changes(times(before, what), times(after, what))
        rows = [row for row in rows if abs((row[2] or 0.0) - (row[1] or 0.0)) >= above]
        if rows:
            quiet = False
            lines.append(f"\n{plural}, longest change first")
            lines += [line(*row) for row in rows[:top]]
            if len(rows) > top:
                lines.append(f"{'':34}... {len(rows) - top} more above {above:g} ms (--top, --above)")
    if quiet:
        lines.append(f"\nno package, module or library changed by {above:g} ms or more (--above)")
    return "\n".join(lines) + "\n"


def line(name, was, now):
    columns = [f"{value:10.2f}" if value is not None else f"{'-':>10}" for value in (was, now)]
    note = "  new" if was is None else "  gone" if now is None else ""
    percent = f"{100 * (now - was) / was:+7.1f}%" if was and now is not None else " " * 8
    return f"{''.join(columns)} {(now or 0.0) - (was or 0.0):+10.2f} {percent}  {name}{note}"
