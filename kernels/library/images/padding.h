// kernels/library/images/padding.h: padding by reflection, replication and wrapping, which reads the tensor itself.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// Planes of three dimensions. Position i of dimension d of a padded plane reads position from[d][i] of the plane.
struct Pads {
    int64_t planes, in[3], to[3];
    const int64_t* from[3];
};

/// Contiguous memory, elements of `item` bytes.
void pad(const Pads& pads, int item, const void* in, void* out);
/// Adds each position of the padded planes to the position it was read from. For floating and complex dtypes except
/// half types.
void add_padded(const Pads& pads, DType dtype, const void* from, void* to);

} // namespace kindling::library
