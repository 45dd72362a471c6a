// core/sparse.h: what a tensor that is not strided holds.
//
// Its header has key::Layout and its layout; its storage has no memory, so that whatever reaches for elements fails
// clearly, but owns the parts: dense tensors of indices and values. Headers made by detach and the like share them.
#pragma once
#include "core/tensor.h"

namespace KINDLING_VISIBLE kindling {

struct SparseParts {
    Tensor indices;         // COO: [sparse dims, elements]; else the plain ones, [batch..., elements]
    Tensor values;          // [batch..., elements, block..., dense...]
    Tensor compressed;      // where each row (of BSR: row of blocks) or column starts: [batch..., rows + 1]
    bool coalesced = false; // COO: sorted, each place once
};

constexpr bool is_compressed(Layout layout) { return layout >= Layout::SparseCsr && layout <= Layout::SparseBsc; }
constexpr bool is_blocked(Layout layout) { return layout == Layout::SparseBsr || layout == Layout::SparseBsc; }
/// Whether rows are what is compressed, of a compressed layout.
constexpr bool by_rows(Layout layout) { return layout == Layout::SparseCsr || layout == Layout::SparseBsr; }
inline bool is_coo(const Tensor& t) { return t.impl()->layout == Layout::Sparse; }
inline bool is_compressed(const Tensor& t) { return is_compressed(t.impl()->layout); }
inline bool is_sparse(const Tensor& t) { return is_coo(t) || is_compressed(t); }
/// "sparse_coo", as in torch.sparse_coo.
const char* name(Layout layout);
/// "SparseCsr", as in torch's messages.
const char* layout_word(Layout layout);

SparseParts& parts_of(const Tensor& sparse);
/// A tensor of these parts, which are not checked; they lose their history.
Tensor make_sparse(Layout layout, IntList sizes, SparseParts parts);
/// Gives `self` the sizes and parts of `from`. Headers that shared its parts keep them.
void replace_parts(const Tensor& self, const Tensor& from);

inline int64_t sparse_dims(const Tensor& t) { return is_coo(t) ? parts_of(t).indices.size(0) : 2; }
inline int64_t element_count(const Tensor& t) { return is_coo(t) ? parts_of(t).indices.size(1) : parts_of(t).indices.size(-1); }
inline int64_t batch_dims(const Tensor& t) { return parts_of(t).indices.dim() - 1; } // of compressed layouts
int64_t dense_dims(const Tensor& t);

} // namespace kindling
