"""Our own wide set: operators over sizes, dtypes, strides, offsets, shapes, lengths of rows, casts, and others that were far behind once, side by
side with torch; lists what is slower.

  python wide.py [--only REGEX] [--largest 26] [--seconds 0.12] [--slower 0.95] [--json OUT] [--check]
  python wide.py --only '^size/' --plot ../docs/ratios.svg          # torch's time over ours against the number of elements

Both modules run in one process, in turns, on one thread; a case's figure is the least processor time of a call. A case whose
ratio (torch's time over ours) is below --slower is listed again at the end; with --check there must be none. The largest
tensors have 2 ** LARGEST elements.
"""
import argparse
import json
import math
import os
import re
import sys
import time

UNARY = {"neg": "-a", "relu": "a.relu()", "exp": "a.exp()", "sigmoid": "a.sigmoid()"}
BY_SIZE = {"add": "a + b", "mul number": "a * 2.0", **{k: UNARY[k] for k in ("relu", "exp", "sigmoid")}, "where": "m.where(c, a, b)", "copy": "a.clone()",
           "sum": "a.sum()", "softmax": "r.softmax(-1)", "index rows": "r[i]"}
DTYPES = ("float64", "float16", "bfloat16", "int64", "int32", "uint8")
BY_DTYPE = {"add": "a + b", "mul": "a * b", "compare": "a < b", "sum": "a.sum()", "to float": "a.float()", "copy": "a.clone()", "max": "a.max()"}
LAYOUTS = {  # x is 3n x 3n, v has 3n, n is even
    "every second": "x[:n, :2 * n:2] + x[n:2 * n, 1:2 * n:2]", "every third": "x[:n, ::3] + x[n:2 * n, ::3]", "unaligned": "f[1:n * n + 1] + f[n * n + 2:2 * n * n + 2]",
    "cut rows": "x[:n, 1:n + 1] * x[n:2 * n, 2:n + 2]", "row": "x[:n] + v", "column": "x[:n] + v[:n, None]", "outer": "v[:n, None] * v[None, :n]",
    "transposed add": "x[:n, :n].t() + x[n:2 * n, :n]", "transposed copy": "x[:n, :n].t().contiguous()", "strided exp": "x[:n, :2 * n:2].exp()",
    "strided copy": "x[:, ::2].contiguous()", "into every second": "x[:n, :2 * n:2].copy_(x[n:2 * n, :n])", "reversed": "x[:n].flip(1)", "rolled": "x[:n].roll(3, 1)",
    "joined": "m.cat([x[:n, :n], x[:n, n:2 * n]], 1)", "gather": "x[:n].gather(1, g)", "scatter_add": "x[:n].scatter_add(1, g, x[n:2 * n])",
    "index_add": "x.index_add(0, g[0], x[:n])",
}
SHAPES = {"tall": "(size // 16, 16)", "flat": "(16, size // 16)", "square": "(1 << level // 2, size >> level // 2)"}
REDUCTIONS = {"sum 0": "a.sum(0)", "sum 1": "a.sum(1)", "max 1": "a.max(1)", "argmax 0": "a.argmax(0)", "mean 0": "a.mean(0)", "var 1": "a.var(1)", "softmax 0": "a.softmax(0)",
              "softmax 1": "a.softmax(1)", "cumsum 0": "a.cumsum(0)", "cumsum 1": "a.cumsum(1)"}
ROWS = {"softmax": "a.softmax(1)", "log_softmax": "a.log_softmax(1)", "logsumexp": "a.logsumexp(1)", "layer_norm": "m.nn.functional.layer_norm(a, (n,), w, w)",
        "cumsum": "a.cumsum(1)", "cumsum of bool": "(a > 0).cumsum(1)", "cumsum of int32": "a.int().cumsum(1)", "cumsum of float16": "a.half().cumsum(1)"}
IMAGES, TRAINED = "x = m.randn(8, 16, 64, 64)", "x = m.randn(32, 64, 28, 28).requires_grad_(); w = m.rand(64).requires_grad_(); b = m.rand(64).requires_grad_()"
NORMED = "m.nn.functional.batch_norm(x, None, None, w, b, True)"
OTHERS = {  # what was far behind once: set-up and expression
    **{f"pdist of {n} x {k}, p = {p}": (f"x = m.randn({n}, {k})", f"m.nn.functional.pdist(x, {p})") for n, k, p in ((300, 8, 2), (200, 64, 2), (200, 64, 3), (50, 16, 1))},
    **{f"kron of {n} x {n}, {k} x {k}": (f"x = m.randn({n}, {n}); y = m.randn({k}, {k})", "m.kron(x, y)") for n, k in ((32, 32), (100, 4), (4, 100))},
    **{f"{f} of 100,000": ("", f"m.{f}({given})") for f, given in (("linspace", "0, 1, 100000"), ("arange", "0.0, 100000.0"), ("logspace", "0, 1, 100000"))},
    **{f: ("x = m.rand(1 << 17) * 0.9 + 0.05", f"x.{f}()") for f in ("erfinv", "erfc", "tan", "asin", "lgamma", "digamma")},
    "logaddexp": ("x = m.randn(1 << 17); y = m.randn(1 << 17)", "x.logaddexp(y)"),
    **{f"sort of {n:,} {dtype}": (f"x = m.randint(-10 ** 9, 10 ** 9, ({n},)).to(m.{dtype})", "x.sort()") for dtype in ("int32", "int64", "float32") for n in (1000, 100000, 1000000)},
    "sort of 1,000 x 100 int32": ("x = m.randint(0, 1000, (1000, 100)).int()", "x.sort()"), "sort of 1,000 x 100 float32": ("x = m.randn(1000, 100)", "x.sort()"),
    "argsort of 100,000 of 1,000": ("x = m.randint(0, 1000, (100000,))", "x.argsort()"), "unique of 100,000 of 1,000": ("x = m.randint(0, 1000, (100000,))", "x.unique()"),
    **{f"complex {name} of {n:,}": (f"x = m.randn({n}, dtype=m.complex64); y = m.randn({n}, dtype=m.complex64)", text)
       for name, text in (("product", "x * y"), ("quotient", "x / y"), ("absolute", "x.abs()"), ("times number", "x * 2j")) for n in (1000, 1 << 16)},
    **{f"{mode} padding by {by}": (IMAGES, f"m.nn.functional.pad(x, ({by},) * 4, '{mode}')") for mode in ("reflect", "replicate", "circular", "constant") for by in (1, 3)},
    "reflect padding's step": (IMAGES + ".requires_grad_()", "m.nn.functional.pad(x, (3,) * 4, 'reflect').sum().backward()"),
    "reflect padding of 8 x 16 x 1,024": ("x = m.randn(8, 16, 1024)", "m.nn.functional.pad(x, (3, 3), 'reflect')"),
    **{f"{f} of {shape}": (f"x = m.randn({shape})", f"x.{f}(-1)") for f in ("logcumsumexp", "cummax", "cummin", "cumprod") for shape in ("100000", "1000, 100")},
    **{f"{f} of transposed {n}": (f"x = m.randn({n}, {n}).t()", f"x.{f}()") for f in ("sum", "mean", "norm", "amax", "var") for n in (64, 256, 1024)},
    "sum of permuted images": (IMAGES + ".permute(0, 2, 3, 1)", "x.sum()"), "sum of channels last": (IMAGES, "x.to(memory_format=m.channels_last).sum()"),
    "batch_norm": (TRAINED, NORMED), "batch_norm's gradients": (f"{TRAINED}; y = {NORMED}; g = m.randn_like(y)", "m.autograd.grad(y, (x, w, b), g, retain_graph=True)"),
    "batch_norm's gradients, small": (f"{TRAINED.replace('32, 64, 28, 28', '8, 64, 14, 14')}; y = {NORMED}; g = m.randn_like(y)", "m.autograd.grad(y, (x, w, b), g, retain_graph=True)"),
    "batch_norm's gradients, 1,024 x 64": (f"{TRAINED.replace('32, 64, 28, 28', '1024, 64')}; y = {NORMED}; g = m.randn_like(y)", "m.autograd.grad(y, (x, w, b), g, retain_graph=True)"),
    **{f"convolution, {name}": (f"x = m.randn({x}); w = m.randn({w}); b = m.randn({w.split(',')[0]})", f"m.nn.functional.conv2d(x, w, b, {stride}, {padding})")
       for name, x, w, stride, padding in (("1 x 1 with bias", "4, 64, 56, 56", "64, 64, 1, 1", 1, 0), ("1 x 1 with bias, small", "32, 16, 8, 8", "32, 16, 1, 1", 1, 0),
                                           ("3 to 32 channels", "1, 3, 224, 224", "32, 3, 3, 3", 1, 1), ("3 x 3 of 32 x 32", "8, 64, 32, 32", "64, 64, 3, 3", 1, 1))},
    "batch_norm, evaluated, 7 x 7": ("x = m.randn(16, 256, 7, 7); w = m.rand(256)", "m.nn.functional.batch_norm(x, w, w, w, w)"),
    "batch_norm, evaluated": ("x = m.randn(32, 64, 28, 28); w = m.rand(64)", "m.nn.functional.batch_norm(x, w, w, w, w)"),
    "histc of 64": ("x = m.randn(64)", "x.histc(10)"), "histc of 100,000": ("x = m.randn(100000)", "x.histc(100, -3, 3)"),
    "bincount of 100,000": ("x = m.randint(0, 1000, (100000,))", "x.bincount()"),
    **{f"{f} of masked rows": (f"x = m.randn(512, 512).masked_fill(m.ones(512, 512).triu(1) > 0, {low})", f"x.{f}(-1)")
       for f, low in (("softmax", "-float('inf')"), ("log_softmax", "-float('inf')"), ("softmax", -1e9), ("logsumexp", "-float('inf')"))},
    "exponentials of -200": ("x = m.full((1 << 17,), -200.0)", "x.exp()"), "exponentials of squares": ("x = m.linspace(-20, 20, 1 << 17)", "(-x * x).exp()"),
    "max_pool1d, 3 by 1": ("x = m.randn(16, 64, 1024)", "m.nn.functional.max_pool1d(x, 3, 1, 1)"), "max_pool1d, 5 by 2": ("x = m.randn(16, 64, 1024)", "m.nn.functional.max_pool1d(x, 5, 2)"),
    "max_pool1d's forward, followed": ("x = m.randn(16, 64, 1024).requires_grad_()", "m.nn.functional.max_pool1d(x, 2)"),
    **{f"max_pool2d, {k} by {s}": ("x = m.randn(8, 64, 56, 56)", f"m.nn.functional.max_pool2d(x, {k}, {s})") for k, s in ((2, 2), (3, 2), (3, 1))},
    "avg_pool2d, 2 by 2": ("x = m.randn(8, 64, 56, 56)", "m.nn.functional.avg_pool2d(x, 2)"), "embedding_bag": ("i = m.randint(0, 10000, (4096,)); x = m.randn(10000, 64); o = m.arange(0, 4096, 16)", "m.nn.functional.embedding_bag(i, x, o, mode='sum')"),
}
CASTS = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8", "bool")
TENSORS = "a = m.randn(size); b = m.randn(size); c = a > 0; r = a.view(-1, min(size, 1024)); i = m.randint(0, r.shape[0], (max(r.shape[0] // 2, 1),))"


def cases(largest):
    """(name, set-up, expression, number of elements)"""
    levels = [level for level in (0, 4, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26) if level <= largest]
    for name, text in BY_SIZE.items():
        for level in levels:
            yield f"size/{name}/{1 << level}", f"size = {1 << level}; {TENSORS}", text, 1 << level
    for dtype in DTYPES:
        for name, text in BY_DTYPE.items():
            for level in [x for x in (4, 12, 18, 22) if x <= largest]:
                draw = f"size = {1 << level}; a = m.randint(0, 100, (size,)).to(m.{dtype}); b = m.randint(0, 100, (size,)).to(m.{dtype})"
                yield f"dtype/{dtype}/{name}/{1 << level}", draw, text, 1 << level
    for name, text in LAYOUTS.items():
        for n in [x for x in (8, 64, 256, 1024) if 9 * x * x <= 1 << largest]:
            yield f"layout/{name}/{n}", f"n = {n}; x = m.randn(3 * n, 3 * n); v = m.randn(3 * n); f = m.randn(4 * n * n); g = m.randint(0, n, (n, n))", text, n * n
    for shape, size in SHAPES.items():
        for name, text in REDUCTIONS.items():
            for level in [x for x in (8, 14, 18, 22) if x <= largest]:
                yield f"fold/{shape}/{name}/{1 << level}", f"level = {level}; size = 1 << level; a = m.randn({size})", text, 1 << level
    for n in (10, 50, 100, 127, 300, 1000, 100000):
        for name, text in ROWS.items():
            yield f"rows/{name}/{n}", f"n = {n}; a = m.randn(max((1 << 17) // n, 1), n); w = m.randn(n)", text, 1 << 17
    for source in CASTS:
        for target in CASTS:
            if source != target:
                yield f"cast/{source}/{target}", f"a = m.randint(0, 100, (1 << 15,)).to(m.{source})", f"a.to(m.{target})", 1 << 15


    for name, (setup, text) in OTHERS.items():
        yield f"other/{name}", setup, text, 0


def measure(modules, setup, text, seconds):
    calls = []
    for m in modules:
        scope = {"m": m}
        m.manual_seed(0)
        exec(setup, scope)
        calls.append(eval(f"lambda: {text}", scope))
    for call in calls:
        call()
    start = time.perf_counter()
    calls[0]()
    loops = max(1, min(5000, int(seconds / 20 / max(time.perf_counter() - start, 1e-7))))
    times = [math.inf] * len(calls)
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop or math.isinf(times[-1]):
        for i, call in enumerate(calls):
            start = time.thread_time()
            for _ in range(loops):
                call()
            times[i] = min(times[i], (time.thread_time() - start) / loops)
    return times


COLOURS = ("#1b6ca8", "#c8553d", "#2a9d5c", "#8e5ea2", "#d89a1d", "#444444", "#3bb3c3", "#b0407a", "#7a8b2f", "#6f6f9f")


def plot(lines, path):
    """Lines of (elements, ratio), both axes logarithmic, as SVG."""
    width, height, left, right, top, bottom = 860, 420, 60, 150, 30, 50
    elements = [x for points in lines.values() for x, _ in points]
    ratios = [y for points in lines.values() for _, y in points]
    low, high = min(min(ratios), 0.7), max(max(ratios), 2) * 1.1
    across = max(math.log2(max(elements)), 1)

    def x_of(n):
        return left + (width - left - right) * math.log2(n) / across

    def y_of(ratio):
        return height - bottom - (height - top - bottom) * math.log(ratio / low) / math.log(high / low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{left}" y="18" font-size="14">torch\'s time over ours, float32, one thread (above 1: Kindling is faster)</text>']
    for tick in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64):
        if low <= tick <= high:
            y = y_of(tick)
            out.append(f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{"#000" if tick == 1 else "#ddd"}"/>')
            out.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for level in range(0, int(across) + 1, 4):
        x = x_of(1 << level)
        label = str(1 << level) if level < 10 else f"{1 << level - 10}k" if level < 20 else f"{1 << level - 20}M"
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{height - bottom}" y2="{height - bottom + 5}" stroke="#000"/>')
        out.append(f'<text x="{x:.1f}" y="{height - bottom + 20}" text-anchor="middle">{label}</text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 8}" text-anchor="middle">elements</text>')
    for row, (name, points) in enumerate(lines.items()):
        colour = COLOURS[row % len(COLOURS)]
        path_text = " ".join(f"{x_of(n):.1f},{y_of(ratio):.1f}" for n, ratio in points)
        out.append(f'<polyline points="{path_text}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = top + 20 + 22 * row
        out.append(f'<line x1="{width - right + 20}" x2="{width - right + 44}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="3"/>')
        out.append(f'<text x="{width - right + 50}" y="{y}">{name}</text>')
    with open(path, "w") as file:
        file.write("\n".join(out + ["</svg>", ""]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default=".")
    p.add_argument("--largest", type=int, default=26)
    p.add_argument("--seconds", type=float, default=0.12)
    p.add_argument("--slower", type=float, default=0.95)
    p.add_argument("--json")
    p.add_argument("--plot")
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import torch

    import kindling
    modules = (kindling, torch)
    for m in modules:
        m.set_num_threads(1)
    rows, lines = {}, {}
    for name, setup, text, elements in cases(a.largest):
        if not re.search(a.only, name):
            continue
        ours, theirs = measure(modules, setup, text, a.seconds)
        rows[name] = {"ours": ours, "torch": theirs, "ratio": theirs / ours}
        if name.startswith("size/"):
            lines.setdefault(name.split("/")[1], []).append((elements, theirs / ours))
        print(f"{name:44s} {ours * 1e6:12.2f} us  ratio {theirs / ours:7.2f}", flush=True)
    groups = {}
    for name, row in rows.items():
        groups.setdefault(name.split("/")[0], []).append(row["ratio"])
    for group, ratios in groups.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"group {group:8s} cases {len(ratios):4d}  geometric mean {mean:6.2f}  worst {min(ratios):6.2f}")
    slower = sorted((row["ratio"], name) for name, row in rows.items() if row["ratio"] < a.slower)
    print(f"{len(slower)} of {len(rows)} below {a.slower}")
    for ratio, name in slower:
        print(f"  {ratio:5.2f}  {name}")
    if a.json:
        with open(a.json, "w") as file:
            json.dump(rows, file, indent=1)
    if a.plot:
        plot(lines, a.plot)
    return 1 if a.check and slower else 0


if __name__ == "__main__":
    sys.exit(main())
