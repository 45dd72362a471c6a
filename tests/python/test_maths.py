"""Mathematical functions where formulas lose their digits: beside zero, poles, and far out; against float64 of PyTorch."""
import math
import subprocess
import sys
from pathlib import Path

import pytest

import kindling

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_acosh_is_no_number_below_one(name):
    values = [-1e30, -3e8, -1e4, -2.0, -1.0, 0.0, 0.999, float("-inf"), float("nan")]
    assert all(math.isnan(each) for each in kindling.acosh(kindling.tensor(values, dtype=getattr(kindling, name))).tolist())
    assert kindling.acosh(kindling.tensor([1.0, 2.0, 1e30], dtype=kindling.float64)).tolist() == pytest.approx([math.acosh(each) for each in (1, 2, 1e30)])


@pytest.mark.parametrize("function", ["lgamma", "digamma"])
def test_just_below_zero(function):
    values = [-1e-3, -1e-8, -1e-14, -1.2e-15, -1e-15, -1e-16, -5e-17, -1e-30, -2.5, -0.5, -17.25]
    theirs = getattr(torch, function)(torch.tensor(values, dtype=torch.float64)).tolist()
    assert getattr(kindling, function)(kindling.tensor(values, dtype=kindling.float64)).tolist() == pytest.approx(theirs, rel=1e-13)


@pytest.mark.parametrize("function", ["lgamma", "digamma", "erfinv", "special.ndtri", "special.i0", "special.i0e", "special.i1", "special.i1e"])
def test_special_functions_at_their_ends(function):
    """Where branches meet, at poles, zeros, infinities and beside them, in vectors and alone."""
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 2.5, -3.5, 0.5, 0.25, 0.75, 0.625, 0.8125, 0.1875, 1 - 1e-16, 7.999999, 8.0, -8.5, 10.0, 25.0, 100.5, -100.5, 170.0, -170.25,
              1e-300, 5e-324, 1e-310, -1e-320, 1e-15, -1e-16, 1e17, 2e17, 1e308, -1e308, math.inf, -math.inf, math.nan]

    def of(module):
        found = module
        for part in function.split("."):
            found = getattr(found, part)
        return found

    got = of(kindling)(kindling.tensor(values, dtype=kindling.float64)).numpy()
    want = of(torch)(torch.tensor(values, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(got, want, rtol=3e-13, atol=5e-324)
    numbers = ~np.isnan(want) & (want != 5e-324)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(want)[numbers])
    alone = [of(kindling)(kindling.tensor([each], dtype=kindling.float64)).item() for each in values]
    np.testing.assert_array_equal(got, alone)


def test_zeta_of_whole_numbers_is_the_same_for_one_and_for_several():
    """Some of its powers are products: which, follows from the number, not from how it is given."""
    q = kindling.cat([kindling.rand(200, dtype=kindling.float64) * 30, kindling.tensor([-0.5, -1.5, -2.0, 0.0, math.inf, 1e300, 1e-300], dtype=kindling.float64)])
    for x in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 40.0, 1e308, math.inf, 0.5):
        one, several = kindling.special.zeta(x, q), kindling.special.zeta(kindling.full_like(q, x), q)
        np.testing.assert_array_equal(one.numpy(), several.numpy())
        if x < 1e308:   # PyTorch gives NaN
            np.testing.assert_allclose(one.numpy(), torch.special.zeta(x, torch.tensor(q.tolist(), dtype=torch.float64)).numpy(), rtol=1e-12)
    x = kindling.rand(207, dtype=kindling.float64) * 4 + 1
    assert [kindling.special.zeta(a, b).item() for a, b in zip(x, q)][:200] == kindling.special.zeta(x, q).tolist()[:200]


def test_trigamma_of_negative_numbers_takes_no_steps():
    """The sum that defines it has as many terms below zero as the number is large: 1e15 of them would never end."""
    exact = {-1e15 - 0.5: 9.8696044010893576, -4e6 - 0.25: 19.739208552178764, -20.75: 19.692158656372497, -1.5: 9.3792466449891238,
             -0.3125: 13.156556547513613}  # by mpmath
    got = kindling.polygamma(1, kindling.tensor(list(exact), dtype=kindling.float64)).tolist()
    assert got == pytest.approx(list(exact.values()), rel=1e-14)
    odd = kindling.special.zeta(kindling.tensor([3.0, 3.0, 4.0], dtype=kindling.float64), kindling.tensor([-2.5, -6.25, -3.75], dtype=kindling.float64))
    summed = [sum((each + k) ** -n for k in range(200000)) for n, each in ((3, -2.5), (3, -6.25), (4, -3.75))]
    assert odd.tolist() == pytest.approx(summed, rel=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("count", [3, 40, 100_000])  # by tiles, and by machine code
def test_limits_of_zeros_and_nans(dtype, count):
    """Of equal numbers the tensor's stays, with its sign; a NaN stays, and is what a NaN among the limits makes of all."""
    nan = math.nan
    for call in ("relu()", "clamp(min=0.0)", "clamp(max=-0.0)", "clamp(-0.0, 0.0)", "clamp(nan, 1.0)", "clamp(-1.0, nan)", "clamp(1.0, -1.0)",
                 "clamp(-1.0, 2.0)", "clamp_min(-0.0)", "clamp_max(0.0)"):
        signs = []
        for library in (torch, kindling):
            x = library.tensor([0.0, -0.0, nan, 3.0, -3.0, math.inf, -math.inf], dtype=getattr(library, dtype)).repeat(count)
            y = eval(f"x.{call}", {"x": x, "nan": nan})
            signs.append([str(each) for each in y[-7:].float().tolist()])
            assert y.isnan().sum() == (7 if "nan" in call else 1) * count
        assert signs[1] == signs[0], call


# The largest errors of float32 functions, in units of the last place; docs/accuracy.md has those of all numbers.
BOUNDS = {"sin": 0.62, "cos": 0.62, "log": 0.81, "log2": 0.67, "log10": 0.62, "log1p": 0.8, "exp2": 0.79, "expm1": 0.85, "exp": 1.14, "tanh": 1.33, "erf": 2.31,
          "tan": 0.51, "sinh": 0.51,
          "cosh": 0.51, "asinh": 0.51, "acosh": 0.51, "atanh": 0.51, "erfc": 0.51, "erfinv": 0.51, "lgamma": 0.51, "digamma": 0.51}


@pytest.mark.parametrize("function", BOUNDS)
def test_error_of_float32_functions(function):
    words = np.concatenate([np.arange(seed, 2**32, 4099, dtype=np.int64) for seed in (0, 1777)]).astype(np.uint32).view(np.float32)
    quarters = (np.arange(-60000, 60000) * (math.pi / 2)).astype(np.float32)    # sums that cancel
    sizes = [np.full(len(quarters), way, np.float32) for way in (-np.inf, np.inf)]
    edges = np.array([0.0, -0.0, 1.0, -1.0, 131072.0, 131072.01, np.inf, -np.inf, np.nan, 1e-45, 3.4e38], np.float32)
    x = np.concatenate([words, quarters, *(np.nextafter(quarters, size) for size in sizes), edges])
    got = getattr(kindling, function)(kindling.from_numpy(x)).numpy()
    assert largest_error(got, getattr(torch, function)(torch.from_numpy(x).double()).numpy()) <= BOUNDS[function]


@pytest.mark.parametrize("function", ["sin", "cos", "log", "log2", "log10", "log1p", "tanh", "erf", "exp"])
def test_numbers_do_not_depend_on_their_neighbours(function):
    """A vector with a number in it that is rare (a large angle, a zero under a logarithm) is computed another way."""
    draw = np.random.default_rng(3)
    usual = draw.uniform(0.01, 900, 4096).astype(np.float32)
    rare = np.array([1024.5, 5e4, 1.4e5, 1e9, 3e38, 0.0, -0.0, -3.0, 1e-40, np.inf, -np.inf, np.nan], np.float32)
    mixed = usual.copy()
    places = draw.choice(4096, 700, replace=False)
    mixed[places] = draw.choice(rare, 700)
    call = getattr(kindling, function)
    alone, among = call(kindling.from_numpy(usual)).numpy(), call(kindling.from_numpy(mixed)).numpy()
    kept = np.ones(4096, bool)
    kept[places] = False
    assert np.array_equal(alone[kept].view(np.uint32), among[kept].view(np.uint32))
    for each in rare:  # and a rare number has one value
        whole = call(kindling.from_numpy(np.full(64, each, np.float32))).numpy()
        met = among[places][(mixed[places] == each) & (np.signbit(mixed[places]) == np.signbit(each))]
        assert np.array_equal(met, np.full(len(met), whole[0]), equal_nan=True)


@pytest.mark.parametrize("count", [5, 64, 4096])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponentials_just_above_zero_and_far_below_it(dtype, count):
    """Results without full precision, and those that are 0, beside usual ones: in one operator, in a chain, and as weights of a softmax."""
    wide = dtype == "float64"
    ends = [-745.1, -744.9, -708.5, -750.0, -2100.0, -4200.0] if wide else [-103.98, -103.9, -104.1, -87.4, -138.5, -200.0, -355.0, -416.5]
    values = [*ends, -1e9, -3e38, -math.inf, math.nan, 0.0, -1.0, 2.0, math.inf]
    x = np.resize(np.array(values, dtype), count)
    least = 5e-324 if wide else 1.5e-45
    with np.errstate(all="ignore"):
        wanted = {"exp": np.exp(x.astype(np.longdouble)), "pow": np.power(np.longdouble(0.5), -x)}
    base = kindling.from_numpy(x)
    scaled = base * 1.4
    wanted["exp2"] = np.exp2(scaled.numpy().astype(np.longdouble))
    for name, got in {"exp": kindling.exp(base), "exp2": kindling.exp2(scaled), "pow": kindling.pow(0.5, -base)}.items():
        with np.errstate(all="ignore"):
            want = wanted[name].astype(dtype)
        np.testing.assert_allclose(got.numpy(), want, rtol=4e-16 if wide else 3e-7, atol=least, err_msg=name)
    compiled = kindling.compile(lambda x: kindling.exp(x) * 2 + kindling.sigmoid(x))(base).numpy()
    np.testing.assert_array_equal(compiled, (kindling.exp(base) * 2 + kindling.sigmoid(base)).numpy())
    masked = kindling.linspace(-3, 3, count, dtype=base.dtype).masked_fill(kindling.arange(count) % 3 == 1, -math.inf)
    kept = masked[kindling.arange(count) % 3 != 1]
    weights = kindling.softmax(masked, 0)
    assert (weights[kindling.arange(count) % 3 == 1] == 0).all()
    np.testing.assert_allclose(weights[kindling.arange(count) % 3 != 1].numpy(), kindling.softmax(kept, 0).numpy(), rtol=1e-6)


@pytest.mark.parametrize("function", ["hypot", "logaddexp", "logaddexp2"])
def test_error_of_float32_functions_of_two(function):
    draw = np.random.default_rng(5)
    words = draw.integers(0, 2**32, (2, 300_000), dtype=np.uint32).view(np.float32)
    ordinary = (draw.standard_normal((2, 300_000)) * 8).astype(np.float32)
    below = -np.exp(draw.uniform(-12, 2, 300_000))  # whose logaddexp is next to 0
    exponential, logarithm = (np.exp2, np.log2) if function == "logaddexp2" else (np.exp, np.log)
    cancelling = np.stack([below, logarithm(1 - exponential(below))]).astype(np.float32)
    edges = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, -3.4e38], np.float32)
    pairs = np.stack([each.ravel() for each in np.meshgrid(edges, edges)])
    x, y = np.concatenate([words, ordinary, cancelling, pairs], 1)
    got = getattr(kindling, function)(kindling.from_numpy(x), kindling.from_numpy(y)).numpy()
    with np.errstate(all="ignore"):
        want = getattr(np, function)(x.astype(np.longdouble), y.astype(np.longdouble))
        # What is nearer to 0 has too few bits left in float64.
        exact = ~(np.abs(want) < 1e-7 * np.abs(np.maximum(x, y)))
    assert largest_error(got[exact], want[exact]) <= 0.54


def largest_error(got, want):
    """Of float32 numbers, in units of the last place; what is no number, infinite or 0 must be so on both sides."""
    got = got.astype(np.float64)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    there = np.isfinite(want) & (np.abs(want) < 2.0**128)
    beyond = ~there & ~np.isnan(want)
    assert np.array_equal(got[beyond], np.copysign(np.inf, want[beyond]))
    got, want = np.clip(got[there], -(2.0**128), 2.0**128), want[there]
    assert np.array_equal(np.signbit(got), np.signbit(want))
    unit = np.ldexp(1.0, np.maximum(np.frexp(want)[1], -125) - 24)
    return (np.abs(got - want) / unit).max()


def test_error_of_float32_powers():
    draw = np.random.default_rng(5)
    n = 200_000
    size = draw.uniform(-126, 126, n)
    near = np.exp2(-draw.uniform(0, 22, n)) * draw.choice([-1, 1], n)
    edges = np.array([0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38, 4194303, 4194305,
                      8388607, 8388609, 16777215, 16777216, 2.0**31, -(2.0**31), 2.0**32, 1.0000001, -0.9999999, 127, -126, -150, 1e-20])  # fmt: skip
    bits = draw.integers(0, 2**32, (2, n), dtype=np.uint32).view(np.float32)
    pairs = [
        (np.exp(draw.uniform(-46, 46, n)), draw.uniform(-10, 10, n)),
        (np.exp2(near), draw.uniform(-150, 150, n) / near),  # near 1, and to all sizes of results
        (np.exp2(size), draw.uniform(-150, 150, n) / size),
        (np.exp2(draw.uniform(-20, 20, n)) * draw.choice([-1, 1], n), draw.integers(-20, 21, n)),
        bits,
        np.meshgrid(edges, edges),
    ]
    x, y = (np.concatenate([np.ravel(pair[k]).astype(np.float32) for pair in pairs]) for k in (0, 1))
    got = (kindling.from_numpy(x) ** kindling.from_numpy(y)).numpy()
    with np.errstate(all="ignore"):
        assert largest_error(got, (torch.from_numpy(x).double() ** torch.from_numpy(y).double()).numpy()) <= 0.81
    fused = kindling.compile(lambda a, b: (a * 1.0) ** b * 1.0)  # the native executor has the same bits
    again = np.concatenate([x] * 8), np.concatenate([y] * 8)
    for _ in range(3):
        assert np.array_equal(fused(*map(kindling.from_numpy, again)).numpy()[: len(x)], got, equal_nan=True)


def test_the_table_of_accuracy_comes_from_a_command(tmp_path):
    pytest.importorskip("mpmath")
    pytest.importorskip("scipy")
    command = Path(__file__).parents[2] / "benchmarks" / "accuracy.py"
    done = subprocess.run([sys.executable, str(command), "--quick", "--only", "exp,asin,special.erfcx", "--write", str(tmp_path / "table.md")],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {}
    for line in (tmp_path / "table.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 5 and cells[1].startswith("`"):
            found.setdefault(cells[1].strip("`"), []).append((float(cells[3].strip("> ")), float(cells[5].strip("> "))))
    assert set(found) == {"exp", "asin", "special.erfcx"} and all(len(rows) == 2 for rows in found.values())
    assert all(0.4 < rows[0][0] < 4 for rows in found.values())        # float32
    assert found["special.erfcx"][0][1] > 10                           # PyTorch's
    refused = subprocess.run([sys.executable, str(command), "--only", "nothing"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 1 and "no function nothing" in refused.stderr
