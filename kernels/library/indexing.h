// kernels/library/indexing.h: reads and writes at places given by index tensors.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

enum class Write : uint8_t { Set, Add, Mul, Min, Max };

/// A tensor seen as before x indexed x after, where the indexed dimensions are replaced by a list of offsets.
/// All strides count elements; offsets count `scale` of them, and were checked by the caller.
struct Indexed {
    DType dtype;
    int before_dims, after_dims;
    const int64_t *before_sizes, *before_strides;   // of the indexed tensor
    const int64_t *after_sizes, *after_strides;
    const int64_t* offsets;                         // into the indexed tensor, `count` of them
    int64_t count, scale;
};

/// The first of n indices that is not in [0, size), or null.
const int64_t* find_outside(const int64_t* index, int64_t n, int64_t size);
/// offsets[i] = index[i] * stride, or that added if not `first`; an index below 0 counts from the end. Null, or the first index that
/// is out of range.
const int64_t* add_offsets(int64_t* offsets, const int64_t* index, int64_t n, int64_t size, int64_t stride, bool first);

/// out (contiguous: before x count x after) = tensor at the places.
void gather_places(const Indexed& where, const void* tensor, void* out);
/// tensor at the places = values (contiguous: before x count x after), or combined with them, in order.
void write_places(const Indexed& where, void* tensor, const void* values, Write write);
/// out = tensor with the values added, in one pass; the tensor is contiguous, of `size` slices along what is indexed. False
/// if that is not worth it, or there is no code for the dtype: then nothing is done.
bool copy_and_add(const Indexed& where, int64_t size, const void* tensor, void* out, const void* values);

/// Element by element along one dimension: other operands have the index's shape, any strides.
struct Along {
    DType dtype;
    int ndim, dim;
    const int64_t* sizes;                           // of the index
    const int64_t *index_strides, *tensor_strides, *other_strides;
    const int64_t* index;
    int64_t bound;                                  // the tensor's size along the dimension
};
/// Null, or an index out of range: then part of the work is done.
const int64_t* gather_along(const Along& where, const void* tensor, void* out);
const int64_t* scatter_along(const Along& where, void* tensor, const void* values, Write write);
/// The same for a copy of the tensor, which is contiguous, `size` slices of so many elements along its first dimension; not
/// for dim 0.
const int64_t* copy_and_scatter(const Along& where, int64_t size, int64_t slice, const void* tensor, void* out, const void* values,
                                Write write);

}  // namespace kindling::library
