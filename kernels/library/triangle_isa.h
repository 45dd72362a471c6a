// kernels/library/triangle_isa.h: substitution in a small triangle, and LU of few columns, built once for each instruction set.
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

/// Solves for `count` right-hand sides, a multiple of the lanes: unknown i of all of them is at x + i * step.
template <class T>
using Substitute = void (*)(const Triangle<T>& t, int64_t size, T* x, int64_t step, int64_t count);
/// LAPACK's getrf, a column at a time.
template <class T>
using FactorColumns = int (*)(int64_t m, int64_t n, T* a, int64_t lda, int32_t* pivots);
struct TriangleLoops {
    Substitute<float> substitute_float;
    Substitute<double> substitute_double;
    FactorColumns<float> factor_float;
    FactorColumns<double> factor_double;
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
