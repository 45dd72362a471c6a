// graph/overlap.h: which bytes of one memory an operand reaches.
#pragma once
#include <cstdint>
#include <cstdlib>

#include "core/span.h"

namespace kindling {

/// The bytes of one operand's elements: its offset, its strides, and one element.
struct Extent {
    int64_t offset, item;
    IntList sizes, strides;

    /// Where they begin and end modulo `step`. Dimensions of which each stride is a multiple of it stay in place. False if they may
    /// reach beyond the end.
    bool within(int64_t step, int64_t& begin, int64_t& end) const {
        int64_t lowest = offset, length = item;
        for (size_t d = 0; d < sizes.size(); d++) {
            if (strides[d] % step == 0) continue;
            length += (sizes[d] - 1) * std::abs(strides[d]);
            if (strides[d] < 0) lowest += (sizes[d] - 1) * strides[d];
        }
        begin = lowest % step;
        end = begin + length;
        return end <= step;
    }
};

/// Whether two operands in one memory have no byte in common, as `x[..., 0]` and `x[..., 1:]`: one ends before the other begins, or
/// does so in every row.
inline bool lie_apart(const Extent& a, const Extent& b) {
    int64_t a_begin, a_end, b_begin, b_end;
    auto apart_in = [&](int64_t step) {
        return a.within(step, a_begin, a_end) && b.within(step, b_begin, b_end) && (a_end <= b_begin || b_end <= a_begin);
    };
    for (const Extent* each : {&a, &b})
        for (int64_t stride : each->strides)
            if (stride > each->item && apart_in(stride)) return true;
    return apart_in(int64_t{1} << 62);
}

} // namespace kindling
