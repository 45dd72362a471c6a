// operators/sparse/compressed.cpp: CSR, CSC, BSR and BSC tensors: how they are made, what they hold, conversions.
//
// A batch of matrices has the same number of elements in each. Inside, every one is seen as [batch, rows or columns that are
// compressed, the others], blocks behind that, dense dimensions last.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/forms.h"
#include "operators/sparse/kernels.h"

namespace kindling {

static int64_t product(const int64_t* from, int64_t count) {
    int64_t result = 1;
    for (int64_t i = 0; i < count; i++) result *= from[i];
    return result;
}

/// The numbers that say where everything is.
namespace {
struct Shape {
    Layout layout;
    int64_t batch = 0, dense = 0; // how many dimensions
    int64_t matrices = 1;         // of all batches
    int64_t block[2] = {1, 1};
    int64_t compressed = 0, plain = 0; // rows and columns (CSC: columns and rows), of blocks

    Shape(Layout of, IntList sizes, int64_t batch_dims, IntList block_size)
        : layout(of), batch(batch_dims), dense(static_cast<int64_t>(sizes.size()) - batch_dims - 2) {
        matrices = product(sizes.data(), batch);
        if (is_blocked(of))
            for (int i = 0; i < 2; i++) block[i] = block_size[static_cast<size_t>(i)];
        int64_t rows = sizes[static_cast<size_t>(batch)] / block[0], columns = sizes[static_cast<size_t>(batch + 1)] / block[1];
        compressed = by_rows(of) ? rows : columns;
        plain = by_rows(of) ? columns : rows;
    }
};
} // namespace

IntList block_of(const Tensor& t) {
    if (!is_blocked(t.impl()->layout)) return {};
    const Tensor& values = parts_of(t).values;
    return {values.impl()->sizes() + parts_of(t).indices.dim(), 2};
}

static Shape shape_of(const Tensor& t) { return Shape(t.impl()->layout, t.sizes(), batch_dims(t), block_of(t)); }

Tensor row_indices_of(const Tensor& compressed, int64_t count) {
    Tensor ends = contiguous(slice(compressed, -1, 1, std::nullopt));
    Sizes sizes = ends.sizes();
    sizes.back() = count;
    Tensor elements = contiguous(expand(arange(Scalar(count), compressed.dtype()), sizes));
    return searchsorted(ends, elements, compressed.dtype() == DType::Int32, true);
}

Tensor compressed_of(const Tensor& rows, int64_t row_count) {
    Sizes sizes = rows.sizes();
    sizes.back() = row_count + 1;
    Tensor starts = contiguous(expand(arange(Scalar(row_count + 1), rows.dtype()), sizes));
    return searchsorted(contiguous(rows), starts, rows.dtype() == DType::Int32, false);
}

/// Sizes: batch, elements, block, dense.
static Sizes value_sizes(const Shape& s, IntList sizes, int64_t count) {
    Sizes result(IntList(sizes.data(), static_cast<size_t>(s.batch)));
    result.push_back(count);
    if (is_blocked(s.layout)) {
        result.push_back(s.block[0]);
        result.push_back(s.block[1]);
    }
    for (int64_t d = 0; d < s.dense; d++) result.push_back(sizes[static_cast<size_t>(s.batch + 2 + d)]);
    return result;
}

/// A strided tensor as [matrices, compressed, plain, block, dense...].
static Tensor tiled(const Tensor& self, const Shape& s) {
    Sizes sizes{s.matrices, self.size(s.batch) / s.block[0], s.block[0], self.size(s.batch + 1) / s.block[1], s.block[1]},
        order{0, 1, 3, 2, 4};
    if (!by_rows(s.layout)) std::swap(order[1], order[2]);
    for (int64_t d = 0; d < s.dense; d++) {
        sizes.push_back(self.size(s.batch + 2 + d));
        order.push_back(5 + d);
    }
    return permute(reshape(self, sizes), order);
}

static Tensor strided_to_compressed(const Tensor& self, Layout layout, IntList blocksize, int64_t dense) {
    const int64_t batch = self.dim() - 2 - dense;
    const Shape s(layout, self.sizes(), batch, blocksize);
    Tensor tiles = contiguous(tiled(self, s));
    Sizes rest(IntList(tiles.sizes().data() + 3, tiles.sizes().size() - 3));
    const int64_t inner = product(rest.data(), static_cast<int64_t>(rest.size()));
    Tensor mask = any(reshape(ne(tiles, Scalar(0)), Sizes{s.matrices, s.compressed, s.plain, inner}), -1);
    Tensor places = nonzero(mask);
    int64_t count = s.matrices ? places.size(0) / s.matrices : 0;
    if (s.matrices > 1) {
        Tensor counts = sum(reshape(mask, {s.matrices, s.compressed * s.plain}), IntList({1}));
        KINDLING_CHECK(Runtime, all(eq(counts, select(counts, 0, 0))).item<bool>(),
                       "Expect the same number of specified elements per batch.");
    }
    Sizes list(IntList(self.sizes().data(), static_cast<size_t>(batch)));
    list.push_back(count);
    Tensor rows = reshape(select(places, 1, 1), list), plain = contiguous(reshape(select(places, 1, 2), list));
    Sizes flat{s.matrices * s.compressed * s.plain};
    for (int64_t size : rest) flat.push_back(size);
    Tensor values = index_select(reshape(tiles, flat), 0, select(nonzero(reshape(mask, {flat[0]})), 1, 0));
    return make_sparse(layout, self.sizes(),
                       {plain, reshape(values, value_sizes(s, self.sizes(), count)), compressed_of(rows, s.compressed)});
}

Tensor compressed_to_dense(const Tensor& self) {
    const Shape s = shape_of(self);
    const SparseParts& parts = parts_of(self);
    const int64_t count = element_count(self);
    Tensor rows = reshape(to(row_indices_of(parts.compressed, count), DType::Int64), {s.matrices, count});
    Tensor matrix = reshape(arange(Scalar(s.matrices)), {s.matrices, 1});
    Tensor at = add(mul(add(mul(matrix, wrap_number(Scalar(s.compressed))), rows), wrap_number(Scalar(s.plain))),
                    reshape(to(parts.indices, DType::Int64), {s.matrices, count}));
    Sizes flat{s.matrices * count, s.block[0], s.block[1]}, tiles{s.matrices, s.compressed, s.plain, s.block[0], s.block[1]};
    Sizes order{0, 1, 3, 2, 4};
    if (!by_rows(s.layout)) order = Sizes{0, 2, 3, 1, 4};
    for (int64_t d = 0; d < s.dense; d++) {
        int64_t size = self.size(s.batch + 2 + d);
        flat.push_back(size);
        tiles.push_back(size);
        order.push_back(5 + d);
    }
    Sizes all_rows = flat;
    all_rows[0] = s.matrices * s.compressed * s.plain;
    Tensor dense = zeros(all_rows, self.dtype());
    if (flat[0]) dense = index_add(dense, 0, reshape(at, {flat[0]}), reshape(parts.values, flat));
    return reshape(permute(reshape(dense, tiles), order), self.sizes());
}

/// Indices of all elements, [dims, elements], and their values without blocks.
Tensor compressed_to_coo(const Tensor& self) {
    const Shape s = shape_of(self);
    const SparseParts& parts = parts_of(self);
    const int64_t count = element_count(self);
    Tensor outer = to(row_indices_of(parts.compressed, count), DType::Int64), inner = to(parts.indices, DType::Int64);
    const Tensor &rows = by_rows(s.layout) ? outer : inner, &columns = by_rows(s.layout) ? inner : outer;
    std::vector<Tensor> all;
    Sizes full(outer.sizes()); // batch, elements, block
    full.push_back(s.block[0]);
    full.push_back(s.block[1]);
    const int64_t dims = static_cast<int64_t>(full.size());
    auto along = [&](const Tensor& line, int64_t dim) {
        Sizes sizes(static_cast<size_t>(dims), 1);
        sizes[static_cast<size_t>(dim)] = line.size(0);
        return reshape(line, sizes);
    };
    auto flat = [&](const Tensor& t) { return reshape(contiguous(expand(t, full)), {-1}); };
    for (int64_t d = 0; d < s.batch; d++) all.push_back(flat(along(arange(Scalar(self.size(d))), d)));
    auto wide = [](const Tensor& t) { return unsqueeze(unsqueeze(t, -1), -1); };
    all.push_back(flat(add(mul(wide(rows), wrap_number(Scalar(s.block[0]))), along(arange(Scalar(s.block[0])), dims - 2))));
    all.push_back(flat(add(mul(wide(columns), wrap_number(Scalar(s.block[1]))), along(arange(Scalar(s.block[1])), dims - 1))));
    Tensor indices = stack(all, 0);
    Sizes sizes{indices.size(1)};
    for (int64_t d = 0; d < s.dense; d++) sizes.push_back(self.size(s.batch + 2 + d));
    Tensor values = reshape(parts.values, sizes);
    Tensor result = make_coo(self.sizes(), indices, values);
    parts_of(result).coalesced = s.layout == Layout::SparseCsr; // the others' order is not that of rows
    return result;
}

static Tensor coo_to_compressed(const Tensor& self, Layout layout, IntList blocksize, int64_t dense) {
    if (is_blocked(layout)) return strided_to_compressed(as_dense(self), layout, blocksize, dense);
    Tensor from = coalesced(self);
    Tensor rows = select(parts_of(from).indices, 0, 0), columns = select(parts_of(from).indices, 0, 1), values = parts_of(from).values;
    if (!by_rows(layout)) {
        Tensor order = std::get<1>(sort(columns, true, 0, false));
        Tensor other = rows;
        rows = index_select(columns, 0, order);
        columns = index_select(other, 0, order);
        values = index_select(values, 0, order);
    }
    return make_sparse(layout, self.sizes(), {contiguous(columns), values, compressed_of(rows, self.size(by_rows(layout) ? 0 : 1))});
}

static void check_block(const Tensor& self, IntList blocksize, int64_t batch, const char* word) {
    KINDLING_CHECK(Runtime, blocksize.size() == 2 && blocksize[0] > 0 && blocksize[1] > 0,
                   "blocksize needs to be a tuple of size 2 of positive integers, but got %s", str(blocksize).c_str());
    KINDLING_CHECK(Runtime, self.size(batch) % blocksize[0] == 0 && self.size(batch + 1) % blocksize[1] == 0,
                   "dense_to_sparse_%s: tensor sparse size (%ld,%ld) must be divisible by given blocksize (%ld,%ld)", word,
                   self.size(batch), self.size(batch + 1), blocksize[0], blocksize[1]);
}

/// Compressed the other way round, without a detour by way of strided memory.
static Tensor compressed_to_compressed(const Tensor& self, Layout layout, IntList blocksize) {
    const Layout from = self.impl()->layout;
    const bool same_block = is_blocked(from) == is_blocked(layout) && (!is_blocked(layout) || block_of(self) == blocksize);
    if (from == layout && same_block) return self;
    if (batch_dims(self) || !same_block) return strided_to_compressed(compressed_to_dense(self), layout, blocksize, dense_dims(self));
    const Shape s = shape_of(self);
    const SparseParts& parts = parts_of(self);
    Tensor rows = row_indices_of(parts.compressed, element_count(self)), order = std::get<1>(sort(parts.indices, true, 0, false));
    return make_sparse(layout, self.sizes(),
                       {index_select(rows, 0, order), index_select(parts.values, 0, order),
                        compressed_of(index_select(parts.indices, 0, order), s.plain)});
}

/// The checks of every conversion, PyTorch's in PyTorch's order.
void check_conversion(const Tensor& tensor, Layout layout, const std::optional<IntList>& blocksize, const std::optional<int64_t>& dense_dim,
                      const char* named) {
    const Layout from = tensor.impl()->layout;
    const bool dense = from == Layout::Strided;
    const std::string what = std::string(from == layout           ? "to_sparse"
                                         : dense                  ? "dense_to_sparse"
                                         : from == Layout::Sparse ? "sparse_coo_to_sparse"
                                                                  : "sparse_compressed_to_sparse") +
                             named;
    const char *word = what.c_str(), *source = layout_word(from), *target = layout_word(layout);
    KINDLING_CHECK(Runtime, from != Layout::Sparse || layout == from || sparse_dims(tensor) == 2,
                   "%s: conversion from %s to %s for input tensors with sparse_dim()!=2 is not supported",
                   word + (*named ? 7 : 0) /* "sparse_" */, source, target);
    KINDLING_CHECK(Runtime, !is_compressed(from) || is_blocked(from) || !is_blocked(layout) || !batch_dims(tensor),
                   "%s: conversion from %s to %s for batched inputs is not supported", word, source, target);
    if (blocksize) {
        KINDLING_CHECK(Runtime, blocksize->size() == 2, "%s: blocksize needs to be a tuple of size 2, but got %zu", word,
                       blocksize->size());
        KINDLING_CHECK(Runtime, (*blocksize)[0] > 0 && (*blocksize)[1] > 0, "%s: blocksize needs to be positive, but got %s", word,
                       str(*blocksize).c_str());
        KINDLING_CHECK(Runtime, is_blocked(layout), "%s: conversion from %s to %s with blocksize argument given is not supported", word,
                       source, target);
        if (is_blocked(from)) {
            KINDLING_CHECK(Runtime, block_of(tensor) == *blocksize,
                           "%s: conversion from %s to %s with blocksize changed from %s to %s is not supported", word, source, target,
                           str(block_of(tensor)).c_str(), str(*blocksize).c_str());
        } else {
            const int64_t after = dense ? dense_dim.value_or(0) : dense_dims(tensor), rows = tensor.size(-(after + 2)),
                          columns = tensor.size(-(after + 1));
            KINDLING_CHECK(Runtime, rows % (*blocksize)[0] == 0 && columns % (*blocksize)[1] == 0,
                           "%s: tensor sparse size (%ld,%ld) must be divisible by given blocksize (%ld,%ld)", word, rows, columns,
                           (*blocksize)[0], (*blocksize)[1]);
        }
    } else {
        KINDLING_CHECK(Runtime, !is_blocked(layout), "%s: conversion from %s to %s without blocksize argument given is not supported", word,
                       source, target);
    }
    if (!dense_dim) return;
    KINDLING_CHECK(Runtime, dense, "%s: conversion from %s to %s with dense_dim argument given is not supported", word, source, target);
    const int64_t most = tensor.dim() - (layout == Layout::Sparse ? 0 : 2);
    KINDLING_CHECK(Runtime, *dense_dim >= 0 && *dense_dim <= most, "%s: dense_dim argument must be in [0,%ld] range, but %ld is given",
                   word, most, *dense_dim);
    KINDLING_CHECK(Runtime, layout != Layout::Sparse || *dense_dim < tensor.dim() || !tensor.dim(),
                   "%s: dense_dim argument must be !=self.dim() when self.dim()>0", word);
}

Tensor as_layout(const Tensor& tensor, Layout layout, IntList blocksize, std::optional<int64_t> dense_dim) {
    if (layout == Layout::Strided) return as_dense(tensor);
    const Layout from = tensor.impl()->layout;
    const char* short_name = name(layout) + 7; // "csr"
    const std::string what = std::string(from == Layout::Strided  ? "dense"
                                         : from == Layout::Sparse ? "coo"
                                                                  : "sparse_compressed") +
                             "_to_sparse" + (layout == Layout::Sparse ? "" : std::string("_") + short_name);
    if (layout == Layout::Sparse) return as_coo(tensor, dense_dim ? tensor.dim() - *dense_dim : -1);
    if (from == Layout::Sparse)
        KINDLING_CHECK(Runtime, sparse_dims(tensor) == 2,
                       "%s: conversion from Sparse to %s for input tensors with sparse_dim()!=2 is not supported", what.c_str(),
                       layout_word(layout));
    const int64_t dense = is_sparse(tensor) ? dense_dims(tensor) : dense_dim.value_or(0);
    const int64_t batch = tensor.dim() - 2 - dense;
    if (from == Layout::Strided && tensor.dim() < 2) wrap_dim(-2, tensor.dim()); // raises
    KINDLING_CHECK(Runtime, batch >= 0, "%s: conversion from %s to %s for input tensors with dim()<2 is not supported", what.c_str(),
                   layout_word(from), layout_word(layout));
    if (is_compressed(from)) {
        KINDLING_CHECK(Runtime, is_blocked(layout) || !is_blocked(from), "%s: expected SparseCsr or SparseCsc layout but got %s",
                       what.c_str(), layout_word(from));
    }
    if (is_blocked(layout)) {
        if (blocksize.empty()) blocksize = block_of(tensor);
        check_block(tensor, blocksize, batch, short_name);
    }
    if (from == Layout::Strided) {
        int64_t matrices = 1;
        for (int64_t d = 0; d < batch; d++) matrices *= tensor.size(d);
        KINDLING_CHECK(Runtime, matrices > 0, "to_sparse_%s: Expected product of batch dimensions to be non-zero.", short_name);
        return strided_to_compressed(tensor, layout, blocksize, dense);
    }
    return from == Layout::Sparse ? coo_to_compressed(tensor, layout, blocksize, dense)
                                  : compressed_to_compressed(tensor, layout, blocksize);
}

/// to_sparse_csr and its kin, which say their own name.
static Tensor to_named(const Tensor& self, Layout layout, const std::optional<IntList>& blocksize, std::optional<int64_t> dense_dim) {
    check_conversion(self, layout, blocksize, dense_dim, format("_%s", name(layout) + 7).c_str());
    return to_sparse(self, layout, blocksize, dense_dim);
}

static Tensor shown(const Tensor& part) { return make_view(part, part.sizes(), part.strides(), part.storage_offset()); }

/// crow_indices and its kin.
static Tensor part_of(const Tensor& self, const char* what, bool compressed, bool rows) {
    const Layout layout = self.impl()->layout;
    bool fits = is_compressed(layout) && (by_rows(layout) == (compressed == rows));
    KINDLING_CHECK(Runtime, fits, "%s expected sparse %s tensor layout but got %s", what,
                   compressed == rows ? "row compressed" : "column compressed", layout_word(layout));
    return shown(compressed ? parts_of(self).compressed : parts_of(self).indices);
}

static void check_compressed(const Tensor& compressed, const Tensor& plain, const Tensor& values, IntList size, Layout layout) {
    const char* c = by_rows(layout) ? "crow_indices" : "ccol_indices";
    const char* p = by_rows(layout) ? "col_indices" : "row_indices";
    const int64_t block = is_blocked(layout) ? 2 : 0, batch = compressed.dim() - 1, dims = static_cast<int64_t>(size.size()),
                  dense = values.dim() - batch - block - 1;
    KINDLING_CHECK(Runtime, is_compressed(layout), "sparse compressed layout expected, but got %s", layout_word(layout));
    KINDLING_CHECK(Runtime, plain.dim() >= 1, "%s must have dimensionality >= 1 but got %ld", p, plain.dim());
    KINDLING_CHECK(Runtime, compressed.dim() >= 1, "%s must have dimensionality >= 1 but got %ld", c, compressed.dim());
    KINDLING_CHECK(Runtime, compressed.dim() == plain.dim(), "%s and %s dimensionalities must be equal but got %ld and %ld, respectively",
                   c, p, compressed.dim(), plain.dim());
    KINDLING_CHECK(Runtime, dims >= batch + 2,
                   "tensor dimensionality must be sum of batch, base, and dense dimensionalities (=%ld + 2 + %ld) but got %ld", batch,
                   dense, dims);
    KINDLING_CHECK(Runtime, dense >= 0,
                   "values must have dimensionality > sum of batch and block dimensionalities (=%ld + %ld) but got %ld", batch, block,
                   values.dim());
    KINDLING_CHECK(Runtime, dims == batch + 2 + dense,
                   "tensor dimensionality must be sum of batch, base, and dense dimensionalities (=%ld + 2 + %ld) but got %ld", batch,
                   dense, dims);
    const int64_t count = plain.size(-1);
    for (int64_t d = 0; d < batch; d++)
        KINDLING_CHECK(Runtime,
                       compressed.size(d) == size[static_cast<size_t>(d)] && plain.size(d) == compressed.size(d) &&
                           values.size(d) == compressed.size(d),
                       "all batch dimensions of %s, %s, and values must be equal to tensor batch dimensions", c, p);
    KINDLING_CHECK(Runtime, values.size(batch) == count,
                   "%s.shape[-1] must be equal to nnz (=%ld) as defined by values.shape[%ld], but got %ld", p, values.size(batch), batch,
                   count);
    int64_t blocks[2] = {1, 1};
    for (int64_t i = 0; i < block; i++) {
        blocks[i] = values.size(batch + 1 + i);
        KINDLING_CHECK(Runtime, blocks[i] > 0 && size[static_cast<size_t>(batch + i)] % blocks[i] == 0,
                       "tensor shape[%ld] (=%ld) must be divisible with blocksize[%ld] (=%ld) as defined by values shape", batch + i,
                       size[static_cast<size_t>(batch + i)], i, blocks[i]);
    }
    const Shape s(layout, size, batch, {blocks[0], blocks[1]});
    KINDLING_CHECK(Runtime, compressed.size(-1) == s.compressed + 1,
                   "%s.shape[-1] must be equal to the number of %s + 1 (=%ld), but got %ld", c,
                   is_blocked(layout) ? (by_rows(layout) ? "row blocks" : "column blocks") : (by_rows(layout) ? "rows" : "columns"),
                   s.compressed + 1, compressed.size(-1));
    for (int64_t d = 0; d < dense; d++)
        KINDLING_CHECK(Runtime, values.size(batch + 1 + block + d) == size[static_cast<size_t>(batch + 2 + d)],
                       "values.shape[%ld:] must be equal to the tensor's dense dimensions", batch + 1 + block);
    KINDLING_CHECK(Runtime, compressed.dtype() == plain.dtype(), "%s and %s must have the same dtype, but got %s and %s, respectively", c,
                   p, scalar_type_name(compressed.dtype()), scalar_type_name(plain.dtype()));
    KINDLING_CHECK(Runtime, compressed.dtype() == DType::Int32 || compressed.dtype() == DType::Int64,
                   "%s and %s dtype must be Int or Long, but got %s", c, p, scalar_type_name(compressed.dtype()));
    if (compressed.is_meta() || !s.matrices) return;
    auto holds = [](const Tensor& t) { return all(t).item<bool>(); };
    KINDLING_CHECK(Runtime, holds(eq(select(compressed, -1, 0), Scalar(0))), "`%s[..., 0] == 0` is not satisfied.", c);
    KINDLING_CHECK(Runtime, holds(eq(select(compressed, -1, -1), Scalar(count))), "`%s[..., -1] == nnz` is not satisfied.", c);
    Tensor lengths = diff(compressed);
    const char *cdim = by_rows(layout) ? "nrows" : "ncols", *pdim = by_rows(layout) ? "ncols" : "nrows";
    KINDLING_CHECK(Runtime, holds(ge(lengths, Scalar(0))) && holds(le(lengths, Scalar(s.plain))),
                   "`0 <= %s[..., 1:] - %s[..., :-1] <= %s` is not satisfied.", c, c, pdim);
    if (!count) return;
    KINDLING_CHECK(Runtime, holds(ge(plain, Scalar(0))) && holds(lt(plain, Scalar(s.plain))), "`0 <= %s < %s` is not satisfied.", p, pdim);
    Tensor rows = row_indices_of(compressed, count);
    Tensor sorted = logical_or(ne(slice(rows, -1, 1, std::nullopt), slice(rows, -1, 0, -1)),
                               gt(slice(plain, -1, 1, std::nullopt), slice(plain, -1, 0, -1)));
    KINDLING_CHECK(Runtime, holds(sorted),
                   "`%s[..., %s[..., i - 1]:%s[..., i]] for all i = 1, ..., %s are sorted and distinct along the last dimension values` is "
                   "not satisfied.",
                   p, c, c, cdim);
}

} // namespace kindling

OPERATORS(sparse_compressed) {
    declare("_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor values, "
            "SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor")({
        doc("A CSR, CSC, BSR or BSC tensor of these parts, which it shares; places are not checked"),
        in(space::Torch),
        takes_sparse(),
        no_out(),
        composition([](const Tensor& compressed_indices, const Tensor& plain_indices, const Tensor& values, IntList size, DType dtype,
                       std::optional<Layout> layout, std::optional<Device>, std::optional<bool>) {
            KINDLING_CHECK(Runtime, layout && is_compressed(*layout),
                           "sparse_compressed_tensor_unsafe expected sparse compressed tensor layout but got %s",
                           layout ? layout_word(*layout) : "none");
            const int64_t batch = compressed_indices.dim() - 1, dense = values.dim() - batch - 1 - (is_blocked(*layout) ? 2 : 0);
            KINDLING_CHECK(Runtime,
                           batch >= 0 && plain_indices.dim() == batch + 1 && dense >= 0 &&
                               static_cast<int64_t>(size.size()) == batch + 2 + dense,
                           "tensor dimensionality must be sum of batch, base, and dense dimensionalities (=%ld + 2 + %ld) but got %zu",
                           batch, dense, size.size());
            return make_sparse(
                *layout, size,
                {plain_indices, dtype == DType::None || dtype == values.dtype() ? values : to(values, dtype), compressed_indices});
        }),
        derivative(
            "values", GIVEN(Tensor grad, Tensor result) { return _sparse_values_like(grad, detach(result)); }),
    });
    declare("_validate_sparse_compressed_tensor_args(Tensor compressed_indices, Tensor plain_indices, Tensor values, "
            "int[] size, Layout layout, bool? check_pinning=None) -> ()")({
        doc("RuntimeError where these are not the parts of a tensor of that layout"),
        in(space::Torch),
        not_differentiable(),
        takes_sparse(),
        composition([](const Tensor& compressed_indices, const Tensor& plain_indices, const Tensor& values, IntList size, Layout layout,
                       std::optional<bool>) { check_compressed(compressed_indices, plain_indices, values, size, layout); }),
    });
    declare("crow_indices(Tensor(a) self) -> Tensor(a)")({
        doc("Where each row of a CSR or BSR tensor starts"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) { return part_of(self, "crow_indices", true, true); }),
    });
    declare("col_indices(Tensor(a) self) -> Tensor(a)")({
        doc("The column of each element of a CSR or BSR tensor"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) { return part_of(self, "col_indices", false, false); }),
    });
    declare("ccol_indices(Tensor(a) self) -> Tensor(a)")({
        doc("Where each column of a CSC or BSC tensor starts"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) { return part_of(self, "ccol_indices", true, false); }),
    });
    declare("row_indices(Tensor(a) self) -> Tensor(a)")({
        doc("The row of each element of a CSC or BSC tensor"),
        in(space::Method),
        takes_sparse(),
        not_differentiable(),
        header([](const Tensor& self) { return part_of(self, "row_indices", false, true); }),
    });
    declare("to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor")({
        doc("The tensor as torch.sparse_csr"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, std::optional<int64_t> dense_dim) {
            return to_named(self, Layout::SparseCsr, std::nullopt, dense_dim);
        }),
    });
    declare("to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor")({
        doc("The tensor as torch.sparse_csc"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, std::optional<int64_t> dense_dim) {
            return to_named(self, Layout::SparseCsc, std::nullopt, dense_dim);
        }),
    });
    declare("to_sparse_bsr(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor")({
        doc("The tensor as torch.sparse_bsr, in blocks of this size"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, IntList blocksize, std::optional<int64_t> dense_dim) {
            return to_named(self, Layout::SparseBsr, blocksize, dense_dim);
        }),
    });
    declare("to_sparse_bsc(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor")({
        doc("The tensor as torch.sparse_bsc, in blocks of this size"),
        in(space::Method),
        no_out(),
        composition([](const Tensor& self, IntList blocksize, std::optional<int64_t> dense_dim) {
            return to_named(self, Layout::SparseBsc, blocksize, dense_dim);
        }),
    });
}
