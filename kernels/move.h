// kernels/move.h: strided copies by vectors: rows, repeated numbers, reversed rows, every second element, transposes.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling {

/// Elements from one strided plane of memory to another: sizes[0] rows of sizes[1] elements, strides in bytes. The
/// planes do not overlap.
struct Plane {
    char* to;
    const char* from;
    int64_t sizes[2], to_strides[2], from_strides[2];
};
using PlaneCopy = void (*)(const Plane& plane);

/// Running sums or products down the columns of `steps` rows of `lines` values, in place. `state` is what each column has
/// come to (of floats in double), taken from the first row if `first`. Not for complex dtypes.
using ColumnScan = void (*)(void* state, void* values, int64_t steps, int64_t lines, bool first);

#define KINDLING_DECLARE_MOVES(NAMESPACE)                                                                             \
    namespace NAMESPACE {                                                                                             \
    PlaneCopy find_plane_copy(int item);                                                                              \
    ColumnScan find_column_scan(bool product, DType type);                                                            \
    }
KINDLING_DECLARE_MOVES(isa_baseline)
KINDLING_DECLARE_MOVES(isa_avx2)
KINDLING_DECLARE_MOVES(isa_avx512)
#undef KINDLING_DECLARE_MOVES
/// For elements of 1, 2, 4, 8 or 16 bytes.
PlaneCopy find_plane_copy(int item);
ColumnScan find_column_scan(bool product, DType type);

}  // namespace kindling
