"""Scripted loops over elements: Kindling, the same algorithm in C++ at -O2, and PyTorch's torch.jit.script, in one run.

    python benchmarks/script_loops.py [--dtype float64] [--strided] [--torch] [NAME...]

Times are the least of several runs. PyTorch runs a fraction of the size (a loop of a minute would be the rule) and is scaled by the rounds.
Prints, for each loop: milliseconds here and in C++, here over C++, and PyTorch over here.
"""
import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "loops"


def programs(module):
    """The programs, with `torch` being one of the two; their source lies in a file, which torch.jit.script wants."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, f"programs_{module}.py")
    text = (FOLDER / "programs.py").read_text()
    Path(path).write_text(text.replace("import torch\n", f"import {module} as torch\n", 1))
    spec = importlib.util.spec_from_file_location(f"programs_{module}", path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def least(call, times):
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float64")
    parser.add_argument("--strided", action="store_true")
    parser.add_argument("--torch", action="store_true", help="PyTorch as well")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    program = os.path.join(tempfile.mkdtemp(), "loops")
    kind = {"float32": "float", "float64": "double"}[given.dtype]
    subprocess.run(["g++", "-O2", "-std=c++20", f"-DT={kind}", str(FOLDER / "loops.cpp"), "-o", program], check=True)
    ours = programs("kindling")
    theirs = programs("torch") if given.torch else None
    print(f"{'':16} {'ms':>9} {'C++ ms':>9} {'/ C++':>6} {'PyTorch /':>10}")
    for name in given.names or ours.SIZES:
        size, small_size, growth = ours.SIZES[name]
        function = ours.torch.jit.script(getattr(ours, name))
        arguments = ours.inputs(name, size, getattr(ours.torch, given.dtype), given.strided)
        here = least(lambda: function(*arguments), 7)
        there = float(subprocess.run([program, name, str(size)], capture_output=True, text=True, check=True).stdout)
        line = f"{name:16} {here * 1e3:9.3f} {there * 1e3:9.3f} {here / there:6.2f}"
        if theirs:
            part = small_size * (2 if growth == 3 else 4)
            slow = theirs.torch.jit.script(getattr(theirs, name))
            small = theirs.inputs(name, part, getattr(theirs.torch, given.dtype), given.strided)
            for _ in range(2):
                slow(*small)
            scale = (size / part) ** growth
            line += f" {least(lambda: slow(*small), 3) * scale / here:10.0f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
