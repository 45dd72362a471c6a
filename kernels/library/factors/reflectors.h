// kernels/library/factors/reflectors.h: QR of float32 and float64 by our own products. Matrices, reflectors and tau are LAPACK's.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// LAPACK's geqrf: R above, the reflectors I - tau v v' below the diagonal, of which min(m, n) tau are given.
void factor_by_reflectors(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, void* tau);
/// LAPACK's orgqr: the first n columns of the product of k reflectors, in their place.
void form_reflectors(DType dtype, int64_t m, int64_t n, int64_t k, void* a, int64_t lda, const void* tau);

} // namespace kindling::library
