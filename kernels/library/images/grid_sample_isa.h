// kernels/library/images/grid_sample_isa.h: positions of a grid's points in the input, by the widest vectors there are.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/library/images/resample.h"

namespace kindling::library {

/// How many points are processed at once.
constexpr int grid_block = 64;

template <class M> struct Points {
    M whole[3][grid_block];       // the coordinate (z, y, x): rounded, for linear and cubic down
    M part[3][grid_block];        // the rest of it
    M slope[3][grid_block];       // its derivative by the grid's number
    int32_t first[3][grid_block]; // the first position read, unless it is outside
    int32_t inside[grid_block];   // -1 if all positions are inside
    bool all_inside;              // for every point
    int64_t place[grid_block];    // offset of the first position in the input
};

/// `in`: the input's sizes (z, y, x; 1 for z in two dimensions).
struct GridSteps {
    void (*locate_floats)(const GridSampling& g, const int64_t* in, const float* grid, int count, Points<float>& to);
    void (*locate_doubles)(const GridSampling& g, const int64_t* in, const double* grid, int count, Points<double>& to);
};

namespace isa_baseline { extern const GridSteps grid_steps; }
namespace isa_avx512 { extern const GridSteps grid_steps; }

// Each file that includes this has its own copy, because they are compiled for different instruction sets.
namespace {

/// A register of so many bytes (16: of any processor), and the result of comparing two.
template <class M, int bytes = 16> struct Lanes {
    static constexpr int count = bytes / sizeof(M);
    using Whole = std::conditional_t<std::is_same_v<M, float>, int32_t, int64_t>;
    typedef M V __attribute__((vector_size(bytes)));
    typedef Whole Mask __attribute__((vector_size(bytes)));
    typedef int32_t Ints __attribute__((vector_size(count * 4)));
    using Element = M;
    static constexpr Whole sign = std::numeric_limits<Whole>::min();

    [[gnu::always_inline]] static V all(M x) { return x - V{}; }
    template <class From> [[gnu::always_inline]] static V load(const From* from) {
        V v;
        std::memcpy(&v, from, sizeof v);
        return v;
    }
    [[gnu::always_inline]] static V absolute(V x) { return V(Mask(x) & ~(Mask{} + sign)); }
    /// To the nearest integer, ties to even.
    [[gnu::always_inline]] static V rounded(V x) {
        constexpr M whole = std::is_same_v<M, float> ? M(8388608) : M(4503599627370496); // from here on all numbers are
        V a = absolute(x), r = (a + whole) - whole;
        return V(Mask(a < whole ? r : a) | (Mask(x) & sign));
    }
    [[gnu::always_inline]] static V floor(V x) {
        V r = rounded(x);
        return r > x ? r - 1 : r;
    }
};

template <class L> struct Coordinate {
    typename L::V value, slope; // the derivative by what the coordinate was computed from
};

/// Maps the coordinate into the input by the padding rule.
template <class L> [[gnu::always_inline]] inline Coordinate<L> padded(Coordinate<L> c, int64_t size, GridPadding padding, bool align) {
    using V = typename L::V;
    using M = typename L::Element;
    V x = c.value, none = {};
    if (padding == GridPadding::Zeros) { // positions that no integer type holds stand for outside
        c.value = (x > M(-2147483648.0)) & (x < M(2147483647.0)) ? x : none - 100;
        return c;
    }
    if (padding == GridPadding::Reflection) {
        M low = align ? M{0} : M(-0.5), twice = static_cast<M>(2 * (align ? size - 1 : size));
        V y = L::absolute(x - low), over = y - L::floor(y / twice) * twice, back = twice - over;
        auto flips = over > back;
        x = (flips ? back : over) + low;
        c.slope = V(typename L::Mask(c.slope) ^ ((flips ^ (c.value < low)) & L::sign));
        if (twice == 0) x = none;
    }
    V last = L::all(static_cast<M>(size - 1));
    auto inside = (x > 0) & (x < last); // no position left of it
    c.value = inside ? x : x >= last ? last : none;
    c.slope = inside ? c.slope : none;
    return c;
}

} // namespace
} // namespace kindling::library
