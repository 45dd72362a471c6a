// operators/elementwise/special.cpp: torch.special's rarer functions: Bessel and Airy functions, orthogonal polynomials, incomplete
// gamma functions. They are computed one number at a time, in double precision.
#include "kernels/library/special.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/declare.h"
#include "operators/loops.h"
#include "runtime/threads.h"

namespace kindling {
namespace {

namespace special = library::special;

/// The dtype to work in. `only_floats`: halves too, and no integers.
DType real_dtype(DType dtype, const char* name, bool only_floats) {
    if (!is_differentiable(dtype) && !only_floats) dtype = default_dtype();
    KINDLING_CHECK(NotImplemented, is_floating(dtype) && (only_floats || !is_half(dtype)), "\"%s\" not implemented for '%s'", name,
                   scalar_type_name(dtype));
    return dtype;
}

/// f of each number as a double. Floats are widened some at a time before: where g++ optimises for size its instruction for one keeps half
/// of the register, and so waits for the result before.
template <class T, class F> void fill_from(const Array& out, F f, const T* a, const T* b) {
    constexpr int64_t most = 32;
    T* data = out.data_ptr<T>();
    parallel_for(0, out.numel(), 256, [&](int64_t begin, int64_t end) {
        double x[most], y[most];
        for (int64_t some; begin < end; begin += some) {
            some = end - begin < most ? end - begin : most;
            for (int64_t i = 0; i < some; i++) x[i] = static_cast<double>(a[begin + i]);
            for (int64_t i = 0; i < some && b; i++) y[i] = static_cast<double>(b[begin + i]);
            for (int64_t i = 0; i < some; i++) data[begin + i] = static_cast<T>(f(x, y, i));
        }
    });
}
template <class F> void fill_from(const Array& out, F f, const Array& a, const Array* b = nullptr) {
    if (out.dtype() == DType::Float32) fill_from(out, f, a.data_ptr<float>(), b ? b->data_ptr<float>() : nullptr);
    else fill_from(out, f, a.data_ptr<double>(), b ? b->data_ptr<double>() : nullptr);
}

/// A result as PyTorch's iterator lays it out for these operands.
void give(KernelCall& call, IntList sizes, DType dtype, std::initializer_list<TensorImpl*> operands) {
    call.gives(sizes, dtype).laid_out(output_strides(sizes, operands.begin(), static_cast<int>(operands.size())));
    call.costs(64 * checked_numel(sizes));
}

using One = double (*)(double);
One each(KernelCall& call, const Tensor& self, const char* name, One f) {
    const DType dtype = real_dtype(self.dtype(), name, false);
    call.reads(self, dtype);
    give(call, self.sizes(), dtype, {self.impl()});
    return f;
}
constexpr auto one = [](One f, const Array& x, const Array& out) {
    fill_from(out, [f](const double* each, const double*, int64_t i) { return f(each[i]); }, x);
};

using Two = double (*)(double, double);
Two each(KernelCall& call, const Tensor& a, const Tensor& b, const char* name, Two f, bool only_floats = false) {
    ResultType type;
    type.add(*a.impl());
    type.add(*b.impl());
    const DType dtype = real_dtype(type.get(), name, only_floats), inside = is_half(dtype) ? DType::Float32 : dtype;
    const Sizes sizes = broadcast_sizes(a.sizes(), b.sizes(), name);
    for (const Tensor* operand : {&a, &b}) call.reads(operand->sizes() == IntList(sizes) ? *operand : expand(*operand, sizes), inside);
    give(call, sizes, dtype, {a.impl(), b.impl()});
    call.result(0).computed_in(inside);
    return f;
}
constexpr auto two = [](Two f, const Array& a, const Array& b, const Array& out) {
    fill_from(out, [f](const double* x, const double* y, int64_t i) { return f(x[i], y[i]); }, a, &b);
};

/// The derivative of the lower incomplete gamma function: x^(a - 1) e^-x / gamma(a).
Tensor gamma_density(const Tensor& a, const Tensor& x) { return exp(sub(sub(mul(sub(a, wrap_number(Scalar(1))), log(x)), x), lgamma(a))); }

} // namespace
} // namespace kindling

OPERATORS(special) {
    declare("special_round(Tensor self, *, int decimals=0) -> Tensor")({
        doc("The nearest number with so many decimals, halves to even"),
        composition([](const Tensor& self, int64_t decimals) { return round(self, decimals); }),
    });
    declare("special_bessel_j0(Tensor self) -> Tensor")({
        doc("The Bessel function of the first kind, order 0"),
        out_castable(),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& self) { return each(call, self, "bessel_j0_cpu", special::bessel_j0); }, one),
    });
    declare("special_bessel_j1(Tensor self) -> Tensor")({
        doc("The Bessel function of the first kind, order 1"),
        out_castable(),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& self) { return each(call, self, "bessel_j1_cpu", special::bessel_j1); }, one),
    });
    declare("special_bessel_y0(Tensor self) -> Tensor")({
        doc("The Bessel function of the second kind, order 0"),
        out_castable(),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& self) { return each(call, self, "bessel_y0_cpu", special::bessel_y0); }, one),
    });
    declare("special_bessel_y1(Tensor self) -> Tensor")({
        doc("The Bessel function of the second kind, order 1"),
        out_castable(),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& self) { return each(call, self, "bessel_y1_cpu", special::bessel_y1); }, one),
    });
    declare("special_modified_bessel_k0(Tensor self) -> Tensor")({
        doc("The modified Bessel function of the second kind, order 0"),
        out_castable(),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& self) { return each(call, self, "modified_bessel_k0_cpu", special::bessel_k0); }, one),
    });
    declare("special_modified_bessel_k1(Tensor self) -> Tensor")({
        doc("The modified Bessel function of the second kind, order 1"),
        out_castable(),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& self) { return each(call, self, "modified_bessel_k1_cpu", special::bessel_k1); }, one),
    });
    declare("special_scaled_modified_bessel_k0(Tensor x) -> Tensor")({
        doc("exp(x) times the modified Bessel function of the second kind, order 0"),
        out_castable(),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& x) { return each(call, x, "scaled_modified_bessel_k0_cpu", special::scaled_bessel_k0); },
               one),
    });
    declare("special_scaled_modified_bessel_k1(Tensor x) -> Tensor")({
        doc("exp(x) times the modified Bessel function of the second kind, order 1"),
        out_castable(),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& x) { return each(call, x, "scaled_modified_bessel_k1_cpu", special::scaled_bessel_k1); },
               one),
    });
    declare("special_spherical_bessel_j0(Tensor x) -> Tensor")({
        doc("The spherical Bessel function of the first kind, order 0: sin(x) / x"),
        out_castable(),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& x) { return each(call, x, "spherical_bessel_j0_cpu", special::spherical_bessel_j0); },
               one),
    });
    declare("special_airy_ai(Tensor x) -> Tensor")({
        doc("The Airy function Ai"),
        out_castable(),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& x) { return each(call, x, "airy_ai_cpu", special::airy_ai); }, one),
    });
    declare("special_modified_bessel_i0(Tensor self) -> Tensor")({
        doc("The modified Bessel function of the first kind, order 0"),
        out_castable(),
        not_differentiable(),
        composition([](const Tensor& self) {
            real_dtype(self.dtype(), "modified_bessel_i0_cpu", false);
            return i0(self);
        }),
    });
    declare("special_modified_bessel_i1(Tensor self) -> Tensor")({
        doc("The modified Bessel function of the first kind, order 1"),
        out_castable(),
        not_differentiable(),
        composition([](const Tensor& self) {
            real_dtype(self.dtype(), "modified_bessel_i1_cpu", false);
            return special_i1(self);
        }),
    });
    declare("special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor")({
        doc("The Chebyshev polynomial of the first kind, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "chebyshev_polynomial_t_cpu", special::chebyshev_t); },
               two),
    });
    declare("special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor")({
        doc("The Chebyshev polynomial of the second kind, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "chebyshev_polynomial_u_cpu", special::chebyshev_u); },
               two),
    });
    declare("special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor")({
        doc("The Chebyshev polynomial of the third kind, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "chebyshev_polynomial_v_cpu", special::chebyshev_v); },
               two),
    });
    declare("special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor")({
        doc("The Chebyshev polynomial of the fourth kind, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "chebyshev_polynomial_w_cpu", special::chebyshev_w); },
               two),
    });
    declare("special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor")({
        doc("The physicists' Hermite polynomial, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "hermite_polynomial_h_cpu", special::hermite_h); },
               two),
    });
    declare("special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor")({
        doc("The probabilists' Hermite polynomial, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "hermite_polynomial_he_cpu", special::hermite_he); },
               two),
    });
    declare("special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor")({
        doc("The Laguerre polynomial, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "laguerre_polynomial_l_cpu", special::laguerre_l); },
               two),
    });
    declare("special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor")({
        doc("The Legendre polynomial, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "legendre_polynomial_p_cpu", special::legendre_p); },
               two),
    });
    declare("special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor")({
        doc("The shifted Chebyshev polynomial of the first kind, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "shifted_chebyshev_polynomial_t_cpu", special::shifted_chebyshev_t); },
               two),
    });
    declare("special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor")({
        doc("The shifted Chebyshev polynomial of the second kind, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "shifted_chebyshev_polynomial_u_cpu", special::shifted_chebyshev_u); },
               two),
    });
    declare("special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor")({
        doc("The shifted Chebyshev polynomial of the third kind, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "shifted_chebyshev_polynomial_v_cpu", special::shifted_chebyshev_v); },
               two),
    });
    declare("special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor")({
        doc("The shifted Chebyshev polynomial of the fourth kind, of degree n, at x"),
        out_castable(),
        not_differentiable(),
        flags(trait::TensorOnlyNumbers),
        kernel([](KernelCall& call, const Tensor& x,
                  const Tensor& n) { return each(call, x, n, "shifted_chebyshev_polynomial_w_cpu", special::shifted_chebyshev_w); },
               two),
    });
    declare("igamma(Tensor self, Tensor other) -> Tensor")({
        doc("The regularised lower incomplete gamma function, of order self, at other"),
        inplace_is_method(),
        out_castable(),
        alias("special_gammainc"),
        has_inplace(),
        kernel([](KernelCall& call, const Tensor& self,
                  const Tensor& other) { return each(call, self, other, "igamma", special::gamma_lower, true); },
               two),
        derivative(
            "self",
            GIVEN(Tensor grad) {
                (void)grad;
                fail(ErrorKind::NotImplemented, "the derivative for 'igamma: input' is not implemented.");
                return Tensor();
            }),
        derivative(
            "other", GIVEN(Tensor grad, Tensor self, Tensor other) { return mul(grad, gamma_density(self, other)); }),
    });
    declare("igammac(Tensor self, Tensor other) -> Tensor")({
        doc("The regularised upper incomplete gamma function, of order self, at other"),
        inplace_is_method(),
        out_castable(),
        alias("special_gammaincc"),
        has_inplace(),
        kernel([](KernelCall& call, const Tensor& self,
                  const Tensor& other) { return each(call, self, other, "igammac", special::gamma_upper, true); },
               two),
        derivative(
            "self",
            GIVEN(Tensor grad) {
                (void)grad;
                fail(ErrorKind::NotImplemented, "the derivative for 'igammac: input' is not implemented.");
                return Tensor();
            }),
        derivative(
            "other", GIVEN(Tensor grad, Tensor self, Tensor other) { return neg(mul(grad, gamma_density(self, other))); }),
    });
}
