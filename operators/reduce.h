// operators/reduce.h: folds over dimensions, as loop kernels.
#pragma once
#include "kernels/loop.h"
#include "operators/loops.h"

namespace kindling {

/// What is left of `sizes` after folding the dimensions in `mask`.
Sizes reduced_sizes(IntList sizes, uint64_t mask, bool keepdim);

struct Fold {
    const Expression* expression = nullptr;   // over the inputs
    const Combine* combines = nullptr;
    const Expression* finish = nullptr;
    const Immediate* scalars = nullptr;
};
/// Runs a fold over `inputs` (broadcast to `sizes`) into fresh tensors of these dtypes.
void fold(const Fold& what, IntList sizes, uint64_t mask, bool keepdim, TensorImpl* const* inputs, int input_count,
          const DType* dtypes, Tensor* outputs, int output_count);

/// A gradient of a reduced tensor, with the folded dimensions put back (size 1).
Tensor restore_dims(const Tensor& grad, uint64_t mask, int64_t ndim, bool keepdim);

}  // namespace kindling
