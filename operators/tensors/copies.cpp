// operators/tensors/copies.cpp: views as copies, for programs that want no sharing.
#include "core/dispatch.h"
#include "generated/functions.h"
#include "operators/declare.h"
#include "operators/lists.h"

namespace kindling {
namespace {

/// Each counts its own writes.
std::vector<Tensor> apart(std::vector<Tensor> pieces) {
    for (const Tensor& each : pieces) each.impl()->start_version(0);
    return pieces;
}

/// The gradients of pieces put together; `shapes` are the pieces as they were.
Tensor joined(TensorList grads, const std::vector<Tensor>& shapes, int64_t dim) {
    std::vector<Tensor> pieces = grads.vec();
    for (size_t i = 0; i < pieces.size(); i++)
        if (!pieces[i].defined()) pieces[i] = zeros(shapes[i].sizes(), shapes[i].dtype());
    return cat(pieces, dim);
}

} // namespace
} // namespace kindling

OPERATORS(copies) {
    declare("alias_copy(Tensor self) -> Tensor")({
        doc("A copy"),
        in(space::Torch),
        composition([](const Tensor& self) { return clone(self, MemoryFormat::Contiguous); }),
    });
    declare("detach_copy(Tensor self) -> Tensor")({
        doc("A copy apart from the graph"),
        in(space::Torch),
        composition([](const Tensor& self) { return clone(detach(self), MemoryFormat::Contiguous); }),
    });
    declare("view_copy(Tensor self, SymInt[] size) -> Tensor")({
        doc("view, copied; copies first where the strides have no such view"),
        in(space::Torch),
        composition([](const Tensor& self, IntList size) { return clone(reshape(self, size), MemoryFormat::Contiguous); }),
    });
    declare("view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor")({
        doc("view as another dtype, copied"),
        in(space::Torch),
        composition(
            [](const Tensor& self, DType dtype) { return clone(view(resolve_neg(resolve_conj(self)), dtype), MemoryFormat::Contiguous); }),
    });
    declare("view_as_real_copy(Tensor self) -> Tensor")({
        doc("view_as_real, copied"),
        in(space::Torch),
        composition([](const Tensor& self) { return clone(view_as_real(resolve_conj(self)), MemoryFormat::Contiguous); }),
    });
    declare("split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]")({
        doc("split, copied; an out= keeps its shape, and what it gets is broadcast"),
        in(space::Torch),
        has_out(),
        out_castable(),
        flags(trait::OutKeepsShape),
        composition([](const Tensor& self, int64_t split_size, int64_t dim) { return copies_of(split(self, split_size, dim)); }),
    });
    declare("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]")({
        doc("chunk whose pieces may be written to one by one: the same memory, which autograd takes for their own"),
        composition([](const Tensor& self, int64_t chunks, int64_t dim) {
            KINDLING_CHECK(Runtime, self.dim() > 0, "chunk expects at least a 1-dimensional tensor");
            KINDLING_CHECK(Runtime, chunks > 0, "chunk expects `chunks` to be greater than 0, got: %ld", chunks);
            int64_t size = self.size(dim), piece = pieces_of(size, chunks);
            if (piece == 0 && size == 0) return unsafe_split_with_sizes(self, std::vector<int64_t>(static_cast<size_t>(chunks), 0), dim);
            return unsafe_split(self, piece, dim);
        }),
    });
    declare("unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]")({
        doc("split whose pieces may be written to one by one: the same memory, which autograd takes for their own"),
        linear(),
        by_loops(),
        header([](const Tensor& self, int64_t split_size, int64_t dim) { return apart(split(self, split_size, dim)); }),
        derivative(
            "self", GIVEN(TensorList grads, Tensor self_shape, int64_t split_size,
                          int64_t dim) { return joined(grads, split(self_shape, split_size, dim), dim); }),
    });
    declare("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]")({
        doc("split_with_sizes whose pieces may be written to one by one: the same memory, which autograd takes for their own"),
        linear(),
        by_loops(),
        header([](const Tensor& self, IntList split_sizes, int64_t dim) { return apart(split_with_sizes(self, split_sizes, dim)); }),
        derivative(
            "self", GIVEN(TensorList grads, Tensor self_shape, IntList split_sizes,
                          int64_t dim) { return joined(grads, split_with_sizes(self_shape, split_sizes, dim), dim); }),
    });
    declare("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor")({
        doc("Each tensor cut in chunks along dim, the last padded with zeros, and chunk i of all laid side by side as row i"),
        in(space::Torch),
        has_out(),
        out_joined(),
        composition([](TensorList tensors, int64_t dim, int64_t num_chunks) {
            KINDLING_CHECK(Runtime, num_chunks >= 1, "_chunk_cat expects positive num_chunks");
            KINDLING_CHECK(Runtime, !tensors.empty(), "_chunk_cat expects a non-empty input tensor list");
            for (const Tensor& each : tensors)
                KINDLING_CHECK(Runtime, each.dtype() == tensors[0].dtype(), "_chunk_cat expects all input tensors with the same dtype");
            std::vector<Tensor> rows;
            for (const Tensor& each : tensors) {
                KINDLING_CHECK(Runtime, dim >= -each.dim() && dim < each.dim(), "_chunk_cat expects dim < ndim for all input tensors");
                int64_t d = wrap_dim(dim, each.dim()), size = each.size(d), padded = size + (num_chunks - size % num_chunks) % num_chunks;
                KINDLING_CHECK(Runtime, each.numel() > 0, "_chunk_cat expects non-empty tensor");
                Sizes pad(static_cast<size_t>(2 * (each.dim() - d))), shape;
                pad[pad.size() - 1] = padded - size;
                for (int64_t i = 0; i < d; i++) shape.push_back(each.size(i));
                shape.push_back(num_chunks);
                shape.push_back(-1);
                rows.push_back(reshape(padded == size ? each : constant_pad_nd(each, pad, Scalar(0)), shape));
            }
            return cat(rows, rows[0].dim() - 1);
        }),
    });
}
