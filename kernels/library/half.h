// kernels/library/half.h: conversions of the half types, inline, for the library kernels' scalar code.
#pragma once
#include <bit>

#include "core/dtype.h"

namespace kindling::library {

inline float as_float(BFloat16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

inline float as_float(Half value) {
    uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16, rest = value.bits & 0x7fffu;
    if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest >= 0x400u) return std::bit_cast<float>(sign | ((rest << 13) + (112u << 23)));
    // Subnormal: the digits as a number, times the unit of the last place.
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(rest) * 0x1p-24f));
}

inline BFloat16 as_bfloat16(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fc0};
    return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

inline Half as_half(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value), sign = (bits >> 16) & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
    if (bits >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)}; // rounds to infinity
    if (bits < 0x38800000u) {
        // Subnormal or zero: adding 0.5 leaves the digits, rounded to even, in the low bits of the sum.
        float sum = std::bit_cast<float>(bits) + 0.5f;
        return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000u))};
    }
    bits += 0xfffu + ((bits >> 13) & 1u) - (112u << 23);
    return {static_cast<uint16_t>(sign | bits >> 13)};
}

/// The type in which T is computed: float for the half types, T itself otherwise.
template <class T> struct MathType {
    using type = T;
};
template <> struct MathType<Half> {
    using type = float;
};
template <> struct MathType<BFloat16> {
    using type = float;
};
template <class T> using math_type = typename MathType<T>::type;

template <class T> inline math_type<T> load(const T& value) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return as_float(value);
    else return value;
}
template <class T, class V> inline T store_as(V value) {
    if constexpr (std::is_same_v<T, Half>) return as_half(static_cast<float>(value));
    else if constexpr (std::is_same_v<T, BFloat16>) return as_bfloat16(static_cast<float>(value));
    else return static_cast<T>(value);
}

} // namespace kindling::library
