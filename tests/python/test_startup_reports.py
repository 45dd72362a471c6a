"""The reports of `kindling startup`, on a measurement made up here: what they say is known beforehand."""

import csv
import io
import json
import os
import re
import shutil
import subprocess

import pytest

from kindling.startup import cli, deferral, importtime, measure, spans
from kindling.startup.formats import diff, html, tables, terminal, traces

LOG = """\
import time: self [us] | cumulative | imported package
import time:       100 |        100 |   _io
import time:       900 |       1000 | site
import time:      2000 |       2000 |     heavy.core
some output of the program, import time: and more
a prompt> import time:      5000 |       5000 |     slow
import time:      1000 |       8000 |   heavy
import time:       500 |       8500 | app
import time:       250 |        250 | json
"""


def library(path, importer, start, relocate, constructors, init):
    return {
        "path": path, "importer": importer, "start_ms": start, "map_ms": 0.25, "relocate_ms": relocate, "estimated": False,
        "relocations": {}, "lazy": False, "init_symbol": "PyInit_core", "init_ms": init, "group": 1, "size_bytes": 4096,
        "constructors": [{"symbol": name, "ms": ms, "offset": 16} for name, ms in constructors],
        "constructors_ms": sum(ms for _, ms in constructors), "page_faults": 3,
    }  # fmt: skip


@pytest.fixture
def data():
    made = importtime.measurement("log", *importtime.parse(LOG))
    made["command"] = {"kind": "-c", "what": "import app", "arguments": ["|", "`"]}
    made["python"] = {"executable": "/usr/bin/python3", "version": "3.11.2"}
    made.update(start_ms=10.0, leave_ms=2.0, total_ms=22.0, bare_ms=21.0, interpreter_ms=9.0, notes=[])
    made["exit"]["status"] = 0
    for row in made["modules"]:
        row["thread"] = 1
        if row["package"] == "heavy":
            row.update(distribution="heavy-dist", file=f"/site/{row['name'].replace('.', '/')}.py", line=3)
    made["libraries"] = [
        library("/lib/libc.so.6", "", -9.0, 0.5, [], 0.0),
        library("/site/heavy/core.so", "heavy.core", 1.2, 0.5, [("planted_constructor", 0.75)], 0.25),
    ]
    made["threads"] = [{"name": "worker", "module": "slow", "line": 7, "file": "/site/slow.py", "kind": "python",
                        "target": "run", "at_ms": 4.0}]  # fmt: skip
    made["failed"] = [{"name": "gone", "error": "No module named 'gone' | really", "importer": "app", "line": 9,
                       "importer_file": "/app.py", "swallowed": True, "cause": "gone", "ms": 0.1}]  # fmt: skip
    made["cycles"] = [["heavy", "heavy.core"]]
    made["marks"] = [{"name": "loaded", "at_ms": 9.0, "since_ms": 9.0, "ms": None}]
    return made


@pytest.fixture
def stored(data, tmp_path):
    path = tmp_path / "stored.json"
    path.write_text(json.dumps(data))
    return path


def run(*words):
    """The exit status of `kindling startup`."""
    with pytest.raises(SystemExit) as left:
        cli.main(list(map(str, words)))
    return left.value.code or 0


def own_times(rows):
    return {row["name"]: row["self_ms"] for row in rows}


# Tables


def test_csv(stored, capsys):
    assert run("--from-json", stored, "--quiet", "--csv", "-") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["name"] for row in rows] == ["slow", "heavy.core", "heavy", "site", "app", "json", "_io"]
    assert (rows[1]["self_ms"], rows[1]["distribution"], rows[1]["file"]) == (
        "2.0",
        "heavy-dist",
        "/site/heavy/core.py",
    )


@pytest.mark.parametrize(
    "by, names",
    [
        ("module", ["slow", "heavy.core"]),
        ("package", ["slow", "heavy"]),
        ("distribution", ["slow", "heavy-dist"]),
        ("library", ["/site/heavy/core.so", "/lib/libc.so.6"]),
    ],
)
def test_csv_by_and_top(stored, capsys, by, names):
    assert run("--from-json", stored, "--quiet", "--csv", "-", "--by", by, "--top", "2") == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert [row[0] for row in rows[1:]] == names


def test_above(stored, capsys):
    run("--from-json", stored, "--quiet", "--csv", "-", "--above", "2ms")
    assert len(capsys.readouterr().out.splitlines()) == 3
    run("--from-json", stored, "--above", "4ms")
    text = capsys.readouterr().out
    assert "slow" in text and "heavy.core" not in text.partition("modules by self time")[2].partition("packages")[0]


def test_markdown(data):
    text = tables.markdown(data, 1.0, 15)
    assert text.startswith("# Start of `-c import app \\| '`\n")
    assert "| 5.00 | 22.7 | `slow` | `heavy` |" in text
    assert "| 3.00 | 13.6 | `heavy-dist` | `app:3` |" in text
    assert "| 1.75 | 0.25 | 0.50 | 0.75 | 0.25 | `core.so` | `heavy.core` |" in text
    assert "No module named 'gone' \\| really" in text
    # Every table has as many cells in each row as in its head.
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.replace("\\|", "").count("|") for line in lines}) <= 1


# Drawings over time


def test_spans_nest_and_add_up(data):
    ((name, top),) = spans.tracks(data)
    assert (name, top.begin, top.end) == ("main", 0.0, 22.0)
    found = {span.name: span for span, _ in spans.walk(top)}
    for span, above in spans.walk(top):
        assert span.begin <= span.end
        if above:
            assert above[-1].begin <= span.begin and span.end <= above[-1].end + 1e-9
        for one, next_one in zip(span.below, span.below[1:]):
            assert one.end <= next_one.begin + 1e-9
    assert [span.name for span in found["core.so"].below] == ["map", "relocate", "planted_constructor", "PyInit_core"]
    assert found["heavy.core"].below == [found["core.so"]]
    assert found["heavy.core"].self_ms == pytest.approx(0.25)
    assert sum(span.self_ms for span, _ in spans.walk(top)) == pytest.approx(22.0)


def test_spans_shrink_what_does_not_fit(data):
    data["libraries"][1]["init_ms"] = 500.0
    data["modules"][0]["cumulative_ms"] = 300.0
    ((_, top),) = spans.tracks(data)
    assert top.end > 300.0
    for span, above in spans.walk(top):
        if above:
            assert above[-1].begin <= span.begin and span.end <= above[-1].end + 1e-9


def test_threads_have_tracks_of_their_own(data):
    data["modules"][-1]["thread"] = 2
    (_, main), (name, other) = spans.tracks(data)
    assert name == "thread 2" and [span.name for span in other.below] == ["json"]
    assert "json" not in [span.name for span, _ in spans.walk(main)]


def test_speedscope(data):
    made = traces.speedscope(data, spans.tracks(data))
    frames = [frame["name"] for frame in made["shared"]["frames"]]
    (profile,) = made["profiles"]
    stack, at = [], 0.0
    for event in profile["events"]:
        assert event["at"] >= at
        at = event["at"]
        if event["type"] == "O":
            stack.append(event["frame"])
        else:
            assert stack.pop() == event["frame"]
    assert not stack and at == profile["endValue"] == 22.0
    assert {"heavy.core", "constructor planted_constructor", "(interpreter start)", "(exit)"} <= set(frames)


def test_chrome_trace(data):
    made = traces.chrome(data, spans.tracks(data))["traceEvents"]
    found = {event["name"]: event for event in made}
    assert (found["slow"]["ph"], found["slow"]["dur"], found["slow"]["cat"]) == ("X", 5000.0, "module")
    assert found["heavy"]["ts"] <= found["slow"]["ts"]
    assert found["heavy"]["args"]["file"] == "/site/heavy.py"
    assert found["worker"]["ph"] == found["loaded"]["ph"] == "i" and found["loaded"]["ts"] == 19000.0


def test_flamegraph(data):
    data["modules"][-1]["name"] = "odd;name"
    lines = traces.collapsed(spans.tracks(data)).splitlines()
    stacks = dict(line.rsplit(" ", 1) for line in lines)
    assert stacks["-c import app | `;app;heavy;slow"] == "5000"
    assert stacks["-c import app | `;app;heavy;heavy.core;core.so;planted_constructor"] == "750"
    assert stacks["-c import app | `;odd:name"] == "250"
    assert sum(map(int, stacks.values())) == 22000


# Comparison


def test_diff_longest_change_first(data, stored, capsys):
    changed = json.loads(stored.read_text())
    rows = {row["name"]: row for row in changed["modules"]}
    rows["slow"]["self_ms"] -= 4.0
    rows["heavy.core"]["self_ms"] += 1.5
    rows["json"].update(name="added", package="added", self_ms=2.5)
    lines = diff.text(data, changed, 0.2, 15).partition("modules, longest")[2].partition("libraries")[0].splitlines()
    assert [line.split()[-1] for line in lines[1:5]] == ["slow", "new", "heavy.core", "gone"]
    assert lines[1].split() == ["5.00", "1.00", "-4.00", "-80.0%", "slow"]
    assert run("--from-json", stored, "--quiet", "--diff", stored) == 0
    assert "no package, module or library changed by 1 ms" in capsys.readouterr().out


# Logs of -X importtime


def test_log():
    made = importtime.measurement("log", *importtime.parse(LOG))
    rows = {row["name"]: row for row in made["modules"]}
    assert list(rows) == ["site", "_io", "app", "heavy", "heavy.core", "slow", "json"]
    assert [row["id"] for row in made["modules"]] == list(range(7))
    assert rows["slow"]["importer"] == "heavy" and rows["slow"]["parent"] == rows["heavy"]["id"]
    assert (rows["slow"]["self_ms"], rows["heavy"]["cumulative_ms"], rows["heavy"]["depth"]) == (5.0, 8.0, 1)
    assert (rows["site"]["importer"], rows["app"]["importer"]) == ("", "__main__")
    assert made["total_ms"] == 9.75 and made["longest_chain"]["names"] == ["app", "heavy", "heavy.core"]


def test_log_parent_package_inside_its_module():
    """`import a.b` in x: a stands inside a.b, but x imports both."""
    text = "import time: 1 | 1 |     a\nimport time: 1 | 2 |   a.b\nimport time: 1 | 3 | x\n"
    rows = {row["name"]: row for row in importtime.measurement("log", *importtime.parse(text))["modules"]}
    assert rows["a"]["importer"] == rows["a.b"]["importer"] == "x"


def test_log_of_newer_python_with_cached_imports():
    # Cached names stand flush right in a field of twice the depth: too long a name hides the depth.
    text = (
        "import time: self [us] | cumulative | imported package\n"
        "import time: cached    | cached     |  sys\nimport time: cached    | cached     |  sys\n"
        "import time: cached    | cached     | collections.abc\n"
        "import time:       200 |        200 |   json\nimport time:       100 |        300 | app\n"
    )
    made = importtime.measurement("log", *importtime.parse(text))
    assert own_times(made["modules"]) == {"app": 0.1, "json": 0.2}
    assert made["cached_imports"] == [{"importer": "json", "name": "sys", "times": 2},
                                      {"importer": None, "name": "collections.abc", "times": 1}]  # fmt: skip


def test_log_of_this_interpreter(tmp_path, capsys):
    import sys

    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import colorsys"], capture_output=True, check=True
    )
    for name, content in (
        ("log", done.stderr),
        ("wide", "\ufeff".encode("utf-16-le") + done.stderr.decode().encode("utf-16-le")),
    ):
        (tmp_path / name).write_bytes(content)
        assert run("--from-log", tmp_path / name, "--quiet", "--json", tmp_path / "made.json") == 0
        made = json.loads((tmp_path / "made.json").read_text())
        found = next(row for row in made["modules"] if row["name"] == "colorsys")
        assert found["importer"] == "__main__" and found["standard"]
        assert len(made["modules"]) == done.stderr.count(b"import time:") - 1
    assert run("--from-log", tmp_path / "log", "--above", "0") == 0
    assert "colorsys  (__main__)" in capsys.readouterr().out


@pytest.mark.parametrize("text, note", [
    (LOG + LOG, "2 processes wrote this log"),
    ("import time: 1 | 2\n" + LOG, "1 lines of the log are cut off"),
    ("import time: 5 | 5 |     inner\n", "ends inside an import"),
])  # fmt: skip
def test_damaged_logs(text, note):
    made = importtime.measurement("log", *importtime.parse(text))
    assert any(note in line for line in made["notes"])
    assert terminal.text(made, 0.0, 15)


@pytest.mark.parametrize("words, error", [
    (["--from-log", "{folder}/none"], "none can't be read: No such file"),
    (["--from-log", "{folder}/text"], "is no log of -X importtime"),
    (["--from-json", "{folder}/text"], "is not JSON"),
    (["--from-json", "{stored}", "--from-log", "x"], "one of them"),
    (["--from-json", "{stored}", "-c", "pass"], "runs nothing"),
    (["--from-json", "{stored}", "--by", "module"], "--csv FILE"),
    (["--from-json", "{stored}", "--csv", "-", "--by", "colour"], "not 'colour'"),
    (["--from-json", "{stored}", "--csv", "{folder}/no/such"], "can't be written"),
    (["--from-json", "{stored}", "--top", "many"], "need numbers"),
    (["--from-json", "{stored}", "--diff", "{folder}/text"], "is not JSON"),
    (["--diff", "{folder}/none", "-c", "pass"], "can't be read"),
])  # fmt: skip
def test_errors_are_one_line(stored, tmp_path, capsys, words, error):
    (tmp_path / "text").write_text("just words\n")
    assert run(*[word.format(folder=tmp_path, stored=stored) for word in words]) == 2
    found = capsys.readouterr().err
    assert error in found and found.count("\n") == 1


# The page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
browser = pytest.mark.skipif(not CHROMIUM, reason="no Chromium to look at the page with")


def look(path, folder, fragment=""):
    """The page's elements as a browser has them after its script ran, and what it complained of."""
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
               "--disable-background-networking", "--disable-component-update", "--disable-sync",
               f"--user-data-dir={folder / 'profile'}", "--window-size=1200,900", "--enable-logging=stderr",
               "--dump-dom", f"{path.as_uri()}#{fragment}"]  # fmt: skip
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # a sanitizer is not for the browser
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def part(dom, name):
    """The text inside the element with this id."""
    found = re.search(rf'id="{name}"[^>]*>(.*?)</(?:section|span|main|header|h1)>|$', dom, re.S)
    return re.sub(r"<[^>]*>", "", found[1] or "") if found else ""


def drawn(dom):
    """{name: width} of the boxes that are drawn with a name on them."""
    boxes = re.findall(
        r'<div class="n[^"]*"[^>]*style="left: ?[\d.]+px; top: ?\d+px; width: ?([\d.]+)px;[^>]*>([^<]*)<', dom
    )
    return {name.split("  ")[0]: float(width) for width, name in boxes if name}


@pytest.fixture
def page(data, tmp_path):
    data["modules"][-1]["name"] = "</script><b>odd"
    path = tmp_path / "page.html"
    path.write_text(html.page(data), encoding="utf-8")
    return path


def test_page_needs_nothing_from_elsewhere(data, stored):
    for text in (html.page(data), html.page(data, data, "old.json")):
        assert not re.search(r"https?:|src=|<link|@import|url\(", text)
        assert text.count("</script>") == 2


@browser
def test_page_draws_imports(page, tmp_path):
    dom, complaints = look(page, tmp_path)
    assert not complaints
    boxes = drawn(dom)
    whole = boxes["-c import app | `"]
    assert boxes["slow"] / whole == pytest.approx(5 / 22, abs=0.01)
    assert boxes["(interpreter start)"] / whole == pytest.approx(10 / 22, abs=0.01)
    assert boxes["planted_constructor"] / whole == pytest.approx(0.75 / 22, abs=0.01)
    assert "&lt;/script&gt;&lt;b&gt;odd" in dom


@browser
def test_page_zooms_searches_and_shows_what_is_under_the_pointer(page, tmp_path):
    dom, complaints = look(page, tmp_path, "zoom=heavy&q=slow&hover=heavy.core&theme=dark")
    assert not complaints and 'data-theme="dark"' in dom
    boxes = drawn(dom)
    assert boxes["heavy"] == boxes["app"] and "(exit)" not in boxes
    assert boxes["slow"] / boxes["heavy"] == pytest.approx(5 / 8, abs=0.01)
    assert "app › heavy" in re.sub(r"<[^>]*>", "", dom)
    assert "1 found, 5.0 ms (22.7%)" in part(dom, "found")
    tip = re.sub(r"<[^>]*>", " ", dom[dom.index('id="tip"') : dom.index("<script type")])
    assert (
        "2.0 ms (9.1%), itself 0.25 ms" in tip and "first imported by heavy:3" in tip and "/site/heavy/core.py" in tip
    )


@browser
def test_page_by_package_and_by_library(page, tmp_path):
    boxes = drawn(look(page, tmp_path, "view=packages")[0])
    assert boxes["slow"] / boxes["(standard library)"] == pytest.approx(5 / 1.25, rel=0.02)
    boxes = drawn(look(page, tmp_path, "view=libraries")[0])
    assert boxes["core.so"] / boxes["all libraries"] == pytest.approx(1.75 / 2.5, abs=0.01)
    assert boxes["planted_constructor"] / boxes["core.so"] == pytest.approx(0.75 / 1.75, abs=0.01)


@browser
def test_page_of_a_comparison(data, stored, tmp_path):
    rows = {row["name"]: row for row in data["modules"]}
    rows["slow"]["self_ms"] += 3.0
    rows["heavy"]["self_ms"] -= 1.0
    path = tmp_path / "diff.html"
    path.write_text(html.page(data, json.loads(stored.read_text()), "old.json"), encoding="utf-8")
    dom, complaints = look(path, tmp_path, "hover=slow")
    assert not complaints
    style = {
        name: re.search(rf"--h: ?(\d+); --a: ?([\d.]+)[^>]*>{name} ", dom).groups() for name in ("slow", "heavy", "app")
    }
    assert style["slow"] == ("6", "0.90") and style["heavy"][0] == "212" and style["app"][1] == "0"
    assert "change +3.0 ms" in dom


# Advice


TREE = {
    "__init__": "from planted_advice import light\ntry:\n    import planted_advice.optional\nexcept ImportError: pass\n",
    "light": "from planted_advice.heavy import work, Kind\nfrom planted_advice.needed import Base\n"
    "class Light(Base): pass\ndef later(): return work(Kind)\n",
    "heavy": "import atexit, os, signal, time, warnings\ntime.sleep(0.15)\nos.environ['PLANTED_BY_HEAVY'] = '1'\n"
    "warnings.simplefilter('ignore')\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\natexit.register(int)\n"
    "class Kind: pass\ndef work(kind): return kind()\n",
    "needed": "import time\ntime.sleep(0.15)\nclass Base: pass\n",
    "optional": "import time\ntime.sleep(0.15)\n",
}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    folder = tmp_path / "planted_advice"
    folder.mkdir()
    for name, text in TREE.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return tmp_path


def advice(folder, *words):
    path = folder / "advice.json"
    assert run("--no-native", "--quiet", "--repeat", "1", "--json", path, *words) == 0
    return json.loads(path.read_text())


def test_advice_by_trying(tree):
    made = advice(tree, "-c", "import planted_advice")
    found = {row["module"]: row for row in made["advice"]}
    assert {"planted_advice.heavy", "planted_advice.optional"} <= set(found)
    heavy = found["planted_advice.heavy"]
    assert (heavy["kind"], heavy["importer"], heavy["line"]) == ("defer", "planted_advice.light", 1)
    assert heavy["chain"] == ["__main__", "planted_advice", "planted_advice.light", "planted_advice.heavy"]
    for effect in ("PLANTED_BY_HEAVY", "handler of signal 10", "warning filters", "1 functions called at exit"):
        assert any(effect in line for line in heavy["effects"]), effect
    # Its class is a base class: to put it off gains nothing, and the report says where it was used.
    assert "planted_advice.needed" not in found
    tried = {row["module"]: row for row in made["tried"]}
    needed = tried["planted_advice.needed"]
    assert (needed["outcome"], needed["used_by"], needed["line"]) == ("used", "planted_advice.light", 3)


def test_no_advice(tree):
    made = advice(tree, "--no-advice", "-c", "import planted_advice")
    assert made["advice"] == made["tried"] == []


def test_advice_on_environment_variables(tree, capsys, monkeypatch):
    from kindling.startup.formats import advice as report

    monkeypatch.setattr(report, "VARIABLES", [
        ("PLANTED_QUICK", "1", "planted_probe", None, "does not probe"),
        ("PLANTED_DEVICE", "1", "planted_probe", "/dev/no-such-device", "hides it"),
        ("PLANTED_OTHER", "1", "planted_other", None, "is of no concern"),
    ])  # fmt: skip
    (tree / "planted_probe.py").write_text(
        "import os, time\nif not os.environ.get('PLANTED_QUICK'): time.sleep(0.25)\n"
    )
    made = advice(tree, "--advise", "-c", "import planted_probe")
    assert [row["name"] for row in made["environment"]] == ["PLANTED_QUICK", "PLANTED_DEVICE"]
    assert "no device here" in made["environment"][1]["reason"] and made["environment"][1]["saving_ms"] is None
    (row,) = made["advice"]
    assert (row["kind"], row["module"], row["line"]) == ("environment", "PLANTED_QUICK=1", None)
    text = report.text(made)
    assert "PLANTED_DEVICE=1  hides it (no device here" in text


def test_stand_ins(tree):
    """What a program may do with a name of a module that was put off, without a difference to see."""
    (tree / "planted_things.py").write_text(
        "class Box:\n    def __class_getitem__(cls, key): return ('box', key)\n    def __init__(self, *a): self.a = a\n"
        "number, text, table, name = 6, 'text', {'key': 1}, 'key'\ndef double(x): return 2 * x\n"
        "class Fault(Exception): pass\n"
    )
    for line in (
        "assert Box[int] == ('box', int) and isinstance(Box(1), Box) and issubclass(Box, Box)",
        "class Inner(Box): pass\nassert Inner(3).a == (3,) and Inner.__mro__[1].__name__ == 'Box'",
        "assert number + 1 == 7 and 1 + number == 7 and number * number == 36 and -number == -6 and number > 5",
        "assert double(number) == 12 and [10, 20, 30, 40, 50, 60, 70][number] == 70 and list(range(number))[-1] == 5",
        "assert text == 'text' and len(text) == 4 and f'{text:>5}' == ' text' and text[1] == 'e' and 'x' in text",
        "assert table[name] == 1 and {**table} == {'key': 1} and list(table) == ['key'] and {name: 2}['key'] == 2",
        "assert (Box | None) and str(number) == '6' and bool(table) and hash(text) == hash('text')",
        "double.mark = 5\nimport planted_things as p\nassert p.double.mark == 5 and 'number' in dir(p) and p.number == 6",
        "try: raise Fault('x')\nexcept Exception as error: assert isinstance(error, Fault)",
    ):
        code = f"from planted_things import Box, number, text, table, name, double, Fault\n{line}\n"
        program = measure.Program(["-c", code], native=False)
        done, lines = deferral.Trials(program, 0, 1).run(["planted_things"])
        assert done.status == 0, line
        assert [(entry[0], entry[3], entry[4] != "1") for entry in lines] == [("used", "__main__", True)]


def test_deferred_imports_behave(tree):
    """A program on which everything is put off runs to the same end."""
    code = (
        "import planted_advice as a, sys\n"
        "assert type(a.light.later()).__name__ == 'Kind'\n"
        "from planted_advice.optional import time as clock\n"
        "assert clock.sleep is sys.modules['time'].sleep and planted_path in sys.path\n"
    ).replace("planted_path", repr(str(tree)))
    names = ["planted_advice.heavy", "planted_advice.optional"]
    program = measure.Program(["-c", code], native=False)
    done, lines = deferral.Trials(program, 0, 1).run(names)
    assert [line[1] for line in lines if line[0] == "used"] == names
    assert done.status == 0


def test_tool_that_writes_the_examples(data, monkeypatch):
    import importlib.util
    from pathlib import Path

    path = Path(__file__).resolve().parents[2] / "tools" / "startup_examples.py"
    spec = importlib.util.spec_from_file_location("startup_examples", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = "\n".join(tool.example("made", "no-such-distribution", data, ""))
    assert '    kindling startup -c "import app"' in text and "| 8.50 | 38.6 | `app` | `__main__` |" in text
    assert "### Libraries" in text and "1 in 0.75 ms" in text and "`gone`" in text
    assert sum(spent for _, spent in tool.parts(data)) == pytest.approx(9.75)
