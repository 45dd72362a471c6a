// operators/reductions.cpp: sums, extremes, means, variances and norms over dimensions.
#include <cmath>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/cached.h"
#include "operators/declare.h"
#include "operators/reduce.h"

namespace kindling {
namespace {

DType sum_dtype(const Tensor& self, DType dtype) {
    if (dtype != DType::None) return dtype;
    return category(self.dtype()) < 2 ? DType::Int64 : self.dtype();
}

/// One value folded: the input, 0 in place of NaN if that is asked for, cast to `inside`, combined, cast to `outside`.
Tensor fold_one(const Tensor& self, Combine combine, DType inside, DType outside, uint64_t mask, bool keepdim, bool without_nan = false) {
    const Expression& expression = cached_expression(key_of(self.dtype(), inside, without_nan), [&](ExpressionBuilder& b) {
        Sym x = b.input(self.dtype());
        if (without_nan) {
            x = cast(x, value_type(self.dtype()));
            x = where(isnan(x), like(x, 0), x);
        }
        b.output(cast(x, inside));
    });
    Fold what{&expression, &combine, nullptr, nullptr};
    if (accumulate_type(combine, inside) != outside && value_type(outside) != accumulate_type(combine, inside))
        what.finish = &cached_expression(key_of(accumulate_type(combine, inside), outside), [&](ExpressionBuilder& b) {
            b.output(cast(b.input(accumulate_type(combine, inside)), outside));
        });
    TensorImpl* input = self.impl();
    Tensor result;
    fold(what, self.sizes(), mask, keepdim, &input, 1, &outside, &result, 1);
    return result;
}

Tensor summed(const Tensor& self, uint64_t mask, bool keepdim, DType dtype) {
    DType out = sum_dtype(self, dtype);
    return fold_one(self, Combine::Sum, is_half(out) ? DType::Float32 : out, out, mask, keepdim);
}

int64_t count_in(IntList sizes, uint64_t mask) {
    int64_t count = 1;
    for (size_t i = 0; i < sizes.size(); i++)
        if (mask >> i & 1) count *= sizes[i];
    return count;
}

void need_elements(const Tensor& self, uint64_t mask, const char* operation) {
    for (size_t i = 0; i < self.sizes().size(); i++)
        KINDLING_CHECK(Index, !(mask >> i & 1) || self.sizes()[i] != 0,
                       "%s(): Expected reduction dim %zu to have non-zero size.", operation, i);
}

Tensor mean_of(const Tensor& self, uint64_t mask, bool keepdim, DType dtype) {
    DType out = dtype == DType::None ? self.dtype() : dtype;
    KINDLING_CHECK(Runtime, is_differentiable(out),
                   "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: %s",
                   scalar_type_name(out));
    DType inside = value_type(out);
    const Expression& expression = cached_expression(key_of(self.dtype(), inside), [&](ExpressionBuilder& b) {
        b.output(cast(b.input(self.dtype()), inside));
    });
    Combine combine = Combine::Sum;
    DType folded = accumulate_type(combine, inside);
    const Expression& finish = cached_expression(key_of(folded, out), [&](ExpressionBuilder& b) {
        Sym value = b.input(folded);
        b.output(cast(value / b.scalar(folded), out));
    });
    Immediate count = Immediate::of(folded, static_cast<double>(count_in(self.sizes(), mask)));
    Fold what{&expression, &combine, &finish, &count};
    TensorImpl* input = self.impl();
    Tensor result;
    fold(what, self.sizes(), mask, keepdim, &input, 1, &out, &result, 1);
    return result;
}

/// A copy whose rows, the dimensions in `mask`, lie in one piece each, where those of a large tensor lie across memory:
/// what goes over a row more than once would fetch every line of it for a single number.
Tensor with_rows_in_one_piece(const Tensor& self, uint64_t mask) {
    constexpr int64_t large = 1 << 14, long_row = 128, wide = 8;
    if (self.numel() < large || self.is_meta() || !self.impl()->non_overlapping_dense) return self;
    Sizes order;
    bool across = false;
    for (int64_t d = 0; d < self.dim(); d++) {
        if (!(mask >> d & 1)) order.push_back(d);
        across |= !(mask >> d & 1) && self.stride(d) == 1 && self.size(d) >= wide;
    }
    int64_t row = 1;
    for (int64_t d = 0; d < self.dim(); d++) if (mask >> d & 1) order.push_back(d), row *= self.size(d);
    if (!across || row < long_row) return self;
    Sizes back(order.size());
    for (size_t i = 0; i < order.size(); i++) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return permute(contiguous(permute(self, order)), back);
}

/// Variance (and mean) with `correction` degrees of freedom taken off; Welford's update underneath.
void moments(const Tensor& self, uint64_t mask, const std::optional<Scalar>& correction, bool keepdim, bool root, bool mean, Tensor* outputs,
             const char* operation) {
    KINDLING_CHECK(Runtime, is_differentiable(self.dtype()), "%s only support floating point and complex dtypes", operation);
    double off = correction ? correction->to_double() : 1.0;
    if (self.is_complex()) {      // the variance of a complex variable is that of its parts added up
        Tensor parts[4];
        Tensor r = real(self), i = imag(self);
        moments(contiguous(r), mask, correction, keepdim, false, mean, parts, operation);
        moments(contiguous(resolve_neg(i)), mask, correction, keepdim, false, mean, parts + 2, operation);
        outputs[0] = add(parts[0], parts[2]);
        if (root) outputs[0] = sqrt(outputs[0]);
        if (mean) outputs[1] = complex(parts[1], parts[3]);
        return;
    }
    DType dtype = self.dtype();
    const Expression& expression = cached_expression(key_of(dtype), [&](ExpressionBuilder& b) { b.output(cast(b.input(dtype), value_type(dtype))); });
    Combine combine = Combine::MeanVar;
    const Expression& finish = cached_expression(key_of(dtype, DType::None, root + 2u * mean), [&](ExpressionBuilder& b) {
        Sym average = b.input(DType::Float64), squares = b.input(DType::Float64);
        Sym variance = squares / b.scalar(DType::Float64);
        b.output(cast(root ? sqrt(variance) : variance, dtype));
        if (mean) b.output(cast(average, dtype));
    });
    const int64_t count = count_in(self.sizes(), mask);
    double freedom = count ? static_cast<double>(count) - off : 0;
    Immediate divisor = Immediate::of(DType::Float64, freedom > 0 ? freedom : 0.0);
    Fold what{&expression, &combine, &finish, &divisor};
    const Tensor rows = with_rows_in_one_piece(self, mask);
    TensorImpl* input = rows.impl();
    DType dtypes[2] = {dtype, dtype};
    fold(what, self.sizes(), mask, keepdim, &input, 1, dtypes, outputs, mean ? 2 : 1);
}

/// Values and indices of an extreme along one dimension, found in one pass.
std::tuple<Tensor, Tensor> extreme(const Tensor& self, int64_t dim, bool keepdim, Combine value, Combine place, const char* operation) {
    int64_t d = wrap_dim(dim, self.dim());
    KINDLING_CHECK(Index, self.dim() == 0 || self.size(d) != 0, "%s(): Expected reduction dim %ld to have non-zero size.", operation, d);
    KINDLING_CHECK(Runtime, !self.is_complex(), "%s(): does not support complex input", operation);
    if (self.dim() == 0) return {clone(self), zeros({}, DType::Int64)};
    DType dtype = self.dtype();
    const Expression& expression = cached_expression(key_of(dtype), [&](ExpressionBuilder& b) {
        Sym x = cast(b.input(dtype), value_type(dtype));
        b.output(x);
        b.output(x);
    });
    Combine combines[2] = {value, place};
    Fold what{&expression, combines, nullptr, nullptr};
    TensorImpl* input = self.impl();
    DType dtypes[2] = {dtype, DType::Int64};
    Tensor outputs[2];
    fold(what, self.sizes(), uint64_t{1} << d, keepdim, &input, 1, dtypes, outputs, 2);
    return {outputs[0], outputs[1]};
}

Tensor extreme_place(const Tensor& self, std::optional<int64_t> dim, bool keepdim, Combine combine, const char* operation) {
    uint64_t mask = dim ? uint64_t{1} << wrap_dim(*dim, self.dim()) : dim_mask({}, self.dim());
    if (dim) { KINDLING_CHECK(Index, self.dim() == 0 || self.size(*dim) != 0, "%s(): Expected reduction dim %ld to have non-zero size.", operation, *dim); }
    else KINDLING_CHECK(Index, self.numel() != 0, "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.", operation);
    KINDLING_CHECK(Runtime, self.dtype() != DType::Bool, "%s(): does not support bool input", operation);
    KINDLING_CHECK(Runtime, !self.is_complex(), "%s(): does not support complex input", operation);
    if (self.dim() == 0) return zeros({}, DType::Int64);
    // Without a dim the index counts in row-major order of the tensor as it is seen.
    return fold_one(dim ? self : contiguous(self), combine, value_type(self.dtype()), DType::Int64, mask, keepdim);
}

Tensor extreme_value(const Tensor& self, uint64_t mask, bool keepdim, Combine combine, const char* operation) {
    KINDLING_CHECK(NotImplemented, !self.is_complex(), "\"%s\" not implemented for '%s'", operation, scalar_type_name(self.dtype()));
    return fold_one(self, combine, value_type(self.dtype()), self.dtype(), mask, keepdim);
}

/// A reduction's gradient shared evenly by all that reach the extreme.
Tensor evenly(const Tensor& grad, const Tensor& self, const Tensor& result, uint64_t mask, bool keepdim) {
    Tensor g = restore_dims(grad, mask, self.dim(), keepdim), r = restore_dims(result, mask, self.dim(), keepdim);
    Tensor hit = eq(self, r);
    Sizes dims;
    for (int64_t i = 0; i < self.dim(); i++) if (mask >> i & 1) dims.push_back(i);
    return mul(div(g, sum(hit, IntList(dims), true)), hit);
}

Tensor at_index(const Tensor& grad, const Tensor& shape, const Tensor& indices, int64_t dim, bool keepdim) {
    return value_selecting_reduction_backward(grad, dim, indices, shape.sizes(), keepdim);
}

DType norm_dtype(const Tensor& self, DType dtype) { return to_real(dtype == DType::None ? self.dtype() : dtype); }

uint64_t all_dims(const Tensor& self) { return dim_mask({}, self.dim()); }
uint64_t mask_of(const std::optional<IntList>& dims, const Tensor& self) { return dim_mask(dims.value_or(IntList()), self.dim()); }
Sizes dims_of(uint64_t mask, int64_t ndim) {
    Sizes dims;
    for (int64_t i = 0; i < ndim; i++) if (mask >> i & 1) dims.push_back(i);
    return dims;
}

Tensor variance_gradient(const Tensor& grad, const Tensor& self, const std::optional<IntList>& dim, const std::optional<Scalar>& correction, bool keepdim) {
    const uint64_t mask = mask_of(dim, self);
    double freedom = static_cast<double>(count_in(self.sizes(), mask)) - (correction ? correction->to_double() : 1.0);
    Tensor g = restore_dims(grad, mask, self.dim(), keepdim);
    Tensor average = mean(self, IntList(dims_of(mask, self.dim())), true);
    if (freedom <= 0 && (!dim || self.dim() == 0)) {   // real, of complex numbers too
        Tensor limit = full({}, Scalar(__builtin_inf()), to_real(self.dtype()));
        return mul(g, where(eq(self, average), full_like(limit, Scalar(__builtin_nan(""))), limit));
    }
    Tensor centred = sub(self, average);
    return mul(mul(g, wrap_number(Scalar(2.0 / freedom))), centred);
}

Tensor deviation_gradient(const Tensor& grad, const Tensor& result, const Tensor& self, const std::optional<IntList>& dim, const std::optional<Scalar>& correction, bool keepdim) {
    Tensor inner = masked_fill(div(grad, mul(result, wrap_number(Scalar(2)))), eq(result, Scalar(0)), Scalar(0));
    return variance_gradient(inner, self, dim, correction, keepdim);
}

Tensor prod_gradient(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
    // With zeros a quotient won't do: the product of the others is that of two exclusive cumulative products.
    Tensor zero = eq(self, Scalar(0));
    if (self.dim() == 0) return grad;
    if (!any(zero).item<bool>()) return mul(grad, conj(div(result, self)));
    // Of several zeros in one product all gradients are zero, beside NaN too. Their own gradients need not be.
    if (result.dim() == 0 && !thread_state.grad_mode && sum(zero).item<int64_t>() > 1) return zeros(self.sizes(), self.dtype());
    Sizes sizes = self.sizes();
    int64_t d = wrap_dim(dim, self.dim()), length = self.size(d);
    sizes[static_cast<size_t>(d)] = 1;
    Tensor one = ones(sizes, self.dtype());
    Tensor before = cumprod(cat({one, narrow(self, d, 0, length - 1)}, d), d);
    Tensor after = flip(cumprod(cat({one, flip(narrow(self, d, 1, length - 1), {d})}, d), d), {d});
    return mul(grad, conj(mul(before, after)));
}

}  // namespace
}  // namespace kindling

OPERATORS(reductions) {
    declare("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", {
        doc("The sum of all elements; of integers in int64"), linear(),
        kernel([](const Tensor& self, DType dtype) { return summed(self, all_dims(self), false, dtype); }),
        derivative("self", GIVEN(Tensor grad, IntList self_sizes) { return expand(grad, self_sizes); }),
        example("torch.arange(5).sum()"),
    });
    declare("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", {
        doc("The sum over dimensions; of integers in int64"), out_decides(), linear(),
        kernel([](const Tensor& self, std::optional<IntList> dim, bool keepdim, DType dtype) { return summed(self, mask_of(dim, self), keepdim, dtype); }),
        derivative("self", GIVEN(Tensor grad, Tensor self_shape, std::optional<IntList> dim, bool keepdim) {
            return expand(restore_dims(grad, mask_of(dim, self_shape), self_shape.dim(), keepdim), self_shape.sizes());
        }),
        refuses("torch.ones(2).sum(3)", "IndexError: Dimension out of range"),
    });
    declare("sum_to_size(Tensor self, SymInt[] size) -> Tensor", {
        doc("The sum over those dimensions in which `size` was broadcast"), in(space::Method), no_out(),
        composition([](const Tensor& self, IntList size) {
            if (size.empty()) return sum(self);
            Sizes dims;
            int64_t lead = self.dim() - static_cast<int64_t>(size.size());
            KINDLING_CHECK(Runtime, lead >= 0, "size {%s} is not expandable to size {%s}.", str(size).c_str(), str(self.sizes()).c_str());
            for (int64_t i = 0; i < self.dim(); i++) {
                bool fold = i < lead || (size[static_cast<size_t>(i - lead)] == 1 && self.size(i) != 1);
                KINDLING_CHECK(Runtime, fold || self.size(i) == size[static_cast<size_t>(i - lead)], "size {%s} is not expandable to size {%s}.", str(size).c_str(), str(self.sizes()).c_str());
                if (fold) dims.push_back(i);
            }
            if (dims.empty()) return self;
            Tensor result = sum(self, IntList(dims), true);
            return lead ? view(result, size) : result;
        }),
    });
    declare("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", {
        doc("The sum, NaN counted as zero"), out_decides(),
        kernel([](const Tensor& self, std::optional<IntList> dim, bool keepdim, DType dtype) {
            KINDLING_CHECK(Runtime, !self.is_complex(), "nansum does not support complex inputs");
            const DType out = sum_dtype(self, dtype);
            return fold_one(self, Combine::Sum, is_half(out) ? DType::Float32 : out, out, mask_of(dim, self), keepdim, is_floating(self.dtype()));
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, std::optional<IntList> dim, bool keepdim) {
            return mul(expand(restore_dims(grad, mask_of(dim, self), self.dim(), keepdim), self.sizes()), logical_not(isnan(self)));
        }),
    });
    declare("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", {
        doc("The mean of all elements"), linear(), out_castable(),
        kernel([](const Tensor& self, DType dtype) { return mean_of(self, all_dims(self), false, dtype); }),
        derivative("self", GIVEN(Tensor grad, Tensor self_shape) {
            return div(expand(grad, self_shape.sizes()), wrap_number(Scalar(self_shape.numel())));
        }),
        refuses("torch.arange(3).mean()", "RuntimeError: mean\\(\\): could not infer output dtype"),
    });
    declare("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", {
        doc("The mean over dimensions"), out_decides(), linear(),
        kernel([](const Tensor& self, std::optional<IntList> dim, bool keepdim, DType dtype) { return mean_of(self, mask_of(dim, self), keepdim, dtype); }),
        derivative("self", GIVEN(Tensor grad, Tensor self_shape, std::optional<IntList> dim, bool keepdim) {
            uint64_t mask = mask_of(dim, self_shape);
            Tensor full = expand(restore_dims(grad, mask, self_shape.dim(), keepdim), self_shape.sizes());
            return div(full, wrap_number(Scalar(count_in(self_shape.sizes(), mask))));
        }),
    });
    declare("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", {
        doc("The mean of what is not NaN"), out_decides(),
        composition([](const Tensor& self, std::optional<IntList> dim, bool keepdim, DType dtype) {
            KINDLING_CHECK(Runtime, is_differentiable(self.dtype()), "nanmean(): expected input to have floating point or complex dtype but got %s", scalar_type_name(self.dtype()));
            KINDLING_CHECK(Runtime, dtype == DType::None || is_differentiable(dtype), "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: %s", scalar_type_name(dtype));
            Tensor count = sum(logical_not(isnan(self)), dim, keepdim);
            return div(nansum(self, dim, keepdim, dtype), count);
        }),
    });
    declare("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", {
        doc("The product of all elements; of integers in int64"), flags(trait::AutocastFloat),
        kernel([](const Tensor& self, DType dtype) {
            DType out = sum_dtype(self, dtype);
            return fold_one(self, Combine::Prod, value_type(out), out, all_dims(self), false);
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, Tensor result) {
            if (self.dim() == 0) return grad;
            return reshape(prod_gradient(grad, reshape(self, {-1}), result, 0), self.sizes());
        }),
    });
    declare("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", {
        doc("The product over a dimension; of integers in int64"), out_decides(), flags(trait::AutocastFloat),
        kernel([](const Tensor& self, int64_t dim, bool keepdim, DType dtype) {
            DType out = sum_dtype(self, dtype);
            return fold_one(self, Combine::Prod, value_type(out), out, dim_mask({dim}, self.dim()), keepdim);
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, Tensor result, int64_t dim, bool keepdim) {
            uint64_t mask = dim_mask({dim}, self.dim());
            return prod_gradient(restore_dims(grad, mask, self.dim(), keepdim), self, restore_dims(result, mask, self.dim(), keepdim), dim);
        }),
    });
    declare("any(Tensor self) -> Tensor", {
        doc("Whether any element is not zero"), takes_float8(), out_truth(), not_differentiable(),
        kernel([](const Tensor& self) { return fold_one(self, Combine::Any, DType::Bool, self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool, all_dims(self), false); }),
    });
    declare("any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", {
        doc("Whether any element along a dimension is not zero"), takes_float8(), out_truth(), not_differentiable(),
        kernel([](const Tensor& self, int64_t dim, bool keepdim) { return fold_one(self, Combine::Any, DType::Bool, self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool, dim_mask({dim}, self.dim()), keepdim); }),
    });
    declare("any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", {
        doc("Whether any element over dimensions is not zero"), takes_float8(), out_truth(), not_differentiable(),
        kernel([](const Tensor& self, std::optional<IntList> dim, bool keepdim) { return fold_one(self, Combine::Any, DType::Bool, self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool, dim ? dim_mask(*dim, self.dim(), false) : all_dims(self), keepdim); }),
    });
    declare("all(Tensor self) -> Tensor", {
        doc("Whether no element is zero"), takes_float8(), out_truth(), not_differentiable(),
        kernel([](const Tensor& self) { return fold_one(self, Combine::All, DType::Bool, self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool, all_dims(self), false); }),
    });
    declare("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", {
        doc("Whether no element along a dimension is zero"), takes_float8(), out_truth(), not_differentiable(),
        kernel([](const Tensor& self, int64_t dim, bool keepdim) { return fold_one(self, Combine::All, DType::Bool, self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool, dim_mask({dim}, self.dim()), keepdim); }),
    });
    declare("all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", {
        doc("Whether no element over dimensions is zero"), takes_float8(), out_truth(), not_differentiable(),
        kernel([](const Tensor& self, std::optional<IntList> dim, bool keepdim) { return fold_one(self, Combine::All, DType::Bool, self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool, dim ? dim_mask(*dim, self.dim(), false) : all_dims(self), keepdim); }),
    });
    declare("max(Tensor self) -> Tensor", {
        doc("The greatest element; NaN wins"), out_castable(),
        kernel([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.numel() > 0, "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
            return extreme_value(self, all_dims(self), false, Combine::Max, "max");
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, Tensor result) { return to_equals(grad, self, result); }),
    });
    declare("min(Tensor self) -> Tensor", {
        doc("The smallest element; NaN wins"), out_castable(),
        kernel([](const Tensor& self) {
            KINDLING_CHECK(Runtime, self.numel() > 0, "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
            return extreme_value(self, all_dims(self), false, Combine::Min, "min");
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, Tensor result) { return to_equals(grad, self, result); }),
    });
    declare("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", {
        doc("The greatest elements along a dimension, and where they are"),
        kernel([](const Tensor& self, int64_t dim, bool keepdim) { return extreme(self, dim, keepdim, Combine::Max, Combine::ArgMax, "max"); }),
        derivative("self", GIVEN(Tensor grad, Tensor self_shape, Tensor result1, int64_t dim, bool keepdim) { return at_index(grad, self_shape, result1, dim, keepdim); }),
    });
    declare("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", {
        doc("The smallest elements along a dimension, and where they are"),
        kernel([](const Tensor& self, int64_t dim, bool keepdim) { return extreme(self, dim, keepdim, Combine::Min, Combine::ArgMin, "min"); }),
        derivative("self", GIVEN(Tensor grad, Tensor self_shape, Tensor result1, int64_t dim, bool keepdim) { return at_index(grad, self_shape, result1, dim, keepdim); }),
    });
    declare("value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor", {
        doc("A gradient put where its value was found, zeros elsewhere"), in(space::Hidden),
        composition([](const Tensor& grad, int64_t dim, const Tensor& indices, IntList sizes, bool keepdim) {
            bool open = keepdim || sizes.empty();
            Tensor g = open ? grad : unsqueeze(grad, dim), at = open ? indices : unsqueeze(indices, dim);
            return scatter(zeros(sizes, grad.dtype(), std::nullopt, grad.device()), dim, at, g);
        }),
    });
    declare("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", {
        doc("The greatest elements over dimensions; the gradient is shared by all that reach it"),
        kernel([](const Tensor& self, IntList dim, bool keepdim) {
            uint64_t mask = dim_mask(dim, self.dim());
            KINDLING_CHECK(Runtime, self.numel() || !dim.empty(), "amax(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
            if (self.numel() == 0) need_elements(self, mask, "amax");
            return extreme_value(self, mask, keepdim, Combine::Max, "amax");
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, Tensor result, IntList dim, bool keepdim) { return evenly(grad, self, result, dim_mask(dim, self.dim()), keepdim); }),
    });
    declare("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", {
        doc("The smallest elements over dimensions; the gradient is shared by all that reach it"),
        kernel([](const Tensor& self, IntList dim, bool keepdim) {
            uint64_t mask = dim_mask(dim, self.dim());
            KINDLING_CHECK(Runtime, self.numel() || !dim.empty(), "amin(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
            if (self.numel() == 0) need_elements(self, mask, "amin");
            return extreme_value(self, mask, keepdim, Combine::Min, "amin");
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, Tensor result, IntList dim, bool keepdim) { return evenly(grad, self, result, dim_mask(dim, self.dim()), keepdim); }),
    });
    declare("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", {
        doc("The smallest and the greatest elements"),
        composition([](const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
            if (!dim) KINDLING_CHECK(Runtime, self.numel() > 0, "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
            Sizes dims = dim ? Sizes{*dim} : Sizes();
            return std::tuple<Tensor, Tensor>(amin(self, dims, keepdim), amax(self, dims, keepdim));
        }),
    });
    declare("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", {
        doc("Where the greatest element is: the first of equals"), not_differentiable(),
        kernel([](const Tensor& self, std::optional<int64_t> dim, bool keepdim) { return extreme_place(self, dim, keepdim, Combine::ArgMax, "argmax"); }),
    });
    declare("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", {
        doc("Where the smallest element is: the first of equals"), not_differentiable(),
        kernel([](const Tensor& self, std::optional<int64_t> dim, bool keepdim) { return extreme_place(self, dim, keepdim, Combine::ArgMin, "argmin"); }),
    });
    declare("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", {
        doc("log(sum(exp(self))) over dimensions without overflow"), out_castable(), alias("special_logsumexp"),
        kernel([](const Tensor& self, IntList dim, bool keepdim) {
            DType out = category(self.dtype()) < 2 ? default_dtype() : self.dtype();
            uint64_t mask = dim_mask(dim, self.dim());
            Tensor x = out == self.dtype() ? self : to(self, out);
            if (x.numel() == 0) return log(summed(exp(x), mask, keepdim, DType::None));
            if (is_complex(out)) {                       // by the largest real part
                Tensor top = amax(real(x), dim, true);
                top = masked_fill(top, isinf(top), Scalar(0));
                Tensor total = log(summed(exp(sub(x, top)), mask, keepdim, DType::None));
                return add(total, keepdim ? top : reshape(top, total.sizes()));
            }
            if (x.dim() == 0) return add(x, wrap_number(Scalar(0)));
            const Expression& expression = cached_expression(key_of(out), [&](ExpressionBuilder& builder) {
                Sym value = cast(builder.input(out), value_type(out)), top = row_max(value);
                top = where(isinf(top), like(top, 0), top);
                builder.output(cast(log(row_sum(exp(value - top))) + top, out));
            });
            Sizes shape = x.sizes(), kept;
            for (size_t d = 0; d < shape.size(); d++)
                if (mask >> d & 1) shape[d] = 1;
                else kept.push_back(shape[d]);
            Tensor result = make_tensor(shape, out, x.device());
            TensorImpl *output = result.impl(), *input = x.impl();
            if (!result.is_meta()) run_rows(expression, x.sizes(), mask, &output, 1, &input, 1, nullptr);
            return keepdim ? result : reshape(result, kept);
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, Tensor result, IntList dim, bool keepdim) {
            uint64_t mask = dim_mask(dim, self.dim());
            Tensor r = restore_dims(result, mask, self.dim(), keepdim);
            r = masked_fill(r, isinf(r), Scalar(0));
            return mul(restore_dims(grad, mask, self.dim(), keepdim), conj(exp(sub(self, r))));
        }),
    });
    declare("var(Tensor self, bool unbiased=True) -> Tensor", {
        doc("The variance of all elements"), no_out(),
        composition([](const Tensor& self, bool unbiased) { return var(self, std::optional<IntList>(), Scalar(unbiased ? 1 : 0), false); }),
    });
    declare("var.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> Tensor", {
        doc("The variance over dimensions"), out_castable(),
        composition([](const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) { return var(self, dim, Scalar(unbiased ? 1 : 0), keepdim); }),
    });
    declare("var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor", {
        doc("The variance over dimensions, with `correction` (1 unless given) taken off the count"), out_castable(),
        kernel([](const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            Tensor outputs[2];
            moments(self, mask_of(dim, self), correction, keepdim, false, false, outputs, "std and var");
            return outputs[0];
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            return variance_gradient(grad, self, dim, correction, keepdim);
        }),
    });
    declare("std(Tensor self, bool unbiased=True) -> Tensor", {
        doc("The standard deviation of all elements"), no_out(),
        composition([](const Tensor& self, bool unbiased) { return std(self, std::optional<IntList>(), Scalar(unbiased ? 1 : 0), false); }),
    });
    declare("std.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> Tensor", {
        doc("The standard deviation over dimensions"), out_castable(),
        composition([](const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) { return std(self, dim, Scalar(unbiased ? 1 : 0), keepdim); }),
    });
    declare("std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor", {
        doc("The standard deviation over dimensions, with `correction` (1 unless given) taken off the count"), out_castable(),
        kernel([](const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            Tensor outputs[2];
            moments(self, mask_of(dim, self), correction, keepdim, true, false, outputs, "std and var");
            return outputs[0];
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, Tensor result, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            return deviation_gradient(grad, result, self, dim, correction, keepdim);
        }),
    });
    declare("var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", {
        doc("The variance and the mean of all elements"), in(space::Torch), no_out(),
        composition([](const Tensor& self, bool unbiased) { return var_mean(self, std::optional<IntList>(), Scalar(unbiased ? 1 : 0), false); }),
    });
    declare("var_mean.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> (Tensor, Tensor)", {
        doc("The variance and the mean over dimensions"), in(space::Torch), no_out(),
        composition([](const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) { return var_mean(self, dim, Scalar(unbiased ? 1 : 0), keepdim); }),
    });
    declare("var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)", {
        doc("The variance and the mean over dimensions"), in(space::Torch), no_out(),
        kernel([](const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            Tensor outputs[2];
            moments(self, mask_of(dim, self), correction, keepdim, false, true, outputs, "var_mean");
            return std::tuple<Tensor, Tensor>(outputs[0], outputs[1]);
        }),
        derivative("self", GIVEN(TensorList grads, Tensor self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            uint64_t mask = mask_of(dim, self);
            Tensor total;
            if (grads[0].defined()) total = variance_gradient(grads[0], self, dim, correction, keepdim);
            if (grads[1].defined()) {
                Tensor part = div(expand(restore_dims(grads[1], mask, self.dim(), keepdim), self.sizes()), wrap_number(Scalar(count_in(self.sizes(), mask))));
                total = total.defined() ? add(total, part) : part;
            }
            return total;
        }),
    });
    declare("std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", {
        doc("The standard deviation and the mean of all elements"), in(space::Torch), no_out(),
        composition([](const Tensor& self, bool unbiased) { return std_mean(self, std::optional<IntList>(), Scalar(unbiased ? 1 : 0), false); }),
    });
    declare("std_mean.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> (Tensor, Tensor)", {
        doc("The standard deviation and the mean over dimensions"), in(space::Torch), no_out(),
        composition([](const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) { return std_mean(self, dim, Scalar(unbiased ? 1 : 0), keepdim); }),
    });
    declare("std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)", {
        doc("The standard deviation and the mean over dimensions"), in(space::Torch), no_out(),
        kernel([](const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            Tensor outputs[2];
            moments(self, mask_of(dim, self), correction, keepdim, true, true, outputs, "std_mean");
            return std::tuple<Tensor, Tensor>(outputs[0], outputs[1]);
        }),
        derivative("self", GIVEN(TensorList grads, Tensor self, Tensor result0, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            uint64_t mask = mask_of(dim, self);
            Tensor total;
            if (grads[0].defined()) total = deviation_gradient(grads[0], result0, self, dim, correction, keepdim);
            if (grads[1].defined()) {
                Tensor part = div(expand(restore_dims(grads[1], mask, self.dim(), keepdim), self.sizes()), wrap_number(Scalar(count_in(self.sizes(), mask))));
                total = total.defined() ? add(total, part) : part;
            }
            return total;
        }),
    });
    declare("linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", {
        doc("The p-norm over dimensions: (sum(abs(self)**p))**(1/p), with p = 0, inf and -inf as usual"),
        kernel([](const Tensor& self, const Scalar& ord, std::optional<IntList> dim, bool keepdim, DType dtype) {
            KINDLING_CHECK(Runtime, is_differentiable(self.dtype()), "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s", scalar_type_name(self.dtype()));
            if (dtype != DType::None) {
                KINDLING_CHECK(Runtime, is_differentiable(dtype), "linalg.vector_norm: dtype should be floating point or complex, but got %s", scalar_type_name(dtype));
                KINDLING_CHECK(Runtime, is_complex(dtype) == self.is_complex(), "linalg.vector_norm: dtype should be %s for %s inputs, but got %s", self.is_complex() ? "complex" : "real",
                               self.is_complex() ? "complex" : "real", scalar_type_name(dtype));
                KINDLING_CHECK(Runtime, promote(self.dtype(), dtype) == dtype, "linalg.vector_norm: the dtype of the input (%s) should be convertible without narrowing to the specified dtype (%s)",
                               scalar_type_name(self.dtype()), scalar_type_name(dtype));
            }
            KINDLING_CHECK(Runtime, !ord.is_complex(), "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
            double p = ord.to_double();
            uint64_t mask = mask_of(dim, self);
            if (self.numel() == 0 && (p < 0 || std::isinf(p)))
                for (size_t i = 0; i < self.sizes().size(); i++)
                    KINDLING_CHECK(Runtime, !(mask >> i & 1) || self.sizes()[i] != 0,
                                   "linalg.vector_norm cannot compute the %g norm on an empty tensor because the operation does not have an identity", p);
            DType from = self.dtype(), out = norm_dtype(self, dtype), inside = value_type(out);
            // Of one number without powers, which might overflow, but not of a tensor without dimensions that are named; of none 0, whatever p is.
            const bool named = !self.dim() && dim && !dim->empty();
            int kind = p != 0 && !named && count_in(self.sizes(), mask) <= 1 ? 1 : p == 2 ? 2 : p == 1 ? 1 : p == 0 ? 0 : std::isinf(p) ? (p > 0 ? 3 : 4) : 5;
            DType wide = dtype == DType::None ? from : dtype;
            const Expression& expression = cached_expression(key_of(from, wide, static_cast<uint64_t>(kind)), [&](ExpressionBuilder& b) {
                Sym x = cast(b.input(from), is_half(wide) ? DType::Float32 : wide), size = abs(x);
                if (kind == 2) b.output(is_complex(wide) ? real(x) * real(x) + imag(x) * imag(x) : x * x);
                else if (kind == 0) b.output(cast(size != like(size, 0), inside));
                else if (kind == 5) b.output(pow(size, b.scalar(inside)));
                else b.output(size);
            });
            Combine combine = kind == 3 ? Combine::Max : kind == 4 ? Combine::Min : Combine::Sum;
            DType folded = accumulate_type(combine, inside);
            const Expression* finish = nullptr;
            if (kind == 2 || kind == 5)
                finish = &cached_expression(key_of(folded, out, static_cast<uint64_t>(kind)), [&](ExpressionBuilder& b) {
                    Sym total = b.input(folded);
                    if (kind == 2) b.output(cast(sqrt(total), out));
                    else b.output(cast(pow(total, reciprocal(cast(b.scalar(inside), folded))), out));
                });
            Immediate power = Immediate::of(inside, p);
            Fold what{&expression, &combine, finish, &power};
            TensorImpl* input = self.impl();
            Tensor result;
            fold(what, self.sizes(), mask, keepdim, &input, 1, &out, &result, 1);
            return result;
        }),
        derivative("self", GIVEN(Tensor grad, Tensor self, Tensor result, Scalar ord, std::optional<IntList> dim, bool keepdim) {
            uint64_t mask = mask_of(dim, self);
            Tensor g = restore_dims(grad, mask, self.dim(), keepdim), norm = restore_dims(result, mask, self.dim(), keepdim);
            double p = ord.to_double();
            Tensor zero = wrap_number(Scalar(0));
            if (p == 0) return Tensor();
            if (p == 1) return mul(sgn(self), g);
            // Where a second derivative follows, 0 / 0 must not be met on the way back.
            if (p == 2) return thread_state.grad_mode ? mul(g, masked_fill(div(self, norm), eq(norm, Scalar(0)), Scalar(0)))
                                                      : mul(self, masked_fill(div(g, norm), eq(norm, Scalar(0)), Scalar(0)));
            if (std::isinf(p)) {
                Tensor size = abs(self), hit = logical_or(eq(size, norm), logical_and(isnan(size), isnan(norm)));
                return mul(mul(sgn(self), div(g, sum(hit, IntList(dims_of(mask, self.dim())), true))), hit);
            }
            if (p < 1) {
                Tensor scaled = mul(sgn(self), masked_fill(pow(abs(self), Scalar(p - 1)), eq(self, Scalar(0)), Scalar(0)));
                return mul(scaled, mul(g, pow(norm, Scalar(1 - p))));
            }
            if (p < 2) {
                Tensor scaled = mul(sgn(self), pow(abs(self), Scalar(p - 1)));
                return mul(scaled, masked_fill(div(g, pow(norm, Scalar(p - 1))), eq(norm, Scalar(0)), Scalar(0)));
            }
            Tensor scaled = mul(self, pow(abs(self), Scalar(p - 2)));
            return mul(scaled, masked_fill(div(g, pow(norm, Scalar(p - 1))), eq(norm, Scalar(0)), Scalar(0)));
        }),
    });
    declare("norm.Scalar(Tensor self, Scalar p=2) -> Tensor", {
        doc("The p-norm of all elements"), no_out(),
        composition([](const Tensor& self, const Scalar& p) { return linalg_vector_norm(self, p); }),
    });
    declare("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", {
        doc("The p-norm over dimensions"),
        composition([](const Tensor& self, std::optional<Scalar> p, IntList dim, bool keepdim) { return linalg_vector_norm(self, p.value_or(Scalar(2)), dim, keepdim); }),
    });
    declare("norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor", {
        doc("The p-norm over dimensions, computed in a dtype"),
        composition([](const Tensor& self, std::optional<Scalar> p, IntList dim, bool keepdim, DType dtype) { return linalg_vector_norm(self, p.value_or(Scalar(2)), dim, keepdim, dtype); }),
    });
    declare("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", {
        doc("How many elements are not zero, over dimensions"), no_out(),
        composition([](const Tensor& self, IntList dim) { return sum(ne(self, Scalar(0)), dim); }),
    });
    declare("count_nonzero(Tensor self, int? dim=None) -> Tensor", {
        doc("How many elements are not zero"), no_out(),
        composition([](const Tensor& self, std::optional<int64_t> dim) {
            return dim ? sum(ne(self, Scalar(0)), IntList({*dim})) : sum(ne(self, Scalar(0)));
        }),
    });
    declare("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", {
        doc("The p-norm of the difference"), no_out(),
        composition([](const Tensor& self, const Tensor& other, const Scalar& p) { return linalg_vector_norm(sub(self, other), p); }),
    });
}
