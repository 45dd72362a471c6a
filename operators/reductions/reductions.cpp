// operators/reductions/reductions.cpp: sums, extremes, means, variances and norms over dimensions.
#include <cmath>

#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/batching.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/reduce.h"

namespace kindling {
namespace {

DType sum_dtype(const Tensor& self, DType dtype) {
    if (dtype != DType::None) return dtype;
    return category(self.dtype()) < 2 ? DType::Int64 : self.dtype();
}

constexpr auto value = [](auto x) { return x; };

/// One value, reduced.
void reduce_one(KernelCall& call, const Tensor& self, Combine combine, DType inside, DType outside, uint64_t mask, bool keepdim) {
    call.reduces(self, mask, keepdim, inside);
    call.reduced(combine, outside);
}

void sum_of(KernelCall& call, const Tensor& self, uint64_t mask, bool keepdim, DType dtype) {
    DType out = sum_dtype(self, dtype);
    reduce_one(call, self, Combine::Sum, is_half(out) ? DType::Float32 : out, out, mask, keepdim);
}
void product_of(KernelCall& call, const Tensor& self, uint64_t mask, bool keepdim, DType dtype) {
    DType out = sum_dtype(self, dtype);
    reduce_one(call, self, Combine::Prod, value_type(out), out, mask, keepdim);
}
/// any and all: of bytes in bytes.
void truth_of(KernelCall& call, const Tensor& self, Combine combine, uint64_t mask, bool keepdim) {
    reduce_one(call, self, combine, DType::Bool, self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool, mask, keepdim);
}

void need_elements(const Tensor& self, uint64_t mask, const char* operation) {
    for (size_t i = 0; i < self.sizes().size(); i++)
        KINDLING_CHECK(Index, !(mask >> i & 1) || self.sizes()[i] != 0, "%s(): Expected reduction dim %zu to have non-zero size.",
                       operation, i);
}

void mean_of(KernelCall& call, const Tensor& self, uint64_t mask, bool keepdim, DType dtype) {
    DType out = dtype == DType::None ? self.dtype() : dtype;
    KINDLING_CHECK(Runtime, is_differentiable(out) && (!call.out_decides || is_differentiable(self.dtype())),
                   "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: %s",
                   scalar_type_name(call.out_decides ? self.dtype() : out));
    reduce_one(call, self, Combine::Sum, value_type(out), out, mask, keepdim);
    call.number(accumulate_type(Combine::Sum, value_type(out)), static_cast<double>(count_in(self.sizes(), mask)));
}
constexpr auto quotient = [](auto total, auto count) { return total / count; };

/// Variance, or (`results` 2) variance and mean, with `correction` degrees of freedom taken off; Welford's update underneath. The
/// bodies are given the mean, the sum of squared differences from it, and the degrees of freedom.
void moments_of(KernelCall& call, const Tensor& self, uint64_t mask, const std::optional<Scalar>& correction, bool keepdim, int results,
                const char* operation) {
    KINDLING_CHECK(Runtime, is_differentiable(self.dtype()), "%s only support floating point and complex dtypes",
                   results == 1 ? "std and var" : operation);
    const double taken = correction ? correction->to_double() : 1.0; // refuses complex ones, whatever the count
    if (self.is_complex()) return call.declines();
    const DType dtype = self.dtype();
    call.reduces(self, mask, keepdim, value_type(dtype));
    for (int i = 0; i < results; i++) call.reduced(Combine::MeanVar, dtype);
    const int64_t count = count_in(self.sizes(), mask);
    const double freedom = count ? static_cast<double>(count) - taken : 0;
    if ((freedom <= 0 || self.numel() == 0) && warn && !self.is_meta())
        warn(format("%s(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel divided "
                    "by output numel).",
                    operation)
                 .c_str());
    call.number(DType::Float64, freedom > 0 ? freedom : 0.0);
}
constexpr auto variance = [](auto, auto squares, auto freedom) { return squares / freedom; };
constexpr auto deviation = [](auto, auto squares, auto freedom) { return sqrt(squares / freedom); };
constexpr auto variance_and_mean = [](auto average, auto squares, auto freedom) { return std::pair(squares / freedom, average); };
constexpr auto deviation_and_mean = [](auto average, auto squares, auto freedom) { return std::pair(sqrt(squares / freedom), average); };

/// The variance of a complex variable is that of its parts added up.
std::tuple<Tensor, Tensor> complex_moments(const Tensor& self, const std::optional<IntList>& dim, const std::optional<Scalar>& correction,
                                           bool keepdim) {
    auto [rv, rm] = var_mean(contiguous(real(self)), dim, correction, keepdim);
    auto [iv, im] = var_mean(contiguous(resolve_neg(imag(self))), dim, correction, keepdim);
    return {add(rv, iv), complex(rm, im)};
}

/// Values and indices of an extreme along one dimension, found in one pass.
void extreme(KernelCall& call, const Tensor& self, int64_t dim, bool keepdim, Combine combine, Combine place, const char* operation) {
    int64_t d = wrap_dim(dim, self.dim());
    KINDLING_CHECK(Index, self.dim() == 0 || self.size(d) != 0, "%s(): Expected reduction dim %ld to have non-zero size.", operation, d);
    KINDLING_CHECK(Runtime, !self.is_complex(), "%s(): does not support complex input", operation);
    call.reduces(self, uint64_t{1} << d, keepdim, value_type(self.dtype()));
    call.reduced(combine, self.dtype());
    call.reduced(place, DType::Int64);
}
constexpr auto twice = [](auto x) { return std::pair(x, x); };

void extreme_place(KernelCall& call, const Tensor& self, std::optional<int64_t> dim, bool keepdim, Combine combine, const char* operation) {
    uint64_t mask = dim ? uint64_t{1} << wrap_dim(*dim, self.dim()) : dim_mask({}, self.dim());
    if (dim) {
        KINDLING_CHECK(Index, self.dim() == 0 || self.size(*dim) != 0, "%s(): Expected reduction dim %ld to have non-zero size.", operation,
                       *dim);
    } else
        KINDLING_CHECK(
            Index, self.numel() != 0,
            "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
            operation);
    KINDLING_CHECK(Runtime, self.dtype() != DType::Bool, "%s(): does not support bool input", operation);
    KINDLING_CHECK(Runtime, !self.is_complex(), "%s(): does not support complex input", operation);
    reduce_one(call, self, combine, value_type(self.dtype()), DType::Int64, mask, keepdim);
    if (!dim) call.input(0).order = KernelCall::Order::Rows; // the index counts in row-major order of the tensor as it is seen
}

void extreme_value(KernelCall& call, const Tensor& self, uint64_t mask, bool keepdim, Combine combine, const char* operation) {
    KINDLING_CHECK(NotImplemented, !self.is_complex(), "\"%s\" not implemented for '%s'", operation, scalar_type_name(self.dtype()));
    reduce_one(call, self, combine, value_type(self.dtype()), self.dtype(), mask, keepdim);
}
void extreme_of_all(KernelCall& call, const Tensor& self, Combine combine, const char* operation) {
    KINDLING_CHECK(
        Runtime, self.numel() > 0,
        "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
        operation);
    extreme_value(call, self, dim_mask({}, self.dim()), false, combine, operation);
}
void extreme_over(KernelCall& call, const Tensor& self, IntList dim, bool keepdim, Combine combine, const char* operation) {
    uint64_t mask = dim_mask(dim, self.dim());
    KINDLING_CHECK(
        Runtime, self.numel() || !dim.empty(),
        "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
        operation);
    if (self.numel() == 0) need_elements(self, mask, operation);
    extreme_value(call, self, mask, keepdim, combine, operation);
}

/// A reduction's gradient shared evenly by all that reach the extreme.
Tensor evenly(const Tensor& grad, const Tensor& self, const Tensor& result, uint64_t mask, bool keepdim) {
    Tensor g = restore_dims(grad, mask, self.dim(), keepdim), r = restore_dims(result, mask, self.dim(), keepdim);
    Tensor hit = eq(self, r);
    Sizes dims;
    for (int64_t i = 0; i < self.dim(); i++)
        if (mask >> i & 1) dims.push_back(i);
    const Tensor count = sum(hit, IntList(dims), true);
    if (!is_half(g.dtype())) return mul(div(g, count), hit);
    return mul(to(div(to(g, DType::Float32), count), g.dtype()), hit); // the count may be beyond a half type
}

Tensor at_index(const Tensor& grad, const Tensor& shape, const Tensor& indices, int64_t dim, bool keepdim) {
    return value_selecting_reduction_backward(grad, dim, indices, shape.sizes(), keepdim);
}

DType norm_dtype(const Tensor& self, DType dtype) { return to_real(dtype == DType::None ? self.dtype() : dtype); }

uint64_t all_dims(const Tensor& self) { return dim_mask({}, self.dim()); }
uint64_t mask_of(const std::optional<IntList>& dims, const Tensor& self) { return dim_mask(dims.value_or(IntList()), self.dim()); }
Sizes dims_of(uint64_t mask, int64_t ndim) {
    Sizes dims;
    for (int64_t i = 0; i < ndim; i++)
        if (mask >> i & 1) dims.push_back(i);
    return dims;
}

Tensor variance_gradient(const Tensor& grad, const Tensor& self, const std::optional<IntList>& dim, const std::optional<Scalar>& correction,
                         bool keepdim) {
    const uint64_t mask = mask_of(dim, self);
    double freedom = static_cast<double>(count_in(self.sizes(), mask)) - (correction ? correction->to_double() : 1.0);
    Tensor g = restore_dims(grad, mask, self.dim(), keepdim);
    Tensor average = mean(self, IntList(dims_of(mask, self.dim())), true);
    if (freedom <= 0 && (!dim || self.dim() == 0)) { // real, of complex numbers too
        Tensor limit = full({}, Scalar(__builtin_inf()), to_real(self.dtype()));
        return mul(g, where(eq(self, average), full_like(limit, Scalar(__builtin_nan(""))), limit));
    }
    Tensor centred = sub(self, average);
    return mul(mul(g, wrap_number(Scalar(2.0 / freedom))), centred);
}

Tensor deviation_gradient(const Tensor& grad, const Tensor& result, const Tensor& self, const std::optional<IntList>& dim,
                          const std::optional<Scalar>& correction, bool keepdim) {
    Tensor inner = masked_fill(div(grad, mul(result, wrap_number(Scalar(2)))), eq(result, Scalar(0)), Scalar(0));
    return variance_gradient(inner, self, dim, correction, keepdim);
}

Tensor prod_gradient(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
    if (self.is_complex() && !grad.is_complex())
        return prod_gradient(grad, to(self, grad.dtype()), result, dim); // the factors are those of the dtype that was asked for
    // With zeros a quotient won't do: the product of the others is that of two exclusive cumulative products.
    Tensor zero = eq(self, Scalar(0));
    if (self.dim() == 0) return grad;
    if (!true_for_any(zero)) return mul(grad, conj(div(result, self)));
    // Of several zeros in one product all gradients are zero, beside NaN too. Their own gradients need not be.
    if (result.dim() == 0 && !differentiates_again() && !batch_behind(zero) && sum(zero).item<int64_t>() > 1)
        return zeros(self.sizes(), self.dtype());
    Sizes sizes = self.sizes();
    int64_t d = wrap_dim(dim, self.dim()), length = self.size(d);
    sizes[static_cast<size_t>(d)] = 1;
    Tensor one = ones(sizes, self.dtype());
    Tensor before = cumprod(cat({one, narrow(self, d, 0, length - 1)}, d), d);
    Tensor after = flip(cumprod(cat({one, flip(narrow(self, d, 1, length - 1), {d})}, d), d), {d});
    return mul(grad, conj(mul(before, after)));
}

/// The gradient of a p-norm.
Tensor norm_gradient(const Tensor& grad, const Tensor& self, const Tensor& result, const Scalar& ord, std::optional<IntList> dim,
                     bool keepdim) {
    uint64_t mask = mask_of(dim, self);
    Tensor g = restore_dims(grad, mask, self.dim(), keepdim), norm = restore_dims(result, mask, self.dim(), keepdim);
    double p = ord.to_double();
    Tensor zero = wrap_number(Scalar(0));
    if (p == 0) return Tensor();
    if (p == 1) return mul(sgn(self), g);
    // Where a second derivative follows, 0 / 0 must not be met on the way back.
    if (p == 2)
        return differentiates_again() ? mul(g, masked_fill(div(self, norm), eq(norm, Scalar(0)), Scalar(0)))
                                      : mul(self, masked_fill(div(g, norm), eq(norm, Scalar(0)), Scalar(0)));
    if (std::isinf(p)) {
        Tensor size = abs(self), hit = logical_or(eq(size, norm), logical_and(isnan(size), isnan(norm)));
        return mul(mul(sgn(self), div(g, sum(hit, IntList(dims_of(mask, self.dim())), true))), hit);
    }
    if (p < 1) {
        Tensor scaled = mul(sgn(self), masked_fill(pow(abs(self), Scalar(p - 1)), eq(self, Scalar(0)), Scalar(0)));
        return mul(scaled, mul(g, pow(norm, Scalar(1 - p))));
    }
    Tensor scaled = p < 2 ? mul(sgn(self), pow(abs(self), Scalar(p - 1))) : mul(self, pow(abs(self), Scalar(p - 2)));
    Tensor powered = pow(norm, Scalar(p - 1)), nothing = eq(norm, Scalar(0));
    if (differentiates_again()) return mul(g, masked_fill(div(scaled, powered), nothing, Scalar(0)));
    return mul(scaled, masked_fill(div(g, powered), nothing, Scalar(0)));
}

Tensor not_zero(const Tensor& self) { return self.dtype() == DType::Bool ? self : ne(self, Scalar(0)); }

} // namespace
} // namespace kindling

OPERATORS(reductions) {
    declare("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor")({
        doc("The sum of all elements; of integers in int64"),
        linear(),
        reduction([](KernelCall& call, const Tensor& self, DType dtype) { sum_of(call, self, all_dims(self), false, dtype); }, value),
        derivative(
            "self", GIVEN(Tensor grad, SizeList self_sizes) { return expand(grad, self_sizes); }),
        example("torch.arange(5).sum()"),
    });
    declare("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")({
        doc("The sum over dimensions; of integers in int64"),
        node(1),
        out_decides(),
        linear(),
        reduction([](KernelCall& call, const Tensor& self, std::optional<IntList> dim, bool keepdim,
                     DType dtype) { sum_of(call, self, mask_of(dim, self), keepdim, dtype); },
                  value),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, std::optional<IntList> dim, bool keepdim) {
                return expand(restore_dims(grad, mask_of(dim, self_shape), self_shape.dim(), keepdim), self_shape.sizes());
            }),
        refuses("torch.ones(2).sum(3)", "IndexError: Dimension out of range"),
    });
    declare("sum_to_size(Tensor self, SymInt[] size) -> Tensor")({
        doc("The sum over those dimensions in which `size` was broadcast"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, IntList size) {
            if (size.empty()) return sum(self);
            Sizes dims;
            int64_t lead = self.dim() - static_cast<int64_t>(size.size());
            KINDLING_CHECK(Runtime, lead >= 0, "size {%s} is not expandable to size {%s}.", str(size).c_str(), str(self.sizes()).c_str());
            for (int64_t i = 0; i < self.dim(); i++) {
                bool fold = i < lead || (size[static_cast<size_t>(i - lead)] == 1 && self.size(i) != 1);
                KINDLING_CHECK(Runtime, fold || self.size(i) == size[static_cast<size_t>(i - lead)],
                               "size {%s} is not expandable to size {%s}.", str(size).c_str(), str(self.sizes()).c_str());
                if (fold) dims.push_back(i);
            }
            if (dims.empty()) return self;
            Tensor result = sum(self, IntList(dims), true);
            return lead ? view(result, size) : result;
        }),
    });
    declare("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")({
        doc("The sum, NaN counted as zero"),
        out_decides(),
        reduction(
            [](KernelCall& call, const Tensor& self, std::optional<IntList> dim, bool keepdim, DType dtype) {
                KINDLING_CHECK(Runtime, !self.is_complex(), "nansum does not support complex inputs");
                sum_of(call, self, mask_of(dim, self), keepdim, dtype);
            },
            [](auto x) { return x.is_floating() ? where(isnan(x), like(x, 0), x) : x; }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, std::optional<IntList> dim, bool keepdim) {
                return mul(expand(restore_dims(grad, mask_of(dim, self), self.dim(), keepdim), self.sizes()), logical_not(isnan(self)));
            }),
    });
    declare("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor")({
        doc("The mean of all elements"),
        out_decides(),
        linear(),
        reduction([](KernelCall& call, const Tensor& self, DType dtype) { mean_of(call, self, all_dims(self), false, dtype); }, value,
                  quotient),
        derivative(
            "self", GIVEN(Tensor grad,
                          Tensor self_shape) { return div(expand(grad, self_shape.sizes()), wrap_number(Scalar(self_shape.numel()))); }),
        refuses("torch.arange(3).mean()", "RuntimeError: mean\\(\\): could not infer output dtype"),
    });
    declare("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")({
        doc("The mean over dimensions"),
        node(1),
        out_decides(),
        linear(),
        reduction([](KernelCall& call, const Tensor& self, std::optional<IntList> dim, bool keepdim,
                     DType dtype) { mean_of(call, self, mask_of(dim, self), keepdim, dtype); },
                  value, quotient),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self_shape, std::optional<IntList> dim, bool keepdim) {
                uint64_t mask = mask_of(dim, self_shape);
                Tensor full = expand(restore_dims(grad, mask, self_shape.dim(), keepdim), self_shape.sizes());
                return div(full, wrap_number(Scalar(count_in(self_shape.sizes(), mask))));
            }),
    });
    declare("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")({
        doc("The mean of what is not NaN"),
        out_decides(),
        composition([](const Tensor& self, std::optional<IntList> dim, bool keepdim, DType dtype) {
            KINDLING_CHECK(Runtime, is_differentiable(self.dtype()),
                           "nanmean(): expected input to have floating point or complex dtype but got %s", scalar_type_name(self.dtype()));
            KINDLING_CHECK(
                Runtime, dtype == DType::None || is_differentiable(dtype),
                "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: %s",
                scalar_type_name(dtype));
            Tensor count = sum(logical_not(isnan(self)), dim, keepdim);
            return div(nansum(self, dim, keepdim, dtype), count);
        }),
    });
    declare("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor")({
        doc("The product of all elements; of integers in int64"),
        flags(trait::AutocastFloat),
        reduction([](KernelCall& call, const Tensor& self, DType dtype) { product_of(call, self, all_dims(self), false, dtype); }, value),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Tensor result) {
                if (self.dim() == 0) return grad;
                return reshape(prod_gradient(grad, reshape(self, {-1}), result, 0), self.sizes());
            }),
    });
    declare("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")({
        doc("The product over a dimension; of integers in int64"),
        node(1),
        out_decides(),
        flags(trait::AutocastFloat),
        reduction([](KernelCall& call, const Tensor& self, int64_t dim, bool keepdim,
                     DType dtype) { product_of(call, self, dim_mask({dim}, self.dim()), keepdim, dtype); },
                  value),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Tensor result, int64_t dim, bool keepdim) {
                uint64_t mask = dim_mask({dim}, self.dim());
                return prod_gradient(restore_dims(grad, mask, self.dim(), keepdim), self, restore_dims(result, mask, self.dim(), keepdim),
                                     dim);
            }),
    });
    declare("any(Tensor self) -> Tensor")({
        doc("Whether any element is not zero"),
        takes_float8(),
        out_truth(),
        not_differentiable(),
        reduction([](KernelCall& call, const Tensor& self) { truth_of(call, self, Combine::Any, all_dims(self), false); }, value),
    });
    declare("any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor")({
        doc("Whether any element along a dimension is not zero"),
        takes_float8(),
        out_truth(),
        not_differentiable(),
        reduction([](KernelCall& call, const Tensor& self, int64_t dim,
                     bool keepdim) { truth_of(call, self, Combine::Any, dim_mask({dim}, self.dim()), keepdim); },
                  value),
    });
    declare("any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")({
        doc("Whether any element over dimensions is not zero"),
        takes_float8(),
        out_truth(),
        not_differentiable(),
        reduction(
            [](KernelCall& call, const Tensor& self, std::optional<IntList> dim, bool keepdim) {
                truth_of(call, self, Combine::Any, dim ? dim_mask(*dim, self.dim(), false) : all_dims(self), keepdim);
            },
            value),
    });
    declare("all(Tensor self) -> Tensor")({
        doc("Whether no element is zero"),
        takes_float8(),
        out_truth(),
        not_differentiable(),
        reduction([](KernelCall& call, const Tensor& self) { truth_of(call, self, Combine::All, all_dims(self), false); }, value),
    });
    declare("_is_all_true(Tensor self) -> Tensor")({
        doc("Whether all elements of a bool tensor are true, over all slices where vmap maps"),
        in(space::Torch),
        takes(kind::Bool),
        not_differentiable(),
        batches([](const Tensor& self) {
            Mapped m({self});
            return m.below([&] { return _is_all_true(m.bare(self)); });
        }),
        composition([](const Tensor& self) { return all(self); }),
    });
    declare("_is_any_true(Tensor self) -> Tensor")({
        doc("Whether an element of a bool tensor is true, of any slice where vmap maps"),
        in(space::Torch),
        takes(kind::Bool),
        not_differentiable(),
        batches([](const Tensor& self) {
            Mapped m({self});
            return m.below([&] { return _is_any_true(m.bare(self)); });
        }),
        composition([](const Tensor& self) { return any(self); }),
    });
    declare("all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor")({
        doc("Whether no element along a dimension is zero"),
        takes_float8(),
        out_truth(),
        not_differentiable(),
        reduction([](KernelCall& call, const Tensor& self, int64_t dim,
                     bool keepdim) { truth_of(call, self, Combine::All, dim_mask({dim}, self.dim()), keepdim); },
                  value),
    });
    declare("all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")({
        doc("Whether no element over dimensions is zero"),
        takes_float8(),
        out_truth(),
        not_differentiable(),
        reduction(
            [](KernelCall& call, const Tensor& self, std::optional<IntList> dim, bool keepdim) {
                truth_of(call, self, Combine::All, dim ? dim_mask(*dim, self.dim(), false) : all_dims(self), keepdim);
            },
            value),
    });
    declare("max(Tensor self) -> Tensor")({
        doc("The greatest element; NaN wins"),
        node(1),
        out_castable(),
        reduction([](KernelCall& call, const Tensor& self) { extreme_of_all(call, self, Combine::Max, "max"); }, value),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Tensor result) { return to_equals(grad, self, result); }),
    });
    declare("min(Tensor self) -> Tensor")({
        doc("The smallest element; NaN wins"),
        node(1),
        out_castable(),
        reduction([](KernelCall& call, const Tensor& self) { extreme_of_all(call, self, Combine::Min, "min"); }, value),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Tensor result) { return to_equals(grad, self, result); }),
    });
    declare("max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")({
        doc("The greatest elements along a dimension, and where they are"),
        reduction([](KernelCall& call, const Tensor& self, int64_t dim,
                     bool keepdim) { extreme(call, self, dim, keepdim, Combine::Max, Combine::ArgMax, "max"); },
                  twice),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape, Tensor result1, int64_t dim,
                          bool keepdim) { return at_index(grad, self_shape, result1, dim, keepdim); }),
    });
    declare("min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")({
        doc("The smallest elements along a dimension, and where they are"),
        reduction([](KernelCall& call, const Tensor& self, int64_t dim,
                     bool keepdim) { extreme(call, self, dim, keepdim, Combine::Min, Combine::ArgMin, "min"); },
                  twice),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self_shape, Tensor result1, int64_t dim,
                          bool keepdim) { return at_index(grad, self_shape, result1, dim, keepdim); }),
    });
    declare("value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor")({
        doc("A gradient put where its value was found, zeros elsewhere"),
        in(space::Hidden),
        composition([](const Tensor& grad, int64_t dim, const Tensor& indices, IntList sizes, bool keepdim) {
            bool open = keepdim || sizes.empty();
            Tensor g = open ? grad : unsqueeze(grad, dim), at = open ? indices : unsqueeze(indices, dim);
            return scatter(zeros(sizes, grad.dtype(), std::nullopt, grad.device()), dim, at, g);
        }),
    });
    declare("amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor")({
        doc("The greatest elements over dimensions; the gradient is shared by all that reach it"),
        reduction([](KernelCall& call, const Tensor& self, IntList dim,
                     bool keepdim) { extreme_over(call, self, dim, keepdim, Combine::Max, "amax"); },
                  value),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Tensor result, IntList dim,
                          bool keepdim) { return evenly(grad, self, result, dim_mask(dim, self.dim()), keepdim); }),
    });
    declare("amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor")({
        doc("The smallest elements over dimensions; the gradient is shared by all that reach it"),
        reduction([](KernelCall& call, const Tensor& self, IntList dim,
                     bool keepdim) { extreme_over(call, self, dim, keepdim, Combine::Min, "amin"); },
                  value),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Tensor result, IntList dim,
                          bool keepdim) { return evenly(grad, self, result, dim_mask(dim, self.dim()), keepdim); }),
    });
    declare("_extremes(Tensor self, int[] dim, bool keepdim) -> (Tensor, Tensor)")({
        doc("The smallest and the greatest elements, in one pass"),
        in(space::Hidden),
        no_out(),
        not_differentiable(),
        reduction(
            [](KernelCall& call, const Tensor& self, IntList dim, bool keepdim) {
                extreme_over(call, self, dim, keepdim, Combine::Min, "_extremes");
                call.reduced(Combine::Max, self.dtype());
            },
            twice),
    });
    declare("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)")({
        doc("The smallest and the greatest elements"),
        composition([](const Tensor& self, std::optional<int64_t> dim, bool keepdim) {
            if (!dim)
                KINDLING_CHECK(Runtime, self.numel() > 0,
                               "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
            Sizes dims = dim ? Sizes{*dim} : Sizes();
            if (runs_plainly({&self}) && self.numel() && !self.is_complex()) return _extremes(self, dims, keepdim);
            return std::tuple<Tensor, Tensor>(amin(self, dims, keepdim), amax(self, dims, keepdim));
        }),
    });
    declare("argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")({
        doc("Where the greatest element is: the first of equals"),
        not_differentiable(),
        reduction([](KernelCall& call, const Tensor& self, std::optional<int64_t> dim,
                     bool keepdim) { extreme_place(call, self, dim, keepdim, Combine::ArgMax, "argmax"); },
                  value),
    });
    declare("argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")({
        doc("Where the smallest element is: the first of equals"),
        not_differentiable(),
        reduction([](KernelCall& call, const Tensor& self, std::optional<int64_t> dim,
                     bool keepdim) { extreme_place(call, self, dim, keepdim, Combine::ArgMin, "argmin"); },
                  value),
    });
    declare("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")({
        doc("log(sum(exp(self))) over dimensions without overflow"),
        out_castable(),
        alias("special_logsumexp"),
        rows(
            [](KernelCall& call, const Tensor& self, IntList dim, bool keepdim) {
                if (self.is_complex()) return call.declines();
                const DType out = category(self.dtype()) < 2 ? default_dtype() : self.dtype();
                const uint64_t mask = dim_mask(dim, self.dim());
                call.along(self, mask, value_type(out));
                call.reads_as_it_lies(self);
                call.gives_of_row(out, keepdim && self.dim()).if_nothing(-__builtin_inf());
            },
            [](auto x) {
                Sym top = row_max(x);
                top = where(isinf(top), like(top, 0), top);
                return log(row_sum(exp(x - top))) + top;
            }),
        otherwise([](const Tensor& self, IntList dim, bool keepdim) { // complex: by the largest real part
            if (!self.numel()) return log(sum(exp(self), dim, keepdim));
            Tensor top = amax(real(self), dim, true);
            top = masked_fill(top, isinf(top), Scalar(0));
            Tensor total = log(sum(exp(sub(self, top)), dim, keepdim));
            return add(total, keepdim ? top : reshape(top, total.sizes()));
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, Tensor result, IntList dim, bool keepdim) {
                uint64_t mask = dim_mask(dim, self.dim());
                Tensor r = restore_dims(result, mask, self.dim(), keepdim);
                return mul(restore_dims(grad, mask, self.dim(), keepdim), conj(exp(sub(self, r))));
            }),
    });
    declare("var(Tensor self, bool unbiased=True) -> Tensor")({
        doc("The variance of all elements"),
        no_out(),
        composition([](const Tensor& self, bool unbiased) { return var(self, std::optional<IntList>(), Scalar(unbiased ? 1 : 0), false); }),
    });
    declare("var.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> Tensor")({
        doc("The variance over dimensions"),
        out_castable(),
        composition([](const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) {
            return var(self, dim, Scalar(unbiased ? 1 : 0), keepdim);
        }),
    });
    declare("var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor")({
        doc("The variance over dimensions, with `correction` (1 unless given) taken off the count"),
        out_castable(),
        reduction([](KernelCall& call, const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction,
                     bool keepdim) { moments_of(call, self, mask_of(dim, self), correction, keepdim, 1, "var"); },
                  value, variance),
        otherwise([](const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            return std::get<0>(complex_moments(self, dim, correction, keepdim));
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, std::optional<IntList> dim, std::optional<Scalar> correction,
                          bool keepdim) { return variance_gradient(grad, self, dim, correction, keepdim); }),
    });
    declare("std(Tensor self, bool unbiased=True) -> Tensor")({
        doc("The standard deviation of all elements"),
        no_out(),
        composition([](const Tensor& self, bool unbiased) { return std(self, std::optional<IntList>(), Scalar(unbiased ? 1 : 0), false); }),
    });
    declare("std.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> Tensor")({
        doc("The standard deviation over dimensions"),
        out_castable(),
        composition([](const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) {
            return std(self, dim, Scalar(unbiased ? 1 : 0), keepdim);
        }),
    });
    declare("std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor")({
        doc("The standard deviation over dimensions, with `correction` (1 unless given) taken off the count"),
        out_castable(),
        reduction([](KernelCall& call, const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction,
                     bool keepdim) { moments_of(call, self, mask_of(dim, self), correction, keepdim, 1, "std"); },
                  value, deviation),
        otherwise([](const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            return sqrt(std::get<0>(complex_moments(self, dim, correction, keepdim)));
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Tensor result, std::optional<IntList> dim, std::optional<Scalar> correction,
                          bool keepdim) { return deviation_gradient(grad, result, self, dim, correction, keepdim); }),
    });
    declare("var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)")({
        doc("The variance and the mean of all elements"),
        in(space::Torch),
        no_out(),
        composition(
            [](const Tensor& self, bool unbiased) { return var_mean(self, std::optional<IntList>(), Scalar(unbiased ? 1 : 0), false); }),
    });
    declare("var_mean.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> (Tensor, Tensor)")({
        doc("The variance and the mean over dimensions"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) {
            return var_mean(self, dim, Scalar(unbiased ? 1 : 0), keepdim);
        }),
    });
    declare("var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)")({
        doc("The variance and the mean over dimensions"),
        in(space::Torch),
        no_out(),
        reduction([](KernelCall& call, const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction,
                     bool keepdim) { moments_of(call, self, mask_of(dim, self), correction, keepdim, 2, "var_mean"); },
                  value, variance_and_mean),
        otherwise([](const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            return complex_moments(self, dim, correction, keepdim);
        }),
        derivative(
            "self",
            GIVEN(TensorList grads, Tensor self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
                uint64_t mask = mask_of(dim, self);
                Tensor total;
                if (grads[0].defined()) total = variance_gradient(grads[0], self, dim, correction, keepdim);
                if (grads[1].defined()) {
                    Tensor part = div(expand(restore_dims(grads[1], mask, self.dim(), keepdim), self.sizes()),
                                      wrap_number(Scalar(count_in(self.sizes(), mask))));
                    total = total.defined() ? add(total, part) : part;
                }
                return total;
            }),
    });
    declare("std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)")({
        doc("The standard deviation and the mean of all elements"),
        in(space::Torch),
        no_out(),
        composition(
            [](const Tensor& self, bool unbiased) { return std_mean(self, std::optional<IntList>(), Scalar(unbiased ? 1 : 0), false); }),
    });
    declare("std_mean.dim(Tensor self, int[1]? dim, bool unbiased, bool keepdim=False) -> (Tensor, Tensor)")({
        doc("The standard deviation and the mean over dimensions"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, std::optional<IntList> dim, bool unbiased, bool keepdim) {
            return std_mean(self, dim, Scalar(unbiased ? 1 : 0), keepdim);
        }),
    });
    declare("std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)")({
        doc("The standard deviation and the mean over dimensions"),
        in(space::Torch),
        no_out(),
        reduction([](KernelCall& call, const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction,
                     bool keepdim) { moments_of(call, self, mask_of(dim, self), correction, keepdim, 2, "std_mean"); },
                  value, deviation_and_mean),
        otherwise([](const Tensor& self, std::optional<IntList> dim, std::optional<Scalar> correction, bool keepdim) {
            auto [spread, average] = complex_moments(self, dim, correction, keepdim);
            return std::tuple<Tensor, Tensor>(sqrt(spread), average);
        }),
        derivative(
            "self",
            GIVEN(TensorList grads, Tensor self, Tensor result0, std::optional<IntList> dim, std::optional<Scalar> correction,
                  bool keepdim) {
                uint64_t mask = mask_of(dim, self);
                Tensor total;
                if (grads[0].defined()) total = deviation_gradient(grads[0], result0, self, dim, correction, keepdim);
                if (grads[1].defined()) {
                    Tensor part = div(expand(restore_dims(grads[1], mask, self.dim(), keepdim), self.sizes()),
                                      wrap_number(Scalar(count_in(self.sizes(), mask))));
                    total = total.defined() ? add(total, part) : part;
                }
                return total;
            }),
    });
    declare("linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")({
        doc("The p-norm over dimensions: (sum(abs(self)**p))**(1/p), with p = 0, inf and -inf as usual"),
        reduction(
            [](KernelCall& call, const Tensor& self, const Scalar& ord, std::optional<IntList> dim, bool keepdim, DType dtype) {
                KINDLING_CHECK(Runtime, is_differentiable(self.dtype()),
                               "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
                               scalar_type_name(self.dtype()));
                if (dtype != DType::None) {
                    KINDLING_CHECK(Runtime, is_differentiable(dtype),
                                   "linalg.vector_norm: dtype should be floating point or complex, but got %s", scalar_type_name(dtype));
                    KINDLING_CHECK(Runtime, is_complex(dtype) == self.is_complex(),
                                   "linalg.vector_norm: dtype should be %s for %s inputs, but got %s",
                                   self.is_complex() ? "complex" : "real", self.is_complex() ? "complex" : "real", scalar_type_name(dtype));
                    KINDLING_CHECK(Runtime, promote(self.dtype(), dtype) == dtype,
                                   "linalg.vector_norm: the dtype of the input (%s) should be convertible without narrowing to the "
                                   "specified dtype (%s)",
                                   scalar_type_name(self.dtype()), scalar_type_name(dtype));
                }
                KINDLING_CHECK(Runtime, !ord.is_complex(), "linalg.vector_norm: Expected a non-complex scalar as the order of norm.");
                double p = ord.to_double();
                uint64_t mask = mask_of(dim, self);
                if (self.numel() == 0 && (p < 0 || std::isinf(p)))
                    for (size_t i = 0; i < self.sizes().size(); i++)
                        KINDLING_CHECK(Runtime, !(mask >> i & 1) || self.sizes()[i] != 0,
                                       "linalg.vector_norm cannot compute the %g norm on an empty tensor because the operation does not "
                                       "have an identity",
                                       p);
                DType from = self.dtype(), out = norm_dtype(self, dtype), inside = value_type(out);
                // Of one number without powers, which might overflow, but not of a tensor without dimensions that are named; of none 0,
                // whatever p is.
                const bool named = !self.dim() && dim && !dim->empty();
                const int kind = p != 0 && !named && count_in(self.sizes(), mask) <= 1 ? 1 : norm_kind(p);
                DType wide = dtype == DType::None ? from : dtype;
                call.reduces(self, mask, keepdim, is_half(wide) ? DType::Float32 : wide);
                call.reduced(norm_combine(kind), out);
                call.number(inside, p);
                call.choice(kind);
            },
            [](auto x, auto p, auto kind) { return norm_term(x, p, kind.integer()); },
            [](auto total, auto p, auto kind) { return norm_of_total(total, p, kind.integer()); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Tensor result, Scalar ord, std::optional<IntList> dim,
                          bool keepdim) { return norm_gradient(grad, self, result, ord, dim, keepdim); }),
        forward(GIVEN(Tensor self, Tensor self_t, Tensor result, Scalar ord, std::optional<IntList> dim, bool keepdim) {
            Tensor slope =
                norm_gradient(ones_like(result), self, result, ord, dim, keepdim); // nobody else's: each element goes into one norm
            if (!slope.defined()) return slope;
            Tensor product = mul(conj(slope), self_t);
            return sum(product.is_complex() ? real(product) : product, IntList(dims_of(mask_of(dim, self), self.dim())), keepdim);
        }),
    });
    declare("norm.Scalar(Tensor self, Scalar p=2) -> Tensor")({
        doc("The p-norm of all elements"),
        no_out(),
        composition([](const Tensor& self, const Scalar& p) { return linalg_vector_norm(self, p); }),
    });
    declare("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor")({
        doc("The p-norm over dimensions"),
        node(1),
        composition([](const Tensor& self, std::optional<Scalar> p, IntList dim, bool keepdim) {
            return linalg_vector_norm(self, p.value_or(Scalar(2)), dim, keepdim);
        }),
    });
    declare("norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor")({
        doc("The p-norm over dimensions, computed in a dtype"),
        node(3),
        composition([](const Tensor& self, std::optional<Scalar> p, IntList dim, bool keepdim, DType dtype) {
            return linalg_vector_norm(self, p.value_or(Scalar(2)), dim, keepdim, dtype);
        }),
    });
    declare("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor")({
        doc("How many elements are not zero, over dimensions"),
        no_out(),
        composition([](const Tensor& self, IntList dim) { return sum(not_zero(self), dim); }),
    });
    declare("count_nonzero(Tensor self, int? dim=None) -> Tensor")({
        doc("How many elements are not zero"),
        no_out(),
        composition([](const Tensor& self, std::optional<int64_t> dim) {
            return dim ? sum(not_zero(self), IntList({*dim})) : sum(not_zero(self));
        }),
    });
    declare("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor")({
        doc("The p-norm of the difference"),
        no_out(),
        composition([](const Tensor& self, const Tensor& other, const Scalar& p) { return linalg_vector_norm(sub(self, other), p); }),
    });
}
