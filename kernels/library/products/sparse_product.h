// kernels/library/products/sparse_product.h: a sparse matrix times a strided one, by rows.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// result (rows x width) = the sparse matrix, whose row r has the elements [starts[r], starts[r + 1]), times `right`,
/// whose rows have `width` contiguous elements. float32 or float64. Each sum is in order, fused where the processor has
/// that. No values: all are 1.
void sparse_times_strided(DType dtype, int64_t rows, const int64_t* starts, const int64_t* columns, const void* values, const void* right,
                          int64_t width, void* result);

} // namespace kindling::library
