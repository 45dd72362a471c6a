// operators/reduce.cpp: sizes and dimensions of reductions and of their gradients.
// Compiled for calls.
#include "operators/reduce.h"

#include "generated/functions.h"

namespace kindling {

int64_t count_in(IntList sizes, uint64_t mask) {
    int64_t count = 1;
    for (size_t i = 0; i < sizes.size(); i++)
        if (mask >> i & 1) count *= sizes[i];
    return count;
}

Tensor to_equals(const Tensor& grad, const Tensor& self, const Tensor& result) {
    Tensor hit = logical_or(eq(self, result), logical_and(isnan(self), isnan(result)));
    return where(hit, div(grad, sum(hit)), wrap_number(Scalar(0))); // a product would make NaN where nothing equals it any more
}

Tensor restore_dims(const Tensor& grad, uint64_t mask, int64_t ndim, bool keepdim) {
    if (keepdim || ndim == 0) return grad;
    Tensor result = grad;
    for (int64_t i = 0; i < ndim; i++)
        if (mask >> i & 1) result = unsqueeze(result, i);
    return result;
}

} // namespace kindling
