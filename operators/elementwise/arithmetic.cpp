// operators/elementwise/arithmetic.cpp: sums, products, quotients, powers and rounding.
#include "generated/functions.h"
#include "operators/declare.h"
#include "operators/loops.h"

namespace kindling {
namespace {

void check_alpha(const Tensor& self, const Tensor& other, const Scalar& alpha) {
    if (alpha.is_integral()) return;
    ResultType type;
    type.add(*self.impl());
    type.add(*other.impl());
    check_kind(alpha, type.get(), "alpha");
    KINDLING_CHECK(Runtime, is_complex(type.get()) || !alpha.is_complex(),
                   "For non-complex input tensors, argument alpha must not be a complex number.");
}

void check_subtraction(const Tensor& self, const Tensor& other, const Scalar& alpha) {
    KINDLING_CHECK(
        Runtime, self.dtype() != DType::Bool || other.dtype() != DType::Bool,
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead.");
    KINDLING_CHECK(Runtime, self.dtype() != DType::Bool && other.dtype() != DType::Bool,
                   "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                   "`logical_not()` operator instead.");
    check_alpha(self, other, alpha);
}

void check_real(const char* name, const Tensor& self, const Tensor& other) {
    KINDLING_CHECK(Runtime, !self.is_complex() && !other.is_complex(), "%s not implemented for complex tensors.", name);
}

void check_lerp(const Tensor& self, const Tensor& end) {
    KINDLING_CHECK(Runtime, self.dtype() == end.dtype(), "expected dtype %s for `end` but got dtype %s", c_type_name(self.dtype()),
                   c_type_name(end.dtype()));
}

/// x / y under a rounding mode, as torch.div.
Sym divided(const Sym& x, const Sym& y, const Sym& mode) {
    if (mode == "trunc") return is_integral(x.dtype()) || x.dtype() == DType::Bool ? trunc_div(x, y) : trunc(x / y);
    if (mode == "floor") return floor_div(x, y);
    fail(ErrorKind::Runtime, "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
         std::string(Text(mode)).c_str());
}

Tensor rounded_div(const Tensor& self, const Tensor& other, std::optional<Text> mode) {
    if (!mode) return div(self, other);
    KINDLING_CHECK(Runtime, *mode == "trunc" || *mode == "floor",
                   "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'", std::string(*mode).c_str());
    return *mode == "trunc" ? _div_trunc(self, other) : _div_floor(self, other);
}

/// Integers are not divided by 0; a result without elements is not computed.
void check_divisors(const Tensor& other, IntList self_sizes, DType self_dtype) {
    if (category(self_dtype) > 1 || category(other.dtype()) > 1 || !checked_numel(broadcast_sizes(self_sizes, other.sizes()))) return;
    KINDLING_CHECK(Runtime, all(other).item<bool>(), "ZeroDivisionError");
}

} // namespace
} // namespace kindling

OPERATORS(arithmetic) {
    declare("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")({
        doc("self + alpha * other; the logical or for bool"),
        over_lists(second::Scalar | second::List | second::ScalarList | second::Tensor),
        inplace_is_method(),
        pointwise([](auto x, auto y, auto alpha) {
            return x.dtype() == DType::Bool ? (alpha.kind() == Sym::Kind::Literal ? x | y : x | (alpha & y)) : x + alpha * y;
        }),
        checks([](const Tensor& self, const Tensor& other, const Scalar& alpha) { check_alpha(self, other, alpha); }),
        flags(trait::OwnNumbers),
        example("torch.add(torch.tensor([1., 2.]), torch.tensor([10., 20.]), alpha=2)"),
        refuses("torch.ones(2) + torch.ones(3)", "RuntimeError: .*must match"),
    });
    declare("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")({
        doc("self - alpha * other"),
        over_lists(second::Scalar | second::List | second::ScalarList),
        inplace_is_method(),
        alias("subtract"),
        pointwise([](auto x, auto y, auto alpha) { return x - alpha * y; }),
        checks([](const Tensor& self, const Tensor& other, const Scalar& alpha) { check_subtraction(self, other, alpha); }),
        flags(trait::OwnNumbers),
        refuses("torch.ones(2) - 'a'", "TypeError"),
    });
    declare("rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")({
        doc("other - alpha * self"),
        in(space::Torch),
        no_inplace(),
        no_out(),
        pointwise([](auto x, auto y, auto alpha) { return y - alpha * x; }),
        checks([](const Tensor& self, const Tensor& other, const Scalar& alpha) { check_subtraction(self, other, alpha); }),
        flags(trait::OwnNumbers),
    });
    declare("rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor")({
        doc("other - alpha * self"),
        node(1),
        in(space::Torch),
        no_inplace(),
        no_out(),
        pointwise([](auto x, auto y, auto alpha) { return y - alpha * x; }),
        checks([](const Tensor& self, const Scalar& other, const Scalar& alpha) { check_subtraction(self, wrap_number(other), alpha); }),
        flags(trait::OwnNumbers),
    });
    declare("mul.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self * other; the logical and for bool"),
        over_lists(second::Scalar | second::List | second::ScalarList | second::Tensor),
        inplace_is_method(),
        alias("multiply"),
        pointwise([](auto x, auto y) { return x.dtype() == DType::Bool ? x & y : x * y; }),
        flags(trait::WideSecond | trait::KeepsNumber),
    });
    declare("div.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self / other; integers are divided as floating point numbers"),
        over_lists(second::Scalar | second::List | second::ScalarList | second::Tensor),
        inplace_is_method(),
        alias("divide"),
        alias("true_divide"),
        int_to_float(),
        pointwise([](auto x, auto y) { return x / y; }),
        flags(trait::WideSecond | trait::KeepsNumber),
    });
    declare("div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor")({
        doc("self / other, rounded towards zero ('trunc') or down ('floor') if asked"),
        inplace_is_method(),
        node(2),
        out_castable(),
        alias("divide"),
        has_inplace(),
        composition([](const Tensor& self, const Tensor& other, std::optional<Text> rounding_mode) {
            return rounded_div(self, other, rounding_mode);
        }),
        refuses("torch.div(torch.ones(2), 2, rounding_mode='up')", "RuntimeError: .*rounding_mode"),
    });
    declare("_div_trunc(Tensor self, Tensor other) -> Tensor")({
        doc("self / other rounded towards zero"),
        raises_by_value(GIVEN(Tensor other, IntList self_sizes, DType self_dtype) { check_divisors(other, self_sizes, self_dtype); }),
        in(space::Hidden),
        takes(kind::Integers | kind::Floats),
        pointwise([](auto x, auto y) { return divided(x, y, Sym("trunc")); }),
        flags(trait::WideSecond),
        derivative(
            "self, other",
            GIVEN(Tensor grad, IntList self_sizes, IntList other_sizes) {
                return std::tuple(zeros(self_sizes, grad.dtype()), zeros(other_sizes, grad.dtype()));
            }),
    });
    declare("_div_floor(Tensor self, Tensor other) -> Tensor")({
        doc("self / other rounded down"),
        raises_by_value(GIVEN(Tensor other, IntList self_sizes, DType self_dtype) { check_divisors(other, self_sizes, self_dtype); }),
        in(space::Hidden),
        takes(kind::Integers | kind::Floats),
        pointwise([](auto x, auto y) { return divided(x, y, Sym("floor")); }),
        flags(trait::WideSecond),
        derivative(
            "self, other",
            GIVEN(Tensor grad, IntList self_sizes, IntList other_sizes) {
                return std::tuple(zeros(self_sizes, grad.dtype()), zeros(other_sizes, grad.dtype()));
            }),
    });
    declare("floor_divide(Tensor self, Tensor other) -> Tensor")({
        doc("self / other rounded down"),
        inplace_is_method(),
        raises_by_value(GIVEN(Tensor other, IntList self_sizes, DType self_dtype) { check_divisors(other, self_sizes, self_dtype); }),
        no_derivative(),
        takes(kind::Integers | kind::Floats),
        pointwise([](auto x, auto y) { return floor_div(x, y); }),
        flags(trait::WideSecond),
    });
    declare("fmod.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("The remainder of self / other rounded towards zero: it has self's sign"),
        inplace_is_method(),
        node(1),
        raises_by_value(GIVEN(Tensor other, IntList self_sizes, DType self_dtype) { check_divisors(other, self_sizes, self_dtype); }),
        flags(trait::NumberLast),
        takes(kind::Integers | kind::Floats),
        pointwise([](auto x, auto y) { return fmod(x, y); }),
    });
    declare("remainder.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("The remainder of self / other rounded down: it has other's sign, as Python's %"),
        inplace_is_method(),
        node(1),
        raises_by_value(GIVEN(Tensor other, IntList self_sizes, DType self_dtype) { check_divisors(other, self_sizes, self_dtype); }),
        takes(kind::Integers | kind::Floats),
        pointwise([](auto x, auto y) { return remainder(x, y); }),
    });
    declare("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor")({
        doc("self to the power of exponent"),
        inplace_is_method(),
        node(1),
        takes(kind::All & ~kind::Bool),
        pointwise([](auto x, auto y) { return pow(x, y); }),
    });
    declare("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor")({
        doc("self to the power of a number"),
        inplace_is_method(),
        out_castable(),
        has_inplace(),
        composition([](const Tensor& self, const Scalar& exponent) {
            if (category(self.dtype()) < 2 && exponent.is_integral())
                KINDLING_CHECK(Runtime, exponent.to_double() >= 0, "Integers to negative integer powers are not allowed.");
            // The few powers that are cheaper than exp and log, as torch has them: their infinities and zeros are other ones.
            const bool floating = category(self.dtype()) >= 2 && (is_complex(self.dtype()) || !exponent.is_complex());
            if (floating && exponent.equals(2)) return mul(self, self);
            const bool zero = exponent.equals(0);
            ResultType type;
            type.add(*self.impl());
            type.add(exponent);
            if (zero || exponent.equals(1))
                return zero ? full_like(self, Scalar(1), type.get()) : self.dtype() == type.get() ? clone(self) : to(self, type.get());
            if (floating && self.dtype() != DType::Float16) {
                if (exponent.equals(0.5)) return sqrt(self);
                if (exponent.equals(-0.5)) return rsqrt(self);
                if (exponent.equals(-1)) return reciprocal(self);
                if (exponent.equals(3)) return mul(mul(self, self), self);
                if (exponent.equals(-2)) return reciprocal(mul(self, self));
            }
            if (category(type.get()) < 2 || is_half(type.get())) check_fits(exponent, type.get());
            return pow(self, wrap_number(exponent));
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Scalar exponent) {
                if (exponent.equals(0)) return zeros_like(self);
                Scalar less = exponent.is_complex()                                             ? Scalar(exponent.to_complex() - 1.0)
                              : exponent.is_float() || std::abs(exponent.to_double()) >= 0x1p63 ? Scalar(exponent.to_double() - 1)
                                                                                                : Scalar(exponent.to_int() - 1);
                return mul(grad, conj(mul(pow(self, less), wrap_number(exponent))));
            }),
        example("torch.tensor([1., 2., 3.]) ** 2"),
        refuses("torch.tensor([2]) ** -1", "RuntimeError: Integers to negative integer powers are not allowed"),
    });
    declare("pow.Scalar(Scalar self, Tensor exponent) -> Tensor")({
        doc("A number to the power of a tensor"),
        node(2),
        in(space::Torch),
        no_inplace(),
        flags(trait::Rows),
        takes(kind::All & ~kind::Bool),
        pointwise([](auto x, auto y) {
            if (!is_complex(y.dtype())) return pow(x, y);
            Sym one = x == like(x, 1); // 1 of any exponent, and without a slope
            return where(one, like(x, 1), pow(x, where(one, like(y, 0), y)));
        }),
    });
    declare("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor")({
        doc("self to the power of exponent in float64 or complex128"),
        inplace_is_method(),
        out_same(),
        has_inplace(),
        composition([](const Tensor& self, const Tensor& exponent) {
            DType dtype = self.is_complex() || exponent.is_complex() ? DType::Complex128 : DType::Float64;
            return pow(to(self, dtype), to(exponent, dtype));
        }),
    });
    declare("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor")({
        doc("A number to the power of a tensor in float64 or complex128"),
        in(space::Torch),
        out_same(),
        composition([](const Scalar& self, const Tensor& exponent) {
            DType dtype = self.is_complex() || exponent.is_complex() ? DType::Complex128 : DType::Float64;
            return pow(self.is_complex() || dtype == DType::Float64 ? self : Scalar(self.to_complex()), to(exponent, dtype));
        }),
    });
    declare("float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor")({
        doc("self to the power of a number in float64 or complex128"),
        inplace_is_method(),
        has_inplace(),
        out_same(),
        composition([](const Tensor& self, const Scalar& exponent) {
            DType dtype = self.is_complex() || exponent.is_complex() ? DType::Complex128 : DType::Float64;
            return pow(to(self, dtype), exponent);
        }),
        example("torch.float_power(torch.tensor([1, 2, 3]), 2)"),
        refuses("torch.ones(2).float_power_(2)",
                "RuntimeError: the base given to float_power_ has dtype Float but the operation's result requires dtype Double"),
    });
    declare("neg(Tensor self) -> Tensor")({
        doc("-self"),
        over_lists(),
        out_same(),
        alias("negative"),
        pointwise([](auto x) {
            if (x.dtype() == DType::Bool)
                fail(ErrorKind::Runtime, "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
                                         "mask, use the `~` or `logical_not()` operator instead.");
            return -x;
        }),
    });
    declare("positive(Tensor(a) self) -> Tensor(a)")({
        doc("The tensor itself"),
        no_out(),
        composition([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.dtype() != DType::Bool, "The `+` operator, on a bool tensor is not supported.");
            return self;
        }),
    });
    declare("abs(Tensor self) -> Tensor")({
        doc("The absolute value; the modulus of complex numbers"),
        over_lists(),
        inplace_is_method("absolute"),
        takes_float8(),
        out_same(),
        takes(kind::All & ~kind::Bool),
        alias("absolute"),
        pointwise([](auto x) { return abs(x); }),
    });
    declare("sign(Tensor self) -> Tensor")({
        doc("-1, 0 or 1"),
        over_lists(),
        inplace_is_method(),
        out_same(),
        pointwise([](auto x) {
            if (is_complex(x.dtype()))
                fail(ErrorKind::NotImplemented,
                     "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.");
            return x.dtype() == DType::Bool ? x : sign(x);
        }),
    });
    declare("sgn(Tensor self) -> Tensor")({
        doc("-1, 0 or 1; of complex numbers the direction, self / abs(self)"),
        inplace_is_method(),
        out_same(),
        pointwise([](auto x) { return x.dtype() == DType::Bool ? x : sign(x); }),
    });
    declare("square(Tensor self) -> Tensor")({
        doc("self * self"),
        pointwise([](auto x) { return x.dtype() == DType::Bool ? cast(x, DType::Int64) : x * x; }),
    });
    declare("reciprocal(Tensor self) -> Tensor")({
        doc("1 / self"),
        over_lists(),
        int_to_float(),
        pointwise([](auto x) { return reciprocal(x); }),
    });
    declare("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")({
        doc("self + value * tensor1 * tensor2"),
        over_lists(),
        inplace_is_method(),
        takes(kind::All & ~kind::Bool),
        pointwise([](auto x, auto a, auto b, auto value) { return x + value * a * b; }),
    });
    declare("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")({
        doc("self + value * tensor1 / tensor2"),
        over_lists(),
        inplace_is_method(),
        pointwise([](auto x, auto a, auto b, auto value) { return x + value * a / b; }),
        checks([](const Tensor&, const Tensor& tensor1, const Tensor& tensor2, const Scalar&) {
            KINDLING_CHECK(
                Runtime, category(tensor1.dtype()) >= 2 || category(tensor2.dtype()) >= 2,
                "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
                "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
                "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
                "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes.");
        }),
    });
    declare("lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor")({
        doc("self + weight * (end - self), worked from the nearer end"),
        inplace_is_method(),
        checks([](const Tensor& self, const Tensor& end, const Scalar& weight) {
            check_lerp(self, end);
            KINDLING_CHECK(Runtime, self.is_complex() || weight.is_real(), "value cannot be converted to type %s without overflow",
                           c_type_name(self.dtype()));
        }),
        promotes(Promotion::Same),
        takes(kind::Floats | kind::Complex),
        flags(trait::WideSecond),
        pointwise(
            [](auto x, auto y, auto w) { return where(abs(w) < like(abs(w), 0.5), x + w * (y - x), y - (y - x) * (like(w, 1) - w)); }),
        derivative(
            "self",
            GIVEN(Tensor grad, Scalar weight) {
                return weight.is_complex() ? mul(grad, wrap_number(Scalar(std::conj(1.0 - weight.to_complex()))))
                                           : mul(grad, wrap_number(Scalar(1.0 - weight.to_double())));
            }),
        derivative(
            "end",
            GIVEN(Tensor grad, Scalar weight) {
                return weight.is_complex() ? mul(grad, wrap_number(Scalar(std::conj(weight.to_complex()))))
                                           : mul(grad, wrap_number(weight));
            }),
    });
    declare("lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor")({
        doc("self + weight * (end - self), worked from the nearer end"),
        inplace_is_method(),
        node(1),
        out_same(),
        takes(kind::Floats | kind::Complex),
        checks([](const Tensor& self, const Tensor& end, const Tensor& weight) {
            check_lerp(self, end);
            KINDLING_CHECK(Runtime, self.dtype() == weight.dtype() || !weight.dim(), "expected dtype %s for `weight` but got dtype %s",
                           c_type_name(self.dtype()), c_type_name(weight.dtype()));
        }),
        pointwise(
            [](auto x, auto y, auto w) { return where(abs(w) < like(abs(w), 0.5), x + w * (y - x), y - (y - x) * (like(w, 1) - w)); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor weight) { return mul(grad, conj(rsub(weight, wrap_number(Scalar(1))))); }),
        derivative(
            "end", GIVEN(Tensor grad, Tensor weight) { return mul(grad, conj(weight)); }),
        derivative(
            "weight", GIVEN(Tensor grad, Tensor self, Tensor end) { return mul(grad, conj(sub(end, self))); }),
    });
    declare("floor(Tensor self) -> Tensor")({
        doc("The greatest integer not above"),
        over_lists(),
        out_same(),
        takes(kind::All & ~kind::Bool),
        pointwise([](auto x) { return category(x.dtype()) < 2 ? x : floor(x); }),
    });
    declare("ceil(Tensor self) -> Tensor")({
        doc("The least integer not below"),
        over_lists(),
        out_same(),
        takes(kind::All & ~kind::Bool),
        pointwise([](auto x) { return category(x.dtype()) < 2 ? x : ceil(x); }),
    });
    declare("trunc(Tensor self) -> Tensor")({
        doc("The integer part"),
        over_lists(),
        out_same(),
        takes(kind::All & ~kind::Bool),
        alias("fix"),
        pointwise([](auto x) { return category(x.dtype()) < 2 ? x : trunc(x); }),
    });
    declare("frac(Tensor self) -> Tensor")({
        doc("What trunc leaves"),
        over_lists(),
        out_same(),
        takes(kind::Floats),
        pointwise([](auto x) { return frac(x); }),
    });
    declare("round(Tensor self) -> Tensor")({
        doc("The nearest integer; halves go to the even one"),
        over_lists(),
        out_same(),
        takes(kind::All & ~kind::Bool),
        pointwise([](auto x) { return category(x.dtype()) < 2 ? x : round(x); }),
    });
    declare("round.decimals(Tensor self, *, int decimals) -> Tensor")({
        doc("The nearest number of that many decimals"),
        node(1),
        out_same(),
        takes(kind::Floats),
        pointwise([](auto x, auto decimals) {
            int64_t n = decimals.integer();
            if (category(x.dtype()) < 2) return x;
            double power = 1;
            for (int64_t i = 0; i < 400 && (n < 0 ? -i > n : i < n); i++) power *= 10; // infinite long before
            if (n == 0) return round(x);
            return n > 0 ? round(x * power) / like(x, power) : round(x / like(x, power)) * power;
        }),
    });
    declare("maximum(Tensor self, Tensor other) -> Tensor")({
        doc("The greater of two; NaN wins"),
        no_inplace(),
        checks([](const Tensor& self, const Tensor& other) { check_real("maximum", self, other); }),
        pointwise([](auto x, auto y) { return max(x, y); }),
    });
    declare("minimum(Tensor self, Tensor other) -> Tensor")({
        doc("The smaller of two; NaN wins"),
        no_inplace(),
        checks([](const Tensor& self, const Tensor& other) { check_real("minimum", self, other); }),
        pointwise([](auto x, auto y) { return min(x, y); }),
    });
    declare("fmax(Tensor self, Tensor other) -> Tensor")({
        doc("The greater of two; NaN loses"),
        no_inplace(),
        checks([](const Tensor& self, const Tensor& other) { check_real("fmax", self, other); }),
        pointwise([](auto x, auto y) { return fmax(x, y); }),
    });
    declare("fmin(Tensor self, Tensor other) -> Tensor")({
        doc("The smaller of two; NaN loses"),
        no_inplace(),
        checks([](const Tensor& self, const Tensor& other) { check_real("fmin", self, other); }),
        pointwise([](auto x, auto y) { return fmin(x, y); }),
    });
    declare("max.other(Tensor self, Tensor other) -> Tensor")({
        doc("maximum"),
        out_castable(),
        composition([](const Tensor& self, const Tensor& other) { return maximum(self, other); }),
    });
    declare("min.other(Tensor self, Tensor other) -> Tensor")({
        doc("minimum"),
        out_castable(),
        composition([](const Tensor& self, const Tensor& other) { return minimum(self, other); }),
    });
    declare("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor")({
        doc("Limited to [min, max]; NaN stays"),
        node(1),
        out_same(),
        alias("clip"),
        promotes(Promotion::WithScalars),
        takes(kind::Integers | kind::Floats),
        flags(trait::OwnNumbers),
        checks([](const Tensor& self, std::optional<Scalar> min, std::optional<Scalar> max) {
            KINDLING_CHECK(Runtime, min || max, "torch.clamp: At least one of 'min' or 'max' must not be None");
            KINDLING_CHECK(NotImplemented,
                           !self.is_complex() && (is_floating(self.dtype()) || !((min && min->is_complex()) || (max && max->is_complex()))),
                           "clamp is not supported for complex types");
            for (const auto& limit : {min, max})
                KINDLING_CHECK(Runtime, !limit || !limit->is_complex() || !is_floating(self.dtype()),
                               "value cannot be converted to type double without overflow");
        }),
        pointwise([](auto x, auto low, auto high) {
            Sym y = low.is_none() ? x : max(low, x); // of two zeros the second
            return high.is_none() ? y : min(high, y);
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, std::optional<Scalar> min, std::optional<Scalar> max) {
                Tensor inside;
                if (min) inside = ge(self, wrap_number(*min));
                if (max) inside = inside.defined() ? logical_and(inside, le(self, wrap_number(*max))) : le(self, wrap_number(*max));
                return where(inside, grad, wrap_number(Scalar(0)));
            }),
    });
    declare("clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor")({
        doc("Limited to [min, max], element by element; NaN wins"),
        checks([](const Tensor& self, const Tensor& min, const Tensor& max) {
            KINDLING_CHECK(Runtime, min.defined() || max.defined(), "torch.clamp: At least one of 'min' or 'max' must not be None");
            KINDLING_CHECK(NotImplemented, !self.is_complex(), "clamp is not supported for complex types");
            // One limit is maximum or minimum, which bools have.
            KINDLING_CHECK(NotImplemented,
                           self.dtype() != DType::Bool || !min.defined() || !max.defined() || min.dtype() != DType::Bool ||
                               max.dtype() != DType::Bool,
                           "\"clamp_cpu\" not implemented for 'Bool'");
        }),
        alias("clip"),
        takes(kind::Integers | kind::Floats | kind::Bool),
        pointwise([](auto x, auto low, auto high) {
            Sym y = low.is_none() ? x : max(low, x);
            return high.is_none() ? y : min(high, y);
        }),
        derivative(
            "self, min, max",
            GIVEN(Tensor grad, Tensor self, Tensor min, Tensor max) {
                Tensor zero = wrap_number(Scalar(0)), inside, below, above;
                if (min.defined()) inside = ge(self, min);
                if (max.defined()) inside = inside.defined() ? logical_and(inside, le(self, max)) : le(self, max);
                // Limits that can have no gradient are not compared with one another: not all pairs of dtypes can be.
                if (min.defined() && is_differentiable(min.dtype())) {
                    Tensor chosen = lt(self, min);
                    if (max.defined()) chosen = logical_and(chosen, lt(min, max));
                    below = where(chosen, grad, zero);
                }
                if (max.defined() && is_differentiable(max.dtype())) {
                    Tensor chosen = gt(self, max);
                    if (min.defined()) chosen = logical_or(chosen, lt(max, min));
                    above = where(chosen, grad, zero);
                }
                return std::tuple<Tensor, Tensor, Tensor>(where(inside, grad, zero), below, above);
            }),
    });
    declare("clamp_min(Tensor self, Scalar min) -> Tensor")({
        doc("At least min"),
        over_lists(second::Scalar | second::ScalarList),
        out_same(),
        checks([](const Tensor& self, const Scalar& min) {
            KINDLING_CHECK(NotImplemented, !self.is_complex() && !min.is_complex(), "clamp is not supported for complex types");
        }),
        promotes(Promotion::WithScalars),
        takes(kind::Integers | kind::Floats),
        flags(trait::OwnNumbers),
        pointwise([](auto x, auto low) { return max(low, x); }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Scalar min) { return where(ge(self, wrap_number(min)), grad, wrap_number(Scalar(0))); }),
    });
    declare("clamp_min.Tensor(Tensor self, Tensor min) -> Tensor")({
        doc("At least min, element by element"),
        over_lists(second::List),
        node(1),
        pointwise([](auto x, auto low) { return max(x, low); }),
        derivative(
            "self, min",
            GIVEN(Tensor grad, Tensor self, Tensor min) {
                Tensor zero = wrap_number(Scalar(0));
                return std::tuple<Tensor, Tensor>(where(ge(self, min), grad, zero), where(lt(self, min), grad, zero));
            }),
    });
    declare("clamp_max(Tensor self, Scalar max) -> Tensor")({
        doc("At most max"),
        over_lists(second::Scalar | second::ScalarList),
        out_same(),
        checks([](const Tensor& self, const Scalar& max) {
            KINDLING_CHECK(NotImplemented, !self.is_complex() && !max.is_complex(), "clamp is not supported for complex types");
        }),
        promotes(Promotion::WithScalars),
        takes(kind::Integers | kind::Floats),
        flags(trait::OwnNumbers),
        pointwise([](auto x, auto high) { return min(high, x); }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Scalar max) { return where(le(self, wrap_number(max)), grad, wrap_number(Scalar(0))); }),
    });
    declare("clamp_max.Tensor(Tensor self, Tensor max) -> Tensor")({
        doc("At most max, element by element"),
        over_lists(second::List),
        node(1),
        pointwise([](auto x, auto high) { return min(x, high); }),
        derivative(
            "self, max",
            GIVEN(Tensor grad, Tensor self, Tensor max) {
                Tensor zero = wrap_number(Scalar(0));
                return std::tuple<Tensor, Tensor>(where(le(self, max), grad, zero), where(gt(self, max), grad, zero));
            }),
    });
    declare("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor")({
        doc("NaN and the infinities replaced: by 0 and the largest finite numbers unless given"),
        out_same(),
        pointwise([](auto x, auto nan, auto posinf, auto neginf) {
            if (category(x.dtype()) < 2) return x;
            auto fix = [&](Sym v) {
                DType dtype = v.dtype();
                double largest = greatest(v.builder()->computed == DType::None ? dtype : v.builder()->computed);
                Sym top = posinf.is_none() ? like(v, largest) : cast(posinf, dtype),
                    bottom = neginf.is_none() ? like(v, -largest) : cast(neginf, dtype);
                Sym zero = nan.is_none() ? like(v, 0) : cast(nan, dtype);
                return where(isnan(v), zero, where(isinf(v), where(v > like(v, 0), top, bottom), v));
            };
            if (is_complex(x.dtype())) return make_complex(fix(real(x)), fix(imag(x)));
            return fix(x);
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self) { return where(isfinite(self), grad, wrap_number(Scalar(0))); }),
    });
    declare("gcd(Tensor self, Tensor other) -> Tensor")({
        doc("The greatest common divisor of integers"),
        not_differentiable(),
        takes(kind::Integers),
        pointwise([](auto x, auto y) { return gcd(x, y); }),
    });
    declare("lcm(Tensor self, Tensor other) -> Tensor")({
        doc("The least common multiple of integers"),
        not_differentiable(),
        takes(kind::Integers),
        pointwise([](auto x, auto y) { return lcm(x, y); }),
    });
    declare("copysign.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self with other's sign"),
        inplace_is_method(),
        flags(trait::NumberLast),
        int_to_float(),
        pointwise([](auto x, auto y) { return copysign(x, y); }),
    });
    declare("nextafter(Tensor self, Tensor other) -> Tensor")({
        doc("The next representable number towards other"),
        inplace_is_method(),
        takes(kind::Floats),
        pointwise([](auto x, auto y) {
            Sym next = nextafter(x, y);
            const DType half = x.builder()->computed;
            if (!is_half(half)) return next;
            // The next float's neighbour among the half type's numbers, up or down as that lies beside x.
            const double digits = half == DType::Float16 ? 11 : 8, lowest = half == DType::Float16 ? -24 : -133;
            Sym size = abs(next), unit = exp2(max(cast(frexp_exponent(next), DType::Float32) - like(x, digits), like(x, lowest))),
                units = size / unit;
            return copysign(where((size > abs(x)) | isinf(next), -floor(-units) * unit, min(floor(units) * unit, like(x, greatest(half)))),
                            next);
        }),
        derivative(
            "self, other",
            GIVEN(Tensor grad, Tensor self, Tensor other) {
                Tensor zero = wrap_number(Scalar(0));
                return std::tuple<Tensor, Tensor>(where(eq(self, other), zero, grad), mul(grad, zero));
            }),
    });
    declare("hypot(Tensor self, Tensor other) -> Tensor")({
        doc("sqrt(self**2 + other**2) without overflow"),
        inplace_is_method(),
        takes(kind::Floats),
        pointwise([](auto x, auto y) { return hypot(x, y); }),
    });
    declare("ldexp.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self * 2**other"),
        out_castable(),
        has_inplace(),
        composition([](const Tensor& self, const Tensor& other) {
            if (self.is_complex() && category(other.dtype()) < 2) {
                Tensor whole = other.dtype() == DType::Bool ? to(other, DType::UInt8) : other;
                return complex(ldexp(real(self), whole), ldexp(imag(self), whole));
            }
            if (self.is_complex() && is_half(other.dtype())) return mul(self, pow(Scalar(2.0), to(other, DType::Float32))); // not rounded
            if (!is_floating(self.dtype()) || category(other.dtype()) >= 2) return mul(self, pow(Scalar(2.0), other));
            KINDLING_CHECK(NotImplemented, other.dtype() != DType::Bool, "\"ldexp_cpu_exp\" not implemented for 'Bool'");
            // In steps, none of which is infinite or 0 where the whole product is not.
            Tensor left = clamp(to(other, DType::Float64), Scalar(-2200.0), Scalar(2200.0)), result = to(self, DType::Float64);
            for (int step = 0; step < 3; step++) {
                Tensor some = clamp(left, Scalar(-1000.0), Scalar(1000.0));
                result = mul(result, exp2(some));
                left = sub(left, some);
            }
            return to(result, self.dtype());
        }),
    });
    declare("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)")({
        doc("self = mantissa * 2**exponent with the mantissa in [0.5, 1)"),
        out_same(),
        pointwise([](auto x) {
            if (category(x.dtype()) != 2) fail(ErrorKind::Runtime, "torch.frexp() only supports floating-point dtypes");
            return std::array<Sym, 2>{frexp_mantissa(x), cast(frexp_exponent(x), DType::Int32)};
        }),
        derivative(
            "self", GIVEN(TensorList grads, Tensor result1) { return div(grads[0], pow(Scalar(2.0), result1)); }),
    });
    declare("heaviside(Tensor self, Tensor values) -> Tensor")({
        doc("0 below zero, 1 above, values at zero"),
        inplace_is_method(),
        out_same(),
        no_derivative(),
        checks([](const Tensor& self, const Tensor& values) {
            KINDLING_CHECK(Runtime, !self.is_complex() && !values.is_complex(), "heaviside is not yet implemented for complex tensors.");
            KINDLING_CHECK(Runtime, self.dtype() == values.dtype(), "heaviside is not yet implemented for tensors with different dtypes.");
        }),
        pointwise([](auto x, auto values) { return where(x == like(x, 0), values, cast(x > like(x, 0), x.dtype())); }),
    });
}
