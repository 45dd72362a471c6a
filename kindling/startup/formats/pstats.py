"""``--pstats FILE``: imports as cProfile would store them, for SnakeViz, tuna and the standard pstats module."""

import marshal

OPTIONS = [("--pstats", "FILE", "imports in cProfile's format, for snakeviz, tuna and python -m pstats")]


def write(data, options):
    """Write the file."""
    with open(options.given["--pstats"], "wb") as file:
        marshal.dump(table(data), file)


def table(data):
    """``{(file, line, name): (primitive calls, calls, own s, cumulative s, {caller: the same four})}``. An import stands
    for a call; the program itself is the call that the others are below."""
    rows = data["modules"]
    main = (data["command"]["what"] if data["command"]["kind"] == "script" else "~", 0, "__main__")
    keys = [(row["file"] or "~", 0, row["name"]) for row in rows]
    whole = data["total_ms"] / 1e3
    found = {main: [1, 1, whole - sum(row["self_ms"] for row in rows) / 1e3, whole, {}]}
    for row, key in zip(rows, keys):
        above = keys[row["parent"]] if row["parent"] is not None else main
        own, all_of_it = row["self_ms"] / 1e3, row["cumulative_ms"] / 1e3
        entry = found.setdefault(key, [0, 0, 0.0, 0.0, {}])
        calls = entry[4].setdefault(above, [0, 0, 0.0, 0.0])
        for counts in (entry, calls):
            counts[0] += 1
            counts[1] += 1
            counts[2] += own
            counts[3] += all_of_it
    return {key: (*entry[:4], {above: tuple(calls) for above, calls in entry[4].items()})
            for key, entry in found.items()}  # fmt: skip
