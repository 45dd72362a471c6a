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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
# Shares of the subjects of the conformance suites that must pass.
CONFORMANCE = {"modules": 0.60, "optims": 0.60, "ops": 0.35}
ISAS = {"baseline": "", "avx2": "avx2", "avx512": "avx512f"}
PYTHON_TESTS = [ROOT / "tests" / "python", ROOT / "tests" / "parity"]
# Folders of the builds, inside BUILD.
WHEEL = "test-wheel"
SANITIZED = "sanitized-wheel"
JOBS = str(len(os.sched_getaffinity(0)))


class Tally:
    """What has passed and failed so far."""

    def __init__(self):
        self.passed = self.failed = 0
        self.lines = []

    def add(self, name, passed, failed, note=""):
        self.passed += passed
        self.failed += failed
        line = f"{'FAILED' if failed else 'ok':6} {name}: {passed} passed, {failed} failed{note and ' (' + note + ')'}"
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


def lint(tally):
    """ruff over the Python files, and our own rules."""
    status = call(sys.executable, "-m", "ruff", "check", ROOT)
    tally.add("lint", int(not status), int(bool(status)))


def cpp(tally):
    """The C++ tests, built along with the wheel."""
    ctest(tally, "C++ tests", BUILD / WHEEL)


def ctest(tally, name, folder, env=None):
    report = folder / "ctest.xml"
    report.unlink(missing_ok=True)
    command = [Path(tool("cmake")).parent / "ctest", "--output-on-failure", "--output-junit", report, "-j", JOBS]
    status = call(*command, cwd=folder, env=env)
    count(tally, name, report, status)


def count(tally, name, report, status):
    """Add up a JUnit report; a run that left none, or failed in another way than by a test, counts as one failure."""
    passed = failed = skipped = 0
    if report.exists():
        for suite in xml.parse(report).getroot().iter("testsuite"):
            number = {key: int(suite.get(key) or 0) for key in ("tests", "failures", "errors", "skipped", "disabled")}
            bad = number["failures"] + number["errors"]
            idle = number["skipped"] + number["disabled"]
            passed += number["tests"] - bad - idle
            failed += bad
            skipped += idle
    if failed == 0 and (status != 0 or passed == 0):
        failed = 1
    tally.add(name, passed, failed, f"{skipped} skipped" if skipped else "")


def install(tally, python=sys.executable, build=WHEEL, **settings):
    """The wheel, built in isolation and installed as a user would; the C++ tests are built in the same place."""
    started = time.monotonic()
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
        status = status or call(*pip, "install", "--no-input", wheel, cwd=BUILD)
    tally.add("installation", int(not status), int(bool(status)), f"{time.monotonic() - started:.0f} s")
    return status == 0


def pytest(tally, name, *options, python=sys.executable, env=None):
    report = BUILD / "pytest.xml"
    report.unlink(missing_ok=True)
    # Not from the source folder: an interpreter started there would import the package's sources.
    command = [python, "-m", "pytest", "-q", "-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "--junitxml", report]
    status = call(*command, *options, *PYTHON_TESTS, cwd=BUILD, env=env)
    count(tally, name, report, status)


def python_tests(tally):
    """Everything under tests/python, against the installed package."""
    pytest(tally, "Python tests")


def cpu_flags():
    with open("/proc/cpuinfo") as file:
        return set(re.search(r"^flags\s*:(.*)$", file.read(), re.M).group(1).split())


def isas(tally):
    """The kernels' tests again on each instruction set that this machine has, and the portable code."""
    flags = cpu_flags()
    for isa, flag in ISAS.items():
        if flag and flag not in flags:
            say(f"{isa}: this machine does not have it")
            continue
        env = {"KINDLING_ISA": isa}
        ctest(tally, f"C++ tests with {isa}", BUILD / WHEEL, env)
        pytest(tally, f"Python kernel tests with {isa}", "-m", "kernels", env=env)


def conformance(tally):
    """A quick pass over PyTorch's own test databases, held to the shares above."""
    for suite, share in CONFORMANCE.items():
        report = BUILD / f"conformance-{suite}.json"
        done = subprocess.run(
            [sys.executable, "conform.py", "--module", "kindling", "--suite", suite, "--all", "--quick"]
            + ["--jobs", JOBS, "--failures-only", "--json", str(report)],
            cwd=ROOT / "tests" / "conformance",
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = done.stdout.strip().splitlines()
        found = re.search(r"(\d+) passed, (\d+) failed", lines[-1]) if lines else None
        if not found:
            print(done.stdout[-4000:])
            tally.add(f"conformance {suite}", 0, 1, "no result")
            continue
        passed, failed = map(int, found.groups())
        (BUILD / f"conformance-{suite}.txt").write_text(done.stdout)
        crashed = crashes(report)
        good = passed >= share * (passed + failed) and not crashed
        note = f"{passed} of {passed + failed} subjects, {share:.0%} wanted, {crashed} crashed"
        tally.add(f"conformance {suite}", int(good), int(not good), note)


def crashes(report):
    """How many subjects of a conformance report crashed."""
    data = json.loads(report.read_text())
    return sum(1 for subject in data.get("subjects", {}).values() if subject.get("status") == "crash")


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


def sanitized(tally):
    """C++ and Python tests of ours under address and undefined-behaviour sanitizers (no torch in the process)."""
    runtime = [
        subprocess.run([os.environ.get("CXX", "g++"), f"-print-file-name={name}"], capture_output=True, text=True)
        for name in ("libasan.so", "libubsan.so", "libstdc++.so")
    ]
    env = {
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    venv = ROOT / ".venv-sanitize"
    python = venv / "bin" / "python"
    if not python.exists():
        call(sys.executable, "-m", "venv", venv)
    packages = [line for line in (ROOT / "tools" / "test-requirements.txt").read_text().split() if "torch" not in line]
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    define = {"KINDLING_SANITIZE": "address,undefined"}
    if install(tally, python, SANITIZED, define=define, SKBUILD_CMAKE_BUILD_TYPE="RelWithDebInfo"):
        ctest(tally, "C++ tests under sanitizers", BUILD / SANITIZED, env)
        env["LD_PRELOAD"] = " ".join(done.stdout.strip() for done in runtime)
        env["KINDLING_SANITIZED"] = "1"
        pytest(tally, "Python tests under sanitizers", "-m", "not slow and not timing", python=python, env=env)
        replay(tally, python, env)


def replay(tally, python, env):
    """Calls of PyTorch's test databases, recorded by torch here and repeated there without it."""
    folder, calls, log = ROOT / "tests" / "conformance", BUILD / "calls.pickle", BUILD / "calls.log"
    if call(sys.executable, folder / "record.py", calls, cwd=BUILD):
        tally.add("recording conformance inputs", 0, 1)
        return
    status = call(python, folder / "replay.py", calls, "--module", "kindling", "--log", log, cwd=BUILD, env=env)
    tally.add("conformance inputs under sanitizers", int(not status), int(bool(status)), log.read_text().strip())


def fuzz(tally):
    """A million damaged checkpoints, where the ordinary tests take ten thousand; random kernels for both executors."""
    status = call(sys.executable, ROOT / "tests" / "fuzz" / "checkpoints.py", "--count", "1000000", cwd=BUILD)
    tally.add("damaged checkpoints", int(not status), int(bool(status)))
    # The program built along with the wheel, where the ordinary tests take three thousand kernels.
    status = call(next((BUILD / WHEEL).rglob("test_native_fuzz")), "300000", str(int(time.time())), cwd=BUILD)
    tally.add("native kernels against tiles", int(not status), int(bool(status)))


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
    print(f"\n{sysconfig.get_platform()}, CPython {sys.version.split()[0]}, {time.monotonic() - started:.0f} s")
    print("\n".join(tally.lines))
    print(f"{tally.passed} passed, {tally.failed} failed", flush=True)
    return int(tally.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
