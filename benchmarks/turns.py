"""Cases of a benchmark in both modules, torch and Kindling, in one process and in turns."""

import argparse
import math
import re
import time

import torch
from least import least

import kindling


def main(about, cases):
    """Time `cases`, (name, argument of a module, call) each, and print a line for each and one for all."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--seconds", type=float, default=0.05, help="for each module and turn")
    parser.add_argument("--processor-time", action="store_true", help="of one thread, which other processes do not lengthen")
    given = parser.parse_args()
    clock = time.thread_time if given.processor_time else time.perf_counter
    for module in (torch, kindling):
        module.set_num_threads(given.threads)
    ratios = []
    for name, make, call in cases:
        if not re.search(given.only, name):
            continue
        times = {torch: math.inf, kindling: math.inf}
        arguments = {module: make(module) for module in times}
        for _ in range(2):
            for module, x in arguments.items():
                times[module] = min(times[module], least(lambda: call(module, x), given.seconds, clock))
        ratios.append(times[torch] / times[kindling])
        print(f"{name:24} {times[kindling]:10.1f} us  torch {times[torch]:10.1f} us  ratio {ratios[-1]:6.2f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} cases, geometric mean {mean:.2f}, worst {min(ratios):.2f}, {sum(r < 0.95 for r in ratios)} below 0.95")
