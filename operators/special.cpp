// operators/special.cpp: torch.special's rarer functions: Bessel and Airy functions, orthogonal polynomials, incomplete
// gamma functions. They are computed one number at a time, in double precision.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/special.h"
#include "operators/declare.h"
#include "operators/loops.h"
#include "runtime/threads.h"

namespace kindling {
namespace {

namespace special = library::special;

/// The dtype to work in. `only_floats`: halves too, and no integers.
DType real_dtype(DType dtype, const char* name, bool only_floats) {
    if (!is_differentiable(dtype) && !only_floats) dtype = default_dtype();
    KINDLING_CHECK(NotImplemented, is_floating(dtype) && (only_floats || !is_half(dtype)), "\"%s\" not implemented for '%s'", name, scalar_type_name(dtype));
    return dtype;
}

template <class T, class F> void fill(const Tensor& out, F value) {
    T* data = out.data_ptr<T>();
    parallel_for(0, out.numel(), 256, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) data[i] = static_cast<T>(value(i));
    });
}

/// A contiguous result as PyTorch's iterator lays it out for these operands.
Tensor laid_out(const Tensor& out, std::initializer_list<TensorImpl*> operands) {
    Sizes strides = output_strides(out.sizes(), operands.begin(), static_cast<int>(operands.size()));
    if (IntList(strides) == out.strides()) return out;
    Tensor result = make_tensor(out.sizes(), strides, out.dtype(), out.device());
    return out.is_meta() ? result : copy_(result, out);
}

using One = double (*)(double);
Tensor each(const Tensor& self, const char* name, One f) {
    DType dtype = real_dtype(self.dtype(), name, false);
    Tensor out = make_tensor(self.sizes(), dtype, self.device());
    if (out.is_meta() || !out.numel()) return laid_out(out, {self.impl()});
    Tensor x = contiguous(to(self, dtype));
    Unlocked unlocked(out.numel() > 1024);
    if (dtype == DType::Float32) fill<float>(out, [&, data = x.data_ptr<float>()](int64_t i) { return f(static_cast<double>(data[i])); });
    else fill<double>(out, [&, data = x.data_ptr<double>()](int64_t i) { return f(data[i]); });
    return laid_out(out, {self.impl()});
}

using Two = double (*)(double, double);
Tensor each(const Tensor& a, const Tensor& b, const char* name, Two f, bool only_floats = false) {
    ResultType type;
    type.add(*a.impl());
    type.add(*b.impl());
    DType dtype = real_dtype(type.get(), name, only_floats), inside = is_half(dtype) ? DType::Float32 : dtype;
    // A number that was made a tensor lies on the CPU, whatever the other is.
    Tensor out = make_tensor(broadcast_sizes(a.sizes(), b.sizes(), name), inside, (a.is_meta() ? a : b).device());
    if (!out.is_meta() && out.numel()) {
        Tensor x = contiguous(expand(to(a, inside), out.sizes())), y = contiguous(expand(to(b, inside), out.sizes()));
        Unlocked unlocked(out.numel() > 1024);
        if (inside == DType::Float32)
            fill<float>(out, [&, p = x.data_ptr<float>(), q = y.data_ptr<float>()](int64_t i) { return f(static_cast<double>(p[i]), static_cast<double>(q[i])); });
        else fill<double>(out, [&, p = x.data_ptr<double>(), q = y.data_ptr<double>()](int64_t i) { return f(p[i], q[i]); });
    }
    return laid_out(inside == dtype ? out : to(out, dtype), {a.impl(), b.impl()});
}

/// The derivative of the lower incomplete gamma function: x^(a - 1) e^-x / gamma(a).
Tensor gamma_density(const Tensor& a, const Tensor& x) {
    return exp(sub(sub(mul(sub(a, wrap_number(Scalar(1))), log(x)), x), lgamma(a)));
}

}  // namespace
}  // namespace kindling

OPERATORS(special) {
    declare("special_round(Tensor self, *, int decimals=0) -> Tensor", {
        doc("The nearest number with so many decimals, halves to even"),
        composition([](const Tensor& self, int64_t decimals) { return round(self, decimals); }),
    });
    declare("special_bessel_j0(Tensor self) -> Tensor", {
        doc("The Bessel function of the first kind, order 0"), out_castable(), not_differentiable(),
        kernel([](const Tensor& self) { return each(self, "bessel_j0_cpu", special::bessel_j0); }),
    });
    declare("special_bessel_j1(Tensor self) -> Tensor", {
        doc("The Bessel function of the first kind, order 1"), out_castable(), not_differentiable(),
        kernel([](const Tensor& self) { return each(self, "bessel_j1_cpu", special::bessel_j1); }),
    });
    declare("special_bessel_y0(Tensor self) -> Tensor", {
        doc("The Bessel function of the second kind, order 0"), out_castable(), not_differentiable(),
        kernel([](const Tensor& self) { return each(self, "bessel_y0_cpu", special::bessel_y0); }),
    });
    declare("special_bessel_y1(Tensor self) -> Tensor", {
        doc("The Bessel function of the second kind, order 1"), out_castable(), not_differentiable(),
        kernel([](const Tensor& self) { return each(self, "bessel_y1_cpu", special::bessel_y1); }),
    });
    declare("special_modified_bessel_k0(Tensor self) -> Tensor", {
        doc("The modified Bessel function of the second kind, order 0"), out_castable(), not_differentiable(),
        kernel([](const Tensor& self) { return each(self, "modified_bessel_k0_cpu", special::bessel_k0); }),
    });
    declare("special_modified_bessel_k1(Tensor self) -> Tensor", {
        doc("The modified Bessel function of the second kind, order 1"), out_castable(), not_differentiable(),
        kernel([](const Tensor& self) { return each(self, "modified_bessel_k1_cpu", special::bessel_k1); }),
    });
    declare("special_scaled_modified_bessel_k0(Tensor x) -> Tensor", {
        doc("exp(x) times the modified Bessel function of the second kind, order 0"), out_castable(), not_differentiable(),
        kernel([](const Tensor& x) { return each(x, "scaled_modified_bessel_k0_cpu", special::scaled_bessel_k0); }),
    });
    declare("special_scaled_modified_bessel_k1(Tensor x) -> Tensor", {
        doc("exp(x) times the modified Bessel function of the second kind, order 1"), out_castable(), not_differentiable(),
        kernel([](const Tensor& x) { return each(x, "scaled_modified_bessel_k1_cpu", special::scaled_bessel_k1); }),
    });
    declare("special_spherical_bessel_j0(Tensor x) -> Tensor", {
        doc("The spherical Bessel function of the first kind, order 0: sin(x) / x"), out_castable(), not_differentiable(),
        kernel([](const Tensor& x) { return each(x, "spherical_bessel_j0_cpu", special::spherical_bessel_j0); }),
    });
    declare("special_airy_ai(Tensor x) -> Tensor", {
        doc("The Airy function Ai"), out_castable(), not_differentiable(),
        kernel([](const Tensor& x) { return each(x, "airy_ai_cpu", special::airy_ai); }),
    });
    declare("special_modified_bessel_i0(Tensor self) -> Tensor", {
        doc("The modified Bessel function of the first kind, order 0"), out_castable(), not_differentiable(),
        kernel([](const Tensor& self) {
            real_dtype(self.dtype(), "modified_bessel_i0_cpu", false);
            return i0(self);
        }),
    });
    declare("special_modified_bessel_i1(Tensor self) -> Tensor", {
        doc("The modified Bessel function of the first kind, order 1"), out_castable(), not_differentiable(),
        kernel([](const Tensor& self) {
            real_dtype(self.dtype(), "modified_bessel_i1_cpu", false);
            return special_i1(self);
        }),
    });
    declare("special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", {
        doc("The Chebyshev polynomial of the first kind, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "chebyshev_polynomial_t_cpu", special::chebyshev_t); }),
    });
    declare("special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", {
        doc("The Chebyshev polynomial of the second kind, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "chebyshev_polynomial_u_cpu", special::chebyshev_u); }),
    });
    declare("special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", {
        doc("The Chebyshev polynomial of the third kind, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "chebyshev_polynomial_v_cpu", special::chebyshev_v); }),
    });
    declare("special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", {
        doc("The Chebyshev polynomial of the fourth kind, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "chebyshev_polynomial_w_cpu", special::chebyshev_w); }),
    });
    declare("special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor", {
        doc("The physicists' Hermite polynomial, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "hermite_polynomial_h_cpu", special::hermite_h); }),
    });
    declare("special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor", {
        doc("The probabilists' Hermite polynomial, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "hermite_polynomial_he_cpu", special::hermite_he); }),
    });
    declare("special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor", {
        doc("The Laguerre polynomial, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "laguerre_polynomial_l_cpu", special::laguerre_l); }),
    });
    declare("special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor", {
        doc("The Legendre polynomial, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "legendre_polynomial_p_cpu", special::legendre_p); }),
    });
    declare("special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", {
        doc("The shifted Chebyshev polynomial of the first kind, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "shifted_chebyshev_polynomial_t_cpu", special::shifted_chebyshev_t); }),
    });
    declare("special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", {
        doc("The shifted Chebyshev polynomial of the second kind, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "shifted_chebyshev_polynomial_u_cpu", special::shifted_chebyshev_u); }),
    });
    declare("special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", {
        doc("The shifted Chebyshev polynomial of the third kind, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "shifted_chebyshev_polynomial_v_cpu", special::shifted_chebyshev_v); }),
    });
    declare("special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", {
        doc("The shifted Chebyshev polynomial of the fourth kind, of degree n, at x"), out_castable(), not_differentiable(), flags(trait::TensorOnlyNumbers),
        kernel([](const Tensor& x, const Tensor& n) { return each(x, n, "shifted_chebyshev_polynomial_w_cpu", special::shifted_chebyshev_w); }),
    });
    declare("igamma(Tensor self, Tensor other) -> Tensor", {
        doc("The regularised lower incomplete gamma function, of order self, at other"), out_castable(), alias("special_gammainc"), has_inplace(),
        kernel([](const Tensor& self, const Tensor& other) { return each(self, other, "igamma", special::gamma_lower, true); }),
        derivative("self", GIVEN(Tensor grad) { (void)grad; fail(ErrorKind::NotImplemented, "the derivative for 'igamma: input' is not implemented."); return Tensor(); }),
        derivative("other", GIVEN(Tensor grad, Tensor self, Tensor other) { return mul(grad, gamma_density(self, other)); }),
    });
    declare("igammac(Tensor self, Tensor other) -> Tensor", {
        doc("The regularised upper incomplete gamma function, of order self, at other"), out_castable(), alias("special_gammaincc"), has_inplace(),
        kernel([](const Tensor& self, const Tensor& other) { return each(self, other, "igammac", special::gamma_upper, true); }),
        derivative("self", GIVEN(Tensor grad) { (void)grad; fail(ErrorKind::NotImplemented, "the derivative for 'igammac: input' is not implemented."); return Tensor(); }),
        derivative("other", GIVEN(Tensor grad, Tensor self, Tensor other) { return neg(mul(grad, gamma_density(self, other))); }),
    });
}
