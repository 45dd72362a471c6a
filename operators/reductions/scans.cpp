// operators/reductions/scans.cpp: running sums, products and extremes along a dimension.
#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/declare.h"
#include "operators/reduce.h"

namespace kindling {
namespace {

void scan_of(KernelCall& call, const Tensor& self, int64_t dim, Scan kind, DType dtype) {
    const int64_t d = wrap_dim(dim, self.dim());
    if (!self.dim()) return call.declines();
    const bool places = kind == Scan::Max || kind == Scan::Min;
    call.scans(self, d, kind, value_type(dtype));
    call.gives(self.sizes(), dtype).written_as_it_lies();
    if (places) call.gives(self.sizes(), DType::Int64).written_as_it_lies();
}
constexpr auto value = [](auto x) { return x; };
// What scans make of a single number.
Tensor single(const Tensor& self, DType dtype) { return dtype == self.dtype() ? clone(self) : to(self, dtype); }
std::tuple<Tensor, Tensor> single_extreme(const Tensor& self) {
    return {clone(self), zeros({}, DType::Int64, std::nullopt, self.device())};
}

/// ---- trapezoids
int64_t sample_dim(const Tensor& y, int64_t dim) {
    KINDLING_CHECK(Index, y.dim() > 0, "Dimension specified as %ld but tensor has no dimensions", dim);
    return wrap_dim(dim, y.dim());
}
Tensor without_dim(const Tensor& y, int64_t d) {
    Sizes sizes = y.sizes();
    sizes.erase(static_cast<size_t>(d));
    return zeros(sizes, y.dtype(), std::nullopt, y.device());
}
Tensor first_ones(const Tensor& y, int64_t d) { return slice(y, d, std::nullopt, -1, 1); }
Tensor last_ones(const Tensor& y, int64_t d) { return slice(y, d, 1, std::nullopt, 1); }
/// The sums of all two neighbours.
Tensor neighbours(const Tensor& y, int64_t d) { return add(first_ones(y, d), last_ones(y, d)); }
void check_samples(const Tensor& y, const Scalar& dx, const char* name) {
    KINDLING_CHECK(Runtime, y.dtype() != DType::Bool, "%s: received a bool input for `y`, but bool is not supported", name);
    KINDLING_CHECK(Runtime, !dx.is_complex() && !dx.is_bool(), "%s: Currently, we only support dx as a real number.", name);
}
/// Twice the areas between samples at x.
Tensor trapezoids(const Tensor& y, const Tensor& x, int64_t d, const char* name) {
    KINDLING_CHECK(Runtime, y.dtype() != DType::Bool && x.dtype() != DType::Bool,
                   "%s: received a bool input for `x` or `y`, but bool is not supported", name);
    Tensor grid = x;
    if (x.dim() == 1) {
        KINDLING_CHECK(Runtime, x.size(0) == y.size(d), "%s: There must be one `x` value for each sample point", name);
        Sizes shape(static_cast<size_t>(y.dim()), 1);
        shape[static_cast<size_t>(d)] = x.size(0);
        grid = view(x, shape);
    } else if (x.dim() < y.dim()) {
        Sizes shape(static_cast<size_t>(y.dim() - x.dim()), 1);
        for (int64_t size : x.sizes()) shape.push_back(size);
        grid = view(x, shape);
    }
    return mul(neighbours(y, d), sub(last_ones(grid, d), first_ones(grid, d)));
}

DType scan_dtype(const Tensor& self, DType dtype) {
    return dtype != DType::None ? dtype : category(self.dtype()) < 2 ? DType::Int64 : self.dtype();
}

Tensor reversed_cumsum(const Tensor& x, int64_t dim) {
    return x.numel() <= 1 || x.dim() == 0 || x.size(dim) == 1 ? x : flip(cumsum(flip(x, {dim}), dim), {dim});
}

Tensor cumprod_gradient(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& output) {
    if (self.numel() <= 1 || self.dim() == 0 || self.size(dim) == 1) return grad;
    Tensor is_zero = eq(self, Scalar(0));
    Tensor w = mul(conj(output), grad);
    if (!true_for_any(is_zero)) return div(reversed_cumsum(w, dim), conj(self));
    // d out_j / d x_i = product of x_k for k <= j, k != i: written with the elements before i and a running product after.
    int64_t length = self.size(dim);
    std::vector<Tensor> parts;
    Sizes one_sizes = self.sizes();
    one_sizes[static_cast<size_t>(wrap_dim(dim, self.dim()))] = 1;
    Tensor one = ones(one_sizes, self.dtype());
    for (int64_t i = 0; i < length; i++) {
        Tensor before = i ? narrow(output, dim, i - 1, 1) : one;
        Tensor after = i + 1 < length ? cat(std::vector<Tensor>{one, cumprod(narrow(self, dim, i + 1, length - i - 1), dim)}, dim) : one;
        Tensor factor = conj(mul(before, after));
        parts.push_back(sum(mul(narrow(grad, dim, i, length - i), factor), IntList({dim}), true));
    }
    return cat(parts, dim);
}

} // namespace
} // namespace kindling

OPERATORS(scans) {
    declare("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")({
        doc("The running sum along a dimension"),
        inplace_is_method(),
        linear(),
        out_decides(),
        has_inplace(),
        scan([](KernelCall& call, const Tensor& self, int64_t dim,
                DType dtype) { scan_of(call, self, dim, Scan::Sum, scan_dtype(self, dtype)); },
             value),
        otherwise([](const Tensor& self, int64_t, DType dtype) { return single(self, scan_dtype(self, dtype)); }),
        derivative(
            "self", GIVEN(Tensor grad, int64_t dim) { return reversed_cumsum(grad, dim); }),
    });
    declare("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")({
        doc("The running product along a dimension"),
        inplace_is_method(),
        out_decides(),
        has_inplace(),
        scan([](KernelCall& call, const Tensor& self, int64_t dim,
                DType dtype) { scan_of(call, self, dim, Scan::Prod, scan_dtype(self, dtype)); },
             value),
        otherwise([](const Tensor& self, int64_t, DType dtype) { return single(self, scan_dtype(self, dtype)); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, int64_t dim,
                          Tensor result) { return cumprod_gradient(grad, to(self, result.dtype()), dim, result); }),
    });
    declare("logcumsumexp(Tensor self, int dim) -> Tensor")({
        doc("log(cumsum(exp(self))) without overflow"),
        scan(
            [](KernelCall& call, const Tensor& self, int64_t dim) {
                const int64_t d = wrap_dim(dim, self.dim());
                KINDLING_CHECK(NotImplemented, category(self.dtype()) >= 2, "\"logcumsumexp_out_cpu\" not implemented for '%s'",
                               scalar_type_name(self.dtype()));
                scan_of(call, self, d, Scan::LogSumExp, self.dtype());
            },
            value),
        otherwise([](const Tensor& self, int64_t) { return clone(self); }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, int64_t dim, Tensor result) {
                if (grad.dim() == 0 || grad.numel() == 0) return grad;
                auto reversed = [&](const Tensor& g) {
                    return exp(add(flip(logcumsumexp(flip(sub(g, result), {dim}), dim), {dim}), self));
                };
                if (grad.is_complex()) return conj(reversed(log(conj(grad))));
                // Not -inf: a second derivative would take it from itself.
                Tensor low = wrap_number(Scalar(-greatest(grad.dtype())));
                Tensor positive = where(gt(grad, Scalar(0)), log(grad), low), negative = where(lt(grad, Scalar(0)), log(neg(grad)), low);
                return sub(reversed(positive), reversed(negative));
            }),
        forward(GIVEN(Tensor self, Tensor self_t,
                      int64_t dim) { // linear in the tangent, which the derivative shows in no form that can be differentiated
            if (self.dim() == 0 || self.numel() == 0) return self_t;
            Tensor size = exp(self.is_complex() ? self : sub(self, amax(self, {dim}, true))), total = cumsum(size, dim);
            return masked_fill(div(cumsum(mul(size, self_t), dim), total), eq(total, Scalar(0)), Scalar(0));
        }),
    });
    declare("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)")({
        doc("The running maximum along a dimension, and where it is"),
        scan([](KernelCall& call, const Tensor& self, int64_t dim) { scan_of(call, self, dim, Scan::Max, self.dtype()); }, value),
        otherwise([](const Tensor& self, int64_t) { return single_extreme(self); }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, Tensor result1, int64_t dim) {
                return self_sizes.empty() ? grad : scatter_add(zeros(self_sizes, grad.dtype()), dim, result1, grad);
            }),
    });
    declare("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)")({
        doc("The running minimum along a dimension, and where it is"),
        scan([](KernelCall& call, const Tensor& self, int64_t dim) { scan_of(call, self, dim, Scan::Min, self.dtype()); }, value),
        otherwise([](const Tensor& self, int64_t) { return single_extreme(self); }),
        derivative(
            "self",
            GIVEN(Tensor grad, IntList self_sizes, Tensor result1, int64_t dim) {
                return self_sizes.empty() ? grad : scatter_add(zeros(self_sizes, grad.dtype()), dim, result1, grad);
            }),
    });
    declare("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor")({
        doc("Differences of neighbours along a dimension, n times"),
        out_castable(),
        composition([](const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
            KINDLING_CHECK(Runtime, self.dim() >= 1, "diff expects input to be at least one-dimensional");
            KINDLING_CHECK(Runtime, n >= 0, "order must be non-negative but got %ld", n);
            Tensor x = self;
            if (prepend.defined() || append.defined()) {
                const int64_t d = wrap_dim(dim, self.dim());
                std::vector<Tensor> list;
                if (prepend.defined()) list.push_back(prepend);
                list.push_back(self);
                if (append.defined()) list.push_back(append);
                for (const Tensor& each : list) {
                    KINDLING_CHECK(Runtime, each.dim() == self.dim(), "diff expects prepend or append to be the same dimension as input");
                    for (int64_t i = 0; i < self.dim(); i++)
                        KINDLING_CHECK(Runtime, i == d || each.size(i) == self.size(i),
                                       "diff expects the shape of tensor to prepend or append to match that of input except along the "
                                       "differencing dimension; input.size(%ld) = %ld, but got tensor.size(%ld) = %ld",
                                       i, self.size(i), i, each.size(i));
                }
                if (n) x = cat(list, d);
            }
            if (n == 0) return clone(self);
            const int64_t d = wrap_dim(dim, self.dim());
            for (int64_t i = 0; i < n && x.size(d) > 0; i++) {
                int64_t length = x.size(d) - 1;
                Tensor high = narrow(x, d, 1, length), low = narrow(x, d, 0, length);
                x = x.dtype() == DType::Bool ? logical_xor(high, low) : sub(high, low);
            }
            return x;
        }),
    });
    declare("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor")({
        doc("The integral by the trapezoid rule"),
        in(space::Torch),
        alias("trapz"),
        no_out(),
        composition([](const Tensor& y, const Tensor& x, int64_t dim) {
            int64_t d = sample_dim(y, dim);
            if (y.size(d) == 0) return without_dim(y, d);
            return div(sum(trapezoids(y, x, d, "trapezoid"), IntList({d})), wrap_number(Scalar(2.0)));
        }),
    });
    declare("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor")({
        doc("The integral by the trapezoid rule, at a fixed distance"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& y, const Scalar& dx, int64_t dim) {
            int64_t d = sample_dim(y, dim);
            if (y.size(d) == 0) return without_dim(y, d);
            check_samples(y, dx, "trapezoid");
            // The sum without half of both ends: of small integers in int64, as torch's.
            Tensor ends = add(select(y, d, 0), select(y, d, -1));
            return mul(sub(sum(y, IntList({d})), mul(ends, wrap_number(Scalar(0.5)))), wrap_number(Scalar(dx.to_double())));
        }),
    });
    declare("trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor")({
        doc("trapezoid"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& y, double dx, int64_t dim) { return trapezoid(y, Scalar(dx), dim); }),
    });
    declare("cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor")({
        doc("The running integral by the trapezoid rule, at a fixed distance"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& y, const Scalar& dx, int64_t dim) {
            int64_t d = sample_dim(y, dim);
            check_samples(y, dx, "cumulative_trapezoid");
            return cumsum(mul(neighbours(y, d), wrap_number(Scalar(dx.to_double() / 2))), d);
        }),
    });
    declare("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor")({
        doc("The running integral by the trapezoid rule"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& y, const Tensor& x, int64_t dim) {
            int64_t d = sample_dim(y, dim);
            return div(cumsum(trapezoids(y, x, d, "cumulative_trapezoid"), d), wrap_number(Scalar(2.0)));
        }),
    });
}
