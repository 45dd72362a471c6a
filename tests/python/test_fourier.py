"""Fourier transforms in the ways that kernels/library/fft/fft.cpp goes: lanes of blocks, rows, tables of factors, chirps, both
for what the caches hold and for more.

NumPy has the answers: torch 2.13's own inverse transforms of some of these shapes write past their memory, and its double
transforms are off by 30 times their rounding where a length has a large prime factor.
"""

import numpy
import pytest

import kindling

pytestmark = pytest.mark.kernels

# Short, rows of every kind of factor, too long for a table of factors (beyond 65,536), prime.
LENGTHS = [2, 17, 96, 128, 255, 256, 1000, 1009, 4096, 10007, 30030, 65537, 98304, 131072, 262144]


def draw(sizes, dtype):
    """Numbers in double precision, and rounded to the dtype for us."""
    numbers = numpy.random.default_rng(0).standard_normal((2, *sizes))
    x = numbers[0] + 1j * numbers[1] if numpy.dtype(dtype).kind == "c" else numbers[0]
    rounded = x.astype(dtype)
    return rounded.astype(x.dtype), kindling.from_numpy(rounded)


def close(ours, expected):
    """Within a few roundings a stage, as a part of the largest result."""
    ours = ours.resolve_conj().numpy()
    assert ours.shape == expected.shape
    bound = 4 * numpy.finfo(ours.dtype).eps * (1 + numpy.log2(expected.size))
    assert abs(ours - expected).max() <= bound * abs(expected).max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n, dtype):
    for rows in (1, 3):
        x, y = draw((rows, n), "complex64" if dtype == "float32" else "complex128")
        even = 2 * n - 2
        close(kindling.fft.fft(y), numpy.fft.fft(x))
        close(kindling.fft.ifft(y, norm="ortho"), numpy.fft.ifft(x, norm="ortho"))
        close(kindling.fft.irfft(y, n=even), numpy.fft.irfft(x, n=even))
        close(kindling.fft.irfft(y, n=even + 1), numpy.fft.irfft(x, n=even + 1))
        close(kindling.fft.hfft(y), numpy.fft.hfft(x))
        x, y = draw((rows, n), dtype)
        close(kindling.fft.rfft(y), numpy.fft.rfft(x))
        close(kindling.fft.ihfft(y), numpy.fft.ihfft(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [7, 36, 59, 64, 97, 121, 179, 257, 360, 500, 512, 769])
def test_rows(n, dtype):
    """From 1 to 40 rows: one by one, a lane for each, and some of either kind. Also where they are read at strides."""
    complex_dtype = "complex64" if dtype == "float32" else "complex128"
    for rows in (*range(1, 20), 23, 31, 32, 33, 40):
        norm = ("backward", "ortho", "forward")[rows % 3]
        x, y = draw((rows, n), complex_dtype)
        close(kindling.fft.fft(y, norm=norm), numpy.fft.fft(x, norm=norm))
        close(kindling.fft.irfft(y, n=2 * n - 1, norm=norm), numpy.fft.irfft(x, n=2 * n - 1, norm=norm))
        close(kindling.fft.irfft(y, norm=norm), numpy.fft.irfft(x, norm=norm))
        close(kindling.fft.ifft(y[:, ::2], norm=norm), numpy.fft.ifft(x[:, ::2], norm=norm))
        close(kindling.fft.hfft(y[::2], norm=norm), numpy.fft.hfft(x[::2], norm=norm))
        x, y = draw((rows, n), dtype)
        close(kindling.fft.rfft(y, norm=norm), numpy.fft.rfft(x, norm=norm))
        close(kindling.fft.ihfft(y[::2, 1:], norm=norm), numpy.fft.ihfft(x[::2, 1:], norm=norm))


@pytest.mark.parametrize("sizes", [(12289, 256), (1540, 2048), (6301, 511), (50001, 63), (64, 30030)])
def test_beyond_the_caches(sizes):
    """Written past the caches, and prefetched: each row is what the same row gives among few."""
    _, y = draw(sizes, "complex64")
    rows, n = sizes
    some = [slice(0, 16), slice(rows // 32 * 16, rows // 32 * 16 + 16), slice(rows - rows % 16, rows)]
    for transform, argument in ((kindling.fft.fft, y), (kindling.fft.rfft, y.real.contiguous()), (kindling.fft.irfft, y)):
        before = kindling.get_num_threads()
        try:
            for count in (1, 2):
                kindling.set_num_threads(count)
                whole = transform(argument)
                for part in some:
                    assert kindling.equal(whole[part], transform(argument[part]))
        finally:
            kindling.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [192, 243, 264, 484, 1000, 1331, 1536, 2048])
def test_tiles(n, dtype):
    """Rows that are transposed by tiles on their way to the first stage and from the last one: the last tile overlaps, tiles do not
    divide the factors, or one radix is too large. Infinities and NaN stay in their rows."""
    complex_dtype = "complex64" if dtype == "float32" else "complex128"
    for rows in (16, 33):
        norm = ("backward", "ortho")[rows % 2]
        x, y = draw((rows, n), complex_dtype)
        close(kindling.fft.fft(y, norm=norm), numpy.fft.fft(x, norm=norm))
        close(kindling.fft.ifft(y[:, 1:], norm=norm), numpy.fft.ifft(x[:, 1:], norm=norm))
        close(kindling.fft.irfft(y, n=2 * n, norm=norm), numpy.fft.irfft(x, n=2 * n, norm=norm))
        x, y = draw((rows, 2 * n), dtype)
        close(kindling.fft.rfft(y, norm=norm), numpy.fft.rfft(x, norm=norm))
    _, y = draw((32, n), complex_dtype)
    before = kindling.fft.fft(y)
    y[3, 5], y[20, n - 1] = float("nan"), float("inf")
    after = kindling.fft.fft(y)
    kept = [row for row in range(32) if row not in (3, 20)]
    assert kindling.equal(before[kept], after[kept])
    assert after[3].isnan().all() and not after[20].isfinite().all()


@pytest.mark.parametrize("inner", [16, 37, 64])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 11, 16, 30, 97, 128, 256, 1000])
def test_columns(n, inner):
    """Strided dimensions, of which whole blocks are read by the first stage and written by the last; also in place."""
    for dtype in ("complex64", "complex128"):
        x, y = draw((2, n, inner), dtype)
        close(kindling.fft.fft(y, dim=1, norm="ortho"), numpy.fft.fft(x, axis=1, norm="ortho"))
        close(kindling.fft.ifft(y, dim=1), numpy.fft.ifft(x, axis=1))
        close(kindling.fft.fftn(y, dim=(1, 2)), numpy.fft.fftn(x, axes=(1, 2)))


@pytest.mark.parametrize("sizes", [(3, 24, 40), (2, 256, 5), (7, 33, 64), (2, 5000, 16), (2, 300, 3), (40, 37, 2), (9, 97, 13)])
def test_dimensions(sizes):
    x, y = draw(sizes, "complex64")
    for dim in range(3):
        close(kindling.fft.fft(y, dim=dim), numpy.fft.fft(x, axis=dim))
        close(kindling.fft.ifft(y.transpose(0, 2), dim=dim), numpy.fft.ifft(x.transpose(2, 1, 0), axis=dim))
        close(kindling.fft.rfft(y.real, dim=dim), numpy.fft.rfft(x.real, axis=dim))
        close(kindling.fft.irfft(y, dim=dim), numpy.fft.irfft(x, axis=dim))
    close(kindling.fft.fftn(y), numpy.fft.fftn(x))
    close(kindling.fft.rfftn(y.real), numpy.fft.rfftn(x.real))
    close(kindling.fft.irfftn(y), numpy.fft.irfftn(x))


def test_argument_stays():
    x, y = draw((4, 300), "complex64")
    kindling.fft.fft(y)
    kindling.fft.fft2(y)
    kindling.fft.irfft(y)
    assert (y.numpy() == x).all()


def test_same_bits_on_one_and_two_threads():
    _, y = draw((5, 1 << 17), "complex64")
    before = kindling.get_num_threads()
    try:
        results = []
        for count in (1, 2):
            kindling.set_num_threads(count)
            results.append(kindling.fft.fft(y))
        assert kindling.equal(*results)
    finally:
        kindling.set_num_threads(before)
