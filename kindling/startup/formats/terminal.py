"""The report on the terminal: totals, tree, longest modules, packages, distributions and libraries."""

import sys

from .. import model
from . import limits, title

OPTIONS = [
    ("--above", "TIME", "only what costs more than TIME, such as 100ms or 0.2s (default 1ms)"),
    ("--top", "N", "so many rows a table (default 15)"),
]


def write(data, options):
    """Print it to stdout."""
    sys.stdout.write(text(data, *limits(options, 1.0, 15)))


def text(data, above, top):
    """The report as one string."""
    lines = []
    say = lines.append
    say("\n".join(heading(data)))
    say("\nimports, longest first (self, cumulative ms; importer:line)")
    below = model.children(data)
    rows = []

    def tree(parent, indent):
        for row in below.get(parent, ()):
            if row["cumulative_ms"] >= above:
                rows.append((row, indent))
                tree(row["id"], indent + 1)

    tree(None, 0)
    for row, indent in rows[: top * 4]:
        mark = " FAILED" if row["failed"] else " unfinished" if row["unfinished"] else ""
        place = f"{row['importer']}:{row['line']}" if row["line"] else row["importer"]
        say(f"{row['self_ms']:10.2f} {row['cumulative_ms']:10.2f}  {'  ' * indent}{row['name']}{mark}  ({place})")
    if len(rows) > top * 4:
        say(f"{'':21}  ... {len(rows) - top * 4} more above {above:g} ms (--top, --above)")
    modules = [row for row in sorted(data["modules"], key=lambda row: -row["self_ms"]) if row["self_ms"] >= above]
    table(lines, "modules by self time", modules[:top], data["total_ms"])
    for key in ("package", "distribution"):
        table(lines, f"{key}s by self time", [row for row in model.group(data, key) if row["self_ms"] >= above][:top],
              data["total_ms"])  # fmt: skip
    libraries = sorted(data["libraries"], key=lambda row: -model.library_ms(row))
    libraries = [row for row in libraries if model.library_ms(row) >= min(above, 1.0)][:top]
    if libraries:
        say("\nlibraries (ms: map, relocate, constructors, init; ~ estimated)")
        for row in libraries:
            say(f"{row['map_ms']:9.2f} {row['relocate_ms']:8.2f}{'~' if row['estimated'] else ' '}"
                f"{row['constructors_ms']:8.2f} {row['init_ms']:8.2f}  {row['path']}  ({row['importer']})")  # fmt: skip
            slow = sorted(row["constructors"], key=lambda item: -item["ms"])[:3]
            for item in slow:
                if item["ms"] >= above:
                    say(f"{'':18}{item['ms']:8.2f}           {item['symbol']}")
    if data["registrations"]:
        from .. import registrations

        lines += registrations.text(data["registrations"], top)
    if data["native_stacks"]:
        from .. import stacks

        lines += stacks.text(data["native_stacks"], top)
    for name, key, form in SMALL:
        if data[key]:
            say(f"\n{name}")
            for row in data[key][:top]:
                say("  " + form(row))
    for note in data["notes"]:
        say(f"\nnote: {note}")
    return "\n".join(lines) + "\n"


SMALL = [
    ("threads started", "threads", lambda row: f"{row['name']}  by {row['module']}:{row['line']} ({row['kind']})"),
    ("import cycles", "cycles", lambda row: " -> ".join([*row, row[0]])),
    ("failed imports", "failed", lambda row: f"{row['name']}: {row['error']}  (imported by {row['importer']}:"
     f"{row['line']}, {'swallowed' if row['swallowed'] else 'ended the program'})"),
    ("marks", "marks", lambda row: f"{row['at_ms']:10.2f} ms  {row['name']}"
     + (f"  took {row['ms']:.2f} ms" if row["ms"] is not None else "")),
    ("advice", "advice", lambda row: f"{row['saving_ms']:8.2f} ms  {row['kind']}: {row['module']}"
     + (f", line {row['line']}" if row["line"] else "")),
]  # fmt: skip


def heading(data):
    leave = data["exit"]
    if not data["python"]["version"]:
        yield f"kindling startup: {title(data)[:100]}, a log of imports"
        yield f"  {len(data['modules'])} imports {data['total_ms']:.1f} ms"
    else:
        yield from heading_of_run(data, leave)
    share = data["shares"]
    if share["packages"]:
        yield (f"  {', '.join(share['packages'])}: {share['own']:.1f}, other packages {share['external']:.1f}, "
               f"standard library {share['standard']:.1f} ms")  # fmt: skip
    chain = data["longest_chain"]
    if chain["depth"] > 1:
        yield f"  deepest chain {chain['depth']}: {' > '.join(chain['names'][:4])}{' > ...' * (chain['depth'] > 4)}"


def heading_of_run(data, leave):
    yield f"kindling startup: {title(data)[:100]}  (Python {data['python']['version']})"
    if leave["timed_out"]:
        yield f"  stopped after {leave['timeout_s']:g} s"
    elif leave["signal"]:
        yield f"  ended by signal {leave['signal']}"
    elif leave["status"]:
        yield f"  exit status {leave['status']}"
    yield f"  total {data['total_ms']:.1f} ms, spawn to exit" + (
        f"; {data['bare_ms']:.1f} ms without the profiler, {data['interpreter_ms']:.1f} ms for an empty interpreter"
        if data["bare_ms"] and data["interpreter_ms"]
        else ""
    )
    if data["overhead_ms"] is not None:
        yield (f"  overhead of recording, measured: {data['overhead_ms']:+.1f} ms ({data['overhead_percent']:+.1f}%), "
               f"{data['overhead_cpu_ms']:+.1f} ms of processor time; {data['recorder_ms']:.1f} ms of it taken out of the spans")  # fmt: skip
    if data["eviction"]:
        walls = data["statistics"]
        read = max(run["read_kb"] for run in data["runs"] if run["kind"] == "cold")
        yield "  medians: " + ", ".join(f"{kind} {walls[row]['median']:.1f} ms" for kind, row in
                                        (("warm", "bare"), ("without bytecode", "bytecode-cold"), ("cold", "cold"))
                                        if walls[row]) + f" ({read} kB read from disk)"  # fmt: skip
    imports = sum(row["self_ms"] for row in data["modules"])
    yield (f"  interpreter start {data['start_ms']:.1f}, {len(data['modules'])} imports {imports:.1f}, "
           f"program itself {data['main_ms']:.1f}, exit {data['leave_ms']:.1f} ms")  # fmt: skip


def table(lines, title, rows, total):
    if rows:
        lines.append(f"\n{title} (ms, % of total)")
        for row in rows:
            where = row.get("importer", row.get("first_importer")) + (f":{row['line']}" if row["line"] else "")
            percent = 100 * row["self_ms"] / total if total else 0
            lines.append(f"{row['self_ms']:10.2f} {percent:6.1f}%  {row['name']}  ({where})")
