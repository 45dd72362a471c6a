// kernels/library/factors/lapack.h: LAPACK on one matrix, for float32, float64, complex64 and complex128. LU, Cholesky, QR, triangular
// systems and inverses of the first two need no library.
//
// Matrices are column-major (element (i, j) at j * leading + i) and are overwritten as LAPACK says. `info` is returned
// as LAPACK gives it: 0 for success, positive as the routine's documentation says (a singular pivot, no convergence,
// ...). Workspaces are ours. A negative info, which would be our fault, throws. Pivots count from 1.
//
// Where a real and a complex routine have different names, the name is the real one's: orgqr stands for ungqr, syevd
// for heevd. In `trans` 'T' of a complex matrix is the transpose, 'C' its conjugate.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library::lapack {

// LU
// `rows`, if given, has the matrix by rows, and a is only written: real ones of more than `few_columns` (triangle.h).
int getrf(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, int32_t* pivots, const void* rows = nullptr);
int getrs(DType dtype, char trans, int64_t n, int64_t nrhs, const void* lu, int64_t lda, const int32_t* pivots, void* b, int64_t ldb,
          const void* rows = nullptr); // as trsm has it
int getri(DType dtype, int64_t n, void* lu, int64_t lda, const int32_t* pivots);
// Cholesky
int potrf(DType dtype, char uplo, int64_t n, void* a, int64_t lda);
int potrs(DType dtype, char uplo, int64_t n, int64_t nrhs, const void* a, int64_t lda, void* b, int64_t ldb);
int potri(DType dtype, char uplo, int64_t n, void* a, int64_t lda);
// Indefinite symmetric, or (hermitian, complex only) Hermitian
int sytrf(DType dtype, bool hermitian, char uplo, int64_t n, void* a, int64_t lda, int32_t* pivots);
int sytrs(DType dtype, bool hermitian, char uplo, int64_t n, int64_t nrhs, const void* a, int64_t lda, const int32_t* pivots, void* b,
          int64_t ldb);
// QR; tau has min(m, n) elements
int geqrf(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, void* tau);
int orgqr(DType dtype, int64_t m, int64_t n, int64_t k, void* a, int64_t lda, const void* tau);
int ormqr(DType dtype, char side, char trans, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda, const void* tau, void* c,
          int64_t ldc);
// Singular values: `s` is real, descending. job: 'A' all, 'S' thin, 'N' none. u and vt by columns.
int gesdd(DType dtype, char job, int64_t m, int64_t n, void* a, int64_t lda, void* s, void* u, int64_t ldu, void* vt, int64_t ldvt);
int gesvd(DType dtype, char job, int64_t m, int64_t n, void* a, int64_t lda, void* s, void* u, int64_t ldu, void* vt, int64_t ldvt);
// Eigenvalues of a symmetric or Hermitian matrix, ascending and real; vectors (job 'V') replace a.
int syevd(DType dtype, char job, char uplo, int64_t n, void* a, int64_t lda, void* w);
/// Eigenvalues and (if not null) right eigenvectors of a general matrix, complex whatever the dtype; vectors by columns
/// with leading dimension n.
int geev(DType dtype, int64_t n, void* a, int64_t lda, void* w, void* vectors);
// Least squares: b is max(m, n) x nrhs. rank, s (real) and the pivots are filled where they apply.
int gels(DType dtype, char trans, int64_t m, int64_t n, int64_t nrhs, void* a, int64_t lda, void* b, int64_t ldb);
int gelsy(DType dtype, int64_t m, int64_t n, int64_t nrhs, void* a, int64_t lda, void* b, int64_t ldb, int32_t* pivots, double rcond,
          int32_t* rank);
int gelsd(DType dtype, int64_t m, int64_t n, int64_t nrhs, void* a, int64_t lda, void* b, int64_t ldb, void* s, double rcond,
          int32_t* rank);
int gelss(DType dtype, int64_t m, int64_t n, int64_t nrhs, void* a, int64_t lda, void* b, int64_t ldb, void* s, double rcond,
          int32_t* rank);
// Triangular systems: op(a) x = b, or x op(a) = b with side 'R'. Uses the library for large complex ones and for few right-hand sides.
// `rows`, if given, has what is solved for, by rows, and b is only written: where `solves_triangles` (triangle.h) is true.
void trsm(DType dtype, char side, char uplo, char trans, char diag, int64_t m, int64_t n, const void* a, int64_t lda, void* b, int64_t ldb,
          const void* rows = nullptr);
int trtri(DType dtype, char uplo, char diag, int64_t n, void* a, int64_t lda);

} // namespace kindling::library::lapack
