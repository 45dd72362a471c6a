// operators/sparse/coo.cpp: COO tensors: how they are made, what they hold, and what turns them into others.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/forms.h"
#include "operators/sparse/kernels.h"

namespace kindling {

Tensor make_coo(IntList sizes, const Tensor& indices, const Tensor& values, bool coalesced) {
    return make_sparse(Layout::Sparse, sizes,
                       {indices, values, {}, coalesced || (indices.size(1) < 2 && values.size(0) == indices.size(1))});
}

Tensor with_values(const Tensor& like, const Tensor& values) {
    SparseParts parts = parts_of(like);
    parts.values = values;
    return make_sparse(like.impl()->layout, like.sizes(), parts);
}

Tensor flat_indices(const Tensor& indices, IntList sizes) {
    const int64_t dims = indices.size(0);
    if (dims == 0) return zeros({indices.size(1)}, DType::Int64);
    Tensor flat = select(indices, 0, 0);
    for (int64_t d = 1; d < dims; d++) flat = add(mul(flat, wrap_number(Scalar(sizes[static_cast<size_t>(d)]))), select(indices, 0, d));
    return flat;
}

/// Which elements of a sorted list are the first of their kind.
static Tensor first_of_each(const Tensor& sorted) {
    Tensor changes = ne(slice(sorted, 0, 1, std::nullopt), slice(sorted, 0, 0, -1));
    return cat(std::vector<Tensor>{ones({1}, DType::Bool), changes}, 0);
}

Tensor coalesced(const Tensor& coo) {
    const SparseParts& parts = parts_of(coo);
    if (parts.coalesced) return coo;
    if (element_count(coo) < 2) return make_coo(coo.sizes(), parts.indices, parts.values, true);
    auto [sorted, order] = sort(flat_indices(parts.indices, coo.sizes()), true, 0, false);
    Tensor first = first_of_each(sorted), begins = select(nonzero(first), 1, 0);
    Tensor chosen = index_select(order, 0, begins), values = index_select(parts.values, 0, chosen);
    if (begins.size(0) < order.size(0)) {
        Tensor group = sub(cumsum(first, 0), wrap_number(Scalar(1)));
        Tensor others = select(nonzero(logical_not(first)), 1, 0);
        values = index_add(values, 0, index_select(group, 0, others), index_select(parts.values, 0, index_select(order, 0, others)));
    }
    return make_coo(coo.sizes(), index_select(parts.indices, 1, chosen), values, true);
}

static int64_t product(IntList sizes) {
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    return count;
}
static IntList first(IntList sizes, int64_t count) { return {sizes.data(), static_cast<size_t>(count)}; }
static IntList behind(IntList sizes, int64_t count) { return {sizes.data() + count, sizes.size() - static_cast<size_t>(count)}; }
static Sizes joined(int64_t front, IntList rest) {
    Sizes sizes{front};
    for (int64_t size : rest) sizes.push_back(size);
    return sizes;
}

Tensor values_at(const Tensor& source, const Tensor& indices) {
    const int64_t dims = indices.size(0);
    IntList front = first(source.sizes(), dims), rest = behind(source.sizes(), dims);
    Tensor flat = flat_indices(indices, front);
    if (!is_sparse(source)) return index_select(reshape(source, joined(product(front), rest)), 0, flat);
    Tensor from = coalesced(source);
    const SparseParts& parts = parts_of(from);
    KINDLING_CHECK(Runtime, sparse_dims(from) == dims, "sparse_mask(): the number of sparse dimensions differs: %ld and %ld",
                   sparse_dims(from), dims);
    const int64_t count = element_count(from);
    if (!count) return zeros(joined(flat.size(0), rest), source.dtype());
    Tensor places = flat_indices(parts.indices, from.sizes());
    Tensor at = clamp_max(searchsorted(places, flat), Scalar(count - 1));
    Tensor there = eq(index_select(places, 0, at), flat), values = index_select(parts.values, 0, at);
    Sizes wide{flat.size(0)};
    for (size_t i = 0; i < rest.size(); i++) wide.push_back(1);
    return masked_fill(values, logical_not(view(there, wide)), Scalar(0));
}

Tensor values_like(const Tensor& source, const Tensor& pattern) {
    if (is_sparse(source) && source.storage() == pattern.storage()) return parts_of(source).values;
    Tensor from = is_compressed(source) ? as_coo(source) : source;
    if (is_coo(pattern)) return values_at(from, parts_of(pattern).indices);
    return reshape(values_at(from, parts_of(as_coo(pattern)).indices), parts_of(pattern).values.sizes());
}

static Tensor coo_to_dense(const Tensor& coo) {
    const SparseParts& parts = parts_of(coo);
    const int64_t dims = sparse_dims(coo);
    if (dims == 0)
        return reshape(element_count(coo) ? sum(parts.values, IntList({0}), false, coo.dtype()) : zeros(coo.sizes(), coo.dtype()),
                       coo.sizes());
    Tensor flat = flat_indices(parts.indices, coo.sizes());
    Tensor dense = zeros(joined(product(first(coo.sizes(), dims)), behind(coo.sizes(), dims)), coo.dtype());
    if (flat.size(0)) dense = parts.coalesced ? index_copy(dense, 0, flat, parts.values) : index_add(dense, 0, flat, parts.values);
    return reshape(dense, coo.sizes());
}

Tensor compressed_to_dense(const Tensor& self);
Tensor compressed_to_coo(const Tensor& self);
Tensor as_dense(const Tensor& tensor) {
    if (is_coo(tensor)) return coo_to_dense(tensor);
    return is_compressed(tensor) ? compressed_to_dense(tensor) : tensor;
}

static Tensor dense_to_coo(const Tensor& self, int64_t dims) {
    KINDLING_CHECK(Runtime, dims > 0 || self.dim() == 0, "dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0");
    KINDLING_CHECK(Runtime, dims >= 0 && dims <= self.dim(),
                   "dense_to_sparse: sparse_dim argument must be in [0,%ld] range, but %ld is given", self.dim(), dims);
    Tensor mask = ne(self, Scalar(0));
    if (self.dim() == 0) {
        int64_t count = mask.item<bool>() ? 1 : 0;
        return make_coo({}, zeros({0, count}, DType::Int64), count ? reshape(self, {1}) : zeros({0}, self.dtype()), true);
    }
    IntList front = first(self.sizes(), dims), rest = behind(self.sizes(), dims);
    if (!rest.empty()) mask = any(reshape(mask, Sizes{product(front), product(rest)}), 1);
    Tensor places = select(nonzero(reshape(mask, {product(front)})), 1, 0);
    Tensor values = index_select(reshape(self, joined(product(front), rest)), 0, places);
    Tensor indices = t(nonzero(reshape(mask, front)));
    return make_coo(self.sizes(), contiguous(indices), values, true);
}

Tensor as_coo(const Tensor& tensor, int64_t dims) {
    if (is_coo(tensor)) return tensor;
    if (is_compressed(tensor)) return compressed_to_coo(tensor);
    return dense_to_coo(tensor, dims < 0 ? tensor.dim() : dims);
}

void need_coo(const Tensor& tensor, const char* name) {
    KINDLING_CHECK(Runtime, is_coo(tensor), "%s expected sparse coordinate tensor layout but got %s", name,
                   layout_word(tensor.impl()->layout));
}

void need_sparse(const Tensor& tensor, const char* name) {
    KINDLING_CHECK(NotImplemented, is_sparse(tensor),
                   "Could not run 'aten::%s' with arguments from the 'CPU' backend. This could be because the operator doesn't exist for "
                   "this backend, or was omitted during the selective/custom build process (if using custom build).",
                   name);
}

void need_kernel(const Tensor& tensor, const char* name) {
    need_sparse(tensor, name);
    KINDLING_CHECK(NotImplemented, is_coo(tensor),
                   "Could not run 'aten::%s' with arguments from the 'SparseCsrCPU' backend. This could be because the operator doesn't "
                   "exist for this backend, or was omitted during the selective/custom build process (if using custom build).",
                   name);
}

/// A part under a header of its own.
static Tensor shown(const Tensor& part) { return make_view(part, part.sizes(), part.strides(), part.storage_offset()); }

static void check_coo(const Tensor& indices, const Tensor& values, IntList size, bool thorough, bool coalesced) {
    KINDLING_CHECK(Runtime, indices.dim() != 1 || indices.size(0) + values.dim() - 1 == static_cast<int64_t>(size.size()),
                   "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = %zu, sparse_dim = %ld, dense_dim = %ld",
                   size.size(), indices.size(0), values.dim() - 1);
    KINDLING_CHECK(Runtime, !is_sparse(indices), "expected indices to be a dense tensor, but got indices of layout %s",
                   layout_word(indices.impl()->layout));
    KINDLING_CHECK(Runtime, !is_sparse(values), "expected values to be a dense tensor, but got values of layout %s",
                   layout_word(values.impl()->layout));
    KINDLING_CHECK(Runtime, indices.dim() == 2, "indices must be sparse_dim x nnz, but got: %s", str(indices.sizes()).c_str());
    const int64_t dims = indices.size(0), dense = values.dim() - 1;
    KINDLING_CHECK(Runtime, dims + dense == static_cast<int64_t>(size.size()),
                   "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = %zu, sparse_dim = %ld, dense_dim = %ld",
                   size.size(), dims, dense);
    KINDLING_CHECK(Runtime, indices.size(1) == values.size(0),
                   "indices and values must have same nnz, but got nnz from indices: %ld, nnz from values: %ld", indices.size(1),
                   values.size(0));
    if (!thorough) { // the thorough check is of the places alone, as in PyTorch; what makes the tensor looks at the values as well
        Sizes expected = joined(values.size(0), behind(size, dims));
        KINDLING_CHECK(Runtime, IntList(expected) == values.sizes(), "values has incorrect size, expected %s, got %s",
                       str(expected).c_str(), str(values.sizes()).c_str());
        return;
    }
    KINDLING_CHECK(Runtime, !indices.numel() || indices.dtype() == DType::Int64, "expected scalar type Long but found %s",
                   scalar_type_name(indices.dtype()));
    if (!indices.numel() || indices.is_meta()) {
        for (int64_t d = 0; d < dims; d++)
            KINDLING_CHECK(Runtime, size[static_cast<size_t>(d)] > 0 || !indices.numel(), "found size 0 with indices");
        return;
    }
    Tensor lowest = amin(indices, IntList({1})), highest = amax(indices, IntList({1}));
    for (int64_t d = 0; d < dims; d++) {
        int64_t low = select(lowest, 0, d).item<int64_t>(), high = select(highest, 0, d).item<int64_t>();
        KINDLING_CHECK(Runtime, low >= 0, "found negative index %ld for dim %ld", low, d);
        KINDLING_CHECK(Runtime, high < size[static_cast<size_t>(d)],
                       "size is inconsistent with indices: for dim %ld, size is %ld but found index %ld", d, size[static_cast<size_t>(d)],
                       high);
    }
    if (!coalesced || indices.size(1) < 2) return;
    Tensor flat = flat_indices(indices, size);
    KINDLING_CHECK(Runtime, all(gt(slice(flat, 0, 1, std::nullopt), slice(flat, 0, 0, -1))).item<bool>(),
                   "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor");
}

Tensor pattern_of(const Tensor& self) {
    Tensor plain = detach(self);
    return is_coo(plain) ? coalesced(plain) : plain;
}

/// A gradient in the layout of what it belongs to.
static Tensor laid_out_as(const Tensor& grad, const Tensor& self) {
    if (grad.impl()->layout == self.impl()->layout) return grad;
    if (!is_sparse(self)) return to_dense(grad);
    std::optional<IntList> block;
    if (is_compressed(self) && is_blocked(self.impl()->layout)) block = block_of(self);
    return to_sparse(grad, self.impl()->layout, block, is_sparse(grad) ? std::nullopt : std::optional<int64_t>(dense_dims(self)));
}

/// Whether so many dimensions with elements of their own and without can be those of a size.
static void check_dims(IntList size, int64_t sparse_dim, int64_t dense_dim) {
    KINDLING_CHECK(Runtime, static_cast<int64_t>(size.size()) == sparse_dim + dense_dim,
                   "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = %zu, sparse_dim = %ld, dense_dim = %ld",
                   size.size(), sparse_dim, dense_dim);
    KINDLING_CHECK(Runtime, sparse_dim >= 0 && dense_dim >= 0,
                   "numbers of dimensions must not be negative, but got sparse_dim %ld and dense_dim %ld", sparse_dim, dense_dim);
    for (int64_t each : size)
        KINDLING_CHECK(Runtime, each >= 0, "Trying to create tensor with negative dimension %ld: %s", each, str(size).c_str());
}

static void check_layout(std::optional<Layout> layout, const char* name) {
    KINDLING_CHECK(NotImplemented, layout.value_or(Layout::Strided) == Layout::Sparse,
                   "Could not run 'aten::%s' with arguments from the '%s' backend. This could be because the operator doesn't exist for "
                   "this backend, or was omitted during the selective/custom build process (if using custom build).",
                   name, layout && is_compressed(*layout) ? "SparseCsrCPU" : "CPU");
}

static Tensor empty_coo(int64_t dims, IntList size, DType dtype) {
    IntList rest = behind(size, dims);
    return make_coo(size, empty({dims, 0}, DType::Int64), zeros(joined(0, rest), dtype), true);
}

} // namespace kindling

OPERATORS(sparse) {
    declare("_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size, Tensor indices, "
            "Tensor values, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? "
            "is_coalesced=None) -> Tensor")({
        doc("A COO tensor of these indices and values, which it shares; nothing is checked"),
        in(space::Torch),
        takes_sparse(),
        no_out(),
        composition([](int64_t sparse_dim, int64_t dense_dim, IntList size, const Tensor& indices, const Tensor& values, DType dtype,
                       std::optional<Layout> layout, std::optional<Device>, std::optional<bool>, std::optional<bool> is_coalesced) {
            check_layout(layout, "_sparse_coo_tensor_with_dims_and_tensors");
            check_dims(size, sparse_dim, dense_dim);
            KINDLING_CHECK(Runtime, indices.dtype() == DType::Int64, "indices must be an int64 tensor");
            KINDLING_CHECK(Runtime, indices.dim() == 2 && indices.size(0) == sparse_dim,
                           "indices has incorrect first dimension, expected %ld, got %s", sparse_dim, str(indices.sizes()).c_str());
            KINDLING_CHECK(Runtime, values.dim() == dense_dim + 1, "values has incorrect dimensions, expected %ld, got %ld", dense_dim + 1,
                           values.dim());
            Tensor result = make_coo(size, indices, dtype == DType::None || dtype == values.dtype() ? values : to(values, dtype),
                                     is_coalesced.value_or(false));
            if (!is_coalesced && indices.size(1) >= 2) parts_of(result).coalesced = false;
            return result;
        }),
        derivative(
            "values", GIVEN(Tensor grad, Tensor result) { return _sparse_values_like(grad, detach(result)); }),
    });
    declare("_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, *, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor")({
        doc("A COO tensor of these indices and values; places are not checked"),
        in(space::Torch),
        no_out(),
        composition([](const Tensor& indices, const Tensor& values, IntList size, DType, std::optional<Layout>,
                       std::optional<Device> device, std::optional<bool>, std::optional<bool> is_coalesced) {
            Tensor kept = values.dim() ? values : reshape(values, {1});
            check_coo(indices, kept, size, false, false);
            return _sparse_coo_tensor_with_dims_and_tensors(indices.size(0), kept.dim() - 1, size, indices, kept, values.dtype(),
                                                            Layout::Sparse, device, std::nullopt, is_coalesced);
        }),
    });
    declare("_validate_sparse_coo_tensor_args(Tensor indices, Tensor values, int[] size, bool? is_coalesced=None, "
            "bool? check_pinning=None) -> ()")({
        doc("RuntimeError where these are not the parts of a COO tensor"),
        in(space::Torch),
        not_differentiable(),
        takes_sparse(),
        composition([](const Tensor& indices, const Tensor& values, IntList size, std::optional<bool> is_coalesced, std::optional<bool>) {
            check_coo(indices, values.dim() ? values : reshape(values, {1}), size, true, is_coalesced.value_or(false));
        }),
    });
    declare("_indices(Tensor(a) self) -> Tensor(a)")({
        doc("Indices of a COO tensor, coalesced or not"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) {
            need_sparse(self, "_indices");
            return shown(parts_of(self).indices);
        }),
    });
    declare("_values(Tensor(a) self) -> Tensor(a)")({
        doc("Values of a COO tensor, coalesced or not, outside the graph"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) {
            need_sparse(self, "_values");
            return shown(parts_of(self).values);
        }),
    });
    declare("indices(Tensor(a) self) -> Tensor(a)")({
        doc("Indices of a coalesced COO tensor"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) {
            KINDLING_CHECK(Runtime, is_coo(self), "indices expected sparse coordinate tensor layout but got %s",
                           layout_word(self.impl()->layout));
            KINDLING_CHECK(Runtime, parts_of(self).coalesced, "Cannot get indices on an uncoalesced tensor, please call .coalesce() first");
            return shown(parts_of(self).indices);
        }),
    });
    declare("values(Tensor(a) self) -> Tensor(a)")({
        doc("Values of a compressed or coalesced COO tensor"),
        in(space::Method),
        takes_sparse(),
        header([](const Tensor& self) {
            KINDLING_CHECK(Runtime, is_sparse(self), "values expected sparse tensor layout but got %s", layout_word(self.impl()->layout));
            KINDLING_CHECK(Runtime, !is_coo(self) || parts_of(self).coalesced,
                           "Cannot get values on an uncoalesced tensor, please call .coalesce() first");
            return shown(parts_of(self).values);
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self) { return _sparse_with_values(detach(self), grad); }),
    });
    declare("is_coalesced(Tensor self) -> bool")({
        doc("Whether a COO tensor's indices are sorted, each place once"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) {
            need_coo(self, "is_coalesced");
            return parts_of(self).coalesced;
        }),
    });
    declare("_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)")({
        doc("Says of a COO tensor that it is coalesced, or not"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self, bool coalesced) {
            need_kernel(self, "_coalesced_");
            parts_of(self).coalesced = coalesced;
            return self;
        }),
    });
    declare("_nnz(Tensor self) -> int")({
        doc("How many elements a sparse tensor has"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) {
            need_sparse(self, "_nnz");
            return element_count(self);
        }),
    });
    declare("sparse_dim(Tensor self) -> int")({
        doc("How many dimensions of a sparse tensor have indices; 0 of a strided one"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) { return is_sparse(self) ? sparse_dims(self) : 0; }),
    });
    declare("dense_dim(Tensor self) -> int")({
        doc("How many dimensions of a sparse tensor its values have; all of a strided one"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) { return is_sparse(self) ? dense_dims(self) : self.dim(); }),
    });
    declare("_dimI(Tensor self) -> int")({
        doc("sparse_dim"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) {
            need_coo(self, "_dimI");
            return sparse_dims(self);
        }),
    });
    declare("_dimV(Tensor self) -> int")({
        doc("dense_dim"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) {
            need_coo(self, "_dimV");
            return dense_dims(self);
        }),
    });
    declare("_coalesce(Tensor self) -> Tensor")({
        doc("A COO tensor with sorted indices, each place once"),
        in(space::Torch),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self) { return coalesced(self); }),
        derivative(
            "self", GIVEN(Tensor grad) { return grad; }),
    });
    declare("coalesce(Tensor(a) self) -> Tensor(a)")({
        doc("A COO tensor with sorted indices, each place once: itself if it is so already"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self) {
            need_coo(self, "coalesce");
            return parts_of(self).coalesced ? self : _coalesce(self);
        }),
    });
    declare("_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor")({
        doc("A sparse tensor as a strided one"),
        in(space::Method),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self, DType dtype, std::optional<bool>) {
            KINDLING_CHECK(Runtime, dtype == DType::None, "dtype argument is not supported by sparse_to_dense");
            return as_dense(self);
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor self, std::optional<bool> masked_grad) {
                return masked_grad.value_or(true) ? sparse_mask(grad, pattern_of(self)) : laid_out_as(grad, self);
            }),
    });
    declare("to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor")({
        doc("The tensor as a strided one; a copy, unless it is one"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, DType dtype, std::optional<bool> masked_grad) {
            if (is_sparse(self)) return _to_dense(self, dtype, masked_grad);
            return dtype == DType::None ? self : to(self, dtype);
        }),
    });
    declare("_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor")({
        doc("The tensor in a sparse layout"),
        in(space::Method),
        takes_sparse(),
        no_out(),
        composition(
            [](const Tensor& self, std::optional<Layout> layout, std::optional<IntList> blocksize, std::optional<int64_t> dense_dim) {
                const Layout wanted = layout.value_or(Layout::Sparse);
                check_conversion(self, wanted, blocksize, dense_dim);
                return as_layout(self, wanted, blocksize.value_or(IntList()), dense_dim);
            }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self) { return laid_out_as(grad, self); }),
    });
    declare("_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor")({
        doc("The tensor as COO with this many sparse dimensions"),
        in(space::Method),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self, int64_t sparse_dim) {
            if (!is_sparse(self)) return dense_to_coo(self, sparse_dim);
            KINDLING_CHECK(Runtime, sparse_dim == sparse_dims(self),
                           "to_sparse: conversion from %s to Sparse with sparse_dim argument !=self.sparse_dim() is not supported",
                           layout_word(self.impl()->layout));
            return as_coo(self);
        }),
        derivative(
            "self", GIVEN(Tensor grad, Tensor self) { return laid_out_as(grad, self); }),
    });
    declare("to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor")({
        doc("The tensor in a sparse layout, COO unless one is named"),
        in(space::Method),
        no_out(),
        composition(
            [](const Tensor& self, std::optional<Layout> layout, std::optional<IntList> blocksize, std::optional<int64_t> dense_dim) {
                Layout wanted = layout.value_or(Layout::Sparse);
                if (self.impl()->layout == wanted) {
                    check_conversion(self, wanted, blocksize, dense_dim);
                    return self;
                }
                return _to_sparse(self, wanted, blocksize, dense_dim);
            }),
    });
    declare("to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor")({
        doc("The tensor as COO with this many sparse dimensions"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, int64_t sparse_dim) {
            if (is_coo(self) && sparse_dims(self) == sparse_dim) return self;
            return _to_sparse(self, sparse_dim);
        }),
    });
    declare("sparse_mask(Tensor self, Tensor mask) -> Tensor")({
        doc("The elements of self where a sparse tensor has elements"),
        in(space::Method),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self, const Tensor& mask) {
            need_sparse(mask, "sparse_mask");
            KINDLING_CHECK(Runtime, mask.sizes() == self.sizes(),
                           "sparse_mask(): operands have incompatible sizes; self has size %s but mask has size %s",
                           str(self.sizes()).c_str(), str(mask.sizes()).c_str());
            return with_values(mask, values_like(self, mask));
        }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor mask, Tensor self_shape) {
                Tensor masked = sparse_mask(grad, mask);
                return self_shape.impl()->layout == Layout::Strided ? to_dense(masked) : masked;
            }),
    });
    declare("_sparse_values_like(Tensor self, Tensor pattern) -> Tensor")({
        doc("The elements of a tensor that lie where a sparse tensor has elements, as its values lie"),
        in(space::Hidden),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& self, const Tensor& pattern) { return values_like(self, pattern); }),
        derivative(
            "self",
            GIVEN(Tensor grad, Tensor pattern, Tensor self_shape) {
                Tensor spread = _sparse_with_values(pattern, grad);
                return self_shape.impl()->layout == Layout::Strided ? to_dense(spread) : spread;
            }),
    });
    declare("_sparse_with_values(Tensor pattern, Tensor values) -> Tensor")({
        doc("A sparse tensor's places with other values"),
        in(space::Hidden),
        takes_sparse(),
        no_out(),
        header([](const Tensor& pattern, const Tensor& values) { return with_values(pattern, values); }),
        derivative(
            "values", GIVEN(Tensor grad, Tensor pattern) { return _sparse_values_like(grad, pattern); }),
    });
    declare("_sparse_coo_tensor_with_dims(int sparse_dim, int dense_dim, SymInt[] size, *, ScalarType? dtype=None, "
            "Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor")({
        doc("A COO tensor without elements"),
        in(space::Torch),
        takes_sparse(),
        not_differentiable(),
        no_out(),
        composition([](int64_t sparse_dim, int64_t dense_dim, IntList size, DType dtype, std::optional<Layout> layout,
                       std::optional<Device>, std::optional<bool>) {
            check_layout(layout, "_sparse_coo_tensor_with_dims");
            check_dims(size, sparse_dim, dense_dim);
            return empty_coo(sparse_dim, size, or_default(dtype));
        }),
    });
    declare("sparse_resize_(Tensor(a!) self, SymInt[] size, int sparse_dim, int dense_dim) -> Tensor(a!)")({
        doc("Other sizes and numbers of dimensions for a COO tensor, in place; it keeps its elements"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        composition([](const Tensor& self, IntList size, int64_t sparse_dim, int64_t dense_dim) {
            need_kernel(self, "sparse_resize_");
            check_dims(size, sparse_dim, dense_dim);
            const SparseParts& parts = parts_of(self);
            if (element_count(self) == 0) replace_parts(self, empty_coo(sparse_dim, size, self.dtype()));
            else {
                KINDLING_CHECK(Runtime, sparse_dim == sparse_dims(self) && dense_dim == dense_dims(self),
                               "changing the number of %s dimensions (from %ld to %ld) on a non-empty sparse tensor is not supported.",
                               sparse_dim == sparse_dims(self) ? "dense" : "sparse",
                               sparse_dim == sparse_dims(self) ? dense_dims(self) : sparse_dims(self),
                               sparse_dim == sparse_dims(self) ? dense_dim : sparse_dim);
                for (int64_t d = 0; d < sparse_dim; d++)
                    KINDLING_CHECK(Runtime, size[static_cast<size_t>(d)] >= self.size(d),
                                   "shrinking the size of sparse dimensions (from %s to %s) on a non-empty sparse tensor is not supported.",
                                   str(first(self.sizes(), sparse_dim)).c_str(), str(first(size, sparse_dim)).c_str());
                Sizes wanted = joined(element_count(self), behind(size, sparse_dim));
                Tensor values = parts.values;
                if (!(values.sizes() == IntList(wanted))) {
                    Tensor grown = zeros(wanted, values.dtype());
                    Tensor part = grown;
                    for (int64_t d = 1; d < values.dim(); d++) {
                        KINDLING_CHECK(Runtime, wanted[static_cast<size_t>(d)] >= values.size(d),
                                       "shrinking the size of dense dimensions (from %s to %s) is not supported",
                                       str(values.sizes()).c_str(), str(wanted).c_str());
                        part = slice(part, d, 0, values.size(d));
                    }
                    copy_(part, values);
                    values = grown;
                }
                replace_parts(self, make_coo(size, parts.indices, values, parts.coalesced));
            }
            written(self);
            return self;
        }),
    });
    declare("sparse_resize_and_clear_(Tensor(a!) self, SymInt[] size, int sparse_dim, int dense_dim) -> Tensor(a!)")({
        doc("Other sizes for a COO tensor, in place; it loses its elements"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        composition([](const Tensor& self, IntList size, int64_t sparse_dim, int64_t dense_dim) {
            need_kernel(self, "sparse_resize_and_clear_");
            check_dims(size, sparse_dim, dense_dim);
            replace_parts(self, empty_coo(sparse_dim, size, self.dtype()));
            written(self);
            return self;
        }),
    });
    declare("resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)")({
        doc("The sizes and numbers of dimensions of another COO tensor, in place"),
        takes_sparse(),
        not_differentiable(),
        composition([](const Tensor& self, const Tensor& the_template) {
            need_coo(self, "resize_as_sparse_");
            need_coo(the_template, "resize_as_sparse_");
            return sparse_resize_(self, the_template.sizes(), sparse_dims(the_template), dense_dims(the_template));
        }),
    });
    declare("copy_sparse_to_sparse_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)")({
        doc("Sizes and elements of another COO tensor, in place"),
        in(space::Hidden),
        takes_sparse(),
        not_differentiable(),
        composition([](const Tensor& self, const Tensor& src, bool) {
            replace_parts(self, clone(src));
            written(self);
            return self;
        }),
    });
}
