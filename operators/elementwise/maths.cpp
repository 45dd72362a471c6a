// operators/elementwise/maths.cpp: functions of one number (and a few of two).
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/declare.h"

namespace kindling {
namespace {

void check_real(const char* name, const Tensor& self) {
    KINDLING_CHECK(Runtime, !self.is_complex(), "%s is not supported for complex tensors.", name);
}

/// Two parts of a complex number.
void check_pair(const Tensor& a, const Tensor& b) {
    for (const Tensor* each : {&a, &b})
        KINDLING_CHECK(Runtime, is_floating(each->dtype()) && each->dtype() != DType::BFloat16,
                       "Expected both inputs to be Half, Float or Double tensors but got %s and %s", scalar_type_name(a.dtype()),
                       scalar_type_name(b.dtype()));
    KINDLING_CHECK(Runtime, a.dtype() == b.dtype(), "Expected object of scalar type %s but got scalar type %s for second argument",
                   scalar_type_name(a.dtype()), scalar_type_name(b.dtype()));
    if (a.dtype() == DType::Float16)
        fail(ErrorKind::NotImplemented, "complex numbers of two float16 (torch.complex32) are not implemented");
}

} // namespace
} // namespace kindling

OPERATORS(maths) {
    declare("exp(Tensor self) -> Tensor")({
        doc("e to the power of self"),
        over_lists(),
        int_to_float(),
        pointwise([](auto x) { return exp(x); }),
    });
    declare("exp2(Tensor self) -> Tensor")({
        doc("2 to the power of self"),
        alias("special_exp2"),
        int_to_float(),
        pointwise([](auto x) { return exp2(x); }),
    });
    declare("expm1(Tensor self) -> Tensor")({
        doc("exp(self) - 1 without loss near 0"),
        over_lists(),
        alias("special_expm1"),
        int_to_float(),
        pointwise([](auto x) { return expm1(x); }),
    });
    declare("log(Tensor self) -> Tensor")({
        doc("The natural logarithm"),
        over_lists(),
        int_to_float(),
        pointwise([](auto x) { return log(x); }),
    });
    declare("log2(Tensor self) -> Tensor")({
        doc("The logarithm to base 2"),
        over_lists(),
        int_to_float(),
        pointwise([](auto x) { return log2(x); }),
    });
    declare("log10(Tensor self) -> Tensor")({
        doc("The logarithm to base 10"),
        over_lists(),
        int_to_float(),
        pointwise([](auto x) { return log10(x); }),
    });
    declare("log1p(Tensor self) -> Tensor")({
        doc("log(1 + self) without loss near 0"),
        over_lists(),
        alias("special_log1p"),
        int_to_float(),
        pointwise([](auto x) { return log1p(x); }),
    });
    declare("sqrt(Tensor self) -> Tensor")({
        doc("The square root"),
        over_lists(),
        int_to_float(),
        pointwise([](auto x) { return sqrt(x); }),
    });
    declare("rsqrt(Tensor self) -> Tensor")({
        doc("1 / sqrt(self)"),
        over_lists(),
        int_to_float(),
        pointwise([](auto x) { return rsqrt(x); }),
    });
    declare("sin(Tensor self) -> Tensor")({doc("The sine"), over_lists(), int_to_float(), pointwise([](auto x) { return sin(x); })});
    declare("cos(Tensor self) -> Tensor")({doc("The cosine"), over_lists(), int_to_float(), pointwise([](auto x) { return cos(x); })});
    declare("tan(Tensor self) -> Tensor")({doc("The tangent"), over_lists(), int_to_float(), pointwise([](auto x) { return tan(x); })});
    declare("asin(Tensor self) -> Tensor")({
        doc("The arc sine"),
        over_lists(),
        alias("arcsin"),
        int_to_float(),
        pointwise([](auto x) { return asin(x); }),
    });
    declare("acos(Tensor self) -> Tensor")({
        doc("The arc cosine"),
        over_lists(),
        alias("arccos"),
        int_to_float(),
        pointwise([](auto x) { return acos(x); }),
    });
    declare("atan(Tensor self) -> Tensor")({
        doc("The arc tangent"),
        over_lists(),
        alias("arctan"),
        int_to_float(),
        pointwise([](auto x) { return atan(x); }),
    });
    declare("atan2(Tensor self, Tensor other) -> Tensor")({
        doc("The angle of the point (other, self)"),
        inplace_is_method(),
        alias("arctan2"),
        int_to_float(),
        pointwise([](auto y, auto x) { return atan2(y, x); }),
    });
    declare("sinh(Tensor self) -> Tensor")({
        doc("The hyperbolic sine"),
        over_lists(),
        int_to_float(),
        pointwise([](auto x) { return sinh(x); }),
    });
    declare("cosh(Tensor self) -> Tensor")({
        doc("The hyperbolic cosine"),
        over_lists(),
        int_to_float(),
        pointwise([](auto x) { return cosh(x); }),
    });
    declare("tanh(Tensor self) -> Tensor")({
        doc("The hyperbolic tangent"),
        over_lists(),
        int_to_float(),
        pointwise([](auto x) { return tanh(x); }),
    });
    declare("asinh(Tensor self) -> Tensor")({
        doc("The inverse of sinh"),
        alias("arcsinh"),
        int_to_float(),
        pointwise([](auto x) { return asinh(x); }),
    });
    declare("acosh(Tensor self) -> Tensor")({
        doc("The inverse of cosh"),
        alias("arccosh"),
        int_to_float(),
        pointwise([](auto x) { return acosh(x); }),
    });
    declare("atanh(Tensor self) -> Tensor")({
        doc("The inverse of tanh"),
        alias("arctanh"),
        int_to_float(),
        pointwise([](auto x) { return atanh(x); }),
    });
    declare("sigmoid(Tensor self) -> Tensor")({
        doc("1 / (1 + exp(-self))"),
        over_lists(),
        alias("special_expit"),
        int_to_float(),
        pointwise([](auto x) { return sigmoid(x); }),
    });
    declare("logit(Tensor self, float? eps=None) -> Tensor")({
        doc("log(self / (1 - self)), self limited to [eps, 1 - eps] if eps is given"),
        takes(kind::All & ~kind::Complex),
        alias("special_logit"),
        int_to_float(),
        pointwise([](auto x, auto eps) {
            if (eps.is_none()) return log(x / (like(x, 1) - x));
            Sym low = cast(eps, x.dtype()), high = like(x, 1) - low; // the lower limit comes first, and none is below 0
            Sym y = where(low < like(x, 0), x, where(x < low, low, where(x > high, high, x)));
            return log(y / (like(y, 1) - y));
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, std::optional<double> eps) {
                Tensor slope = div(grad, mul(self, rsub(self, wrap_number(Scalar(1)))));
                if (!eps || *eps < 0)
                    return where(logical_and(ge(self, Scalar(0)), le(self, Scalar(1))), slope, wrap_number(Scalar(__builtin_nan(""))));
                return where(logical_or(lt(self, Scalar(*eps)), gt(self, Scalar(1 - *eps))), wrap_number(Scalar(0)), slope); // NaN at NaN
            }),
    });
    declare("erf(Tensor self) -> Tensor")({
        doc("The error function"),
        over_lists(),
        alias("special_erf"),
        int_to_float(),
        pointwise([](auto x) { return erf(x); }),
    });
    declare("erfc(Tensor self) -> Tensor")({
        doc("1 - erf(self) without loss"),
        over_lists(),
        alias("special_erfc"),
        int_to_float(),
        pointwise([](auto x) { return erfc(x); }),
    });
    declare("erfinv(Tensor self) -> Tensor")({
        doc("The inverse of erf"),
        inplace_is_method(),
        alias("special_erfinv"),
        int_to_float(),
        pointwise([](auto x) { return erfinv(x); }),
    });
    declare("lgamma(Tensor self) -> Tensor")({
        doc("The logarithm of the absolute value of the gamma function"),
        over_lists(),
        inplace_is_method(),
        alias("special_gammaln"),
        int_to_float(),
        pointwise([](auto x) { return lgamma(x); }),
    });
    declare("digamma(Tensor self) -> Tensor")({
        doc("The derivative of lgamma"),
        inplace_is_method(),
        alias("special_digamma"),
        alias("special_psi"),
        int_to_float(),
        pointwise([](auto x) { return digamma(x); }),
    });
    declare("polygamma(int n, Tensor self) -> Tensor")({
        doc("The n-th derivative of digamma"),
        in(space::Torch | space::Method),
        int_to_float(),
        no_inplace(),
        pointwise([](auto n, auto x) {
            int64_t order = n.integer();
            if (order < 0) fail(ErrorKind::Runtime, "polygamma(n, x) does not support negative n.");
            if (order == 0) return digamma(x);
            if (order == 1) return trigamma(x);
            double factorial = 1;
            for (int64_t i = 2; i <= order && i <= 171; i++) factorial *= static_cast<double>(i);
            return zeta(like(x, static_cast<double>(order) + 1), x) * like(x, order % 2 ? factorial : -factorial);
        }),
        derivative(
            "self", GIVEN(Tensor grad, int64_t n, Tensor self) { return mul(grad, polygamma(n == INT64_MAX ? n : n + 1, self)); }),
    });
    declare("special_polygamma(int n, Tensor self) -> Tensor")({
        doc("The n-th derivative of digamma"),
        out_castable(),
        composition([](int64_t n, const Tensor& self) { return polygamma(n, self); }),
    });
    declare("special_zeta(Tensor self, Tensor other) -> Tensor")({
        doc("The Hurwitz zeta function"),
        takes(kind::All & ~kind::Half),
        int_to_float(),
        flags(trait::TensorOnlyNumbers),
        pointwise([](auto x, auto q) { return zeta(x, q); }),
        derivative(
            "self",
            GIVEN(Tensor grad) {
                (void)grad;
                fail(ErrorKind::NotImplemented, "the derivative for 'zeta' is not implemented.");
                return Tensor();
            }),
        derivative(
            "other", GIVEN(Tensor grad, Tensor self,
                           Tensor other) { return mul(mul(grad, neg(self)), special_zeta(add(self, wrap_number(Scalar(1.0))), other)); }),
    });
    declare("i0(Tensor self) -> Tensor")({
        doc("The modified Bessel function of the first kind, order 0"),
        alias("special_i0"),
        int_to_float(),
        pointwise([](auto x) { return i0(x); }),
    });
    declare("special_i0e(Tensor self) -> Tensor")({
        doc("i0 scaled by exp(-abs(self))"),
        int_to_float(),
        pointwise([](auto x) { return i0e(x); }),
    });
    declare("special_i1(Tensor self) -> Tensor")({
        doc("The modified Bessel function of the first kind, order 1"),
        int_to_float(),
        pointwise([](auto x) { return i1(x); }),
    });
    declare("special_i1e(Tensor self) -> Tensor")({
        doc("i1 scaled by exp(-abs(self))"),
        int_to_float(),
        pointwise([](auto x) { return i1e(x); }),
    });
    declare("special_ndtr(Tensor self) -> Tensor")({
        doc("The normal distribution function"),
        int_to_float(),
        pointwise([](auto x) {
            Sym t = x * like(x, 0.70710678118654752440);
            return where(t < like(t, -1), like(t, 0.5) * erfc(-t), like(t, 0.5) * (like(t, 1) + erf(t)));
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self) {
                return mul(grad, mul(exp(mul(square(self), wrap_number(Scalar(-0.5)))), wrap_number(Scalar(0.39894228040143267794))));
            }),
    });
    declare("special_ndtri(Tensor self) -> Tensor")({
        doc("The inverse of ndtr"),
        int_to_float(),
        takes(kind::All & ~kind::Half),
        pointwise([](auto x) { return ndtri(x); }),
    });
    declare("special_log_ndtr(Tensor self) -> Tensor")({
        doc("log(ndtr(self)) without underflow"),
        takes(kind::All & ~kind::Half),
        int_to_float(),
        pointwise([](auto x) {
            Sym t = x * like(x, 0.70710678118654752440);
            return where(x < like(x, -1), log(erfcx(-t) * like(x, 0.5)) - t * t, log1p(-(erfc(t) * like(x, 0.5))));
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self) {
                auto number = [](double value) { return wrap_number(Scalar(value)); };
                if (thread_state.grad_mode) { // to be differentiated again: erfcx is infinite far above 0, and its slope would be NaN
                    Tensor low = clamp_max(self, Scalar(1)), high = clamp_min(self, Scalar(1));
                    Tensor below = div(number(0.79788456080286535588), special_erfcx(mul(low, number(-0.70710678118654752440))));
                    Tensor above = div(mul(exp(mul(mul(high, high), number(-0.5))), number(0.39894228040143267794)), special_ndtr(high));
                    return mul(grad, where(lt(self, Scalar(1)), below, above));
                }
                Tensor t = mul(self, wrap_number(Scalar(-0.70710678118654752440)));
                return div(mul(grad, wrap_number(Scalar(0.79788456080286535588))), special_erfcx(t));
            }),
    });
    declare("special_erfcx(Tensor self) -> Tensor")({
        doc("exp(self**2) * erfc(self)"),
        int_to_float(),
        takes(kind::All & ~kind::Half),
        pointwise([](auto x) { return erfcx(x); }),
    });
    declare("special_entr(Tensor self) -> Tensor")({
        doc("-self * log(self), 0 at 0, -inf below"),
        int_to_float(),
        pointwise([](auto x) {
            return where(isnan(x), x, where(x > like(x, 0), -x * log(x), where(x == like(x, 0), like(x, 0), like(x, -__builtin_inf()))));
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self) {
                return mul(grad, where(isnan(self), wrap_number(Scalar(__builtin_nan(""))), sub(neg(log(self)), wrap_number(Scalar(1)))));
            }),
    });
    declare("xlogy.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self * log(other), 0 where self is 0 and other is not NaN"),
        takes(kind::All & ~kind::Complex),
        alias("special_xlogy"),
        int_to_float(),
        pointwise([](auto x, auto y) { return where(isnan(y), y, where(x == like(x, 0), like(x, 0), x * log(y))); }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Tensor other) {
                return where(logical_and(eq(self, Scalar(0)), le(other, Scalar(0.))), wrap_number(Scalar(0)), xlogy(grad, other));
            }),
        derivative(
            "other", GIVEN(Tensor grad, Tensor self, Tensor other) { return div(mul(grad, self), other); }),
    });
    declare("special_xlog1py(Tensor self, Tensor other) -> Tensor")({
        doc("self * log1p(other), 0 where self is 0 and other is not NaN"),
        takes(kind::All & ~kind::Complex),
        int_to_float(),
        flags(trait::TensorOnlyNumbers),
        pointwise([](auto x, auto y) { return where(isnan(y), y, where(x == like(x, 0), like(x, 0), x * log1p(y))); }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Tensor other) {
                return where(logical_and(eq(self, Scalar(0)), le(other, Scalar(-1.))), wrap_number(Scalar(0)),
                             special_xlog1py(grad, other));
            }),
        derivative(
            "other", GIVEN(Tensor grad, Tensor self, Tensor other) { return div(mul(grad, self), add(other, wrap_number(Scalar(1)))); }),
    });
    declare("logaddexp(Tensor self, Tensor other) -> Tensor")({
        doc("log(exp(self) + exp(other)) without overflow"),
        no_inplace(),
        takes(kind::Floats | kind::Complex),
        pointwise([](auto x, auto y) { return logaddexp(x, y); }),
    });
    declare("logaddexp2(Tensor self, Tensor other) -> Tensor")({
        doc("log2(2**self + 2**other) without overflow"),
        no_inplace(),
        takes(kind::Floats),
        pointwise([](auto x, auto y) { return logaddexp2(x, y); }),
    });
    declare("sinc(Tensor self) -> Tensor")({
        doc("sin(pi * self) / (pi * self), 1 at 0"),
        alias("special_sinc"),
        int_to_float(),
        pointwise([](auto x) {
            Sym t = x * like(x, 3.14159265358979323846);
            return where(x == like(x, 0), like(x, 1), sin(t) / t);
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self) {
                Tensor pi = wrap_number(Scalar(3.14159265358979323846)), t = mul(self, pi);
                Tensor square = mul(mul(self, self), pi), slope = div(sub(mul(t, cos(t)), sin(t)), square);
                return where(eq(square, Scalar(0)), wrap_number(Scalar(0)), mul(grad, conj(slope))); // a small number's square is 0, too
            }),
    });
    declare("deg2rad(Tensor self) -> Tensor")({
        doc("Degrees to radians"),
        int_to_float(),
        checks([](const Tensor& self) { check_real("deg2rad", self); }),
        pointwise([](auto x) { return x * like(x, 0.017453292519943295769); }),
    });
    declare("rad2deg(Tensor self) -> Tensor")({
        doc("Radians to degrees"),
        int_to_float(),
        checks([](const Tensor& self) { check_real("rad2deg", self); }),
        pointwise([](auto x) { return x * like(x, 57.295779513082320877); }),
    });
    declare("angle(Tensor self) -> Tensor")({
        doc("The angle of complex numbers; 0 or pi of real ones"),
        int_to_float(),
        no_inplace(),
        flags(trait::ComplexRows),
        pointwise([](auto x) {
            if (is_complex(x.dtype())) return angle(x);
            return where(isnan(x), like(x, __builtin_nan("")),
                         where(x < like(x, 0), like(x, 3.14159265358979323846), like(x, 0))); // without a slope
        }),
    });
    declare("complex(Tensor real, Tensor imag) -> Tensor")({
        doc("Complex numbers from two real tensors"),
        out_same(),
        in(space::Torch),
        promotes(Promotion::Free),
        pointwise([](auto a, auto b) { return make_complex(a, b); }),
        checks([](const Tensor& real, const Tensor& imag) { check_pair(real, imag); }),
        derivative(
            "real", GIVEN(Tensor grad) { return real(grad); }),
        derivative(
            "imag", GIVEN(Tensor grad) { return imag(grad); }),
    });
    declare("polar(Tensor abs, Tensor angle) -> Tensor")({
        doc("Complex numbers from modulus and angle"),
        out_same(),
        flags(trait::AutocastFloat),
        in(space::Torch),
        promotes(Promotion::Free),
        pointwise([](auto r, auto t) { return make_complex(r * cos(t), r * sin(t)); }),
        checks([](const Tensor& abs, const Tensor& angle) { check_pair(abs, angle); }),
        takes(kind::Float),
        derivative(
            "abs", GIVEN(Tensor grad, Tensor angle) { return add(mul(real(grad), cos(angle)), mul(imag(grad), sin(angle))); }),
        derivative(
            "angle", GIVEN(Tensor grad, Tensor abs,
                           Tensor angle) { return mul(abs, sub(mul(imag(grad), cos(angle)), mul(real(grad), sin(angle)))); }),
    });
    declare("mvlgamma(Tensor self, int p) -> Tensor")({
        doc("The multivariate log-gamma function of dimension p"),
        inplace_is_method(),
        out_castable(),
        takes(kind::All & ~kind::Complex),
        alias("special_multigammaln"),
        has_inplace(),
        composition([](const Tensor& self, int64_t p) {
            KINDLING_CHECK(Runtime, self.dtype() != DType::Bool, "The input tensor may not be a boolean tensor.");
            KINDLING_CHECK(Runtime, p >= 1, "p has to be greater than or equal to 1");
            Tensor x = is_floating(self.dtype()) ? self : to(self, default_dtype());
            Tensor steps = mul(arange(Scalar(p), x.dtype()), wrap_number(Scalar(-0.5)));
            double constant = static_cast<double>(p * (p - 1)) * 0.25 * 1.1447298858494001741;
            return add(sum(lgamma(add(unsqueeze(x, -1), steps)), IntList({-1})), wrap_number(Scalar(constant)));
        }),
    });
}
