// kernels/library/factors/triangle.h: triangular systems with several right-hand sides, LU and Cholesky of float32 and float64 by our own
// products.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// A matrix among the elements of another; strides count elements.
struct Part {
    void* data;
    int64_t row, column;
};
/// out = a @ b, or out -= a @ b, of m x k and k x n numbers.
void multiply(DType dtype, int64_t m, int64_t n, int64_t k, const Part& a, const Part& b, const Part& out, bool subtract,
              bool conjugate_a = false);
/// Of float32 or float64.
inline void put_number(DType dtype, void* at, double value) {
    if (dtype == DType::Float32) *static_cast<float*>(at) = static_cast<float>(value);
    else *static_cast<double*>(at) = value;
}
/// A column of `rows` numbers becomes column j of the identity.
void make_unit(DType dtype, int64_t j, void* column, int64_t rows);
/// Copies m x n numbers; the matrices do not overlap.
void copy_part(DType dtype, int64_t m, int64_t n, const Part& from, const Part& to);

/// One triangle of a matrix; strides count elements. A unit triangle's diagonal is not read.
struct TriangularMatrix {
    const void* a;
    int64_t row, column;
    bool lower, unit;
};

/// `size` unknowns, and `count` right-hand sides, which the solutions replace.
struct TriangularSystem {
    DType dtype; // float32 or float64
    int64_t size, count;
    TriangularMatrix first;
    void* b;
    int64_t along, across;                     // from an unknown to the next, and from a right-hand side to the next
    const TriangularMatrix* second = nullptr;  // solved with what the first gave
    const int32_t* exchanged_before = nullptr; // exchanges of the unknowns as LU gives them, made before
    const int32_t* exchanged_after = nullptr;  // or taken back after
    Part from{};                               // if given, the right-hand sides lie there, by `along` and `across`: b is only written
    bool identity = false;                     // the right-hand sides are that: b is only written
};

/// Whether `solve_triangle` is the fast way: for few right-hand sides or unknowns it is not, and complex numbers it does not take.
bool solves_triangles(DType dtype, int64_t size, int64_t count);
/// The same bits whatever the threads and the other right-hand sides. Whole registers of right-hand sides (a multiple of 64 bytes) that
/// lie side by side are solved where they are, others in a copy.
void solve_triangle(const TriangularSystem& system);

/// LAPACK's getrf: a matrix by columns, pivots from 1, the first zero pivot as the answer. The same bits whatever the threads.
/// `rows`, if given, has the matrix by rows, and `a` is only written: of more than `few_columns`.
int factor_by_halves(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, int32_t* pivots, const void* rows = nullptr);
constexpr int64_t few_columns = 16; // that are not halved: products of fewer do not pay
/// LAPACK's potrf: the order of the first leading minor that is not positive as the answer. Some of the other triangle is overwritten.
int cholesky_by_halves(DType dtype, bool upper, int64_t n, void* a, int64_t lda);

} // namespace kindling::library
