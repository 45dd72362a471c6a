// kernels/library/images/pooling_maxima.cpp: the greatest of each window, plane by plane.
// Compiled for size.
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/library/images/pooling_windows.h"

namespace kindling::library {
namespace {

template <class M> inline bool is_nan(M value) {
    if constexpr (std::is_floating_point_v<M>) return value != value;
    else return false;
}
template <class M> constexpr M lowest() {
    if constexpr (std::is_floating_point_v<M>) return -std::numeric_limits<M>::infinity();
    else return std::numeric_limits<M>::lowest();
}

inline Window max_window(const Shape& s, int d, int64_t place) {
    int64_t begin = place * s.stride[d] - s.padding[d];
    int64_t end = std::min(begin + (s.kernel[d] - 1) * s.dilation[d] + 1, s.in[d]);
    while (begin < 0) begin += s.dilation[d];
    return {begin, end, s.dilation[d], 0};
}
template <class M>
inline void max_of_window(const Shape& s, const M* from, const Window& a, const Window& b, const Window& c, M* to, int64_t* index) {
    int64_t best_index = (a.begin * s.in[1] + b.begin) * s.in[2] + c.begin;
    M best = lowest<M>();
    for (int64_t x = a.begin; x < a.end; x += a.step)
        for (int64_t y = b.begin; y < b.end; y += b.step) {
            int64_t row = (x * s.in[1] + y) * s.in[2];
            for (int64_t z = c.begin; z < c.end; z += c.step) {
                M value = from[row + z];
                if (value > best || is_nan(value)) {
                    best = value;
                    best_index = row + z;
                }
            }
        }
    *to = best;
    *index = best_index;
}

// Neighbouring windows, side by side in a baseline register: a select is a mask there, where a branch would be
// mispredicted half the time.
template <class M> struct Lanes {
    static constexpr int count = 16 / sizeof(M);
    using Place = std::conditional_t<sizeof(M) == 4, int32_t, int64_t>;
    typedef M Values __attribute__((vector_size(16)));
    typedef Place Places __attribute__((vector_size(16)));

    static inline Values load(const M* from, int64_t step) {
        Values v;
        if constexpr (count == 4) {
            if (step == 1) {
                memcpy(&v, from, sizeof v);
                return v;
            }
            if (step == 2) { // nothing behind the last one is read
                Values w;
                memcpy(&v, from, sizeof v);
                memcpy(&w, from + 3, sizeof w);
                return __builtin_shufflevector(v, w, 0, 2, 5, 7);
            }
        }
        for (int l = 0; l < count; ++l) v[l] = from[l * step];
        return v;
    }
    /// A value that is taken if it is larger, or no number.
    static inline void take(const Values& value, const Places& place, Values& best, Places& places) {
        const Places better = (value > best) | (value != value);
        best = better ? value : best;
        places = better ? place : places;
    }
    static inline void store_places(int64_t* index, const Places& places) {
        if constexpr (count == 4) { // none is negative
            const Places zero{}, low = __builtin_shufflevector(places, zero, 0, 4, 1, 5),
                                 high = __builtin_shufflevector(places, zero, 2, 6, 3, 7);
            memcpy(index, &low, sizeof low);
            memcpy(index + 2, &high, sizeof high);
        } else {
            for (int l = 0; l < count; ++l) index[l] = places[l];
        }
    }
    /// Windows [first, last) of a row, all of whose taps are inside along it; tap t of window z is the element at
    /// taps[t] + z * step.
    static void row(const M* from, const int64_t* taps, int64_t tap_count, int64_t step, int64_t first, int64_t last, M* to,
                    int64_t* index) {
        Places lane;
        for (int l = 0; l < count; ++l) lane[l] = static_cast<Place>(l * step);
        for (int64_t z = first;; z = std::min(z + count, last - count)) { // the last group ends with the row
            Values best;
            for (int l = 0; l < count; ++l) best[l] = lowest<M>();
            Places places = static_cast<Place>(taps[0] + z * step) + lane;
            for (int64_t t = 0; t < tap_count; ++t) {
                const int64_t place = taps[t] + z * step;
                take(load(from + place, step), static_cast<Place>(place) + lane, best, places);
            }
            memcpy(to + z, &best, sizeof best);
            store_places(index + z, places);
            if (z + count >= last) return;
        }
    }
    /// One window with long rows, along which the lanes lie.
    static void window(const Shape& s, const M* from, const Window& a, const Window& b, const Window& c, M* to, int64_t* index) {
        Values best;
        Places places, lane;
        for (int l = 0; l < count; ++l) {
            best[l] = lowest<M>();
            places[l] = static_cast<Place>((a.begin * s.in[1] + b.begin) * s.in[2] + c.begin);
            lane[l] = static_cast<Place>(l);
        }
        for (int64_t x = a.begin; x < a.end; x += a.step)
            for (int64_t y = b.begin; y < b.end; y += b.step) {
                const int64_t row = (x * s.in[1] + y) * s.in[2];
                for (int64_t z = c.begin;; z = std::min(z + count, c.end - count)) { // the last group ends with the row
                    take(load(from + row + z, 1), static_cast<Place>(row + z) + lane, best, places);
                    if (z + count >= c.end) break;
                }
            }
        // The first of the largest, or the last that is no number.
        int chosen = 0;
        for (int l = 1; l < count; ++l)
            if (is_nan(best[l]) ? !is_nan(best[chosen]) || places[l] > places[chosen]
                                : best[l] > best[chosen] || (best[l] == best[chosen] && places[l] < places[chosen]))
                chosen = l;
        *to = best[chosen];
        *index = places[chosen];
    }
};

// A plane of windows that differ only in where they begin.
template <class M> void max_plane(const Shape& s, const Windows& windows, const M* from, M* to, int64_t* index) {
    constexpr int64_t group = Lanes<M>::count;
    const int64_t width = s.out[2], step = s.stride[2];
    // Windows [first, last) of a row are inside the input along it.
    const int64_t first = std::min((s.padding[2] + step - 1) / step, width);
    const int64_t room = s.in[2] + s.padding[2] - (s.kernel[2] - 1) * s.dilation[2];
    const int64_t last = std::max(std::min(room <= 0 ? 0 : (room + step - 1) / step, width), first);
    Scratch<int64_t> taps(s.kernel[0] * s.kernel[1] * s.kernel[2]);
    for (int64_t row = 0; row < s.out[0] * s.out[1]; ++row, to += width, index += width) {
        const Window a = windows.rows[0][row / s.out[1]], b = windows.rows[1][row % s.out[1]];
        const bool grouped = last - first >= group;
        for (int64_t z = 0; z < width; ++z) {
            if (grouped && z == first) z = last;
            if (z < width) max_of_window(s, from, a, b, windows.rows[2][z], to + z, index + z);
        }
        if (!grouped) continue;
        int64_t count = 0;
        for (int64_t x = a.begin; x < a.end; x += a.step)
            for (int64_t y = b.begin; y < b.end; y += b.step)
                for (int64_t tap = 0; tap < s.kernel[2]; ++tap)
                    taps[count++] = (x * s.in[1] + y) * s.in[2] + tap * s.dilation[2] - s.padding[2];
        if (!count) taps[0] = (a.begin * s.in[1] + b.begin) * s.in[2] - s.padding[2];
        Lanes<M>::row(from, taps.data, count, step, first, last, to, index);
    }
}

void run_max(const Pooling& p, const Shape& s, const char* kernel, const void* input, void* output, int64_t* indices, WindowOf window_of) {
    for_wide(real_types, p.dtype, kernel, [&]<class M>(const Wide<M>& wide) {
        int64_t window = s.kernel[0] * s.kernel[1] * s.kernel[2];
        const Windows windows(s, window_of);
        const bool near = s.in_space <= std::numeric_limits<int32_t>::max(), alike = near && window_of == max_window;
        for_planes(p.planes, s.in_space + s.out_space * window, [&](int64_t plane) {
            WidePlane<M> in(wide, wide.at(input, plane * s.in_space), s.in_space);
            void* target = wide.at(output, plane * s.out_space);
            WideResult<M> out(wide, target, s.out_space);
            M* to = out.elements;
            int64_t* index = indices + plane * s.out_space;
            if (alike) max_plane(s, windows, in.elements, to, index);
            else
                for_windows(s, windows, [&](int64_t place, const Window& a, const Window& b, const Window& c) {
                    const bool rows = near && c.step == 1 && c.end - c.begin >= 2 * Lanes<M>::count;
                    (rows ? Lanes<M>::window : max_of_window<M>)(s, in.elements, a, b, c, to + place, index + place);
                });
            out.finish(target, s.out_space);
        });
    });
}

} // namespace

void max_pool(const Pooling& p, const void* input, void* output, int64_t* indices) {
    run_max(p, Shape(p), "max_pool2d", input, output, indices, max_window);
}

void adaptive_max_pool(const Pooling& p, const void* input, void* output, int64_t* indices) {
    run_max(p, Shape(p, true), "adaptive_max_pool2d", input, output, indices, adaptive_window);
}

} // namespace kindling::library
