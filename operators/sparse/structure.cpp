// operators/sparse/structure.cpp: sparse tensors that are copied, made like others, seen differently, or joined.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/forms.h"
#include "operators/loops.h"
#include "operators/sparse/kernels.h"

namespace kindling {

static Tensor empty_of(IntList size, DType dtype, Layout layout, int64_t dense = 0) {
    const int64_t dims = static_cast<int64_t>(size.size());
    if (layout == Layout::Jagged) return zeros(size, dtype); // strided, as in torch: ragged tensors have makers of their own
    KINDLING_CHECK(NotImplemented, layout != Layout::Mkldnn,
                   "There are no tensors of layout torch._mkldnn: oneDNN is not part of this build");
    if (layout == Layout::Sparse) {
        Sizes values{0};
        for (int64_t d = dims - dense; d < dims; d++) values.push_back(size[static_cast<size_t>(d)]);
        return make_coo(size, empty({dims - dense, 0}, DType::Int64), zeros(values, dtype), true);
    }
    KINDLING_CHECK(Runtime, dims >= 2, "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size %s",
                   str(size).c_str());
    KINDLING_CHECK(Runtime, !is_blocked(layout),
                   "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got layout %s", layout_word(layout));
    Sizes starts(IntList(size.data(), size.size() - 2)), none = starts;
    starts.push_back(size[static_cast<size_t>(dims - (by_rows(layout) ? 2 : 1))] + 1);
    none.push_back(0);
    return make_sparse(layout, size, {empty(none, DType::Int64), zeros(none, dtype), zeros(starts, DType::Int64)});
}

/// There are sparse tensors in memory only.
static void need_host(const std::optional<Device>& device) {
    KINDLING_CHECK(NotImplemented, !device || device->type == DeviceType::CPU, "sparse tensors on device %s are not supported",
                   name(device->type));
}

static SparseParts copied(SparseParts parts) {
    parts.indices = clone(parts.indices);
    parts.values = clone(parts.values);
    if (parts.compressed.defined()) parts.compressed = clone(parts.compressed);
    return parts;
}

static Tensor zeros_of(const Tensor& self, DType dtype, const std::optional<Layout>& layout) {
    DType type = dtype == DType::None ? self.dtype() : dtype;
    Layout wanted = layout.value_or(self.impl()->layout);
    if (wanted == Layout::Strided) return zeros(self.sizes(), type);
    if (is_compressed(self) && wanted == self.impl()->layout) {
        const SparseParts& parts = parts_of(self);
        const int64_t batch = batch_dims(self);
        return make_sparse(wanted, self.sizes(),
                           {narrow(parts.indices, -1, 0, 0), to(narrow(parts.values, batch, 0, 0), type), zeros_like(parts.compressed)});
    }
    if (is_blocked(wanted)) return as_layout(zeros(self.sizes(), type), wanted, {}, is_sparse(self) ? dense_dims(self) : 0);
    return empty_of(self.sizes(), type, wanted, is_sparse(self) ? dense_dims(self) : 0);
}

/// COO with the dimensions in another order; sparse ones stay in front of dense ones.
static Tensor permuted(const Tensor& self, IntList dims) {
    KINDLING_CHECK(Runtime, static_cast<int64_t>(dims.size()) == self.dim(),
                   "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
                   "dimensions i.e. input.dim() = %ld is not equal to len(dims) = %zu",
                   self.dim(), dims.size());
    const int64_t sparse = sparse_dims(self);
    Sizes sizes, front, back{0};
    bool plain = true;
    for (size_t i = 0; i < dims.size(); i++) {
        int64_t dim = wrap_dim(dims[i], self.dim());
        plain &= dim == static_cast<int64_t>(i);
        sizes.push_back(self.size(dim));
        const bool in_front = static_cast<int64_t>(i) < sparse;
        KINDLING_CHECK(Runtime, in_front == (dim < sparse),
                       "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only transpositions within "
                       "sparse and dense dimensions are supported.");
        if (in_front) front.push_back(dim);
        else back.push_back(dim - sparse + 1);
    }
    dim_mask(dims, self.dim());
    const SparseParts& parts = parts_of(self);
    Tensor indices = parts.indices;
    std::vector<Tensor> rows;
    for (int64_t dim : front) rows.push_back(select(parts.indices, 0, dim));
    bool same_front = true;
    for (size_t i = 0; i < front.size(); i++) same_front &= front[i] == static_cast<int64_t>(i);
    if (!same_front) indices = stack(rows, 0);
    return make_coo(sizes, indices, permute(parts.values, back), parts.coalesced && same_front);
}

static Tensor transposed(const Tensor& self, int64_t a, int64_t b) {
    a = wrap_dim(a, self.dim());
    b = wrap_dim(b, self.dim());
    if (is_coo(self)) {
        const int64_t sparse = sparse_dims(self);
        KINDLING_CHECK(Runtime, a < sparse && b < sparse,
                       "sparse transpose: transposed dimensions must be sparse Got sparse_dim: %ld, d0: %ld, d1: %ld", sparse, a, b);
        Sizes order;
        for (int64_t d = 0; d < self.dim(); d++) order.push_back(d == a ? b : d == b ? a : d);
        return permuted(self, order);
    }
    if (a == b) return make_sparse(self.impl()->layout, self.sizes(), parts_of(self));
    const int64_t batch = batch_dims(self);
    if (a > b) std::swap(a, b);
    KINDLING_CHECK(Runtime, a >= batch && b < batch + 2,
                   "transpose(): can only transpose the two sparse dimensions of a compressed tensor, not %ld and %ld", a, b);
    static constexpr Layout other[] = {Layout::Strided,   Layout::Sparse,    Layout::SparseCsc,
                                       Layout::SparseCsr, Layout::SparseBsc, Layout::SparseBsr};
    SparseParts parts = parts_of(self);
    if (is_blocked(self.impl()->layout)) parts.values = transpose(parts.values, batch + 1, batch + 2);
    Sizes sizes = self.sizes();
    std::swap(sizes[static_cast<size_t>(a)], sizes[static_cast<size_t>(b)]);
    return make_sparse(other[static_cast<int>(self.impl()->layout)], sizes, parts);
}

static Tensor unsqueezed(const Tensor& self, int64_t dim) {
    dim = wrap_dim(dim, self.dim() + 1);
    const SparseParts& parts = parts_of(self);
    Sizes sizes = self.sizes();
    sizes.insert(static_cast<size_t>(dim), 1);
    const int64_t sparse = sparse_dims(self);
    if (dim > sparse) return make_coo(sizes, parts.indices, unsqueeze(parts.values, dim - sparse + 1));
    Tensor line = zeros({1, element_count(self)}, DType::Int64);
    Tensor indices = cat(std::vector<Tensor>{narrow(parts.indices, 0, 0, dim), line, narrow(parts.indices, 0, dim, sparse - dim)}, 0);
    return make_coo(sizes, indices, parts.values);
}

/// The elements for which `keep` holds.
static Tensor filtered(const Tensor& self, const Tensor& keep, IntList sizes, const Tensor& indices) {
    const SparseParts& parts = parts_of(self);
    Tensor at = reshape(nonzero(keep), {-1});
    return make_coo(sizes, index_select(indices, 1, at), index_select(parts.values, 0, at), parts.coalesced);
}

static Tensor selected(const Tensor& self, int64_t dim, int64_t index) {
    KINDLING_CHECK(Index, self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
    dim = wrap_dim(dim, self.dim());
    const int64_t size = self.size(dim);
    KINDLING_CHECK(Index, index >= -size && index < size, "select(): index %ld out of range for tensor of size %s at dimension %ld", index,
                   str(self.sizes()).c_str(), dim);
    if (index < 0) index += size;
    Sizes sizes = self.sizes();
    sizes.erase(static_cast<size_t>(dim));
    if (is_compressed(self)) {
        const int64_t batch = batch_dims(self);
        if (dim < batch) {
            SparseParts parts = parts_of(self);
            return make_sparse(self.impl()->layout, sizes,
                               {select(parts.indices, dim, index), select(parts.values, dim, index), select(parts.compressed, dim, index)});
        }
        return selected(as_coo(self), dim, index);
    }
    const SparseParts& parts = parts_of(self);
    const int64_t sparse = sparse_dims(self);
    if (dim >= sparse) return make_coo(sizes, parts.indices, select(parts.values, dim - sparse + 1, index));
    Tensor keep = eq(select(parts.indices, 0, dim), Scalar(index));
    if (sparse == 1) {
        Tensor at = reshape(nonzero(keep), {-1});
        return sum(index_select(parts.values, 0, at), IntList({0}), false, self.dtype());
    }
    Tensor indices = cat(std::vector<Tensor>{narrow(parts.indices, 0, 0, dim), narrow(parts.indices, 0, dim + 1, sparse - dim - 1)}, 0);
    return filtered(self, keep, sizes, indices);
}

static Tensor narrowed(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
    dim = wrap_dim(dim, self.dim());
    const int64_t size = self.size(dim);
    KINDLING_CHECK(Index, start >= -size && start <= size, "start out of range (expected to be in range of [%ld, %ld], but got %ld)", -size,
                   size, start);
    if (start < 0) start += size;
    KINDLING_CHECK(Runtime, start + length <= size && length >= 0,
                   "Invalid dimension for narrow(): start (%ld) + length (%ld) exceeds dimension size (%ld).", start, length, size);
    Sizes sizes = self.sizes();
    sizes[static_cast<size_t>(dim)] = length;
    const SparseParts& parts = parts_of(self);
    const int64_t sparse = sparse_dims(self);
    if (dim >= sparse) return make_coo(sizes, parts.indices, narrow(parts.values, dim - sparse + 1, start, length), parts.coalesced);
    Tensor line = select(parts.indices, 0, dim);
    Tensor keep = logical_and(ge(line, Scalar(start)), lt(line, Scalar(start + length)));
    Tensor moved = sub(narrow(parts.indices, 0, dim, 1), wrap_number(Scalar(start)));
    Tensor indices =
        cat(std::vector<Tensor>{narrow(parts.indices, 0, 0, dim), moved, narrow(parts.indices, 0, dim + 1, sparse - dim - 1)}, 0);
    return filtered(self, keep, sizes, indices);
}

static Tensor index_selected(const Tensor& self, int64_t dim, const Tensor& index) {
    KINDLING_CHECK(Index, index.dim() == 1 && (index.dtype() == DType::Int64 || index.dtype() == DType::Int32),
                   "index_select() argument index must be 1-D long-tensor.");
    KINDLING_CHECK(Index, self.dim() > 0, "index_select() cannot be applied to a 0-dim tensor.");
    dim = wrap_dim(dim, self.dim());
    const int64_t sparse = sparse_dims(self), size = self.size(dim), wanted = index.size(0);
    const SparseParts& parts = parts_of(self);
    Sizes sizes = self.sizes();
    sizes[static_cast<size_t>(dim)] = wanted;
    if (dim >= sparse) return make_coo(sizes, parts.indices, index_select(parts.values, dim - sparse + 1, index));
    Tensor places = to(index, DType::Int64);
    if (wanted) {
        int64_t low = amin(places).item<int64_t>(), high = amax(places).item<int64_t>();
        KINDLING_CHECK(Index, low >= -size && high < size,
                       "index_select(): index contains %ld that is out of range for tensor of size %s at dimension %ld",
                       low < -size ? low : high, str(self.sizes()).c_str(), dim);
        places = where(lt(places, Scalar(0)), add(places, wrap_number(Scalar(size))), places);
    }
    // Elements in the order of their index along dim; each wanted index takes a run of them.
    auto [line, order] = sort(select(parts.indices, 0, dim), true, 0, false);
    Tensor starts = searchsorted(line, places, false, false), counts = sub(searchsorted(line, places, false, true), starts);
    Tensor ends = cumsum(counts, 0);
    const int64_t total = wanted ? select(ends, 0, -1).item<int64_t>() : 0;
    Tensor to_row = repeat_interleave(counts, std::optional<int64_t>(total)),
           within = sub(arange(Scalar(total)), index_select(sub(ends, counts), 0, to_row));
    Tensor from = index_select(order, 0, add(index_select(starts, 0, to_row), within));
    Tensor indices = index_select(parts.indices, 1, from);
    indices = cat(std::vector<Tensor>{narrow(indices, 0, 0, dim), unsqueeze(to_row, 0), narrow(indices, 0, dim + 1, sparse - dim - 1)}, 0);
    return make_coo(sizes, indices, index_select(parts.values, 0, from));
}

static Tensor joined(TensorList tensors, int64_t dim) {
    for (const Tensor& each : tensors)
        KINDLING_CHECK(Runtime, is_coo(each), "Concatenating sparse tensors, but a dense tensor was found at position %ld.",
                       static_cast<long>(&each - tensors.data()));
    const Tensor& model = tensors[0];
    dim = wrap_dim(dim, model.dim());
    const int64_t sparse = sparse_dims(model), dense = dense_dims(model);
    Sizes sizes = model.sizes();
    int64_t total = 0;
    std::vector<Tensor> indices, values;
    ResultType type;
    for (const Tensor& each : tensors) type.add(*each.impl());
    const DType dtype = type.get();
    for (size_t i = 0; i < tensors.size(); i++) {
        const Tensor& each = tensors[i];
        KINDLING_CHECK(Runtime, sparse_dims(each) == sparse && dense_dims(each) == dense,
                       "All tensors must have the same: sparse_dim and dense_dim");
        bool fits = each.dim() == model.dim();
        for (int64_t d = 0; fits && d < model.dim(); d++) fits = d == dim || each.size(d) == model.size(d);
        KINDLING_CHECK(Runtime, fits,
                       "All tensors must have the same shape: %s (except in the concatenating dimension). Found shape: %s at position %zu",
                       str(model.sizes()).c_str(), str(each.sizes()).c_str(), i);
        const SparseParts& parts = parts_of(each);
        Tensor value = to(parts.values, dtype), index = parts.indices;
        if (dim < sparse) {
            if (total) {
                index = clone(index);
                add_(select(index, 0, dim), wrap_number(Scalar(total)));
            }
        } else {
            // Each block of values lies between zeros, as wide as all of them.
            Sizes front = value.sizes(), back = front;
            int64_t all = 0;
            for (const Tensor& other : tensors) all += other.size(dim);
            const size_t at = static_cast<size_t>(dim - sparse + 1);
            front[at] = total;
            back[at] = all - total - each.size(dim);
            value = cat(std::vector<Tensor>{zeros(front, dtype), value, zeros(back, dtype)}, static_cast<int64_t>(at));
        }
        indices.push_back(index);
        values.push_back(value);
        total += each.size(dim);
    }
    sizes[static_cast<size_t>(dim)] = total;
    return make_coo(sizes, cat(indices, 1), cat(values, 0));
}

static Tensor converted(const Tensor& self, DType dtype) {
    SparseParts parts = copied(parts_of(self));
    if (dtype != DType::None && dtype != self.dtype()) parts.values = to(parts.values, dtype);
    return make_sparse(self.impl()->layout, self.sizes(), parts);
}

void sparse_structure(SparseKernels& sparse) {
    using Device_ = std::optional<Device>;
    using Flag = std::optional<bool>;
    using Format = std::optional<MemoryFormat>;
    sparse("detach", [](const Tensor& self) { return untied(make_view(self, self.sizes(), self.strides(), 0)); });
    sparse("alias", [](const Tensor& self) { return make_view(self, self.sizes(), self.strides(), 0); });
    sparse("clone", [](const Tensor& self, Format format) {
        KINDLING_CHECK(Runtime, !format || *format == MemoryFormat::Preserve, "unsupported memory format option %s",
                       *format == MemoryFormat::Contiguous ? "Contiguous" : "ChannelsLast");
        return converted(self, DType::None);
    });
    sparse("_to_copy", [](const Tensor& self, DType dtype, std::optional<Layout> layout, Device_ device, Flag, bool, Format) {
        need_host(device);
        Tensor result = is_sparse(self) ? converted(self, dtype) : dtype == DType::None ? self : to(self, dtype);
        return layout && *layout != self.impl()->layout ? as_layout(result, *layout) : result;
    });
    sparse("copy_", [](const Tensor& self, const Tensor& src, bool) {
        KINDLING_CHECK(Runtime, is_sparse(self) && is_sparse(src),
                       "copy_() between dense and sparse Tensors is not implemented! Found self type = torch.%s%sTensor and src type = "
                       "torch.%s%sTensor",
                       is_sparse(self) ? "sparse." : "", scalar_type_name(self.dtype()), is_sparse(src) ? "sparse." : "",
                       scalar_type_name(src.dtype()));
        KINDLING_CHECK(Runtime,
                       !is_compressed(self) || self.impl()->layout != src.impl()->layout || element_count(self) == element_count(src),
                       "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported.");
        KINDLING_CHECK(Runtime, !is_compressed(self) || self.sizes() == src.sizes(),
                       "copy_() only supports same size tensors, but got %s and %s", str(self.sizes()).c_str(), str(src.sizes()).c_str());
        Tensor from = converted(src, self.dtype());
        if (from.impl()->layout != self.impl()->layout) from = as_layout(from, self.impl()->layout);
        if (!self.is_same(src)) replace_parts(self, from);
        written(self);
        return self;
    });
    sparse("empty.memory_format", [](IntList size, DType dtype, std::optional<Layout> layout, Device_ device, Flag, Format) {
        need_host(device);
        return empty_of(size, or_default(dtype), *layout);
    });
    sparse("zeros", [](IntList size, DType dtype, std::optional<Layout> layout, Device_ device, Flag) {
        need_host(device);
        return empty_of(size, or_default(dtype), *layout);
    });
    sparse("zeros_like", [](const Tensor& self, DType dtype, std::optional<Layout> layout, Device_ device, Flag, Format) {
        need_host(device);
        return zeros_of(self, dtype, layout);
    });
    sparse("empty_like", [](const Tensor& self, DType dtype, std::optional<Layout> layout, Device_ device, Flag, Format) {
        need_host(device);
        if (is_compressed(self) && layout.value_or(self.impl()->layout) == self.impl()->layout) {
            SparseParts parts = copied(parts_of(self));
            parts.values = empty(parts.values.sizes(), dtype == DType::None ? self.dtype() : dtype);
            return make_sparse(self.impl()->layout, self.sizes(), parts);
        }
        return zeros_of(self, dtype, layout);
    });
    sparse("new_empty", [](const Tensor& self, IntList size, DType dtype, std::optional<Layout> layout, Device_, Flag) {
        Layout wanted = layout.value_or(self.impl()->layout);
        DType type = dtype == DType::None ? self.dtype() : dtype;
        return wanted == Layout::Strided ? empty(size, type) : empty_of(size, type, wanted);
    });
    sparse("new_zeros", [](const Tensor& self, IntList size, DType dtype, std::optional<Layout> layout, Device_, Flag) {
        Layout wanted = layout.value_or(self.impl()->layout);
        DType type = dtype == DType::None ? self.dtype() : dtype;
        return wanted == Layout::Strided ? zeros(size, type) : empty_of(size, type, wanted);
    });
    sparse("zero_", [](const Tensor& self) {
        if (is_coo(self)) replace_parts(self, empty_of(self.sizes(), self.dtype(), Layout::Sparse, dense_dims(self)));
        else replace_parts(self, zeros_of(self, self.dtype(), self.impl()->layout));
        written(self);
        return self;
    });
    sparse.coo("ones", [](IntList, DType, std::optional<Layout>, Device_, Flag) -> Tensor {
        fail(ErrorKind::Runtime, "full(...) is not implemented for sparse layout");
    });
    sparse.coo("full", [](IntList, const Scalar&, DType, std::optional<Layout>, Device_, Flag) -> Tensor {
        fail(ErrorKind::Runtime, "full(...) is not implemented for sparse layout");
    });
    sparse.compressed("fill_.Scalar", [](const Tensor& self, const Scalar& value) {
        fill_(parts_of(self).values, value);
        written(self);
        return self;
    });
    sparse.compressed("randn_like", [](const Tensor& self, Generator* generator, DType dtype, std::optional<Layout>, Device_, Flag,
                                       Format) { return with_values(self, randn_like(parts_of(self).values, generator, dtype)); });
    sparse.compressed("full_like", [](const Tensor& self, const Scalar& value, DType dtype, std::optional<Layout>, Device_, Flag, Format) {
        return with_values(self, full_like(parts_of(self).values, value, dtype));
    });
    sparse.compressed("ones_like", [](const Tensor& self, DType dtype, std::optional<Layout>, Device_, Flag, Format) {
        return with_values(self, ones_like(parts_of(self).values, dtype));
    });
    sparse("_local_scalar_dense", [](const Tensor& self) { return as_dense(self).item_scalar(); });
    sparse.parts("stack", [](TensorList tensors, int64_t dim) {
        std::vector<Tensor> list;
        for (const Tensor& each : tensors) list.push_back(unsqueeze(each, dim));
        return cat(list, wrap_dim(dim, tensors[0].dim() + 1));
    });
    sparse.parts("unbind.int", [](const Tensor& self, int64_t dim) {
        std::vector<Tensor> list;
        for (int64_t i = 0; i < self.size(dim); i++) list.push_back(select(self, dim, i));
        return list;
    });
    sparse.coo("permute", Function<permuted>());
    sparse("transpose.int", Function<transposed>());
    sparse("t", [](const Tensor& self) {
        KINDLING_CHECK(Runtime, self.dim() <= 2 && (!is_coo(self) || (sparse_dims(self) <= 2 && dense_dims(self) == 0)),
                       "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got %ld sparse and %ld dense dimensions",
                       sparse_dims(self), dense_dims(self));
        return self.dim() == 2 ? transposed(self, 0, 1) : make_sparse(self.impl()->layout, self.sizes(), parts_of(self));
    });
    sparse.coo("unsqueeze", Function<unsqueezed>());
    sparse("select.int", Function<selected>());
    sparse.coo("narrow_copy", Function<narrowed>());
    sparse.coo("index_select", Function<index_selected>());
    sparse.coo("cat", Function<joined>());
    sparse("_conj", [](const Tensor& self) { return with_values(self, resolve_conj(conj(parts_of(self).values))); });
    sparse("_neg_view", [](const Tensor& self) { return with_values(self, neg(parts_of(self).values)); });
    sparse("reshape", [](const Tensor&, IntList) -> Tensor { fail(ErrorKind::Runtime, "reshape is not implemented for sparse tensors"); });
    // What asks for dtypes only.
    sparse("result_type.Tensor", [](const Tensor& tensor, const Tensor& other) {
        ResultType type;
        type.add(*tensor.impl());
        type.add(*other.impl());
        return type.get();
    });
    sparse("result_type.Scalar", [](const Tensor& tensor, const Scalar& other) {
        ResultType type;
        type.add(*tensor.impl());
        type.add(other);
        return type.get();
    });
    sparse("is_same_size", [](const Tensor& self, const Tensor& other) { return self.sizes() == other.sizes(); });
    sparse("resize_as_", [](const Tensor& self, const Tensor& the_template, Format) {
        KINDLING_CHECK(Runtime, is_coo(self) && is_coo(the_template), "resize_as_: both tensors must be sparse_coo");
        replace_parts(self, empty_of(the_template.sizes(), self.dtype(), Layout::Sparse, dense_dims(the_template)));
        written(self);
        return self;
    });
}

} // namespace kindling
