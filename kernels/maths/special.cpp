// kernels/maths/special.cpp: functions so rare that they are compiled once, for all instruction sets: one number at a time.
// Compiled for size.
#include <cmath>

#include "core/error.h"
#include "kernels/maths/maths.h"
#include "kernels/maths/special_complex.h"
#include "kernels/tile/tile.h"

namespace kindling {

// x = m 2^e with an integer m of 53 bits. Bits of 2/pi that give multiples of 4 are skipped: the window of 256 bits
// starts with the one whose product with 2^e is 2. So m times the window, modulo 2^256, is the angle in quarter turns
// with the point behind the second bit.
ReducedAngle reduce_large_angle(double x) {
    uint64_t word;
    std::memcpy(&word, &x, sizeof word);
    int exponent = static_cast<int>(word >> 52 & 0x7FF) - 1075;
    if (exponent == 0x7FF - 1075) return {x - x, x - x, 0};
    uint64_t m = (word & 0x000FFFFFFFFFFFFFu) | 0x0010000000000000u;
    const int start = exponent + 62; // the table's first word is empty; angles here are large enough for start >= 0
    uint64_t product[4];
    unsigned __int128 carry = 0;
    for (int i = 3; i >= 0; i--) {
        int bit = start + 64 * i;
        const unsigned long long* at = coefficients::two_over_pi + bit / 64;
        uint64_t window = bit % 64 ? at[0] << bit % 64 | at[1] >> (64 - bit % 64) : at[0];
        carry += static_cast<unsigned __int128>(m) * window;
        product[i] = static_cast<uint64_t>(carry);
        carry >>= 64;
    }
    int quadrant = static_cast<int>(product[0] >> 62);
    uint64_t high = product[0] << 2 | product[1] >> 62, low = product[1] << 2 | product[2] >> 62;
    bool negative = high >> 63;
    if (negative) { // nearer to the next quadrant
        quadrant = (quadrant + 1) & 3;
        low = ~low + 1;
        high = ~high + (low == 0);
    }
    // (high, low) / 2^128 as a sum of doubles, times pi/2.
    int shift = high ? __builtin_clzll(high) : 64 + (low ? __builtin_clzll(low) : 63);
    unsigned __int128 fraction = (static_cast<unsigned __int128>(high) << 64 | low) << shift;
    double first = static_cast<double>(static_cast<uint64_t>(fraction >> 75));
    double second = static_cast<double>(static_cast<uint64_t>(fraction >> 11));
    auto power = [](int e) {
        uint64_t bits = static_cast<uint64_t>(e + 1023) << 52;
        double value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    };
    first *= power(-53 - shift);
    second *= power(-117 - shift);
    double high_part = first * coefficients::half_pi_pair[0];
    double split = 134217729.0;
    double a = first * split, ah = a - (a - first), al = first - ah;
    double b = coefficients::half_pi_pair[0] * split, bh = b - (b - coefficients::half_pi_pair[0]), bl = coefficients::half_pi_pair[0] - bh;
    double low_part = ((ah * bh - high_part) + ah * bl + al * bh) + al * bl + first * coefficients::half_pi_pair[1] +
                      second * coefficients::half_pi_pair[0];
    double sum = high_part + low_part;
    low_part = (high_part - sum) + low_part;
    bool minus = negative != (x < 0);
    if (x < 0) quadrant = (4 - quadrant) & 3;
    return {minus ? -sum : sum, minus ? -low_part : low_part, quadrant};
}

namespace {

namespace maths = isa_once::maths;
using V = isa_once::Vec<double, 2>;

#define KINDLING_SCALAR(NAME)                                                                                                              \
    double scalar_##NAME(double x) { return maths::NAME(V{x, x})[0]; }
// clang-format off
KINDLING_SCALAR(exp) KINDLING_SCALAR(log) KINDLING_SCALAR(log1p) KINDLING_SCALAR(sin)
KINDLING_SCALAR(tan) KINDLING_SCALAR(erf) KINDLING_SCALAR(erfc)
// clang-format on
#undef KINDLING_SCALAR
    double scalar_pow(double x, double y) {
    return maths::pow(V{x, x}, V{y, y})[0];
}
double root(double x) { return __builtin_sqrt(x); }
template <int N> double evaluate(double x, const double (&c)[N]) {
    double value = c[N - 1];
    for (int i = N - 2; i >= 0; i--) value = value * x + c[i];
    return value;
}

constexpr double infinity = __builtin_inf(), not_a_number = __builtin_nan(""), pi = 3.141592653589793;

double log_gamma(double x) {
    if (x != x) return x;
    if (std::fabs(x) == infinity) return infinity;
    if (x <= 0 && std::floor(x) == x) return infinity;
    if (x < 0) {
        double sine = std::fabs(scalar_sin(pi * (x - std::floor(x + 0.5)))); // the difference is exact
        if (x > -1e-15) return -scalar_log(-x);
        return scalar_log(pi / (sine * -x)) - log_gamma(-x);
    }
    if (x < 1e-15) return -scalar_log(x);
    if (x == 1 || x == 2) return 0;
    if (x < 1) return x * (x - 1) * evaluate(x - 0.5, coefficients::lgamma) - scalar_log(x); // 1 + x would lose bits
    if (x <= 2) return (x - 1) * (x - 2) * evaluate(x - 1.5, coefficients::lgamma);
    if (x < 3) return scalar_log1p(x - 2) + log_gamma(x - 1);
    if (x < 8) {
        double product = 1;
        while (x > 2) x -= 1, product *= x;
        return scalar_log(product) + log_gamma(x);
    }
    double inverse = 1 / x, z = inverse * inverse;
    constexpr double series[] = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188, -691.0 / 360360, 1.0 / 156, -3617.0 / 122400};
    double logarithm = scalar_log(x);
    if (x > 1e17) return x * (logarithm - 1);
    return ((x - 0.5) * (logarithm - 1) - 0.5) + 0.91893853320467274 + inverse * evaluate(z, series);
}

double digamma(double x) {
    if (x == 0) return std::copysign(infinity, -x);
    if (x == -infinity || (x < 0 && std::floor(x) == x)) return not_a_number;
    if (x < 0) {
        return digamma(1 - x) - pi / scalar_tan(pi * (x - std::floor(x + 0.5))); // the difference is exact
    }
    double result = 0;
    while (x < 10) {
        result -= 1 / x;
        x += 1;
    }
    if (x == infinity) return x;
    constexpr double series[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    double z = 1 / (x * x);
    return result + (scalar_log(x) - 0.5 / x - z * evaluate(z, series));
}

/// Sum over k >= 0 of (k + q)^-x, by Euler and Maclaurin.
double zeta(double x, double q) {
    if (x == 1) return infinity;
    if (x < 1) return not_a_number;
    if (q <= 0) {
        if (q == std::floor(q)) return infinity;
        if (x != std::floor(x)) return not_a_number;
        if (x == infinity) return infinity;
        if (q < -1) { // the sum over all whole k depends on the fraction alone; what lies before q is taken off
            double fraction = q - std::floor(q), before = zeta(x, 1 - fraction) - zeta(x, 1 - q);
            return zeta(x, fraction) + (std::fmod(x, 2) == 0 ? before : -before);
        }
    }
    if (x != x || q != q || q == infinity) return not_a_number;
    double sum = 0, at = q;
    for (int i = 0; i < 12 || at <= 9; i++, at += 1) {
        double term = scalar_pow(at, -x);
        sum += term;
        if (std::fabs(term) < 1e-17 * std::fabs(sum)) return sum;
    }
    double power = scalar_pow(at, 1 - x);
    sum += power / (x - 1) + 0.5 * power / at;
    // B(2j) / (2j)! x (x + 1) ... (x + 2j - 2) at^(-x - 2j + 1)
    constexpr double bernoulli[] = {1.0 / 12,
                                    -1.0 / 720,
                                    1.0 / 30240,
                                    -1.0 / 1209600,
                                    1.0 / 47900160,
                                    -691.0 / 1307674368000.0,
                                    1.0 / 74724249600.0,
                                    -3617.0 / 10670622842880000.0};
    double factor = x * power / at / at;
    for (int j = 0; j < 8; j++) {
        double term = bernoulli[j] * factor;
        sum += term;
        if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
        factor *= (x + 2 * j + 1) * (x + 2 * j + 2) / (at * at);
    }
    return sum;
}

double bessel_i0e(double x) {
    x = std::fabs(x);
    if (x <= 8) return evaluate(0.25 * x - 1, coefficients::i0_small);
    return evaluate(16 / x - 1, coefficients::i0_large) / root(x);
}
double bessel_i1e(double x) {
    double a = std::fabs(x);
    double value = a <= 8 ? a * evaluate(0.25 * a - 1, coefficients::i1_small) : evaluate(16 / a - 1, coefficients::i1_large) / root(a);
    return x < 0 ? -value : value;
}
double with_growth(double scaled, double x) { // scaled e^|x| without overflow on the way
    double half = scalar_exp(0.5 * std::fabs(x));
    return scaled * half * half;
}
double bessel_i0(double x) { return x != x ? x : with_growth(bessel_i0e(x), x); }
double bessel_i1(double x) { return x != x ? x : with_growth(bessel_i1e(x), x); }

/// The x where the lower tail of the normal distribution is p <= 0.5, by Newton's steps on its logarithm.
double lower_normal(double p) {
    if (p == 0.5) return 0;
    double t = root(-2 * scalar_log(p));
    double x = p > 0.02425 ? -2.5066282746310002 * (0.5 - p) * (1 + 1.0471975511965976 * (0.5 - p) * (0.5 - p))
                           : -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    for (int i = 0; i < 5; i++) {
        double tail = 0.5 * scalar_erfc(-x * 0.7071067811865476);
        double density = 0.3989422804014327 * scalar_exp(-0.5 * x * x);
        double step = p > 1e-3 ? (tail - p) / density : scalar_log(tail / p) * tail / density;
        // Halley's correction: the curvature of the tail is -x times its density.
        step = p > 1e-3 ? step / (1 + 0.5 * x * step) : step;
        x -= step;
        if (std::fabs(step) < 1e-16 * std::fabs(x)) break;
    }
    return x;
}
double ndtri(double p) {
    if (p == 0) return -infinity;
    if (p == 1) return infinity;
    if (!(p > 0 && p < 1)) return not_a_number;
    return p <= 0.5 ? lower_normal(p) : -lower_normal(1 - p);
}
double erfinv(double y) {
    double a = std::fabs(y);
    if (a == 1) return std::copysign(infinity, y);
    if (!(a < 1)) return not_a_number;
    if (y == 0) return y;
    double x;
    if (a < 0.7) {
        double z = a * a; // the series to start from
        x = a *
            (0.886226925452758 + z * (0.2320136665346544 + z * (0.12755617530559793 + z * (0.08655212924154752 + z * 0.0649596177453854))));
    } else {
        x = -lower_normal(0.5 * (1 - a)) * 0.7071067811865476;
    }
    for (int i = 0; i < 3; i++) {
        double error = a < 0.7 ? scalar_erf(x) - a : (1 - a) - scalar_erfc(x);
        double step = error * 0.886226925452758 * scalar_exp(x * x);
        x -= step / (1 + x * step);
    }
    return std::copysign(x, y);
}

// fmod, floor and the like are exact in every libm, so libm's may be used.
template <class T> T python_remainder(T a, T b) {
    T result = std::fmod(a, b);
    if (result != 0 && (result < 0) != (b < 0)) result += b;
    return result;
}
template <class T> T floor_divide(T a, T b) {
    if (b == 0) return a / b;
    T remainder = std::fmod(a, b), quotient = (a - remainder) / b;
    if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(T(0), a / b);
    T whole = std::floor(quotient);
    return quotient - whole > T(0.5) ? whole + 1 : whole;
}

[[noreturn, gnu::cold]] void division_by_zero() { fail(ErrorKind::Runtime, "ZeroDivisionError"); }
template <class T> T whole_trunc_divide(T a, T b) {
    if (b == 0) division_by_zero();
    // The smallest number over -1 wraps.
    if (std::is_signed_v<T> && b == T(-1)) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
    return a / b;
}
template <class T> T whole_fmod(T a, T b) {
    if (b == 0) division_by_zero();
    return std::is_signed_v<T> && b == T(-1) ? 0 : a % b;
}
template <class T> T whole_remainder(T a, T b) {
    T result = whole_fmod(a, b);
    return result != 0 && (result < 0) != (b < 0) ? result + b : result;
}
template <class T> T whole_floor_divide(T a, T b) {
    T quotient = whole_trunc_divide(a, b);
    if constexpr (std::is_signed_v<T>)
        return (a < 0) != (b < 0) && static_cast<uint64_t>(quotient) * static_cast<uint64_t>(b) != static_cast<uint64_t>(a) ? quotient - 1
                                                                                                                            : quotient;
    return quotient;
}
template <class T> T whole_pow(T base, T exponent) {
    if constexpr (std::is_signed_v<T>)
        if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint64_t result = 1, factor = static_cast<uint64_t>(base), left = static_cast<uint64_t>(exponent);
    for (; left; left >>= 1, factor *= factor)
        if (left & 1) result *= factor;
    return static_cast<T>(result);
}
template <class T> T gcd(T a, T b) {
    uint64_t x = std::is_signed_v<T> && a < T(0) ? uint64_t{0} - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
    uint64_t y = std::is_signed_v<T> && b < T(0) ? uint64_t{0} - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return static_cast<T>(x);
}
template <class T> T lcm(T a, T b) {
    T divisor = gcd(a, b);
    if (divisor == 0) return 0;
    uint64_t result = static_cast<uint64_t>(whole_trunc_divide(a, divisor)) * static_cast<uint64_t>(b);
    if (std::is_signed_v<T> && static_cast<int64_t>(result) < 0) result = uint64_t{0} - result;
    return static_cast<T>(result);
}

double next_after(double a, double b) { return __builtin_nextafter(a, b); }
float next_after_float(float a, float b) { return __builtin_nextafterf(a, b); }
double mantissa(double x) {
    int exponent;
    return __builtin_frexp(x, &exponent);
}
double exponent(double x) {
    int exponent;
    __builtin_frexp(x, &exponent);
    return std::isfinite(x) ? exponent : 0;
}
double real_angle(double x) { return x != x ? x : x < 0 ? pi : 0; }

template <class T, T (*F)(T)> void each(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    for (int64_t i = 0; i < n; i++) static_cast<T*>(out)[i] = F(static_cast<const T*>(a)[i]);
}
template <class T, T (*F)(T, T)> void each(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    for (int64_t i = 0; i < n; i++)
        static_cast<T*>(out)[i] = F(static_cast<const T*>(a)[splat & 1 ? 0 : i], static_cast<const T*>(b)[splat & 2 ? 0 : i]);
}

template <class T> TileFunction find_whole(Primitive primitive) {
    switch (primitive) {
    case Primitive::TruncDiv: return each<T, whole_trunc_divide<T>>;
    case Primitive::FloorDiv: return each<T, whole_floor_divide<T>>;
    case Primitive::Fmod: return each<T, whole_fmod<T>>;
    case Primitive::Remainder: return each<T, whole_remainder<T>>;
    case Primitive::Pow: return each<T, whole_pow<T>>;
    case Primitive::Gcd: return each<T, gcd<T>>;
    case Primitive::Lcm: return each<T, lcm<T>>;
    default: return nullptr;
    }
}

} // namespace

TileFunction find_special(Primitive primitive, DType type) {
    if (type == DType::Int64) return find_whole<int64_t>(primitive);
    if (type == DType::UInt64) return find_whole<uint64_t>(primitive);
    if (type == DType::Float32) switch (primitive) {
        case Primitive::Fmod: return each<float, std::fmod>;
        case Primitive::Remainder: return each<float, python_remainder<float>>;
        case Primitive::FloorDiv: return each<float, floor_divide<float>>;
        case Primitive::Nextafter: return each<float, next_after_float>;
        default: return nullptr;
        }
    if (type == DType::Float64) switch (primitive) {
        case Primitive::Fmod: return each<double, std::fmod>;
        case Primitive::Remainder: return each<double, python_remainder<double>>;
        case Primitive::FloorDiv: return each<double, floor_divide<double>>;
        case Primitive::Nextafter: return each<double, next_after>;
        case Primitive::Lgamma: return each<double, log_gamma>;
        case Primitive::Digamma: return each<double, digamma>;
        case Primitive::Zeta: return each<double, zeta>;
        case Primitive::I0: return each<double, bessel_i0>;
        case Primitive::I0e: return each<double, bessel_i0e>;
        case Primitive::I1: return each<double, bessel_i1>;
        case Primitive::I1e: return each<double, bessel_i1e>;
        case Primitive::Ndtri: return each<double, ndtri>;
        case Primitive::Erfinv: return each<double, erfinv>;
        case Primitive::FrexpMantissa: return each<double, mantissa>;
        case Primitive::FrexpExponent: return each<double, exponent>;
        case Primitive::Angle: return each<double, real_angle>;
        default: return nullptr;
        }
    return type == DType::Complex128 ? find_special_complex(primitive) : nullptr;
}

} // namespace kindling
