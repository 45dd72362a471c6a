// operators/reductions/sorting.cpp: order: sort, top elements, medians, distinct values, places in sorted sequences.
#include "kernels/library/indexing/sorting.h"

#include <algorithm>
#include <cstring>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/indexing/indexing.h"
#include "operators/batching.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/loops.h"
#include "operators/reduce.h"

namespace kindling {
namespace {

Tensor no_slope(const Tensor& grad, const char* name) {
    fail(ErrorKind::NotImplemented, "the derivative for '%s' is not implemented.", name);
    return grad;
}

/// The median of no numbers: NaN, and for integers what the processor makes of it.
Tensor of_nothing(DType dtype) {
    if (dtype == DType::Int32) return full({}, Scalar(int64_t{INT32_MIN}), dtype);
    if (dtype == DType::Int64) return full({}, Scalar(INT64_MIN), dtype);
    if (dtype == DType::UInt64) return full({}, Scalar(uint64_t{1} << 63), dtype);
    return full({}, is_differentiable(dtype) ? Scalar(__builtin_nan("")) : Scalar(0), dtype);
}

/// A contiguous tensor seen as [outer, n, inner] around `dim`.
library::Rows rows_of(const Tensor& self, int64_t dim) {
    library::Rows rows{self.dtype(), 1, 1, 1};
    for (int64_t d = 0; d < self.dim(); d++) (d < dim ? rows.outer : d == dim ? rows.n : rows.inner) *= self.size(d);
    return rows;
}

void need_order(const Tensor& self, const char* name, bool bools = true) {
    KINDLING_CHECK(NotImplemented, !self.is_complex() && (bools || self.dtype() != DType::Bool), "\"%s_cpu\" not implemented for '%s'",
                   name, scalar_type_name(self.dtype()));
}

Sizes folded(const Tensor& self, int64_t dim, bool keepdim, int64_t left = 1) {
    Sizes sizes = self.sizes();
    if (!self.dim()) return sizes;
    if (keepdim || left != 1) sizes[static_cast<size_t>(dim)] = left;
    else sizes.erase(static_cast<size_t>(dim));
    return sizes;
}

/// What is chosen along a dimension: values and where they were.
struct Choice {
    library::Rows rows;
    int64_t k = 0;
    bool first = false, second = false; // largest, sorted; descending; without NaN
};

Choice chosen(KernelCall& call, const Tensor& self, int64_t dim, IntList sizes, int64_t k = 0, bool first = false, bool second = false) {
    call.reads(self);
    call.gives(sizes, self.dtype());
    call.gives(sizes, DType::Int64);
    return {rows_of(self, dim), k, first, second};
}

/// Results lie as the input does.
Choice sorted(KernelCall& call, const Tensor& self, int64_t dim, bool descending) {
    KINDLING_CHECK(Runtime, !self.is_complex(), "sort(): complex dtypes are not supported");
    Choice choice = chosen(call, self, wrap_dim(dim, self.dim()), self.sizes(), 0, descending);
    for (int i = 0; i < 2; i++) call.result(i).preserves(self);
    return choice;
}
constexpr auto sort_rows = [](const Choice& c, const Array& self, const Array& values, const Array& indices) {
    library::sort(c.rows, self.data(), values.data(), indices.data_ptr<int64_t>(), c.first);
};
Choice sorted_places(KernelCall& call, const Tensor& self, int64_t dim, bool descending) {
    KINDLING_CHECK(Runtime, !self.is_complex(), "sort(): complex dtypes are not supported");
    call.reads(self);
    call.gives(self.sizes(), DType::Int64).preserves(self);
    return {rows_of(self, wrap_dim(dim, self.dim())), 0, descending};
}
constexpr auto argsort_rows = [](const Choice& c, const Array& self, const Array& indices) {
    library::sort(c.rows, self.data(), nullptr, indices.data_ptr<int64_t>(), c.first);
};

/// The median of all elements. Of none it is `of_nothing`.
Choice median_of_all(KernelCall& call, const Tensor& self, const char* name, bool without_nan) {
    need_order(self, name, false);
    call.reads(self);
    call.gives({}, self.dtype());
    if (!self.numel()) call.declines();
    return {{self.dtype(), 1, self.numel(), 1}, 0, without_nan};
}
constexpr auto median_alone = [](const Choice& c, const Array& self, const Array& value) {
    int64_t index;
    library::median(c.rows, self.data(), c.first, value.data(), &index);
};
Choice median_along(KernelCall& call, const Tensor& self, const char* name, int64_t dim, bool keepdim, bool without_nan) {
    need_order(self, name, false);
    int64_t d = wrap_dim(dim, self.dim());
    KINDLING_CHECK(Index, !self.dim() || self.size(d) > 0, "median(): Expected reduction dim %ld to have non-zero size.", d);
    return chosen(call, self, d, folded(self, d, keepdim), 0, without_nan);
}
constexpr auto median_rows = [](const Choice& c, const Array& self, const Array& values, const Array& indices) {
    library::median(c.rows, self.data(), c.first, values.data(), indices.data_ptr<int64_t>());
};

Tensor back_to_places(const Tensor& grad, IntList sizes, int64_t dim, const Tensor& indices, bool keepdim) {
    return value_selecting_reduction_backward(grad, dim, indices, sizes, keepdim);
}

/// What unique and its kin look for, and what they find: in room for as many as there are elements, or slices along `dim`.
struct Distinct {
    bool consecutive, wants_inverse, wants_counts;
    int64_t dim = -1; // of slices
    int64_t kinds = 0;
    Tensor found{}, inverse{}, counts{}; // values, or where slices are that are the first of their kind
};
Distinct distinct(KernelCall& call, const Tensor& self, bool consecutive, bool wants_inverse, bool wants_counts) {
    need_order(self, "unique");
    call.reads(self);
    return {consecutive, wants_inverse, wants_counts};
}
Distinct distinct_slices(KernelCall& call, const Tensor& self, int64_t dim, bool consecutive) {
    need_order(self, "unique_dim");
    const int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
    int64_t empty_dims = 0;
    for (int64_t size : self.sizes()) empty_dims += size == 0;
    KINDLING_CHECK(Runtime, n || empty_dims == 1, "Number of zero sized dimensions is more than one, so unique cannot be applied");
    KINDLING_CHECK(Runtime, !n || !empty_dims, "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied");
    call.reads(movedim(self, d, 0));
    return {consecutive, true, true, d};
}
constexpr auto find_distinct = [](Distinct& d, KernelCall& call, const Array& x) {
    const bool slices = d.dim >= 0;
    const int64_t n = slices ? x.size(0) : x.numel();
    d.found = make_tensor({n}, slices ? DType::Int64 : x.dtype());
    d.inverse = make_tensor({n}, DType::Int64), d.counts = make_tensor({n}, DType::Int64);
    auto *inverse = d.inverse.data_ptr<int64_t>(), *counts = d.counts.data_ptr<int64_t>();
    if (!n) d.kinds = 0;
    else if (slices)
        d.kinds = library::unique_rows(x.dtype(), n, x.numel() / n, x.data(), d.consecutive, d.found.data_ptr<int64_t>(), inverse, counts);
    else {
        const auto find = d.consecutive ? library::unique_consecutive : library::unique_sorted;
        d.kinds = find(x.dtype(), n, x.data(), d.found.data(), inverse, counts);
    }
    if (slices) { // as movedim shows them
        Sizes sizes = x.sizes(), strides;
        sizes[0] = d.kinds;
        strides = contiguous_strides(sizes);
        for (int64_t k = 0; k < d.dim; k++) {
            std::swap(sizes[static_cast<size_t>(k)], sizes[static_cast<size_t>(k + 1)]);
            std::swap(strides[static_cast<size_t>(k)], strides[static_cast<size_t>(k + 1)]);
        }
        call.gives(sizes, x.dtype()).laid_out(strides).exact = true;
        call.gives({n}, DType::Int64);
    } else {
        call.gives({d.kinds}, x.dtype());
        call.gives(d.wants_inverse ? x.sizes() : IntList(generated::ints<0>()), DType::Int64);
    }
    call.gives({d.wants_counts ? d.kinds : 0}, DType::Int64);
};
constexpr auto give_distinct = [](const Distinct& d, const Array& x, const Array& values, const Array& inverse, const Array& counts) {
    auto copy = [](const Array& to, const Tensor& from) {
        if (to.numel()) std::memcpy(to.data(), from.data(), static_cast<size_t>(to.numel()) * to.element_size());
    };
    copy(inverse, d.inverse), copy(counts, d.counts);
    if (d.dim < 0) return copy(values, d.found);
    const size_t row = static_cast<size_t>(x.numel()) * x.element_size() / static_cast<size_t>(x.size(0));
    for (int64_t i = 0; i < d.kinds; i++)
        std::memcpy(values.data_ptr<char>() + static_cast<size_t>(i) * row,
                    x.data_ptr<char>() + static_cast<size_t>(d.found.data_ptr<int64_t>()[i]) * row, row);
};

/// How many bins elements fall in, and what is added up there.
struct Bins {
    int64_t least;
    bool weighted;
};

void check_isin(DType dtype) {
    KINDLING_CHECK(Runtime, dtype != DType::Bool && !is_complex(dtype), "Unsupported input type encountered for isin(): %s",
                   scalar_type_name(dtype));
}

struct Search {
    bool shared, right;
};

Search places(KernelCall& call, const Tensor& boundaries, const Tensor& values, bool out_int32, bool right, std::optional<Text> side,
              const Tensor& sorter) {
    if (side) {
        KINDLING_CHECK(Runtime, *side == "left" || *side == "right", "torch.searchsorted(): side can only be 'left' or 'right' but got %s",
                       std::string(*side).c_str());
        KINDLING_CHECK(Runtime, !(right && *side == "left"),
                       "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True");
        right = *side == "right";
    }
    KINDLING_CHECK(Runtime, boundaries.dim() == 1 || (boundaries.dim() && values.dim() == boundaries.dim()),
                   "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
                   "input value tensor must match, but we got boundaries tensor %s and input value tensor %s",
                   str(boundaries.sizes()).c_str(), str(values.sizes()).c_str());
    const DType common = result_type(boundaries, values);
    KINDLING_CHECK(NotImplemented, common != DType::Bool && !is_complex(common), "\"searchsorted_out_cpu\" not implemented for '%s'",
                   scalar_type_name(common));
    bool shared = boundaries.dim() == 1;
    if (!shared)
        for (int64_t d = 0; d + 1 < boundaries.dim(); d++)
            KINDLING_CHECK(Runtime, boundaries.size(d) == values.size(d),
                           "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
                           "and input value tensor must match, but we got boundaries tensor %s and input value tensor %s",
                           str(boundaries.sizes()).c_str(), str(values.sizes()).c_str());
    if (sorter.defined()) {
        KINDLING_CHECK(
            Runtime, sorter.sizes() == boundaries.sizes(),
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor %s and got sorter tensor %s",
            str(boundaries.sizes()).c_str(), str(sorter.sizes()).c_str());
        KINDLING_CHECK(Runtime, sorter.dtype() == DType::Int64,
                       "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype %s", scalar_type_name(sorter.dtype()));
    }
    call.reads(boundaries, common);
    call.reads(values, common);
    call.reads(sorter);
    call.gives(values.sizes(), out_int32 ? DType::Int32 : DType::Int64).computed_in(DType::Int64);
    call.costs(values.numel() * 16);
    return {shared, right};
}
/// Where histc's bins begin and end.
struct Binned {
    double low, high;
    bool alone; // around one number, which has the middle to itself
};
Binned binned(const Tensor& self, const Scalar& from, const Scalar& to) {
    double low = from.to_double(), high = to.to_double();
    if (low == high && self.numel()) {
        low = kindling::min(self).item<double>();
        high = kindling::max(self).item<double>();
    }
    // Around one number, by 1 each way. Where that is lost in rounding, it is alone.
    const double integers = self.dtype() == DType::Float32 ? 0x1p24 : self.dtype() == DType::Float64 ? 0x1p53 : __builtin_inf();
    const bool alone = low == high && std::fabs(low) > integers && std::fabs(low) < __builtin_inf();
    if (low == high && !alone) {
        low -= 1;
        high += 1;
    }
    KINDLING_CHECK(Runtime, high - low < __builtin_inf() && low - high < __builtin_inf(), "range of [%g, %g] is not finite", low, high);
    KINDLING_CHECK(Runtime, low < high || alone, "max must be larger than min");
    return {low, high, alone};
}
void check_sorter(const int64_t* order, int64_t count, int64_t width) {
    for (int64_t i = 0; i < count; i++)
        KINDLING_CHECK(Runtime, order[i] >= 0 && order[i] < width, "torch.searchsorted(): sorter index out of range");
}
void check_sorter(const Tensor& sorter) {
    if (!sorter.defined() || !sorter.dim()) return;
    const Tensor order = contiguous(sorter);
    check_sorter(order.data_ptr<int64_t>(), order.numel(), order.size(-1));
}
int64_t largest_counted(const int64_t* numbers, int64_t count) {
    const int64_t high = library::largest_index(numbers, count);
    KINDLING_CHECK(Runtime, high >= 0 || !count, "bincount only supports 1-d non-negative integral inputs.");
    KINDLING_CHECK(Runtime, high < INT64_MAX, "bincount: an element of %ld is too large", high);
    return high;
}
constexpr auto search = [](const Search& how, const Array& boundaries, const Array& values, const Array& sorter, const Array& result) {
    const int64_t* order = sorter.data_ptr<int64_t>();
    if (order) check_sorter(order, sorter.numel(), sorter.size(-1));
    int64_t width = boundaries.size(-1), rows = how.shared ? 1 : boundaries.numel() / std::max<int64_t>(width, 1),
            each = how.shared ? values.numel() : values.size(-1);
    if (!how.shared && width == 0) rows = values.numel() / each;
    library::search_sorted(boundaries.dtype(), rows, width, how.shared, boundaries.data(), order, each, values.data(), how.right,
                           result.data_ptr<int64_t>());
};

} // namespace
} // namespace kindling

OPERATORS(sorting) {
    declare("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)")({
        doc("The elements in order along a dimension, and where they were"),
        kernel([](KernelCall& call, const Tensor& self, int64_t dim, bool descending) { return sorted(call, self, dim, descending); },
               sort_rows),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t dim,
                          Tensor result1) { return back_to_places(grad, self_sizes, dim, result1, true); }),
    });
    declare("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)")({
        doc("sort, equals in the order they came"),
        node(1),
        kernel([](KernelCall& call, const Tensor& self, std::optional<bool>, int64_t dim,
                  bool descending) { return sorted(call, self, dim, descending); },
               sort_rows),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t dim,
                          Tensor result1) { return back_to_places(grad, self_sizes, dim, result1, true); }),
    });
    declare("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor")({
        doc("The places that sort a dimension"),
        not_differentiable(),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t dim, bool descending) { return sorted_places(call, self, dim, descending); },
            argsort_rows),
    });
    declare("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor")({
        doc("The places that sort a dimension, equals in the order they came"),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& self, bool, int64_t dim,
                  bool descending) { return sorted_places(call, self, dim, descending); },
               argsort_rows),
    });
    declare("msort(Tensor self) -> Tensor")({
        doc("sort along the first dimension"),
        composition([](const Tensor& self) { return std::get<0>(sort(self, 0, false)); }),
    });
    declare("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)")({
        doc("The k largest (or smallest) along a dimension, and where they are"),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
                KINDLING_CHECK(Runtime, self.dtype() != DType::Bool, "topk does not support bool dtypes on CPU");
                KINDLING_CHECK(Runtime, !self.is_complex(), "topk(): does not support complex dtypes on CPU");
                int64_t d = wrap_dim(dim, self.dim()), size = self.dim() ? self.size(d) : 1;
                KINDLING_CHECK(Runtime, k >= 0 && k <= size, "selected index k out of range");
                if (!self.dim()) k = 1; // as torch: a number has one, however few are asked for
                return chosen(call, self, d, folded(self, d, true, k), k, largest, sorted);
            },
            [](const Choice& c, const Array& self, const Array& values, const Array& indices) {
                library::topk(c.rows, self.data(), c.k, c.first, c.second, values.data(), indices.data_ptr<int64_t>());
            }),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t dim,
                          Tensor result1) { return back_to_places(grad, self_sizes, dim, result1, true); }),
        refuses("torch.ones(3).topk(4)", "RuntimeError: selected index k out of range"),
    });
    declare("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")({
        doc("The k-th smallest along a dimension, and where it is"),
        flags(trait::OutApart),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
                int64_t d = wrap_dim(dim, self.dim()), size = self.dim() ? self.size(d) : 1;
                KINDLING_CHECK(Index, size > 0, "kthvalue(): Expected reduction dim %ld to have non-zero size.", d);
                KINDLING_CHECK(Runtime, k >= 1 && k <= size, "kthvalue(): selected number k out of range for dimension %ld", d);
                need_order(self, "kthvalue", false);
                return chosen(call, self, d, folded(self, d, keepdim), k);
            },
            [](const Choice& c, const Array& self, const Array& values, const Array& indices) {
                library::kthvalue(c.rows, self.data(), c.k, values.data(), indices.data_ptr<int64_t>());
            }),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t dim, Tensor result1,
                          bool keepdim) { return back_to_places(grad, self_sizes, dim, result1, keepdim); }),
    });
    declare("median(Tensor self) -> Tensor")({
        doc("The lower median of all elements"),
        no_out(),
        kernel([](KernelCall& call, const Tensor& self) { return median_of_all(call, self, "median", false); }, median_alone),
        otherwise([](const Tensor& self) { return of_nothing(self.dtype()); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Tensor result) { return to_equals(grad, self, result); }),
    });
    declare("median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")({
        doc("The lower median along a dimension, and where it is"),
        node(1),
        kernel([](KernelCall& call, const Tensor& self, int64_t dim,
                  bool keepdim) { return median_along(call, self, "median", dim, keepdim, false); },
               median_rows),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t dim, Tensor result1,
                          bool keepdim) { return back_to_places(grad, self_sizes, dim, result1, keepdim); }),
    });
    declare("nanmedian(Tensor self) -> Tensor")({
        doc("The lower median of what is not NaN"),
        no_out(),
        kernel([](KernelCall& call, const Tensor& self) { return median_of_all(call, self, "nanmedian", true); }, median_alone),
        otherwise([](const Tensor& self) { return of_nothing(self.dtype()); }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self, Tensor result) { return to_equals(grad, self, result); }),
    });
    declare("nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")({
        doc("The lower median of what is not NaN along a dimension"),
        node(1),
        kernel([](KernelCall& call, const Tensor& self, int64_t dim,
                  bool keepdim) { return median_along(call, self, "nanmedian", dim, keepdim, true); },
               median_rows),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t dim, Tensor result1,
                          bool keepdim) { return back_to_places(grad, self_sizes, dim, result1, keepdim); }),
    });
    declare("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")({
        doc("The most frequent value along a dimension, and where it is"),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t dim, bool keepdim) {
                need_order(self, "mode");
                int64_t d = wrap_dim(dim, self.dim());
                KINDLING_CHECK(Index, !self.dim() || self.size(d) > 0, "mode(): Expected reduction dim %ld to have non-zero size.", d);
                return chosen(call, self, d, folded(self, d, keepdim));
            },
            [](const Choice& c, const Array& self, const Array& values, const Array& indices) {
                library::mode(c.rows, self.data(), values.data(), indices.data_ptr<int64_t>());
            }),
        derivative(
            "self", GIVEN(Tensor grad, IntList self_sizes, int64_t dim, Tensor result1,
                          bool keepdim) { return back_to_places(grad, self_sizes, dim, result1, keepdim); }),
    });
    declare("_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)")({
        doc("The distinct elements, and with return_inverse where each element is among them"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& self, bool sorted, bool return_inverse) {
            auto [found, inverse, counts] = _unique2(self, sorted, return_inverse, false);
            return std::tuple<Tensor, Tensor>(found, inverse);
        }),
    });
    declare("_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)")({
        doc("The distinct values in order; where each element's value is; how often each occurs"),
        in(space::Torch),
        shape_by_value(),
        derivative(
            "self", GIVEN(Tensor grad) { return no_slope(grad, "_unique2"); }),
        batches([](const Tensor&, bool, bool, bool) -> std::tuple<Tensor, Tensor, Tensor> { fail_dynamic("_unique2"); }),
        kernel([](KernelCall& call, const Tensor& self, bool, bool return_inverse,
                  bool return_counts) { return distinct(call, self, false, return_inverse, return_counts); },
               find_distinct, give_distinct),
    });
    declare("unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
            "bool return_counts=False) -> (Tensor, Tensor, Tensor)")({
        doc("The distinct slices along a dimension, in order"),
        in(space::Torch),
        shape_by_value(),
        no_out(),
        derivative(
            "self", GIVEN(Tensor grad) { return no_slope(grad, "unique_dim"); }),
        batches([](const Tensor&, int64_t, bool, bool, bool) -> std::tuple<Tensor, Tensor, Tensor> { fail_dynamic("unique_dim"); }),
        kernel([](KernelCall& call, const Tensor& self, int64_t dim, bool, bool, bool) { return distinct_slices(call, self, dim, false); },
               find_distinct, give_distinct),
    });
    declare("unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, "
            "int? dim=None) -> (Tensor, Tensor, Tensor)")({
        doc("Runs of equal neighbours as one"),
        in(space::Torch),
        shape_by_value(),
        no_out(),
        derivative(
            "self", GIVEN(Tensor grad) { return no_slope(grad, "unique_consecutive"); }),
        batches([](const Tensor&, bool, bool, std::optional<int64_t>) -> std::tuple<Tensor, Tensor, Tensor> {
            fail_dynamic("unique_consecutive");
        }),
        kernel(
            [](KernelCall& call, const Tensor& self, bool return_inverse, bool return_counts, std::optional<int64_t> dim) {
                if (dim && !(*dim == 0 && self.dim() == 1)) return distinct_slices(call, self, *dim, true); // all three, as PyTorch's
                return distinct(call, self, true, return_inverse, return_counts);
            },
            find_distinct, give_distinct),
    });
    declare("searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, "
            "str? side=None, Tensor? sorter=None) -> Tensor")({
        doc("Where values would go to keep a sequence sorted"),
        raises_by_value(GIVEN(Tensor sorter) { check_sorter(sorter); }),
        in(space::Torch),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right, std::optional<Text> side,
                  const Tensor& sorter) { return places(call, sorted_sequence, self, out_int32, right, side, sorter); },
               search),
        refuses("torch.searchsorted(torch.arange(3), torch.arange(3), sorter=torch.tensor([0, 1, 7]))",
                "RuntimeError: .*sorter index out of range"),
    });
    declare("searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, "
            "str? side=None, Tensor? sorter=None) -> Tensor")({
        doc("Where a number would go to keep a sequence sorted"),
        raises_by_value(GIVEN(Tensor sorter) { check_sorter(sorter); }),
        in(space::Torch),
        not_differentiable(),
        kernel([](KernelCall& call, const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right, std::optional<Text> side,
                  const Tensor& sorter) { return places(call, sorted_sequence, wrap_number(self), out_int32, right, side, sorter); },
               search),
    });
    declare("bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor")({
        doc("The bucket of each value between ascending boundaries"),
        in(space::Torch),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
                KINDLING_CHECK(Runtime, boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(%ld)", boundaries.dim());
                return places(call, boundaries, self, out_int32, right, std::nullopt, Tensor());
            },
            search),
    });
    declare("bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor")({
        doc("The bucket of a number between ascending boundaries"),
        in(space::Torch),
        not_differentiable(),
        no_out(),
        kernel(
            [](KernelCall& call, const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
                KINDLING_CHECK(Runtime, boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(%ld)", boundaries.dim());
                return places(call, boundaries, wrap_number(self), out_int32, right, std::nullopt, Tensor());
            },
            search),
    });
    declare("isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor")({
        doc("Whether each element occurs among the test elements"),
        in(space::Torch),
        not_differentiable(),
        composition([](const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
            check_isin(elements.dtype());
            check_isin(test_elements.dtype());
            if (elements.numel() == 0) return zeros(elements.sizes(), DType::Bool);
            const double few = 10 * std::pow(static_cast<double>(elements.numel()), 0.145); // torch's bound, too
            if (static_cast<double>(test_elements.numel()) >= few) {
                // Sorted: many times many comparisons would be too many. A number is a vector here, as in torch.
                const DType type = promote(elements.dtype(), test_elements.dtype());
                const Tensor sorted = std::get<0>(sort(to(reshape(test_elements, {-1}), type))), values = to(elements, type);
                // NaN come last, where the search has to see something larger.
                const Tensor keys = is_floating(type) ? masked_fill(sorted, isnan(sorted), Scalar(__builtin_inf())) : sorted;
                const Tensor place = clamp_max(searchsorted(keys, contiguous(values)), Scalar(sorted.numel() - 1));
                const Tensor hit = eq(take(sorted, place), values);
                return invert ? logical_not(hit) : hit;
            }
            ResultType common;
            for (const Tensor* each : {&elements, &test_elements}) common.add(*each->impl());
            Sizes shape = elements.sizes();
            shape.push_back(1);
            const Tensor column = to(reshape(elements, shape), common.get()), row = to(reshape(test_elements, {-1}), common.get());
            Tensor hit = any(eq(column, row), -1);
            return invert ? logical_not(hit) : hit;
        }),
    });
    declare("isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor")({
        doc("Whether each element equals the test element"),
        in(space::Torch),
        not_differentiable(),
        composition([](const Tensor& elements, const Scalar& test_element, bool, bool invert) {
            check_isin(elements.dtype());
            check_isin(test_element.dtype());
            return invert ? ne(elements, test_element) : eq(elements, test_element);
        }),
    });
    declare("isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor")({
        doc("Whether a number occurs among the test elements"),
        in(space::Torch),
        not_differentiable(),
        composition([](const Scalar& element, const Tensor& test_elements, bool, bool invert) {
            return isin(wrap_number(element), test_elements, false, invert);
        }),
    });
    declare("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor")({
        doc("How often each integer occurs, or the sum of the weights where it does"),
        raises_by_value(GIVEN(Tensor self) {
            const Tensor numbers = contiguous(to(self, DType::Int64));
            largest_counted(numbers.data_ptr<int64_t>(), numbers.numel());
        }),
        no_derivative(),
        shape_by_value(),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& self, const Tensor& weights, int64_t minlength) {
                KINDLING_CHECK(Runtime, minlength >= 0, "minlength should be >= 0");
                KINDLING_CHECK(NotImplemented, is_integral(self.dtype()), "\"bincount_cpu\" not implemented for '%s'",
                               scalar_type_name(self.dtype()));
                KINDLING_CHECK(Runtime, self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
                const bool weighted = weights.defined() && self.numel();
                call.reads(self, DType::Int64);
                if (weighted) call.reads(weights, weights.dtype() == DType::Float32 ? DType::Float32 : DType::Float64);
                else call.reads(Tensor());
                return Bins{minlength, weighted};
            },
            [](Bins& bins, KernelCall& call, const Array& x, const Array& weights) {
                const int64_t high = largest_counted(x.data_ptr<int64_t>(), x.numel());
                KINDLING_CHECK(Runtime, !bins.weighted || (weights.dim() == 1 && weights.numel() == x.numel()),
                               "weights should be 1-d and have the same length as input");
                call.gives({std::max(bins.least, high + 1)}, bins.weighted ? weights.dtype() : DType::Int64).zeroed();
            },
            [](const Bins&, const Array& x, const Array& weights, const Array& result) {
                const auto* values = x.data_ptr<int64_t>();
                if (!weights.defined()) return library::count_indices(values, x.numel(), result.data_ptr<int64_t>());
                auto add = [&]<class T>(const T* each) {
                    T* sums = result.data_ptr<T>();
                    for (int64_t i = 0, n = x.numel(); i < n; i++) sums[values[i]] += each[i];
                };
                if (weights.dtype() == DType::Float32) add(weights.data_ptr<const float>());
                else add(weights.data_ptr<const double>());
            }),
    });
    declare("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor")({
        doc("How many elements fall into each of `bins` equal bins between min and max"),
        raises_by_value(GIVEN(Tensor self, Scalar min, Scalar max) { binned(self, min, max); }),
        not_differentiable(),
        slice_by_slice(),
        composition([](const Tensor& self, int64_t bins, const Scalar& min_, const Scalar& max_) {
            KINDLING_CHECK(NotImplemented, is_floating(self.dtype()), "\"histogramdd\" not implemented for '%s'",
                           scalar_type_name(self.dtype()));
            KINDLING_CHECK(Runtime, bins > 0, "bins must be > 0");
            check_fits(min_, self.dtype());
            check_fits(max_, self.dtype());
            const auto [low, high, alone] = binned(self, min_, max_);
            // In the elements' dtype, rounded after each step, as PyTorch does: that decides which side of an edge an element is on.
            auto held = [&](double value) { return full({}, Scalar(value), self.dtype()); };
            Tensor x = reshape(self, {-1}), first = held(low), last = held(high);
            if (min_.to_double() != max_.to_double()) // else no element is outside
                x = masked_select(x, logical_and(ge(x, first), le(x, last)));
            Tensor place = alone ? full({x.numel()}, Scalar(bins / 2), DType::Int64)
                                 : clamp(to(div(mul(sub(x, first), held(static_cast<double>(bins))), sub(last, first)), DType::Int64),
                                         Scalar(0), Scalar(bins - 1));
            return index_add(zeros({bins}, self.dtype()), 0, place, ones({place.numel()}, self.dtype()));
        }),
    });
}
