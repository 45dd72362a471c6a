// kernels/library/dtype_switch.h: from a dtype to a type, for kernels written as templates.
//
// Every type in a list is one more copy of what it calls, so keep lists short. Moving elements needs only their size
// (`by_size`). What is bound by memory can compute in one wide type and load and store by dtype.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/dtype.h"
#include "core/error.h"

namespace kindling::library {

template <class... T> struct Types {};
using FloatingTypes = Types<float, double, Half, BFloat16>;
using NarrowIntegers = Types<uint8_t, int8_t, int16_t, int32_t, int64_t>;
using WideUnsigned = Types<uint16_t, uint32_t, uint64_t>;

template <class... A, class... B> constexpr Types<A..., B...> operator+(Types<A...>, Types<B...>) { return {}; }
using AllTypes = decltype(FloatingTypes{} + NarrowIntegers{} + WideUnsigned{} + Types<bool, std::complex<float>, std::complex<double>>{});

/// torch's error for a dtype without a kernel.
[[noreturn, gnu::cold]] inline void refuse_dtype(const char* kernel, DType dtype) {
    fail(ErrorKind::NotImplemented, "\"%s\" not implemented for '%s'", kernel, scalar_type_name(dtype));
}

/// Calls f(T{}) for the type among `types` that `dtype` stands for.
template <class... T, class F> void for_type(Types<T...>, DType dtype, const char* kernel, F f) {
    bool found = ((dtype == dtype_of<T> ? (f(T{}), true) : false) || ...);
    if (!found) refuse_dtype(kernel, dtype);
}

/// Calls f(T{}) for a type of that many bytes, to move elements.
template <class F> void by_size(size_t bytes, F f) {
    struct Sixteen {
        uint64_t low, high;
    };
    switch (bytes) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Sixteen{});
    }
}

} // namespace kindling::library
