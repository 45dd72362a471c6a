// kernels/native/record.h: a value type that records what is done with it. Scalar bodies written for vectors (maths.h,
// arithmetic.h) run over it and leave a lane program. Include it before those. One recorder per thread.
#pragma once
#include "kernels/maths/vector.h"
#include "kernels/native/lanes.h"

namespace kindling::KINDLING_ISA_NAMESPACE {

extern constinit thread_local native::Recorder* recorder;

template <class T>
inline constexpr native::LaneType lane_type = std::is_same_v<T, float>      ? native::LaneType::F32
                                              : std::is_same_v<T, double>   ? native::LaneType::F64
                                              : std::is_same_v<T, int32_t>  ? native::LaneType::I32
                                              : std::is_same_v<T, uint32_t> ? native::LaneType::U32
                                              : std::is_same_v<T, int64_t>  ? native::LaneType::I64
                                                                            : native::LaneType::U64;

uint64_t number_bits(float value);
uint64_t number_bits(double value);
inline uint64_t number_bits(int32_t value) { return static_cast<uint32_t>(value); }
inline uint64_t number_bits(uint32_t value) { return value; }
inline uint64_t number_bits(int64_t value) { return static_cast<uint64_t>(value); }
inline uint64_t number_bits(uint64_t value) { return value; }

/// A vector of T that stands for a value of the lane program. Comparisons give a mask, represented as integers of that
/// size.
template <class T> struct Recorded {
    using Test = Recorded<typename IntegerOf<sizeof(T)>::type>;
    int32_t lane = native::Recorder::zero;

    Recorded() = default;
    explicit Recorded(int32_t which, std::nullptr_t) : lane(which) {}
    Recorded(T value) : lane(recorder->constant(lane_type<T>, number_bits(value))) {}

    static int32_t both(native::LaneWhat what, const Recorded& a, const Recorded& b) {
        return recorder->binary(what, lane_type<T>, a.lane, b.lane);
    }
#define KINDLING_RECORDED(RESULT, OPERATOR, WHAT)                                                                                          \
    friend RESULT operator OPERATOR(const Recorded& a, const Recorded& b) { return RESULT(both(native::LaneWhat::WHAT, a, b), nullptr); }
    // clang-format off
    KINDLING_RECORDED(Recorded, +, Add) KINDLING_RECORDED(Recorded, -, Sub) KINDLING_RECORDED(Recorded, *, Mul)
    KINDLING_RECORDED(Recorded, /, Div) KINDLING_RECORDED(Recorded, &, And) KINDLING_RECORDED(Recorded, |, Or)
    KINDLING_RECORDED(Recorded, ^, Xor) KINDLING_RECORDED(Recorded, <<, Shl) KINDLING_RECORDED(Recorded, >>, Shr)
    KINDLING_RECORDED(Test, <, Lt) KINDLING_RECORDED(Test, <=, Le) KINDLING_RECORDED(Test, >, Gt)
    KINDLING_RECORDED(Test, >=, Ge) KINDLING_RECORDED(Test, ==, Eq) KINDLING_RECORDED(Test, !=, Ne)
#undef KINDLING_RECORDED
    friend Recorded operator-(const Recorded& a) { return Recorded(recorder->negate(lane_type<T>, a.lane), nullptr); }
    // clang-format on
    friend Recorded operator~(const Recorded& a) { return Recorded(recorder->invert(lane_type<T>, a.lane), nullptr); }
    Recorded& operator+=(const Recorded& other) { return *this = *this + other; }
    Recorded& operator-=(const Recorded& other) { return *this = *this - other; }
};

template <class T> struct Lanes<Recorded<T>> {
    using Item = T;
    static constexpr int count = 1;
    using Mask = Recorded<typename IntegerOf<sizeof(T)>::type>;
    using Bits = Recorded<typename IntegerOf<sizeof(T)>::bits>;
};

template <class To, class T> To bit_cast(const Recorded<T>& value) { return To(value.lane, nullptr); }
template <class I, class T> Recorded<T> choose(const Recorded<I>& mask, const Recorded<T>& a, const Recorded<T>& b) {
    static_assert(sizeof(I) == sizeof(T));
    return Recorded<T>(recorder->choose(lane_type<T>, mask.lane, a.lane, b.lane), nullptr);
}
template <class To, class T> Recorded<To> convert(const Recorded<T>& value) {
    const int result = recorder->convert(lane_type<T>, lane_type<To>, value.lane);
    recorder->lacking |= result < 0;
    return Recorded<To>(result, nullptr);
}
template <class T> Recorded<T> mul_add(const Recorded<T>& a, const Recorded<T>& b, const Recorded<T>& c) {
    return Recorded<T>(recorder->fma(lane_type<T>, a.lane, b.lane, c.lane), nullptr);
}
template <int N> Recorded<float> lookup(const float (&table)[N], const Recorded<uint32_t>& index) {
    return Recorded<float>(recorder->lookup(table, N, index.lane), nullptr);
}
template <class V>
bool looks_up_sixteen()
    requires(Lanes<V>::count == 1)
{
    return recorder->isa() == Isa::Avx512;
}
template <class T> bool anywhere(const Recorded<T>&) { return true; } // both branches are recorded
template <class T> Recorded<T> square_root(const Recorded<T>& x) {
    return Recorded<T>(recorder->square_root(lane_type<T>, x.lane), nullptr);
}
template <class T> Recorded<T> greater(const Recorded<T>& a, const Recorded<T>& b) { return choose(a > b, a, b); }
template <class T> Recorded<T> smaller(const Recorded<T>& a, const Recorded<T>& b) { return choose(a < b, a, b); }
template <Rounding R, class T> Recorded<T> round_to(const Recorded<T>& x) {
    return Recorded<T>(recorder->round(lane_type<T>, static_cast<int>(R), x.lane), nullptr);
}

} // namespace kindling::KINDLING_ISA_NAMESPACE
