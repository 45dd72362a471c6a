"""The steps of ./test, run by the interpreter of .venv-test. The last line counts checks: ``N passed, N failed``."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
# What conform.py is run with, by suite. Which subjects may fail then is in tests/conformance/known.toml.
CONFORMANCE = {
    "modules": ["--quick"],
    "optims": ["--quick"],
    "ops": ["--quick", "--tangents", "--dtypes", "float32,float64,int64,bool,complex64,bfloat16"],
}
ISAS = {"baseline": "", "avx2": "avx2", "avx512": "avx512f"}
PYTHON_TESTS = [ROOT / "tests" / "python", ROOT / "tests" / "parity"]
# Folders of the builds, inside BUILD.
WHEEL = "test-wheel"
SANITIZED = "sanitized-wheel"
THREADS = "sanitized-threads"
# What tests/conformance/record.py writes.
CALLS = BUILD / "calls.pickle"
JOBS = str(len(os.sched_getaffinity(0)))


class Tally:
    """What has passed and failed so far."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.lines = []
        self.names = []     # of the tests that failed, for the end of a log that may be cut at its front
        self.last = time.monotonic()

    def add(self, name, passed, failed, note=""):
        """A part that has ended, with the seconds since the one before it."""
        self.passed += passed
        self.failed += failed
        before, self.last = self.last, time.monotonic()
        note = f" ({note})" if note else ""
        line = f"{'FAILED' if failed else 'ok':6} {self.last - before:6.0f} s  {name}: {passed} passed, {failed} failed{note}"
        self.lines.append(line)
        say(line)


def say(text):
    print(f"== {text}", flush=True)


def call(*command, env=None, **options):
    """Run a command; its output goes to ours. Returns the exit status."""
    say(" ".join(str(word) for word in command))
    return subprocess.run([str(word) for word in command], env={**os.environ, **(env or {})}, **options).returncode


def tool(name):
    """The build tool of this environment if it has one, else the system's."""
    own = Path(sys.executable).parent / name
    return str(own) if own.exists() else shutil.which(name)


def environment(tally):
    """The packages that the tests need, and cmake and ninja where the system has none."""
    wanted = ["-r", str(ROOT / "tools" / "test-requirements.txt")]
    wanted += [name for name in ("cmake", "ninja") if not tool(name)]
    status = call(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted)
    if status:
        raise SystemExit("the test environment could not be made")


def cpp_sources():
    """All C++ files of ours: those below a folder of the project that is no build and no environment."""
    folders = [path for path in ROOT.iterdir() if path.is_dir() and path != BUILD and not path.name.startswith(".")]
    return sorted(path for folder in folders for pattern in ("*.cpp", "*.h") for path in folder.rglob(pattern))


def lint(tally):
    """ruff over the Python files, and the layout of the C++ files."""
    status = call(sys.executable, "-m", "ruff", "check", ROOT)
    tally.add("lint", int(not status), int(bool(status)))
    status = call(tool("clang-format"), "--dry-run", "-Werror", "-ferror-limit=20", *cpp_sources())
    tally.add("layout of C++", int(not status), int(bool(status)))


def cpp(tally):
    """The C++ tests, built along with the wheel."""
    ctest(tally, "C++ tests", BUILD / WHEEL)


def ctest(tally, name, folder, env=None, *options):
    report = folder / "ctest.xml"
    report.unlink(missing_ok=True)
    command = [Path(tool("cmake")).parent / "ctest", "--output-on-failure", "--output-junit", report, "-j", JOBS]
    status = call(*command, *options, cwd=folder, env=env)
    count(tally, name, report, status)


def count(tally, name, report, status):
    """Add up a JUnit report; a run that left none, or failed in another way than by a test, counts as one failure."""
    passed = failed = skipped = 0
    if report.exists():
        for case in xml.parse(report).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                tally.names.append(f"{name}: {case.get('classname', '')} {case.get('name')}")
        for suite in xml.parse(report).getroot().iter("testsuite"):
            number = {key: int(suite.get(key) or 0) for key in ("tests", "failures", "errors", "skipped", "disabled")}
            bad = number["failures"] + number["errors"]
            idle = number["skipped"] + number["disabled"]
            passed += number["tests"] - bad - idle
            failed += bad
            skipped += idle
    if failed == 0 and (status != 0 or passed + skipped == 0):
        failed = 1
    tally.skipped += skipped
    tally.add(name, passed, failed, f"{skipped} skipped" if skipped else "")


def install(tally, python=sys.executable, build=WHEEL, **settings):
    """The wheel, built in isolation and installed as a user would; the C++ tests are built in the same place."""
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    wheels = BUILD / build / "dist"
    shutil.rmtree(wheels, ignore_errors=True)
    cache = {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"} if shutil.which("ccache") else {}
    # Variables and not pip's option for such settings, which older pips lack.
    define = ";".join(f"{name}={value}" for name, value in {"KINDLING_TESTS": "ON", **settings.pop("define", {})}.items())
    settings = {"SKBUILD_BUILD_DIR": str(BUILD / build), "SKBUILD_CMAKE_DEFINE": define, **settings}
    # From a folder that is not the source's, so that nothing of it is imported by accident.
    status = call(
        *(*pip, "wheel", "--no-input", "--no-deps", ROOT, "--wheel-dir", wheels),
        cwd=BUILD,
        env={**cache, **settings},
    )
    if status == 0:
        (wheel,) = wheels.glob("kindling-*.whl")
        os.environ["KINDLING_WHEEL"] = str(wheel)
        status = call(*pip, "uninstall", "--yes", "--quiet", "kindling", cwd=BUILD)
        # An environment beside our own sees our packages too, and would take our Kindling for the wanted one.
        own = () if python == sys.executable else ("--ignore-installed",)
        status = status or call(*pip, "install", "--no-input", *own, wheel, cwd=BUILD)
    tally.add("installation", int(not status), int(bool(status)))
    return status == 0


def pytest(tally, name, *options, python=sys.executable, env=None, paths=PYTHON_TESTS, limit=None, output=None):
    report = BUILD / f"pytest-{re.sub(r'[^0-9a-z]+', '-', name.lower())}.xml"
    report.unlink(missing_ok=True)
    # Not from the source folder: an interpreter started there would import the package's sources.
    command = [python, "-m", "pytest", "-q", "--disable-warnings", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "--junitxml", report]
    try:
        status = call(*command, *options, *paths, cwd=BUILD, env=env, timeout=limit, stdout=output, stderr=output)
    except subprocess.TimeoutExpired:
        status = "no end"
    # Nothing of a file may be wanted with these options, which pytest calls an error.
    if status != 5:
        count(tally, name, report, status)


def python_files():
    """The files of Python tests, large ones first."""
    return sorted((file for folder in PYTHON_TESTS for file in folder.glob("test_*.py")), key=lambda file: -file.stat().st_size)


def summed(tally, name, totals):
    """Adds runs of a part as one."""
    tally.names += [each for total in totals for each in total.names]
    passed, failed, skipped = (sum(getattr(total, what) for total in totals) for what in ("passed", "failed", "skipped"))
    tally.add(name, passed, failed or int(passed + skipped == 0), f"{skipped} skipped" if skipped else "")


def parallel(tally, name, marks, env=None):
    """The Python tests with these marks, on all processors: a few groups of files for each, as their lengths differ. What a
    group prints comes out when it has ended."""
    files = python_files()
    groups = [files[start::6 * int(JOBS)] for start in range(min(len(files), 6 * int(JOBS)))]

    def run(number):
        total = Tally()
        path = BUILD / f"pytest-part-{number}.txt"
        with path.open("w") as output:
            pytest(total, f"{name} {number}", "-m", marks, env=env, paths=groups[number], output=output)
        print(path.read_text(), end="", flush=True)
        return total

    with ThreadPoolExecutor(int(JOBS)) as pool:
        summed(tally, name, list(pool.map(run, range(len(groups)))))


def python_tests(tally):
    """Everything under tests/python and tests/parity, against the installed package; what measures runs alone."""
    parallel(tally, "Python tests", "not timing")
    pytest(tally, "Python tests that measure", "-m", "timing")


def cpu_flags():
    with open("/proc/cpuinfo") as file:
        return set(re.search(r"^flags\s*:(.*)$", file.read(), re.M).group(1).split())


def isas(tally):
    """The tests marked `kernels` again on each instruction set that this machine has, and the portable code."""
    flags = cpu_flags()
    for isa, flag in ISAS.items():
        if flag and flag not in flags:
            say(f"{isa}: this machine does not have it")
            continue
        env = {"KINDLING_ISA": isa}
        ctest(tally, f"C++ tests with {isa}", BUILD / WHEEL, env)
        parallel(tally, f"Python kernel tests with {isa}", "kernels", env=env)


def conformance(tally):
    """PyTorch's own test databases, operator by operator: whatever passed before (tests/conformance/known.toml) must pass."""
    folder = ROOT / "tests" / "conformance"
    for suite, options in CONFORMANCE.items():
        report = BUILD / f"conformance-{suite}.json"
        report.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "conform.py", "--module", "kindling", "--suite", suite, "--all", *options]
            + ["--jobs", JOBS, "--failures-only", "--json", str(report)],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        (BUILD / f"conformance-{suite}.txt").write_text(done.stdout)
        if not report.exists():
            print(done.stdout[-4000:])
            tally.add(f"conformance {suite}", 0, 1, "no result")
            continue
        known = subprocess.run([sys.executable, "known.py", str(report)], cwd=folder, stdout=subprocess.PIPE, text=True)
        if known.returncode:
            print(known.stdout)
        passed, failed = (json.loads(report.read_text())["totals"][what] for what in ("passed", "failed"))
        note = f"{passed} of {passed + failed} subjects" + (", not as known" if known.returncode else ", as known")
        tally.add(f"conformance {suite}", int(not known.returncode), int(bool(known.returncode)), note)


def documents(tally):
    """Every Python example in README.md and docs/, each file in a process of its own."""
    good = bad = 0
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if "```python" not in path.read_text():
            continue
        status = call(sys.executable, ROOT / "tools" / "run_examples.py", path, cwd=BUILD)
        good += not status
        bad += bool(status)
    tally.add("examples in the documents", good, bad)


def gcc_library(name):
    """Where the compiler has one of its run-time libraries."""
    command = [os.environ.get("CXX", "g++"), f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def sanitized_environment():
    """What a process needs that is to run the sanitized package in an ordinary interpreter."""
    return {
        # Memory too large to have is an error that the tests ask for, not a fault.
        # Leaks are not looked for here: the interpreter and torch leave thousands of blocks behind at exit by design, and
        # what a Python program leaks of ours is a reference that a Python object holds, which is reachable. The C++ tests
        # look for them.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        # The sanitizers' run time must be the first library of the process; libstdc++ is there so that they find its
        # __cxa_throw.
        "LD_PRELOAD": " ".join(map(gcc_library, ("libasan.so", "libubsan.so", "libstdc++.so"))),
        # Python objects in blocks of their own, so that the use of a freed one is seen.
        "PYTHONMALLOC": "malloc",
        "KINDLING_SANITIZED": "1",
    }


def sanitized_install(tally):
    """An environment with the sanitized package; all else in it is that of .venv-test. Returns its interpreter, or None."""
    venv = ROOT / ".venv-sanitize"
    python = venv / "bin" / "python"
    if not python.exists():
        call(sys.executable, "-m", "venv", venv)
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True, cwd=BUILD).stdout.strip()
    # Its own packages come first, so it sees the sanitized Kindling and the other's torch.
    Path(own, "test-packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    define = {"KINDLING_SANITIZE": "address,undefined"}
    return python if install(tally, python, SANITIZED, define=define, SKBUILD_CMAKE_BUILD_TYPE="RelWithDebInfo") else None


def sanitized(tally):
    """C++ and Python tests of ours under address and undefined-behaviour sanitizers, then those of threads under theirs."""
    python = sanitized_install(tally)
    if python:
        # What the process keeps on purpose (declarations, kernels made of them) is reachable from globals, so every leak
        # that is reported is one.
        ctest(tally, "C++ tests under sanitizers", BUILD / SANITIZED, {
            "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        })
        env = sanitized_environment()
        sanitized_python(tally, python, env)
        if recorded(tally):
            replay(tally, python, env)
            status = call(python, ROOT / "tests" / "fuzz" / "arguments.py", "--count", "60000", "--calls", CALLS,
                          "--isas", ",".join(ISAS), cwd=BUILD, env=env)
            tally.add("random arguments under sanitizers", int(not status), int(bool(status)))
        status = call(python, ROOT / "tests" / "fuzz" / "arguments.py", "--empty", "--count", "10000", "--isas", ",".join(ISAS), cwd=BUILD, env=env)
        tally.add("random empty tensors under sanitizers", int(not status), int(bool(status)))
        status = call(python, ROOT / "tests" / "fuzz" / "arguments.py", "--programs", "--count", "2000", cwd=BUILD, env=env)
        tally.add("random programs under sanitizers", int(not status), int(bool(status)))
    threads(tally)


def sanitized_python(tally, python, env):
    """The Python tests, each file in a process of its own: what ends one process hides no other file's faults, and torch's
    loader, whose workers are forked, does not see the threads that other tests have left."""

    def run(path):
        total = Tally()
        # faulthandler would start a thread for each test. A fork at that moment leaves a worker with the sanitizer's allocator locked.
        pytest(total, path.stem, "-m", "not slow and not timing", "-o", "faulthandler_timeout=0", python=python, env=env,
               paths=[path], limit=1800)
        return total

    with ThreadPoolExecutor(int(JOBS)) as pool:
        summed(tally, "Python tests under sanitizers", list(pool.map(run, python_files())))


def threads(tally):
    """The C++ tests that start threads, under the thread sanitizer. Python is left out: it would be the only thing seen."""
    folder = BUILD / THREADS
    tests = ("test_runtime_threads", "test_runtime_allocator", "test_autograd", "test_concurrency", "test_script_fork")
    cache = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    cmake = tool("cmake")
    status = call(cmake, "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", *cache,
                  "-DKINDLING_SANITIZE=thread", "-DKINDLING_TESTS=ON", "-DKINDLING_PYTHON=OFF",
                  "-DCMAKE_BUILD_TYPE=RelWithDebInfo", f"-DPython3_EXECUTABLE={sys.executable}")
    status = status or call(cmake, "--build", folder, "--target", *tests)
    tally.add("build for the thread sanitizer", int(not status), int(bool(status)))
    if status == 0:
        ctest(tally, "C++ tests of threads under sanitizers", folder, {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"},
              "-R", f"^({'|'.join(tests)})$")


def recorded(tally):
    """Calls of PyTorch's test databases, recorded by torch in a process without sanitizers."""
    status = call(sys.executable, ROOT / "tests" / "conformance" / "record.py", CALLS, cwd=BUILD)
    tally.add("recording conformance inputs", int(not status), int(bool(status)))
    return status == 0


def replay(tally, python, env):
    """The recorded calls, repeated without torch in the process."""
    log = BUILD / "calls.log"
    status = call(python, ROOT / "tests" / "conformance" / "replay.py", CALLS, "--module", "kindling", "--log", log,
                  cwd=BUILD, env=env)
    tally.add("conformance inputs under sanitizers", int(not status), int(bool(status)), log.read_text().strip())


def fuzz(tally):
    """A million damaged checkpoints and a million calls, where the ordinary tests take ten thousand of each; random kernels for
    both executors."""
    status = call(sys.executable, ROOT / "tests" / "fuzz" / "checkpoints.py", "--count", "1000000", cwd=BUILD)
    tally.add("damaged checkpoints", int(not status), int(bool(status)))
    for words in (("first_calls.py", "--names"), ("imports.py", "--count", "2000"), ("imports.py", "--graph")):
        status = call(sys.executable, ROOT / "tests" / "fuzz" / words[0], *words[1:], cwd=BUILD)
        tally.add(" ".join(words), int(not status), int(bool(status)))
    for name, count in (("differences.py", "100000"), ("empties.py", "100000"), ("programs.py", "10000")):
        status = call(sys.executable, ROOT / "tests" / "fuzz" / name, "--count", count, "--seed", str(int(time.time())), cwd=BUILD)
        tally.add(name, int(not status), int(bool(status)))
    # The program built along with the wheel, where the ordinary tests take three thousand kernels.
    status = call(next((BUILD / WHEEL).rglob("test_native_fuzz")), "300000", str(int(time.time())), cwd=BUILD)
    tally.add("native kernels against tiles", int(not status), int(bool(status)))
    if recorded(tally):
        status = call(sys.executable, ROOT / "tests" / "fuzz" / "arguments.py", "--count", "1000000", "--calls", CALLS,
                      "--isas", ",".join(ISAS), cwd=BUILD)
        tally.add("random arguments", int(not status), int(bool(status)))
    status = call(sys.executable, ROOT / "tests" / "fuzz" / "writes.py", "--rounds", "40", "--seed", str(int(time.time())), cwd=BUILD)
    tally.add("writes through lazy bits", int(not status), int(bool(status)))


STEPS = {
    "lint": lint,
    "install": install,
    "cpp": cpp,
    "python": python_tests,
    "isa": isas,
    "conformance": conformance,
    "documents": documents,
}


def main():
    parser = argparse.ArgumentParser(prog="./test", description="Builds everything and runs every test.")
    parser.add_argument("--sanitize", action="store_true", help="only the tests under sanitizers")
    parser.add_argument("--fuzz", action="store_true", help="only the long runs over damaged checkpoints and random kernels")
    parser.add_argument("--only", metavar="STEP,...", help=f"only these steps: {', '.join(STEPS)}")
    given = parser.parse_args()
    names = list(STEPS)
    if given.only:
        names = given.only.split(",")
        for name in names:
            if name not in STEPS:
                parser.error(f"there is no step {name!r}; steps are {', '.join(STEPS)}")
    steps = [STEPS[name] for name in names]
    if given.sanitize or given.fuzz:
        steps = ([sanitized] if given.sanitize else []) + ([install, fuzz] if given.fuzz else [])

    # Children import the installed package, never the sources; and no variable of the caller changes what they find.
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "KINDLING_AS_TORCH", "KINDLING_ISA", "KINDLING_NATIVE"):
        os.environ.pop(name, None)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    BUILD.mkdir(exist_ok=True)
    started = time.monotonic()
    tally = Tally()
    environment(tally)
    for step in steps:
        step(tally)
    print(f"\n{sysconfig.get_platform()}, CPython {sys.version.split()[0]}, {JOBS} processors")
    print("\n".join(tally.lines + tally.names[:100]))
    whole = time.monotonic() - started
    print(f"{'':6} {whole:6.0f} s  the whole, {whole / 60:.0f} min")
    print(f"{tally.passed} passed, {tally.failed} failed", flush=True)
    return int(tally.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
