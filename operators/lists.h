// operators/lists.h: what operators over lists of tensors share: each is its plain operator on every tensor. For foreach.cpp, and
// for those that tools/generate.py writes.
#pragma once
#include "generated/functions.h"
#include "operators/declare.h"

namespace kindling {

using List = std::vector<Tensor>;

inline void check_list(TensorList self) { KINDLING_CHECK(Runtime, !self.empty(), "Tensor list must have at least one tensor."); }
inline void check_lists(TensorList self, TensorList other) {
    check_list(self);
    KINDLING_CHECK(Runtime, self.size() == other.size(), "Tensor lists must have the same number of tensors, got %zu and %zu", self.size(),
                   other.size());
}
inline void check_lists(TensorList self, Span<Scalar> scalars) {
    check_list(self);
    KINDLING_CHECK(Runtime, self.size() == scalars.size(), "Tensor list must have same number of elements as scalar list, got %zu and %zu.",
                   self.size(), scalars.size());
}
inline void check_zero_dim(const Tensor& scalar) {
    KINDLING_CHECK(Runtime, scalar.dim() == 0 && scalar.numel() == 1,
                   "scalar tensor expected to be 0 dim but it has %ld dimensions and %ld elements.", scalar.dim(), scalar.numel());
}

template <class F> List each(TensorList self, F f) {
    check_list(self);
    List result;
    result.reserve(self.size());
    for (const Tensor& t : self) result.push_back(f(t));
    return result;
}
template <class F> void each_in_place(TensorList self, F f) {
    check_list(self);
    for (const Tensor& t : self) f(t);
}
/// f(tensor, the other list's member)
template <class L, class F> List pairs(TensorList self, L other, F f) {
    check_lists(self, other);
    List result;
    result.reserve(self.size());
    for (size_t i = 0; i < self.size(); i++) result.push_back(f(self[i], other[i]));
    return result;
}
template <class L, class F> void pairs_in_place(TensorList self, L other, F f) {
    check_lists(self, other);
    for (size_t i = 0; i < self.size(); i++) f(self[i], other[i]);
}
template <class F> List triples(TensorList self, TensorList a, TensorList b, F f) {
    check_lists(self, a);
    check_lists(self, b);
    List result;
    result.reserve(self.size());
    for (size_t i = 0; i < self.size(); i++) result.push_back(f(self[i], a[i], b[i], i));
    return result;
}
template <class F> void triples_in_place(TensorList self, TensorList a, TensorList b, F f) {
    check_lists(self, a);
    check_lists(self, b);
    for (size_t i = 0; i < self.size(); i++) f(self[i], a[i], b[i], i);
}

/// The numbers of a packed tensor of scalars.
inline std::vector<Scalar> unpacked(const Tensor& scalars, size_t count) {
    KINDLING_CHECK(Runtime, scalars.dim() == 1, "Expected packed scalar Tensor to be of dimension 1. Got %ld instead.", scalars.dim());
    KINDLING_CHECK(Runtime, scalars.size(0) == static_cast<int64_t>(count),
                   "Expected length of scalars to match input of length %zu but got %ld instead.", count, scalars.size(0));
    std::vector<Scalar> result;
    for (int64_t i = 0; i < scalars.size(0); i++) result.push_back(select(scalars, 0, i).item_scalar());
    return result;
}

/// What views show, copied.
inline List copies_of(List views) {
    for (Tensor& each : views) each = clone(each, MemoryFormat::Contiguous);
    return views;
}

} // namespace kindling
