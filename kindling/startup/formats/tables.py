"""``--csv FILE`` and ``--markdown FILE``: the tables, for spreadsheets and for pull requests."""

import io

from .. import model
from . import Refused, limits, put, title

OPTIONS = [
    (
        "--csv",
        "FILE",
        "a table as CSV, longest first, of --by; all of it unless --above or --top is given; - is stdout",
    ),
    ("--markdown", "FILE", "the report in Markdown; - is stdout"),
    ("--by", "WHAT", "what --csv lists: module (default), package, distribution or library"),
]
MODULE = ("name package distribution self_ms cumulative_ms start_ms importer line file origin standard failed thread parent "
          "depth modules_added bytes_read opens stats page_faults memory_kb").split()  # fmt: skip
GROUP = "name self_ms percent modules first_importer line".split()
LIBRARY = ("path total_ms map_ms relocate_ms constructors_ms init_ms estimated importer start_ms size_bytes "
           "page_faults").split()  # fmt: skip


def write(data, options):
    """Write what was asked for."""
    given = options.given
    if "--by" in given and "--csv" not in given:
        raise Refused("--by says what --csv FILE lists, which is not given")
    if "--csv" in given:
        columns, rows = table(data, given.get("--by", "module"), *limits(options, 0.0, None))
        put(given["--csv"], csv_text(columns, rows))
    if "--markdown" in given:
        put(given["--markdown"], markdown(data, *limits(options, 1.0, 15)))


def table(data, by, above, top):
    """``(columns, rows as dictionaries)`` of modules, packages, distributions or libraries, longest first."""
    if by == "library":
        columns = LIBRARY
        rows = [{**row, "total_ms": round(model.library_ms(row), 4)} for row in data["libraries"]]
    elif by in ("package", "distribution"):
        columns, rows = GROUP, model.group(data, by)
    elif by == "module":
        columns, rows = MODULE, data["modules"]
    else:
        raise Refused(f"--by needs module, package, distribution or library, not {by!r}")
    key = "total_ms" if by == "library" else "self_ms"
    rows = sorted((row for row in rows if row[key] >= above or not above), key=lambda row: -row[key])
    return columns, rows[:top]


def csv_text(columns, rows):
    """The table as RFC 4180 has it, but for plain line ends."""
    import csv

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row.get(column) for column in columns] for row in rows)
    return out.getvalue()


def markdown(data, above, top):
    """The report as one string of Markdown."""
    from .terminal import heading

    lines = [f"# Start of {code(title(data))}", ""]
    lines += [f"- {words(line.strip())}" for line in list(heading(data))[1:]]
    for by in ("module", "package", "distribution"):
        rows = table(data, by, above, top)[1]
        section(lines, f"{by.capitalize()}s by self time", ["ms", "%", by, "first imported by"], [
            (f"{row['self_ms']:.2f}", f"{100 * row['self_ms'] / (data['total_ms'] or 1):.1f}", code(row["name"]),
             place(row["importer" if by == "module" else "first_importer"], row["line"])) for row in rows])  # fmt: skip
    section(lines, "Libraries", ["ms", "map", "relocate", "constructors", "init", "library", "for"], [
        (f"{row['total_ms']:.2f}", f"{row['map_ms']:.2f}", f"{'~' * row['estimated']}{row['relocate_ms']:.2f}",
         f"{row['constructors_ms']:.2f}", f"{row['init_ms']:.2f}", code(row["path"].rpartition("/")[2]),
         code(row["importer"])) for row in table(data, "library", min(above, 1.0), top)[1]])  # fmt: skip
    section(lines, "Failed imports", ["module", "error", "imported by", ""], [
        (code(row["name"]), words(row["error"]), place(row["importer"], row["line"]),
         "swallowed" if row["swallowed"] else "ended the program") for row in data["failed"]])  # fmt: skip
    section(lines, "Threads started", ["thread", "by", "kind"], [
        (code(row["name"]), place(row["module"], row["line"]), row["kind"]) for row in data["threads"]])  # fmt: skip
    section(
        lines, "Import cycles", ["modules"], [(" → ".join(map(code, [*row, row[0]])),) for row in data["cycles"][:top]]
    )
    section(lines, "Advice", ["saves ms", "kind", "module", "line"], [
        ("" if row["saving_ms"] is None else f"{row['saving_ms']:.2f}", row["kind"], code(row["module"]),
         str(row["line"] or "")) for row in data["advice"]])  # fmt: skip
    for note in data["notes"]:
        lines += ["", words(note)]
    return "\n".join(lines) + "\n"


def section(lines, name, columns, rows):
    if rows:
        numbers = [column in ("ms", "%", "map", "relocate", "constructors", "init", "saves ms") for column in columns]
        lines += ["", f"## {name}", "", f"| {' | '.join(columns)} |",
                  f"|{'|'.join('---:' if number else '---' for number in numbers)}|"]  # fmt: skip
        lines += [f"| {' | '.join(row)} |" for row in rows]


def place(importer, line):
    return code(f"{importer}:{line}" if line else importer)


def code(text):
    """As code in a table: what would end the cell or the code is replaced."""
    text = " ".join(str(text).split()).replace("|", "\\|").replace("`", "'")
    return f"`{text}`" if text else ""


def words(text):
    """Plain words in a table."""
    for mark in "\\|*_<`[":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())
