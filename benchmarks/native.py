"""Fused expressions by tiles and by native code: the time of tiles, and over it that of native code throughout
(KINDLING_NATIVE=1) and where it is chosen (the default). How long compiling takes is `test_native --time` of the C++ tests.

    python benchmarks/native.py

Each column comes from a process of its own.
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


def speed(torch):
    F = torch.nn.functional
    result = {}
    for elements in (1000, 100_000, 4_000_000):
        x = torch.randn(elements)
        g = torch.rand(elements) + 0.5
        for name, case in CASES.items():
            for _ in range(3):
                case(F, x, g)
            turns = max(5, min(3000, 20_000_000 // elements // 8))
            times = []
            for _ in range(5):
                begin = time.perf_counter()
                for _ in range(turns):
                    case(F, x, g)
                times.append((time.perf_counter() - begin) / turns)
            result[f"{name} {elements}"] = min(times) * 1e6
        leaf = x.clone().requires_grad_()
        y = F.gelu(leaf)
        for _ in range(3):
            y.backward(g, retain_graph=True)
        turns = max(5, min(1000, 20_000_000 // elements // 8))
        begin = time.perf_counter()
        for _ in range(turns):
            y.backward(g, retain_graph=True)
        result[f"gelu backward {elements}"] = (time.perf_counter() - begin) / turns * 1e6
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
