// kernels/library/factors/triangle.cpp: triangular systems, LU and Cholesky by halves.
//
// A system: half of the unknowns, then their part in the others' equations, which is a product, then the others. Right-hand sides are
// copied first, so that those of one unknown lie side by side: products and substitution then run along memory, whichever way
// the caller's lie.
//
// LU (S. Toledo, Locality of Reference in LU Decomposition with Partial Pivoting, 1997): that of the left half of the columns, what it
// does to the right half, and LU of what is left there. It works on a copy by rows, for the same reason, and since rows are exchanged.
// The few columns that are not halved lie by columns in a copy of their own.
//
// Cholesky: that of the first half, a triangular system for what is below it, whose square is subtracted from the second half.
// Compiled for calls.
#include "kernels/library/factors/triangle.h"

#include <algorithm>
#include <cstring>

#include "kernels/isa.h"
#include "kernels/library/factors/small_factors.h"
#include "kernels/library/factors/triangle_isa.h"
#include "kernels/library/products/gemm.h"
#include "kernels/library/scratch.h"
#include "kernels/tile/move.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr int64_t whole = few_columns;
constexpr int64_t undisturbed = 384; // rows up to which threads cost LU and Cholesky more than they save: 256 took 1.6 times as long
int64_t half_of(int64_t size) { return (size / 2 + whole - 1) / whole * whole; }

const TriangleLoops& loops() { return KINDLING_OF_ISA(triangle_loops); }

constexpr int64_t register_bytes = 64;
int64_t item_of(DType dtype) { return dtype == DType::Float32 ? 4 : 8; }
int64_t lanes_of(DType dtype) { return register_bytes / item_of(dtype); }
int64_t registers(DType dtype, int64_t count) { return (count + lanes_of(dtype) - 1) / lanes_of(dtype); }

/// A matrix by rows.
struct Rows {
    DType dtype;
    char* data;
    int64_t step; // from a row to the next
    Rows at(int64_t row, int64_t column) const { return {dtype, data + (row * step + column) * item_of(dtype), step}; }
    Part part() const { return {data, step, 1}; }
};

void clear(DType dtype, char* at, int64_t count) { std::memset(at, 0, static_cast<size_t>(count * item_of(dtype))); }

void exchange(const Rows& x, int64_t columns, int64_t n, const int32_t* pivots, bool forward) {
    loops().exchange(n, pivots, forward, x.data, x.step * item_of(x.dtype), registers(x.dtype, columns) * register_bytes);
}

void solve(const TriangularMatrix& t, int64_t size, const Rows& x, int64_t count) {
    if (size <= whole)
        return loops().substitute[x.dtype == DType::Float64]({t.a, t.row, t.column, t.lower, t.unit}, size, x.data, x.step, count);
    const int64_t half = half_of(size), rest = size - half;
    const int64_t known = t.lower ? 0 : rest, others = t.lower ? half : 0;
    auto from = [&](int64_t row, int64_t column) {
        return static_cast<const char*>(t.a) + (row * t.row + column * t.column) * item_of(x.dtype);
    };
    auto part = [&](int64_t first, int64_t unknowns) {
        solve({from(first, first), t.row, t.column, t.lower, t.unit}, unknowns, x.at(first, 0), count);
    };
    part(known, half);
    multiply(x.dtype, rest, count, half, {const_cast<char*>(from(others, known)), t.row, t.column}, x.at(known, 0).part(),
             x.at(others, 0).part(), true);
    part(others, rest);
}

/// Few columns, in a copy by columns of whole registers.
int factor_columns(DType dtype, int64_t m, int64_t n, const Part& a, int32_t* pivots) {
    const int64_t rows = registers(dtype, m) * lanes_of(dtype);
    if (a.row == 1 && a.column == m && rows == m && m > 64) return loops().factor[dtype == DType::Float64](m, n, a.data, rows, pivots);
    Scratch<char> x(rows * n * item_of(dtype));
    const Part columns{x.data, 1, rows};
    copy_part(dtype, m, n, a, columns);
    for (int64_t j = 0; j < n; ++j) clear(dtype, x.data + (j * rows + m) * item_of(dtype), rows - m);
    const int info = loops().factor[dtype == DType::Float64](m, n, x.data, rows, pivots);
    copy_part(dtype, m, n, columns, a);
    return info;
}

int factor(int64_t m, int64_t n, const Rows& a, int32_t* pivots) {
    if (n <= whole) return factor_columns(a.dtype, m, n, a.part(), pivots);
    const int64_t steps = std::min(m, n), half = steps <= whole ? steps : half_of(steps), rest = steps - half, lanes = lanes_of(a.dtype);
    const int info = factor(m, half, a, pivots);
    // What the left half does to the right one, by columns: they do not wait for one another.
    constexpr int64_t least = 1 << 20; // products below which a second thread is not worth its start
    const int64_t blocks = registers(a.dtype, n - half), work = half * m * lanes, few = blocks / (2 * num_threads()) + 1;
    parallel_for(0, blocks, std::max(least / work + 1, few), [&](int64_t begin, int64_t end) {
        const Rows right = a.at(0, half + begin * lanes), below = right.at(half, 0);
        const int64_t width = (end - begin) * lanes;
        exchange(right, width, half, pivots, true);
        solve({a.data, a.step, 1, true, true}, half, right, width);
        multiply(a.dtype, m - half, width, half, a.at(half, 0).part(), right.part(), below.part(), true);
    });
    if (!rest) return info;
    const int more = factor(m - half, n - half, a.at(half, half), pivots + half);
    exchange(a.at(half, 0), half, rest, pivots + half, true);
    for (int64_t i = half; i < steps; ++i) pivots[i] += static_cast<int32_t>(half);
    return info ? info : more ? more + static_cast<int>(half) : 0;
}

Part at(DType dtype, const Part& a, int64_t row, int64_t column) {
    return {static_cast<char*>(a.data) + (row * a.row + column * a.column) * item_of(dtype), a.row, a.column};
}

/// The lower triangle of n x n numbers, and some of the upper one, minus a @ a'.
void subtract_square(DType dtype, int64_t n, int64_t k, const Part& a, const Part& out) {
    constexpr int64_t undivided = 128; // smaller products cost more than the half of them that is not needed
    if (n <= undivided) return multiply(dtype, n, n, k, a, {a.data, a.column, a.row}, out, true);
    const int64_t half = half_of(n);
    const Part below = at(dtype, a, half, 0);
    subtract_square(dtype, half, k, a, out);
    multiply(dtype, n - half, half, k, below, {a.data, a.column, a.row}, at(dtype, out, half, 0), true);
    subtract_square(dtype, n - half, k, below, at(dtype, out, half, half));
}

/// `a` is the lower triangle, or the upper one transposed.
int cholesky(DType dtype, bool upper, int64_t n, const Part& a) {
    if (n <= whole) return lapack::small_potrf(dtype, upper, n, a.data, upper ? a.row : a.column);
    const int64_t half = half_of(n);
    if (const int info = cholesky(dtype, upper, half, a)) return info;
    const Part below = at(dtype, a, half, 0), rest = at(dtype, a, half, half);
    solve_triangle({dtype, half, n - half, {a.data, a.row, a.column, true, false}, below.data, a.column, a.row});
    subtract_square(dtype, n - half, half, below, rest);
    const int info = cholesky(dtype, upper, n - half, rest);
    return info ? info + static_cast<int>(half) : 0;
}

} // namespace

int cholesky_by_halves(DType dtype, bool upper, int64_t n, void* a, int64_t lda) {
    const Alone short_loops(n <= undisturbed);
    return cholesky(dtype, upper, n, {a, upper ? lda : 1, upper ? 1 : lda});
}

void multiply(DType dtype, int64_t m, int64_t n, int64_t k, const Part& a, const Part& b, const Part& out, bool subtract,
              bool conjugate_a) {
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
    product.a_conjugate = conjugate_a;
    gemm(product);
}

void make_unit(DType dtype, int64_t j, void* column, int64_t rows) {
    clear(dtype, static_cast<char*>(column), rows);
    put_number(dtype, static_cast<char*>(column) + j * item_of(dtype), 1);
}

void copy_part(DType dtype, int64_t m, int64_t n, const Part& from, const Part& to) {
    const int64_t item = item_of(dtype);
    constexpr int64_t small = 1024; // numbers up to which to look at all strides takes longer than the copy
    if (m * n <= small) {
        if (from.row == 1 && to.column == 1) return turn_numbers(dtype, to.data, to.row, from.data, from.column, n, m);
        if (from.column == 1 && to.row == 1) return turn_numbers(dtype, to.data, to.column, from.data, from.row, m, n);
    }
    find_plane_copy(static_cast<int>(item))({static_cast<char*>(to.data),
                                             static_cast<const char*>(from.data),
                                             {m, n},
                                             {to.row * item, to.column * item},
                                             {from.row * item, from.column * item}});
}

bool solves_triangles(DType dtype, int64_t size, int64_t count) {
    return (dtype == DType::Float32 || dtype == DType::Float64) && size >= 8 && count >= 4;
}

void solve_triangle(const TriangularSystem& s) {
    constexpr int64_t least = 1 << 18; // products below which a second thread is not worth its start
    const int64_t grain = std::max(least / (s.size * s.size) + 1, int64_t{1}), blocks = registers(s.dtype, s.count),
                  lanes = lanes_of(s.dtype);
    parallel_for(0, blocks, std::max((blocks + num_threads() - 1) / num_threads(), grain), [&](int64_t begin, int64_t end) {
        const int64_t first = begin * lanes, count = std::min(end * lanes, s.count) - first, width = (end - begin) * lanes;
        const Part b{static_cast<char*>(s.b) + first * s.across * item_of(s.dtype), s.along, s.across};
        const bool in_place = s.across == 1 && count == width;
        Scratch<char> room(in_place ? 0 : s.size * width * item_of(s.dtype));
        const Rows x{s.dtype, in_place ? static_cast<char*>(b.data) : room.data, in_place ? s.along : width};
        if (!in_place && (count < width || s.identity)) clear(s.dtype, x.data, s.size * width);
        if (s.identity) {
            if (in_place)
                for (int64_t i = 0; i < s.size; ++i) clear(s.dtype, x.at(i, 0).data, width);
            for (int64_t c = 0; c < count; ++c) put_number(s.dtype, x.at(first + c, c).data, 1);
        } else if (s.from.data)
            copy_part(s.dtype, s.size, count,
                      {static_cast<char*>(s.from.data) + first * s.from.column * item_of(s.dtype), s.from.row, s.from.column}, x.part());
        else if (!in_place) copy_part(s.dtype, s.size, count, b, x.part());
        if (s.exchanged_before) exchange(x, width, s.size, s.exchanged_before, true);
        for (const TriangularMatrix* t : {&s.first, s.second})
            if (t) solve(*t, s.size, x, width);
        if (s.exchanged_after) exchange(x, width, s.size, s.exchanged_after, false);
        if (!in_place) copy_part(s.dtype, s.size, count, x.part(), b);
    });
}

int factor_by_halves(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, int32_t* pivots, const void* by_rows) {
    const Alone short_loops(std::min(m, n) <= undisturbed);
    const Part given{a, 1, lda};
    if (n <= whole) return factor_columns(dtype, m, n, given, pivots);
    // A register more, since the last columns may begin anywhere, and lest rows lie a power of two apart.
    const int64_t step = (registers(dtype, n) + 1) * lanes_of(dtype);
    Scratch<char> room(m * step * item_of(dtype));
    const Rows rows{dtype, room.data, step};
    copy_part(dtype, m, n, by_rows ? Part{const_cast<void*>(by_rows), n, 1} : given, rows.part());
    for (int64_t i = 0; i < m; ++i) clear(dtype, rows.at(i, n).data, step - n);
    const int info = factor(m, n, rows, pivots);
    copy_part(dtype, m, n, rows.part(), given);
    return info;
}

} // namespace kindling::library
