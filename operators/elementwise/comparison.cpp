// operators/elementwise/comparison.cpp: comparisons, logic, bits and choice.
#include <utility>

#include "generated/functions.h"
#include "operators/batching.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/loops.h"

namespace kindling {
namespace {

Sym truth(const Sym& x) { return x.dtype() == DType::Bool ? x : x != like(x, 0); }

/// A number to choose beside a tensor's.
Tensor beside(const Tensor& tensor, const Scalar& number) {
    const DType type = result_type(tensor, number);
    if (!is_half(type)) check_fits(number, type); // beyond a half type it is infinite
    return wrap_number(number);
}

/// What masked_fill does: the result lies in rows, as PyTorch's.
void fills_where(KernelCall& call, const Tensor& self, const Tensor& mask) {
    KINDLING_CHECK(Runtime, mask.dtype() == DType::Bool, "masked_fill only supports boolean masks, but got mask with dtype %s",
                   scalar_type_name(mask.dtype()));
    const Sizes sizes = broadcast_sizes(self.sizes(), mask.sizes(), "masked_fill");
    call.along(sizes, 0, DType::None);
    call.reads_as_it_lies(self);
    call.reads_as_it_lies(mask);
    call.gives(sizes, self.dtype()).written_as_it_lies();
}
constexpr auto chosen = [](auto x, auto mask, auto value) { return where(mask, cast(value, x.dtype()), x); };

/// The same for a number that has to be looked at first, and for an expanded tensor in place: that is filled where the mask is set
/// for any element of a place.
Tensor filled_where(const Tensor& self, const Tensor& mask, const Tensor& value) {
    if (!writes_in_place(self, {mask})) return contiguous(where(mask, value, self));
    if (!is_expanded(*self.impl())) return where(mask, value, self);
    Tensor places = self, set = expand(mask, self.sizes());
    for (int64_t dim = 0; dim < self.dim(); dim++) {
        if (self.stride(dim) || self.size(dim) < 2) continue;
        places = narrow(places, dim, 0, 1);
        set = any(set, dim, true);
    }
    copy_into(places, where(set, value, places));
    return self;
}

} // namespace
} // namespace kindling

OPERATORS(comparison) {
    declare("eq.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self == other"),
        inplace_is_method(),
        takes_float8(),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x == y; }),
    });
    declare("eq.Scalar(Tensor self, Scalar other) -> Tensor")({
        doc("self == other"),
        inplace_is_method(),
        takes_float8(),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x == y; }),
    });
    declare("ne.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self != other"),
        inplace_is_method(),
        takes_float8(),
        alias("not_equal"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x != y; }),
    });
    declare("ne.Scalar(Tensor self, Scalar other) -> Tensor")({
        doc("self != other"),
        inplace_is_method(),
        takes_float8(),
        alias("not_equal"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x != y; }),
    });
    declare("lt.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self < other"),
        inplace_is_method(),
        alias("less"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x < y; }),
    });
    declare("lt.Scalar(Tensor self, Scalar other) -> Tensor")({
        doc("self < other"),
        inplace_is_method(),
        alias("less"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x < y; }),
    });
    declare("le.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self <= other"),
        inplace_is_method(),
        alias("less_equal"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x <= y; }),
    });
    declare("le.Scalar(Tensor self, Scalar other) -> Tensor")({
        doc("self <= other"),
        inplace_is_method(),
        alias("less_equal"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x <= y; }),
    });
    declare("gt.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self > other"),
        inplace_is_method(),
        alias("greater"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x > y; }),
    });
    declare("gt.Scalar(Tensor self, Scalar other) -> Tensor")({
        doc("self > other"),
        inplace_is_method(),
        alias("greater"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x > y; }),
    });
    declare("ge.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self >= other"),
        inplace_is_method(),
        alias("greater_equal"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x >= y; }),
    });
    declare("ge.Scalar(Tensor self, Scalar other) -> Tensor")({
        doc("self >= other"),
        inplace_is_method(),
        alias("greater_equal"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x >= y; }),
    });
    declare("logical_and(Tensor self, Tensor other) -> Tensor")({
        doc("Both are not zero"),
        inplace_is_method(),
        not_differentiable(),
        flags(trait::KeepsHistory),
        promotes(Promotion::Free),
        pointwise([](auto x, auto y) { return truth(x) & truth(y); }),
    });
    declare("logical_or(Tensor self, Tensor other) -> Tensor")({
        doc("Either is not zero"),
        inplace_is_method(),
        not_differentiable(),
        flags(trait::KeepsHistory),
        promotes(Promotion::Free),
        pointwise([](auto x, auto y) { return truth(x) | truth(y); }),
    });
    declare("logical_xor(Tensor self, Tensor other) -> Tensor")({
        doc("Exactly one is not zero"),
        inplace_is_method(),
        not_differentiable(),
        flags(trait::KeepsHistory),
        promotes(Promotion::Free),
        pointwise([](auto x, auto y) { return truth(x) ^ truth(y); }),
    });
    declare("logical_not(Tensor self) -> Tensor")({
        doc("It is zero"),
        inplace_is_method(),
        not_differentiable(),
        flags(trait::KeepsHistory),
        promotes(Promotion::Free),
        pointwise([](auto x) { return !truth(x); }),
    });
    declare("bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("Bit by bit and; logical for bool"),
        inplace_is_method(),
        takes(kind::Integers | kind::Bool),
        alias("__and__"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x & y; }),
    });
    declare("bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("Bit by bit or; logical for bool"),
        inplace_is_method(),
        takes(kind::Integers | kind::Bool),
        alias("__or__"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x | y; }),
    });
    declare("bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("Bit by bit exclusive or; logical for bool"),
        inplace_is_method(),
        takes(kind::Integers | kind::Bool),
        alias("__xor__"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x ^ y; }),
    });
    declare("bitwise_not(Tensor self) -> Tensor")({
        doc("Every bit turned; logical for bool"),
        inplace_is_method(),
        out_same(),
        takes(kind::Integers | kind::Bool),
        not_differentiable(),
        pointwise([](auto x) { return ~x; }),
    });
    declare("bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self * 2**other on integers"),
        inplace_is_method(),
        takes(kind::Integers),
        alias("__lshift__"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x << y; }),
    });
    declare("bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor")({
        doc("self / 2**other rounded down on integers"),
        inplace_is_method(),
        takes(kind::Integers),
        alias("__rshift__"),
        not_differentiable(),
        pointwise([](auto x, auto y) { return x >> y; }),
    });
    declare("isnan(Tensor self) -> Tensor")({
        doc("It is not a number"),
        takes_float8(),
        not_differentiable(),
        promotes(Promotion::Free),
        no_inplace(),
        no_out(),
        pointwise([](auto x) { return x != x; }),
    });
    declare("isinf(Tensor self) -> Tensor")({
        doc("It is infinite"),
        not_differentiable(),
        promotes(Promotion::Free),
        no_inplace(),
        no_out(),
        pointwise([](auto x) { return category(x.dtype()) < 2 ? x != x : isinf(x); }),
    });
    declare("isfinite(Tensor self) -> Tensor")({
        doc("It is neither infinite nor NaN"),
        not_differentiable(),
        promotes(Promotion::Free),
        no_inplace(),
        no_out(),
        pointwise([](auto x) { return category(x.dtype()) < 2 ? x == x : !(isinf(x) | (x != x)); }),
    });
    declare("isposinf(Tensor self) -> Tensor")({
        doc("It is plus infinity"),
        out_same(),
        not_differentiable(),
        promotes(Promotion::Free),
        no_inplace(),
        pointwise([](auto x) {
            if (is_complex(x.dtype())) fail(ErrorKind::Runtime, "isposinf does not support complex inputs.");
            return category(x.dtype()) < 2 ? x != x : isinf(x) & (x > like(x, 0));
        }),
    });
    declare("isneginf(Tensor self) -> Tensor")({
        doc("It is minus infinity"),
        out_same(),
        not_differentiable(),
        promotes(Promotion::Free),
        no_inplace(),
        pointwise([](auto x) {
            if (is_complex(x.dtype())) fail(ErrorKind::Runtime, "isneginf does not support complex inputs.");
            return category(x.dtype()) < 2 ? x != x : isinf(x) & (x < like(x, 0));
        }),
    });
    declare("isreal(Tensor self) -> Tensor")({
        doc("Its imaginary part is zero"),
        not_differentiable(),
        promotes(Promotion::Free),
        no_inplace(),
        no_out(),
        pointwise([](auto x) {
            if (!is_complex(x.dtype())) return (x == x) | (x != x);
            Sym part = imag(x);
            return part == like(part, 0);
        }),
    });
    declare("signbit(Tensor self) -> Tensor")({
        doc("The sign bit is set"),
        out_same(),
        not_differentiable(),
        promotes(Promotion::Free),
        no_inplace(),
        pointwise([](auto x) {
            if (is_complex(x.dtype())) fail(ErrorKind::NotImplemented, "signbit is not implemented for complex tensors.");
            return x.dtype() == DType::Bool ? x != x : category(x.dtype()) == 1 ? x < like(x, 0) : signbit(x);
        }),
    });
    declare("where.self(Tensor condition, Tensor self, Tensor other) -> Tensor")({
        doc("self where the condition holds, other elsewhere"),
        takes_float8(),
        out_same(),
        promotes(Promotion::Condition),
        no_inplace(),
        in(space::Torch),
        pointwise([](auto c, auto x, auto y) {
            if (c.dtype() != DType::Bool && c.dtype() != DType::UInt8)
                fail(ErrorKind::Runtime, "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                     scalar_type_name(c.dtype()));
            static constinit bool warned = false;
            if (c.dtype() == DType::UInt8 && warn && !std::exchange(warned, true))
                warn("where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
                     "PyTorch. Use a boolean condition instead.");
            return where(truth(c), x, y);
        }),
        example("torch.where(torch.tensor([True, False]), torch.tensor([1, 2]), 0)"),
    });
    declare("where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor")({
        doc("A number where the condition holds, other elsewhere"),
        in(space::Torch),
        no_out(),
        composition(
            [](const Tensor& condition, const Scalar& self, const Tensor& other) { return where(condition, beside(other, self), other); }),
    });
    declare("where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor")({
        doc("self where the condition holds, a number elsewhere"),
        in(space::Torch | space::Method),
        no_out(),
        composition(
            [](const Tensor& condition, const Tensor& self, const Scalar& other) { return where(condition, self, beside(self, other)); }),
    });
    declare("where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor")({
        doc("One number where the condition holds, another elsewhere"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& condition, const Scalar& self, const Scalar& other) {
            const DType type = result_type(self, other);
            check_fits(self, type);
            check_fits(other, type);
            return where(condition, wrap_number(self), wrap_number(other));
        }),
    });
    declare("where(Tensor condition) -> Tensor[]")({
        doc("The places where the condition holds: nonzero(as_tuple=True)"),
        in(space::Torch),
        shape_by_value(),
        batches([](const Tensor&) -> std::vector<Tensor> { fail_dynamic("where"); }),
        composition([](const Tensor& condition) { return nonzero_numpy(condition); }),
    });
    declare("masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor")({
        doc("value where the mask is set, self elsewhere"),
        inplace_is_method(),
        has_inplace(),
        flags(trait::WritesCopy | trait::TakesExpanded),
        no_out(),
        elements(
            [](KernelCall& call, const Tensor& self, const Tensor& mask, const Scalar& value) {
                check_fits(value, self.dtype());
                fills_where(call, self, mask);
                call.number(value_type(self.dtype()), immediate_of(value, self.dtype()));
            },
            chosen),
        otherwise([](const Tensor& self, const Tensor& mask, const Scalar& value) {
            return filled_where(self, mask, full({}, value, self.dtype(), std::nullopt, self.device()));
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor mask) { return masked_fill(grad, mask, Scalar(0)); }),
    });
    declare("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor")({
        doc("A 0-d tensor's number where the mask is set, self elsewhere"),
        inplace_is_method(),
        node(1),
        linear(),
        has_inplace(),
        flags(trait::WritesCopy | trait::TakesExpanded),
        no_out(),
        elements(
            [](KernelCall& call, const Tensor& self, const Tensor& mask, const Tensor& value) {
                KINDLING_CHECK(Runtime, value.dim() == 0,
                               "masked_fill only supports a 0-dimensional value tensor, but got tensor with %ld dimension(s).",
                               value.dim());
                fills_where(call, self, mask);
                call.reads_as_it_lies(value);
                if (value.dtype() != self.dtype()) call.declines(); // it may not fit
            },
            chosen),
        otherwise([](const Tensor& self, const Tensor& mask, const Tensor& value) {
            check_fits(value.item_scalar(), self.dtype());
            return filled_where(self, mask, to(value, self.dtype()));
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor mask) { return masked_fill(grad, mask, Scalar(0)); }),
        derivative(
            "value", GIVEN(Tensor grad, Tensor mask) { return sum(where(mask, grad, wrap_number(Scalar(0)))); }),
    });
    declare("isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor")({
        doc("abs(self - other) <= atol + rtol * abs(other)"),
        not_differentiable(),
        no_out(),
        composition([](const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
            KINDLING_CHECK(Runtime, self.dtype() == other.dtype(), "%s did not match %s", scalar_type_name(self.dtype()),
                           scalar_type_name(other.dtype()));
            KINDLING_CHECK(Runtime, rtol >= 0, "rtol must be greater than or equal to zero, but got %g", rtol);
            KINDLING_CHECK(Runtime, atol >= 0, "atol must be greater than or equal to zero, but got %g", atol);
            Tensor close = eq(self, other);
            if (equal_nan && is_differentiable(self.dtype())) close = logical_or(close, logical_and(isnan(self), isnan(other)));
            if (rtol == 0 && atol == 0) return close;
            Tensor a = self, b = other;
            if (category(self.dtype()) < 2) {
                a = to(self, default_dtype());
                b = to(other, default_dtype());
            }
            Tensor allowed = add(mul(abs(b), wrap_number(Scalar(rtol))), wrap_number(Scalar(atol)));
            Tensor difference = abs(sub(a, b));
            return logical_or(close, logical_and(isfinite(difference), le(difference, allowed)));
        }),
    });
    declare("allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool")({
        doc("Whether isclose holds everywhere"),
        number_by_value(),
        not_differentiable(),
        composition([](const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
            return all(isclose(self, other, rtol, atol, equal_nan)).item<bool>();
        }),
    });
    declare("equal(Tensor self, Tensor other) -> bool")({
        doc("Whether shapes and all elements are equal"),
        number_by_value(),
        not_differentiable(),
        composition([](const Tensor& self, const Tensor& other) {
            if (!(self.sizes() == other.sizes())) return false;
            return all(eq(self, other)).item<bool>();
        }),
    });
}
