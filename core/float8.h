// core/float8.h: the eight-bit floating dtypes: one bit of sign, then exponent and mantissa as named (Micikevicius et al., 2022, and
// the OCP microscaling formats), or an exponent alone.
#pragma once
#include <bit>
#include <cstdint>

#include "core/dtype.h"

namespace kindling {

/// What a format has beside numbers: infinities, or more numbers; `fnuz` formats have no negative zero, whose code is NaN.
struct Float8Format {
    int mantissa, bias;
    uint8_t greatest, nan; // codes without sign; what is between them are infinities
    bool no_negative_zero;
};
constexpr Float8Format float8_format(DType dtype) {
    switch (dtype) {
    case DType::Float8E4M3FN: return {3, 7, 0x7e, 0x7f, false};
    case DType::Float8E5M2: return {2, 15, 0x7b, 0x7f, false};
    case DType::Float8E4M3FNUZ: return {3, 8, 0x7f, 0x80, true};
    default: return {2, 16, 0x7f, 0x80, true}; // Float8E5M2FNUZ
    }
}

template <DType dtype> inline float from_float8(uint8_t code) {
    if constexpr (dtype == DType::Float8E8M0FNU) {
        if (code == 0xff) return std::bit_cast<float>(0x7fc00000u);
        return std::bit_cast<float>(code ? static_cast<uint32_t>(code) << 23 : 0x00400000u);
    } else {
        constexpr Float8Format f = float8_format(dtype);
        const uint32_t sign = static_cast<uint32_t>(code & 0x80u) << 24, magnitude = code & 0x7fu;
        if (f.no_negative_zero ? code == f.nan : magnitude > f.greatest) {
            const bool infinite = dtype == DType::Float8E5M2 && magnitude == f.greatest + 1;
            return std::bit_cast<float>(sign | (infinite ? 0x7f800000u : 0x7fc00000u));
        }
        constexpr uint32_t implied = 1u << f.mantissa;
        if (magnitude >= implied)
            return std::bit_cast<float>(sign | ((magnitude << (23 - f.mantissa)) + (static_cast<uint32_t>(127 - f.bias) << 23)));
        // Below the least exponent: whole multiples of the least number.
        constexpr float least = std::bit_cast<float>(static_cast<uint32_t>(128 - f.bias - f.mantissa) << 23);
        return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(magnitude) * least));
    }
}

/// To nearest, ties to even; what is too large is the greatest number (e4m3fn), infinite (e5m2) or NaN.
template <DType dtype> inline uint8_t to_float8(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
    if constexpr (dtype == DType::Float8E8M0FNU) {
        if (magnitude >= 0x7f800000u) return 0xff;
        const uint32_t exponent = magnitude >> 23, rest = magnitude & 0x7fffffu;
        const bool up = rest > 0x400000u || (rest == 0x400000u && exponent > 0);
        return static_cast<uint8_t>(exponent + up);
    } else {
        constexpr Float8Format f = float8_format(dtype);
        const uint8_t sign = static_cast<uint8_t>(bits >> 24 & 0x80u);
        if (magnitude > 0x7f800000u) return f.no_negative_zero ? f.nan : static_cast<uint8_t>(sign | f.nan);
        uint32_t code;
        if (magnitude < static_cast<uint32_t>(128 - f.bias) << 23) { // adding so much lines the bits up
            constexpr float line = std::bit_cast<float>(static_cast<uint32_t>(128 - f.bias - f.mantissa + 23) << 23);
            code = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + line) - std::bit_cast<uint32_t>(line);
        } else {
            constexpr int dropped = 23 - f.mantissa;
            code = ((magnitude + (1u << (dropped - 1)) - 1 + (magnitude >> dropped & 1u)) >> dropped) -
                   (static_cast<uint32_t>(127 - f.bias) << f.mantissa);
        }
        if (code > f.greatest) {
            if (f.no_negative_zero) return f.nan;
            code = dtype == DType::Float8E5M2 ? f.greatest + 1u : f.greatest;
        }
        if (f.no_negative_zero && code == 0) return 0;
        return static_cast<uint8_t>(sign | code);
    }
}

/// Calls f.template operator()<dtype>() for the eight-bit dtype.
template <class F> decltype(auto) for_float8(DType dtype, F f) {
    switch (dtype) {
    case DType::Float8E4M3FN: return f.template operator()<DType::Float8E4M3FN>();
    case DType::Float8E5M2: return f.template operator()<DType::Float8E5M2>();
    case DType::Float8E4M3FNUZ: return f.template operator()<DType::Float8E4M3FNUZ>();
    case DType::Float8E5M2FNUZ: return f.template operator()<DType::Float8E5M2FNUZ>();
    default: return f.template operator()<DType::Float8E8M0FNU>();
    }
}

} // namespace kindling
