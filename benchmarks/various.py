"""Cases that were behind torch once: functions, sums of table rows, solves, convolutions of bfloat16.

    python benchmarks/various.py [--threads N] [--only REGEX]

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


CASES = [(f"function/{name}", lambda module: numbers(module, 1 << 20), lambda module, x, name=name: getattr(module, name)(x)) for name in FUNCTIONS]
CASES += [("function/atan2", lambda module: numbers(module, 1 << 20), lambda module, x: module.atan2(x, x))]
CASES += [(f"bags/{mode}", bags, lambda module, given, mode=mode: module.nn.functional.embedding_bag(*given, mode=mode)) for mode in ("sum", "mean", "max")]
CASES += [(f"triangle/{n}x{width}", lambda module, n=n, width=width: triangle(module, n, width),
           lambda module, given: module.linalg.solve_triangular(*given, upper=True)) for n in (64, 256, 1024) for width in (8, n)]
CASES += [(f"conv_bf16/{'step' if backward else 'forward'}/{'x'.join(map(str, case))}", lambda module, case=case: images(module, *case),
           lambda module, given, backward=backward: convolved(module, given, backward)) for case in CONVOLUTIONS for backward in (False, True)]

if __name__ == "__main__":
    turns.main(__doc__, CASES)
