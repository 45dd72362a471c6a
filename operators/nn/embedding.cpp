// operators/nn/embedding.cpp: table look-ups, one-hot codes and attention.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/isa.h"
#include "kernels/library/indexing/indexing.h"
#include "kernels/library/products/attention.h"
#include "kernels/library/products/sparse_product.h"
#include "operators/declare.h"
#include "operators/forms.h"
#include "operators/tensors/places.h"

namespace kindling {
namespace {

Tensor number(double value) { return wrap_number(Scalar(value)); }

/// What has fewer dimensions, or one of size 1, is the same along it.
library::Plane4 plane_of(const Array& t) {
    library::Plane4 plane;
    plane.data = t.data();
    for (int64_t d = 0; d < 4; d++) {
        const int64_t at = d - 4 + t.dim();
        plane.strides[d] = at < 0 || t.size(at) == 1 ? 0 : t.stride(at);
    }
    return plane;
}

struct Attention {
    double scale;
    bool causal, narrow;
    DType result;
};

/// Half types in float, but for bfloat16 where there are tiles for it. `grad`: of what gradients are computed from, or null.
Attention attention_of(KernelCall& call, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, bool causal,
                       std::optional<double> scale, const Tensor* grad) {
    const bool fits = key.size(0) == query.size(0) && value.size(0) == query.size(0) && key.size(1) == query.size(1) &&
                      value.size(1) == query.size(1) && key.size(2) == value.size(2) && key.size(3) == query.size(3);
    KINDLING_CHECK(Runtime, fits,
                   "scaled_dot_product_attention_flash_attention: the sizes of query %s, key %s and value %s do not fit one another",
                   str(query).c_str(), str(key).c_str(), str(value).c_str());
    const DType wide = value_type(query.dtype());
    const bool alike = key.dtype() == query.dtype() && value.dtype() == query.dtype() && (!grad || grad->dtype() == query.dtype());
    const bool narrow = query.dtype() == DType::BFloat16 && alike && query.size(3) > 0 && value.size(3) > 0 && has_tiles();
    const DType operands = narrow ? DType::BFloat16 : wide;
    for (const Tensor* each : {&query, &key, &value}) call.reads_as_it_lies(*each, operands);
    if (mask.defined())
        expanded_strides(mask.sizes(), mask.strides(),
                         {query.size(0), query.size(1), query.size(2), key.size(2)}); // raises where it does not fit
    call.reads_as_it_lies(mask, wide);
    if (grad) call.reads_as_it_lies(*grad, operands);
    call.costs(16 * query.numel());
    return {scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3)))), causal, narrow, narrow ? wide : query.dtype()};
}

library::Attention problem_of(const Attention& a, DType wide, const Array& q, const Array& k, const Array& v, const Array& mask,
                              const Array& out, const Array& logs) {
    return {wide,
            q.size(0),
            q.size(1),
            q.size(2),
            k.size(2),
            q.size(3),
            v.size(3),
            plane_of(q),
            plane_of(k),
            plane_of(v),
            mask.defined() ? plane_of(mask) : library::Plane4(),
            a.scale,
            a.causal,
            plane_of(out),
            a.result,
            logs.data(),
            a.narrow};
}

/// What the sums and maxima of bags go by: `bags` are their offsets, or those of the indices.
void reads_bags(KernelCall& call, const Tensor& weight, const Tensor& indices, const Tensor& bags) {
    KINDLING_CHECK(Runtime, weight.dim() == 2 && is_floating(weight.dtype()) && !is_float8(weight.dtype()),
                   "embedding_bag: the table must be a matrix of floating numbers");
    KINDLING_CHECK(Runtime, indices.dtype() == DType::Int64 && bags.dtype() == DType::Int64 && indices.dim() == 1 && bags.dim() == 1,
                   "embedding_bag: indices and bags must be vectors of int64");
    for (const Tensor* each : {&weight, &indices, &bags}) call.reads(*each);
    call.costs(16 * indices.numel() * weight.size(1));
    call.runs_if_empty(); // values are checked all the same
}
/// `counted`: all rows are, so the error says which one is wrong.
void check_rows(const int64_t* row, int64_t n, int64_t rows, bool counted) {
    const int64_t* wrong = library::find_outside(row, n, rows);
    KINDLING_CHECK(Runtime, !wrong || counted, "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be %ld", *wrong);
    KINDLING_CHECK(Runtime, !wrong, "Index %ld of input takes value %ld which is not in the valid range [0, %ld)", wrong - row, *wrong,
                   rows);
}
void check_rows(const Tensor& indices, int64_t rows, bool counted) {
    const Tensor row = contiguous(indices);
    check_rows(row.data_ptr<int64_t>(), row.numel(), rows, counted);
}
/// Memory is written where `bag` says.
void check_bags(const int64_t* bag, int64_t n, int64_t count) {
    bool ascend = !n || (bag[0] >= -1 && bag[n - 1] < count);
    for (int64_t i = 1; i < n; i++) ascend &= bag[i] >= bag[i - 1];
    KINDLING_CHECK(Runtime, ascend, "embedding_bag: bags must ascend and be less than %ld", count);
}
/// For each index the row of its bag.
Tensor of_bags(const Tensor& rows, const Tensor& offsets, const Tensor& indices) {
    return index_select(rows, 0, std::get<0>(_bags_of(offsets, indices, -1)));
}
/// A row of a table of a half type as floats.
void widen_row(const Array& table, int64_t row, float* to) {
    const int64_t width = table.size(1);
    for (int64_t j = 0; j < width; j++)
        to[j] = table.dtype() == DType::Float16 ? to_float(table.data_ptr<Half>()[row * width + j])
                                                : to_float(table.data_ptr<BFloat16>()[row * width + j]);
}

void gives_classes(KernelCall& call, IntList sizes, int64_t count) {
    Sizes shape = sizes;
    shape.push_back(count);
    call.gives(shape, DType::Int64).zeroed();
}

/// softmax along rows. A row without any score that counts is 0, and so is its gradient.
Tensor attention_weights(const Tensor& scores) {
    const Tensor dead = all(eq(scores, Scalar(-__builtin_inf())), -1, true);
    return masked_fill(softmax(masked_fill(scores, dead, Scalar(0)), -1, DType::None), dead, Scalar(0));
}

/// What is said of a row that the table has not; of a table without elements torch has another class.
[[noreturn]] void fail_looked_up(int64_t elements) { fail(elements ? ErrorKind::Index : ErrorKind::Runtime, "index out of range in self"); }

/// The largest class, at least -1; RuntimeError of a class that there is not.
int64_t largest_class(const int64_t* classes, int64_t count, int64_t num_classes) {
    const int64_t high = library::largest_index(classes, count);
    KINDLING_CHECK(Runtime, high >= 0 || !count, "Class values must be non-negative.");
    KINDLING_CHECK(Runtime, num_classes == -1 || num_classes > high, "Class values must be smaller than num_classes.");
    return high;
}

} // namespace
} // namespace kindling

OPERATORS(embedding) {
    declare("embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor")({
        doc("Rows of a table; the row padding_idx gets no gradient"),
        linear(),
        raises_by_value(GIVEN(Tensor indices, IntList weight_sizes) {
            if (place_outside(indices, weight_sizes[0])) fail_looked_up(checked_numel(weight_sizes));
        }),
        in(space::Torch),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
                KINDLING_CHECK(Runtime, weight.dim() == 2, "'weight' must be 2-D");
                KINDLING_CHECK(Runtime, indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32,
                               "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got %s "
                               "instead (while checking arguments for embedding)",
                               scalar_type_name(indices.dtype()));
                Sizes sizes = indices.sizes();
                sizes.push_back(weight.size(1));
                call.reads_as_it_lies(weight);
                call.reads(indices, DType::Int64);
                call.gives(sizes, weight.dtype());
                call.goes_by_all_rows(2, indices.dim());
                call.looks_up();
                call.runs_if_empty(); // indices are checked all the same
            },
            [](const Array& weight, const Array& indices, const Array& result) {
                const auto* rows = indices.data_ptr<int64_t>();
                if (library::find_outside(rows, indices.numel(), weight.size(0))) fail_looked_up(weight.numel());
                if (!result.numel()) return;
                const int64_t *sizes = weight.sizes().data(), *strides = weight.strides().data();
                library::gather_places({weight.dtype(), 0, 1, sizes, strides, sizes + 1, strides + 1, rows, indices.numel(), strides[0]},
                                       weight.data(), result.data());
            }),
        by_rows(),
        derivative(
            "weight",
            GIVEN(Tensor grad, Tensor indices, IntList weight_sizes, int64_t padding_idx, bool scale_grad_by_freq, bool sparse) {
                if (sparse) return embedding_sparse_backward(grad, indices, weight_sizes[0], padding_idx, scale_grad_by_freq);
                return embedding_dense_backward(grad, indices, weight_sizes[0], padding_idx, scale_grad_by_freq);
            }),
        refuses("torch.embedding(torch.ones(2, 3), torch.tensor([7]))", "IndexError: index out of range in self"),
    });
    declare("embedding_sparse_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, "
            "bool scale_grad_by_freq) -> Tensor")({
        doc("Gradients of the rows that were looked up, as a sparse tensor: one element for each look-up"),
        in(space::Hidden),
        no_out(),
        composition([](const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq) {
            KINDLING_CHECK(Runtime, indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32,
                           "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
                           "torch.%sTensor instead (while checking arguments for embedding_backward)",
                           scalar_type_name(indices.dtype()));
            KINDLING_CHECK(Runtime, !scale_grad_by_freq, "embedding_backward: scale_grad_by_freq not supported with sparse gradients");
            Tensor at = indices, rows = grad;
            const int64_t features = grad.size(-1);
            if (padding_idx != -1) {
                std::vector<Tensor> kept{ne(indices, Scalar(padding_idx))};
                at = index(at, kept);
                rows = index(rows, kept);
            }
            if (!rows.numel())
                return _sparse_coo_tensor_unsafe(zeros({1, 0}, DType::Int64), zeros({0, features}, rows.dtype()), {num_weights, features});
            return _sparse_coo_tensor_unsafe(to(reshape(at, {1, -1}), DType::Int64), reshape(rows, {-1, features}),
                                             {num_weights, features});
        }),
    });
    declare("embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, "
            "bool scale_grad_by_freq) -> Tensor")({
        doc("Gradients added up in the rows they came from"),
        linear(),
        raises_by_value(GIVEN(Tensor indices, IntList grad_output_sizes, int64_t num_weights, bool scale_grad_by_freq) {
            const auto bad = place_outside(indices, num_weights);
            if (bad && scale_grad_by_freq) fail(ErrorKind::Index, "index out of range in self");
            KINDLING_CHECK(Runtime, !bad || !checked_numel(grad_output_sizes), "index %ld is out of bounds for dimension 0 with size %ld",
                           *bad, num_weights);
        }),
        in(space::Hidden),
        no_out(),
        composition(
            [](const Tensor& grad_output, const Tensor& indices, int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq) {
                KINDLING_CHECK(Runtime, indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32,
                               "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got %s "
                               "instead (while checking arguments for embedding_backward)",
                               scalar_type_name(indices.dtype()));
                Tensor flat = reshape(to(indices, DType::Int64), {-1}), g = reshape(grad_output, {flat.numel(), grad_output.size(-1)});
                if (scale_grad_by_freq) {
                    Tensor counts = index_add(zeros({num_weights}, DType::Int64), 0, flat, ones({flat.numel()}, DType::Int64));
                    g = to(div(g, unsqueeze(to(index_select(counts, 0, flat), g.dtype()), 1)), g.dtype());
                }
                if (padding_idx >= 0) g = masked_fill(g, unsqueeze(eq(flat, Scalar(padding_idx)), 1), Scalar(0));
                return index_add(zeros({num_weights, g.size(1)}, g.dtype()), 0, flat, g);
            }),
        derivative(
            "grad_output",
            GIVEN(Tensor grad, Tensor indices, int64_t padding_idx, bool scale_grad_by_freq) {
                Tensor rows = embedding(grad, indices, padding_idx);
                if (scale_grad_by_freq) {
                    Tensor flat = reshape(to(indices, DType::Int64), {-1});
                    Tensor counts = index_add(zeros({grad.size(0)}, DType::Int64), 0, flat, ones({flat.numel()}, DType::Int64));
                    rows = div(rows, unsqueeze(reshape(to(index_select(counts, 0, flat), grad.dtype()), indices.sizes()), -1));
                }
                if (padding_idx >= 0) rows = masked_fill(rows, unsqueeze(eq(indices, Scalar(padding_idx)), -1), Scalar(0));
                return rows;
            }),
    });
    declare("embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)")({
        doc("Scales down the rows that are looked up to a norm of at most max_norm"),
        raises_by_value(GIVEN(Tensor indices, IntList self_sizes) {
            if (place_outside(indices, self_sizes[0])) fail_looked_up(checked_numel(self_sizes));
        }),
        in(space::Torch),
        not_differentiable(),
        slice_by_slice(),
        composition([](const Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
            KINDLING_CHECK(Runtime, self.dim() == 2,
                           "Expected 2-dimensional tensor, but got %ld-dimensional tensor for argument #1 'self' (while checking arguments "
                           "for embedding_renorm_)",
                           self.dim());
            KINDLING_CHECK(Runtime, is_floating(self.dtype()) || self.is_complex(),
                           "norm(): input dtype should be either floating point or complex. Got %s instead.",
                           scalar_type_name(self.dtype()));
            Tensor flat = std::get<0>(_unique2(reshape(indices, {-1})));
            Tensor rows = index_select(self, 0, flat), norms = rows.numel()
                                                                   ? linalg_vector_norm(rows, Scalar(norm_type), generated::ints<1>(), true)
                                                                   : zeros({rows.size(0), 1}, to_real(rows.dtype()));
            Tensor factor = where(gt(norms, Scalar(max_norm)), div(number(max_norm), add(norms, number(1e-7))), number(1));
            index_put_(self, std::vector<Tensor>{flat}, to(mul(rows, factor), self.dtype()));
            return self;
        }),
    });
    declare("one_hot(Tensor self, int num_classes=-1) -> Tensor")({
        doc("1 at the place of the class, 0 elsewhere"),
        raises_by_value(GIVEN(Tensor self, int64_t num_classes) {
            const Tensor classes = contiguous(self);
            largest_class(classes.data_ptr<int64_t>(), classes.numel(), num_classes);
        }),
        in(space::Nn),
        not_differentiable(),
        shape_by_value(),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& self, int64_t num_classes) {
                KINDLING_CHECK(Runtime, self.dtype() == DType::Int64, "one_hot is only applicable to index tensor of type LongTensor.");
                KINDLING_CHECK(Runtime, self.numel() || num_classes > 0, "Can not infer total number of classes from empty tensor.");
                call.reads(self);
                if (num_classes >= 0) gives_classes(call, self.sizes(), num_classes);
                return num_classes;
            },
            [](int64_t& num_classes, KernelCall& call, const Array& self) {
                const int64_t high = largest_class(self.data_ptr<int64_t>(), self.numel(), num_classes);
                if (num_classes == -1) gives_classes(call, self.sizes(), num_classes = high + 1);
            },
            [](int64_t num_classes, const Array& self, const Array& result) {
                const auto* classes = self.data_ptr<int64_t>();
                for (int64_t i = 0; i < self.numel(); i++) result.data_ptr<int64_t>()[i * num_classes + classes[i]] = 1;
            }),
    });
    declare("_bags_of(Tensor offsets, Tensor indices, int padding_idx) -> (Tensor bags, Tensor sizes)")({
        doc("The bag that each index lies in, for bags that start at the offsets, and how many indices but padding_idx lie in each"),
        in(space::Hidden),
        not_differentiable(),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& offsets, const Tensor& indices, int64_t padding_idx) {
                KINDLING_CHECK(Runtime, offsets.dtype() == DType::Int64 && indices.dtype() == DType::Int64,
                               "embedding_bag: indices and offsets must be of int64");
                for (const Tensor* each : {&offsets, &indices}) call.reads(*each);
                call.gives({indices.numel()}, DType::Int64);
                call.gives({offsets.numel()}, DType::Int64).zeroed();
                return padding_idx;
            },
            [](int64_t padding_idx, const Array& offsets, const Array& indices, const Array& bags, const Array& sizes) {
                const auto *start = offsets.data_ptr<int64_t>(), *index = indices.data_ptr<int64_t>();
                int64_t *to = bags.data_ptr<int64_t>(), *size = sizes.data_ptr<int64_t>(), bag = -1;
                for (int64_t i = 0, n = indices.numel(), end; i < n; i = end) { // bag by bag: a count in memory would be waited for
                    while (bag + 1 < offsets.numel() && start[bag + 1] <= i) bag++;
                    end = bag + 1 < offsets.numel() ? std::min(n, start[bag + 1]) : n;
                    int64_t left_out = 0;
                    for (int64_t k = i; k < end; k++) to[k] = bag, left_out += index[k] == padding_idx;
                    if (bag >= 0) size[bag] += end - i - left_out;
                }
            }),
    });
    declare("_embedding_bag_sum(Tensor weight, Tensor indices, Tensor offsets, Tensor? per_sample_weights, "
            "int padding_idx, bool sparse, bool scale_grad_by_freq) -> Tensor")({
        doc("Sums of table rows over bags that start at the offsets"),
        raises_by_value(
            GIVEN(IntList weight_sizes, Tensor indices, int64_t padding_idx) { check_rows(indices, weight_sizes[0], padding_idx < 0); }),
        in(space::Hidden),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& weight, const Tensor& indices, const Tensor& offsets, const Tensor& per_sample_weights,
               int64_t padding_idx, bool, bool) {
                const DType wide = value_type(weight.dtype());
                const int64_t count = offsets.numel();
                reads_bags(call, weight, indices, offsets);
                KINDLING_CHECK(Runtime, !per_sample_weights.defined() || per_sample_weights.numel() == indices.numel(),
                               "embedding_bag: as many weights as indices");
                call.reads(per_sample_weights, wide);
                const int64_t n = indices.numel(), item = static_cast<int64_t>(item_size(wide));
                call.needs_workspace((n + count + 1) * static_cast<int64_t>(sizeof(int64_t)) +
                                     (n + (wide == weight.dtype() ? 0 : n * weight.size(1))) * item);
                call.gives({count, weight.size(1)}, weight.dtype()).computed_in(wide);
                return padding_idx;
            },
            [](int64_t padding_idx, const Array& weight, const Array& indices, const Array& offsets, const Array& per_sample_weights,
               const Array& result, Workspace room) {
                const int64_t n = indices.numel(), width = weight.size(1), count = result.size(0);
                const bool all = padding_idx < 0;
                const auto *row = indices.data_ptr<int64_t>(), *offset = offsets.data_ptr<int64_t>();
                check_rows(row, n, weight.size(0), all);
                // A sparse matrix of bags by rows times the table. Half types are summed as floats.
                const DType wide = result.dtype();
                const size_t item = item_size(wide);
                int64_t *column = room.as<int64_t>(), *start = column + n, filled = all ? n : 0;
                auto* factors = reinterpret_cast<char*>(start + count + 1);
                const bool weighted = per_sample_weights.defined();
                if (weighted) std::memcpy(factors, per_sample_weights.data(), static_cast<size_t>(n) * item);
                for (int64_t bag = 0, begin = 0, end; bag <= count; bag++, begin = end) { // what ends where this bag begins
                    end = bag < count ? std::clamp(offset[bag], begin, n) : n;
                    for (int64_t i = begin; bag && i < end && !all; i++) {
                        if (row[i] == padding_idx) continue;
                        if (weighted)
                            std::memmove(factors + static_cast<size_t>(filled) * item, factors + static_cast<size_t>(i) * item, item);
                        column[filled++] = row[i];
                    }
                    start[bag] = all ? end : filled;
                }
                const int64_t* columns = all ? row : column;
                const void* table = weight.data();
                if (wide != weight.dtype()) {
                    auto* rows = reinterpret_cast<float*>(factors) + n;
                    for (int64_t i = 0; i < filled; i++) widen_row(weight, columns[i], rows + i * width), column[i] = i;
                    table = rows, columns = column;
                }
                library::sparse_times_strided(wide, count, start, columns, weighted ? factors : nullptr, table, width, result.data());
            }),
        derivative(
            "weight",
            GIVEN(Tensor grad, Tensor indices, Tensor offsets, Tensor per_sample_weights, IntList weight_sizes, int64_t padding_idx,
                  bool sparse, bool scale_grad_by_freq) {
                Tensor rows = of_bags(grad, offsets, indices);
                if (per_sample_weights.defined()) rows = mul(rows, unsqueeze(per_sample_weights, 1));
                if (sparse) return embedding_sparse_backward(rows, indices, weight_sizes[0], padding_idx, scale_grad_by_freq);
                if (scale_grad_by_freq && indices.numel()) {
                    // As PyTorch does: the nth of the rows that occur is divided by the count of the nth index in order, which need not be
                    // its own.
                    auto [found, which, counts] = _unique2(indices, true, true, true);
                    Tensor order = std::get<0>(sort(which)), counted = index_select(counts, 0, narrow(order, 0, 0, found.numel()));
                    rows = div(rows, unsqueeze(to(index_select(counted, 0, which), rows.dtype()), 1));
                }
                return embedding_dense_backward(rows, indices, weight_sizes[0], padding_idx, false);
            }),
        derivative(
            "per_sample_weights",
            GIVEN(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, int64_t padding_idx) {
                Tensor given = sum(mul(of_bags(grad, offsets, indices), embedding(weight, indices)), generated::ints<1>());
                return padding_idx >= 0 ? masked_fill(given, eq(indices, Scalar(padding_idx)), Scalar(0)) : given;
            }),
    });
    declare("_embedding_bag_max(Tensor weight, Tensor indices, Tensor bags, Tensor sizes, "
            "int padding_idx) -> (Tensor values, Tensor rows)")({
        doc("Maxima of table rows by bag and the rows they stand in; the first of several. Empty bags have 0"),
        raises_by_value(GIVEN(IntList weight_sizes, Tensor indices, Tensor bags, IntList sizes_sizes) {
            const Tensor bag = contiguous(bags);
            check_bags(bag.data_ptr<int64_t>(), bag.numel(), checked_numel(sizes_sizes));
            check_rows(indices, weight_sizes[0], false);
        }),
        in(space::Hidden),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& weight, const Tensor& indices, const Tensor& bags, const Tensor& sizes,
               int64_t padding_idx) {
                reads_bags(call, weight, indices, bags);
                KINDLING_CHECK(Runtime, bags.numel() == indices.numel(), "embedding_bag: as many bags as indices");
                const Sizes shape{sizes.numel(), weight.size(1)};
                call.gives(shape, weight.dtype()).computed_in(value_type(weight.dtype())).zeroed();
                call.gives(shape, DType::Int64).zeroed();
                call.needs_workspace(weight.size(1) * static_cast<int64_t>(sizeof(float)));
                return padding_idx;
            },
            [](int64_t padding_idx, const Array& weight, const Array& indices, const Array& bags, const Array& values, const Array& rows,
               Workspace room) {
                const int64_t n = indices.numel(), width = weight.size(1);
                const auto *row = indices.data_ptr<int64_t>(), *bag = bags.data_ptr<int64_t>();
                check_bags(bag, n, values.size(0));
                check_rows(row, n, weight.size(0), false);
                const bool narrow = is_half(weight.dtype());
                const auto find = [&]<class T>(T* value) {
                    int64_t filled = -1; // the bag that has a row already
                    for (int64_t i = 0; i < n; i++) {
                        if (bag[i] < 0 || row[i] == padding_idx) continue;
                        if (narrow) widen_row(weight, row[i], room.as<float>());
                        const T* at = narrow ? room.as<T>() : weight.data_ptr<T>() + row[i] * width;
                        T* best = value + bag[i] * width;
                        int64_t* which = rows.data_ptr<int64_t>() + bag[i] * width;
                        for (int64_t j = 0; j < width; j++)
                            if (filled != bag[i] || at[j] > best[j]) best[j] = at[j], which[j] = row[i];
                        filled = bag[i];
                    }
                };
                values.dtype() == DType::Float64 ? find(values.data_ptr<double>()) : find(values.data_ptr<float>());
            }),
        derivative(
            "weight",
            GIVEN(Tensor grad, Tensor rows, Tensor sizes, IntList weight_sizes) {
                Tensor given = masked_fill(grad, unsqueeze(eq(sizes, Scalar(0)), 1), Scalar(0));
                return scatter_add(zeros(weight_sizes, grad.dtype()), 0, rows, given);
            }),
    });
    declare("_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
            "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, "
            "Tensor, Tensor)")({
        doc("Sums (mode 0), means (1) or maxima (2) of table rows over bags that start at the offsets; also the bag of each index, the "
            "bags' sizes, and the rows of maxima"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq, int64_t mode,
                       bool sparse, const Tensor& per_sample_weights, bool include_last_offset, int64_t padding_idx) {
            KINDLING_CHECK(Runtime, indices.dim() == 1 || indices.dim() == 2,
                           "input has to be a 1D or 2D Tensor, but got Tensor of dimension %ld", indices.dim());
            const bool unread = offsets.is_meta();
            KINDLING_CHECK(Runtime, offsets.dim() == 1 || (indices.dim() == 2 && (unread || !offsets.dim())),
                           "offsets has to be a 1D Tensor, but got Tensor of dimension %ld", offsets.dim());
            KINDLING_CHECK(Runtime, weight.dim() == 2, "weight has to be a 2D Tensor, but got Tensor of dimension %ld", weight.dim());
            const DType places = promote(indices.dtype(), offsets.dtype());
            KINDLING_CHECK(Runtime, places == DType::Int64 || places == DType::Int32,
                           "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
                           "torch.%sTensor instead (while checking arguments for embedding_bag)",
                           scalar_type_name(places));
            KINDLING_CHECK(Runtime, is_floating(weight.dtype()),
                           "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, "
                           "Double; but got torch.%sTensor instead (while checking arguments for embedding_bag)",
                           scalar_type_name(weight.dtype()));
            KINDLING_CHECK(Runtime, mode >= 0 && mode <= 2, "`mode` must be sum, mean, or max.");
            if (per_sample_weights.defined()) {
                KINDLING_CHECK(Runtime, mode == 0, "embedding_bag: per_sample_weights only supported with mode='sum'");
                KINDLING_CHECK(
                    Runtime, per_sample_weights.dtype() == weight.dtype(),
                    "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but "
                    "type torch.%sTensor does not equal torch.%sTensor (while checking arguments for embedding_bag)",
                    scalar_type_name(weight.dtype()), scalar_type_name(per_sample_weights.dtype()));
                for (const char* wrong : {per_sample_weights.dim() == 1 ? nullptr : "dim() == 1",
                                          per_sample_weights.numel() == indices.numel() ? nullptr : "numel() == indices.numel()"})
                    KINDLING_CHECK(Runtime, !wrong,
                                   "Expected per_sample_weights.value().%s to be true, but got false.  (Could this error message be "
                                   "improved?  If so, please report an enhancement request to PyTorch.)",
                                   wrong);
            }
            KINDLING_CHECK(Index, offsets.dim(), "Dimension specified as 0 but tensor has no dimensions");
            KINDLING_CHECK(Runtime, !include_last_offset || offsets.numel() >= 1,
                           "include_last_offset: number of offset should be at least 1");
            const int64_t count = offsets.numel() - (include_last_offset ? 1 : 0);
            const auto flat = [](const Tensor& t) { // calls cost as much as short sums
                return t.dim() == 1 && t.dtype() == DType::Int64 ? t : to(reshape(t, {-1}), DType::Int64);
            };
            Tensor starts = flat(offsets), at = flat(indices);
            if (starts.numel() && !unread) {
                const int64_t first = select(starts, 0, 0).item<int64_t>(), last = select(starts, 0, -1).item<int64_t>();
                KINDLING_CHECK(
                    Runtime, first == 0,
                    "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got %ld",
                    first);
                KINDLING_CHECK(Runtime, last <= indices.numel(),
                               "offsets[-1] can not be greater than input's length, but got offsets[-1] of %ld and input's length of %ld",
                               last, indices.numel());
            }
            if (include_last_offset) starts = narrow(starts, 0, 0, count);
            // Of sums PyTorch tells neither the sizes nor, where it has a kernel of its own for the table, the bags.
            const bool told = mode || weight.dtype() == DType::Float64 || padding_idx >= 0 || weight.strides()[1] != 1;
            Tensor bags = empty({0}, places), sizes;
            if (told) std::tie(bags, sizes) = _bags_of(starts, at, padding_idx);
            if (mode == 2) {
                auto [values, rows] = _embedding_bag_max(weight, at, bags, sizes, padding_idx);
                return std::tuple<Tensor, Tensor, Tensor, Tensor>(values, to(bags, places), to(sizes, places), to(rows, places));
            }
            Tensor result = _embedding_bag_sum(weight, at, starts, per_sample_weights, padding_idx, sparse, scale_grad_by_freq);
            if (mode == 1) {
                result = div(result, unsqueeze(to(clamp_min(sizes, Scalar(1)), weight.dtype()), 1));
                return std::tuple<Tensor, Tensor, Tensor, Tensor>(result, to(bags, places), to(sizes, places), to(clone(sizes), places));
            }
            return std::tuple<Tensor, Tensor, Tensor, Tensor>(result, to(bags, places), zeros({count}, places), zeros({count}, places));
        }),
    });
    declare("_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "
            "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> "
            "(Tensor, Tensor, Tensor, Tensor)")({
        doc("Sums, means or maxima of table rows over bags, without a derivative"),
        in(space::Torch),
        no_out(),
        not_differentiable(),
        composition([](const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq, int64_t mode,
                       bool sparse, const Tensor& per_sample_weights, bool include_last_offset, int64_t padding_idx) {
            auto [result, bags, sizes, rows] = _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse,
                                                              per_sample_weights, include_last_offset, padding_idx);
            if (mode == 0 && offsets.sizes() != sizes.sizes())
                sizes = zeros(offsets.sizes(), sizes.dtype()),
                rows = clone(sizes); // the shape of the offsets here, also where the last of them begins no bag
            return std::tuple<Tensor, Tensor, Tensor, Tensor>(result, bags, sizes, rows);
        }),
    });
    declare("embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, "
            "bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)")({
        doc("Sums (mode 0), means (1) or maxima (2) of table rows over bags that start at the offsets; rows of padding_idx do not count"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq, int64_t mode,
                       bool sparse, const Tensor& per_sample_weights, bool include_last_offset, std::optional<int64_t> padding) {
            int64_t row = padding.value_or(-1);
            if (padding && weight.dim()) {
                const int64_t count = weight.size(0);
                KINDLING_CHECK(Runtime, row >= -count && row < count,
                               "padding_idx must be within the number of embeddings, -%ld through %ld, but got %ld", count, count - 1, row);
                if (row < 0) row += count;
            }
            const bool records = weight.requires_grad() || is_followed(weight) || is_followed(per_sample_weights) ||
                                 (per_sample_weights.defined() && per_sample_weights.requires_grad());
            return (records ? _embedding_bag : _embedding_bag_forward_only)(weight, indices, offsets, scale_grad_by_freq, mode, sparse,
                                                                            per_sample_weights, include_last_offset, row);
        }),
    });
    declare("embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
            "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)")({
        doc("Sums (mode 0), means (1) or maxima (2) of table rows over bags"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq, int64_t mode,
                       bool sparse, const Tensor& per_sample_weights, bool include_last_offset) {
            return embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
                                 std::optional<int64_t>());
        }),
    });
    declare("_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, "
            "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)")({
        doc("Attention of [batch, heads, rows, depth] block by block, without its scores in memory; also the logarithm of each row's sum"),
        in(space::Torch),
        no_out(),
        kernel(
            [](KernelCall& call, const Tensor& query, const Tensor& key, const Tensor& value, double dropout_p, bool is_causal,
               const Tensor& attn_mask, std::optional<double> scale) {
                KINDLING_CHECK(Runtime, query.dim() == 4 && key.dim() == 4 && value.dim() == 4,
                               "scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {(B, H, T, K)}");
                KINDLING_CHECK(Runtime, dropout_p == 0,
                               "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0");
                KINDLING_CHECK(
                    Runtime, is_floating(query.dtype()),
                    "scaled_dot_product_attention_flash_attention: Expected data type in FP32, FP64, BF16, FP16, but got %s instead.",
                    name(query.dtype()));
                const Attention attention = attention_of(call, query, key, value, attn_mask, is_causal, scale, nullptr);
                const bool like = value.size(3) == query.size(3);
                const DType wide = value_type(query.dtype());
                Sizes shape = query.sizes();
                shape[3] = value.size(3);
                KernelCall::Result& out = call.gives(shape, query.dtype()).computed_in(wide).written_as_it_lies();
                if (like) out.preserves(query);
                call.gives({shape[0], shape[1], shape[2]}, wide);
                return attention;
            },
            [](const Attention& a, const Array& query, const Array& key, const Array& value, const Array& mask, const Array& out,
               const Array& logs) { library::attention(problem_of(a, out.dtype(), query, key, value, mask, out, logs)); }),
        derivative(
            "query, key, value",
            GIVEN(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor result0, Tensor result1, double dropout_p, bool is_causal,
                  Tensor attn_mask, std::optional<double> scale) {
                if (!grad.defined()) return std::tuple<Tensor, Tensor, Tensor>();
                if (!differentiates_again())
                    return _scaled_dot_product_flash_attention_for_cpu_backward(grad, query, key, value, result0, result1, dropout_p,
                                                                                is_causal, attn_mask, scale);
                // A second derivative follows: the same by its parts.
                Tensor s = number(scale.value_or(1 / std::sqrt(static_cast<double>(query.size(3)))));
                Tensor scores = mul(matmul(query, transpose(key, -2, -1)), s);
                if (is_causal)
                    scores =
                        masked_fill(scores, logical_not(tril(ones({query.size(-2), key.size(-2)}, DType::Bool))), Scalar(-__builtin_inf()));
                if (attn_mask.defined()) scores = add(scores, attn_mask);
                Tensor weights = attention_weights(scores), slope = matmul(grad, transpose(value, -2, -1));
                slope = mul(mul(weights, sub(slope, sum(mul(weights, slope), IntList({-1}), true))), s);
                return std::tuple<Tensor, Tensor, Tensor>(matmul(slope, key), matmul(transpose(slope, -2, -1), query),
                                                          matmul(transpose(weights, -2, -1), grad));
            }),
    });
    declare("_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, "
            "Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor "
            "grad_query, Tensor grad_key, Tensor grad_value)")({
        doc("The gradients of attention, its weights computed anew block by block"),
        in(space::Torch),
        no_out(),
        not_differentiable(),
        kernel(
            [](KernelCall& call, const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out,
               const Tensor& logsumexp, double, bool is_causal, const Tensor& attn_mask, std::optional<double> scale) {
                const DType wide = value_type(query.dtype());
                KINDLING_CHECK(Runtime,
                               is_floating(query.dtype()) && query.dim() == 4 && key.dim() == 4 && value.dim() == 4 && out.dim() == 4 &&
                                   grad_out.sizes() == out.sizes() && logsumexp.numel() == query.size(0) * query.size(1) * query.size(2) &&
                                   out.numel() == logsumexp.numel() * value.size(3) && logsumexp.dtype() == wide,
                               "_scaled_dot_product_flash_attention_for_cpu_backward: gradient %s, output %s and logsumexp %s do not fit "
                               "query %s and value %s",
                               str(grad_out).c_str(), str(out).c_str(), str(logsumexp).c_str(), str(query).c_str(), str(value).c_str());
                const Attention attention = attention_of(call, query, key, value, attn_mask, is_causal, scale, &grad_out);
                call.reads_as_it_lies(out, wide);
                call.reads(logsumexp);
                for (const Tensor* each : {&query, &key, &value}) call.gives(each->sizes(), each->dtype()).computed_in(wide).zeroed();
                return attention;
            },
            [](const Attention& a, const Array& query, const Array& key, const Array& value, const Array& mask, const Array& grad,
               const Array& out, const Array& logs, const Array& grad_query, const Array& grad_key, const Array& grad_value) {
                library::attention_backward(problem_of(a, out.dtype(), query, key, value, mask, out, logs), plane_of(grad),
                                            plane_of(grad_query), plane_of(grad_key), plane_of(grad_value));
            }),
    });
    declare("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
            "float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor")({
        doc("softmax(query @ key.T * scale + mask) @ value (Vaswani et al., 2017)"),
        flags(trait::AutocastLower),
        in(space::Nn),
        no_out(),
        random_numbers(),
        composition([](const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& attn_mask, double dropout_p,
                       bool is_causal, std::optional<double> scale, bool enable_gqa) {
            KINDLING_CHECK(Runtime, query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
                           "scaled_dot_product_attention: Expected query, key, and value to all be at least 2 dimensional, but got "
                           "query.dim(): %ld, key.dim(): %ld and value.dim(): %ld instead.",
                           query.dim(), key.dim(), value.dim());
            KINDLING_CHECK(
                Runtime, query.dtype() == key.dtype() && query.dtype() == value.dtype(),
                "Expected query, key, and value to have the same dtype, but got query.dtype: %s key.dtype: %s and value.dtype: %s instead.",
                name(query.dtype()), name(key.dtype()), name(value.dtype()));
            KINDLING_CHECK(Runtime, query.device() == key.device() && query.device() == value.device(),
                           "Expected query, key, and value to have the same device type, but got query.device: %s key.device: %s and "
                           "value.device: %s instead.",
                           name(query.device().type), name(key.device().type), name(value.device().type));
            if (!value.numel() || !query.size(-2)) { // nothing to attend to, or nobody who does: no more is looked at
                Sizes sizes = query.sizes();
                sizes[sizes.size() - 1] = value.size(-1);
                auto none = [](const Tensor& t) { return sum(slice(reshape(t, {-1}), 0, 0, 0)); };
                return add(zeros(sizes, query.dtype(), std::nullopt, query.device()), add(add(none(query), none(key)), none(value)));
            }
            KINDLING_CHECK(Runtime, !(is_causal && attn_mask.defined()),
                           "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
            Tensor k = key, v = value;
            if (enable_gqa) {
                int64_t heads = query.size(-3), groups = key.size(-3);
                KINDLING_CHECK(Runtime, groups && value.size(-3) && heads % groups == 0,
                               "Number of heads in key and value must divide the number of heads in query");
                if (groups != heads) {
                    k = repeat_interleave(key, heads / groups, -3);
                    v = repeat_interleave(value, heads / value.size(-3), -3);
                }
            }
            bool planes = query.dim() == 4 && key.dim() == 4 && v.dim() == 4 && query.size(3) == key.size(3) && k.size(2) == v.size(2);
            for (int64_t d = 0; planes && d < 2; d++) planes = k.size(d) == query.size(d) && v.size(d) == query.size(d);
            // A mask is added, as torch does: where a score is NaN a masked place is NaN, too.
            Tensor mask = attn_mask;
            auto added = [&](const Tensor& allowed) {
                return masked_fill(zeros(allowed.sizes(), query.dtype(), std::nullopt, allowed.device()), logical_not(allowed),
                                   Scalar(-__builtin_inf()));
            };
            if (mask.defined() && mask.dtype() == DType::Bool) mask = added(mask);
            const bool mask_fits = !mask.defined() || (mask.dtype() == query.dtype() && !is_followed(attn_mask));
            if (planes && mask_fits && !(dropout_p > 0) && is_floating(query.dtype()) && query.numel() && k.numel() && v.numel() &&
                !query.is_meta()) {
                if (mask.defined()) mask = expand(mask, {query.size(0), query.size(1), query.size(2), k.size(2)});
                return std::get<0>(_scaled_dot_product_flash_attention_for_cpu(query, k, v, dropout_p, is_causal, mask, scale));
            }
            // As torch: the square root of the scale goes on both factors, and half types are computed in float.
            const DType dtype = query.dtype(), inside = value_type(dtype);
            const double given = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1)))), root = std::sqrt(std::abs(given));
            Tensor scores =
                matmul(mul(to(query, inside), number(given < 0 ? -root : root)), mul(to(transpose(k, -2, -1), inside), number(root)));
            if (is_causal) mask = added(tril(ones({query.size(-2), key.size(-2)}, DType::Bool)));
            if (mask.defined()) scores = add(scores, mask);
            Tensor weights = attention_weights(scores);
            if (dropout_p > 0) weights = dropout(weights, dropout_p, true);
            return to(matmul(weights, to(v, inside)), dtype);
        }),
    });
    declare("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor")({
        doc("y[k] = input1 @ weight[k] @ input2 + bias[k]"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
            KINDLING_CHECK(Runtime, input1.dim() == input2.dim(), "bilinear(): input dimensions do not match: got %ld and %ld",
                           input1.dim(), input2.dim());
            for (int64_t d = 0; d + 1 < input1.dim(); d++)
                KINDLING_CHECK(Runtime, input1.size(d) == input2.size(d),
                               "bilinear(): input batch dimensions do not match at dim %ld: got %ld and %ld", d, input1.size(d),
                               input2.size(d));
            for (const Tensor* each : {&input2, &weight, &bias})
                KINDLING_CHECK(Runtime, !each->defined() || each->dtype() == input1.dtype(),
                               "All tensors must have the same dtype, got input1: %s, input2: %s, weight: %s", name(input1.dtype()),
                               name(input2.dtype()), name(weight.dtype()));
            KINDLING_CHECK(Runtime, input1.size(-1) == weight.size(1),
                           "bilinear(): input1 size does not match weight size: got %ld but expected %ld", input1.size(-1), weight.size(1));
            KINDLING_CHECK(Runtime, input2.size(-1) == weight.size(2),
                           "bilinear(): input2 size does not match weight size: got %ld but expected %ld", input2.size(-1), weight.size(2));
            KINDLING_CHECK(Runtime, !bias.defined() || bias.size(0) == weight.size(0),
                           "bilinear(): bias size does not match weight size: got %ld but expected %ld", bias.defined() ? bias.size(0) : 0,
                           weight.size(0));
            Tensor a = reshape(input1, {-1, input1.size(-1)}), b = reshape(input2, {-1, input2.size(-1)});
            // [n, i] x [k, i, j] -> [k, n, j], times [n, j], summed over j.
            Tensor left = matmul(unsqueeze(a, 0), weight);
            Tensor y = contiguous(
                t(sum(mul(left, unsqueeze(b, 0)), generated::ints<2>(), false, category(left.dtype()) < 2 ? left.dtype() : DType::None)));
            Sizes sizes = input1.sizes();
            sizes[sizes.size() - 1] = weight.size(0);
            y = reshape(y, sizes);
            return untied(bias.defined() ? add(y, bias) : y);
        }),
    });
    declare("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor")({
        doc("Channels turned into space: [.., C*r*r, H, W] to [.., C, H*r, W*r]"),
        no_out(),
        in(space::Torch),
        composition([](const Tensor& self, int64_t r) {
            KINDLING_CHECK(Runtime, self.dim() >= 3,
                           "pixel_shuffle expects input to have at least 3 dimensions, but got input with %ld dimension(s)", self.dim());
            KINDLING_CHECK(Runtime, r > 0, "pixel_shuffle expects a positive upscale_factor, but got %ld", r);
            KINDLING_CHECK(Value, r <= 3037000499, "upscale factor is too large, (upscale_factor)^2 overflowed: upscale_factor=%ld",
                           r); // whose square fits 64 bits
            const int64_t channels = self.size(-3);
            KINDLING_CHECK(Runtime, channels % r == 0 && channels / r % r == 0,
                           "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
                           "input.size(-3)=%ld is not divisible by %ld",
                           channels, r * r);
            SizeVector result;
            Size n = 1;
            for (int64_t d = 0; d + 3 < self.dim(); d++) {
                result.push_back(size_of(self, d));
                n = n * result[static_cast<size_t>(d)];
            }
            const Size c = size_of(self, -3) / (r * r), h = size_of(self, -2), w = size_of(self, -1);
            result.push_back(c);
            result.push_back(h * r);
            result.push_back(w * r);
            return like_input(
                _unsafe_view(clone(permute(reshape(self, SizeVector{n, c, r, r, h, w}), {0, 1, 4, 2, 5, 3}), MemoryFormat::Contiguous),
                             result),
                self);
        }),
    });
    declare("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor")({
        doc("Space turned into channels: [.., C, H*r, W*r] to [.., C*r*r, H, W]"),
        no_out(),
        in(space::Torch),
        composition([](const Tensor& self, int64_t r) {
            KINDLING_CHECK(Runtime, self.dim() >= 3,
                           "pixel_unshuffle expects input to have at least 3 dimensions, but got input with %ld dimension(s)", self.dim());
            KINDLING_CHECK(Runtime, r > 0, "pixel_unshuffle expects a positive downscale_factor, but got %ld", r);
            int64_t c = self.size(-3), h = self.size(-2), w = self.size(-1);
            KINDLING_CHECK(
                Runtime, h % r == 0,
                "pixel_unshuffle expects height to be divisible by downscale_factor, but input.size(-2)=%ld is not divisible by %ld", h, r);
            KINDLING_CHECK(
                Runtime, w % r == 0,
                "pixel_unshuffle expects width to be divisible by downscale_factor, but input.size(-1)=%ld is not divisible by %ld", w, r);
            if (!self.numel()) return clone(self); // PyTorch leaves its sizes alone
            checked_numel({c, r, r});
            Sizes lead(IntList(self.sizes().data(), self.sizes().size() - 3)), result = lead;
            int64_t n = 1;
            for (int64_t size : lead) n *= size;
            result.push_back(c * r * r);
            result.push_back(h / r);
            result.push_back(w / r);
            return like_input(
                _unsafe_view(clone(permute(reshape(self, {n, c, h / r, r, w / r, r}), {0, 1, 3, 5, 2, 4}), MemoryFormat::Contiguous),
                             result),
                self);
        }),
    });
    declare("channel_shuffle(Tensor self, SymInt groups) -> Tensor")({
        doc("Channels of all groups taken in turn"),
        no_out(),
        in(space::Torch),
        alias("native_channel_shuffle"),
        composition([](const Tensor& self, int64_t groups) {
            KINDLING_CHECK(Runtime, self.dim() > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes %s",
                           str(self.sizes()).c_str());
            KINDLING_CHECK(Runtime, groups > 0, "Number of groups to divide channels in must be positive. Value of groups:%ld", groups);
            int64_t c = self.size(1);
            KINDLING_CHECK(Runtime, c % groups == 0, "Number of channels must be divisible by groups. Got %ld channels and %ld groups.", c,
                           groups);
            if (!self.numel()) return view(resolve_neg(resolve_conj(self)), self.sizes());
            int64_t rest = 1;
            for (int64_t i = 2; i < self.dim(); i++) rest *= self.size(i);
            return like_input(
                _unsafe_view(clone(transpose(reshape(self, {self.size(0), groups, c / groups, rest}), 1, 2), MemoryFormat::Contiguous),
                             self.sizes()),
                self);
        }),
    });
}
