// kernels/library/special.cpp: Bessel and incomplete gamma functions, orthogonal polynomials, in double precision.
// Compiled for size.
#include "kernels/library/special.h"

#include <cstdint>

#include "kernels/maths/maths.h"

namespace kindling::library::special {
namespace {

namespace maths = isa_once::maths;
using V = isa_once::Vec<double, 2>;

#define KINDLING_SCALAR(NAME)                                                                                                              \
    double NAME(double x) { return maths::NAME(V{x, x})[0]; }
// clang-format off
KINDLING_SCALAR(exp) KINDLING_SCALAR(log) KINDLING_SCALAR(sin) KINDLING_SCALAR(cos) KINDLING_SCALAR(acos) KINDLING_SCALAR(erfc)
KINDLING_SCALAR(expm1)
// clang-format on
#undef KINDLING_SCALAR

    constexpr double infinity = __builtin_inf(),
                     not_a_number = __builtin_nan("");
constexpr double pi = 3.14159265358979323846, euler = 0.57721566490153286061, root_half = 0.70710678118654752440,
                 log_2 = 0.69314718055994530942;

double size(double x) { return __builtin_fabs(x); }
double root(double x) { return __builtin_sqrt(x); }

// ---- Bessel functions of orders 0 and 1

/// The sum of c[k] t^k, of even and odd k apart: two chains that run side by side.
template <int N> double polynomial(const double (&c)[N], double t) {
    static_assert(N % 2 == 0);
    double even = c[N - 2], odd = c[N - 1];
    for (int k = N - 4; k >= 0; k -= 2) even = even * (t * t) + c[k], odd = odd * (t * t) + c[k + 1];
    return even + odd * t;
}

/// Of 0 < x < infinity: up to 8 by polynomials, beyond by a wave whose amplitudes are polynomials of 64 / x^2.
double bessel(int order, bool second, double x) {
    namespace of = coefficients;
    if (x <= 8) {
        const double t = x * x / 32 - 1, scale = order ? x : 1;
        const double first = scale * (order ? polynomial(of::bessel_j1, t) : polynomial(of::bessel_j0, t));
        if (!second) return first;
        const double rest = scale * (order ? polynomial(of::bessel_y1, t) : polynomial(of::bessel_y0, t));
        return 2 / pi * (log(x) * first - (order ? 1 / x : 0)) + rest;
    }
    const double u = 8 / x, t = 2 * u * u - 1;
    const double p = order ? polynomial(of::bessel_p1, t) : polynomial(of::bessel_p0, t);
    const double q = u * (order ? polynomial(of::bessel_q1, t) : polynomial(of::bessel_q0, t));
    const double s = sin(x), c = cos(x), height = root(1 / pi / x);
    const double a = order ? s - c : c + s, b = order ? -(s + c) : s - c; // sqrt(2) times the phase's cosine and sine
    return height * (second ? p * b + q * a : p * a - q * b);
}

// ---- modified Bessel functions of the second kind

/// exp(x) K(x) for x > 2: the integral of exp(-x (cosh t - 1)) cosh(order t), for which the trapezoid rule is nearly
/// exact.
double scaled_k(double order, double x) {
    if (x > 30) {
        double sum = 1, term = 1;
        for (int k = 1; k < 60; k++) {
            double next = term * (4 * order * order - (2 * k - 1) * (2 * k - 1)) / (k * 8 * x);
            if (size(next) > size(term) || size(next) < 1e-18) break;
            sum += term = next;
        }
        return root(pi / 2 / x) * sum;
    }
    constexpr double step = 0.09375;
    double sum = 0.5;
    for (int k = 1; k < 80; k++) {
        double t = step * k, half = exp(0.5 * t), sinh_half = 0.5 * (half - 1 / half), fall = 2 * x * sinh_half * sinh_half;
        if (fall > 45) break;
        double turn = order == 0 ? 1 : exp(order * t);
        sum += exp(-fall) * 0.5 * (turn + 1 / turn);
    }
    return sum * step;
}
struct K {
    double k0, k1;
};
/// For 0 < x <= 2: the power series.
K k_near_zero(double x) {
    double z = 0.25 * x * x, logarithm = log(x) - log_2, term0 = 1, term1 = 1, harmonic = 0;
    double i0 = 0, i1 = 0, sum0 = 0, sum1 = 0;
    for (int k = 0; k < 30; k++) {
        i0 += term0;
        i1 += term1;
        sum0 += term0 * (harmonic - euler);
        sum1 += term1 * (2 * harmonic + 1.0 / (k + 1) - 2 * euler);
        harmonic += 1.0 / (k + 1);
        term0 *= z / ((k + 1.0) * (k + 1.0));
        term1 *= z / ((k + 1.0) * (k + 2.0));
        if (term0 < 1e-20) break;
    }
    return {sum0 - logarithm * i0, 1 / x + logarithm * 0.5 * x * i1 - 0.25 * x * sum1};
}

// ---- polynomials

int64_t whole(double n) { return n == n && n > -9e18 && n < 9e18 ? static_cast<int64_t>(n) : -1; }
/// p(k+1) = factor(k) p(k) - ..., from p(0) and p(1).
template <class Step> double recurrence(double first, double second, int64_t n, Step step) {
    double p = first, q = second;
    for (int64_t k = 1; k < n && q == q; k++) {
        double r = step(k, p, q);
        p = q;
        q = r;
    }
    return q;
}
double doubling(double first, double second, double factor, int64_t n) {
    return recurrence(first, second, n, [=](int64_t, double p, double q) { return factor * q - p; });
}
double count(int64_t n) { return static_cast<double>(n); }

// ---- gamma

double log_gamma(double a) { // a > 0, to absolute accuracy
    double product = 1;
    while (a < 12) product *= a, a += 1;
    constexpr double series[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
    double z = 1 / (a * a), sum = series[6];
    for (int i = 5; i >= 0; i--) sum = sum * z + series[i];
    return (a - 0.5) * log(a) - a + 0.91893853320467274178 + sum / a - log(product);
}
/// x^a e^-x / gamma(a)
double gamma_weight(double a, double x) {
    if (a < 20 || size(x - a) > 0.4 * a) return exp(a * log(x) - x - log_gamma(a));
    // Near x = a both parts are large: by log(1 + d) - d, d = x / a - 1, and Stirling's formula.
    double d = (x - a) / a, part = 0;
    if (size(d) < 0.1) {
        double power = d * d;
        for (int k = 2; k < 25; k++, power *= -d) part -= power / k;
    } else {
        part = log(1 + d) - d;
    }
    double z = 1 / (a * a), stirling = (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z / 1680))) / a;
    return exp(a * part - stirling) * root(a / (2 * pi));
}
double lower_series(double a, double x) {
    double term = 1, sum = term;
    for (double k = a; term >= 1e-17 * sum; k += 4) { // four terms by one division
        const double b = k + 1, c = k + 2, d = k + 3, e = k + 4, first = term * x / (b * c * d * e);
        sum += first * (c * d * e + x * (d * e + x * (e + x)));
        term = first * x * x * x;
    }
    return sum * (a < 20 ? exp(a * log(x) - x - log_gamma(a + 1)) : gamma_weight(a, x) / a);
}
/// For x <= 1.1 and small a, where the upper part is the small one.
double upper_series(double a, double x) {
    double factor = 1, sum = 0;
    for (int k = 1; k < 2000; k++) {
        factor *= -x / k;
        double term = factor / (a + k);
        sum += term;
        if (size(term) <= 1e-17 * size(sum)) break;
    }
    constexpr double zetas[] = {1.6449340668482264,  -1.2020569031595943, 1.0823232337111382,
                                -1.0369277551433699, 1.0173430619844491,  -1.0083492773819228};
    double near_one = 0; // the logarithm of gamma(1 + a)
    if (a > 0.005) near_one = log_gamma(1 + a);
    else {
        for (int k = 7; k >= 2; k--) near_one = (near_one + zetas[k - 2] / k) * a;
        near_one = (near_one - euler) * a;
    }
    double logarithm = log(x);
    return -expm1(a * logarithm - near_one) - exp(a * logarithm - near_one) * a * sum;
}
/// For a beyond 1e8, by the normal distribution: Temme's expansion with one term.
struct Parts {
    double lower, upper;
};
Parts gamma_far(double a, double x) {
    double d = (x - a) / a;
    if (!(size(d) < 0.5)) return d < 0 ? Parts{0, 1} : Parts{1, 0};
    double part = 0; // log(1 + d) - d
    if (size(d) < 0.1) {
        double power = d * d;
        for (int k = 2; k < 25; k++, power *= -d) part -= power / k;
    } else {
        part = log(1 + d) - d;
    }
    double eta = d < 0 ? -root(-2 * part) : root(-2 * part);
    double first = size(d) < 1e-4 ? eta / 12 - 1.0 / 3 : 1 / d - 1 / eta, rest = exp(a * part) / root(2 * pi * a) * first;
    double at = eta * root(a / 2);
    return {0.5 * erfc(-at) - rest, 0.5 * erfc(at) + rest};
}
/// By numerators and denominators, with a division every four terms only.
double upper_fraction(double a, double x) {
    const double weight = gamma_weight(a, x);
    if (weight == 0) return 0; // so what is left has at most the size of 1e8
    double b = x + 1 - a, above = 1, below = b, above_before = 0, below_before = 1, h = 0;
    for (int k = 1; k < 100000; k++) {
        const double part = -k * (k - a);
        b += 2;
        const double next_above = b * above + part * above_before, next_below = b * below + part * below_before;
        above_before = above, below_before = below, above = next_above, below = next_below;
        if (k % 4) continue;
        const double last = h;
        h = above / below;
        if (size(h - last) <= 1e-16 * size(h)) break;
        if (size(below) < 1e200) continue;
        above *= 1e-200, below *= 1e-200, above_before *= 1e-200, below_before *= 1e-200;
    }
    return h * weight;
}

} // namespace

double bessel_j0(double x) { return x != x ? x : x == 0 ? 1 : size(x) == infinity ? not_a_number : bessel(0, false, size(x)); }
double bessel_j1(double x) {
    if (x != x || x == 0) return x;
    if (size(x) == infinity) return not_a_number;
    double value = bessel(1, false, size(x));
    return x < 0 ? -value : value;
}
double bessel_y0(double x) { return x == 0 ? -infinity : !(x > 0 && x < infinity) ? not_a_number : bessel(0, true, x); }
double bessel_y1(double x) { return x == 0 ? -infinity : !(x > 0 && x < infinity) ? not_a_number : bessel(1, true, x); }

double scaled_bessel_k0(double x) {
    return x == 0 ? infinity : !(x > 0) ? not_a_number : x == infinity ? 0 : x <= 2 ? exp(x) * k_near_zero(x).k0 : scaled_k(0, x);
}
double scaled_bessel_k1(double x) {
    return x == 0 ? infinity : !(x > 0) ? not_a_number : x == infinity ? 0 : x <= 2 ? exp(x) * k_near_zero(x).k1 : scaled_k(1, x);
}
double bessel_k0(double x) {
    return x > 0 && x <= 2 ? k_near_zero(x).k0 : x > 2 && x < infinity ? exp(-x) * scaled_k(0, x) : scaled_bessel_k0(x);
}
double bessel_k1(double x) {
    return x > 0 && x <= 2 ? k_near_zero(x).k1 : x > 2 && x < infinity ? exp(-x) * scaled_k(1, x) : scaled_bessel_k1(x);
}

double spherical_bessel_j0(double x) {
    if (size(x) == infinity) return 0;
    if (size(x) >= 0.5) return sin(x) / x;
    double z = x * x;
    return 1 + z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (-1.0 / 39916800 + z / 6227020800.0)))));
}

double airy_ai(double x) {
    if (x != x || size(x) == infinity) return not_a_number;
    if (x > 103.892) return 0;
    double zeta = 2.0 / 3.0 * size(x) * root(size(x));
    if (x > 2.2) return root(x / 3) / pi * exp(-zeta) * scaled_k(1.0 / 3.0, zeta);
    if (x >= -8) { // the power series, in a wider type because of cancellation
        long double y = x, cube = y * y * y, f = 1, g = y, first = 0, second = 0;
        for (int k = 0; k < 120; k++) {
            first += f;
            second += g;
            f *= cube / static_cast<long double>((3 * k + 2) * (3 * k + 3));
            g *= cube / static_cast<long double>((3 * k + 3) * (3 * k + 4));
            if (__builtin_fabsl(f) + __builtin_fabsl(g) < 1e-22L) break;
        }
        return static_cast<double>(0.355028053887817239260063186004183L * first - 0.258819403792806798405183560189204L * second);
    }
    double p = 1, q = 0, term = 1;
    for (int k = 1; k < 60; k++) {
        double next = term * (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2 * k - 1) * zeta);
        if (size(next) > size(term) || size(next) < 1e-18) break;
        term = next;
        (k % 2 ? q : p) += (k / 2) % 2 ? -term : term;
    }
    double s = sin(zeta) * root_half, c = cos(zeta) * root_half;
    return ((c + s) * p + (s - c) * q) / root(pi * root(-x));
}

// Outside the interval, where each polynomial has its own formula: by angles inside it from degree `from` + 1 on.
double first_kind(double x, int64_t n, int64_t from) {
    if (n > from && size(x) < 1) return cos(count(n) * acos(x));
    if (n == 0) return 1;
    return doubling(1, x, x + x, n);
}
double second_kind(double x, int64_t n, int64_t from) {
    if (n > from && size(x) < 1) {
        double angle = acos(x), sine = sin(angle);
        return sine != 0 ? sin(count(n + 1) * angle) / sine : count(n + 1) * cos(count(n + 1) * angle) / x;
    }
    if (n == 0) return 1;
    return doubling(1, x + x, x + x, n);
}
double third_kind(double x, int64_t n, int64_t from) {
    if (n > from && size(x) < 1) {
        double angle = acos(x);
        if (sin(angle / 2) != 1) return cos((count(n) + 0.5) * angle) / cos(angle / 2);
        return n % 2 == 0 ? count(n + n + 1) : -count(n + n + 1);
    }
    if (n == 0) return 1;
    return doubling(1, x + x - 1, x + x, n);
}
/// `at_one`: the value where the angle is too small for the quotient.
double fourth_kind(double x, int64_t n, int64_t from, double at_one) {
    if (n > from && size(x) < 1) {
        double angle = acos(x);
        if (cos(angle / 2) != 1) return sin((count(n) + 0.5) * angle) / sin(angle / 2);
        return at_one;
    }
    if (n == 0) return 1;
    return doubling(1, x + x + 1, x + x, n);
}

double chebyshev_t(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (size(x) == 1) return x > 0 || n % 2 == 0 ? 1 : -1;
    return first_kind(x, n, 6);
}
double chebyshev_u(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (size(x) == 1) return x > 0 || n % 2 == 0 ? count(n + 1) : -count(n + 1);
    return second_kind(x, n, 8);
}
double chebyshev_v(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (size(x) == 1) return x > 0 ? 1 : n % 2 == 0 ? count(n + n + 1) : -count(n + n + 1);
    return third_kind(x, n, 8);
}
double chebyshev_w(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (size(x) == 1) return x > 0 ? count(n + n + 1) : n % 2 == 0 ? 1 : -1;
    return fourth_kind(x, n, 8, count(n + n + 1));
}
double hermite_h(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (n == 0) return 1;
    if (n > 512) return not_a_number;
    return recurrence(1, x + x, n, [=](int64_t k, double p, double q) { return (x + x) * q - count(2 * k) * p; });
}
double hermite_he(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (n == 0) return 1;
    if (n > 512) return not_a_number;
    return recurrence(1, x, n, [=](int64_t k, double p, double q) { return x * q - count(k) * p; });
}
double laguerre_l(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (x == 0 || n == 0) return 1;
    return recurrence(1, 1 - x, n,
                      [=](int64_t k, double p, double q) { return ((count(2 * k + 1) - x) * q - count(k) * p) / count(k + 1); });
}
double legendre_p(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (size(x) == 1) return x > 0 || n % 2 == 0 ? 1 : -1;
    if (n == 0) return 1;
    return recurrence(1, x, n, [=](int64_t k, double p, double q) { return (count(2 * k + 1) * x * q - count(k) * p) / count(k + 1); });
}

double shifted_chebyshev_t(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (x == 1) return 1;
    if (x == 0) return n % 2 == 0 ? 1 : -1;
    return first_kind(x + x - 1, n, 6);
}
double shifted_chebyshev_u(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (x == 1) return count(n + 1);
    if (x == 0) return n % 2 == 0 ? count(n + 1) : -count(n + 1);
    return second_kind(x + x - 1, n, 6);
}
double shifted_chebyshev_v(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (x == 1) return 1;
    if (x == 0) return n % 2 == 0 ? count(n + n + 1) : -count(n + n + 1);
    return third_kind(x + x - 1, n, 6);
}
double shifted_chebyshev_w(double x, double given) {
    int64_t n = whole(given);
    if (n < 0) return 0;
    if (x == 1) return count(n + n + 1);
    if (x == 0) return n % 2 == 0 ? 1 : -1;
    return fourth_kind(x + x - 1, n, 4, n % 2 == 0 ? 1 : -1);
}

// NaN behaves as in PyTorch's comparisons: with infinity, or with x = 0, there is a result.
double gamma_lower(double a, double x) {
    if (x < 0 || a < 0) return not_a_number;
    if (a == 0) return x > 0 ? 1 : not_a_number;
    if (x == 0) return 0;
    if (a == infinity) return x == infinity ? not_a_number : 0;
    if (x == infinity) return 1;
    if (x != x || a != a) return not_a_number;
    if (a > 1e8) return gamma_far(a, x).lower;
    return x > 1 && x > a ? 1 - upper_fraction(a, x) : lower_series(a, x);
}
double gamma_upper(double a, double x) {
    if (x < 0 || a < 0) return not_a_number;
    if (a == 0) return x > 0 ? 0 : not_a_number;
    if (x == 0) return 1;
    if (a == infinity) return x == infinity ? not_a_number : 1;
    if (x == infinity) return 0;
    if (x != x || a != a) return not_a_number;
    if (a > 1e8) return gamma_far(a, x).upper;
    if (x > 1.1) return x < a ? 1 - lower_series(a, x) : upper_fraction(a, x);
    const bool lower = x <= 0.5 ? -0.4 / log(x) < a : x * 1.1 < a;
    return lower ? 1 - lower_series(a, x) : upper_series(a, x);
}

} // namespace kindling::library::special
