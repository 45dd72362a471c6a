// kernels/library/images/pooling_windows.h: the windows of pooling, and planes in the type in which they are computed. Internal.
#pragma once
#include <algorithm>

#include "kernels/library/images/pooling.h"
#include "kernels/library/scratch.h"
#include "kernels/library/wide.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

struct Shape {
    int64_t in[3], kernel[3], out[3], stride[3], padding[3], dilation[3];
    int64_t in_space = 1, out_space = 1;
    explicit Shape(const Pooling& p, bool adaptive = false) {
        for (int d = 0; d < 3; ++d) {
            int from = d - (3 - p.dims);
            bool there = from >= 0;
            in[d] = there ? p.in[from] : 1;
            out[d] = there ? p.out[from] : 1;
            kernel[d] = there && !adaptive ? p.kernel[from] : 1;
            stride[d] = there && !adaptive ? p.stride[from] : 1;
            padding[d] = there && !adaptive ? p.padding[from] : 0;
            dilation[d] = there && !adaptive ? p.dilation[from] : 1;
            in_space *= in[d];
            out_space *= out[d];
        }
    }
};

constexpr auto real_types = FloatingTypes{} + NarrowIntegers{};

template <class F> void for_planes(int64_t planes, int64_t work, F f) {
    parallel_for(0, planes, std::max<int64_t>(1, 20000 / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) f(plane);
    });
}

// A window along one dimension: `count` positions from `begin`, `step` apart, all inside the input.
struct Window {
    int64_t begin, end, step;
    int64_t count_with_padding;
};
inline Window adaptive_window(const Shape& s, int d, int64_t place) {
    int64_t begin = place / s.out[d] * s.in[d] + place % s.out[d] * s.in[d] / s.out[d];
    int64_t end = 1 + ((place + 1) * s.in[d] - 1) / s.out[d];
    return {begin, end, 1, end - begin};
}

// The windows of every position along each dimension, the same for all planes.
struct Windows {
    Scratch<Window> rows[3];
    Windows(const Shape& s, Window (*window_of)(const Shape&, int, int64_t))
        : rows{Scratch<Window>(s.out[0]), Scratch<Window>(s.out[1]), Scratch<Window>(s.out[2])} {
        for (int d = 0; d < 3; ++d)
            for (int64_t i = 0; i < s.out[d]; ++i) rows[d][i] = window_of(s, d, i);
    }
};

// Calls f(output position, windows) for each position of a plane's output.
template <class F> inline void for_windows(const Shape& s, const Windows& windows, F f) {
    int64_t place = 0;
    for (int64_t x = 0; x < s.out[0]; ++x) {
        const Window a = windows.rows[0][x];
        for (int64_t y = 0; y < s.out[1]; ++y) {
            const Window b = windows.rows[1][y];
            for (int64_t z = 0; z < s.out[2]; ++z, ++place) f(place, a, b, windows.rows[2][z]);
        }
    }
}

// A plane's elements in the type in which the kernel computes: the elements themselves, or a copy of them.
template <class M> struct WidePlane {
    Scratch<M> copy;
    const M* elements;
    WidePlane(const Wide<M>& wide, const void* from, int64_t count) : copy(wide.same ? 0 : count) {
        if (!wide.same) wide.load(from, 1, copy.data, count);
        elements = wide.same ? static_cast<const M*>(from) : copy.data;
    }
};
// Memory for a plane's results, which are stored at the end.
template <class M> struct WideResult {
    const Wide<M>& wide;
    Scratch<M> copy;
    M* elements;
    WideResult(const Wide<M>& to, void* target, int64_t count) : wide(to), copy(to.same ? 0 : count) {
        elements = to.same ? static_cast<M*>(target) : copy.data;
    }
    void finish(void* target, int64_t count) const {
        if (!wide.same) wide.store(target, 1, copy.data, count);
    }
};

using WindowOf = Window (*)(const Shape& s, int d, int64_t place);

} // namespace
} // namespace kindling::library
