"""`kindling startup` on made-up programs: planted faults are found by name, a clean package gives empty lists."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from kindling.startup import model, parse

# Times, and the loader as it is without the libraries of a sanitizer before all others.
pytestmark = pytest.mark.timing

COMPILER = shutil.which("c++") or shutil.which("g++")
NATIVE = """
#include <Python.h>
#include <pthread.h>
#include <time.h>
// Not nanosleep: a signal would end it.
__attribute__((noinline)) static void planted_wait(long ms) {
    timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <= ms);
}
static void* planted_thread(void*) { return nullptr; }
struct Planted {
    Planted() { planted_wait(40); pthread_t thread; pthread_create(&thread, nullptr, planted_thread, nullptr); }
};
Planted planted_object;
extern "C" __attribute__((constructor)) void planted_quick_constructor() {}
static int slots(PyObject*) { planted_wait(20); return 0; }
static PyModuleDef_Slot slot[] = {{Py_mod_exec, reinterpret_cast<void*>(slots)}, {0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", nullptr, 0, nullptr, slot, nullptr, nullptr, nullptr};
extern "C" __attribute__((visibility("default"))) PyObject* PyInit__native() { return PyModuleDef_Init(&module); }
"""
FILES = {
    "planted/__init__.py": """
        from planted import sleepy, threaded, cycle_a, native
        try:
            import planted.broken
        except RuntimeError:
            pass
        try:
            import planted_missing
        except ImportError:
            pass
        """,
    "planted/sleepy.py": "import time\ntime.sleep(0.06)\n",
    "planted/threaded.py": """
        import threading
        threading.Thread(target=print, name="planted-thread", daemon=True).start()
        """,
    "planted/cycle_a.py": "from planted import cycle_b\nvalue = 1\n",
    "planted/cycle_b.py": "import planted.cycle_a\n",
    "planted/broken.py": 'raise RuntimeError("planted fault")\n',
    "planted/native.py": "import planted._native\n",
    "clean/__init__.py": "from clean import one\nfrom . import two\nvalue = one.value\n",
    "clean/one.py": "from clean.two import value\n",
    "clean/two.py": "value = 2\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    for name, text in FILES.items():
        lines = text.strip("\n").split("\n")
        indent = len(lines[0]) - len(lines[0].lstrip())
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(line[indent:] for line in lines).rstrip() + "\n")
    source = folder / "planted" / "native.cpp"
    source.write_text(NATIVE)
    if COMPILER:
        target = folder / "planted" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
        include = sysconfig.get_paths()["include"]
        subprocess.run([COMPILER, "-std=c++17", "-O1", "-fPIC", "-shared", f"-I{include}", source, "-o", target], check=True)
    return folder


def startup(*words, cwd=None, environ=None, check=True):
    """(measurement or None, completed process) of one `kindling startup`."""
    path = os.pathsep.join(filter(None, [str(cwd) if cwd else "", os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, **({"PYTHONPATH": path} if path else {}), **(environ or {})}
    file = Path(cwd or ".").resolve() / f"startup-{os.getpid()}.json"
    command = [sys.executable, "-m", "kindling", "startup", "--json", str(file), *map(str, words)]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=300)
    if check:
        assert done.returncode == 0, done.stderr.decode(errors="replace")
    data = model.load(file) if file.exists() else None
    file.unlink(missing_ok=True)
    return data, done


@pytest.fixture(scope="module")
def planted(tree):
    if not COMPILER:
        pytest.skip("no C++ compiler for the planted constructor")
    return startup("--repeat", "1", "-c", "import planted", cwd=tree)[0]


def module(data, name):
    (row,) = [row for row in data["modules"] if row["name"] == name]
    return row


def test_sleeping_module(planted):
    row = module(planted, "planted.sleepy")
    assert row["self_ms"] >= 60 and row["importer"] == "planted" and row["line"] == 1
    assert row["file"].endswith("planted/sleepy.py") and row["package"] == "planted"
    assert module(planted, "planted")["cumulative_ms"] >= row["cumulative_ms"]
    assert planted["total_ms"] >= module(planted, "planted")["cumulative_ms"]


def test_slow_constructor_and_init_slots(planted):
    (library,) = [row for row in planted["libraries"] if "/planted/_native" in row["path"]]
    assert os.path.isabs(library["path"])
    assert library["importer"] == "planted._native"
    slow = max(library["constructors"], key=lambda row: row["ms"])
    assert slow["ms"] >= 40 and slow["symbol"].startswith("_GLOBAL__sub_I_")
    assert "planted_quick_constructor" in [row["symbol"] for row in library["constructors"]]
    assert library["constructors_ms"] >= 40
    assert library["init_symbol"] == "PyInit__native" and library["init_ms"] >= 20
    # What importtime shows as one lump is the sum of its parts, but for what opening the file from Python costs.
    assert model.library_ms(library) <= module(planted, "planted._native")["self_ms"]


def test_relocations_are_those_of_the_file(planted):
    (library,) = [row for row in planted["libraries"] if "/planted/_native" in row["path"]]
    if not shutil.which("readelf"):
        pytest.skip("no readelf to compare with")
    for name in [library["path"], next(row["path"] for row in planted["libraries"] if "libc.so" in row["path"])]:
        text = subprocess.run(["readelf", "-rW", name], capture_output=True, text=True, check=True).stdout
        counts = next(row for row in planted["libraries"] if row["path"] == name)["relocations"]
        packed = sum(int(number) for number in re.findall(r"^ *(\d+) offsets", text, re.M))
        assert counts["relative"] == text.count("_64_RELATIV") + packed
        assert counts["jump_slot"] == text.count("_JUMP_SLO")
        assert counts["irelative"] == text.count("_IRELATIV")


def test_thread(planted):
    (row,) = [row for row in planted["threads"] if row["kind"] == "python"]
    assert (row["name"], row["module"], row["line"]) == ("planted-thread", "planted.threaded", 2)


def test_thread_of_a_library(planted):
    (row,) = [row for row in planted["threads"] if row["kind"] == "native"]
    assert row["module"] == "planted._native" and "/planted/_native" in row["library"]
    assert "planted_thread" in row["name"] and row["name"] == row["target"]


def test_cycle(planted):
    assert planted["cycles"] == [["planted.cycle_a", "planted.cycle_b"]]


def test_cycle_by_import_module(tree):
    (tree / "ring_a.py").write_text("import ring_b\n")
    (tree / "ring_b.py").write_text("import importlib\nimportlib.import_module('ring_a')\n")
    data, _ = startup("--repeat", "1", "-c", "import ring_a", cwd=tree)
    assert data["cycles"] == [["ring_a", "ring_b"]]


@pytest.mark.parametrize("statement", ["from . import {}", "from ring import {}", "import ring.{}", "from ring.{} import __name__ as n"])
def test_cycle_of_submodules(tmp_path, statement):
    """Whether their package is done or not, and however they name each other."""
    (tmp_path / "ring").mkdir()
    for name, other in (("one", "two"), ("two", "three"), ("three", "one")):
        (tmp_path / "ring" / f"{name}.py").write_text(statement.format(other) + "\n")
    for package in ("", "from . import one\n"):
        (tmp_path / "ring" / "__init__.py").write_text(package)
        data, _ = startup("--repeat", "1", "--no-native", "--no-advice", "-c", "import ring.one", cwd=tmp_path)
        assert data["cycles"] == [["ring.one", "ring.two", "ring.three"]]


def test_failures(planted):
    rows = {row["name"]: row for row in planted["failed"]}
    assert set(rows) == {"planted.broken", "planted_missing"}
    assert rows["planted.broken"]["error"] == "RuntimeError: planted fault"
    assert rows["planted.broken"]["importer"] == "planted" and rows["planted.broken"]["line"] == 3
    assert all(row["swallowed"] for row in rows.values())


def test_clean_package_gives_empty_lists(tree):
    data, _ = startup("--repeat", "1", "-c", "import clean", cwd=tree)
    assert {row["name"] for row in data["modules"] if row["package"] == "clean"} == {"clean", "clean.one", "clean.two"}
    for field in ("threads", "cycles", "failed", "notes"):
        assert data[field] == [], field
    assert data["total_ms"] > 0 and data["bare_ms"] > 0 and data["interpreter_ms"] > 0
    parts = data["start_ms"] + data["main_ms"] + data["leave_ms"] + sum(row["self_ms"] for row in data["modules"])
    assert parts == pytest.approx(data["total_ms"], abs=0.5)


def test_failure_that_ends_the_program(tree):
    data, done = startup("--repeat", "1", "-c", "import planted.broken", cwd=tree, check=False)
    assert done.returncode == 1 and b"planted fault" in done.stderr
    # Imported twice: by the package, which goes on, and by the program, which does not.
    swallowed = {row["importer"]: row["swallowed"] for row in data["failed"] if row["name"] == "planted.broken"}
    assert swallowed == {"planted": True, "__main__": False}
    assert b"kindling" not in done.stderr and b"sitecustomize" not in done.stderr


@pytest.mark.parametrize(
    "code, status, name",
    [
        ("import wave, os; os.kill(os.getpid(), 11)", 139, "wave"),
        ("import wave, os; os.abort()", 134, "wave"),
        ("import wave, os; os._exit(7)", 7, "wave"),
        ("import wave, sys; sys.exit(5)", 5, "wave"),
        ("import os, wave\nif not os.fork(): import this; os._exit(0)\nos.wait()", 0, "wave"),
        ("import wave, os; os.closerange(3, 150)", 0, "wave"),
    ],
)
def test_programs_that_end_in_other_ways(tree, code, status, name):
    data, done = startup("--repeat", "1", "-c", code, cwd=tree, check=False)
    assert done.returncode == status == data["exit"]["status"]
    assert module(data, name)["unfinished"] is False
    assert "this" not in [row["name"] for row in data["modules"]]


def test_time_limit(tree):
    (tree / "hang.py").write_text("import time\ntime.sleep(1000)\n")
    data, done = startup("--timeout", "5", "-c", "import hang", cwd=tree, check=False)
    assert done.returncode == 124 and data["exit"]["timed_out"]
    assert module(data, "hang")["unfinished"] and module(data, "hang")["self_ms"] > 500
    assert "still running after 5 s" in data["notes"][-1]


def test_output_goes_to_stderr_once(tree):
    code = "import sys; sys.stdout.buffer.write(bytes(range(256))); sys.stdout.write('OUT')"
    _, done = startup("--repeat", "2", "-c", code, cwd=tree)
    assert done.stderr == bytes(range(256)) + b"OUT"
    assert done.stdout.startswith(b"kindling startup: -c import sys")


def test_script_and_module_see_themselves_as_ever(tree):
    program = "import json, os, sys\nprint(json.dumps([sys.argv, sys.path[0], __name__, sorted(os.environ), sys.flags.no_site]))\n"
    (tree / "script.py").write_text(program)
    (tree / "clean" / "__main__.py").write_text(program)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(tree), os.environ.get("PYTHONPATH", "")]))}
    for words in ([str(tree / "script.py"), "-x", "y"], ["-m", "clean", "--repeat"]):
        plain = subprocess.run([sys.executable, *words], capture_output=True, env=environ, check=True).stdout
        _, done = startup("--repeat", "1", *words, cwd=tree)
        assert done.stderr == plain


def test_script_runs_on_the_interpreter_that_it_names(tree, tmp_path):
    # Another path to this one, as an environment of its own would have.
    other = tmp_path / "python-of-its-own"
    other.symlink_to(sys.executable)
    for line, expected in ((f"#!{other} -s", other), ("#!/usr/bin/env python3", sys.executable), ("", sys.executable)):
        (tree / "shebang.py").write_text(f"{line}\nimport sys; print(sys.argv, sys.executable)\n")
        data, done = startup("--repeat", "1", tree / "shebang.py", "a", cwd=tree)
        assert data["python"]["executable"] == str(expected)
        assert done.stderr.decode().split() == [f"['{tree / 'shebang.py'}',", "'a']", str(expected)]


OTHERS = [path for version in ("3.10", "3.12", "3.13") for path in
          sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))[:1]]  # fmt: skip


@pytest.mark.parametrize("python", OTHERS, ids=lambda path: path.parts[-3])
def test_other_versions_of_python(tree, python):
    code = "import sys; sys.modules['planted._native'] = sys; import planted, decimal"
    data, _ = startup("--repeat", "1", "--python", python, "-c", code, cwd=tree)
    assert data["python"]["version"].startswith(".".join(python.parts[-3].split(".")[:2]))
    assert data["cycles"] == [["planted.cycle_a", "planted.cycle_b"]]
    assert {row["name"] for row in data["failed"]} == {"planted.broken", "planted_missing"}
    assert [row["name"] for row in data["threads"]] == ["planted-thread"]
    assert module(data, "planted.sleepy")["self_ms"] >= 60
    assert any(row["init_symbol"] == "PyInit__decimal" for row in data["libraries"])
    assert data["notes"] == []


def test_shares(planted):
    assert planted["shares"]["packages"] == ["planted"] and planted["shares"]["own"] >= 120
    assert all(os.path.isabs(row["path"]) for row in planted["libraries"])


def test_real_sitecustomize_still_runs(tree, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.planted = __file__\n")
    data, done = startup("--repeat", "1", "-c", "import sys; print(sys.planted, sys.modules['sitecustomize'].__file__)",
                         cwd=tmp_path)  # fmt: skip
    assert done.stderr.decode().split() == [str(tmp_path / "sitecustomize.py")] * 2


def test_ten_thousand_modules(tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "__init__.py").write_text("".join(f"from many import m{index}\n" for index in range(10000)))
    for index in range(10000):
        (folder / f"m{index}.py").write_text("")
    data, done = startup("--repeat", "1", "--top", "3", "-c", "import many", cwd=tmp_path)
    assert len([row for row in data["modules"] if row["package"] == "many"]) == 10001
    assert module(data, "many.m9999")["line"] == 10000
    assert len(done.stdout.splitlines()) < 100


def test_marks(tree):
    code = "from kindling.startup import mark\nmark('planted moment')\nwith mark('planted block'):\n import planted.sleepy"
    data, _ = startup("--repeat", "1", "-c", code, cwd=tree)
    rows = {row["name"]: row for row in data["marks"]}
    assert rows["planted moment"]["ms"] is None and rows["planted block"]["ms"] >= 60


@pytest.mark.parametrize(
    "words, environ, text",
    [
        (["-c", "1"], {"LD_AUDIT": "/nowhere.so"}, b"LD_AUDIT is set already"),
        (["--python", "/nowhere/python", "-c", "1"], {}, b"/nowhere/python can't be read"),
        (["--python", "/bin/ls", "-c", "1"], {}, b"/bin/ls is no CPython"),
        (["--python", "SETUID", "-c", "1"], {}, b"is setuid"),
        (["--python", "STATIC", "-c", "1"], {}, b"is statically linked"),
        (["--python", "MUSL", "-c", "1"], {}, b"is loaded by /lib/ld-musl-x86_64.so.1"),
        (["--repeat", "0", "-c", "1"], {}, b"--repeat needs at least 1"),
        (["--repeat", "x", "-c", "1"], {}, b"--repeat needs a number"),
        (["--nonsense", "-c", "1"], {}, b"no option --nonsense"),
        (["--timeout"], {}, b"--timeout needs a value"),
        ([], {}, b"what to run?"),
        (["-m"], {}, b"-m needs an argument"),
    ],
)
def test_errors_are_one_line(tmp_path, words, environ, text):
    image = bytearray(Path(os.path.realpath(sys.executable)).read_bytes())
    (tmp_path / "SETUID").write_bytes(image)
    (tmp_path / "SETUID").chmod(0o4755)
    loader = image.index(b"/lib64/ld-linux")
    end = image.index(b"\0", loader)
    (tmp_path / "MUSL").write_bytes(image[:loader] + b"/lib/ld-musl-x86_64.so.1".ljust(end - loader, b"\0") + image[end:])
    # Static as far as anyone can tell: the program headers name no loader.
    start, size, number = int.from_bytes(image[32:40], "little"), image[54], image[56]
    for at in range(start, start + size * number, size):
        if image[at] == 3:
            image[at] = 4
    (tmp_path / "STATIC").write_bytes(image)
    words = [str(tmp_path / word) if word.isupper() else word for word in words]
    data, done = startup(*words, environ=environ, check=False)
    assert data is None and done.returncode == 2 and done.stdout == b""
    said = [line for line in done.stderr.splitlines() if not line.startswith(b"ERROR: ld.so")]
    assert len(said) == 1 and said[0].startswith(b"kindling startup: ") and text in said[0]


def test_reports_that_cannot_be_written(tmp_path):
    for words in (["--json", tmp_path / "no" / "file"], ["--write-budget", tmp_path / "no" / "file"]):
        command = [sys.executable, "-m", "kindling", "startup", "--repeat", "1", "--quiet", *words, "-c", "1"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
        assert "a report can't be written: [Errno 2]" in done.stderr


def test_import_kindling_loads_nothing_of_it():
    code = "import sys, kindling, kindling.nn; print([name for name in sys.modules if name.startswith('kindling.startup')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_truncated_recording_is_read_up_to_the_break(tmp_path):
    import marshal

    whole = marshal.dumps(("V", 1, 2, "python", "3", []), 2) + marshal.dumps(("I", "a", "b", 3), 2)
    for cut in range(len(whole)):
        assert len(parse.Recording(whole[:cut]).cached) == 0
    assert parse.Recording(whole).cached == [("a", "b", 3)]


def test_json_is_what_the_schema_says(planted):
    text = (Path(__file__).parents[2] / "docs" / "startup" / "schema.md").read_text()
    for field in planted:
        assert f"`{field}`" in text, field
    for name in ("modules", "libraries", "threads", "failed", "runs"):
        for field in planted[name][0]:
            assert f"`{field}`" in text, f"{name}.{field}"
    assert json.loads(json.dumps(planted)) == planted


def test_cold_runs(tree):
    data, done = startup("--repeat", "2", "--cold", "-c", "import planted.sleepy, wave", cwd=tree)
    assert data["statistics"]["cold"]["n"] == data["statistics"]["bytecode-cold"]["n"] == 2
    assert data["eviction"]["files"] > 20 and data["eviction"]["kb"] >= data["eviction"]["stayed_kb"]
    assert b"without bytecode" in done.stdout


def test_evicted_pages_are_counted(tmp_path):
    from kindling.startup import cold

    file = tmp_path / "file"
    file.write_bytes(bytes(1 << 20))
    descriptor = os.open(file, os.O_RDWR)
    os.fsync(descriptor)
    assert cold.resident(descriptor, 1 << 20) == 1 << 20
    assert cold.evict([file, tmp_path / "missing"])[:2] == (1, 1024)
    assert cold.resident(descriptor, 1 << 20) < 1 << 20 or os.stat(tmp_path).st_dev == os.stat("/dev/shm").st_dev
    os.close(descriptor)


def test_registrations_of_torch(tree):
    torch = pytest.importorskip("torch")
    data, done = startup("--repeat", "1", "--top", "5", "--registrations", "-c", "import torch", cwd=tree)
    found = data["registrations"]
    spaces = {row["name"]: row for row in found["namespaces"]}
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    # The tests' own process may have registered more, never less.
    assert 2000 < spaces["aten"]["schemas"] <= len(names)
    meta = next(row for row in found["keys"] if row["name"] == "Meta")
    assert meta["python"] > 500 and meta["cpp"] > 100
    sources = {"/".join(row["name"].split("/")[-2:]): row for row in found["sources"]}
    assert sources["torch/_meta_registrations.py"]["module"] == "torch._meta_registrations"
    cpu = sources["ATen/RegisterCPU_0.cpp"]
    assert cpu["kernels"] > 100 and cpu["ms"] > 0 and "libtorch_cpu" in cpu["library"]
    assert b"registering files by time" in done.stdout


def test_native_stacks(tree):
    if not COMPILER:
        pytest.skip("no C++ compiler for the planted constructor")
    data, done = startup("--repeat", "1", "--native-stacks", "500", "-c", "import planted", cwd=tree)
    found = data["native_stacks"]
    assert found["samples"] == sum(row["samples"] for row in found["stacks"]) > 10
    assert found["distortion_percent"] is not None
    inside = [row for row in found["stacks"] if "planted_wait" in row["native"] and row["constructor"]]
    assert inside and all(row["module"] == "planted._native" for row in inside)
    assert {row["constructor"] for row in inside} == {"_GLOBAL__sub_I_" + row["constructor"][15:] for row in inside}
    for row in inside:
        # From the program's first function over the loader to the constructor, without a gap.
        assert "dlopen" in "".join(row["native"]) and row["native"][0] == "_start"
        assert any(frame.endswith("planted/native.py:1 <module>") for frame in row["python"])
    slots = [row for row in found["stacks"] if "planted_wait" in row["native"] and not row["constructor"]]
    assert slots and all("PyModule_ExecDef" in row["native"] for row in slots)
    assert b"inside constructors" in done.stdout


@pytest.mark.parametrize(
    "symbol, text",
    [
        ("_ZN2at6native3fooERKNS_6TensorE", "at::native::foo"),
        ("_ZNK3c106Scalar2toIdEET_v", "c10::Scalar::to"),
        ("_ZL12planted_waitl", "planted_wait"),
        ("_ZN12_GLOBAL__N_13barEv", "(anonymous)::bar"),
        ("PyInit_x", "PyInit_x"),
        ("_Z", "_Z"),
    ],
)
def test_plain_names_of_symbols(symbol, text):
    from kindling.startup import stacks

    assert stacks.plain(symbol) == text


# ---- the budget

BUDGET = Path(__file__).with_name("startup_budget.toml")


@pytest.mark.timing
def test_kindling_keeps_its_own_budget():
    _, done = startup("--budget", BUDGET, "--quiet", "-c", "import kindling")
    assert done.stdout.decode().endswith("kept\n")
    _, done = startup("--repeat", "1", "--budget", BUDGET, "--quiet", "-c", "import kindling, json", check=False)
    assert done.returncode == 3
    text = done.stdout.decode()
    assert "module json is not among the allowed ones" in text and "imported by __main__:1 > json" in text
    assert "module re is forbidden; imported by __main__:1 > json:" in text


def test_budget_written_is_a_budget_kept_and_broken(tree, planted, tmp_path):
    from kindling.startup.formats import budget

    source = budget.text(planted)
    limits = budget.check(budget.parse(source))
    assert budget.breaches(planted, limits) == []
    assert limits["counts"]["threads"] == 2 and "planted.*" in limits["modules"]["allowed"]
    limits["modules"] = {"forbidden": ["planted.cycle_*"], "allowed": ["planted*"]}
    limits["libraries"] = {"forbidden": ["_native.*.so"]}
    limits["counts"] = {"threads": 0, "constructors": 0}
    limits["time.packages"] = {"planted": 0.001}
    limits["time.libraries"] = {"_native.*.so": 0.001}
    lines = "\n".join(budget.breaches(planted, limits))
    assert "module planted.cycle_b is forbidden; imported by __main__:1 > planted:1 > planted.cycle_a:1" in lines
    assert "threads: 2, 0 allowed; most in planted.threaded:2 (1)" in lines
    assert "constructors: " in lines and "package planted: " in lines and "_native" in lines
    assert "module threading is not among the allowed ones" in lines
    file = tmp_path / "b.toml"
    _, done = startup("--repeat", "1", "--quiet", "--write-budget", file, "--budget", file, "-c", "import clean", cwd=tree)
    assert budget.parse(file.read_text())["modules"]["allowed"] == ["clean", "clean.*"]


@pytest.mark.parametrize(
    "source, error",
    [
        ("[tme]\ntotal = 1.0\n", "there is no table [tme]"),
        ("[time]\ntotl = 1.0\n", "[time] has no totl"),
        ("[time]\ntotal = '1'\n", "total in [time] is a number"),
        ("[modules]\nallowed = 'x'\n", "allowed in [modules] is a list of strings"),
        ("[counts]\nthreads = 1.5\n", "threads in [counts] is a whole number"),
        ("total = 1.0\n", "there is no table [total]"),
    ],
)
def test_slips_in_a_budget_are_errors(source, error):
    from kindling.startup.formats import budget

    with pytest.raises(ValueError, match=re.escape(error)):
        budget.check(budget.parse(source))


def test_own_toml_reader_agrees_with_the_standard_one(planted):
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has nothing to compare with")
    from kindling.startup.formats import budget

    texts = [budget.text(planted), BUDGET.read_text(), "", "# c\n[a.b]\n'x y' = -1.5e3\nz = [1, 2.5, # c\n\n 'q',]\n",
             "a = true\n[b]\nc.d = 'e'\n\"f\" = []\nneg = -3\n", "x = 1 # end"]  # fmt: skip
    for text in texts:
        assert budget.read_subset(text) == tomllib.loads(text)
    for text in ["a", "a =", "a = b", "[a", "a = [1 2]", "a = [1,", "a = 1\na = 2", "a = 1 b = 2", "= 1", 'a = "x']:
        with pytest.raises(ValueError):
            budget.read_subset(text)
        with pytest.raises(ValueError):
            tomllib.loads(text)


def test_documented_budget_is_one():
    from kindling.startup.formats import budget

    text = (Path(__file__).parents[2] / "docs" / "startup" / "budget.md").read_text()
    (source,) = re.findall(r"^```toml\n(.*?)^```$", text, re.M | re.S)
    assert set(budget.check(budget.read_subset(source))) == set(budget.TABLES)


def test_eager_import():
    lazy, _ = startup("--repeat", "1", "-c", "import kindling")
    some, _ = startup("--repeat", "1", "--unlazy", "fft,kindling.nn.functional", "-c", "import kindling")
    names = {row["name"] for row in some["modules"]} - {row["name"] for row in lazy["modules"]}
    assert {"kindling.fft", "kindling.nn.functional"} <= names and "kindling.distributions" not in names
    every, _ = startup("--repeat", "1", "--unlazy", "1", "-c", "import kindling")
    assert {"kindling.fft", "kindling.distributions", "kindling.optim"} <= {row["name"] for row in every["modules"]}
    _, done = startup("--repeat", "1", "--unlazy", "fft.nosuch", "-c", "import kindling", check=False)
    assert done.returncode == 1 and b"KINDLING_EAGER_IMPORT=fft.nosuch: 'fft.nosuch' is not to be had" in done.stderr


# ---- with other tools


def test_pstats_file_is_what_pstats_reads(tree, tmp_path):
    import pstats

    file = tmp_path / "startup.prof"
    data, _ = startup("--repeat", "1", "--quiet", "--pstats", file, "-c", "import clean, planted.sleepy", cwd=tree)
    stats = pstats.Stats(str(file))
    assert stats.total_calls == len(data["modules"]) + 1
    assert stats.total_tt == pytest.approx(data["total_ms"] / 1e3, abs=1e-3)
    (row,) = [value for key, value in stats.stats.items() if key[2] == "planted.sleepy"]
    assert row[2] == pytest.approx(module(data, "planted.sleepy")["self_ms"] / 1e3, abs=1e-6)
    assert [key[2] for key in row[4]] == ["__main__"] or "planted" in [key[2] for key in row[4]]


def test_ipython_magic(capsys):
    import kindling.startup

    class Shell:
        def register_magic_function(self, function, magic_kind, magic_name):
            assert magic_kind == "line"
            setattr(self, magic_name, function)

    shell = Shell()
    kindling.startup.load_ipython_extension(shell)
    shell.kindling_startup("--repeat=1 --no-native import wave")
    assert re.search(r"wave  \(__main__:1\)", capsys.readouterr().out)
    shell.kindling_startup("--repeat=1 --no-native -m this_is_no_module")
    assert "No module named this_is_no_module" in capsys.readouterr().out
    shell.kindling_startup("--repeat 1 --top '3' --no-native import wave; print(\"it is\", 'quoted')")
    out = capsys.readouterr().out
    assert "it is quoted" in out and re.search(r"wave  \(__main__:1\)", out)
    shell.kindling_startup("--repeat x import wave")
    assert "--repeat needs a number, not 'x'" in capsys.readouterr().err


def test_registrations_of_kindling(tree):
    data, done = startup("--repeat", "1", "--registrations", "-c", "import kindling", cwd=tree)
    found = data["registrations"]
    aten, vision = ([row for row in found["namespaces"] if row["name"] == name][0] for name in ("aten", "torchvision"))
    assert aten["schemas"] > 1000 and aten["kernels"] == aten["cpp"] > 2000
    assert {row["name"] for row in found["keys"]} >= {"CPU", "Meta", "Autograd", "CompositeImplicitAutograd"}
    (source,) = found["sources"]
    assert source["name"] == "kindling" and "libkindling" in source["library"] and source["schemas"] == aten["schemas"] + vision["schemas"]
    assert b"registering files by time" in done.stdout


@pytest.mark.parametrize("repeat, seconds, count", [(None, 0.0, 3), (None, 60.0, 15), (1, 60.0, 1), (20, 0.0, 20)])
def test_rounds(monkeypatch, repeat, seconds, count):
    from kindling.startup import record

    monkeypatch.setattr(record, "SECONDS", seconds)
    assert list(record.rounds(repeat)) == list(range(count))


def test_program_that_checks_the_numbers(tmp_path):
    """What it says of measurements: each bar, from both sides. And that it runs: what it then finds depends on the machine."""
    import importlib.util

    path = Path(__file__).parents[2] / "benchmarks" / "startup_profiler.py"
    spec = importlib.util.spec_from_file_location("startup_profiler", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    # The machine is ten times slower in the second round: only what lies in one round is compared.
    sound = {"bare": [100, 1000, 100], "total": [104, 1040, 96], "recorded": [109, 1000, 120], "imports": [80], "logged": [72.8],
             "core": [210], "lump": [219]}  # fmt: skip
    rows = {row[0]: row for row in program.compare(sound, "s")}
    assert [row[5] for row in rows.values()] == [True] * 4 and rows["s: total"][1:5] == (104, 100, 4, 5.0)
    assert rows["s: overhead"][3] == 9
    for name, value in (("total", [106, 1060, 96]), ("total", [94, 900, 100]), ("recorded", [111, 1111, 100]), ("imports", [81]),
                        ("core", [196])):  # fmt: skip
        broken = [row[0] for row in program.compare({**sound, name: value}, "s") if not row[5]]
        assert broken == [{"recorded": "s: overhead"}.get(name, f"s: {name}")]
    short = {"bare": [10.0], "total": [12.9], "recorded": [12.9], "imports": [4.9], "logged": [2.0]}
    assert [row[5] for row in program.compare(short, "s")] == [True] * 3
    done = subprocess.run([sys.executable, str(path), "--only", "json", "--rounds", "1"], cwd=tmp_path, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert [line.partition("  ")[0] for line in lines[1:4]] == ["json: total", "json: imports", "json: overhead"], done.stderr
    assert (done.returncode, lines[4]) in ((0, "all hold"), (1, f"{done.stdout.count('DOES NOT HOLD')} do not hold"))
