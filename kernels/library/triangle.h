// kernels/library/triangle.h: triangular systems with several right-hand sides, by our own products.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// One triangle of a matrix; strides count elements. A unit triangle's diagonal is not read.
struct TriangularMatrix {
    const void* a;
    int64_t row, column;
    bool lower, unit;
};

/// `size` unknowns, and `count` right-hand sides, which the solutions replace.
struct TriangularSystem {
    DType dtype;    // float32 or float64
    int64_t size, count;
    TriangularMatrix first;
    void* b;
    int64_t along, across;  // from an unknown to the next, and from a right-hand side to the next
    const TriangularMatrix* second = nullptr;   // solved with what the first gave
};

/// LAPACK's getrf for few columns or rows of float32 or float64, a column at a time.
int factor_columns(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, int32_t* pivots);

/// Whether this is the fast way: of few right-hand sides or unknowns, and of complex numbers, it is not.
bool solves_triangles(DType dtype, int64_t size, int64_t count);
/// The same bits whatever the threads, the other right-hand sides and the instruction set.
void solve_triangle(const TriangularSystem& system);

} // namespace kindling::library
