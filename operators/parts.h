// operators/parts.h: a part of a tensor's memory, known from sizes and strides alone: what a view shows, and where a kernel writes
// that fills a result part by part.
#pragma once
#include "core/shape.h"
#include "operators/kernel.h"

namespace kindling {

/// Strides and offset in elements.
struct Part {
    Sizes sizes, strides;
    int64_t offset = 0;
    Part() = default;
    /// The whole of a fresh tensor.
    explicit Part(IntList of) : sizes(of), strides(contiguous_strides(of)) {}
    Part(IntList of, IntList steps, int64_t start = 0) : sizes(of), strides(steps), offset(start) {}
    explicit Part(const Tensor& all) : Part(all.sizes(), all.strides(), all.storage_offset()) {}
    explicit Part(const Array& all) : Part(all.sizes(), all.strides()) {}
    int64_t dim() const { return static_cast<int64_t>(sizes.size()); }

    // What the operators of these names make of it; they raise what those raise.
    Part& select(int64_t dim, int64_t index);
    Part& slice(int64_t dim, int64_t start, int64_t end, int64_t step);
    Part& diagonal(int64_t shift, int64_t dim1, int64_t dim2);
    Part& unfold(int64_t dim, int64_t size, int64_t step);
    Tensor of(const Tensor& all) const { return make_view(all, sizes, strides, offset); }
};

/// RuntimeError unless something of these sizes can be copied there: it broadcasts.
void check_copied(IntList from, const Part& to);

// For computing halves; offsets count from the arrays' first elements.

void copy_part(const Array& to, const Part& there, const Array& from, const Part& here);
/// Adds up in place.
void add_part(const Array& to, const Part& there, const Array& from, const Part& here);
void fill_part(const Array& to, const Part& there, Immediate number);

} // namespace kindling
