// core/shape.h: all arithmetic on sizes, strides and offsets, checked. Kernels only see what passed through here.
#pragma once
#include <string>

#include "core/export.h"
#include "core/tensor_impl.h"

namespace KINDLING_VISIBLE kindling {

/// How many pieces of `size` > 0 cover `count` >= 0.
constexpr int64_t pieces_of(int64_t count, int64_t size) { return count / size + (count % size != 0); }
/// The distance of `step` strides; 0 where that does not fit 64 bits, for no memory has a second element that far away.
inline int64_t stepped(int64_t stride, int64_t step) { return __builtin_mul_overflow(stride, step, &stride) ? 0 : stride; }
/// An offset `count` strides on; not moved where that does not fit 64 bits, which only an empty tensor comes to.
inline int64_t advanced(int64_t offset, int64_t stride, int64_t count) {
    int64_t result;
    return __builtin_mul_overflow(stride, count, &result) || __builtin_add_overflow(offset, result, &result) ? offset : result;
}
/// Product of sizes; RuntimeError on overflow or a negative size.
int64_t checked_numel(IntList sizes);
/// Bytes from the storage's start to the end of the last element; RuntimeError on overflow.
size_t checked_bytes(IntList sizes, IntList strides, int64_t offset, size_t item_size);
/// Wraps a negative dim; IndexError "Dimension out of range (expected to be in range of [-2, 1], but got 5)".
int64_t wrap_dim(int64_t dim, int64_t ndim);
/// A list of dims as bits; RuntimeError when one appears twice. An empty list means all.
uint64_t dim_mask(IntList dims, int64_t ndim, bool empty_is_all = true);
Sizes contiguous_strides(IntList sizes);
Sizes channels_last_strides(IntList sizes); // 4-d and 5-d
/// The strides `empty(sizes, memory_format=...)` gives.
Sizes format_strides(IntList sizes, MemoryFormat format);
/// torch's empty_like(memory_format=preserve_format): dense inputs keep their strides, others their order.
Sizes preserved_strides(IntList sizes, IntList strides, bool dense);
/// Broadcast of two shapes; RuntimeError naming both shapes and the clashing dimension.
Sizes broadcast_sizes(IntList a, IntList b, const char* operation = nullptr);
/// Strides of a tensor of `sizes`/`strides` seen as `target` (0 where expanded). RuntimeError as torch's expand.
Sizes expanded_strides(IntList sizes, IntList strides, IntList target);
/// Resolves one -1; RuntimeError "shape '[..]' is invalid for input of size N".
Sizes infer_size(IntList shape, int64_t numel);
/// Strides under which the same memory reads as `target`; false where a copy is needed (torch's computeStride).
bool view_strides(IntList sizes, IntList strides, IntList target, Sizes& result);
/// "[2, 3]".
std::string str(IntList list);

} // namespace kindling
