// operators/reduce.cpp: sizes and dimensions of reductions and of their gradients.
// Compiled for calls.
#include "operators/reduce.h"

#include <cmath>
#include <limits>

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

int norm_kind(double p) { return p == 2 ? 2 : p == 1 ? 1 : p == 0 ? 0 : std::isinf(p) ? (p > 0 ? 3 : 4) : 5; }
Combine norm_combine(int kind) { return kind == 3 ? Combine::Max : kind == 4 ? Combine::Min : Combine::Sum; }

/// |z|^2: of a number with an infinite part infinite, also where the other is NaN.
static Sym squared_size(const Sym& z) {
    Sym x = abs(real(z)), y = abs(imag(z)), infinite = like(x, std::numeric_limits<double>::infinity());
    return where(x == infinite, infinite, where(y == infinite, infinite, x * x + y * y));
}

Sym norm_term(const Sym& x, const Sym& p, int64_t kind) {
    const Sym size = abs(x);
    switch (kind) {
    case 0: return cast(size != like(size, 0), size.dtype());
    case 2: return x.is_complex() ? squared_size(x) : x * x;
    case 5: return pow(size, p);
    default: return size;
    }
}

Sym norm_of_total(const Sym& total, const Sym& p, int64_t kind) {
    return kind == 2 ? sqrt(total) : kind == 5 ? pow(total, reciprocal(like(total, p))) : total;
}

} // namespace kindling
