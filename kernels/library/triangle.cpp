// kernels/library/triangle.cpp: triangular systems and LU by halves.
//
// A system: half of the unknowns, then their part in the others' equations, which is a product, then the others. Right-hand sides are
// copied first, so that those of one unknown lie side by side: products and substitution then run along memory, whichever way
// the caller's lie.
//
// LU (S. Toledo, Locality of Reference in LU Decomposition with Partial Pivoting, 1997): that of the left half of the columns, what it
// does to the right half, and LU of what is left there.
#include "kernels/library/triangle.h"

#include <algorithm>
#include <utility>

#include "kernels/isa.h"
#include "kernels/library/gemm.h"
#include "kernels/library/scratch.h"
#include "kernels/library/triangle_isa.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr int64_t whole = 16;       // unknowns or columns that are not halved: products of fewer do not pay
int64_t half_of(int64_t size) { return (size / 2 + whole - 1) / whole * whole; }

const TriangleLoops& loops() { return KINDLING_OF_ISA(triangle_loops); }

template <class T>
void solve(DType dtype, const Triangle<T>& t, int64_t size, T* x, int64_t step, int64_t count) {
    if (size <= whole) {
        if constexpr (sizeof(T) == 4) return loops().substitute_float(t, size, x, step, count);
        else return loops().substitute_double(t, size, x, step, count);
    }
    const int64_t half = half_of(size), rest = size - half;
    const int64_t known = t.forward ? 0 : rest, others = t.forward ? half : 0;
    auto part = [&](int64_t first, int64_t unknowns) {
        solve<T>(dtype, {t.a + first * (t.row + t.column), t.row, t.column, t.forward, t.unit}, unknowns, x + first * step, step, count);
    };
    part(known, half);
    multiply(dtype, rest, count, half, {const_cast<T*>(t.a) + others * t.row + known * t.column, t.row, t.column}, {x + known * step, step, 1},
             {x + others * step, step, 1}, true);
    part(others, rest);
}

/// Between the caller's strides and rows of `width` numbers, in squares so that neither side leaves the first cache.
template <bool back, class T>
void copy(T* b, int64_t along, int64_t across, int64_t size, int64_t count, T* x, int64_t width) {
    constexpr int64_t square = 16;
    for (int64_t i = 0; i < size; i += square)
        for (int64_t c = 0; c < count; c += square)
            for (int64_t col = c; col < std::min(c + square, count); ++col)
                for (int64_t row = i; row < std::min(i + square, size); ++row) {
                    T &there = b[row * along + col * across], &here = x[row * width + col];
                    if constexpr (back) there = here;
                    else here = there;
                }
}

template <class T>
int factor(DType dtype, int64_t m, int64_t n, T* a, int64_t lda, int32_t* pivots) {
    const int64_t steps = std::min(m, n);
    if (steps <= whole) {
        if constexpr (sizeof(T) == 4) return loops().factor_float(m, n, a, lda, pivots);
        else return loops().factor_double(m, n, a, lda, pivots);
    }
    const int64_t half = half_of(steps), rest = n - half;
    T *right = a + half * lda, *below = right + half;
    const int info = factor(dtype, m, half, a, lda, pivots);
    exchange_rows(dtype, half, pivots, true, rest, right, lda);
    solve_triangle({dtype, half, rest, {a, 1, lda, true, true}, right, 1, lda});
    multiply(dtype, m - half, rest, half, {a + half, 1, lda}, {right, 1, lda}, {below, 1, lda}, true);
    const int more = factor(dtype, m - half, rest, below, lda, pivots + half);
    exchange_rows(dtype, steps - half, pivots + half, true, half, a + half, lda);
    for (int64_t i = half; i < steps; ++i) pivots[i] += static_cast<int32_t>(half);
    return info ? info : more ? more + static_cast<int>(half) : 0;
}

template <class T>
void exchange(int64_t n, const int32_t* pivots, bool forward, int64_t columns, T* column, int64_t step) {
    constexpr int64_t few = 8;      // columns at a time: the exchanges in one column wait for one another
    for (int64_t c = 0; c < columns; c += few, column += few * step)
        for (int64_t k = 0; k < n; ++k) {
            const int64_t i = forward ? k : n - 1 - k, other = pivots[i] - 1;
            if (i == other) continue;
            for (int64_t j = 0; j < std::min(few, columns - c); ++j) std::swap(column[j * step + i], column[j * step + other]);
        }
}

template <class T>
void solve_all(const TriangularSystem& s) {
    constexpr int64_t lanes = triangle_lanes<T>, least = 1 << 18;   // products below which a second thread is not worth its start
    const int64_t grain = std::max(least / (s.size * s.size) + 1, int64_t{1}), blocks = (s.count + lanes - 1) / lanes;
    parallel_for(0, blocks, std::max((blocks + num_threads() - 1) / num_threads(), grain), [&](int64_t begin, int64_t end) {
        const int64_t first = begin * lanes, count = std::min(end * lanes, s.count) - first, width = (end - begin) * lanes;
        T* b = static_cast<T*>(s.b) + first * s.across;
        const bool in_place = s.across == 1 && count == width;
        Scratch<T> room(in_place ? 0 : s.size * width);
        T* x = in_place ? b : room.data;
        const int64_t step = in_place ? s.along : width;
        if (!in_place) copy<false>(b, s.along, s.across, s.size, count, x, width);
        if (count < width)
            for (int64_t i = 0; i < s.size; ++i) std::fill(x + i * width + count, x + (i + 1) * width, T{0});
        for (const TriangularMatrix* t : {&s.first, s.second})
            if (t) solve<T>(s.dtype, {static_cast<const T*>(t->a), t->row, t->column, t->lower, t->unit}, s.size, x, step, width);
        if (!in_place) copy<true>(b, s.along, s.across, s.size, count, x, width);
    });
}

} // namespace

void multiply(DType dtype, int64_t m, int64_t n, int64_t k, Part a, Part b, Part out, bool subtract) {
    Gemm product{};
    product.dtype = dtype;
    product.m = m;
    product.n = n;
    product.k = k;
    product.a = a.data;
    product.a_row = a.row;
    product.a_column = a.column;
    product.b = b.data;
    product.b_row = b.row;
    product.b_column = b.column;
    product.c = product.out = out.data;
    product.c_row = product.out_row = out.row;
    product.c_column = product.out_column = out.column;
    product.alpha = subtract ? -1 : 1;
    product.beta = subtract;
    gemm(product);
}

bool solves_triangles(DType dtype, int64_t size, int64_t count) {
    return (dtype == DType::Float32 || dtype == DType::Float64) && size >= 8 && count >= 4;
}

void solve_triangle(const TriangularSystem& system) {
    system.dtype == DType::Float32 ? solve_all<float>(system) : solve_all<double>(system);
}

int factor_by_halves(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, int32_t* pivots) {
    const Alone short_loops(std::min(m, n) <= 384);     // measured: 256 took 1.6 times as long with two threads
    if (dtype == DType::Float32) return factor(dtype, m, n, static_cast<float*>(a), lda, pivots);
    return factor(dtype, m, n, static_cast<double*>(a), lda, pivots);
}

void exchange_rows(DType dtype, int64_t n, const int32_t* pivots, bool forward, int64_t columns, void* b, int64_t ldb) {
    if (dtype == DType::Float32) return exchange(n, pivots, forward, columns, static_cast<float*>(b), ldb);
    exchange(n, pivots, forward, columns, static_cast<double*>(b), ldb);
}

} // namespace kindling::library
