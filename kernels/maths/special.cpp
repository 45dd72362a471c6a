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

/// By the code for all processors, of which there is one copy.
double of_two(Primitive primitive, double x, double y) {
    double result;
    isa_baseline::find_maths(primitive, DType::Float64)(&result, &x, &y, nullptr, 1, 3); // 3: both are broadcast
    return result;
}

constexpr double infinity = __builtin_inf(), not_a_number = __builtin_nan(""), pi = 3.141592653589793;

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
    if (x == infinity) return q > 1 ? 0 : q == 1 ? 1 : infinity;
    // The sum, which is by vectors; the first term is by itself where -1 < q < 0.
    return q > 0 ? of_two(Primitive::Zeta, x, q) : of_two(Primitive::Pow, q, -x) + zeta(x, q + 1);
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
        default: return nullptr;
        }
    if (type == DType::Float64) switch (primitive) {
        case Primitive::Fmod: return each<double, std::fmod>;
        case Primitive::Remainder: return each<double, python_remainder<double>>;
        case Primitive::FloorDiv: return each<double, floor_divide<double>>;
        case Primitive::Zeta: return each<double, zeta>;
        case Primitive::FrexpMantissa: return each<double, mantissa>;
        case Primitive::FrexpExponent: return each<double, exponent>;
        case Primitive::Angle: return each<double, real_angle>;
        default: return nullptr;
        }
    return type == DType::Complex128 ? find_special_complex(primitive) : nullptr;
}

} // namespace kindling
