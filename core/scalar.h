// core/scalar.h: a number of any of the four categories, as Python gives it.
#pragma once
#include <complex>
#include <cstdint>

#include "core/dtype.h"
#include "core/export.h"

namespace KINDLING_VISIBLE kindling {

class Scalar {
public:
    enum class Kind : uint8_t { Bool, Int, UInt, Float, Complex }; // UInt only for values beyond int64

    constexpr Scalar() : Scalar(int64_t{0}) {}
    constexpr Scalar(bool value) : kind_(Kind::Bool), int_(value), imag_(0) {}
    constexpr Scalar(int value) : kind_(Kind::Int), int_(value), imag_(0) {}
    constexpr Scalar(int64_t value) : kind_(Kind::Int), int_(value), imag_(0) {}
    constexpr Scalar(uint64_t value) : kind_(value >> 63 ? Kind::UInt : Kind::Int), int_(static_cast<int64_t>(value)), imag_(0) {}
    constexpr Scalar(double value) : kind_(Kind::Float), real_(value), imag_(0) {}
    constexpr Scalar(float value) : Scalar(static_cast<double>(value)) {}
    Scalar(std::complex<double> value) : kind_(Kind::Complex), real_(value.real()), imag_(value.imag()) {}

    Kind kind() const { return kind_; }
    bool is_bool() const { return kind_ == Kind::Bool; }
    bool is_integral() const { return kind_ == Kind::Int || kind_ == Kind::UInt; } // without bool
    bool is_float() const { return kind_ == Kind::Float; }
    bool is_complex() const { return kind_ == Kind::Complex; }
    /// The dtype torch gives this number by itself, before the default dtype comes in.
    DType dtype() const {
        return is_bool()             ? DType::Bool
               : kind_ == Kind::UInt ? DType::UInt64
               : is_integral()       ? DType::Int64
               : is_float()          ? DType::Float64
                                     : DType::Complex128;
    }
    /// RuntimeError for a complex number that is not real.
    double to_double() const;
    int64_t to_int() const { return kind_ >= Kind::Float ? static_cast<int64_t>(to_double()) : int_; }
    bool to_bool() const { return kind_ >= Kind::Float ? real_ != 0 || imag_ != 0 : int_ != 0; }
    /// The number, or its real part.
    double real() const {
        if (kind_ == Kind::UInt) return static_cast<double>(static_cast<uint64_t>(int_));
        return kind_ >= Kind::Float ? real_ : static_cast<double>(int_);
    }
    std::complex<double> to_complex() const { return {real(), kind_ == Kind::Complex ? imag_ : 0.0}; }
    bool is_real() const { return kind_ != Kind::Complex || imag_ == 0; }
    template <class T> T to() const;
    Scalar operator-() const {
        if (is_complex()) return Scalar(-to_complex());
        return is_float() ? Scalar(-real_) : Scalar(-int_);
    }
    bool equals(double value) const { return is_real() && real() == value; }

private:
    Kind kind_;
    union {
        int64_t int_;
        double real_;
    };
    double imag_;
};

/// RuntimeError as torch where a number has no place in a dtype: too large, NaN or a fraction beyond an integer's range.
/// Negative whole numbers wrap around in unsigned dtypes. The text names the dtype by its C++ type, or else as `called`.
void check_fits(const Scalar& value, DType dtype, const char* called = nullptr);
/// RuntimeError as torch where a factor of a result (alpha, beta) is of another kind: a bool beside numbers, a fraction beside integers.
void check_kind(const Scalar& value, DType result, const char* name);

template <> inline double Scalar::to<double>() const { return to_double(); }
template <> inline float Scalar::to<float>() const { return static_cast<float>(to_double()); }
template <> inline int64_t Scalar::to<int64_t>() const { return to_int(); }
template <> inline int Scalar::to<int>() const { return static_cast<int>(to_int()); }
template <> inline bool Scalar::to<bool>() const { return to_bool(); }
template <> inline std::complex<double> Scalar::to<std::complex<double>>() const { return to_complex(); }

} // namespace kindling
