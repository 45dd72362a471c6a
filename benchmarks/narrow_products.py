"""Products of square matrices of bfloat16 and int8 beside torch's.

    python benchmarks/narrow_products.py [--threads N] [--only REGEX]

Each line is a case: microseconds of ours and of torch (the least of many calls, taken in turns) and torch's time over ours.
"""

import turns

SIZES = (64, 128, 256, 512, 1024, 2048)


def bytes_of(module, size):
    module.manual_seed(0)
    return module.randint(-128, 127, (size, size), dtype=module.int8)


def halves_of(module, size):
    module.manual_seed(0)
    return module.randn(size, size).bfloat16()


CASES = [(f"int8/{n}", lambda module, n=n: bytes_of(module, n), lambda module, x: module._int_mm(x, x)) for n in SIZES]
CASES += [(f"bfloat16/{n}", lambda module, n=n: halves_of(module, n), lambda module, x: x @ x) for n in SIZES]

if __name__ == "__main__":
    turns.main(__doc__, CASES)
