"""Fourier transforms beside torch's: lengths from 16 to 2^20, awkward ones, one row and many, several dimensions.

    python benchmarks/fourier.py [--threads N] [--only REGEX]

Each line is a case: microseconds of ours and of torch (the least of many calls, taken in turns) and torch's time over ours.
"""

import turns

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


if __name__ == "__main__":
    turns.main(__doc__, cases())
