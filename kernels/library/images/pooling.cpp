// kernels/library/images/pooling.cpp: windows of pooling, plane by plane.
#include "kernels/library/images/pooling.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

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

template <class M> inline bool is_nan(M value) {
    if constexpr (std::is_floating_point_v<M>) return value != value;
    else return false;
}
template <class M> constexpr M lowest() {
    if constexpr (std::is_floating_point_v<M>) return -std::numeric_limits<M>::infinity();
    else return std::numeric_limits<M>::lowest();
}

// Integers wrap around.
template <class M> inline M wrapped_sum(M a, M b) {
    if constexpr (std::is_integral_v<M>)
        return static_cast<M>(static_cast<std::make_unsigned_t<M>>(a) + static_cast<std::make_unsigned_t<M>>(b));
    else return a + b;
}

// A window along one dimension: `count` positions from `begin`, `step` apart, all inside the input.
struct Window {
    int64_t begin, end, step;
    int64_t count_with_padding;
};
inline Window max_window(const Shape& s, int d, int64_t place) {
    int64_t begin = place * s.stride[d] - s.padding[d];
    int64_t end = std::min(begin + (s.kernel[d] - 1) * s.dilation[d] + 1, s.in[d]);
    while (begin < 0) begin += s.dilation[d];
    return {begin, end, s.dilation[d], 0};
}
inline Window average_window(const Shape& s, int d, int64_t place) {
    int64_t begin = place * s.stride[d] - s.padding[d];
    int64_t end = std::min(begin + s.kernel[d], s.in[d] + s.padding[d]);
    int64_t all = end - begin;
    return {std::max<int64_t>(begin, 0), std::min(end, s.in[d]), 1, all};
}
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

struct AverageDivisor {
    int64_t override_value;
    bool include_pad;
    int64_t operator()(const Window& a, const Window& b, const Window& c) const {
        if (override_value) return override_value;
        if (include_pad) return a.count_with_padding * b.count_with_padding * c.count_with_padding;
        return (a.end - a.begin) * (b.end - b.begin) * (c.end - c.begin);
    }
};

// A plane of windows that differ only in where they begin, a row of them at once: tap by tap, in the order of each
// window's taps. `gathers`: averages the input `in`. Otherwise it distributes averages over it; `line` has room for a
// row of them.
template <class M, bool gathers>
void average_plane(const Shape& s, const Windows& windows, AverageDivisor divisor, std::conditional_t<gathers, const M, M>* in,
                   std::conditional_t<gathers, M, const M>* out, M* line) {
    const int64_t width = s.out[2], step = s.stride[2], taps = s.kernel[2];
    for (int64_t row = 0; row < s.out[0] * s.out[1]; ++row, out += width) {
        const Window a = windows.rows[0][row / s.out[1]], b = windows.rows[1][row % s.out[1]];
        const bool empty = a.begin >= a.end || b.begin >= b.end;
        auto average = [&](M sum, int64_t z) {
            const Window& c = windows.rows[2][z];
            return empty || c.begin >= c.end ? M{0} : static_cast<M>(sum / static_cast<M>(divisor(a, b, c)));
        };
        if constexpr (gathers) std::fill_n(out, width, M{0});
        else
            for (int64_t z = 0; z < width; ++z) line[z] = average(out[z], z);
        for (int64_t x = a.begin; x < a.end; ++x)
            for (int64_t y = b.begin; y < b.end; ++y) {
                auto* from = in + (x * s.in[1] + y) * s.in[2];
                for (int64_t t = 0; t < taps; ++t) {
                    // Of two windows that share a position the earlier one has the later tap.
                    const int64_t offset = (gathers ? t : taps - 1 - t) - s.padding[2];
                    const int64_t first = offset < 0 ? (-offset + step - 1) / step : 0;
                    const int64_t last = std::min(width, s.in[2] > offset ? (s.in[2] - offset + step - 1) / step : 0);
                    for (int64_t z = first; z < last; ++z)
                        if constexpr (gathers) out[z] = wrapped_sum(out[z], from[z * step + offset]);
                        else from[z * step + offset] = wrapped_sum(from[z * step + offset], line[z]);
                }
            }
        if constexpr (gathers)
            for (int64_t z = 0; z < width; ++z) out[z] = average(out[z], z);
    }
}

void run_average(const Pooling& p, const Shape& s, const char* kernel, const void* input, void* output, WindowOf window_of,
                 AverageDivisor divisor) {
    for_wide(real_types, p.dtype, kernel, [&]<class M>(const Wide<M>& wide) {
        int64_t window = s.kernel[0] * s.kernel[1] * s.kernel[2];
        const Windows windows(s, window_of);
        for_planes(p.planes, s.in_space + s.out_space * window, [&](int64_t plane) {
            WidePlane<M> in(wide, wide.at(input, plane * s.in_space), s.in_space);
            void* target = wide.at(output, plane * s.out_space);
            WideResult<M> out(wide, target, s.out_space);
            const M* from = in.elements;
            M* to = out.elements;
            if (window_of == average_window) {
                average_plane<M, true>(s, windows, divisor, from, to, nullptr);
                out.finish(target, s.out_space);
                return;
            }
            for_windows(s, windows, [&](int64_t place, const Window& a, const Window& b, const Window& c) {
                M sum = 0;
                to[place] = sum;
                if (a.begin >= a.end || b.begin >= b.end || c.begin >= c.end) return;
                for (int64_t x = a.begin; x < a.end; ++x)
                    for (int64_t y = b.begin; y < b.end; ++y) {
                        const M* row = from + (x * s.in[1] + y) * s.in[2];
                        for (int64_t z = c.begin; z < c.end; ++z) sum = wrapped_sum(sum, row[z]);
                    }
                to[place] = sum / static_cast<M>(divisor(a, b, c));
            });
            out.finish(target, s.out_space);
        });
    });
}

void run_average_gradient(const Pooling& p, const Shape& s, const char* kernel, const void* grad_output, void* grad_input,
                          WindowOf window_of, AverageDivisor divisor) {
    for_wide(real_types, p.dtype, kernel, [&]<class M>(const Wide<M>& wide) {
        int64_t window = s.kernel[0] * s.kernel[1] * s.kernel[2];
        const Windows windows(s, window_of);
        for_planes(p.planes, s.in_space + s.out_space * window, [&](int64_t plane) {
            WidePlane<M> in(wide, wide.at(grad_output, plane * s.out_space), s.out_space);
            void* target = wide.at(grad_input, plane * s.in_space);
            WideResult<M> out(wide, target, s.in_space); // sums are stored in the type of the computation
            M* sums = out.elements;
            std::fill_n(sums, s.in_space, M{0});
            if (window_of == average_window) {
                Scratch<M> line(s.out[2]);
                average_plane<M, false>(s, windows, divisor, sums, in.elements, line.data);
                out.finish(target, s.in_space);
                return;
            }
            for_windows(s, windows, [&](int64_t place, const Window& a, const Window& b, const Window& c) {
                if (a.begin >= a.end || b.begin >= b.end || c.begin >= c.end) return;
                M share = in.elements[place] / static_cast<M>(divisor(a, b, c));
                for (int64_t x = a.begin; x < a.end; ++x)
                    for (int64_t y = b.begin; y < b.end; ++y) {
                        M* row = sums + (x * s.in[1] + y) * s.in[2];
                        for (int64_t z = c.begin; z < c.end; ++z) row[z] = wrapped_sum(row[z], share);
                    }
            });
            out.finish(target, s.in_space);
        });
    });
}

} // namespace

int64_t pooling_out(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
    int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
    int64_t out = (room >= 0 ? room / stride : -((-room + stride - 1) / stride)) + 1;
    if (ceil_mode && (out - 1) * stride >= in + padding) --out;
    return out;
}

void max_pool(const Pooling& p, const void* input, void* output, int64_t* indices) {
    run_max(p, Shape(p), "max_pool2d", input, output, indices, max_window);
}

void max_pool_gradient(DType dtype, int64_t planes, int64_t in_space, int64_t out_space, const void* grad_output, const int64_t* indices,
                       void* grad_input) {
    for_type(real_types, dtype, "max_pool2d_backward", [&](auto type) {
        using T = decltype(type);
        for_planes(planes, in_space + out_space, [&](int64_t plane) {
            const T* from = static_cast<const T*>(grad_output) + plane * out_space;
            const int64_t* index = indices + plane * out_space;
            T* to = static_cast<T*>(grad_input) + plane * in_space;
            std::fill_n(to, in_space, T{});
            for (int64_t i = 0; i < out_space; ++i)
                if (index[i] >= 0 && index[i] < in_space) to[index[i]] = store_as<T>(load(to[index[i]]) + load(from[i]));
        });
    });
}

void avg_pool(const Pooling& p, const void* input, void* output) {
    run_average(p, Shape(p), "avg_pool2d", input, output, average_window, AverageDivisor{p.divisor_override, p.count_include_pad});
}

void avg_pool_gradient(const Pooling& p, const void* grad_output, void* grad_input) {
    run_average_gradient(p, Shape(p), "avg_pool2d_backward", grad_output, grad_input, average_window,
                         AverageDivisor{p.divisor_override, p.count_include_pad});
}

void adaptive_avg_pool(const Pooling& p, const void* input, void* output) {
    run_average(p, Shape(p, true), "adaptive_avg_pool2d", input, output, adaptive_window, AverageDivisor{0, false});
}

void adaptive_avg_pool_gradient(const Pooling& p, const void* grad_output, void* grad_input) {
    run_average_gradient(p, Shape(p, true), "adaptive_avg_pool2d_backward", grad_output, grad_input, adaptive_window,
                         AverageDivisor{0, false});
}

void adaptive_max_pool(const Pooling& p, const void* input, void* output, int64_t* indices) {
    run_max(p, Shape(p, true), "adaptive_max_pool2d", input, output, indices, adaptive_window);
}

} // namespace kindling::library
