// kernels/library/factors/small_factors.h: solutions, inverses and Cholesky factors of matrices so small that a call of LAPACK takes longer
// than the arithmetic. Matrices are stored by columns, as LAPACK has them; so are arguments, pivots and answers.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library::lapack {

constexpr int64_t small_matrix = 16, small_inverse = 7; // rows up to which ours is faster

/// True for float and double matrices of at most `small_matrix` rows and columns.
bool is_small(DType dtype, int64_t m, int64_t n);
void small_getrs(DType dtype, bool transposed, int64_t n, int64_t nrhs, const void* lu, int64_t lda, const int32_t* pivots, void* b,
                 int64_t ldb);
void small_getri(DType dtype, int64_t n, void* lu, int64_t lda, const int32_t* pivots);
int small_potrf(DType dtype, bool upper, int64_t n, void* a, int64_t lda);

} // namespace kindling::library::lapack
