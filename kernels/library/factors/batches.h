// kernels/library/factors/batches.h: LU, inverses, Cholesky, QR of many matrices, stored by columns one behind the other. Small ones of
// float32 and float64 go several at once, a lane for each; others one by one, as lapack.h has them. An answer does not depend on what else
// is in the batch.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// Calls run(i) for each of `count` matrices, several at once, if they take about `work` multiplications each.
void each_matrix(int64_t count, int64_t work, void (*run)(const void* context, int64_t i), const void* context);
template <class F> void each_matrix(int64_t count, int64_t work, const F& run) {
    each_matrix(count, work, [](const void* context, int64_t i) { (*static_cast<const F*>(context))(i); }, &run);
}

namespace lapack {

/// Of a matrix of m rows, numbers of `item` bytes, the other triangle without the diagonal becomes 0.
void keep_triangle(bool upper, int64_t m, int64_t n, int64_t item, void* matrix);

/// `rows`: as getrf has it.
void getrf_all(DType dtype, int64_t count, int64_t m, int64_t n, void* a, int32_t* pivots, int32_t* infos, const void* rows = nullptr);
/// Whether LU of such a matrix may be given by rows.
bool factors_rows(DType dtype, int64_t m, int64_t n);
/// A matrix of right-hand sides for each matrix. `rows`: as getrs has it, where `solves_rows`.
void getrs_all(DType dtype, char trans, int64_t count, int64_t n, int64_t right, const void* lu, const int32_t* pivots, void* b,
               const void* rows = nullptr);
/// Whether that many right-hand sides may be given by rows.
bool solves_rows(DType dtype, int64_t n, int64_t right);
/// Each matrix becomes its inverse; `pivots` is room for n of them each.
void invert_all(DType dtype, int64_t count, int64_t n, void* a, int32_t* pivots, int32_t* infos, const void* rows = nullptr);
/// The other triangle becomes 0.
void potrf_all(DType dtype, char uplo, int64_t count, int64_t n, void* a, int32_t* infos);
/// Q of m x width, none if null, and R of width x n, with zeros below its diagonal. `a` is overwritten, `tau` is room for the smaller of m
/// and n numbers each.
void qr_all(DType dtype, int64_t count, int64_t m, int64_t n, int64_t width, void* a, void* tau, void* q, void* r);

} // namespace lapack
} // namespace kindling::library
