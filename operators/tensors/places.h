// operators/tensors/places.h: places that tensors of whole numbers name, for checks of values (`raises_by_value`).
#pragma once
#include <optional>

#include "core/tensor.h"

namespace kindling {

/// The first number that is not in [0, size), or with `from_end` not in [-size, size); none if all are.
std::optional<int64_t> place_outside(const Tensor& index, int64_t size, bool from_end = false);
/// The size of a dimension, which may count from the end; 1 of a tensor without dimensions.
int64_t size_along(IntList sizes, int64_t dim);

} // namespace kindling
