// operators/reductions/statistics.cpp: quantiles, histograms, finite differences, reductions of segments, and relatives of operators
// elsewhere that programs call by their inner names.
#include <cmath>
#include <limits>

#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/declare.h"

namespace kindling {
namespace {

void check_indices(TensorList indices) {
    for (const Tensor& each : indices)
        KINDLING_CHECK(Runtime, !each.defined() || each.dtype() == DType::Int64 || each.dtype() == DType::Int32,
                       "_unsafe_masked_index found unexpected index type %s", scalar_type_name(each.dtype()));
}

Tensor number(double value) { return wrap_number(Scalar(value)); }
constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- quantiles

Tensor quantiles(const char* name, const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, Text interpolation,
                 bool ignore_nan) {
    KINDLING_CHECK(Runtime,
                   interpolation == "linear" || interpolation == "lower" || interpolation == "higher" || interpolation == "midpoint" ||
                       interpolation == "nearest",
                   "%s() interpolation must be one of linear, lower, higher, midpoint or nearest, but got %s", name,
                   std::string(interpolation).c_str());
    KINDLING_CHECK(Runtime, self.numel() > 0, "%s() input tensor must be non-empty", name);
    KINDLING_CHECK(Runtime, q.dim() <= 1, "%s() q must be a scalar or 1D tensor", name);
    KINDLING_CHECK(Runtime, self.dtype() == DType::Float32 || self.dtype() == DType::Float64,
                   "%s() input tensor must be either float or double dtype", name);
    KINDLING_CHECK(Runtime, self.dtype() == q.dtype(), "%s() q tensor must be same dtype as the input tensor", name);
    KINDLING_CHECK(Runtime, !q.numel() || true_for_all(logical_and(ge(q, Scalar(0)), le(q, Scalar(1)))),
                   "%s() q values must be in the range [0, 1]", name);
    // Sizes of the result without the quantiles' own dimension.
    Sizes sizes;
    int64_t d = dim ? wrap_dim(*dim, self.dim()) : 0;
    for (int64_t i = 0; i < self.dim(); i++)
        if (dim && i != d) sizes.push_back(self.size(i));
        else if (keepdim) sizes.push_back(1);
    Tensor x = !dim ? reshape(self, {-1}) : self.dim() ? transpose(unsqueeze(self, -1), d, -1) : unsqueeze(self, -1);
    Tensor sorted = std::get<0>(sort(x, -1));
    double last = static_cast<double>(sorted.size(-1) - 1);
    IntList end = generated::ints<-1>();
    Tensor rank, bad = isnan(sorted);
    if (ignore_nan) {
        rank = mul(q, sub(sum(logical_not(bad), end, true), wrap_number(Scalar(1))));
        rank = masked_fill(rank, lt(rank, Scalar(0)), Scalar(0));
    } else {
        std::vector<Tensor> both = broadcast_tensors({mul(q, number(last)), any(bad, -1, true)});
        rank = masked_fill(both[0], both[1], Scalar(last));
    }
    if (interpolation == "lower") rank = floor(rank);
    else if (interpolation == "higher") rank = ceil(rank);
    else if (interpolation == "nearest") rank = round(rank);
    Sizes wide = sorted.sizes();
    wide[wide.size() - 1] = rank.dim() ? rank.size(-1) : 1;
    rank = expand(rank, wide);
    Tensor below = to(rank, DType::Int64), result = gather(sorted, -1, below);
    if (interpolation == "linear" || interpolation == "midpoint") {
        Tensor weight = interpolation == "midpoint" ? full_like(rank, Scalar(0.5)) : sub(rank, below);
        result = lerp(result, gather(sorted, -1, to(ceil(rank), DType::Int64)), weight);
    }
    if (q.dim() == 0) return untied(reshape(result, sizes));
    sizes.insert(0, q.size(0));
    return untied(reshape(movedim(result, -1, 0), sizes));
}

Tensor as_quantile(const char* name, double q, DType dtype) {
    KINDLING_CHECK(Runtime, q >= 0 && q <= 1, "%s() q must be in the range [0, 1] but got %g", name, q);
    return scalar_tensor(Scalar(q), dtype);
}

// ---- histograms

struct Range {
    double low, high;
};

Range range_of(const Tensor& x, std::optional<Span<double>> given, size_t at, const char* name) {
    Range r{0, 1};
    if (given) {
        KINDLING_CHECK(Runtime, given->size() >= 2 * at + 2, "%s: range should have %zu elements, but got %zu", name, 2 * at + 2,
                       given->size());
        r = {(*given)[2 * at], (*given)[2 * at + 1]};
    } else if (x.numel()) r = {min(x).item<double>(), max(x).item<double>()};
    KINDLING_CHECK(Runtime, std::isfinite(r.low) && std::isfinite(r.high), "%s: dimension %zu's range [%g, %g] is not finite", name, at,
                   r.low, r.high);
    KINDLING_CHECK(Runtime, r.low <= r.high, "%s: min should not exceed max, but got min %g max %g for dimension %zu", name, r.low, r.high,
                   at);
    if (r.low == r.high) {
        r.low -= 0.5;
        r.high += 0.5;
    }
    return r;
}

std::vector<Tensor> edges_of(const Tensor& self, IntList bins, std::optional<Span<double>> range, const char* name) {
    int64_t dims = self.size(-1);
    KINDLING_CHECK(Runtime, static_cast<int64_t>(bins.size()) == dims,
                   "%s: The size of bins must be equal to the innermost dimension of the input: expected %ld, got %zu", name, dims,
                   bins.size());
    KINDLING_CHECK(Runtime, !range || static_cast<int64_t>(range->size()) == 2 * dims,
                   "%s: for a %ld-dimensional histogram range should have %ld elements, but got %zu", name, dims, 2 * dims,
                   range ? range->size() : 0);
    std::vector<Tensor> edges;
    for (int64_t d = 0; d < dims; d++) {
        KINDLING_CHECK(Runtime, bins[static_cast<size_t>(d)] > 0 && bins[static_cast<size_t>(d)] < INT64_MAX,
                       "%s: bins must be > 0, but got %ld for dimension %ld", name, bins[static_cast<size_t>(d)], d);
        Range r = range_of(select(self, -1, d), range, static_cast<size_t>(d), name);
        edges.push_back(linspace(Scalar(r.low), Scalar(r.high), bins[static_cast<size_t>(d)] + 1, self.dtype()));
    }
    return edges;
}

/// How many rows of self [.., dims] (or how much of their weight) fall in each bin.
Tensor counted(const Tensor& self, TensorList edges, const Tensor& weight, bool density, const char* name) {
    KINDLING_CHECK(NotImplemented, self.dtype() == DType::Float32 || self.dtype() == DType::Float64, "\"%s\" not implemented for '%s'",
                   name, scalar_type_name(self.dtype()));
    int64_t dims = static_cast<int64_t>(edges.size());
    KINDLING_CHECK(Runtime, self.dim() >= 2, "%s: input tensor should have at least 2 dimensions", name);
    KINDLING_CHECK(Runtime, self.size(-1) == dims,
                   "%s: expected bins to be a list of as many sequences as the innermost dimension of the input, got %ld for %ld", name,
                   dims, self.size(-1));
    Sizes flat{checked_numel(IntList(self.sizes().data(), self.sizes().size() - 1)), dims};
    Tensor points = reshape(self, flat), places = zeros({points.size(0)}, DType::Int64), inside = ones({points.size(0)}, DType::Bool);
    Sizes sizes;
    int64_t total = 1;
    for (int64_t d = 0; d < dims; d++) {
        const Tensor& edge = edges[static_cast<size_t>(d)];
        KINDLING_CHECK(Runtime, edge.dim() == 1 && edge.numel() > 0, "%s: all bin edges must be 1-dimensional and not empty, got %s", name,
                       str(edge.sizes()).c_str());
        KINDLING_CHECK(Runtime, edge.dtype() == self.dtype(),
                       "%s: input tensor and bins tensors should have the same dtype, but got input with dtype %s and bins with %s", name,
                       kindling::name(self.dtype()), kindling::name(edge.dtype()));
        int64_t count = edge.size(0) - 1;
        KINDLING_CHECK(Runtime, count > 0, "torch.histogram(): bins must be > 0, but got %ld for dimension %ld", count, d);
        Tensor x = contiguous(select(points, 1, d)), first = select(edge, 0, 0), last = select(edge, 0, -1);
        inside = logical_and(inside, logical_and(ge(x, first), le(x, last)));
        Tensor at = clamp(sub(searchsorted(contiguous(edge), x, false, true), wrap_number(Scalar(1))), Scalar(0),
                          Scalar(std::max<int64_t>(count - 1, 0)));
        places = add(mul(places, wrap_number(Scalar(count))), at);
        sizes.push_back(count);
        total *= count;
    }
    Tensor w = ones({points.size(0)}, self.dtype());
    if (weight.defined()) {
        KINDLING_CHECK(Runtime, weight.dtype() == self.dtype(),
                       "%s: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got input(%s), "
                       "and weight(%s)",
                       name, kindling::name(self.dtype()), kindling::name(weight.dtype()));
        const Sizes given = weight.dim() ? Sizes(weight.sizes()) : Sizes{1}; // a number is a weight of one point
        KINDLING_CHECK(Runtime, IntList(given) == IntList(self.sizes().data(), self.sizes().size() - 1),
                       "%s: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost "
                       "dimension, but got input with shape %s and weight with shape %s",
                       name, str(self.sizes()).c_str(), str(weight.sizes()).c_str());
        w = reshape(weight, {-1});
    }
    if (!dims) return density ? full({}, Scalar(__builtin_nan("")), self.dtype()) : zeros({}, self.dtype());
    if (total == 0) return zeros(sizes, self.dtype());
    w = masked_fill(w, logical_not(inside), Scalar(0));
    Tensor result = reshape(index_add(zeros({total}, self.dtype()), 0, masked_fill(places, logical_not(inside), Scalar(0)), w), sizes);
    if (density) {
        result = div(result, sum(result));
        for (int64_t d = 0; d < dims; d++) {
            Sizes along(static_cast<size_t>(dims), 1);
            along[static_cast<size_t>(d)] = -1;
            result = div(result, reshape(diff(edges[static_cast<size_t>(d)]), along));
        }
    }
    return result;
}

// ---- finite differences

/// The derivative along one dimension; `spacing` is a distance (no dimensions) or the coordinates.
Tensor difference(const Tensor& f, int64_t d, const Tensor& spacing, int64_t edge_order) {
    int64_t n = f.size(d);
    auto at = [&](int64_t i) { return narrow(f, d, i < 0 ? n + i : i, 1); };
    auto run = [&](int64_t start) { return narrow(f, d, start, n - 2); };
    Tensor middle, first, last;
    if (spacing.dim() == 0) {
        middle = div(div(sub(run(2), run(0)), spacing), number(2)); // twice the distance may be too large for a number
        if (edge_order == 1) {
            first = div(sub(at(1), at(0)), spacing);
            last = div(sub(at(-1), at(-2)), spacing);
        } else {
            const Tensor two = wrap_number(Scalar(2));
            first = div(sub(add(mul(at(0), number(-1.5)), mul(at(1), two)), mul(at(2), number(0.5))), spacing);
            last = div(add(sub(mul(at(-3), number(0.5)), mul(at(-2), two)), mul(at(-1), number(1.5))), spacing);
        }
        return cat({first, middle, last}, d);
    }
    Sizes along(static_cast<size_t>(f.dim()), 1);
    along[static_cast<size_t>(d)] = -1;
    Tensor step = reshape(diff(spacing), along);
    auto h = [&](int64_t i) { return narrow(step, d, i < 0 ? n - 1 + i : i, 1); };
    Tensor before = narrow(step, d, 0, n - 2), after = narrow(step, d, 1, n - 2), both = add(before, after);
    middle = add(add(mul(run(0), div(neg(after), mul(before, both))), mul(run(1), div(sub(after, before), mul(before, after)))),
                 mul(run(2), div(before, mul(after, both))));
    if (edge_order == 1) {
        first = div(sub(at(1), at(0)), h(0));
        last = div(sub(at(-1), at(-2)), h(-1));
    } else {
        Tensor a = h(0), b = h(1), c = h(-2), e = h(-1), ab = add(a, b), ce = add(c, e);
        first = add(add(mul(at(0), div(neg(add(mul(a, number(2)), b)), mul(a, ab))), mul(at(1), div(ab, mul(a, b)))),
                    mul(at(2), div(neg(a), mul(b, ab))));
        last = add(add(mul(at(-3), div(e, mul(c, ce))), mul(at(-2), div(neg(ce), mul(c, e)))),
                   mul(at(-1), div(add(mul(e, number(2)), c), mul(e, ce))));
    }
    return cat({first, middle, last}, d);
}

Sizes dims_or_all(std::optional<int64_t> dim, const Tensor& self) {
    Sizes dims;
    if (dim) dims.push_back(*dim);
    else
        for (int64_t d = 0; d < self.dim(); d++) dims.push_back(d);
    return dims;
}

/// `spacing`: one for all dimensions, or one for each.
std::vector<Tensor> differences(const Tensor& self, TensorList spacing, IntList dims, int64_t edge_order) {
    KINDLING_CHECK(Runtime, edge_order == 1 || edge_order == 2, "torch.gradient only supports edge_order=1 and edge_order=2.");
    KINDLING_CHECK(Runtime, self.dtype() != DType::UInt8, "torch.gradient does not support uint8 input.");
    KINDLING_CHECK(Runtime, spacing.size() == 1 || spacing.size() == dims.size(),
                   "torch.gradient expected spacing to be unspecified, a scalar or a list of length %zu, but got a list of length %zu",
                   dims.size(), spacing.size());
    dim_mask(dims, self.dim(), false);
    std::vector<Tensor> result;
    for (size_t i = 0; i < dims.size(); i++) {
        const Tensor& each = spacing[spacing.size() == 1 ? 0 : i];
        int64_t d = wrap_dim(dims[i], self.dim());
        KINDLING_CHECK(Runtime, self.size(d) >= edge_order + 1, "torch.gradient expected each dimension size to be at least edge_order+1");
        KINDLING_CHECK(Runtime, each.dim() == 0 || (each.dim() == 1 && each.numel() == self.size(d)),
                       "torch.gradient expected each spacing tensor to have as many elements as its dimension, got %s for a size of %ld",
                       str(each.sizes()).c_str(), self.size(d));
        result.push_back(difference(self, d, each, edge_order));
    }
    return result;
}

void need_coordinates(TensorList spacing) {
    for (const Tensor& each : spacing)
        KINDLING_CHECK(Runtime, each.dim() == 1,
                       "torch.gradient expected each element of spacing to have one dimension, but got an element with %ld dimensions!",
                       each.dim());
}

std::vector<Tensor> wrapped(Span<Scalar> numbers) {
    std::vector<Tensor> result;
    for (const Scalar& each : numbers) result.push_back(wrap_number(each));
    return result;
}

// ---- segments

Tensor segment(const Tensor& piece, Text reduce, const std::optional<Scalar>& initial, IntList tail) {
    IntList rows = generated::ints<0>();
    if (piece.size(0) == 0) {
        double nothing = reduce == "max"    ? -infinity
                         : reduce == "min"  ? infinity
                         : reduce == "mean" ? std::numeric_limits<double>::quiet_NaN()
                         : reduce == "prod" ? 1
                                            : 0;
        return full(tail, initial ? *initial : Scalar(nothing), piece.dtype(), std::nullopt, piece.device());
    }
    if (reduce == "max") {
        Tensor y = amax(piece, rows);
        return initial ? maximum(y, wrap_number(*initial)) : y;
    }
    if (reduce == "min") {
        Tensor y = amin(piece, rows);
        return initial ? minimum(y, wrap_number(*initial)) : y;
    }
    if (reduce == "prod") {
        Tensor y = prod(piece, 0);
        return initial ? mul(y, wrap_number(*initial)) : y;
    }
    Tensor y = sum(piece, rows);
    if (initial) y = add(y, wrap_number(*initial));
    return reduce == "mean" ? div(y, wrap_number(Scalar(piece.size(0)))) : y;
}

} // namespace
} // namespace kindling

OPERATORS(statistics) {
    declare("quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor")({
        doc("The values below which the fractions q of the elements are"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, Text interpolation) {
            return quantiles("quantile", self, q, dim, keepdim, interpolation, false);
        }),
    });
    declare("quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor")({
        doc("The value below which the fraction q of the elements is"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim, Text interpolation) {
            return quantiles("quantile", self, as_quantile("quantile", q, self.dtype()), dim, keepdim, interpolation, false);
        }),
    });
    declare("nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor")({
        doc("quantile of the elements that are numbers"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, Text interpolation) {
            return quantiles("nanquantile", self, q, dim, keepdim, interpolation, true);
        }),
    });
    declare("nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor")({
        doc("quantile of the elements that are numbers"),
        flags(trait::AutocastFloat),
        composition([](const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim, Text interpolation) {
            return quantiles("nanquantile", self, as_quantile("nanquantile", q, self.dtype()), dim, keepdim, interpolation, true);
        }),
    });
    declare("histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, "
            "Tensor bin_edges)")({
        doc("How many elements fall between neighbouring edges"),
        no_derivative(),
        slice_by_slice(),
        composition([](const Tensor& self, const Tensor& bins, const Tensor& weight, bool density) {
            Tensor w = weight.defined() ? reshape(weight, {-1}) : weight;
            return std::tuple<Tensor, Tensor>(counted(reshape(self, {-1, 1}), {bins}, w, density, "histogram"), clone(bins));
        }),
    });
    declare("histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, "
            "bool density=False) -> (Tensor hist, Tensor bin_edges)")({
        doc("How many elements fall in bins of equal width"),
        raises_by_value(GIVEN(Tensor self, int64_t bins, std::optional<Span<double>> range) {
            edges_of(reshape(self, {-1, 1}), {bins}, range, "histogram");
        }),
        no_derivative(),
        slice_by_slice(),
        composition([](const Tensor& self, int64_t bins, std::optional<Span<double>> range, const Tensor& weight, bool density) {
            Tensor x = reshape(self, {-1, 1}), edges = edges_of(x, {bins}, range, "histogram")[0],
                   w = weight.defined() ? reshape(weight, {-1}) : weight;
            return std::tuple<Tensor, Tensor>(counted(x, {edges}, w, density, "histogram"), edges);
        }),
    });
    declare("histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, "
            "bool density=False) -> (Tensor hist, Tensor[] bin_edges)")({
        doc("How many points, the rows of self, fall in cells of equal width along each dimension"),
        raises_by_value(
            GIVEN(Tensor self, IntList bins, std::optional<Span<double>> range) { edges_of(self, bins, range, "histogramdd"); }),
        no_derivative(),
        no_out(),
        in(space::Torch | space::Method),
        slice_by_slice(),
        composition([](const Tensor& self, IntList bins, std::optional<Span<double>> range, const Tensor& weight, bool density) {
            std::vector<Tensor> edges = edges_of(self, bins, range, "histogramdd");
            Tensor result = counted(self, edges, weight, density, "histogramdd");
            return std::tuple<Tensor, std::vector<Tensor>>(result, std::move(edges));
        }),
    });
    declare("histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, "
            "bool density=False) -> (Tensor hist, Tensor[] bin_edges)")({
        doc("histogramdd with as many cells along each dimension"),
        raises_by_value(GIVEN(Tensor self, int64_t bins, std::optional<Span<double>> range) {
            edges_of(self, Sizes(static_cast<size_t>(self.size(-1)), bins), range, "histogramdd");
        }),
        no_derivative(),
        no_out(),
        in(space::Torch | space::Method),
        slice_by_slice(),
        composition([](const Tensor& self, int64_t bins, std::optional<Span<double>> range, const Tensor& weight, bool density) {
            std::vector<Tensor> edges = edges_of(self, Sizes(static_cast<size_t>(self.size(-1)), bins), range, "histogramdd");
            Tensor result = counted(self, edges, weight, density, "histogramdd");
            return std::tuple<Tensor, std::vector<Tensor>>(result, std::move(edges));
        }),
    });
    declare("histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, "
            "bool density=False) -> (Tensor hist, Tensor[] bin_edges)")({
        doc("histogramdd with the cells' edges given"),
        no_derivative(),
        no_out(),
        in(space::Torch | space::Method),
        slice_by_slice(),
        composition([](const Tensor& self, TensorList bins, std::optional<Span<double>>, const Tensor& weight, bool density) {
            Tensor result = counted(self, bins, weight, density, "histogramdd");
            return std::tuple<Tensor, std::vector<Tensor>>(result, bins.vec());
        }),
    });
    declare("gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]")({
        doc("Derivatives by central differences, one-sided at the edges"),
        in(space::Torch),
        composition([](const Tensor& self, std::optional<Scalar> spacing, std::optional<int64_t> dim, int64_t edge_order) {
            return differences(self, {wrap_number(spacing.value_or(Scalar(1)))}, dims_or_all(dim, self), edge_order);
        }),
    });
    declare("gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]")({
        doc("Derivatives along some dimensions with one distance"),
        in(space::Torch),
        composition([](const Tensor& self, const Scalar& spacing, IntList dim, int64_t edge_order) {
            return differences(self, {wrap_number(spacing)}, dim, edge_order);
        }),
    });
    declare("gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]")({
        doc("Derivatives along some dimensions"),
        in(space::Torch),
        composition([](const Tensor& self, IntList dim, int64_t edge_order) { return differences(self, {number(1)}, dim, edge_order); }),
    });
    declare("gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]")({
        doc("Derivatives with a distance for each dimension"),
        in(space::Torch),
        composition([](const Tensor& self, Span<Scalar> spacing, std::optional<int64_t> dim, int64_t edge_order) {
            Sizes dims = dims_or_all(dim, self);
            KINDLING_CHECK(Runtime, dims.size() == spacing.size(),
                           "torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to 'self.dim() = %ld', "
                           "since dim argument was not given, but got a list of length %zu",
                           self.dim(), spacing.size());
            return differences(self, wrapped(spacing), dims, edge_order);
        }),
    });
    declare("gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]")({
        doc("Derivatives along some dimensions with a distance for each"),
        in(space::Torch),
        composition([](const Tensor& self, Span<Scalar> spacing, IntList dim, int64_t edge_order) {
            KINDLING_CHECK(Runtime, dim.size() == spacing.size(),
                           "torch.gradient spacing and dim must have the same length, got %zu and %zu", spacing.size(), dim.size());
            return differences(self, wrapped(spacing), dim, edge_order);
        }),
    });
    declare("gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]")({
        doc("Derivatives with coordinates for each dimension"),
        in(space::Torch),
        composition([](const Tensor& self, TensorList spacing, std::optional<int64_t> dim, int64_t edge_order) {
            Sizes dims = dims_or_all(dim, self);
            KINDLING_CHECK(Runtime, dims.size() == spacing.size(),
                           "torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to 'self.dim() = %ld', "
                           "since dim argument was not given, but got a list of length %zu",
                           self.dim(), spacing.size());
            need_coordinates(spacing);
            return differences(self, spacing, dims, edge_order);
        }),
    });
    declare("gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]")({
        doc("Derivatives along some dimensions with coordinates for each"),
        in(space::Torch),
        composition([](const Tensor& self, TensorList spacing, IntList dim, int64_t edge_order) {
            KINDLING_CHECK(Runtime, dim.size() == spacing.size(),
                           "torch.gradient spacing and dim must have the same length, got %zu and %zu", spacing.size(), dim.size());
            need_coordinates(spacing);
            return differences(self, spacing, dim, edge_order);
        }),
    });
    declare("segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, "
            "int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor")({
        doc("max, mean, min, sum or prod of neighbouring segments along a dimension"),
        in(space::Torch),
        alias("_segment_reduce"),
        no_out(),
        composition([](const Tensor& data, Text reduce, const Tensor& lengths, const Tensor& indices, const Tensor& offsets, int64_t axis,
                       bool unsafe, std::optional<Scalar> initial) {
            KINDLING_CHECK(Runtime, data.numel() >= 0 && data.dim() > 0, "segment_reduce(): Expected data of at least one dimension.");
            KINDLING_CHECK(Runtime, !indices.defined(), "segment_reduce(): indices based reduction is not supported yet.");
            KINDLING_CHECK(Runtime, lengths.defined() || offsets.defined(), "segment_reduce(): Either lengths or offsets must be defined.");
            KINDLING_CHECK(Runtime, reduce == "max" || reduce == "mean" || reduce == "min" || reduce == "sum" || reduce == "prod",
                           "unsupported reduction given! %s", std::string(reduce).c_str());
            int64_t d = wrap_dim(axis, data.dim());
            const bool placed = offsets.defined(); // then lengths say nothing
            const Tensor& given = placed ? offsets : lengths;
            KINDLING_CHECK(NotImplemented, is_floating(data.dtype()), "\"_segment_reduce_cpu\" not implemented for '%s'",
                           scalar_type_name(data.dtype()));
            KINDLING_CHECK(NotImplemented, given.dtype() == DType::Int64 || given.dtype() == DType::Int32,
                           "\"_segment_reduce_%s_cpu_kernel1\" not implemented for '%s'", placed ? "offsets" : "lengths",
                           scalar_type_name(given.dtype()));
            KINDLING_CHECK(Runtime, given.dim() == d + 1,
                           "segment_reduce(): Expected axis to be the last dimension of lengths or offsets but got %ld.", d);
            int64_t segments = given.size(-1) - placed, outer = 1;
            KINDLING_CHECK(Runtime, segments >= 0,
                           "segment_reduce(): Expected offsets to have one more entry than there are segments, but they have none.");
            Sizes flat{-1, data.size(d)}, tail, result;
            for (int64_t i = 0; i < d; i++) {
                outer *= data.size(i);
                result.push_back(data.size(i));
            }
            result.push_back(segments);
            for (int64_t i = d + 1; i < data.dim(); i++) {
                flat.push_back(data.size(i));
                tail.push_back(data.size(i));
                result.push_back(data.size(i));
            }
            flat[0] = outer;
            if (data.is_meta() || given.is_meta()) return empty(result, data.dtype());
            Tensor rows = reshape(data, flat), each = contiguous(to(reshape(given, {outer, segments + placed}), DType::Int64));
            const int64_t* entry = each.data_ptr<int64_t>();
            std::vector<Tensor> pieces;
            for (int64_t row = 0; row < outer; row++) {
                int64_t at = 0;
                Tensor one = select(rows, 0, row);
                for (int64_t s = 0; s < segments; s++, entry++) {
                    if (placed) at = entry[0];
                    const int64_t end = placed ? entry[1] : *entry > data.size(d) - at ? INT64_MAX : at + *entry;
                    KINDLING_CHECK(Runtime, end >= at, "lengths contains negative value!");
                    KINDLING_CHECK(Runtime, at >= 0 && end <= data.size(d),
                                   "segment_reduce(): the lengths add up to more than the size %ld of dimension %ld", data.size(d), d);
                    pieces.push_back(segment(narrow(one, 0, at, end - at), reduce, initial, tail));
                    at = end;
                }
                entry += placed;
                KINDLING_CHECK(
                    Runtime, unsafe || placed || at == data.size(d),
                    "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.");
            }
            if (pieces.empty()) return full(result, Scalar(0), data.dtype());
            return _unsafe_view(stack(pieces, 0), result);
        }),
    });
    declare("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")({
        doc("softmax that gives zeros for rows of nothing but -inf"),
        in(space::Torch),
        composition([](const Tensor& self, int64_t dim, DType dtype) {
            Tensor dead = all(eq(self, Scalar(-infinity)), dim, true);
            Tensor result = masked_fill(softmax(masked_fill(self, dead, Scalar(0)), dim, dtype), dead, Scalar(0));
            KINDLING_CHECK(Runtime, !self.is_complex(), "isneginf does not support complex inputs.");
            return result;
        }),
    });
    declare("conj_physical(Tensor self) -> Tensor")({
        doc("The complex conjugate, computed at once; real numbers are handed back as they are"),
        out_same(),
        has_inplace(),
        composition([](const Tensor& self) { return self.is_complex() ? _conj_physical(self) : self; }),
    });
    declare("_conj_physical(Tensor self) -> Tensor")({
        doc("The complex conjugate, computed at once"),
        out_same(),
        pointwise([](auto x) { return is_complex(x.dtype()) ? conj(x) : Sym(x); }),
    });
    declare("_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor")({
        doc("self at the indices where mask is true, fill elsewhere"),
        in(space::Torch),
        composition([](const Tensor& self, const Tensor& mask, TensorList indices, const Scalar& fill) {
            check_indices(indices);
            std::vector<Tensor> safe = indices.vec();
            Sizes sizes = self.sizes();
            for (size_t i = 0; i < safe.size(); i++)
                if (safe[i].defined()) {
                    int64_t& size = sizes[static_cast<size_t>(wrap_dim(static_cast<int64_t>(i), self.dim()))];
                    if (!self.numel()) size = std::max<int64_t>(size, 1);
                    safe[i] = clamp(safe[i], Scalar(-size), Scalar(size - 1));
                }
            if (!self.numel())
                return full_like(kindling::index(zeros(sizes, self.dtype(), std::nullopt, self.device()), safe), fill); // nothing is read
            return masked_fill(kindling::index(self, safe), logical_not(mask), fill);
        }),
    });
    declare("_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor")({
        doc("The values added at the indices where mask is true"),
        in(space::Torch),
        composition([](const Tensor& self, const Tensor& mask, TensorList indices, const Tensor& values) {
            if (!self.numel()) return clone(self);
            check_indices(indices);
            std::vector<Tensor> safe = indices.vec();
            for (size_t i = 0; i < safe.size(); i++)
                if (safe[i].defined())
                    safe[i] = clamp(safe[i], Scalar(-self.size(static_cast<int64_t>(i))), Scalar(self.size(static_cast<int64_t>(i)) - 1));
            return index_put(self, safe, masked_fill(values, logical_not(mask), Scalar(0)), true);
        }),
    });
    declare("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor")({
        doc("grad_output where the mask kept it, scaled"),
        in(space::Hidden),
        has_out(),
        composition([](const Tensor& grad_output, const Tensor& mask, double scale) { return mul(mul(grad_output, mask), number(scale)); }),
    });
    declare("_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
            "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)")({
        doc("native_batch_norm that says what it writes"),
        has_out(),
        targets("out, save_mean, save_invstd"),
        in(space::Torch),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean, const Tensor& running_var,
                       bool training, double momentum,
                       double eps) { return native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps); }),
    });
    declare("_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, "
            "float eps) -> (Tensor, Tensor, Tensor)")({
        doc("native_batch_norm without running statistics"),
        has_out(),
        targets("out, save_mean, save_invstd"),
        in(space::Torch),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, bool training, double momentum, double eps) {
            return native_batch_norm(input, weight, bias, {}, {}, training, momentum, eps);
        }),
    });
    declare("_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
            "Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)")({
        doc("Batch normalisation in training, with the running statistics written"),
        in(space::Torch),
        composition([](const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean, const Tensor& running_var,
                       double momentum, double eps) {
            auto [result, average, deviation] = native_batch_norm(input, weight, bias, running_mean, running_var, true, momentum, eps);
            return std::tuple<Tensor, Tensor, Tensor, Tensor>(result, average, deviation, empty({0}, DType::UInt8));
        }),
    });
}
