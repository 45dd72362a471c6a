"""Fused expressions by tiles and by native code.

    python benchmarks/native.py

The time of tiles, and how many times as fast native code is: throughout (KINDLING_NATIVE=1), and where it is chosen (the
default). Each column comes from a process of its own. How long compiling takes: `test_native --time`, a C++ test.
"""

import json
import os
import subprocess
import sys
import time

CASES = {
    "gelu": lambda F, x, g: F.gelu(x),
    "gelu tanh": lambda F, x, g: F.gelu(x, approximate="tanh"),
    "silu": lambda F, x, g: F.silu(x),
    "mish": lambda F, x, g: F.mish(x),
    "softplus": lambda F, x, g: F.softplus(x),
    "hardswish": lambda F, x, g: F.hardswish(x),
    "huber": lambda F, x, g: F.huber_loss(x, g, reduction="none"),
    "bce": lambda F, x, g: F.binary_cross_entropy_with_logits(x, g, reduction="none"),
    "addcdiv": lambda F, x, g: x.addcdiv(g, g, value=0.5),
    "lerp": lambda F, x, g: x.lerp(g, 0.3),
    "mean of squares": lambda F, x, g: F.mse_loss(x, g),
}


def best(call, elements):
    """Microseconds of the fastest of 40 short runs, after enough use for a kernel to be chosen."""
    for _ in range(3 + 3_000_000 // elements):
        call()
    turns = max(2, 200_000 // elements)
    times = []
    for _ in range(40):
        begin = time.perf_counter()
        for _ in range(turns):
            call()
        times.append((time.perf_counter() - begin) / turns)
    return min(times) * 1e6


def speed(torch):
    F = torch.nn.functional
    result = {}
    for elements in (1000, 100_000, 1_000_000):
        x = torch.randn(elements)
        g = torch.rand(elements) + 0.5
        for name, case in CASES.items():
            result[f"{name} {elements}"] = best(lambda: case(F, x, g), elements)
        y = F.gelu(x.clone().requires_grad_())
        result[f"gelu backward {elements}"] = best(lambda: y.backward(g, retain_graph=True), elements)
    return result


def run(**settings):
    command = [sys.executable, os.path.abspath(__file__), "--child"]
    environment = {**os.environ, **settings}
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def main():
    if sys.argv[1:] == ["--child"]:
        import kindling as torch

        torch.set_num_threads(1)
        print(json.dumps(speed(torch)))
        return
    tiles, native, mixed = run(KINDLING_NATIVE="0"), run(KINDLING_NATIVE="1"), run(KINDLING_NATIVE="auto")
    print(f"{'case':28} {'tiles, us':>10} {'native':>8} {'chosen':>8}")
    for name in tiles:
        print(f"{name:28} {tiles[name]:10.2f} {tiles[name] / native[name]:8.2f} {tiles[name] / mixed[name]:8.2f}")


if __name__ == "__main__":
    main()
