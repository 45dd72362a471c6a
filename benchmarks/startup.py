"""What starting costs: alternating fresh processes, medians over a bare interpreter of the same environment.

    python benchmarks/startup.py                 # a table
    python benchmarks/startup.py --torch         # the installed torch beside it
    python benchmarks/startup.py --json --rounds 50

Run it with the interpreter that Kindling is installed for, in the ordinary way: the hooks of an editable installation
cost more than what is measured.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMPORTS = """\
import torch
import torch.nn
import torch.nn.functional
import torch.optim
"""

MLP_STEP = """\
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = F.cross_entropy(model(torch.randn(64, 784)), torch.randint(0, 10, (64,)))
loss.backward()
optimizer.step()
assert loss.item() > 0
"""

# What a process prints of itself at its end: modules, mapped files, threads, peak memory.
LOOK = """
import sys
_modules = sorted(sys.modules)
_maps = sorted({line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if ".so" in line})
_memory = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024
_threads = len(__import__("os").listdir("/proc/self/task"))
print(__import__("json").dumps({"modules": _modules, "libraries": _maps, "threads": _threads, "mb": _memory}))
"""


def commands(folder, with_torch=False):
    """What is measured, by name. The programs are written into ``folder``."""
    python = sys.executable
    command = Path(python).parent / "kindling"
    # A script's first line cannot name an interpreter whose path has a space.
    run = [*([python] if " " in python else []), str(command), "run"] if command.exists() else [python, "-m", "kindling", "run"]
    files = {}
    for name, text in (("imports.py", IMPORTS), ("mlp_step.py", MLP_STEP), ("empty.py", "")):
        files[name] = str(Path(folder) / name)
        Path(files[name]).write_text(text)
    cases = {
        "bare": [python, "-c", "pass"],
        "import kindling": [python, "-c", "import kindling"],
        "run, no import": [*run, files["empty.py"]],
        "run, torch nn functional optim": [*run, files["imports.py"]],
        "run, first step of an MLP": [*run, files["mlp_step.py"]],
    }
    if with_torch:
        cases["torch: import"] = [python, files["imports.py"]]
        cases["torch: first step of an MLP"] = [python, files["mlp_step.py"]]
    return cases


def environment():
    """A plain environment: nothing of the caller's that changes what an interpreter imports at start."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "KINDLING", "COV"))}


def once(command, env):
    """Seconds of one process: on the clock, and of processor time."""
    started = time.perf_counter()
    process = os.posix_spawn(command[0], command, env)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - started
    if status:
        raise RuntimeError(f"{command} ended with status {status}")
    return seconds, usage.ru_utime + usage.ru_stime


def measure(cases, rounds):
    """Medians by case: milliseconds on the clock and of processor time, and both over the case ``bare``."""
    env = environment()
    times = {name: [] for name in cases}
    works = {name: [] for name in cases}
    for turn in range(rounds + 1):
        for name, command in cases.items():
            seconds, work = once(command, env)
            if turn:  # the first round fills the page cache
                times[name].append(seconds * 1e3)
                works[name].append(work * 1e3)
    result = {}
    for name in cases:
        result[name] = {"ms": statistics.median(times[name]), "cpu_ms": statistics.median(works[name])}
        result[name]["ms_over_bare"] = result[name]["ms"] - result["bare"]["ms"]
        result[name]["cpu_ms_over_bare"] = result[name]["cpu_ms"] - result["bare"]["cpu_ms"]
    return result


def look(program, run=False):
    """Modules, mapped libraries and threads of a process that has executed ``program``."""
    command = [sys.executable, *(("-m", "kindling", "run") if run else ()), "-c", program + LOOK]
    done = subprocess.run(command, env=environment(), cwd="/", check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--torch", action="store_true", help="measure the installed torch too (seconds a round)")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # an interpreter started in the source folder would import the sources
        result = measure(commands(folder, given.torch), given.rounds)
        os.chdir("/")
    bare = look("")
    after = look("import kindling")
    result["import kindling"]["modules"] = sorted(set(after["modules"]) - set(bare["modules"]))
    result["import kindling"]["libraries"] = sorted(set(after["libraries"]) - set(bare["libraries"]))
    result["import kindling"]["mb_over_bare"] = after["mb"] - bare["mb"]
    if given.json:
        print(json.dumps(result, indent=1))
        return
    print(f"{f'medians of {given.rounds} processes':36}{'ms':>9}{'over bare':>11}{'cpu ms':>9}{'over':>8}")
    for name, row in result.items():
        print(f"{name:36}{row['ms']:9.2f}{row['ms_over_bare']:11.2f}{row['cpu_ms']:9.2f}{row['cpu_ms_over_bare']:8.2f}")
    print(f"memory of import kindling: {result['import kindling']['mb_over_bare']:.1f} MB over bare")
    print("modules:", ", ".join(result["import kindling"]["modules"]))
    print("libraries:", ", ".join(map(os.path.basename, result["import kindling"]["libraries"])))


if __name__ == "__main__":
    main()
