// kernels/library/factors/triangle_isa.h: substitution in a small triangle, LU of few columns, reflections, built once for each instruction
// set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// A triangle of numbers at a[i * row + j * column]; `forward` if it is the lower one, `unit` if its diagonal is not read but 1.
struct Triangle {
    const void* a;
    int64_t row, column;
    bool forward, unit;
};

/// Numbers in 64 bytes: right-hand sides that are solved at once, rows that are reflected at once.
template <class T> constexpr int64_t triangle_lanes = 64 / static_cast<int64_t>(sizeof(T));
/// So many, where they lie in memory.
template <class T> using Lanes [[gnu::vector_size(64), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;

/// Solves for `count` right-hand sides, a multiple of the lanes: unknown i of all of them is at x + i * step.
using Substitute = void (*)(const Triangle& t, int64_t size, void* x, int64_t step, int64_t count);
/// LAPACK's getrf, a column at a time. Zeros fill columns up to `step` rows, a multiple of the lanes.
using FactorColumns = int (*)(int64_t m, int64_t n, void* a, int64_t step, int32_t* pivots);
/// The exchanges of `n` rows that a factorisation made, in its order or back: of `bytes` bytes, a multiple of 64, and `step` bytes apart.
using Exchange = void (*)(int64_t n, const int32_t* pivots, bool forward, char* rows, int64_t step, int64_t bytes);
/// LAPACK's geqrf and orgqr, a column at a time: in `room` for n + 3 columns of rows rounded up to the lanes.
using FactorReflectors = void (*)(int64_t m, int64_t n, void* a, int64_t lda, void* tau, void* room);
using FormReflectors = void (*)(int64_t m, int64_t n, int64_t k, void* a, int64_t lda, const void* tau, void* room);
struct TriangleLoops {
    Substitute substitute[2]; // of float, of double
    FactorColumns factor[2];
    Exchange exchange;
    FactorReflectors factor_reflectors[2];
    FormReflectors form_reflectors[2];
};

namespace isa_baseline { extern const TriangleLoops triangle_loops; }
namespace isa_avx2 { extern const TriangleLoops triangle_loops; }
namespace isa_avx512 { extern const TriangleLoops triangle_loops; }

} // namespace kindling::library
