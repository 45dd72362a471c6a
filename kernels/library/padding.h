// kernels/library/padding.h: padding whose places are read from the tensor itself.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// Planes of three dimensions; place i of dimension d of a padded plane reads place from[d][i] of the plane.
struct Pads {
    int64_t planes, in[3], to[3];
    const int64_t* from[3];
};

/// Contiguous memory, elements of `item` bytes.
void pad(const Pads& pads, int item, const void* in, void* out);
/// Adds what lies at each place of the padded planes to where it was read from; of floating and complex dtypes but half.
void add_padded(const Pads& pads, DType dtype, const void* from, void* to);

}  // namespace kindling::library
