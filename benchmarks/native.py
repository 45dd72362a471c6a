"""Native kernels beside tiles: time from a kernel's first sight to its first result, and the speed of fused expressions.

    python benchmarks/native.py [--growth] [--speed]

Each figure comes from a process of its own (the executor is chosen by KINDLING_NATIVE when kindling is loaded).
"""

import json
import os
import subprocess
import sys
import tempfile
import time

SIZES = (20, 50, 100, 200, 500, 1000)


def median(values):
    return sorted(values)[len(values) // 2]


def child(what):
    import kindling as torch

    torch.set_num_threads(1)
    if what == "growth":
        print(json.dumps(growth(torch)))
    else:
        print(json.dumps(speed(torch)))


def growth(torch):
    """Microseconds that kernels took to compile, by how many steps they have, from the trace."""
    x = torch.linspace(-2, 2, 1000)
    parameters = [x.clone() for _ in range(8)]
    for approximate in ("none", "tanh"):
        torch.nn.functional.gelu(x, approximate=approximate)
    optimiser = torch.optim.AdamW([p.requires_grad_() for p in parameters], foreach=True)
    for p in parameters:
        p.grad = torch.ones_like(p)
    optimiser.step()
    return {}


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


def run(what, **settings):
    environment = {**os.environ, **settings}
    command = [sys.executable, os.path.abspath(__file__), "--child", what]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def main():
    wanted = [a for a in sys.argv[1:] if a in ("--growth", "--speed")] or ["--growth", "--speed"]
    if "--growth" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            run("growth", KINDLING_NATIVE="1", KINDLING_TRACE_KERNELS=trace)
            with open(trace) as file:
                kernels = file.read().split("\n\n")
        print("lanes  bytes of code  microseconds")
        for kernel in kernels:
            if "compiled in" not in kernel:
                continue
            lanes = kernel.split("\nlanes\n")[1].split("assembly\n")[0].count("=")
            last = kernel.rstrip().rsplit("\n", 1)[1].split()
            print(f"{lanes:5}  {last[1]:>13}  {last[-2]:>12}")
    if "--speed" in wanted:
        tiles, native = run("speed", KINDLING_NATIVE="0"), run("speed", KINDLING_NATIVE="1")
        print(f"{'case':28} {'tiles, us':>10} {'native, us':>10} {'ratio':>6}")
        for name in tiles:
            print(f"{name:28} {tiles[name]:10.2f} {native[name]:10.2f} {tiles[name] / native[name]:6.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
    else:
        main()
