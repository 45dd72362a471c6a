// kernels/library/indexing/indexing.h: gather and scatter by index tensors.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

enum class Write : uint8_t { Set, Add, Mul, Min, Max };

/// A tensor seen as before x indexed x after, where the indexed dimensions are replaced by a list of offsets. Strides
/// count elements. Offsets count `scale` elements; the caller has checked them.
struct Indexed {
    DType dtype;
    int before_dims, after_dims;
    const int64_t *before_sizes, *before_strides; // of the indexed tensor
    const int64_t *after_sizes, *after_strides;
    const int64_t* offsets; // into the indexed tensor, `count` of them
    int64_t count, scale;
};

/// The first of n indices that is not in [0, size), or null.
const int64_t* find_outside(const int64_t* index, int64_t n, int64_t size);
/// The largest number, -1 of none; if any is negative, some negative number.
int64_t largest_index(const int64_t* index, int64_t n);
/// counts[index[i]] += 1 for each.
void count_indices(const int64_t* index, int64_t n, int64_t* counts);
/// offsets[i] = index[i] * stride, or accumulated if not `first`. A negative index counts from the end. Returns null,
/// or the first index that is out of range.
const int64_t* add_offsets(int64_t* offsets, const int64_t* index, int64_t n, int64_t size, int64_t stride, bool first);

/// Gather: out (contiguous: before x count x after) = tensor at the offsets.
void gather_places(const Indexed& where, const void* tensor, void* out);
/// Scatter: tensor at the offsets = values (contiguous: before x count x after), or combined with them, in order.
void write_places(const Indexed& where, void* tensor, const void* values, Write write);
/// out = tensor with the values added, in one pass. The tensor is contiguous, with `size` slices along the indexed
/// dimension. If that does not pay, or there is no code for the dtype, it does nothing and returns false.
bool copy_and_add(const Indexed& where, int64_t size, const void* tensor, void* out, const void* values);

/// Element by element along one dimension. Other operands have the index's shape, with any strides.
struct Along {
    DType dtype;
    int ndim, dim;
    const int64_t* sizes; // of the index
    const int64_t *index_strides, *tensor_strides, *other_strides;
    const int64_t* index;
    int64_t bound; // the tensor's size along the dimension
};
/// Returns null, or an index out of range; then part of the work is done.
const int64_t* gather_along(const Along& where, const void* tensor, void* out);
const int64_t* scatter_along(const Along& where, void* tensor, const void* values, Write write);
/// The same for a copy of the tensor, which is contiguous: `size` slices of so many elements along its first dimension.
/// Not for dim 0.
const int64_t* copy_and_scatter(const Along& where, int64_t size, int64_t slice, const void* tensor, void* out, const void* values,
                                Write write);

} // namespace kindling::library
