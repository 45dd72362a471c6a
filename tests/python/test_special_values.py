"""Zeros, infinities, NaN and numbers at the ends of a dtype, in every function of them, beside PyTorch. Complex functions follow Annex G of
the C standard, as PyTorch's do (docs/differences.md has where these do not)."""
import cmath
import math

import pytest

import kindling

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
INF, NAN = math.inf, math.nan
LIBRARIES = torch, kindling


def close(a, b, tolerance, tiny, zeros):
    """Of two parts of numbers: the same NaN, infinity or zero, or near enough; `tiny` is as good as 0."""
    if a != a or b != b or abs(a) == INF or abs(b) == INF:
        return a == b or (a != a and b != b)
    if a == b == 0:
        return not zeros or math.copysign(1, a) == math.copysign(1, b)
    return abs(a - b) <= tolerance * abs(a) + tiny


def alike(a, b, tolerance, tiny, zeros=True):
    if isinstance(a, (bool, int)):
        return a == b
    if isinstance(a, list):
        return all(alike(x, y, tolerance, tiny, zeros) for x, y in zip(a, b))
    a, b = complex(a), complex(b)
    size = max(abs(a.real), abs(a.imag)) if cmath.isfinite(a) else 0
    return all(close(x, y, tolerance, tiny + tolerance * size, zeros) for x, y in ((a.real, b.real), (a.imag, b.imag)))


# ---- complex functions

ENDS = {"complex64": (1e-40, 3e38, 1e-30, 1e20), "complex128": (1e-310, 1.7e308, 1e-200, 1e160)}
ROUGH = {"complex64": (2e-5, 1e-37), "complex128": (1e-13, 1e-300)}


def parts(dtype):
    tiny, huge, small, large = ENDS[dtype]
    return [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, tiny, -tiny, huge, -huge, small, large, 0.5, -0.5, 2.0, -2.5, 100.0, -100.0, 800.0, -800.0, 20.0, -20.0]


UNARY = """exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid sqrt rsqrt reciprocal abs
angle sgn square neg conj_physical nan_to_num isfinite isinf isnan isreal""".split()


def by_numpy(name, numbers):
    """Through the C library, as PyTorch's scalar code."""
    with np.errstate(all="ignore"):
        return getattr(np, {"acos": "arccos"}.get(name, name))(np.array(numbers, np.complex128)).tolist()


@pytest.mark.parametrize("dtype", ENDS)
@pytest.mark.parametrize("name", UNARY)
def test_complex_function(name, dtype):
    numbers = [complex(a, b) for a in parts(dtype) for b in parts(dtype)]
    theirs, ours = (getattr(library, name)(library.tensor(numbers, dtype=getattr(library, dtype))) for library in LIBRARIES)
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    numbers = torch.tensor(numbers, dtype=getattr(torch, dtype)).tolist()
    # Computed in complex128, a complex64 has no overflow on the way; vectors and single numbers differ in zeros.
    wide = getattr(torch, name)(torch.tensor(numbers, dtype=torch.complex128)).to(theirs.dtype)
    answers = [theirs.tolist(), wide.tolist(), [getattr(torch, name)(torch.tensor(z, dtype=getattr(torch, dtype))).item() for z in numbers]]
    if name in ("acos", "log1p"):   # PyTorch's vectors take acos from asin and lose the side of the cut; its log1p of (0, inf) is NaN
        answers = answers[:2 * (name == "log1p")] + [torch.tensor(by_numpy(name, numbers), dtype=torch.complex128).to(theirs.dtype).tolist()]
    wrong = [(z, mine, *each) for z, mine, *each in zip(numbers, ours.tolist(), *answers) if not any(alike(one, mine, *ROUGH[dtype]) for one in each)]
    if name == "log1p":             # NumPy's loses -0, and numbers next to 0
        wrong = [each for each in wrong if max(abs(each[0].real), abs(each[0].imag)) > 1e-15]
        assert str(kindling.log1p(kindling.tensor([complex(-0.0, -0.0), 1e-310 + 1e-310j])).tolist()) == "[(-0-0j), 0j]"
    assert not wrong, wrong[:10]


BINARY = {
    "mul": "a * b", "div": "a / b", "pow": "a ** b", "eq": "a == b", "ne": "a != b", "addcdiv": "T.addcdiv(a, b, b)", "lerp": "T.lerp(a, b, b)",
    "weighed": "T.add(a, b, alpha=2)", "logaddexp": "T.logaddexp(a, b)", "rdiv": "1 / a", "square": "a ** 2", "cube": "a ** 3", "root": "a ** 0.5",
    "inverse": "a ** -1", "inverse root": "a ** -0.5", "inverse square": "a ** -2", "0": "a ** 0", "1": "a ** 1", "i": "a ** 1j", "4": "a ** 4",
    "2.5": "a ** 2.5", "2**": "2 ** a", "0**": "0 ** a", "1**": "1 ** a", "-1.5**": "(-1.5) ** a", "i**": "1j ** a", "real": "a / b.real",
    "to real": "a ** b.real", "of real": "b.real ** a", "and": "T.logical_and(a, b)", "float_power": "T.float_power(a, b)",
    "logcumsumexp": "T.logcumsumexp(T.stack([a, b], 1), 1)", "logsumexp": "T.logsumexp(T.stack([a, b], 1), 1)", "cumsum": "T.stack([a, b], 1).cumsum(1)",
    "sum": "T.stack([a, b]).sum(0)",
}  # fmt: skip


@pytest.mark.parametrize("dtype", ENDS)
@pytest.mark.parametrize("name", BINARY)
def test_complex_function_of_two(name, dtype):
    # Beyond the square root of the range, quotients and sums of products depend on their order.
    values = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 2.0**-30, -(2.0**-30), 2.0**30, -(2.0**31)]
    numbers = [complex(a, b) for a in values for b in values]
    answers = []
    for library, kind, step in ((torch, dtype, 1), (torch, dtype, 2), (torch, "complex128", 1), (kindling, dtype, 1)):
        z = library.tensor(numbers, dtype=getattr(library, kind))
        n = len(numbers)
        a, b = z.unsqueeze(1).expand(n, n).reshape(-1), z.unsqueeze(0).expand(n, n).reshape(-1)
        a, b = (library.stack([each] * step, 1)[:, 0] for each in (a, b))      # strided: one number at a time there
        answer = eval(BINARY[name], {"a": a, "b": b, "T": library})
        narrow = library is torch and kind != dtype and answer.is_complex() and name != "float_power"
        answers.append((answer.to(torch.complex64) if narrow else answer).tolist())
    pairs = [(x, y) for x in numbers for y in numbers] if len(answers[0]) > len(numbers) else [(x,) for x in numbers]
    tolerance = 1e-4 if dtype == "complex64" else 1e-12
    zeros = "**" not in BINARY[name] and name not in ("float_power", "addcdiv")    # those of products have signs of their own
    wrong = [(pair, mine, *each) for pair, *each, mine in zip(pairs, *answers) if not any(alike(one, mine, tolerance, 1e-37, zeros) for one in each)]
    assert not wrong, wrong[:10]


def test_sums_of_complex_numbers_are_plain_sums():
    """PyTorch multiplies by alpha first, 1 + 0j, which makes NaN of infinity (docs/differences.md)."""
    x, y = kindling.tensor([0j, 1 + 1j]), kindling.tensor([complex(INF, 1), complex(1, -INF)])
    assert (x + y).tolist() == [complex(INF, 1), complex(2, -INF)] and (y - x).tolist() == [complex(INF, 1), complex(0, -INF)]


@pytest.mark.parametrize("dtype", ENDS)
@pytest.mark.parametrize("shape, dim", [((7, 50), 1), ((7, 50), 0), ((300,), 0), ((3, 4, 5), 1), ((64, 130), 0), ((), 0)])
def test_logarithms_of_sums_of_complex_exponentials(shape, dim, dtype):
    torch.manual_seed(5)
    given = torch.randn(shape, dtype=getattr(torch, dtype)) * 3
    slope = torch.randn(shape, dtype=getattr(torch, dtype))
    for call in ("T.logcumsumexp(x, dim)", "T.logsumexp(x, dim)", "T.logsumexp(x, (dim,), True)", "T.logaddexp(x, x * 2)", "T.special.logsumexp(x, dim)"):
        answers = []
        for library in LIBRARIES:
            x = library.tensor(given.tolist(), dtype=getattr(library, dtype), requires_grad=True)
            y = eval(call, {"T": library, "x": x, "dim": dim})
            weight = library.tensor(slope.tolist(), dtype=x.dtype)
            (y * (weight if y.shape == x.shape else weight.sum())).abs().sum().backward()
            answers.append([y.reshape(-1).tolist(), x.grad.reshape(-1).tolist(), list(y.shape)])
        assert alike(*answers, 1e-3 if dtype == "complex64" else 1e-10, 0), call
