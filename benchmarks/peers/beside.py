"""The cases of bench.py with both modules in one process, in turns, by processor time of the calling thread: for machines
that are busy with other work, where wall time says little. One thread.

  python beside.py [REGEX] [--seconds 0.4] [--peer torch]
"""
import argparse
import importlib
import math
import os
import re
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("only", nargs="?", default="^(dense|views|deck|train)/|^fuse/.*_eager")
    p.add_argument("--seconds", type=float, default=0.4)
    p.add_argument("--peer", default="torch")
    a = p.parse_args()
    modules = [importlib.import_module(name) for name in (a.peer, "kindling")]
    for module in modules:
        module.set_num_threads(1)
    from cases import CASES
    ratios = []
    for name in CASES:
        if not re.search(a.only, name):
            continue
        theirs, ours = [CASES[name](module) for module in modules]
        for call in (theirs, ours):
            call()
            call()
        start = time.thread_time()
        ours()
        loops = max(1, int(0.005 / max(time.thread_time() - start, 1e-7)))
        best, stop = [math.inf, math.inf], time.perf_counter() + a.seconds
        while time.perf_counter() < stop or math.isinf(best[1]):
            for i, call in enumerate((theirs, ours)):
                start = time.thread_time()
                for _ in range(loops):
                    call()
                best[i] = min(best[i], (time.thread_time() - start) / loops)
        ratios.append(best[0] / best[1])
        print(f"{name:38s} {best[1] * 1e6:12.2f} us  peer {best[0] * 1e6:12.2f} us  ratio {ratios[-1]:7.2f}", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} cases  geometric mean {mean:.2f}  worst {min(ratios):.2f}")


if __name__ == "__main__":
    main()
