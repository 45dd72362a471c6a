// operators/sparse/reductions.cpp: sums, norms and softmax of sparse tensors.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/forms.h"
#include "operators/sparse/kernels.h"

namespace kindling {

static DType sum_type(const Tensor& self, DType dtype) {
    if (dtype != DType::None) return dtype;
    return is_integral(self.dtype()) || self.dtype() == DType::Bool ? DType::Int64 : self.dtype();
}

/// Over some dimensions of a COO tensor; strided once no sparse dimension is left.
static Tensor sum_over(const Tensor& self, IntList dims, bool keepdim, DType dtype) {
    Tensor from = coalesced(self);
    const uint64_t mask = dim_mask(dims, self.dim());
    const SparseParts& parts = parts_of(from);
    const int64_t sparse = sparse_dims(from);
    std::vector<Tensor> lines;
    Sizes sizes, inner;
    bool front = true, gone = false;
    for (int64_t d = 0; d < self.dim(); d++) {
        const bool summed = mask >> d & 1;
        if (!summed) sizes.push_back(self.size(d));
        if (d < sparse) {
            if (summed) gone = true;
            else lines.push_back(select(parts.indices, 0, d));
            front = front && !(gone && !summed);
        } else if (summed) {
            inner.push_back(d - sparse + 1);
        }
    }
    Tensor values = inner.empty() ? to(parts.values, dtype) : sum(parts.values, IntList(inner), false, dtype);
    if (lines.empty()) {
        Tensor all = sum(values, IntList({0}), false, dtype == DType::Bool ? DType::Int64 : dtype);
        if (!keepdim) return all;
        Sizes kept = self.sizes();
        for (int64_t d = 0; d < self.dim(); d++)
            if (mask >> d & 1) kept[static_cast<size_t>(d)] = 1;
        return reshape(all, kept);
    }
    Tensor result = make_coo(sizes, gone ? stack(lines, 0) : parts.indices, values, !gone);
    result = coalesced(result);
    if (!keepdim) return result;
    for (int64_t d = 0; d < self.dim(); d++)
        if (mask >> d & 1) result = unsqueeze(result, d);
    return result;
}

/// Which line along `dim` each element lies in.
static Tensor lines_of(const Tensor& self, int64_t dim) {
    const Tensor& indices = parts_of(self).indices;
    const int64_t dims = indices.size(0);
    if (dims == 1) return zeros({indices.size(1)}, DType::Int64);
    Sizes sizes(IntList(self.sizes().data(), static_cast<size_t>(dims)));
    sizes.erase(static_cast<size_t>(dim));
    Tensor others = cat(std::vector<Tensor>{narrow(indices, 0, 0, dim), narrow(indices, 0, dim + 1, dims - dim - 1)}, 0);
    return std::get<1>(_unique2(flat_indices(others, sizes), true, true, false));
}

static Tensor sum_by(const Tensor& values, const Tensor& lines, int64_t count) {
    Sizes sizes = values.sizes();
    sizes[0] = count;
    return index_select(index_add(zeros(sizes, values.dtype()), 0, lines, values), 0, lines);
}

static Tensor soft(const Tensor& given, int64_t dim, bool logarithm) {
    dim = wrap_dim(dim, given.dim());
    Tensor self = coalesced(given);
    KINDLING_CHECK(NotImplemented, is_floating(self.dtype()), "\"%s\" not implemented for '%s'", logarithm ? "log_softmax" : "softmax",
                   scalar_type_name(self.dtype()));
    const Tensor& values = parts_of(self).values;
    if (dim >= sparse_dims(self)) {
        const int64_t at = dim - sparse_dims(self) + 1;
        return with_values(self, logarithm ? log_softmax(values, at) : softmax(values, at));
    }
    const int64_t count = element_count(self);
    if (!count) return self;
    Tensor lines = lines_of(self, dim);
    Sizes sizes = values.sizes(), wide{count};
    for (int64_t d = 1; d < values.dim(); d++) wide.push_back(1);
    Tensor at = expand(view(lines, wide), sizes);
    Tensor top = index_select(scatter_reduce(full(sizes, Scalar(-__builtin_inf()), values.dtype()), 0, at, values, "amax"), 0, lines);
    Tensor moved = sub(values, top), powers = exp(moved), total = sum_by(powers, lines, count);
    return with_values(self, logarithm ? sub(moved, log(total)) : div(powers, total));
}

/// These gradients are computed on values alone: there is no way back through them.
static void refuse_second(const char* name) {
    KINDLING_CHECK(NotImplemented, !thread_state.grad_mode, "derivative for aten::%s is not implemented", name);
}

static Tensor soft_gradient(const Tensor& grad, const Tensor& output, int64_t dim, bool logarithm) {
    refuse_second(logarithm ? "_sparse_log_softmax_backward_data" : "_sparse_softmax_backward_data");
    dim = wrap_dim(dim, output.dim());
    Tensor g = values_at(grad, parts_of(output).indices), y = parts_of(output).values;
    Tensor weighted = logarithm ? g : mul(g, y), weight = logarithm ? exp(y) : y;
    Tensor total = dim >= sparse_dims(output) ? sum(weighted, IntList({dim - sparse_dims(output) + 1}), true)
                                              : sum_by(weighted, lines_of(output, dim), std::max<int64_t>(element_count(output), 1));
    return with_values(output, sub(weighted, mul(weight, total)));
}

void sparse_reductions(SparseKernels& sparse) {
    sparse("sum", [](const Tensor& self, DType dtype) { return sum(parts_of(self).values, sum_type(self, dtype)); });
    sparse("sum.dim_IntList", [](const Tensor& self, std::optional<IntList> dim, bool keepdim, DType dtype) {
        Tensor result = sum_over(is_compressed(self) ? as_coo(self) : self, dim.value_or(IntList()), keepdim, sum_type(self, dtype));
        return is_compressed(self) && keepdim ? as_layout(result, self.impl()->layout, {}) : result;
    });
    sparse("any", [](const Tensor& self) { return any(parts_of(self).values); });
    sparse.parts("linalg_vector_norm", [](const Tensor& self, const Scalar& ord, std::optional<IntList> dim, bool keepdim, DType dtype) {
        KINDLING_CHECK(
            Runtime, !dim || dim->empty() || static_cast<int64_t>(dim->size()) == self.dim(),
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of the input");
        KINDLING_CHECK(Runtime, !keepdim, "norm_sparse currently does not support keepdim=True");
        KINDLING_CHECK(Runtime, is_floating(self.dtype()) || is_complex(self.dtype()),
                       "norm(): input dtype should be either floating point or complex. Got %s instead.", scalar_type_name(self.dtype()));
        return linalg_vector_norm(values(is_coo(self) ? coalesce(self) : self), ord, std::nullopt, false, dtype);
    });
}

} // namespace kindling

OPERATORS(sparse_reductions) {
    declare("_sparse_sum(Tensor self) -> Tensor")({
        doc("The sum of all elements of a COO tensor"),
        in(space::Torch | space::Sparse),
        no_out(),
        composition([](const Tensor& self) { return sum(values(coalesce(self))); }),
    });
    declare("_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor")({
        doc("The sum of all elements of a COO tensor"),
        in(space::Torch | space::Sparse),
        no_out(),
        composition([](const Tensor& self, DType dtype) { return sum(values(coalesce(self)), dtype); }),
    });
    declare("_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor")({
        doc("The sum of a COO tensor over dimensions; sparse as long as a sparse dimension is left"),
        in(space::Torch | space::Sparse),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self, IntList dim) {
            KINDLING_CHECK(Runtime, !dim.empty(), "_sparse_sum: expected dim to be non-empty");
            need_kernel(self, "_sparse_sum");
            return sum_over(self, dim, false, self.dtype());
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, IntList dim) {
                refuse_second("_sparse_sum_backward");
                // The gradient of each element is that of what it was added to.
                Tensor from = coalesced(self);
                const uint64_t mask = dim_mask(dim, self.dim());
                const int64_t sparse = sparse_dims(from);
                const SparseParts& parts = parts_of(from);
                std::vector<Tensor> lines;
                for (int64_t d = 0; d < sparse; d++)
                    if (!(mask >> d & 1)) lines.push_back(select(parts.indices, 0, d));
                Tensor rows = lines.empty() ? unsqueeze(as_dense(grad), 0) : values_at(grad, stack(lines, 0));
                for (int64_t d = sparse; d < self.dim(); d++)
                    if (mask >> d & 1) rows = unsqueeze(rows, d - sparse + 1);
                return with_values(from, contiguous(expand(rows, parts.values.sizes())));
            }),
    });
    declare("_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor")({
        doc("The sum of a COO tensor over dimensions, in a dtype"),
        in(space::Torch | space::Sparse),
        no_out(),
        composition([](const Tensor& self, IntList dim, DType dtype) { return _sparse_sum(to(self, dtype), dim); }),
    });
    declare("_sparse_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")({
        doc("exp(x) / sum of exp(x) along dim, over the elements that a COO tensor has"),
        in(space::Torch | space::Sparse),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self, int64_t dim, bool half_to_float) {
            need_kernel(self, "_sparse_softmax");
            KINDLING_CHECK(Runtime, !half_to_float, "softmax: with half to float conversion is not supported on CPU");
            return soft(self, dim, false);
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor result, int64_t dim) { return soft_gradient(grad, result, dim, false); }),
    });
    declare("_sparse_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")({
        doc("exp(x) / sum of exp(x) along dim, over the elements that a COO tensor has"),
        in(space::Torch | space::Sparse),
        no_out(),
        composition([](const Tensor& self, int64_t dim, DType dtype) {
            return _sparse_softmax(dtype == DType::None ? self : to(self, dtype), dim, false);
        }),
    });
    declare("_sparse_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")({
        doc("The logarithm of _sparse_softmax"),
        in(space::Torch | space::Sparse),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self, int64_t dim, bool half_to_float) {
            need_kernel(self, "_sparse_log_softmax");
            KINDLING_CHECK(Runtime, !half_to_float, "log_softmax: with half to float conversion is not supported on CPU");
            return soft(self, dim, true);
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor result, int64_t dim) { return soft_gradient(grad, result, dim, true); }),
    });
    declare("_sparse_log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")({
        doc("The logarithm of _sparse_softmax"),
        in(space::Torch | space::Sparse),
        no_out(),
        composition([](const Tensor& self, int64_t dim, DType dtype) {
            return _sparse_log_softmax(dtype == DType::None ? self : to(self, dtype), dim, false);
        }),
    });
}
