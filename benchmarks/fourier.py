"""Fourier transforms beside torch's: lengths from 16 to 2^20, awkward ones, one row and many, several dimensions.

    python benchmarks/fourier.py [--threads N] [--only REGEX]

Each line is a case: microseconds of ours and of torch (the least of many calls, taken in turns) and torch's time over ours.
"""

import argparse
import math
import re
import time

import torch

import kindling

LENGTHS = (16, 32, 64, 100, 128, 256, 360, 512, 1000, 1009, 1024, 2048, 4096, 10007, 16384, 30030, 59049, 65536, 2**18, 2**20)


def cases():
    """(name, argument of a module, call)"""
    def add(name, sizes, dtype, call):
        found.append((name, lambda t: t.ones(sizes, dtype=getattr(t, dtype)) * 1.5, call))

    found = []
    for n in LENGTHS:
        for rows in (1, 64):
            if n * rows <= 2**22:
                add(f"rfft/{rows}x{n}", (rows, n), "float32", lambda t, x: t.fft.rfft(x))
                add(f"fft/{rows}x{n}", (rows, n), "complex64", lambda t, x: t.fft.fft(x))
        if n <= 65536:
            add(f"fft_double/16x{n}", (16, n), "complex128", lambda t, x: t.fft.fft(x))
            add(f"irfft/16x{n}", (16, n // 2 + 1), "complex64", lambda t, x, n=n: t.fft.irfft(x, n=n))
    for n in (64, 256, 1024):
        add(f"fft2/{n}", (n, n), "complex64", lambda t, x: t.fft.fft2(x))
        add(f"rfft2/{n}", (n, n), "float32", lambda t, x: t.fft.rfft2(x))
        add(f"first_dim/{n}", (n, n), "complex64", lambda t, x: t.fft.fft(x, dim=0))
    add("rfft/2048x2048", (2048, 2048), "float32", lambda t, x: t.fft.rfft(x))
    return found


def least(call, seconds):
    call()
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--seconds", type=float, default=0.05, help="for each module and turn")
    given = parser.parse_args()
    for module in (torch, kindling):
        module.set_num_threads(given.threads)
    ratios = []
    for name, make, call in cases():
        if not re.search(given.only, name):
            continue
        times = {torch: math.inf, kindling: math.inf}
        arguments = {module: make(module) for module in times}
        for _ in range(2):
            for module, x in arguments.items():
                times[module] = min(times[module], least(lambda: call(module, x), given.seconds))
        ratios.append(times[torch] / times[kindling])
        print(f"{name:24} {times[kindling]:10.1f} us  torch {times[torch]:10.1f} us  ratio {ratios[-1]:6.2f}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} cases, geometric mean {mean:.2f}, worst {min(ratios):.2f}, {sum(r < 0.95 for r in ratios)} below 0.95")


if __name__ == "__main__":
    main()
