"""How far the mathematical functions are from the truth, in units of the last place, beside PyTorch's.

    python benchmarks/accuracy.py --write docs/accuracy.md      # an hour on one quiet processor
    python benchmarks/accuracy.py --every                       # every float32 number for all functions of one; hours
    python benchmarks/accuracy.py --quick                       # every 4099th; minutes
    python benchmarks/accuracy.py --quick --only exp,sin

Needs torch, scipy and mpmath. A float32 function is compared with the same in float64 (torch's or scipy's), all values in
turn (all, or so many as the table says: functions that are computed in float64 and rounded gain nothing from more); the 64
worst of each are then computed anew by mpmath with 60 digits, and the table has the worst of those. float64
functions are compared with mpmath directly, at random points. An error is the distance to the true value in units of the
last place there: half a unit is correct rounding. Infinity counts as the number after the largest one; where the truth is
no number (or only the result is none), that is counted apart.

Each function's line is kept in a file (--keep), so that a run which was stopped goes on where it was.
"""

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path

import mpmath
import numpy
import scipy.special
import torch

import kindling

mp = mpmath.mp
mp.dps = 60
BLOCK = 1 << 16  # what fits into cache
WORST = 64
EDGE = 2.0**128
ALL = "all"  # of float32; else every so manyth


def real(function):
    """An mpmath function whose complex values are no numbers here."""
    def value(*words):
        try:
            found = function(*words)
        except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.NoConvergence):
            return None
        if isinstance(found, mpmath.mpc):
            return found.real if found.imag == 0 else None
        return None if mpmath.isnan(found) else found
    return value


def scipy64(name):
    function = getattr(scipy.special, name)
    return lambda *x: function(*x)


def airy(x):
    return mpmath.airyai(x)


def sinc(x):
    return mpmath.sincpi(x)


def entropy(x):
    return -x * mpmath.log(x) if x > 0 else mpmath.mpf(0) if x == 0 else mpmath.ninf


def normal(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def normal_inverse(x):
    if not 0 <= x <= 1:
        raise ValueError
    if x in (0, 1):
        return mpmath.inf if x else mpmath.ninf
    # Newton's steps on the logarithm, from scipy's value: as many digits as mpmath has.
    at = mpmath.mpf(float(scipy.special.ndtri(float(x))))
    for _ in range(6):
        density = mpmath.exp(-at * at / 2) / mpmath.sqrt(2 * mpmath.pi)
        at -= (normal(at) - x) / density
    return at


def log_of_ten(x):
    return mpmath.log(x) / mpmath.log(10)


def logit(x):
    return mpmath.log(x / (1 - x))


def bessel(function, order, scale=0):
    return lambda x: function(order, x) * (mpmath.exp(scale * abs(x)) if scale else 1)


def lgamma(x):
    if mpmath.isinf(x) or x <= 0 and x == mpmath.floor(x):
        return mpmath.inf
    return mpmath.loggamma(x).real if x > 0 else mpmath.log(abs(mpmath.pi / mpmath.sinpi(x))) - mpmath.loggamma(1 - x)


def digamma(x):
    if x < 0 and x == mpmath.floor(x):
        raise ValueError
    return mpmath.digamma(x)


def zeta(x, y):
    with mpmath.workdps(200):  # its error is an absolute one
        return mpmath.zeta(x, y)


def trigamma(x):
    if x <= 0 and x == mpmath.floor(x):
        return mpmath.inf
    # mpmath goes up from a negative number step by step.
    return mpmath.psi(1, x) if x > 0 else (mpmath.pi / mpmath.sinpi(x)) ** 2 - mpmath.psi(1, 1 - x)


# Functions of one argument: (name, how torch names it, mpmath's, the float64 one to go by or None for torch's own, the
# stretch from which float64 points come, of float32: ALL or every so manyth).
UNARY = [
    ("exp", "exp", mpmath.exp, None, (-745, 710), ALL),
    ("exp2", "exp2", lambda x: mpmath.power(2, x), None, (-1074, 1024), ALL),
    ("expm1", "expm1", mpmath.expm1, None, (-50, 710), ALL),
    ("log", "log", mpmath.log, None, (0, 1e6), ALL),
    ("log2", "log2", lambda x: mpmath.log(x, 2), None, (0, 1e6), ALL),
    ("log10", "log10", log_of_ten, None, (0, 1e6), ALL),
    ("log1p", "log1p", mpmath.log1p, None, (-1, 1e6), ALL),
    ("sin", "sin", mpmath.sin, None, (-1e6, 1e6), ALL),
    ("cos", "cos", mpmath.cos, None, (-1e6, 1e6), ALL),
    ("tan", "tan", mpmath.tan, None, (-1e6, 1e6), 61),
    ("asin", "asin", mpmath.asin, None, (-1, 1), 61),
    ("acos", "acos", mpmath.acos, None, (-1, 1), 61),
    ("atan", "atan", mpmath.atan, None, (-1e3, 1e3), 61),
    ("sinh", "sinh", mpmath.sinh, None, (-710, 710), 61),
    ("cosh", "cosh", mpmath.cosh, None, (-710, 710), 61),
    ("tanh", "tanh", mpmath.tanh, None, (-20, 20), ALL),
    ("asinh", "asinh", mpmath.asinh, None, (-1e6, 1e6), 61),
    ("acosh", "acosh", mpmath.acosh, None, (1, 1e6), 61),
    ("atanh", "atanh", mpmath.atanh, None, (-1, 1), 61),
    ("sigmoid", "sigmoid", lambda x: 1 / (1 + mpmath.exp(-x)), None, (-745, 40), ALL),
    ("sqrt", "sqrt", mpmath.sqrt, None, (0, 1e6), 61),
    ("rsqrt", "rsqrt", lambda x: 1 / mpmath.sqrt(x), None, (0, 1e6), ALL),
    ("erf", "erf", mpmath.erf, None, (-6, 6), ALL),
    ("erfc", "erfc", mpmath.erfc, None, (-6, 27), 61),
    ("erfinv", "erfinv", mpmath.erfinv, None, (-1, 1), 61),
    ("lgamma", "lgamma", lgamma, None, (-100, 1e3), 61),
    ("digamma", "digamma", digamma, None, (-100, 1e3), 61),
    ("polygamma(1, x)", "polygamma1", trigamma, "trigamma", (-20, 1e3), 997),
    ("special.entr", "special.entr", entropy, None, (0, 1e3), 997),
    ("special.erfcx", "special.erfcx", lambda x: mpmath.exp(x * x) * mpmath.erfc(x), "erfcx", (-26, 1e3), 997),
    ("special.logit", "special.logit", logit, None, (0, 1), 997),
    ("special.ndtr", "special.ndtr", normal, "ndtr", (-38, 9), 997),
    ("special.log_ndtr", "special.log_ndtr", lambda x: mpmath.log(normal(x)), "log_ndtr", (-1e3, 9), 997),
    ("special.ndtri", "special.ndtri", normal_inverse, "ndtri", (0, 1), 997),
    ("special.sinc", "special.sinc", sinc, None, (-1e3, 1e3), 997),
    ("special.i0", "special.i0", bessel(mpmath.besseli, 0), "i0", (-700, 700), 997),
    ("special.i0e", "special.i0e", bessel(mpmath.besseli, 0, -1), "i0e", (-1e3, 1e3), 997),
    ("special.i1", "special.i1", bessel(mpmath.besseli, 1), "i1", (-700, 700), 997),
    ("special.i1e", "special.i1e", bessel(mpmath.besseli, 1, -1), "i1e", (-1e3, 1e3), 997),
    ("special.modified_bessel_k0", "special.modified_bessel_k0", bessel(mpmath.besselk, 0), "k0", (0, 700), 997),
    ("special.modified_bessel_k1", "special.modified_bessel_k1", bessel(mpmath.besselk, 1), "k1", (0, 700), 997),
    ("special.scaled_modified_bessel_k0", "special.scaled_modified_bessel_k0", bessel(mpmath.besselk, 0, 1), "k0e", (0, 1e3), 997),
    ("special.scaled_modified_bessel_k1", "special.scaled_modified_bessel_k1", bessel(mpmath.besselk, 1, 1), "k1e", (0, 1e3), 997),
    ("special.bessel_j0", "special.bessel_j0", bessel(mpmath.besselj, 0), "j0", (-50, 50), 997),
    ("special.bessel_j1", "special.bessel_j1", bessel(mpmath.besselj, 1), "j1", (-50, 50), 997),
    ("special.bessel_y0", "special.bessel_y0", bessel(mpmath.bessely, 0), "y0", (0, 50), 997),
    ("special.bessel_y1", "special.bessel_y1", bessel(mpmath.bessely, 1), "y1", (0, 50), 997),
    ("special.spherical_bessel_j0", "special.spherical_bessel_j0", mpmath.sinc, None, (-50, 50), 997),
    ("special.airy_ai", "special.airy_ai", airy, "airy", (-20, 20), 997),
]
# Functions of two: as above, and where the arguments come from.
BINARY = [
    ("pow", "pow", mpmath.power, None, ("log", 1e-20, 1e20), ("uniform", -10, 10)),
    ("pow(x, whole y)", "pow", mpmath.power, None, ("signed", 1e-9, 1e9), ("whole", -8, 8)),
    ("atan2", "atan2", mpmath.atan2, None, ("signed", 1e-20, 1e20), ("signed", 1e-20, 1e20)),
    ("hypot", "hypot", mpmath.hypot, None, ("signed", 1e-20, 1e20), ("signed", 1e-20, 1e20)),
    ("logaddexp", "logaddexp", lambda x, y: max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y))), None,
     ("uniform", -100, 100), ("uniform", -100, 100)),
    ("xlogy", "xlogy", lambda x, y: x * mpmath.log(y), None, ("signed", 1e-20, 1e20), ("log", 1e-20, 1e20)),
    ("special.xlog1py", "special.xlog1py", lambda x, y: x * mpmath.log1p(y), None, ("signed", 1e-20, 1e20), ("log", 1e-20, 1e20)),
    ("special.zeta", "special.zeta", zeta, "zeta", ("uniform", 1, 50), ("log", 1e-3, 1e3)),
    ("special.gammainc", "special.gammainc", lambda a, x: mpmath.gammainc(a, 0, x, regularized=True), "gammainc",
     ("log", 1e-2, 1e2), ("log", 1e-2, 1e2)),
    ("special.gammaincc", "special.gammaincc", lambda a, x: mpmath.gammainc(a, x, regularized=True), "gammaincc",
     ("log", 1e-2, 1e2), ("log", 1e-2, 1e2)),
]  # fmt: skip
# Beyond these, float64 functions to go by have few right digits left.
LIMITS = {f"special.bessel_{name}": 1e5 for name in ("j0", "j1", "y0", "y1")} | {"special.airy_ai": 1e3}
SLOW = {"special.gammainc", "special.gammaincc", "special.zeta"}  # under mpmath: fewer float64 points


def function_of(module, path):
    if path == "polygamma1":
        return lambda x: module.polygamma(1, x)
    for part in path.split("."):
        module = getattr(module, part)
    return module


def trigamma64(x):
    fraction = numpy.abs(x - numpy.round(x))
    positive = scipy.special.zeta(2.0, numpy.where(x > 0, x, 1 - x))
    return numpy.where(x > 0, positive, (numpy.pi / numpy.sin(numpy.pi * fraction)) ** 2 - positive)


def reference(path, name):
    """The function in float64, over numpy arrays."""
    if name == "trigamma":
        return trigamma64
    if name == "airy":
        return lambda x: scipy.special.airy(x)[0]
    if name:
        return scipy64(name)
    function = function_of(torch, path)
    return lambda *x: function(*(torch.from_numpy(each) for each in x)).numpy()


class Truth:
    """The float64 values of a block, and one over the unit in the last place of float32 at each."""

    def __init__(self, values):
        self.values, self.unknown = values, None
        low, high = values.min(), values.max()
        if low != low:
            self.unknown = numpy.isnan(values)
        if not (-EDGE <= low and high <= EDGE):
            self.values = numpy.clip(values, -EDGE, EDGE)
        unit = (self.values.view(numpy.int64) & 0x7FF0000000000000).view(numpy.float64)
        numpy.maximum(unit, 2.0**-126, out=unit)
        self.scale = numpy.divide(2.0**23, unit, out=unit)

    def distances(self, got):
        """Units in the last place between float32 numbers and these; nan where one of the two is no number."""
        far = got.astype(numpy.float64)
        far -= self.values
        far *= self.scale
        numpy.abs(far, out=far)
        if not far.max() < numpy.inf:  # infinities, or no numbers
            far = numpy.clip(got.astype(numpy.float64), -EDGE, EDGE)
            far -= self.values
            far *= self.scale
            numpy.abs(far, out=far)
        return far


class Side:
    """One implementation's worst values, and how many are no numbers where they should be, or the other way round."""

    def __init__(self, module, path):
        self.module = module
        self.call = function_of(module, path)
        self.rows, self.least, self.odd, self.example = [], 0.0, 0, None

    def take(self, words, truth):
        got = self.call(*(self.module.from_numpy(each) for each in words)).numpy()
        far = truth.distances(got)
        top = far.max()
        if truth.unknown is not None or top != top:
            strange = numpy.isnan(got) != (numpy.isnan(truth.values) if truth.unknown is None else truth.unknown)
            if strange.any():
                self.odd += int(strange.sum())
                self.example = [float(each[strange][0]) for each in words] if self.example is None else self.example
            far[numpy.isnan(far)] = 0.0
            top = far.max()
        if top <= self.least:
            return
        worst = numpy.argpartition(far, -WORST)[-WORST:] if len(far) > WORST else numpy.arange(len(far))
        self.rows += [(float(far[at]), [float(each[at]) for each in words], float(got[at])) for at in worst]
        self.rows = sorted(self.rows, key=lambda row: -row[0])[:WORST]
        self.least = self.rows[-1][0] if len(self.rows) == WORST else 0.0

    def result(self, exact):
        """``[error, arguments, whether more may be hidden, odd values, an example]``, by mpmath."""
        found = [(units(got, exact(*map(mpmath.mpf, words)), 24, -126), words) for _, words, got in self.rows]
        worst, words = max(((error, words) for error, words in found if error is not None), default=(0.0, []),
                           key=lambda each: each[0])  # fmt: skip
        return [worst, words, bool(self.rows) and worst < 0.98 * self.least, self.odd, self.example]


def units(got, truth, digits, least):
    """Units in the last place between a number and mpmath's; None where the truth is no number."""
    if truth is None or got != got:
        return None
    edge = mpmath.mpf(2) ** (1 - (least - 1))
    truth, got = (max(min(mpmath.mpf(each), edge), -edge) for each in (truth, got))
    exponent = least if truth == 0 else max(int(mpmath.floor(mpmath.log(abs(truth), 2))), least)
    return float(abs(got - truth) / mpmath.mpf(2) ** (exponent - digits + 1))


def patterns(step):
    """Blocks of float32 numbers: all that are numbers or infinite, or every so manyth of them."""
    for sign in (0, 0x80000000):
        end = sign + 0x7F800001
        for start in range(sign, end, BLOCK * step):
            yield numpy.arange(start, min(end, start + BLOCK * step), step, dtype=numpy.uint64).astype(numpy.uint32).view(numpy.float32)


def draw(kind, low, high, count, random, dtype):
    if kind == "uniform":
        found = random.uniform(low, high, count)
    elif kind == "whole":
        found = random.integers(low, high + 1, count)
    else:
        found = numpy.exp(random.uniform(numpy.log(low), numpy.log(high), count))
        if kind == "signed":
            found *= random.choice([-1.0, 1.0], count)
    return numpy.ascontiguousarray(found, dtype)


def measure(entry, quick, every=False):
    """The facts of one function as plain data."""
    name, path, exact, other = entry[:4]
    exact, truth_of = real(exact), reference(path, other)
    sides = {"kindling": Side(kindling, path), "torch": Side(torch, path)}
    random = numpy.random.default_rng(0)
    started, inputs = time.time(), 0
    if len(entry) == 6 and isinstance(entry[4][0], str):
        inputs = 1 << (18 if quick else 24 if path == "pow" else 22)
        blocks = ([draw(*place, BLOCK, random, numpy.float32) for place in entry[4:6]] for _ in range(max(1, inputs // BLOCK)))
        what = f"{inputs:,} pairs"
    else:
        step = 1 if entry[5] == ALL or every else entry[5]
        step = max(step, 4099) if quick else step
        limit = LIMITS.get(name, numpy.inf)
        blocks = ([x[numpy.abs(x) <= limit]] for x in patterns(step) if abs(x[0]) <= limit)
        what = "all" if step == 1 else f"every {step}th" if step != 61 else "every 61st"
        what += f", to {limit:g}" if limit < numpy.inf else ""
    with numpy.errstate(all="ignore"):
        for words in blocks:
            truth = Truth(truth_of(*(each.astype(numpy.float64) for each in words)))
            for side in sides.values():
                side.take(words, truth)
    facts = {"inputs": what, "float32": {which: side.result(exact) for which, side in sides.items()}}
    points = (200 if name in SLOW else 1000) if quick else 500 if name in SLOW else 2000 if name.startswith("special.") else 5000
    facts["points"], facts["float64"] = points, doubles(entry, path, exact, points, random)
    facts["seconds"] = round(time.time() - started)
    return facts


def doubles(entry, path, exact, points, random):
    """``{implementation: [error, arguments]}`` at random float64 points."""
    if isinstance(entry[4][0], str):
        words = [draw(*place, points, random, numpy.float64) for place in entry[4:6]]
    else:
        low, high = entry[4]
        near = random.uniform(low, high, points)
        # As many by magnitude, down to tiny ones on either side of the end that is nearest zero.
        small = numpy.exp(random.uniform(numpy.log(1e-30), numpy.log(max(abs(low), abs(high))), points)) * random.choice([-1.0, 1.0], points)
        near[points // 2 :] = numpy.clip(small, low, high)[points // 2 :]
        words = [near]
    truths = [exact(*map(mpmath.mpf, map(float, each))) for each in zip(*words)]
    found = {}
    for module in (kindling, torch):
        got = function_of(module, path)(*(module.from_numpy(each) for each in words)).numpy()
        errors = [(units(float(got[at]), truths[at], 53, -1022), at) for at in range(points)]
        worst, at = max(((error, at) for error, at in errors if error is not None), default=(0.0, 0))
        found[module.__name__] = [worst, [float(each[at]) for each in words]]
    return found


def number(value):
    return f"{value:.2f}" if value < 1000 else f"{value:.1e}"


def place(words, digits):
    return ", ".join(f"{word:.{digits}g}" for word in words)


def table(kept, quick):
    lines = [
        "# Accuracy of the mathematical functions",
        "",
        f"Made by `python benchmarks/accuracy.py{' --quick' if quick else ''} --write docs/accuracy.md`, which says how. Errors in units of the last place",
        "(0.5 is correct rounding): the worst one found, and where. `>` before one: the float64 function that found the places is less",
        "accurate there than what was looked for, so there may be worse. All instruction sets give the same bits.",
        f"PyTorch {torch.__version__} with {torch.backends.cpu.get_cpu_capability()}.",
        "",
        "Where both columns have the same large error (`sigmoid`, `special.logit`, `special.sinc`, `rsqrt`), both follow the same formula",
        "in the tensor's own dtype, so that Kindling gives PyTorch's numbers.",
        "",
        "## float32",
        "",
        "| function | numbers | Kindling | at | PyTorch | at |",
        "|---|---|---:|---|---:|---|",
    ]
    odd = []
    for entry in UNARY + BINARY:
        facts = kept.get(entry[0])
        if not facts:
            continue
        cells = []
        for which in ("kindling", "torch"):
            worst, words, hidden, wrong, example = facts["float32"][which]
            cells += [("> " if hidden else "") + number(worst), f"`{place(words, 9)}`"]
            if wrong:
                odd.append(f"- `{entry[0]}`, {'Kindling' if which == 'kindling' else 'PyTorch'}: {wrong:,} values, `{place(example, 9)}` among them")
        lines.append(f"| `{entry[0]}` | {facts['inputs']} | " + " | ".join(cells) + " |")
    lines += ["", "A number where there is none in truth, or the other way round:" if odd else "No function gives a number where there is none, or the other way round.", ""]
    lines += odd + [""] * bool(odd)
    lines += ["## float64", "", "Random points, half of them spread evenly over the stretch where the function changes, half by magnitude.", "",
              "| function | points | Kindling | at | PyTorch | at |", "|---|---:|---:|---|---:|---|"]  # fmt: skip
    for entry in UNARY + BINARY:
        facts = kept.get(entry[0])
        if facts:
            cells = [cell for which in ("kindling", "torch") for cell in
                     (number(facts["float64"][which][0]), f"`{place(facts['float64'][which][1], 17)}`")]  # fmt: skip
            lines.append(f"| `{entry[0]}` | {facts['points']:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a sample of the numbers")
    parser.add_argument("--every", action="store_true", help="every float32 number, for all functions of one")
    parser.add_argument("--only", help="functions, by commas")
    parser.add_argument("--keep", default=None, help="a file for what is measured so far (JSON)")
    parser.add_argument("--write", help="the document to write; else it goes to stdout")
    given = parser.parse_args()
    entries = UNARY + BINARY
    if given.only:
        chosen = re.split(",(?! )", given.only)
        unknown = set(chosen) - {entry[0] for entry in entries}
        if unknown:
            sys.exit(f"no function {', '.join(sorted(unknown))}; there are {', '.join(entry[0] for entry in entries)}")
        entries = [entry for entry in entries if entry[0] in chosen]
    kept = json.loads(Path(given.keep).read_text()) if given.keep and os.path.exists(given.keep) else {}
    torch.set_num_threads(1)
    kindling.set_num_threads(1)
    for entry in entries:
        if entry[0] not in kept:
            kept[entry[0]] = measure(entry, given.quick, given.every)
            facts = kept[entry[0]]
            print(f"{entry[0]}: {number(facts['float32']['kindling'][0])} (torch {number(facts['float32']['torch'][0])}), "
                  f"{facts['seconds']} s", file=sys.stderr, flush=True)  # fmt: skip
            if given.keep:
                Path(given.keep).write_text(json.dumps(kept))
    text = table(kept, given.quick)
    if given.write:
        Path(given.write).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
