// operators/arithmetic.cpp: sums, products, quotients and their kin.
#include "operators/declare.h"

OPERATORS(arithmetic) {
    declare("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", {
        doc("self + alpha * other"),
        pointwise([](auto x, auto y, auto alpha) { return x + alpha * y; }),
        example("torch.add(torch.tensor([1., 2.]), torch.tensor([10., 20.]), alpha=2)"),
        refuses("torch.ones(2) + torch.ones(3)", "RuntimeError: .*must match"),
    });
    declare("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", {
        doc("self - alpha * other"), alias("subtract"),
        pointwise([](auto x, auto y, auto alpha) { return x - alpha * y; }),
    });
    declare("mul.Tensor(Tensor self, Tensor other) -> Tensor", {
        doc("self * other; the logical and for bool"), alias("multiply"),
        pointwise([](auto x, auto y) { return x.dtype() == DType::Bool ? x & y : x * y; }),
    });
    declare("neg(Tensor self) -> Tensor", {
        doc("-self"), alias("negative"),
        pointwise([](auto x) { return -x; }),
    });
    declare("exp(Tensor self) -> Tensor", {
        doc("e to the power of self"), int_to_float(),
        pointwise([](auto x) { return exp(x); }),
    });
}
