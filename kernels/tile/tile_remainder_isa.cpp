// kernels/tile/tile_remainder_isa.cpp: fmod, remainder and floor division over contiguous arrays, where there is an
// instruction for a fused multiply-add.
// Compiled for vectors.
#include <limits>

#include "kernels/maths/vector.h"
#include "kernels/tile/tile.h"

namespace kindling::KINDLING_ISA_NAMESPACE {
#if defined(__FMA__)
namespace {

/// a - b * c, rounded once.
template <class V> KINDLING_INLINE V without_product(const V& a, const V& b, const V& c) {
    if constexpr (sizeof(Item<V>) == 4) return mul_add(-b, c, a);
#if defined(__AVX512F__)
    else return bit_cast<V>(_mm512_fnmadd_pd(bit_cast<__m512d>(b), bit_cast<__m512d>(c), bit_cast<__m512d>(a)));
#else
    else return bit_cast<V>(_mm256_fnmadd_pd(bit_cast<__m256d>(b), bit_cast<__m256d>(c), bit_cast<__m256d>(a)));
#endif
}

/// The remainder of a by b. It is exact if the quotient is below 2^digits: the quotient is at most rounded up to the
/// next whole number, and the remainder has no more digits than b.
template <class V> struct Left {
    V value;
    Mask<V> rare;
};
template <class V> KINDLING_INLINE Left<V> left_of(const V& a, const V& b) {
    using T = Item<V>;
    constexpr T most = T(1) / std::numeric_limits<T>::epsilon() / 2;
    const V times = round_to<Rounding::Zero>(a / b);
    V left = without_product(a, times, b);
    left = ((left < T(0)) & (a > T(0))) | ((left > T(0)) & (a < T(0))) ? left + with_sign(b, a) : left;
    return {with_sign(left, a), ~((absolute(times) < most) & (absolute(b) < std::numeric_limits<T>::infinity()))};
}

// The scalar versions are in kernels/maths/special.cpp.
template <Primitive P, class V> KINDLING_INLINE V divided(const V& a, const V& b, const V& left) {
    using T = Item<V>;
    if constexpr (P == Primitive::Fmod) return left;
    const auto other_sign = (left != T(0)) & ((left < T(0)) ^ (b < T(0)));
    if constexpr (P == Primitive::Remainder) return other_sign ? left + b : left;
    V quotient = (a - left) / b;
    quotient = other_sign ? quotient - T(1) : quotient;
    const V whole = round_to<Rounding::Down>(quotient);
    return quotient == T(0) ? with_sign(V{}, a / b) : quotient - whole > T(0.5) ? whole + T(1) : whole;
}

template <class V> __attribute__((noinline, cold)) V mended(Primitive primitive, V value, Mask<V> rare, V a, V b) {
    const TileFunction one = find_special(primitive, sizeof(Item<V>) == 4 ? DType::Float32 : DType::Float64);
    for (int i = 0; i < Lanes<V>::count; i++)
        if (rare[i]) {
            Item<V> result, x = a[i], y = b[i];
            one(&result, &x, &y, nullptr, 1, 0);
            value[i] = result;
        }
    return value;
}

template <class T, Primitive P> void tile_divided(void* out, const void* a, const void* b, const void*, int64_t n, unsigned splat) {
    loop2<T, T>(
        [](auto x, auto y) {
            const auto left = left_of(x, y);
            const auto value = divided<P>(x, y, left.value);
            if (anywhere(left.rare)) [[unlikely]]
                return mended(P, value, left.rare, x, y);
            return value;
        },
        out, a, b, n, splat);
}

template <class T> TileFunction find_divided(Primitive primitive) {
    switch (primitive) {
    case Primitive::Fmod: return tile_divided<T, Primitive::Fmod>;
    case Primitive::Remainder: return tile_divided<T, Primitive::Remainder>;
    case Primitive::FloorDiv: return tile_divided<T, Primitive::FloorDiv>;
    default: return nullptr;
    }
}

} // namespace

TileFunction find_remainder(Primitive primitive, DType type) {
    if (type == DType::Float32) return find_divided<float>(primitive);
    return type == DType::Float64 ? find_divided<double>(primitive) : nullptr;
}
#else
TileFunction find_remainder(Primitive, DType) { return nullptr; }
#endif

} // namespace kindling::KINDLING_ISA_NAMESPACE
