// kernels/library/products/distances.h: distances between the rows of a matrix.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// Bytes of scratch memory.
int64_t distances_room(DType dtype, int64_t count, int64_t length);
/// The distances of each of `count` rows to those behind it: sums of sizes, or roots of sums of squares. float32 or float64. False if
/// rows are too long.
bool row_distances(DType dtype, const void* rows, int64_t count, int64_t length, bool squares, void* result, void* room);

} // namespace kindling::library
