// kernels/maths/maths.h: mathematical functions, written once over a vector of doubles (or floats where the name says so).
//
// No libm and no contraction except mul_add's: the same bits from every instruction set. Errors are bounds seen in
// tests, in units in the last place. `V` is a vector as in vector.h, or what the native executor records with
// (native/record.h).
#pragma once
#include "kernels/maths/angle.h"
#include "kernels/maths/coefficients.h"
#include "kernels/maths/vector.h"

namespace kindling::KINDLING_ISA_NAMESPACE::maths {

inline constexpr double infinity = __builtin_inf();
inline constexpr double nan = __builtin_nan("");

/// Estrin's scheme by even and odd powers: half the latency of Horner's rule. If fused, mul_add is used.
template <bool Fused, class V, class T, int N> KINDLING_INLINE V polynomial(const V& x, const T (&c)[N]) {
    V square = x * x;
    if constexpr (Fused) {
        V even = all<V>(c[(N - 1) & ~1]), odd = all<V>(c[((N - 2) & ~1) + 1]);
#pragma GCC unroll 16
        for (int i = ((N - 1) & ~1) - 2; i >= 0; i -= 2) even = mul_add(even, square, all<V>(c[i]));
#pragma GCC unroll 16
        for (int i = ((N - 2) & ~1) + 1 - 2; i >= 1; i -= 2) odd = mul_add(odd, square, all<V>(c[i]));
        return mul_add(odd, x, even);
    }
    V even = all<V>(c[(N - 1) & ~1]), odd = all<V>(c[((N - 2) & ~1) + 1]);
#pragma GCC unroll 16
    for (int i = ((N - 1) & ~1) - 2; i >= 0; i -= 2) even = even * square + c[i];
#pragma GCC unroll 16
    for (int i = ((N - 2) & ~1) + 1 - 2; i >= 1; i -= 2) odd = odd * square + c[i];
    return even + x * odd;
}
/// Floats use mul_add. Doubles use it where the result becomes a float (`fused`).
template <class V, class T, int N> KINDLING_INLINE V polynomial(const V& x, const T (&c)[N]) {
    return polynomial<sizeof(Item<V>) == 4>(x, c);
}
template <class V, class T, int N> KINDLING_INLINE V fused(const V& x, const T (&c)[N]) { return polynomial<true>(x, c); }

/// Horner's rule: the fewest operations, for floats, of which many vectors are in flight at once.
template <class V, int N> KINDLING_INLINE V powers(const V& x, const float (&c)[N]) {
    V result = all<V>(c[N - 1]);
#pragma GCC unroll 16
    for (int i = N - 2; i >= 0; i--) result = mul_add(result, x, all<V>(c[i]));
    return result;
}

/// x < low ? low : x and x > high ? high : x; a NaN stays. One instruction where there is one.
#if defined(__x86_64__)
#define KINDLING_BOUND(OP)                                                                                                                 \
    if constexpr (sizeof(V) == 16 && sizeof(Item<V>) == 4)                                                                                 \
        return bit_cast<V>(_mm_##OP##_ps(bit_cast<__m128>(all<V>(bound)), bit_cast<__m128>(x)));                                           \
    else if constexpr (sizeof(V) == 16) return bit_cast<V>(_mm_##OP##_pd(bit_cast<__m128d>(all<V>(bound)), bit_cast<__m128d>(x)));
#else
#define KINDLING_BOUND(OP)
#endif
#if defined(__AVX2__)
#define KINDLING_BOUND_AVX2(OP)                                                                                                            \
    if constexpr (sizeof(V) == 32 && sizeof(Item<V>) == 4)                                                                                 \
        return bit_cast<V>(_mm256_##OP##_ps(bit_cast<__m256>(all<V>(bound)), bit_cast<__m256>(x)));                                        \
    else if constexpr (sizeof(V) == 32) return bit_cast<V>(_mm256_##OP##_pd(bit_cast<__m256d>(all<V>(bound)), bit_cast<__m256d>(x)));
#else
#define KINDLING_BOUND_AVX2(OP)
#endif
#if defined(__AVX512F__)
#define KINDLING_BOUND_AVX512(OP)                                                                                                          \
    if constexpr (sizeof(V) == 64 && sizeof(Item<V>) == 4)                                                                                 \
        return bit_cast<V>(_mm512_##OP##_ps(bit_cast<__m512>(all<V>(bound)), bit_cast<__m512>(x)));                                        \
    else if constexpr (sizeof(V) == 64) return bit_cast<V>(_mm512_##OP##_pd(bit_cast<__m512d>(all<V>(bound)), bit_cast<__m512d>(x)));
#else
#define KINDLING_BOUND_AVX512(OP)
#endif
template <class V> KINDLING_INLINE V at_least(const V& x, Item<V> bound) {
    // clang-format off
    KINDLING_BOUND(max) KINDLING_BOUND_AVX2(max) KINDLING_BOUND_AVX512(max)
        // clang-format on
        return choose(x < bound, all<V>(bound), x);
}
template <class V> KINDLING_INLINE V at_most(const V& x, Item<V> bound) {
    // clang-format off
    KINDLING_BOUND(min) KINDLING_BOUND_AVX2(min) KINDLING_BOUND_AVX512(min)
        // clang-format on
        return choose(x > bound, all<V>(bound), x);
}
#undef KINDLING_BOUND
#undef KINDLING_BOUND_AVX2
#undef KINDLING_BOUND_AVX512

template <class V> struct Pair {
    V high, low;
};

/// a * b exactly, by Dekker's splitting; for factors below 2^996.
template <class V> KINDLING_INLINE V short_part(const V& a) { return from_bits<V>(bits_of(a) & 0xFFFFFFFFF8000000u); }
template <class V> KINDLING_INLINE Pair<V> exact_product(const V& a, const V& b) {
    V product = a * b;
    V ah = short_part(a), bh = short_part(b), al = a - ah, bl = b - bh;
    return {product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}
template <class V> KINDLING_INLINE Pair<V> exact_sum(const V& a, const V& b) { // any order of sizes
    V sum = a + b, part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

// Adding it leaves the nearest integer in the low bits of the sum.
inline constexpr double whole_magic = 6755399441055744.0;           // 1.5 * 2^52
template <class V> KINDLING_INLINE V power_of_two(const V& whole) { // -1022 to 1023
    return from_bits<V>(bits_of(whole + (whole_magic + 1023)) << 52);
}

/// Whether this is one instruction: value * 2^k.
template <class V> KINDLING_INLINE bool scales_at_once(const V&) {
#if defined(__AVX512F__)
    return sizeof(V) == 64;
#else
    return false;
#endif
}
/// The exponent k that stands for all whose 2^k is 0. A multiplication with a subnormal result, or one just below, needs a microcode
/// assist of a hundred cycles on Intel's processors, vscalef one of two hundred, down to 2^-512 (2^-4096 of doubles). Masks make rows of
/// -inf, whose exponentials would all need it. Far below there is none.
template <class V> KINDLING_INLINE Item<V> lowest_power(const V& x) {
    if constexpr (sizeof(Item<V>) == 4) return scales_at_once(x) ? -600 : -199;
    else return scales_at_once(x) ? -5000 : -1100;
}
/// x, or what stands for all below it; x where `scaled_at_once` leaves out what is 0, whatever was computed of it.
template <class V> KINDLING_INLINE V at_least_lowest(const V& x, Item<V> lowest) { return scales_at_once(x) ? x : at_least(x, lowest); }
/// value * 2^k in one instruction, where there is one, for a value near 1. What is 0 is left out, for the same reason.
template <class V> KINDLING_INLINE bool scaled_at_once(const V& value, const V& k, V& result) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) {
        if constexpr (sizeof(Item<V>) == 4) {
            const auto power = bit_cast<__m512>(k);
            const __mmask16 seen = _mm512_cmp_ps_mask(power, _mm512_set1_ps(-150.0f), _CMP_NLT_UQ);
            result = bit_cast<V>(_mm512_maskz_scalef_ps(seen, bit_cast<__m512>(value), power));
        } else {
            const auto power = bit_cast<__m512d>(k);
            const __mmask8 seen = _mm512_cmp_pd_mask(power, _mm512_set1_pd(-1075.0), _CMP_NLT_UQ);
            result = bit_cast<V>(_mm512_maskz_scalef_pd(seen, bit_cast<__m512d>(value), power));
        }
        return true;
    }
#endif
    (void)value, (void)k, (void)result;
    return false;
}
/// value * 2^k, rounded once, for integer |k| up to 2000 and a value near 1. NaN is kept.
template <class V> KINDLING_INLINE V scaled_by_power(const V& value, const V& k) {
    if (V scaled{}; scaled_at_once(value, k, scaled)) return scaled;
    V half = ((k * 0.5) + whole_magic) - whole_magic;
    return value * power_of_two(half) * power_of_two(k - half);
}

/// e^(x + low) * 2^shift; |shift| is a small integer.
template <class V> KINDLING_INLINE V exp_scaled(const V& x, const V& low, double shift) {
    using namespace coefficients;
    V bounded = at_most(at_least(x, -4000.0), 2000.0);
    V k = (bounded * 1.4426950408889634 + whole_magic) - whole_magic;
    V r = (bounded - k * ln2[0]) - k * ln2[1] + low;
    V value = 1.0 + (r + r * r * polynomial(r, coefficients::exp));
    k = at_most(at_least(V(k + shift), lowest_power(x)), 1100.0);
    return scaled_by_power(value, k);
}
/// 1 ulp.
template <class V> KINDLING_INLINE V exp(const V& x) { return exp_scaled(x, V{}, 0); }
template <class V> KINDLING_INLINE V exp2(const V& x) {
    V bounded = at_most(at_least(x, -5000.0), 2000.0);
    V k = (bounded + whole_magic) - whole_magic;
    V r = (bounded - k) * 0.6931471805599453;
    V value = 1.0 + (r + r * r * polynomial(r, coefficients::exp));
    k = at_most(at_least(k, lowest_power(x)), 1100.0);
    return scaled_by_power(value, k);
}
/// 2 ulp.
template <class V> KINDLING_INLINE V expm1(const V& x) {
    using namespace coefficients;
    V bounded = choose(x < -60.0, all<V>(-60.0), choose(x > 720.0, all<V>(720.0), x));
    V k = (bounded * 1.4426950408889634 + whole_magic) - whole_magic;
    V r = (bounded - k * ln2[0]) - k * ln2[1];
    V small = r + r * r * polynomial(r, coefficients::exp);
    V half = power_of_two(k - 1.0);
    V result = 2.0 * (half * small + (half - 0.5));
    result = choose(k == 0.0, small, result);
    result = choose(x > 709.782712893384, all<V>(infinity), result);
    return choose((x == 0.0) | (x != x), x, result);
}

/// log(x) for finite x > 0 as k log(2) + log(1 + f): what all the logarithms share.
template <class V> struct LogParts {
    V k, f;
};
template <class V> KINDLING_INLINE LogParts<V> log_parts(const V& x) {
    auto small = x < 2.2250738585072014e-308;
    V scaled = choose(small, x * 18014398509481984.0, x); // 2^54
    auto word = bits_of(scaled) + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu);
    V k = from_bits<V>((word >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
    V m = from_bits<V>((word & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu);
    return {choose(small, k - 54.0, k), m - 1.0};
}
template <class V> KINDLING_INLINE V log1p_part(const V& f, const V& extra) { // log(1 + f) + extra, f small
    V s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
    V rest = z * polynomial(z, coefficients::log);
    return f - (half_square - (s * (half_square + rest) + extra));
}
template <class V> KINDLING_INLINE V log_ends(const V& x, const V& result) {
    V ended = choose(x == infinity, x, result);
    ended = choose(x == 0.0, all<V>(-infinity), ended);
    return choose((x < 0.0) | (x != x), all<V>(nan), ended);
}
/// 1 ulp.
template <class V> KINDLING_INLINE V log(const V& x) {
    LogParts<V> parts = log_parts(x);
    return log_ends(x, parts.k * coefficients::ln2[0] + log1p_part(parts.f, parts.k * coefficients::ln2[1]));
}
/// 2 ulp; exact for powers of two.
template <class V> KINDLING_INLINE V log2(const V& x) {
    LogParts<V> parts = log_parts(x);
    return log_ends(x, parts.k + log1p_part(parts.f, V{}) * 1.4426950408889634);
}
template <class V> KINDLING_INLINE V log10(const V& x) {
    using namespace coefficients;
    LogParts<V> parts = log_parts(x);
    V value = log1p_part(parts.f, V{}), head = from_bits<V>(bits_of(value) & 0xFFFFFFFFF8000000u);
    V tail = (value - head) * inverse_ln10[0] + value * inverse_ln10[1] + parts.k * log10_2[1];
    return log_ends(x, parts.k * log10_2[0] + (head * inverse_ln10[0] + tail));
}
/// 2 ulp.
template <class V> KINDLING_INLINE V log1p(const V& x) {
    V u = 1.0 + x;
    V lost = (x - (u - 1.0)) / u;
    V result = log(u);
    result = choose((u > 0.0) & (u < infinity), result + lost, result);
    return choose(x == 0.0, x, result);
}

template <class V> KINDLING_INLINE void reduce_large_lanes(const V& x, V& high, V& low, Bits<V>& quadrant) {
    auto large = ~(absolute(x) <= largest_plain_angle);
    if (anywhere(large)) [[unlikely]]
        for (int i = 0; i < Lanes<V>::count; i++)
            if (large[i]) {
                ReducedAngle reduced = reduce_large_angle(x[i]);
                high[i] = reduced.high;
                low[i] = reduced.low;
                quadrant[i] = static_cast<uint64_t>(reduced.quadrant);
            }
}
template <class V> struct Angle {
    V high, low;
    Bits<V> quadrant;
};
template <class V> KINDLING_INLINE Angle<V> reduce_angle(const V& x) {
    using namespace coefficients;
    V shifted = x * 0.6366197723675814 + whole_magic, k = shifted - whole_magic;
    V first = (x - k * half_pi[0]) - k * half_pi[1];
    Pair<V> second = exact_sum(first, -(k * half_pi[2]));
    second.low -= k * half_pi[3];
    V high = second.high + second.low;
    Angle<V> angle{high, (second.high - high) + second.low, bits_of(shifted) & 3};
    reduce_large_lanes(x, angle.high, angle.low, angle.quadrant);
    return angle;
}
template <class V> KINDLING_INLINE V sin_part(const Angle<V>& r) {
    V z = r.high * r.high;
    return r.high + (r.high * z * polynomial(z, coefficients::sin) + r.low * (1.0 - 0.5 * z));
}
template <class V> KINDLING_INLINE V cos_part(const Angle<V>& r) {
    V z = r.high * r.high, half = 0.5 * z, whole = 1.0 - half;
    return whole + (((1.0 - whole) - half) + (z * z * polynomial(z, coefficients::cos) - r.high * r.low));
}
/// 1 ulp over the whole range.
template <class V> KINDLING_INLINE V sin(const V& x) {
    Angle<V> r = reduce_angle(x);
    V result = choose((r.quadrant & 1) != 0, cos_part(r), sin_part(r));
    result = from_bits<V>(bits_of(result) ^ (r.quadrant & 2) << 62);
    return choose(x == 0.0, x, result);
}
template <class V> KINDLING_INLINE V cos(const V& x) {
    Angle<V> r = reduce_angle(x);
    V result = choose((r.quadrant & 1) != 0, sin_part(r), cos_part(r));
    return from_bits<V>(bits_of(result) ^ ((r.quadrant + 1) & 2) << 62);
}
/// 3 ulp.
template <class V> KINDLING_INLINE V tan(const V& x) {
    Angle<V> r = reduce_angle(x);
    V s = sin_part(r), c = cos_part(r);
    auto turned = (r.quadrant & 1) != 0;
    V result = choose(turned, -c, s) / choose(turned, s, c);
    return choose(x == 0.0, x, result);
}

/// 2 ulp.
template <class V> KINDLING_INLINE V atan(const V& x) {
    using namespace coefficients;
    V a = absolute(x);
    auto big = a > 2.414213562373095, middle = a > 0.41421356237309503;
    V top = choose(big, all<V>(-1.0), choose(middle, a - 1.0, a));
    V t = top / choose(big, a, choose(middle, a + 1.0, all<V>(1.0)));
    V base = choose(big, all<V>(half_pi_pair[0]), choose(middle, all<V>(0.5 * half_pi_pair[0]), V{}));
    V base_low = choose(big, all<V>(half_pi_pair[1]), choose(middle, all<V>(0.5 * half_pi_pair[1]), V{}));
    V z = t * t;
    return with_sign(base + (t + (t * z * polynomial(z, coefficients::atan) + base_low)), x);
}
template <class V> KINDLING_INLINE V atan2(const V& y, const V& x) {
    using namespace coefficients;
    V ay = absolute(y), ax = absolute(x);
    auto steep = ay > ax;
    V top = choose(steep, ax, ay), bottom = choose(steep, ay, ax);
    V ratio = top / bottom;
    ratio = choose(top == 0.0, V{}, ratio);              // both may be 0
    ratio = choose(top == infinity, all<V>(1.0), ratio); // both are infinite
    V a = atan(ratio);
    auto left = bit_cast<Mask<V>>(x) < 0;
    V flat = choose(left, 2.0 * half_pi_pair[0] - (a - 2.0 * half_pi_pair[1]), a);
    a = choose(steep, half_pi_pair[0] + (choose(left, a, -a) + half_pi_pair[1]), flat);
    a = with_sign(a, y);
    return choose((x != x) | (y != y), all<V>(nan), a);
}
template <class V> struct AsinParts {
    V value;
    Mask<V> big;
};
template <class V> KINDLING_INLINE AsinParts<V> asin_parts(const V& a) {
    auto big = a > 0.5;
    V z = choose(big, (1.0 - a) * 0.5, a * a);
    V s = choose(big, square_root(z), a);
    return {s + s * z * polynomial(z, coefficients::asin), big};
}
template <class V> KINDLING_INLINE V asin(const V& x) {
    using namespace coefficients;
    AsinParts<V> parts = asin_parts(absolute(x));
    V result = choose(parts.big, half_pi_pair[0] - (2.0 * parts.value - half_pi_pair[1]), parts.value);
    return with_sign(result, x);
}
template <class V> KINDLING_INLINE V acos(const V& x) {
    using namespace coefficients;
    AsinParts<V> parts = asin_parts(absolute(x));
    V twice = 2.0 * parts.value;
    V outer = choose(x < 0.0, 2.0 * half_pi_pair[0] - (twice - 2.0 * half_pi_pair[1]), twice);
    V inner = half_pi_pair[0] - (with_sign(parts.value, x) - half_pi_pair[1]);
    return choose(parts.big, outer, inner);
}

/// 3 ulp.
template <class V> KINDLING_INLINE V sinh(const V& x) {
    V a = absolute(x), t = expm1(a), half = exp_scaled(a, V{}, -1);
    V result = choose(a < 1.0, 0.5 * (t + t / (t + 1.0)), half - 0.25 / half);
    return with_sign(result, x);
}
template <class V> KINDLING_INLINE V cosh(const V& x) {
    V half = exp_scaled(absolute(x), V{}, -1);
    return half + 0.25 / half;
}
template <class V> KINDLING_INLINE V tanh(const V& x) {
    V a = absolute(x);
    V t = expm1(2.0 * choose(a > 22.0, all<V>(22.0), a));
    return with_sign(t / (t + 2.0), x);
}
template <class V> KINDLING_INLINE V asinh(const V& x) {
    V a = absolute(x), square = a * a;
    auto large = a > 268435456.0;
    V inner = choose(large, a, a + square / (1.0 + square_root(1.0 + square)));
    V near = log1p(inner), far = log(a) + 0.6931471805599453;
    return with_sign(choose(large, far, near), x);
}
template <class V> KINDLING_INLINE V acosh(const V& x) {
    V t = choose(x < 1.0, all<V>(__builtin_nan("")), x - 1.0); // far below -1 the sum inside would be a number again
    auto large = x > 268435456.0;
    V near = log1p(t + square_root(t * (t + 2.0))), far = log(x) + 0.6931471805599453;
    return choose(large, far, near);
}
template <class V> KINDLING_INLINE V atanh(const V& x) {
    V a = absolute(x);
    return with_sign(0.5 * log1p(2.0 * a / (1.0 - a)), x);
}
template <class V> KINDLING_INLINE V sigmoid(const V& x) { return 1.0 / (1.0 + exp(-x)); }

/// e^(x*x) erfc(x) for x >= 0.
template <class V> KINDLING_INLINE V erfcx_positive(const V& a) {
    V bounded = choose(a > 1e8, all<V>(1e8), a);
    V t = (bounded - 4.0) / (bounded + 4.0);
    V value = polynomial(t, coefficients::erfcx) / (1.0 + 2.0 * bounded);
    return choose(a > 1e8, 0.5641895835477563 / a, value);
}
template <class V> KINDLING_INLINE V exp_minus_square(const V& a) { // |a| < 1e8
    Pair<V> square = exact_product(a, a);
    return exp_scaled(-square.high, -square.low, 0);
}
template <class V> KINDLING_INLINE V erf_small(const V& x) { return x * polynomial(x * x, coefficients::erf); }
/// 2 ulp.
template <class V> KINDLING_INLINE V erf(const V& x) {
    V a = absolute(x), bounded = choose(a > 6.0, all<V>(6.0), a);
    V large = with_sign(1.0 - exp_minus_square(bounded) * erfcx_positive(bounded), x);
    V result = choose(a < 1.0, erf_small(x), large);
    return choose(x != x, x, result);
}
/// 4 ulp.
template <class V> KINDLING_INLINE V erfc(const V& x) {
    V a = absolute(x), bounded = choose(a > 30.0, all<V>(30.0), a);
    V tail = exp_minus_square(bounded) * erfcx_positive(bounded);
    V result = choose(x < 0.0, 2.0 - tail, tail);
    result = choose(a < 0.5, 1.0 - erf_small(x), result);
    return choose(x != x, x, result);
}
template <class V> KINDLING_INLINE V erfcx(const V& x) {
    V a = absolute(x), bounded = choose(a > 30.0, all<V>(30.0), a);
    V positive = erfcx_positive(a);
    Pair<V> square = exact_product(bounded, bounded);
    V result = choose(x < 0.0, 2.0 * exp_scaled(square.high, square.low, 0) - positive, positive);
    return choose(x != x, x, result);
}

/// log(x) in two doubles, relative error below 2^-65; finite x > 0.
template <class V> KINDLING_INLINE Pair<V> log_pair(const V& x) {
    using namespace coefficients;
    LogParts<V> parts = log_parts(x);
    V f = parts.f, d = 2.0 + f, d_low = f - (d - 2.0);
    V s = f / d;
    Pair<V> back = exact_product(s, d);
    V s_low = ((f - back.high) - back.low - s * d_low) / d;
    // 2s + (2/3) s^3 + s^5 q
    Pair<V> z = exact_product(s, s);
    z.low += 2.0 * s * s_low;
    V q = polynomial(z.high, coefficients::log_tail);
    Pair<V> inner = exact_sum(all<V>(two_thirds[0]), z.high * q);
    inner.low += two_thirds[1] + z.low * q;
    Pair<V> cubed = exact_product(z.high, s);
    cubed.low += z.low * s + z.high * s_low;
    Pair<V> tail = exact_product(cubed.high, inner.high);
    tail.low += cubed.high * inner.low + cubed.low * inner.high;
    Pair<V> sum = exact_sum(2.0 * s, tail.high);
    sum.low += tail.low + 2.0 * s_low;
    Pair<V> total = exact_sum(parts.k * ln2[0], sum.high);
    total.low += sum.low + parts.k * ln2[1];
    V high = total.high + total.low;
    return {high, (total.high - high) + total.low};
}
template <class V> KINDLING_INLINE V pow_ends(const V& x, const V& y, const V& size) {
    V whole = round_to<Rounding::Zero>(y), half = 0.5 * y;
    auto integral = (whole == y) & (absolute(y) < infinity);
    auto odd = integral & (round_to<Rounding::Zero>(half) != half) & (absolute(y) < 9007199254740992.0);
    auto negative = bit_cast<Mask<V>>(x) < 0;
    V result = choose(negative & odd, -size, size);
    result = choose((x < 0.0) & ~integral & (absolute(y) < infinity) & (absolute(x) < infinity), all<V>(nan), result);
    result = choose((x != x) | (y != y), all<V>(nan), result);
    return choose((x == 1.0) | (y == 0.0) | ((x == -1.0) & (absolute(y) == infinity)), all<V>(1.0), result);
}
/// 1 ulp.
template <class V> KINDLING_INLINE V pow(const V& x, const V& y) {
    V a = absolute(x);
    auto plain = (a > 0.0) & (a < infinity) & (absolute(y) < 1e100);
    Pair<V> logarithm = log_pair(choose(plain, a, all<V>(2.0)));
    V exponent = choose(plain, y, all<V>(1.0));
    Pair<V> product = exact_product(logarithm.high, exponent);
    product.low += logarithm.low * exponent;
    product.low = choose(absolute(product.high) < 1e4, product.low, V{});
    V ends = log(a) * y; // with a zero, an infinity or a huge exponent only sign and size matter
    V size = exp_scaled(choose(plain, product.high, ends), choose(plain, product.low, V{}), 0);
    return pow_ends(x, y, size);
}

template <class V> KINDLING_INLINE V hypot(const V& x, const V& y) {
    V ax = absolute(x), ay = absolute(y);
    V large = choose(ax > ay, ax, ay), small = choose(ax > ay, ay, ax);
    V ratio = small / large;
    V result = large * square_root(1.0 + ratio * ratio);
    result = choose(large == 0.0, V{}, result);
    result = choose((x != x) | (y != y), all<V>(nan), result);
    return choose((ax == infinity) | (ay == infinity), all<V>(infinity), result);
}
template <class V> KINDLING_INLINE V logaddexp(const V& x, const V& y) {
    V large = choose((x > y) | (x != x), x, y);
    V result = large + log1p(exp(-absolute(x - y)));
    return choose((x == y) & (absolute(x) == infinity), x, result);
}
template <class V> KINDLING_INLINE V logaddexp2(const V& x, const V& y) {
    V large = choose((x > y) | (x != x), x, y);
    V result = large + log1p(exp2(-absolute(x - y))) * 1.4426950408889634;
    return choose((x == y) & (absolute(x) == infinity), x, result);
}

// ---- float32 in double lanes: polynomials can be short, since their error is below float's last bit

inline constexpr double quarter_turn = 1.5707963267948966;

/// 1 / x and the square root to 46 bits, of doubles in the range of float: from float's own, with a Newton step.
/// Divisions of doubles take three times as long.
template <class V> KINDLING_INLINE V inverse_for_float(const V& x) {
    V guess = convert<double>(1.0f / convert<float>(x));
    return mul_add(guess, mul_add(-x, guess, all<V>(1.0)), guess);
}
template <class V> KINDLING_INLINE V root_for_float(const V& x) {
    auto root = square_root(convert<float>(x));
    V guess = convert<double>(root);
    return mul_add(mul_add(-guess, guess, x), convert<double>(0.5f / root), guess);
}
/// e^x for |x| up to 200.
template <class V> KINDLING_INLINE V exp_for_float(const V& x) {
    constexpr double magic = whole_magic + 1023.0;
    V shifted = mul_add(x, all<V>(1.4426950408889634), all<V>(magic));
    V r = mul_add(shifted - magic, all<V>(-0.6931471805599453), x);
    return mul_add(r, fused(r, coefficients::exp_for_float), all<V>(1.0)) * from_bits<V>(bits_of(shifted) << 52);
}
/// log(x) of a normal x > 0.
template <class V> KINDLING_INLINE V log_for_float(const V& x) {
    auto word = bits_of(x) + (0x3FF0000000000000u - 0x3FE6A09E667F3BCDu);
    V k = from_bits<V>((word >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
    V f = from_bits<V>((word & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
    V s = f * inverse_for_float(V(2.0 + f)), z = s * s;
    return mul_add(k, all<V>(0.6931471805599453), mul_add(s * z, fused(z, coefficients::log_for_float), s + s));
}
template <class V> KINDLING_INLINE V tan_for_float(const V& x) {
    using namespace coefficients;
    V shifted = mul_add(x, all<V>(0.6366197723675814), all<V>(whole_magic)), k = shifted - whole_magic;
    V r = mul_add(k, all<V>(-half_pi[2]), mul_add(k, all<V>(-half_pi[1]), mul_add(k, all<V>(-half_pi[0]), x))), low{};
    Bits<V> quadrant = bits_of(shifted);
    reduce_large_lanes(x, r, low, quadrant);
    V z = r * r, s = mul_add(r * z, fused(z, sin_for_float), r);
    V c = mul_add(z, mul_add(z, fused(z, cos_for_float), all<V>(-0.5)), all<V>(1.0));
    auto turned = (quadrant & 1) != 0;
    V top = choose(turned, c, s), bottom = choose(turned, -s, c);
    return choose(x == 0.0, x, top * inverse_for_float(bottom));
}
template <class V> KINDLING_INLINE V cosh_for_float(const V& x) {
    V power = exp_for_float(at_most(absolute(x), 200.0));
    return 0.5 * (power + inverse_for_float(power));
}
template <class V> KINDLING_INLINE V sinh_for_float(const V& x) {
    V a = at_most(absolute(x), 200.0), power = exp_for_float(a), z = a * a;
    V near = mul_add(a * z, mul_add(z, all<V>(0.008333333333333333), all<V>(0.16666666666666666)), a);
    return with_sign(choose(a < 0.0625, near, 0.5 * (power - inverse_for_float(power))), x);
}
template <class V> KINDLING_INLINE V asinh_for_float(const V& x) {
    V a = absolute(x), z = a * a;
    V root = choose(a < 1e9, root_for_float(V(z + 1.0)), a);
    V near = mul_add(z, mul_add(z, all<V>(-0.044642857142857144), all<V>(0.075)), all<V>(-0.16666666666666666));
    V result = choose(a < 0.03125, mul_add(a * z, near, a), log_for_float(V(a + root)));
    return with_sign(choose(a < infinity, result, a), x);
}
template <class V> KINDLING_INLINE V acosh_for_float(const V& x) {
    V square = mul_add(x, x, all<V>(-1.0));
    V root = choose(x < 1e9, choose(x == 1.0, V{}, root_for_float(square)), x);
    V result = choose(x < infinity, log_for_float(V(x + root)), x);
    return choose(x >= 1.0, result, all<V>(nan));
}
template <class V> KINDLING_INLINE V atanh_for_float(const V& x) {
    // (1 + a) / (1 - a) = 2^k (1 + s) / (1 - s), for a k that leaves |s| below 0.21.
    V a = absolute(x), up = 1.0 + a, down = 1.0 - a;
    auto word = bits_of(up) - bits_of(down) + 0x3FF8000000000000u;
    V k = from_bits<V>((word >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
    down = from_bits<V>(bits_of(down) + (word & 0xFFF0000000000000u) - 0x3FF0000000000000u);
    V s = (up - down) * inverse_for_float(V(up + down)), z = s * s;
    V far = with_sign(mul_add(k, all<V>(0.34657359027997264), mul_add(0.5 * s * z, fused(z, coefficients::log_for_float), s)), x);
    V result = choose(a < 0.000244140625, mul_add(x * x * x, all<V>(0.3333333333333333), x), far);
    result = choose(a == 1.0, with_sign(all<V>(infinity), x), result);
    return choose(a <= 1.0, result, all<V>(nan));
}
template <class V> KINDLING_INLINE V erfc_for_float(const V& x) {
    V a = at_most(absolute(x), 11.0), q = inverse_for_float(V(a + 4.0));
    V tail = exp_for_float(-(a * a)) * (q * fused(mul_add(q, all<V>(-8.0), all<V>(1.0)), coefficients::erfcx_for_float));
    V near = mul_add(-x, fused(V(x * x), coefficients::erf_for_float), all<V>(1.0));
    return choose(a < 0.5, near, choose(x < 0.0, 2.0 - tail, tail));
}
template <class V> KINDLING_INLINE V erfinv_for_float(const V& x) {
    V inside = mul_add(-x, x, all<V>(1.0)), w = -log_for_float(inside);
    V ratio = fused(V(w - 2.5), coefficients::erfinv_near);
    auto far = w > 5.0;
    if (anywhere(far)) ratio = choose(far, fused(V(square_root(w) - 3.125), coefficients::erfinv_far), ratio);
    V result = choose(inside == 0.0, with_sign(all<V>(infinity), x), x * ratio);
    return choose(inside >= 0.0, result, all<V>(nan));
}
template <class V> KINDLING_INLINE V atan_for_float(const V& x) {
    V a = at_most(absolute(x), 1e10);
    auto big = a > 1.0;
    V t = choose(big, -inverse_for_float(a), a);
    return with_sign(mul_add(t, fused(V(t * t), coefficients::atan_for_float), choose(big, all<V>(quarter_turn), V{})), x);
}
template <class V> KINDLING_INLINE V atan2_for_float(const V& y, const V& x) {
    V ay = absolute(y), ax = absolute(x);
    auto steep = ay > ax;
    V top = choose(steep, ax, ay), bottom = choose(steep, ay, ax);
    V t = choose(top == 0.0, V{}, choose(top == infinity, all<V>(1.0), V(top / bottom))); // both may be 0 or infinite
    V a = t * fused(V(t * t), coefficients::atan_for_float);
    V low = choose(steep, quarter_turn - a, a);
    low = choose(bit_cast<Mask<V>>(x) < 0, 2.0 * quarter_turn - low, low);
    return choose((x != x) | (y != y), all<V>(nan), with_sign(low, y));
}
/// asin(|x|) for |x| <= 1/2; for larger |x|, half of acos(|x|).
template <class V> KINDLING_INLINE AsinParts<V> asin_parts_for_float(const V& a) {
    auto big = a > 0.5;
    V z = choose(big, mul_add(a, all<V>(-0.5), all<V>(0.5)), a * a);
    V s = choose(big & (z != 0.0), root_for_float(z), choose(big, z, a)); // the root of 0 would be NaN
    return {mul_add(s * z, fused(z, coefficients::asin_for_float), s), big};
}
template <class V> KINDLING_INLINE V asin_for_float(const V& x) {
    AsinParts<V> parts = asin_parts_for_float(absolute(x));
    return with_sign(choose(parts.big, mul_add(parts.value, all<V>(-2.0), all<V>(quarter_turn)), parts.value), x);
}
template <class V> KINDLING_INLINE V acos_for_float(const V& x) {
    AsinParts<V> parts = asin_parts_for_float(absolute(x));
    V value = with_sign(parts.value, x);
    V outer = mul_add(value, all<V>(2.0), choose(x < 0.0, all<V>(2.0 * quarter_turn), V{}));
    return choose(parts.big, outer, quarter_turn - value);
}
template <class V> KINDLING_INLINE V hypot_for_float(const V& x, const V& y) {
    V result = square_root(mul_add(x, x, y * y));
    return choose((absolute(x) == infinity) | (absolute(y) == infinity), all<V>(infinity), result);
}
/// log(1 + e^(-|distance| scale)) times `inverse`. Nothing where that is no number: an infinity less itself.
template <class V> KINDLING_INLINE V softplus_for_float(const V& distance, double scale, double inverse) {
    V power = exp_for_float(greater(V(from_bits<V>(bits_of(distance) | sign_bit<V>) * scale), all<V>(-200.0)));
    V s = power / (2.0 + power), z = s * s; // in one step: what follows waits for it
    return mul_add(s * z, fused(z, coefficients::log1p_for_float), s + s) * inverse;
}
template <class V> __attribute__((noinline)) V whole_logaddexp(V x, V y) { return logaddexp(x, y); }
template <class V> __attribute__((noinline)) V whole_logaddexp2(V x, V y) { return logaddexp2(x, y); }
/// `whole` computes the lanes in which the two terms cancel: near 0 too few bits would be left.
template <class V> KINDLING_INLINE V logaddexp_for_float(const V& x, const V& y, double scale, double inverse, V (*whole)(V, V)) {
    V large = choose((x > y) | (x != x), x, y);
    V result = large + softplus_for_float(x - y, scale, inverse);
    auto cancels = absolute(result) < 0.001 * absolute(large);
    if (anywhere(cancels)) result = choose(cancels, whole(x, y), result);
    return result;
}
template <class V> KINDLING_INLINE V logaddexp_for_float(const V& x, const V& y) {
    return logaddexp_for_float(x, y, 1.0, 1.0, whole_logaddexp<V>);
}
template <class V> KINDLING_INLINE V logaddexp2_for_float(const V& x, const V& y) {
    return logaddexp_for_float(x, y, 0.6931471805599453, 1.4426950408889634, whole_logaddexp2<V>);
}

// Called, not inlined, since they are used here several times.
template <class V> __attribute__((noinline)) V once_log(V x) { return log(x); }
template <class V> __attribute__((noinline)) V once_sin(V x) { return sin(x); }
template <class V> __attribute__((noinline)) V once_tan(V x) { return tan(x); }
template <class V> __attribute__((noinline)) V once_pow(V x, V y) { return pow(x, y); }
/// Stirling's series from 8 on; smaller arguments are shifted up. Beside 1 and 2, where it is 0, a power series.
template <class V> KINDLING_INLINE V lgamma_for_float(const V& x) {
    V a = absolute(x), product = a;
    auto low = a < 8.0;
#pragma GCC unroll 8
    for (int i = 1; i < 8; i++) product = product * (a + static_cast<double>(i));
    V y = choose(low, a + 8.0, a), inverse = 1.0 / y, z = inverse * inverse;
    V series =
        inverse * (0.083333333333333333 -
                   z * (0.0027777777777777778 - z * (0.00079365079365079365 - z * (0.00059523809523809524 - z * 0.00084175084175084175))));
    V sum = ((y - 0.5) * (once_log(y) - 1.0) - 0.5) + 0.91893853320467274 + series - once_log(choose(low, product, all<V>(1.0)));
    auto first = a < 1.5;
    V t = a - choose(first, all<V>(1.0), all<V>(2.0));
    V powers = choose(first, -0.57721566490153286 + t * (0.82246703342411322 - t * 0.40068563438653143),
                      0.42278433509846714 + t * (0.32246703342411322 - t * 0.067352301053198095));
    V result = choose(absolute(t) < 0.0009765625, t * powers + 0.0, sum); // no -0
    auto below = x < 0.0;
    if (anywhere(below)) {
        V sine = absolute(once_sin(V(3.141592653589793 * (a - round_to<Rounding::Nearest>(a)))));
        V turned = choose(a == infinity, a, once_log(V(3.141592653589793 / (sine * a))) - result);
        result = choose(below, turned, result);
    }
    return result;
}
/// digamma(x) from that of x, or where x < 0 of 1 - x.
template <class V> KINDLING_INLINE V digamma_from(const V& x, V result) {
    auto below = x < 0.0;
    if (anywhere(below)) {
        V rest = x - round_to<Rounding::Nearest>(x);
        V turned = choose(rest == 0.0, all<V>(nan), result - 3.141592653589793 / once_tan(V(3.141592653589793 * rest)));
        result = choose(below, turned, result);
    }
    return choose(x == 0.0, with_sign(all<V>(infinity), -x), result);
}
/// By the same method; the derivative of the product is carried along.
template <class V> KINDLING_INLINE V digamma_for_float(const V& x) {
    V a = choose(x < 0.0, 1.0 - x, x), product = a, slope = all<V>(1.0);
    auto low = a < 10.0;
#pragma GCC unroll 10
    for (int i = 1; i < 10; i++) {
        V next = a + static_cast<double>(i);
        slope = slope * next + product;
        product = product * next;
    }
    V y = choose(low, a + 10.0, a), inverse = 1.0 / y, z = inverse * inverse;
    V series =
        z * (0.083333333333333333 -
             z * (0.0083333333333333333 -
                  z * (0.003968253968253968 -
                       z * (0.0041666666666666667 - z * (0.0075757575757575758 - z * (0.021092796092796093 - z * 0.083333333333333333))))));
    V result = once_log(y) - 0.5 * inverse - series - choose(low, slope / product, V{});
    return digamma_from(x, result);
}

// ---- special functions of float64

/// Horner's rule in a loop, for many coefficients.
template <class V, int N> KINDLING_INLINE V evaluate(const V& x, const double (&c)[N]) {
    V value = all<V>(c[N - 1]);
    for (int i = N - 2; i >= 0; i--) value = value * x + c[i];
    return value;
}
template <class V> __attribute__((noinline)) V once_exp(V x) { return exp(x); }
template <class V> __attribute__((noinline)) V once_erfcx(V a) { return erfcx_positive(a); }

/// log(|gamma(x)|), 3 ulp. Between 1 and 2 a polynomial with its zeros, what is larger is shifted there, and from 8 on Stirling's series.
template <class V> KINDLING_INLINE V lgamma(const V& x) {
    V a = absolute(x), y = a;
    auto far = a >= 8.0, small = a < 1.0;
    V product = choose(small, a, all<V>(1.0));
    for (int i = 0; i < 6; i++) {
        auto more = (y > 2.0) & ~far;
        y = choose(more, y - 1.0, y);
        product = choose(more, product * y, product);
    }
    V logarithm = once_log(choose(far, a, product));
    V t = choose(small, a - 0.5, y - 1.5), zeros = choose(small, a * (a - 1.0), (y - 1.0) * (y - 2.0)); // 1 + a would lose bits
    V result = zeros * evaluate(t, coefficients::lgamma) + choose(small, -logarithm, logarithm);
    if (anywhere(far)) {
        constexpr double series[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                     1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
        V inverse = 1.0 / a;
        V sum = ((a - 0.5) * (logarithm - 1.0) - 0.5) + 0.91893853320467274 + inverse * evaluate(V(inverse * inverse), series);
        result = choose(far, choose(a > 1e17, a * (logarithm - 1.0), sum), result);
    }
    auto below = x < 0.0;
    if (anywhere(below)) {
        V rest = a - round_to<Rounding::Nearest>(a); // exact
        V turned = once_log(V(3.141592653589793 / (absolute(once_sin(V(3.141592653589793 * rest))) * a))) - result;
        turned = choose((rest == 0.0) | (a == infinity), all<V>(infinity), turned);
        result = choose(below & (a >= 1e-15), turned, result);
    }
    return result;
}
/// By an asymptotic series from 10 on; what is smaller is shifted by 10, for which 1/a + ... + 1/(a + 9) is one quotient.
template <class V> KINDLING_INLINE V digamma(const V& x) {
    V a = choose(x < 0.0, 1.0 - x, x), top[5], bottom[5];
    auto low = a < 10.0;
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
        V first = a + 2.0 * i, second = a + (2.0 * i + 1.0);
        top[i] = first + second;
        bottom[i] = first * second;
    }
    auto join = [&](int i, int k) {
        top[i] = top[i] * bottom[k] + top[k] * bottom[i];
        bottom[i] = bottom[i] * bottom[k];
    };
    join(0, 1), join(2, 3), join(0, 2), join(0, 4);
    constexpr double series[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    V y = choose(low, a + 10.0, a), inverse = 1.0 / y, z = inverse * inverse;
    V result = (once_log(y) - 0.5 * inverse - z * evaluate(z, series)) - choose(low, top[0] / bottom[0], V{});
    return digamma_from(x, result);
}

/// The modified Bessel functions of the first kind, times e^-|x|.
template <class V> __attribute__((noinline)) V i0e(V x) {
    V a = absolute(x), result = evaluate(V(0.25 * a - 1.0), coefficients::i0_small);
    auto far = a > 8.0;
    if (anywhere(far)) result = choose(far, evaluate(V(16.0 / a - 1.0), coefficients::i0_large) / square_root(a), result);
    return result;
}
template <class V> __attribute__((noinline)) V i1e(V x) {
    V a = absolute(x), result = a * evaluate(V(0.25 * a - 1.0), coefficients::i1_small);
    auto far = a > 8.0;
    if (anywhere(far)) result = choose(far, evaluate(V(16.0 / a - 1.0), coefficients::i1_large) / square_root(a), result);
    return choose(x < 0.0, -result, result);
}
/// scaled e^|x| without overflow on the way.
template <class V> KINDLING_INLINE V with_growth(const V& scaled, const V& x) {
    V half = once_exp(V(0.5 * absolute(x)));
    return scaled * half * half;
}
template <class V> KINDLING_INLINE V i0(const V& x) { return with_growth(i0e(x), x); }
template <class V> KINDLING_INLINE V i1(const V& x) { return with_growth(i1e(x), x); }

/// Where erfc is q, for 0 < q <= 1/2: a polynomial near it, then a step of Halley's on the logarithm, in which e^(-u u) cannot underflow.
template <class V> __attribute__((noinline)) V erfc_inverse(V q) {
    V w = -once_log(q), s = square_root(w), u = evaluate(V(s - 2.4), coefficients::erfc_inverse_near);
    auto far = s > 4.0;
    if (anywhere(far)) u = choose(far, evaluate(V(s - 15.7), coefficients::erfc_inverse_far), u);
    V scaled = once_erfcx(u), slope = 1.1283791670955126 / scaled, rest = (once_log(scaled) - u * u) + w;
    return u + rest / (slope + 0.5 * rest * (slope - 2.0 * u));
}
template <class V> KINDLING_INLINE V erfinv(const V& x) {
    V a = absolute(x), result = x * evaluate(V(x * x), coefficients::erfinv);
    auto outer = a > 0.625;
    if (anywhere(outer)) {
        V tail = choose(a == 1.0, all<V>(infinity), erfc_inverse(V(1.0 - a))); // NaN beyond 1
        result = choose(outer, with_sign(tail, x), result);
    }
    return result;
}
template <class V> KINDLING_INLINE V ndtri(const V& p) {
    V middle = 2.0 * p - 1.0, result = middle * evaluate(V(middle * middle), coefficients::erfinv);
    auto outer = absolute(middle) > 0.625;
    if (anywhere(outer)) {
        V q = choose(p < 0.5, p, 1.0 - p);
        V tail = choose(q == 0.0, all<V>(infinity), erfc_inverse(V(2.0 * q))); // NaN outside [0, 1]
        result = choose(outer, with_sign(tail, middle), result);
    }
    return 1.4142135623730951 * result;
}

/// The sum over k >= 0 of (k + q)^-x, for x > 1 and 0 < q < infinity: twelve terms, the rest by Euler and Maclaurin. `power(at)` is at^-x.
template <class V, class F> KINDLING_INLINE V zeta_sum(const V& x, const V& q, F power) {
    V sum = {}, at = q;
    for (int i = 0; i < 12; i++, at = at + 1.0) sum = sum + power(at);
    V last = power(at), first = sum;
    sum = sum + (last * at / (x - 1.0) + 0.5 * last);
    // B(2j) / (2j)! x (x + 1) ... (x + 2j - 2) at^(-x - 2j + 1)
    constexpr double bernoulli[] = {1.0 / 12,
                                    -1.0 / 720,
                                    1.0 / 30240,
                                    -1.0 / 1209600,
                                    1.0 / 47900160,
                                    -691.0 / 1307674368000.0,
                                    1.0 / 74724249600.0,
                                    -3617.0 / 10670622842880000.0};
    V inverse = 1.0 / at, square = inverse * inverse, factor = x * last * inverse;
    for (int j = 0; j < 8; j++) {
        sum = sum + bernoulli[j] * factor;
        factor = factor * ((x + (2.0 * j + 1.0)) * (x + (2.0 * j + 2.0)) * square);
    }
    return choose(last == 0.0, first, sum); // where x is so large, factors overflow
}
/// Whole x up to this are powers by products: the derivatives of digamma.
inline constexpr double most_zeta_products = 4;
template <class V> __attribute__((noinline)) V zeta(V x, V q) {
    return zeta_sum(x, q, [&](const V& at) { return once_pow(at, V(-x)); });
}
template <class V> __attribute__((noinline)) V zeta_by_products(int x, V q) {
    return zeta_sum(all<V>(x), q, [&](const V& at) {
        V product = at;
        for (int i = 1; i < x; i++) product = product * at;
        return V(1.0 / product);
    });
}

// ---- float32 in float lanes

inline constexpr float whole_magicf = 12582912.0f; // 1.5 * 2^23
inline constexpr float exponent_magicf = whole_magicf + 254.0f;
/// value * 2^k, rounded once, for integer |k| up to 200 and a value near 1. NaN is kept. `shifted` is k +
/// exponent_magicf: halved, its low bits are the exponents of two factors.
template <class V> struct Powers {
    V first, second;
};
template <class V> KINDLING_INLINE Powers<V> powers_of_twof(const V& shifted) {
    Bits<V> first = bits_of(shifted) << 22 & 0xFF800000u;
    return {from_bits<V>(first), from_bits<V>((bits_of(shifted) << 23) - first)};
}
template <class V> KINDLING_INLINE V scaled_by_powerf(const V& value, const V& k, const V& shifted) {
    if (V scaled{}; scaled_at_once(value, k, scaled)) return scaled;
    Powers<V> powers = powers_of_twof(shifted);
    return value * powers.first * powers.second;
}
/// 1 ulp.
template <class V> KINDLING_INLINE V expf(const V& x) {
    V bounded = at_most(at_least_lowest(x, lowest_power(x) * 0.693f), 90.0f);
    V shifted = mul_add(bounded, all<V>(1.44269504f), all<V>(exponent_magicf)), k = shifted - exponent_magicf;
    V r = mul_add(k, all<V>(-0.693359375f), bounded);
    r = mul_add(k, all<V>(2.12194440e-4f), r);
    V more = mul_add(polynomial(r, coefficients::expf), r * r, r);
    if (V scaled{}; scaled_at_once(V(1.0f + more), k, scaled)) return scaled;
    Powers<V> powers = powers_of_twof(shifted);
    return mul_add(powers.first, more, powers.first) * powers.second;
}
/// A result that is valid except in rare lanes, whose `size` is above `most`. The caller computes those.
template <class V> struct Usual {
    V value;
    Mask<V> size;
    int32_t most;
    KINDLING_INLINE Mask<V> rare() const { return size > all<Mask<V>>(most); }
};
/// Above unusual_float for everything that is not a normal number > 0.
inline constexpr int32_t unusual_float = -0x01000001;
template <class V> KINDLING_INLINE Mask<V> unusual_size(const V& x) { return bit_cast<Mask<V>>(bits_of(x) + 0x7F800000u); }

/// x = 2^k (1 + f) for a normal x > 0; `power` holds k in the exponent's place.
template <class V> struct LogPartsf {
    V k, f;
    Bits<V> power;
};
template <class V> KINDLING_INLINE LogPartsf<V> log_partsf(const V& x) {
    Bits<V> power = (bits_of(x) - 0x3F3504F3u) & 0xFF800000u;
    return {convert<float>(bit_cast<Mask<V>>(power) >> 23), from_bits<V>(bits_of(x) - power) - 1.0f, power};
}
/// k log(2) + log(1 + f) + extra.
template <class V> KINDLING_INLINE V log_sumf(const V& k, const V& f, const V& extra) {
    using namespace coefficients;
    V square = f * f, rest = mul_add(f * square, powers(f, coefficients::logf), mul_add(k, all<V>(ln2f[1]), extra));
    rest = mul_add(f * -0.5f, f, rest);
    return mul_add(k, all<V>(ln2f[0]), f + rest);
}
enum class Base { E, Two, Ten };
/// (k log(2) + log(1 + f)) / log(base). f - f^2/2 is a sum of two floats; the rest of the series includes the base.
template <Base B, class V> KINDLING_INLINE V log_sumf(const V& k, const V& f) {
    using namespace coefficients;
    if constexpr (B == Base::E) return log_sumf(k, f, V{});
    const float (&inverse)[2] = B == Base::Two ? inverse_ln2f : inverse_ln10f;
    V half = f * -0.5f, first = mul_add(half, f, f), lost = mul_add(half, f, f - first), square = f * f;
    V series = powers(f, B == Base::Two ? coefficients::log2f : coefficients::log10f);
    series = mul_add(f, series, all<V>(B == Base::Two ? log2f_third : log10f_third));
    V whole = k, rest = first * inverse[1];
    if constexpr (B == Base::Ten) whole = k * log10_2f[0], rest = mul_add(k, all<V>(log10_2f[1]), rest);
    rest = mul_add(f, square * series, mul_add(lost, all<V>(inverse[0]), rest));
    V total = mul_add(first, all<V>(inverse[0]), whole);
    return total + (mul_add(first, all<V>(inverse[0]), whole - total) + rest);
}
template <Base B, class V> KINDLING_INLINE Usual<V> usual_logf(const V& x) {
    LogPartsf<V> parts = log_partsf(x);
    return {log_sumf<B>(parts.k, parts.f), unusual_size(x), unusual_float};
}
/// The same bits, for all other numbers as well. Not in doubles, since a tensor may be full of zeros.
template <Base B, class V> KINDLING_INLINE V any_logf(const V& x) {
    constexpr float inf = __builtin_inff();
    auto small = x < 1.17549435e-38f;
    LogPartsf<V> parts = log_partsf(choose(small, x * 33554432.0f, x)); // 2^25
    V result = log_sumf<B>(choose(small, parts.k - 25.0f, parts.k), parts.f);
    result = choose(x == inf, x, result);
    result = choose(x == 0.0f, all<V>(-inf), result);
    return choose((x < 0.0f) | (x != x), all<V>(__builtin_nanf("")), result);
}
template <class V> KINDLING_INLINE Usual<V> log1pf(const V& x) {
    V sum = 1.0f + x, lost = x - (sum - 1.0f);
    LogPartsf<V> parts = log_partsf(sum);
    V part = lost * from_bits<V>(0x3F800000u - parts.power), f = parts.f + part, low = part - (f - parts.f);
    constexpr int32_t largest = unusual_float - 0x0E000000; // about 1e30
    return {choose(x == 0.0f, x, log_sumf(parts.k, f, mul_add(-f, low, low))), unusual_size(sum), largest};
}

/// 2^(f + low) for |f| <= 1/2.
template <class V> KINDLING_INLINE V exp2_fractionf(const V& f, const V& low) {
    using namespace coefficients;
    const V slope = all<V>(exp2f_slope);
    V most = mul_add(f, slope, all<V>(1.0f)), rest = mul_add(low, slope, mul_add(f, slope, 1.0f - most)), square = f * f;
    V bend = mul_add(square, mul_add(all<V>(exp2f_bend[4]), square, mul_add(all<V>(exp2f_bend[3]), f, all<V>(exp2f_bend[2]))),
                     mul_add(all<V>(exp2f_bend[1]), f, all<V>(exp2f_bend[0])));
    return most + mul_add(square, bend, rest);
}
template <class V> KINDLING_INLINE V exp2f(const V& x) {
    V bounded = at_most(at_least_lowest(x, lowest_power(x)), 160.0f), shifted = bounded + exponent_magicf, k = shifted - exponent_magicf;
    return scaled_by_powerf(exp2_fractionf(bounded - k, V{}), k, shifted);
}
/// 2^(y log2(x)). The logarithm is a sum of two floats with an error of about 2^-33. x = 2^k m. The one of 16 intervals
/// of m that holds it has a number c near 1 / m, with log2(1 / c) in two floats, so that m c = 1 + r + error with |r| <
/// 1/32.
/// Plain: for positive numbers with a result far from overflow. All others are rare.
template <bool Plain, class V> KINDLING_INLINE Usual<V> powf(const V& x, const V& y) {
    using namespace coefficients;
    V a = Plain ? x : absolute(x);
    Bits<V> word = bits_of(a) - powf_start, power = word & 0xFF800000u, stretch = word >> 19;
    V m = from_bits<V>(bits_of(a) - power), inverse = lookup(powf_inverse, stretch);
    V base = convert<float>(bit_cast<Mask<V>>(word) >> 23) + lookup(powf_log, stretch);
    V product = m * inverse, error = mul_add(m, inverse, -product), r = product - 1.0f;
    // log(1 + r + error) = u + low
    V half = r * -0.5f, u = mul_add(half, r, r), square = r * r, back = 1.0f - r;
    V tail =
        mul_add(square, mul_add(all<V>(powf_tail[3]), r, all<V>(powf_tail[2])), mul_add(all<V>(powf_tail[1]), r, all<V>(powf_tail[0])));
    V low = mul_add(square * r, tail, mul_add(error, mul_add(square, back, back), mul_add(half, r, r - u)));
    V part = u * inverse_ln2f[0], part_low = mul_add(u, all<V>(inverse_ln2f[0]), -part);
    part_low = mul_add(low, all<V>(inverse_ln2f[0]), mul_add(u, all<V>(inverse_ln2f[1]), part_low));
    V high = base + part;
    low = ((base - high) + part) + (part_low + lookup(powf_log_low, stretch));

    V exponent = high * y, less = mul_add(low, y, mul_add(high, y, -exponent));
    V bounded = Plain ? exponent : at_most(at_least_lowest(exponent, lowest_power(exponent)), 160.0f);
    constexpr float magic = Plain ? whole_magicf : exponent_magicf;
    V shifted = bounded + magic, n = shifted - magic, exact = bounded - n, f = exact + less;
    V scaled = exp2_fractionf(f, less - (f - exact));
    Mask<V> size = bit_cast<Mask<V>>(absolute(exponent)), largest = all<Mask<V>>(0x7FFFFFFF);
    if constexpr (Plain)
        return {from_bits<V>(bits_of(scaled) + (bits_of(shifted) << 23)), choose(unusual_size(a) > unusual_float, largest, size),
                0x42FA0000 - 1}; // 125
    V result = scaled_by_powerf(scaled, n, shifted);
    auto whole = convert<int32_t>(y);
    Bits<V> odd = bit_cast<Bits<V>>(whole) << 31;
    auto no_number = (bit_cast<Mask<V>>(x) < 0) & (convert<float>(whole) != y);
    V sign = from_bits<V>(odd & bits_of(x) & 0x80000000u);
    auto zero = (a == 0.0f) & (y > 0.0f) & ~no_number;
    size = choose(zero, all<Mask<V>>(0), choose((unusual_size(a) > unusual_float) | no_number, largest, size));
    return {from_bits<V>(bits_of(choose(zero, V{}, result)) ^ bits_of(sign)), size, 0x447A0000 - 1}; // 1000
}
template <class V> KINDLING_INLINE V expm1f(const V& x) {
    using namespace coefficients;
    V bounded = at_most(at_least(x, -20.0f), 89.0f);
    constexpr float magic = whole_magicf + 126.0f; // the exponent of half the power of two
    V shifted = mul_add(bounded, all<V>(1.44269504f), all<V>(magic)), k = shifted - magic;
    V first = mul_add(k, all<V>(-ln2f[0]), bounded), r = mul_add(k, all<V>(-ln2f[1]), first);
    V error = mul_add(k, all<V>(-ln2f[1]), first - r), bend = r * 0.5f, most = mul_add(bend, r, r);
    V cube = mul_add(polynomial(r, coefficients::expm1f), r * r * r, mul_add(error, r, error)), small = most + cube;
    V lost = mul_add(bend, r, r - most) + (cube - (small - most));
    V half = from_bits<V>(bits_of(shifted) << 23), less = half - 0.5f, sum = mul_add(small, half, less);
    V low = mul_add(small, half, less - sum) + ((half - less) - 0.5f);
    V result = 2.0f * (sum + mul_add(lost, half, low));
    return choose(absolute(x) < 1e-8f, x, result);
}

/// Whether the tables of sines and cosines are the same a quarter of a turn apart: so the cosine reads what the sine does.
constexpr bool quarter_turns_agree() {
    using namespace coefficients;
    for (int k = 0; k < 16; k++)
        if (sinf_eighth[(k + 4) & 15] != cosf_eighth[k] || cosf_eighth[(k + 4) & 15] != -sinf_eighth[k]) return false;
    for (int k = 0; k < 8; k++)
        if (sinf_eighth_rest[(k + 4) & 7] != cosf_eighth_rest[k] || cosf_eighth_rest[(k + 4) & 7] != sinf_eighth_rest[k]) return false;
    return true;
}
static_assert(quarter_turns_agree());

/// Sine or cosine of an angle that is not large. The angle minus k pi/8 is r + low. sin(k pi/8 + r) is the table's sine
/// plus r times the cosine, as a sum of two floats, plus small terms; cos(k pi/8 + r) is the table's cosine minus r times
/// the sine. The second half of a turn is the negated first one: with look-ups in tables of 16 numbers it needs no sign.
/// Whoever needs both (a derivative) shares all but the last sum.
inline constexpr float largest_usual_angle = 1024.0f;
template <bool Cosine, class V> KINDLING_INLINE Usual<V> sine_or_cosine(const V& x) {
    using namespace coefficients;
    V a = absolute(x);
    V shifted = mul_add(a, all<V>(2.54647909f), all<V>(whole_magicf)), k = shifted - whole_magicf;
    V first = mul_add(k, all<V>(-eighth_pif[0]), a), r = mul_add(k, all<V>(-eighth_pif[1]), first);
    V low = mul_add(k, all<V>(-eighth_pif[2]), mul_add(k, all<V>(-eighth_pif[1]), first - r));
    Bits<V> place = bits_of(shifted);
    const bool whole_turn = looks_up_sixteen<V>();
    V sine = whole_turn ? lookup(sinf_eighth, place) : lookup(first_half(sinf_eighth), place);
    V cosine = whole_turn ? lookup(cosf_eighth, place) : lookup(first_half(cosf_eighth), place);
    V sine_rest = lookup(sinf_eighth_rest, place), cosine_rest = lookup(cosf_eighth_rest, place);
    V at = Cosine ? cosine : sine, slope = Cosine ? -sine : cosine;
    V z = r * r, odd = mul_add(z, all<V>(sinf_short[1]), all<V>(sinf_short[0]));
    V even = mul_add(z, mul_add(z, all<V>(cosf_short[2]), all<V>(cosf_short[1])), all<V>(cosf_short[0]));
    odd = mul_add(z, odd, Cosine ? sine_rest : cosine_rest);
    even = mul_add(z, even, Cosine ? cosine_rest : sine_rest);
    V most = mul_add(slope, r, at), lost = mul_add(slope, r, at - most);
    V result = most + mul_add(at, even, mul_add(slope, mul_add(r, odd, low), lost));
    Mask<V> size = bit_cast<Mask<V>>(a);
    constexpr int32_t largest = 0x44800000;
    static_assert(largest_usual_angle == 1024.0f);
    if (whole_turn && Cosine) return {result, size, largest};
    Bits<V> sign = whole_turn ? bits_of(x) : Cosine ? place << 28 : place << 28 ^ bits_of(x);
    return {from_bits<V>(bits_of(result) ^ (sign & 0x80000000u)), size, largest};
}
/// 0.6 ulp.
template <class V> KINDLING_INLINE Usual<V> sinf(const V& x) { return sine_or_cosine<false>(x); }
template <class V> KINDLING_INLINE Usual<V> cosf(const V& x) { return sine_or_cosine<true>(x); }
/// The same up to largest_short_angle. The angle minus quarter turns is a sum of two floats: the product with the first
/// part of pi/2 is exact under mul_add, that with the second part has an error that goes to the lower one. In the first
/// term of sine beyond the angle, the error of the square counts as well.
inline constexpr float largest_short_angle = 131072.0f; // 17 bits of quarter turns
template <class V> KINDLING_INLINE V far_sine_or_cosine(const V& x, bool is_cosine) {
    using namespace coefficients;
    V a = absolute(x);
    V shifted = mul_add(a, all<V>(0.636619747f), all<V>(whole_magicf)), k = shifted - whole_magicf;
    V first = mul_add(k, all<V>(-half_pif[0]), a), part = k * -half_pif[1], high = first + part;
    V low = mul_add(k, all<V>(-half_pif[2]), mul_add(k, all<V>(-half_pif[1]), -part)) + ((first - high) + part);

    V z = high * high, fourth = z * z, cube = high * z, half = high * -0.5f;
    V more = mul_add(all<V>(sinf_more[2]), fourth, mul_add(all<V>(sinf_more[1]), z, all<V>(sinf_more[0])));
    V sine_low = mul_add(high * sinf_third, mul_add(high, high, -z), mul_add(half * high, low, low));
    V sine = high + mul_add(cube, all<V>(sinf_third), mul_add(cube * z, more, sine_low));

    V whole = mul_add(half, high, all<V>(1.0f)), lost = mul_add(half, high, 1.0f - whole);
    V last = mul_add(all<V>(cosf_last[2]), fourth, mul_add(all<V>(cosf_last[1]), z, all<V>(cosf_last[0])));
    V cosine = whole + mul_add(fourth, last, mul_add(-high, low, lost));

    Bits<V> quadrant = bits_of(shifted) + static_cast<uint32_t>(is_cosine);
    V result = choose((quadrant & 1u) != 0u, cosine, sine);
    return from_bits<V>(bits_of(result) ^ ((quadrant << 30 ^ (is_cosine ? Bits<V>{} : bits_of(x))) & 0x80000000u));
}

template <class V> KINDLING_INLINE V sigmoidf(const V& x) { return 1.0f / (1.0f + expf(-x)); }
/// Which of eight intervals |x|, at most `end`, is in. All have the same length but the first, which has half of it.
template <class V> KINDLING_INLINE Bits<V> stretch_of(const V& size, float stretches) {
    return bits_of(mul_add(size, all<V>(stretches), all<V>(whole_magicf)));
}
template <class V> KINDLING_INLINE V with_sign_of(const V& positive, const V& x) {
    return from_bits<V>(bits_of(positive) | (bits_of(x) & 0x80000000u));
}
/// 1.31 ulp: tanh(c + r) = tanh(c) + (1 - tanh(c)^2) tanh(r) / (1 + tanh(c) tanh(r)), with one c per interval; it is 0
/// in the first.
template <class V> KINDLING_INLINE V tanhf(const V& x) {
    V a = at_most(absolute(x), 9.011f);
    Bits<V> which = stretch_of(a, coefficients::tanhf_stretches);
    V r = a - lookup(coefficients::tanhf_centre, which), there = lookup(coefficients::tanhf_there, which);
    V z = r * r, near = mul_add(r * z, powers(z, coefficients::tanhf), r);
    V more = lookup(coefficients::tanhf_slope, which) * near / mul_add(there, near, all<V>(1.0f));
    return with_sign_of(V(there + more), x);
}
/// 2.3 ulp: a polynomial per interval.
template <class V> KINDLING_INLINE V erff(const V& x) {
    V a = at_most(absolute(x), coefficients::erff_end);
    Bits<V> which = stretch_of(a, coefficients::erff_stretches);
    V t = a - lookup(coefficients::erff_centre, which), result = lookup(coefficients::erff[6], which);
#pragma GCC unroll 6
    for (int i = 5; i >= 0; i--) result = mul_add(result, t, lookup(coefficients::erff[i], which));
    return with_sign_of(result, x);
}

} // namespace kindling::KINDLING_ISA_NAMESPACE::maths
