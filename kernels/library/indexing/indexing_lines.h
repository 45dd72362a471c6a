// kernels/library/indexing/indexing_lines.h: what indexing.cpp does along one dimension, shared with indexing_rows.cpp.
#pragma once
#include "kernels/library/indexing/indexing.h"

namespace kindling::library {

/// Elements of `other` along one dimension, and theirs in `tensor`: element i is at index[i * index_step] * scale + i *
/// tensor_step. All steps count elements.
struct Line {
    const int64_t* index;
    int64_t index_step, bound, scale, tensor_step, other_step, count;
};
/// Processes the line up to the first index that is not in [0, bound). Returns its position, or null.
using LineFunction = const int64_t* (*)(void* tensor, void* other, const Line& line);

LineFunction find_gather(DType dtype);
LineFunction find_write(DType dtype, Write write);

/// How many elements pay for another thread.
constexpr int64_t parallel_elements = 32768;

/// Line by line over the shape of the index. Lines may run in parallel if they write to disjoint elements. `cached`:
/// the tensor is in a near cache.
const int64_t* over_lines(const Along& where, LineFunction run, bool apart, void* tensor, void* other, bool cached = false);

} // namespace kindling::library
