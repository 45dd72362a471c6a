// kernels/library/triangle.cpp: half of the unknowns, then their part in the others' equations, which is a product, then the others.
//
// Right-hand sides are copied first, so that those of one unknown lie side by side: products and substitution then run along
// memory, whichever way the caller's lie.
#include "kernels/library/triangle.h"

#include <algorithm>

#include "kernels/library/gemm.h"
#include "kernels/library/scratch.h"
#include "kernels/library/triangle_isa.h"
#include "kernels/isa.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr int64_t whole = 16;       // unknowns that are substituted one by one: products of fewer do not pay

const TriangleLoops& loops() { return KINDLING_OF_ISA(triangle_loops); }

template <class T>
void solve(DType dtype, const Triangle<T>& t, int64_t size, T* x, int64_t count) {
    if (size <= whole) {
        if constexpr (sizeof(T) == 4) return loops().substitute_float(t, size, x, count, count);
        else return loops().substitute_double(t, size, x, count, count);
    }
    const int64_t half = (size / 2 + whole - 1) / whole * whole, rest = size - half;
    const int64_t known = t.forward ? 0 : rest, others = t.forward ? half : 0;
    auto part = [&](int64_t first, int64_t unknowns) {
        solve<T>(dtype, {t.a + first * (t.row + t.column), t.row, t.column, t.forward, t.unit}, unknowns, x + first * count, count);
    };
    part(known, half);
    Gemm product{};
    product.dtype = dtype;
    product.m = rest;
    product.n = count;
    product.k = half;
    product.a = t.a + others * t.row + known * t.column;
    product.a_row = t.row;
    product.a_column = t.column;
    product.b = x + known * count;
    product.out = x + others * count;
    product.c = product.out;
    product.b_row = product.out_row = product.c_row = count;
    product.b_column = product.out_column = product.c_column = 1;
    product.alpha = -1;
    gemm(product);
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
void solve_all(const TriangularSystem& s) {
    constexpr int64_t lanes = triangle_lanes<T>, least = 1 << 18;   // products below which a second thread is not worth its start
    const int64_t grain = std::max(least / (s.size * s.size) + 1, int64_t{1}), blocks = (s.count + lanes - 1) / lanes;
    parallel_for(0, blocks, std::max((blocks + num_threads() - 1) / num_threads(), grain), [&](int64_t begin, int64_t end) {
        const int64_t first = begin * lanes, count = std::min(end * lanes, s.count) - first, width = (end - begin) * lanes;
        Scratch<T> x(s.size * width);
        T* b = static_cast<T*>(s.b) + first * s.across;
        copy<false>(b, s.along, s.across, s.size, count, x.data, width);
        if (count < width)
            for (int64_t i = 0; i < s.size; ++i) std::fill(x.data + i * width + count, x.data + (i + 1) * width, T{0});
        for (const TriangularMatrix* t : {&s.first, s.second})
            if (t) solve<T>(s.dtype, {static_cast<const T*>(t->a), t->row, t->column, t->lower, t->unit}, s.size, x.data, width);
        copy<true>(b, s.along, s.across, s.size, count, x.data, width);
    });
}

} // namespace

int factor_columns(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, int32_t* pivots) {
    if (dtype == DType::Float32) return loops().factor_float(m, n, static_cast<float*>(a), lda, pivots);
    return loops().factor_double(m, n, static_cast<double*>(a), lda, pivots);
}

bool solves_triangles(DType dtype, int64_t size, int64_t count) {
    return (dtype == DType::Float32 || dtype == DType::Float64) && size >= 8 && count >= 4;
}

void solve_triangle(const TriangularSystem& system) {
    system.dtype == DType::Float32 ? solve_all<float>(system) : solve_all<double>(system);
}

} // namespace kindling::library
