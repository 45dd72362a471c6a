// operators/reduce.h: what reductions and their gradients share.
#pragma once
#include "core/tensor.h"

namespace kindling {

/// How many elements the dimensions in `mask` have together.
int64_t count_in(IntList sizes, uint64_t mask);

/// The gradient of an element of `self` (its greatest, its median), shared evenly by all that equal it, NaN as well.
Tensor to_equals(const Tensor& grad, const Tensor& self, const Tensor& result);

/// A gradient of a reduced tensor, with the reduced dimensions put back (size 1).
Tensor restore_dims(const Tensor& grad, uint64_t mask, int64_t ndim, bool keepdim);

} // namespace kindling
