"""What the facade costs a call: operators registered from Python against built-in ones, and a profiler that is on.

    python benchmarks/facade.py        # ratios and nanoseconds of processor time, smallest of five rounds
"""
import time

import kindling as torch


def cost(function, calls=40000):
    best = 1e9
    for _ in range(5):
        start = time.process_time()
        for _ in range(calls):
            function()
        best = min(best, (time.process_time() - start) / calls * 1e9)
    return best


def main():
    library = torch.library.Library("facade_bench", "DEF")
    library.define("first(Tensor a, Tensor b) -> Tensor")
    library.impl("first", lambda a, b: a, "CPU")
    x = torch.ones(8)
    mine, built_in = torch.ops.facade_bench.first, torch.ops.aten.add
    ours, theirs = cost(lambda: mine(x, x)), cost(lambda: built_in(x, x))
    print(f"torch.ops, registered from Python: {ours:.0f} ns; built-in add: {theirs:.0f} ns; ratio {ours / theirs:.2f}")


    @torch.library.custom_op("facade_bench::negative", mutates_args=())
    def negative(x: torch.Tensor) -> torch.Tensor:
        return torch.neg(x)

    plain, ours = cost(lambda: torch.neg(x)), cost(lambda: negative(x))
    theirs = cost(lambda: torch.ops.aten.neg(x))
    print(f"custom_op that calls neg: {ours:.0f} ns, without its body's {plain:.0f}: {ours - plain:.0f} ns; torch.ops.aten.neg: {theirs:.0f} ns; "
          f"ratio {(ours - plain) / theirs:.2f}")
    off = cost(lambda: x.add(x))
    with torch.autograd.profiler.profile():
        on = cost(lambda: x.add(x), 8000)
    print(f"x.add(x): {off:.0f} ns; under a profiler: {on:.0f} ns; difference {on - off:.0f} ns")


if __name__ == "__main__":
    main()
