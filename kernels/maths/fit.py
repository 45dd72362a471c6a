"""Writes coefficients.h: polynomials fitted in high precision (needs mpmath; run by hand).

By Chebyshev interpolation, or, where a weight says how much an error matters at x, by Remez's exchange."""
import mpmath as mp

mp.mp.dps = 60
out = ["// kernels/maths/coefficients.h: written by fit.py. Lowest power first.", "#pragma once", "", "namespace kindling::coefficients {", ""]


def exchange(f, weight, low, high, degree):
    """The polynomial whose largest weighted error is least: errors at degree + 2 points, of alternating sign, are made
    equal, then the points move to where the errors are largest."""
    count = degree + 2
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / 800) for i in range(801)]
    points = [grid[800 * i // (count - 1)] for i in range(count)]
    wanted, weights = [f(x) for x in grid], [weight(x) for x in grid]
    best, powers = None, None
    for _ in range(25):
        rows = mp.matrix(count, count)
        for i, x in enumerate(points):
            for j in range(degree + 1):
                rows[i, j] = x**j
            rows[i, degree + 1] = (-1) ** i / weight(x)
        solved = list(mp.lu_solve(rows, mp.matrix([f(x) for x in points])))[:-1]
        errors = [(mp.polyval(solved[::-1], x) - y) * w for x, y, w in zip(grid, wanted, weights)]
        worst = max(map(abs, errors))
        if best is None or worst < best:
            best, powers = worst, solved
        extremes = []
        for i, error in enumerate(errors):
            if not extremes or (error > 0) != (errors[extremes[-1]] > 0):
                extremes.append(i)
            elif abs(error) > abs(errors[extremes[-1]]):
                extremes[-1] = i
        while len(extremes) > count:
            extremes.pop(0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1)
        moved = [grid[i] for i in extremes]
        if len(moved) < count or moved == points:
            break
        points = moved
    print(f"weighted error {mp.nstr(best, 3)} of:", end=" ")
    return powers


def fit(name, note, f, low, high, degree, ctype="double", weight=None):
    low, high = mp.mpf(low), mp.mpf(high)
    n = degree + 1
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    values = [f(x) for x in nodes]
    # Newton's divided differences, then expanded to powers.
    table = list(values)
    for level in range(1, n):
        for i in range(n - 1, level - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - level])
    powers = [mp.mpf(0)] * n
    for i in range(n - 1, -1, -1):
        shifted = [mp.mpf(0)] + powers[:-1]
        powers = [s - nodes[i] * p for s, p in zip(shifted, powers)]
        powers[0] += table[i]
    if weight:
        powers = exchange(f, weight, low, high, degree)
    worst = mp.mpf(0)
    for i in range(200):
        x = low + (high - low) * i / 199
        want = f(x)
        got = mp.polyval(powers[::-1], x)
        if want:
            worst = max(worst, abs((got - want) / want))
    print(f"{name}: degree {degree}, relative error {mp.nstr(worst, 3)}, largest coefficient {mp.nstr(max(map(abs, powers)), 3)}")
    suffix = "f" if ctype == "float" else ""
    digits = 10 if ctype == "float" else 18
    text = ", ".join(mp.nstr(c, digits, min_fixed=1, max_fixed=1) + suffix for c in powers)
    out.append(f"// {note}")
    out.append(f"inline constexpr {ctype} {name}[] = {{{text}}};")


def single(x):
    scale = mp.mpf(2) ** (23 - mp.floor(mp.log(abs(x), 2))) if x else 1
    return mp.nint(x * scale) / scale


def constant(name, note, x):
    """x as a float, which is what other coefficients then make up for."""
    value = single(x)
    out.append(f"// {note}")
    out.append(f"inline constexpr float {name} = {float(value).hex()}f;")
    return value


def table(name, note, rows):
    """Floats to look up among: one table, or one in each row."""
    def texts(numbers):
        return ", ".join(float(single(each)).hex() + "f" for each in numbers)

    several = isinstance(rows[0], list)
    out.append(f"// {note}")
    text = "{" + "}, {".join(map(texts, rows)) + "}" if several else texts(rows)
    out.append(f"inline constexpr float {name}[]{f'[{len(rows[0])}]' if several else ''} = {{{text}}};")


def centre(f, inverse, near, within):
    """A float x not far from `near` where f(x) is all but a float itself."""
    first, best = single(f(near)), None
    for i in range(-1500, 1500):
        value = first + i * mp.mpf(2) ** (mp.floor(mp.log(first, 2)) - 23)
        if not 0 < value < 1:
            continue
        x = single(inverse(value))
        if abs(x - near) < within and (best is None or abs(f(x) - value) < best[0]):
            best = abs(f(x) - value), x
    return best[1]


def at_zero(f, limit):
    return lambda x: f(x) if abs(x) > mp.mpf(10) ** -20 else mp.mpf(limit)


fit("exp", "(e^r - 1 - r) / r^2 for |r| <= ln(2)/2", at_zero(lambda r: (mp.expm1(r) - r) / r**2, 0.5), -0.3467, 0.3467, 11)
fit("log", "(log((1+s)/(1-s)) - 2s) / s^3 over z = s^2", at_zero(lambda z: (2 * mp.atanh(mp.sqrt(z)) - 2 * mp.sqrt(z)) / z ** mp.mpf(1.5), mp.mpf(2) / 3), 0, 0.02945, 7)
fit("log_tail", "the same without its first term: (log(...) - 2s - 2/3 s^3) / s^5", at_zero(lambda z: (2 * mp.atanh(mp.sqrt(z)) - 2 * mp.sqrt(z) - mp.mpf(2) / 3 * z ** mp.mpf(1.5)) / z ** mp.mpf(2.5), mp.mpf(2) / 5), 0, 0.02945, 7)
fit("sin", "(sin(r) - r) / r^3 over z = r^2, |r| <= pi/4", at_zero(lambda z: (mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / z ** mp.mpf(1.5), -mp.mpf(1) / 6), 0, 0.6169, 6)
fit("cos", "(cos(r) - 1 + r^2/2) / r^4 over z = r^2", at_zero(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(1) / 24), 0, 0.6169, 6)
fit("atan", "(atan(x) - x) / x^3 over z = x^2, |x| <= tan(pi/8)", at_zero(lambda z: (mp.atan(mp.sqrt(z)) - mp.sqrt(z)) / z ** mp.mpf(1.5), -mp.mpf(1) / 3), 0, 0.1716, 11)
fit("asin", "(asin(x) - x) / x^3 over z = x^2, |x| <= 1/2", at_zero(lambda z: (mp.asin(mp.sqrt(z)) - mp.sqrt(z)) / z ** mp.mpf(1.5), mp.mpf(1) / 6), 0, 0.25, 13)
fit("erf", "erf(x) / x over z = x^2, |x| <= 1", at_zero(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), 2 / mp.sqrt(mp.pi)), 0, 1, 13)


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x) if x < 1000 else (1 - 1 / (2 * x**2) + 3 / (4 * x**4)) / (x * mp.sqrt(mp.pi))


def erfcx_scaled(t):
    if t == 1:
        return 2 / mp.sqrt(mp.pi)
    x = mp.mpf(4) * (1 + t) / (1 - t)
    return (1 + 2 * x) * erfcx(x)


fit("erfcx", "(1 + 2x) erfcx(x) over t = (x - 4) / (x + 4), x >= 0", erfcx_scaled, -1, 1, 25)
fit("lgamma", "lgamma(x) / ((x - 1)(x - 2)) over y = x - 1.5, 1 <= x <= 2",
    lambda y: (mp.euler if y == -0.5 else (1 - mp.euler) if y == 0.5 else mp.loggamma(y + 1.5) / ((y + 0.5) * (y - 0.5))), -0.5, 0.5, 21)

def bessel(kind, order, t):
    """J or Y of x = sqrt(32 (t + 1)), over x for order 1; of Y what its logarithm and its pole leave."""
    x = mp.sqrt(32 * max(t + 1, mp.mpf(10) ** -20))
    value = mp.besselj(order, x)
    if kind == "y":
        value = mp.bessely(order, x) - 2 / mp.pi * (mp.log(x) * value - (1 / x if order else 0))
    return value / x if order else value


def wave(part, order, t):
    """The amplitudes P and Q x / 8 at x = 8 / sqrt((t + 1) / 2): J sqrt(pi x / 2) = P cos(c) - Q sin(c), c = x - (order / 2 + 1/4) pi."""
    x = 8 / mp.sqrt(max(t + 1, mp.mpf(10) ** -20) / 2)
    c, j, y = x - (2 * order + 1) * mp.pi / 4, mp.besselj(order, x), mp.bessely(order, x)
    return mp.sqrt(mp.pi * x / 2) * (j * mp.cos(c) + y * mp.sin(c) if part == "p" else (y * mp.cos(c) - j * mp.sin(c)) * x / 8)


for order in (0, 1):
    over = f"{' / x' if order else ''} over t = x^2 / 32 - 1, x <= 8"
    fit(f"bessel_j{order}", f"J{order}(x){over}", lambda t: bessel("j", order, t), -1, 1, 15)
    fit(f"bessel_y{order}", f"(Y{order}(x) - 2/pi (log(x) J{order}(x){' - 1/x' if order else ''})){over}", lambda t: bessel("y", order, t), -1, 1, 15)
    fit(f"bessel_p{order}", "the amplitude of the cosine over t = 2 (8/x)^2 - 1, x >= 8", lambda t: wave("p", order, t), -1, 1, 11)
    fit(f"bessel_q{order}", "that of the sine, times x / 8", lambda t: wave("q", order, t), -1, 1, 11)
fit("i0_small", "e^-x I0(x) over t = x/4 - 1, x <= 8", lambda t: mp.exp(-4 * (t + 1)) * mp.besseli(0, 4 * (t + 1)), -1, 1, 27)
fit("i0_large", "sqrt(x) e^-x I0(x) over t = 16/x - 1, x >= 8",
    lambda t: 1 / mp.sqrt(2 * mp.pi) if t <= -1 else mp.sqrt(16 / (t + 1)) * mp.exp(-16 / (t + 1)) * mp.besseli(0, 16 / (t + 1)), -1, 1, 23)
fit("i1_small", "e^-x I1(x) / x over t = x/4 - 1, x <= 8", lambda t: mp.exp(-4 * (t + 1)) * (mp.besseli(1, 4 * (t + 1)) / (4 * (t + 1)) if t > -1 else mp.mpf(0.5)), -1, 1, 27)
fit("i1_large", "sqrt(x) e^-x I1(x) over t = 16/x - 1, x >= 8",
    lambda t: 1 / mp.sqrt(2 * mp.pi) if t <= -1 else mp.sqrt(16 / (t + 1)) * mp.exp(-16 / (t + 1)) * mp.besseli(1, 16 / (t + 1)), -1, 1, 23)


def erfc_inverse(q):
    """By Halley's steps on the logarithm."""
    w = -mp.log(q)
    u = mp.sqrt(w) if w > 2 else 1 - q
    for _ in range(60):
        rest, slope = mp.log(mp.erfc(u)) + w, 2 / mp.sqrt(mp.pi) * mp.exp(-u * u) / mp.erfc(u)
        step = rest / (slope + rest * (slope - 2 * u) / 2)
        u += step
        if abs(step) < mp.mpf(10) ** -50:
            return u


fit("erfinv", "erfinv(x) / x over z = x^2, |x| <= 5/8", at_zero(lambda z: mp.erfinv(mp.sqrt(z)) / mp.sqrt(z), mp.sqrt(mp.pi) / 2), 0, mp.mpf(25) / 64, 18)
fit("erfc_inverse_near", "where erfc is q, about, over s - 2.4, s = sqrt(-log(q)) <= 4", lambda t: erfc_inverse(mp.exp(-(t + mp.mpf("2.4")) ** 2)), -1.57, 1.6, 12)
fit("erfc_inverse_far", "the same over s - 15.7, to the least double", lambda t: erfc_inverse(mp.exp(-(t + mp.mpf("15.7")) ** 2)), -11.7, 11.7, 14)

# float32
fit("expf", "(e^r - 1 - r) / r^2 for |r| <= ln(2)/2", at_zero(lambda r: (mp.expm1(r) - r) / r**2, 0.5), -0.3467, 0.3467, 4, "float")
fit("logf", "(log(1 + f) - f + f^2/2) / f^3 for sqrt(1/2) <= 1 + f < sqrt(2)",
    lambda f: (mp.log1p(f) - f + f * f / 2) / f**3 if abs(f) > 1e-8 else mp.mpf(1) / 3, -0.293, 0.4143, 7, "float",
    weight=lambda f: abs(f**3 / mp.log1p(f)) if abs(f) > 1e-8 else mp.mpf(10) ** -12)
for name, base in (("log2f", mp.log(2)), ("log10f", mp.log(10))):
    third = constant(name + "_third", "1/3 to base " + ("2" if name == "log2f" else "10"), 1 / (3 * base))
    fit(name, "the rest of that series, over f",
        lambda f: ((mp.log1p(f) - f + f * f / 2) / f**3 / base - third) / f if abs(f) > 1e-3 else -1 / (4 * base), -0.293, 0.4143, 8, "float",
        weight=lambda f: abs(f**4 / mp.log1p(f)) if abs(f) > 1e-3 else mp.mpf(10) ** -12)
exp2f_slope = constant("exp2f_slope", "ln(2) as a float", mp.log(2))
fit("exp2f_bend", "(2^f - 1 - exp2f_slope f) / f^2 for |f| <= 1/2 and a little",
    lambda f: (2**f - 1 - f * exp2f_slope) / f**2 if abs(f) > 1e-4 else mp.log(2) ** 2 / 2, -0.52, 0.52, 4, "float",
    weight=lambda f: f * f / 2**f + mp.mpf(10) ** -9)
# pow: stretches of 2^19 floats from powf_start on, which 1 lies within.
start = 0x3F800000 - (8 << 19) - (2 << 19) // 3


def number(word):
    return mp.mpf(2) ** ((word >> 23) - 127) * (1 + mp.mpf(word & 0x7FFFFF) / 2**23)


ends = [number(start + (i << 19)) for i in range(17)]
inverses = [single(2 / (ends[i] + ends[i + 1])) if i != 8 else mp.mpf(1) for i in range(16)]
largest = max(abs(end * inverses[i] - 1) for i in range(16) for end in ends[i:i + 2])
logs = [-mp.log(inverse, 2) for inverse in inverses]
heads = [mp.nint(each * 2**14) / 2**14 for each in logs]
out.append("// where the first of 16 stretches of pow's x begins")
out.append(f"inline constexpr unsigned powf_start = {start:#x};")
table("powf_inverse", "a number near 1 / x for each, 1 for that of 1", inverses)
table("powf_log", "log2 of its inverse: a part that is exact together with a whole number", heads)
table("powf_log_low", "and the rest", [each - head for each, head in zip(logs, heads)])
fit("powf_tail", "(log(1 + r) - r + r^2/2) / r^3 in a stretch", lambda r: (mp.log1p(r) - r + r * r / 2) / r**3 if abs(r) > 1e-8 else mp.mpf(1) / 3,
    -largest, largest, 3, "float", weight=lambda r: r * r + mp.mpf(10) ** -9)
fit("expm1f", "(e^r - 1 - r - r^2/2) / r^3 for |r| <= ln(2)/2", at_zero(lambda r: (mp.expm1(r) - r - r * r / 2) / r**3, mp.mpf(1) / 6),
    -0.3467, 0.3467, 3, "float", weight=lambda r: r * r + mp.mpf(10) ** -6)
fit("sin_for_float", "(sin(r) - r) / r^3 over z = r^2, |r| <= pi/4", at_zero(lambda z: (mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / z ** mp.mpf(1.5), -mp.mpf(1) / 6), 0, 0.6169, 3)
fit("cos_for_float", "(cos(r) - 1 + r^2/2) / r^4 over z = r^2", at_zero(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(1) / 24), 0, 0.6169, 3)
fit("log_for_float", "(log((1+s)/(1-s)) - 2s) / s^3 over z = s^2", at_zero(lambda z: (2 * mp.atanh(mp.sqrt(z)) - 2 * mp.sqrt(z)) / z ** mp.mpf(1.5), mp.mpf(2) / 3), 0, 0.042, 4)
fit("log1p_for_float", "the same up to s = 1/3", at_zero(lambda z: (2 * mp.atanh(mp.sqrt(z)) - 2 * mp.sqrt(z)) / z ** mp.mpf(1.5), mp.mpf(2) / 3), 0, 0.1112, 6)
fit("exp_for_float", "(e^r - 1) / r for |r| <= ln(2)/2", at_zero(lambda r: mp.expm1(r) / r, 1), -0.3467, 0.3467, 7)
fit("atan_for_float", "atan(x) / x over z = x^2, |x| <= 1", at_zero(lambda z: mp.atan(mp.sqrt(z)) / mp.sqrt(z), 1), 0, 1, 11)
fit("asin_for_float", "(asin(x) - x) / x^3 over z = x^2, |x| <= 1/2", at_zero(lambda z: (mp.asin(mp.sqrt(z)) - mp.sqrt(z)) / z ** mp.mpf(1.5), mp.mpf(1) / 6), 0, 0.25, 6)
fit("erf_for_float", "erf(x) / x over z = x^2, |x| <= 1/2", at_zero(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z), 2 / mp.sqrt(mp.pi)), 0, 0.25, 5)
fit("erfcx_for_float", "(4 + x) erfcx(x) over t = (x - 4) / (x + 4), 1/2 <= x <= 11", lambda t: 8 / (1 - t) * erfcx(4 * (1 + t) / (1 - t)),
    -3.5 / 4.5, 7 / mp.mpf(15), 11)


def erfinv_part(w):
    """erfinv(x) / x where w = -log(1 - x^2)."""
    if w < mp.mpf(10) ** -15:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    return erfc_inverse(mp.exp(-w) / (1 + x)) / x


fit("erfinv_near", "erfinv(x) / x over w - 2.5, w = -log(1 - x^2) <= 5", lambda t: erfinv_part(t + 2.5), -2.5, 2.5, 12)
fit("erfinv_far", "erfinv(x) / x over sqrt(w) - 3.125", lambda t: erfinv_part((t + 3.125) ** 2), -0.889, 0.895, 12)
sinf_third = constant("sinf_third", "-1/6 as a float", -mp.mpf(1) / 6)
fit("sinf_more", "(sin(r) - r - sinf_third r^3) / r^5 over z = r^2, |r| <= pi/4 and a little",
    lambda z: ((mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / z ** mp.mpf(1.5) - sinf_third) / z, 0.001, 0.625, 2, "float",
    weight=lambda z: z ** mp.mpf(2.5) / mp.sin(mp.sqrt(z)))
fit("cosf_last", "(cos(r) - 1 + r^2/2) / r^4 over z = r^2", at_zero(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(1) / 24), 0, 0.625, 2, "float",
    weight=lambda z: z**2 / mp.cos(mp.sqrt(z)) + mp.mpf(10) ** -6)

# Angles that are not large: a whole number of eighths of a half turn, and r.
eighth = mp.pi / 8
sines = [mp.sin(k * eighth) if k else mp.mpf(0) for k in range(8)]
cosines = [mp.cos(k * eighth) if k != 4 else mp.mpf(0) for k in range(8)]
table("sinf_eighth", "sin(k pi/8), a whole turn", sines + [-each for each in sines])
table("cosf_eighth", "cos(k pi/8), a whole turn", cosines + [-each for each in cosines])
for name, numbers in (("sinf_eighth_rest", sines), ("cosf_eighth_rest", cosines)):
    table(name, "what is missing there, as a share of it", [each / single(each) - 1 if each else each for each in numbers])
reach = (eighth / 2 * mp.mpf(1.001)) ** 2
fit("sinf_short", "(sin(r) - r) / r^3 over z = r^2, |r| <= pi/16", lambda z: (mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / z ** mp.mpf(1.5),
    0.00001, reach, 1, "float", weight=lambda z: z)
fit("cosf_short", "(cos(r) - 1) / r^2 over z = r^2, |r| <= pi/16", lambda z: (mp.cos(mp.sqrt(z)) - 1) / z, 0.00001, reach, 2, "float", weight=lambda z: z)
first = single(eighth)
second = mp.nint((eighth - first) * mp.mpf(2) ** 38) / mp.mpf(2) ** 38
table("eighth_pif", "pi/8: products of the second part with 12 bits are exact", [first, second, eighth - first - second])

# tanh: seven stretches of one length behind the first half one; where it changes most, their ends are nearer to what they go by.
stretch = mp.mpf("9.012") / 7.5
places = [mp.mpf(0)] + [centre(mp.tanh, mp.atanh, mp.mpf("1.06") if j == 1 else mp.mpf("8.3178") if j == 7 else j * stretch - mp.mpf("0.05"), 0.08)
                        for j in range(1, 8)]
out.append("// stretches of tanh in a unit")
out.append(f"inline constexpr float tanhf_stretches = {float(single(1 / stretch)).hex()}f;")
table("tanhf_centre", "where each is developed", places)
table("tanhf_there", "tanh there", [mp.tanh(each) if each else each for each in places])
table("tanhf_slope", "its slope", [1 - mp.tanh(each) ** 2 for each in places])
farthest = stretch * 1.5 - places[1]


def tanh_weight(z):
    r = mp.sqrt(z)
    return z ** mp.mpf(1.5) / mp.tanh(r) * (1 if r <= stretch / 2 else 1 - (r - stretch / 2) / (farthest - stretch / 2) * mp.mpf("0.85"))


fit("tanhf", "(tanh(r) - r) / r^3 over z = r^2", lambda z: (mp.tanh(mp.sqrt(z)) - mp.sqrt(z)) / z ** mp.mpf(1.5), 0.0001, farthest**2, 4, "float",
    weight=tanh_weight)

# erf: the same, each stretch with a polynomial of its own.
end = mp.mpf("3.9195")
stretch = end / mp.mpf("7.4999")
places, rows = [mp.mpf(0)], []
for j in range(8):
    low, high = max((j - mp.mpf(0.5)) * stretch * mp.mpf("0.9999"), mp.mpf("0.001")), min((j + mp.mpf(0.5)) * stretch * mp.mpf("1.0001"), end)
    if j:
        places.append(centre(mp.erf, mp.erfinv, j * stretch if j < 7 else mp.mpf("3.62"), 0.02 if j < 6 else 0.12))
    x, powers = places[j], [single(mp.erf(places[j]))]
    for m in range(1, 7):  # each coefficient makes up for the rounding of those before
        powers.append(single(exchange(lambda t: (mp.erf(x + t) - mp.polyval(powers[::-1], t)) / t**m, lambda t: abs(t**m / mp.erf(x + t)),
                                      low - x, high - x, 6 - m)[0]))
    rows.append(powers)
out.append("// where erf is 1, and its stretches in a unit")
out.append(f"inline constexpr float erff_end = {float(single(end)).hex()}f, erff_stretches = {float(single(1 / stretch)).hex()}f;")
table("erff_centre", "where each is developed", places)
table("erff", "the powers there", [[row[m] for row in rows] for m in range(7)])

# 2/pi in 64-bit words, most significant first, after a word of zeros
words = ["0x0"]
fraction = 2 / mp.pi
mp.mp.prec = 1500
fraction = 2 / mp.pi
for _ in range(20):
    fraction *= mp.mpf(2) ** 64
    word = int(mp.floor(fraction))
    fraction -= word
    words.append(hex(word))
out.append("// 2 / pi after the point, 64 bits a word, behind a word of zeros")
out.append("inline constexpr unsigned long long two_over_pi[] = {" + ", ".join(words) + "};")


def split(name, note, value, bits, count, ctype="double"):
    rest = value
    parts = []
    for i in range(count):
        if i + 1 == count and ctype == "float":
            bits = 24
        if i + 1 == count and ctype == "double":
            parts.append(mp.mpf(float(rest)))
        else:
            exponent = mp.floor(mp.log(abs(rest), 2))
            scale = mp.mpf(2) ** (bits - 1 - exponent)
            parts.append((mp.nint if ctype == "float" else mp.floor)(rest * scale) / scale)
        rest -= parts[-1]
    out.append(f"// {note}")
    suffix = "f" if ctype == "float" else ""
    out.append(f"inline constexpr {ctype} {name}[] = {{" + ", ".join(float(p).hex() + suffix for p in parts) + "};")


split("half_pi", "pi/2: products of the first parts with 20 bits are exact", mp.pi / 2, 33, 4)
split("half_pif", "pi/2 in three floats", mp.pi / 2, 24, 3, "float")
split("half_pi_pair", "pi/2 in two doubles", mp.pi / 2, 53, 2)
split("ln2", "products of the first part with 20 bits are exact", mp.log(2), 33, 2)
split("ln2f", "products of the first part with 8 bits are exact", mp.log(2), 16, 2, "float")
split("inverse_ln2f", "1 / ln(2)", 1 / mp.log(2), 24, 2, "float")
split("inverse_ln10f", "1 / ln(10)", 1 / mp.log(10), 24, 2, "float")
split("log10_2f", "products of the first part with 8 bits are exact", mp.log10(2), 16, 2, "float")
split("inverse_ln10", "1 / ln(10), its first part short", 1 / mp.log(10), 27, 2)
split("log10_2", "products of the first part with 12 bits are exact", mp.log10(2), 40, 2)
split("two_thirds", "2/3", mp.mpf(2) / 3, 53, 2)
out += ["", "}  // namespace kindling::coefficients", ""]

wrapped = []
for line in out:
    while len(line) > 120:
        cut = line.rfind(", ", 0, 118) + 1
        wrapped.append(line[:cut])
        line = "    " + line[cut + 1:]
    wrapped.append(line)
with open(__file__.rsplit("/", 1)[0] + "/coefficients.h" if "/" in __file__ else "coefficients.h", "w") as file:
    file.write("\n".join(wrapped))
