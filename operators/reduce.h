// operators/reduce.h: folds over dimensions, as loop kernels.
#pragma once
#include "kernels/loop.h"
#include "operators/cached.h"
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

/// Runs a row kernel (LoopKernel::row) over `sizes`, rows along the dimensions in `mask`. Tensors broadcast to `sizes`; an
/// output that is one number a row has size 1 along it.
void run_rows(const Expression& expression, IntList sizes, uint64_t mask, TensorImpl* const* outputs, int output_count,
              TensorImpl* const* inputs, int input_count, const Immediate* scalars);

/// The row kernel of a body over tensors, shaped like the first and contiguous; of half types computed in float.
Tensor run_rows(const Expression& expression, uint64_t mask, DType result, TensorImpl* const* inputs, int input_count);
template <class F, class... T> Tensor by_rows(uint64_t mask, DType result, F body, const T&... tensors) {
    static_assert(std::is_empty_v<F>, "the key knows nothing of what a body holds");
    TensorImpl* inputs[] = {tensors.impl()...};
    uint64_t key = static_cast<uint64_t>(result);
    ((key = key << 8 | static_cast<uint64_t>(tensors.dtype())), ...);
    const Expression& expression = cached_expression(key, [&](ExpressionBuilder& builder) {
        Sym values[] = {cast(builder.input(tensors.dtype()), value_type(result))...};  // braces: one after the other
        [&]<size_t... I>(std::index_sequence<I...>) { builder.output(cast(body(values[I]...), result)); }
        (std::make_index_sequence<sizeof...(T)>());
    });
    return run_rows(expression, mask, result, inputs, sizeof...(T));
}

/// The gradient of an element of `self` (its greatest, its median), shared evenly by all that equal it, NaN as well.
Tensor to_equals(const Tensor& grad, const Tensor& self, const Tensor& result);

/// A gradient of a reduced tensor, with the folded dimensions put back (size 1).
Tensor restore_dims(const Tensor& grad, uint64_t mask, int64_t ndim, bool keepdim);

}  // namespace kindling
