"""Cases that were behind torch once: functions, sums of table rows, solves, products, pooling, convolutions, attention.

    python benchmarks/various.py [--threads N] [--only REGEX] [--processor-time]

Each line is a case: microseconds of ours and of torch (the least of many calls, taken in turns) and torch's time over ours.
"""

import turns

FUNCTIONS = "tan atan asin acos erfc erfinv log2 log10 nansum".split()
# channels, kernel, stride, size of 4 images
CONVOLUTIONS = [(64, 1, 1, 56), (64, 3, 1, 28), (256, 3, 1, 8), (512, 3, 1, 4), (128, 3, 2, 28)]


def numbers(module, *shape):
    module.manual_seed(0)
    return module.rand(*shape) * 0.9 + 0.05


def bags(module):
    module.manual_seed(0)
    return module.randint(0, 10000, (4096,)), module.randn(10000, 64), module.arange(0, 4096, 16)


def triangle(module, n, width):
    module.manual_seed(0)
    return module.randn(n, n) / n + 2 * module.eye(n), module.randn(n, width)


def convolved(module, given, backward):
    x, weight, kernel, stride = given
    if not backward:
        return module.nn.functional.conv2d(x, weight, stride=stride, padding=kernel // 2)
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    y = module.nn.functional.conv2d(x, weight, stride=stride, padding=kernel // 2)
    return y.backward(y.detach())


def images(module, channels, kernel, stride, size):
    module.manual_seed(0)
    return module.randn(4, channels, size, size).bfloat16(), module.randn(channels, channels, kernel, kernel).bfloat16(), kernel, stride


# What is made once, and what is timed; `m` is the module and `F` its functions.
WRITTEN = {f"product/{m}x{k}x{n}": (f"m.randn({m}, {k}), m.randn({k}, {n})", "x[0] @ x[1]") for m, k, n in (
    (1, 768, 768), (1, 2048, 2048), (16, 2048, 2048), (24, 2048, 2048), (64, 64, 512), (64, 64, 3136))}
WRITTEN |= {f"product/{n}": (f"m.randn({n}, {n}), m.randn({n}, {n})", "x[0] @ x[1]") for n in (96, 128, 192, 256, 384, 512, 768, 1024, 2048)}
WRITTEN |= {f"products/64x{n}": (f"m.randn(64, {n}, {n}), m.randn(64, {n}, {n})", "m.bmm(*x)") for n in (1, 2, 4, 8, 16, 24)}
WRITTEN["product/turned_1024"] = "m.randn(1024, 1024), m.randn(1024)", "x[0].t() @ x[1]"
WRITTEN |= {f"fold/{name}": ("m.rand(2048, 2048)", f"x.{name}") for name in ("amax()", "amax(1)", "aminmax()", "cumsum(1)")}
WRITTEN |= {f"pool/{name}": (made, f"F.{name}") for name, made in {
    "max_pool1d(x, 3, 1, 1)": "m.randn(16, 64, 1024)", "adaptive_max_pool1d(x, 8)": "m.randn(16, 64, 1024)",
    "adaptive_max_pool2d(x, 1)": "m.randn(8, 64, 56, 56)", "adaptive_max_pool2d(x, 7)": "m.randn(8, 64, 56, 56)"}.items()}
for count, given, wanted, kernel, stride, size in (
    (32, 128, 128, 3, 1, 28), (32, 256, 256, 3, 1, 14), (32, 512, 512, 3, 1, 7), (1, 64, 64, 3, 1, 32), (1, 128, 128, 3, 1, 16),
    (1, 256, 256, 3, 1, 14), (32, 2048, 512, 1, 1, 7), (32, 256, 512, 1, 2, 28), (1, 256, 512, 1, 2, 28)):
    WRITTEN[f"conv/{count}x{given}-{wanted}/{kernel}/{stride}/{size}"] = (
        f"m.randn({count}, {given}, {size}, {size}), m.randn({wanted}, {given}, {kernel}, {kernel})", f"F.conv2d(*x, stride={stride}, padding={kernel // 2})")
for n in (3, 8, 16):
    for name in ("solve(*x)", "inv(x[0])", "cholesky(x[0] @ x[0].mT + m.eye(x[0].size(-1)))", "qr(x[0])"):
        WRITTEN[f"batch/{n}/{name.partition('(')[0]}"] = f"m.randn(256, {n}, {n}), m.randn(256, {n}, 1)", f"m.linalg.{name}"
for causal in (False, True):
    WRITTEN[f"attention/{'causal' if causal else 'plain'}"] = "m.randn(4, 12, 512, 64)", f"F.scaled_dot_product_attention(x, x, x, is_causal={causal})"


def written(module, made):
    module.manual_seed(0)
    return eval(made, {"m": module})


CASES = [(name, lambda module, made=made: written(module, made), eval(f"lambda m, x: {body}".replace("F.", "m.nn.functional.")))
         for name, (made, body) in WRITTEN.items()]
CASES += [(f"function/{name}", lambda module: numbers(module, 1 << 20), lambda module, x, name=name: getattr(module, name)(x)) for name in FUNCTIONS]
CASES += [("function/atan2", lambda module: numbers(module, 1 << 20), lambda module, x: module.atan2(x, x))]
CASES += [(f"bags/{mode}", bags, lambda module, given, mode=mode: module.nn.functional.embedding_bag(*given, mode=mode)) for mode in ("sum", "mean", "max")]
CASES += [(f"triangle/{n}x{width}", lambda module, n=n, width=width: triangle(module, n, width),
           lambda module, given: module.linalg.solve_triangular(*given, upper=True)) for n in (64, 256, 1024) for width in (8, n)]
CASES += [(f"conv_bf16/{'step' if backward else 'forward'}/{'x'.join(map(str, case))}", lambda module, case=case: images(module, *case),
           lambda module, given, backward=backward: convolved(module, given, backward)) for case in CONVOLUTIONS for backward in (False, True)]

if __name__ == "__main__":
    turns.main(__doc__, CASES)
