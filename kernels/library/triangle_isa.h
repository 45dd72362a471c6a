// kernels/library/triangle_isa.h: substitution in a small triangle, LU of few columns, reflections, built once for each instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// A triangle of numbers at a[i * row + j * column]; `forward` if it is the lower one, `unit` if its diagonal is not read but 1.
template <class T>
struct Triangle {
    const T* a;
    int64_t row, column;
    bool forward, unit;
};

/// Right-hand sides that are solved at once.
template <class T>
constexpr int64_t triangle_lanes = 64 / static_cast<int64_t>(sizeof(T));

/// As many numbers as there are lanes, where they lie in memory.
template <class T>
using Lanes [[gnu::vector_size(64), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;

/// Solves for `count` right-hand sides, a multiple of the lanes: unknown i of all of them is at x + i * step.
template <class T>
using Substitute = void (*)(const Triangle<T>& t, int64_t size, T* x, int64_t step, int64_t count);
/// LAPACK's getrf, a column at a time.
template <class T>
using FactorColumns = int (*)(int64_t m, int64_t n, T* a, int64_t lda, int32_t* pivots);
/// x -= tau v (v'x) for `count` columns x, a multiple of four: of `rows` numbers, a multiple of the lanes, and `step` apart.
template <class T>
using Reflect = void (*)(const T* v, T tau, int64_t rows, T* x, int64_t step, int64_t count);
/// Multiplies numbers, a multiple of the lanes, and returns the sum of their squares.
template <class T>
using Scale = T (*)(T* x, int64_t count, T times);
struct TriangleLoops {
    Substitute<float> substitute_float;
    Substitute<double> substitute_double;
    FactorColumns<float> factor_float;
    FactorColumns<double> factor_double;
    Reflect<float> reflect_float;
    Reflect<double> reflect_double;
    Scale<float> scale_float;
    Scale<double> scale_double;
};

namespace isa_baseline {
extern const TriangleLoops triangle_loops;
}
namespace isa_avx2 {
extern const TriangleLoops triangle_loops;
}
namespace isa_avx512 {
extern const TriangleLoops triangle_loops;
}

} // namespace kindling::library
