// tests/cpp/draw.h: small reproducible random inputs for the library's tests.
#pragma once
#include <cstdint>
#include <vector>

#include "core/dtype.h"

namespace draw {

inline uint64_t state = 88172645463325252u;
inline uint64_t bits() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}
/// From low to high, both included.
inline int64_t integer(int64_t low, int64_t high) { return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1)); }
/// In (-1, 1).
inline double real() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1; }

inline std::vector<double> reals(int64_t count) {
    std::vector<double> values(static_cast<size_t>(count));
    for (double& v : values) v = static_cast<double>(static_cast<float>(real()));
    return values;
}
template <class T> std::vector<T> as(const std::vector<double>& values) {
    std::vector<T> out(values.size());
    for (size_t i = 0; i < out.size(); ++i) {
        if constexpr (std::is_same_v<T, kindling::Half>) out[i] = kindling::to_half(static_cast<float>(values[i]));
        else if constexpr (std::is_same_v<T, kindling::BFloat16>) out[i] = kindling::to_bfloat16(static_cast<float>(values[i]));
        else out[i] = static_cast<T>(values[i]);
    }
    return out;
}
template <class T> double number(T value) {
    if constexpr (std::is_same_v<T, kindling::Half> || std::is_same_v<T, kindling::BFloat16>) return kindling::to_float(value);
    else return static_cast<double>(value);
}
/// What one rounding in T may cost, relative to the largest value.
template <class T> constexpr double tolerance() {
    if constexpr (std::is_same_v<T, kindling::BFloat16>) return 1.0 / 128;
    if constexpr (std::is_same_v<T, kindling::Half>) return 1.0 / 1024;
    if constexpr (std::is_same_v<T, float>) return 1e-5;
    return 1e-13;
}
/// Whether `got` is `expected` but for rounding.
template <class T> bool close(const std::vector<T>& got, const std::vector<double>& expected, double factor = 1) {
    if (got.size() != expected.size()) return false;
    double largest = 1;
    for (double e : expected)
        if (e > largest || -e > largest) largest = e < 0 ? -e : e;
    for (size_t i = 0; i < got.size(); ++i) {
        double difference = number(got[i]) - expected[i];
        if (!(difference <= tolerance<T>() * factor * largest && -difference <= tolerance<T>() * factor * largest)) return false;
    }
    return true;
}

} // namespace draw
