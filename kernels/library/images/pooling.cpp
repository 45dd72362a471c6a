// kernels/library/images/pooling.cpp: averages of windows, plane by plane, and the gradients of pooling.
#include <type_traits>

#include "kernels/library/images/pooling_windows.h"

namespace kindling::library {
namespace {

// Integers wrap around.
template <class M> inline M wrapped_sum(M a, M b) {
    if constexpr (std::is_integral_v<M>)
        return static_cast<M>(static_cast<std::make_unsigned_t<M>>(a) + static_cast<std::make_unsigned_t<M>>(b));
    else return a + b;
}

inline Window average_window(const Shape& s, int d, int64_t place) {
    int64_t begin = place * s.stride[d] - s.padding[d];
    int64_t end = std::min(begin + s.kernel[d], s.in[d] + s.padding[d]);
    int64_t all = end - begin;
    return {std::max<int64_t>(begin, 0), std::min(end, s.in[d]), 1, all};
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

} // namespace kindling::library
