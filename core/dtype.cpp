// core/dtype.cpp: names and promotion of element types, conversion of half types.
#include "core/dtype.h"

#include <bit>
#include <iterator>

#include "core/error.h"
#include "core/float8.h"

namespace kindling {

const char* name(DType dtype) {
    static constexpr const char* names[] = {
        "uint8",           "int8",           "int16",    "int32",  "int64",  "float16", "float32",       "float64",     "complex64",
        "complex128",      "bool",           "bfloat16", "uint16", "uint32", "uint64",  "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
        "float8_e5m2fnuz", "float8_e8m0fnu", "none"};
    static_assert(std::size(names) == dtype_count + 1);
    return names[static_cast<int>(dtype)];
}

const char* scalar_type_name(DType dtype) {
    static constexpr const char* names[] = {"Byte",
                                            "Char",
                                            "Short",
                                            "Int",
                                            "Long",
                                            "Half",
                                            "Float",
                                            "Double",
                                            "ComplexFloat",
                                            "ComplexDouble",
                                            "Bool",
                                            "BFloat16",
                                            "UInt16",
                                            "UInt32",
                                            "UInt64",
                                            "Float8_e4m3fn",
                                            "Float8_e5m2",
                                            "Float8_e4m3fnuz",
                                            "Float8_e5m2fnuz",
                                            "Float8_e8m0fnu",
                                            "Undefined"};
    static_assert(std::size(names) == dtype_count + 1);
    return names[static_cast<int>(dtype)];
}

const char* c_type_name(DType dtype) {
    static constexpr const char* names[] = {"uint8_t",
                                            "int8_t",
                                            "int16_t",
                                            "int",
                                            "int64_t",
                                            "c10::Half",
                                            "float",
                                            "double",
                                            "c10::complex<float>",
                                            "c10::complex<double>",
                                            "bool",
                                            "c10::BFloat16",
                                            "uint16_t",
                                            "uint32_t",
                                            "uint64_t",
                                            "c10::Float8_e4m3fn",
                                            "c10::Float8_e5m2",
                                            "c10::Float8_e4m3fnuz",
                                            "c10::Float8_e5m2fnuz",
                                            "c10::Float8_e8m0fnu",
                                            "Undefined"};
    static_assert(std::size(names) == dtype_count + 1);
    return names[static_cast<int>(dtype)];
}

DType promote(DType a, DType b) {
    if (a == b) return a;
    if (is_float8(a) || is_float8(b)) return DType::None;
    int ca = category(a), cb = category(b);
    if (ca < cb) {
        std::swap(a, b);
        std::swap(ca, cb);
    } // a has the higher category
    auto is_wide = [](DType each) { return is_unsigned(each) && each != DType::UInt8; };
    if ((ca == 3 && is_wide(b)) || (cb == 0 && is_wide(a))) return DType::None; // torch has no rule for these
    if (ca == 3) {
        if (cb == 3) return DType::Complex128; // the two complex types differ
        return a == DType::Complex128 || b == DType::Float64 ? DType::Complex128 : DType::Complex64;
    }
    if (ca == 2) {
        if (cb < 2) return a;
        if (a == DType::Float64 || b == DType::Float64) return DType::Float64;
        return DType::Float32; // float with a half type, or the two half types
    }
    if (cb == 0) return a;
    bool ua = is_unsigned(a), ub = is_unsigned(b);
    if (ua == ub && !ua) return item_size(a) > item_size(b) ? a : b;
    if (ua && ub) return DType::None; // uint8 with a wider unsigned: torch has no rule either
    DType u = ua ? a : b, s = ua ? b : a;
    if (u != DType::UInt8) return DType::None;
    return s == DType::Int8 ? DType::Int16 : s;
}

DType promote_or_fail(DType a, DType b) {
    const DType both = promote(a, b);
    KINDLING_CHECK(Runtime, both != DType::None, "Promotion for %s is not supported, attempted to promote %s and %s",
                   is_float8(a) || is_float8(b) ? "Float8 Types" : "uint16, uint32, uint64 types", scalar_type_name(a),
                   scalar_type_name(b));
    return both;
}

float to_float(Half value) {
    uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16, exponent = (value.bits >> 10) & 31, mantissa = value.bits & 1023u;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
    if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f; // zero or denormal: exact
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

float to_float(BFloat16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

Half to_half(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu))};
    if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};
    if (magnitude < 0x38800000u) { // becomes a half denormal: adding 0.5 lines the bits up, rounding to even
        float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u))};
    }
    uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u;
    return {static_cast<uint16_t>(sign | rounded >> 13)};
}

BFloat16 to_bfloat16(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fc0};
    return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

float to_float(DType dtype, uint8_t code) {
    return for_float8(dtype, [code]<DType type>() { return from_float8<type>(code); });
}
uint8_t to_float8(DType dtype, float value) {
    return for_float8(dtype, [value]<DType type>() { return to_float8<type>(value); });
}

} // namespace kindling
