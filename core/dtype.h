// core/dtype.h: the element types, and torch's promotion rules for them.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>

#include "core/export.h"

namespace KINDLING_VISIBLE kindling {

enum class DType : uint8_t {
    UInt8,
    Int8,
    Int16,
    Int32,
    Int64,
    Float16,
    Float32,
    Float64,
    Complex64,
    Complex128,
    Bool,
    BFloat16,
    UInt16,
    UInt32,
    UInt64,
    // Stored, moved and cast, in a few operators compared; not computed with (core/float8.h).
    Float8E4M3FN,
    Float8E5M2,
    Float8E4M3FNUZ,
    Float8E5M2FNUZ,
    Float8E8M0FNU,
    None, // "no dtype given"; never the dtype of a tensor
};
inline constexpr int dtype_count = 20;
static_assert(dtype_count == static_cast<int>(DType::None));

/// IEEE half and bfloat16 as they lie in memory; arithmetic on them happens in float.
struct Half {
    uint16_t bits;
};
struct BFloat16 {
    uint16_t bits;
};

namespace detail {
inline constexpr uint8_t item_sizes[] = {1, 1, 2, 4, 8, 2, 4, 8, 8, 16, 1, 2, 2, 4, 8, 1, 1, 1, 1, 1, 0};
// Categories as torch's promotion sees them: 0 bool, 1 integral, 2 floating, 3 complex.
inline constexpr uint8_t categories[] = {1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 0, 2, 1, 1, 1, 2, 2, 2, 2, 2, 0};
} // namespace detail

constexpr size_t item_size(DType dtype) { return detail::item_sizes[static_cast<int>(dtype)]; }
constexpr int category(DType dtype) { return detail::categories[static_cast<int>(dtype)]; }
constexpr bool is_floating(DType dtype) { return category(dtype) == 2; }
constexpr bool is_complex(DType dtype) { return category(dtype) == 3; }
constexpr bool is_integral(DType dtype) { return category(dtype) == 1; } // without bool
constexpr bool is_differentiable(DType dtype) { return category(dtype) >= 2; }
constexpr bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }
constexpr bool is_float8(DType dtype) { return dtype >= DType::Float8E4M3FN && dtype <= DType::Float8E8M0FNU; }
constexpr bool is_narrow(DType dtype) { return is_half(dtype) || is_float8(dtype); } // its values are computed with as float
constexpr bool is_unsigned(DType dtype) { return dtype == DType::UInt8 || (dtype >= DType::UInt16 && dtype <= DType::UInt64); }

/// "float32", as in `torch.float32`.
const char* name(DType dtype);
/// "Float", "Long", ...: the names torch's error messages use.
const char* scalar_type_name(DType dtype);
/// As the errors of conversions have it.
const char* c_type_name(DType dtype);
/// The greatest finite number of a floating dtype.
constexpr double greatest(DType dtype) {
    switch (dtype) {
    case DType::Float16: return 65504;
    case DType::BFloat16: return 0x1.fep127;
    case DType::Float32: return 0x1.fffffep127;
    case DType::Float8E4M3FN: return 448;
    case DType::Float8E4M3FNUZ: return 240;
    case DType::Float8E5M2:
    case DType::Float8E5M2FNUZ: return 57344;
    case DType::Float8E8M0FNU: return 0x1p127;
    default: return 0x1.fffffffffffffp1023;
    }
}
/// The dtype both operands are converted to; DType::None where torch has no promotion (uint16 with int32, ...).
DType promote(DType a, DType b);
/// The same; RuntimeError where torch has none.
DType promote_or_fail(DType a, DType b);
constexpr DType to_complex(DType dtype) {
    return dtype == DType::Float64 || dtype == DType::Complex128 ? DType::Complex128 : DType::Complex64;
}
constexpr DType to_real(DType dtype) {
    return dtype == DType::Complex128 ? DType::Float64 : dtype == DType::Complex64 ? DType::Float32 : dtype;
}

template <class T> struct DTypeOf;
// clang-format off
#define KINDLING_FOR_EACH_DTYPE(F)                                                                                    \
    F(uint8_t, UInt8) F(int8_t, Int8) F(int16_t, Int16) F(int32_t, Int32) F(int64_t, Int64) F(Half, Float16)          \
    F(float, Float32) F(double, Float64) F(std::complex<float>, Complex64) F(std::complex<double>, Complex128)        \
    F(bool, Bool) F(BFloat16, BFloat16) F(uint16_t, UInt16) F(uint32_t, UInt32) F(uint64_t, UInt64)
// clang-format on
#define KINDLING_DTYPE_OF(T, D)                                                                                                            \
    template <> struct DTypeOf<T> {                                                                                                        \
        static constexpr DType value = DType::D;                                                                                           \
    };
KINDLING_FOR_EACH_DTYPE(KINDLING_DTYPE_OF)
#undef KINDLING_DTYPE_OF
template <class T> inline constexpr DType dtype_of = DTypeOf<T>::value;

float to_float(Half value);
float to_float(BFloat16 value);
/// Of an eight-bit dtype.
float to_float(DType dtype, uint8_t code);
uint8_t to_float8(DType dtype, float value);
Half to_half(float value);
BFloat16 to_bfloat16(float value);

} // namespace kindling
