"""Factorisations and solutions of linear systems beside torch's: 16 to 2048 unknowns, few and many right sides, small ones in batches.

    python benchmarks/factorisations.py [--threads N] [--only REGEX]

Each line is a case: microseconds of ours and of torch (the least of many calls, taken in turns) and torch's time over ours.
"""

import turns

SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048)
BATCHES = ((1000, 3), (1000, 4), (100, 8), (64, 32), (16, 100))   # so many matrices of so many rows


def cases():
    """(name, argument of a module, call)"""
    def add(name, shape, call, width=0, make=lambda t, a: a):
        def drawn(t, dtype):
            t.manual_seed(0)
            a = make(t, t.randn(shape, dtype=dtype))
            return (a, t.randn((*shape[:-1], width), dtype=dtype)) if width else a

        for letter, dtype in (("s", "float32"), ("d", "float64")):
            found.append((name + letter, lambda t, dtype=dtype: drawn(t, getattr(t, dtype)), call))

    def positive(t, a):
        return a @ a.mT + a.shape[-1] * t.eye(a.shape[-1], dtype=a.dtype)

    def triangle(t, a):     # as it comes, its inverse is of the size of 2^n
        return a.tril() / a.shape[-1] + t.eye(a.shape[-1], dtype=a.dtype)

    found = []
    for shape in [(n, n) for n in SIZES] + [(count, n, n) for count, n in BATCHES]:
        n, size = shape[-1], "x".join(map(str, shape[len(shape) == 2:]))
        if len(shape) > 2:
            add(f"product/{size}", shape, lambda t, x: t.bmm(*x), n)
        add(f"lu/{size}", shape, lambda t, a: t.linalg.lu_factor(a))
        for width in (1, 16, n) if n > 16 else (1, n):
            add(f"solve/{size}/{width}", shape, lambda t, x: t.linalg.solve(*x), width)
        add(f"inv/{size}", shape, lambda t, a: t.linalg.inv(a))
        add(f"det/{size}", shape, lambda t, a: t.linalg.det(a))
        add(f"cholesky/{size}", shape, lambda t, a: t.linalg.cholesky(a), make=positive)
        add(f"qr/{size}", shape, lambda t, a: t.linalg.qr(a))
        add(f"triangular/{size}", shape, lambda t, x: t.linalg.solve_triangular(*x, upper=False), n, triangle)
    for shape in ((1024, 64), (4096, 16), (64, 1024)):
        add("qr/{}x{}".format(*shape), shape, lambda t, a: t.linalg.qr(a))
        add("lu/{}x{}".format(*shape), shape, lambda t, a: t.linalg.lu_factor(a))
    return found


if __name__ == "__main__":
    turns.main(__doc__, cases())
