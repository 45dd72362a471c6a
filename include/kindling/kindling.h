// include/kindling/kindling.h: Kindling from C++. No Python needed: link Kindling::Kindling (find_package(Kindling)).
//
//     using namespace kindling;
//     manual_seed(0);
//     Tensor x = randn({64, 1}), w = zeros({1, 1}).requires_grad_();
//     Tensor loss = (matmul(x, w) - 3 * x).pow(2).mean();
//     loss.backward();
//     { NoGradGuard off; w -= w.grad() * 0.1; }
//
// Every operator is a function of this namespace and, where PyTorch has it as one, a method of Tensor; names, arguments
// and defaults are PyTorch's. Errors are kindling::Error (a std::exception) and leave all tensors as they were.
#pragma once
#include "core/tensor.h"
#include "core/thread_state.h"
#include "generated/functions.h"
#include "generated/out_functions.h"

namespace KINDLING_VISIBLE kindling {

/// Seeds the default generator; the numbers that follow are PyTorch's for the same seed.
void manual_seed(uint64_t seed);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, const Scalar& b) { return add(a, wrap_number(b)); }
inline Tensor operator-(const Tensor& a, const Scalar& b) { return sub(a, wrap_number(b)); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return mul(a, wrap_number(b)); }
inline Tensor operator/(const Tensor& a, const Scalar& b) { return div(a, wrap_number(b)); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return add(b, wrap_number(a)); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return rsub(b, wrap_number(a)); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return mul(b, wrap_number(a)); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return mul(reciprocal(b), wrap_number(a)); }
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator<(const Tensor& a, const Scalar& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Scalar& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Scalar& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Scalar& b) { return ge(a, b); }

} // namespace kindling
