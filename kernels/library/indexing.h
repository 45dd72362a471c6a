// kernels/library/indexing.h: reads and writes at places given by index tensors.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

enum class Write : uint8_t { Set, Add, Mul, Min, Max };

/// A tensor seen as before x indexed x after, where the indexed dimensions are replaced by a list of offsets.
/// All strides and offsets count elements; the offsets were checked by the caller.
struct Indexed {
    DType dtype;
    int before_dims, after_dims;
    const int64_t *before_sizes, *before_strides;   // of the indexed tensor
    const int64_t *after_sizes, *after_strides;
    const int64_t* offsets;                         // into the indexed tensor, `count` of them
    int64_t count;
};

/// out (contiguous: before x count x after) = tensor at the places.
void gather_places(const Indexed& where, const void* tensor, void* out);
/// tensor at the places = values (contiguous: before x count x after), or combined with them, in order.
void write_places(const Indexed& where, void* tensor, const void* values, Write write);

/// How many of n bytes are not zero; and where: rows of `ndim` coordinates in a mask of these sizes, in order.
int64_t count_true(const void* mask, int64_t n);
void true_places(const void* mask, int ndim, const int64_t* sizes, int64_t* out);

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

}  // namespace kindling::library
