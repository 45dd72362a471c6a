// operators/reduce.h: what reductions and their gradients share.
#pragma once
#include "core/tensor.h"
#include "kernels/loop.h"
#include "kernels/symbol.h"

namespace kindling {

/// How many elements the dimensions in `mask` have together.
int64_t count_in(IntList sizes, uint64_t mask);

/// The gradient of an element of `self` (its greatest, its median), shared evenly by all that equal it, NaN as well.
Tensor to_equals(const Tensor& grad, const Tensor& self, const Tensor& result);

/// A gradient of a reduced tensor, with the reduced dimensions put back (size 1).
Tensor restore_dims(const Tensor& grad, uint64_t mask, int64_t ndim, bool keepdim);

/// Which reduction gives a p-norm, a choice of its bodies: 0 counts what is not 0, 1 adds sizes, 2 squares, 3 takes the largest, 4 the
/// smallest, 5 adds powers.
int norm_kind(double p);
Combine norm_combine(int kind);
/// What is reduced of an element, and the norm from that.
Sym norm_term(const Sym& x, const Sym& p, int64_t kind);
Sym norm_of_total(const Sym& total, const Sym& p, int64_t kind);

} // namespace kindling
