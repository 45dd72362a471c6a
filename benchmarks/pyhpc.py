"""The ocean kernels of pyhpc-benchmarks, run unchanged: PyTorch, torch.compile, kindling, kindling compiled.

    git clone https://github.com/dionhaefner/pyhpc-benchmarks FOLDER
    python benchmarks/pyhpc.py FOLDER [--size 1000000] [--threads 1] [--compile]    # --compile: torch.compile too, takes minutes

Milliseconds, the fastest of the calls in six seconds; each in a process of its own, in turns. Under PyTorch the sources' own
`torch.jit.script` holds; `eager` is the same with PYTORCH_JIT=0. `same`: the largest difference of a result over its largest value.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

CASES = ("equation_of_state", "isoneutral_mixing", "turbulent_kinetic_energy")
SHORT = {"equation_of_state": "eos", "isoneutral_mixing": "isoneutral", "turbulent_kinetic_energy": "tke"}

WORKER = """
import copy, importlib, json, sys, time
folder, case, short, size, threads, compiled, out = sys.argv[1:8]
sys.path.insert(0, folder)
import numpy as np
import torch
torch.set_num_threads(int(threads))
package = importlib.import_module("benchmarks." + case)
module = importlib.import_module(f"benchmarks.{case}.{short}_pytorch")
inputs = package.generate_inputs(int(size))
fresh = lambda: module.prepare_inputs(*map(np.copy, inputs), device="cpu")
run = torch.compile(module.run) if int(compiled) else module.run
begin = time.perf_counter()
result = run(*fresh())
first = time.perf_counter() - begin
result = result if isinstance(result, (tuple, list)) else (result,)
np.savez(out, *[each.numpy() for each in result])
arguments, best, end = fresh(), 1e9, time.perf_counter() + 6
while time.perf_counter() < end:
    begin = time.perf_counter()
    run(*arguments)
    best = min(best, time.perf_counter() - begin)
print(json.dumps([best, first]))
"""


def worker(kind, options, case, out):
    compiled = kind.endswith("compiled")
    start = [sys.executable, "-m", "kindling", "run"] if kind.startswith("kindling") else [sys.executable]
    with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
        program.write(WORKER)
        program.flush()
        env = {**os.environ, "PYTORCH_JIT": "0" if kind != "torch script" else "1"}
        words = [options.folder, case, SHORT[case], str(options.size), str(options.threads), str(int(compiled)), out]
        done = subprocess.run([*start, program.name, *words], capture_output=True, text=True, env=env)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1:]
    return json.loads(done.stdout.splitlines()[-1]), None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--case", choices=CASES, action="append")
    options = parser.parse_args()
    import numpy as np

    kinds = ["torch", "torch script", *(["torch compiled"] if options.compile else []), "kindling", "kindling compiled"]
    for case in options.case or CASES:
        with tempfile.TemporaryDirectory() as folder:
            reference = None
            for kind in kinds:
                out = os.path.join(folder, kind.replace(" ", "-") + ".npz")
                times, error = worker(kind, options, case, out)
                if error is not None:
                    print(f"{case:26}{kind:20} {error}", flush=True)
                    continue
                values = [np.load(out)[name] for name in np.load(out).files]
                reference = reference or values
                same = max((np.nanmax(np.abs(a - b)) / max(np.nanmax(np.abs(b)), 1e-300) for a, b in zip(values, reference)), default=0)
                print(f"{case:26}{kind:20}{times[0] * 1e3:10.2f} ms, first {times[1] * 1e3:9.1f} ms, same {same:.0e}", flush=True)


if __name__ == "__main__":
    main()
