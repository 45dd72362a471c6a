// kernels/library/convolution/convolution_unrolled.cpp: the general convolution, a matrix product over an unrolled input
// ("im2col"). Rows are (channel, tap), columns are positions of the output. Only a piece that fits the cache is
// unrolled at a time.
// Compiled for size.
#include <algorithm>
#include <type_traits>

#include "kernels/library/convolution/convolution_shape.h"
#include "kernels/library/products/gemm.h"
#include "kernels/library/products/gemm_tiles.h"
#include "kernels/library/scratch.h"
#include "kernels/tile/move.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

using Shape = ConvolutionShape;

// For one tap: which of the innermost outputs [0, out) read inside the input. These are [first, last).
struct Span {
    int64_t first, last, start; // position p reads at start + p * stride
    Span(const Shape& s, int64_t tap) {
        start = tap * s.dilation[2] - s.padding[2];
        int64_t stride = s.stride[2];
        first = start >= 0 ? 0 : (-start + stride - 1) / stride;
        int64_t room = s.in[2] - start; // positions with p * stride < room are inside
        last = room <= 0 ? 0 : (room + stride - 1) / stride;
        last = std::min(last, s.out[2]);
        first = std::min(first, last);
    }
};

// Rows of one tap: where they begin in the unrolled piece, how many there are, which of them, [first, last), are inside
// the input, and where the first of these begins there.
struct Lines {
    int64_t unrolled, rows, first, last, input;
    Span span;
};

// Visits output rows [row_begin, row_end) for unrolled rows [k_begin, k_end), which are `gap` elements apart.
template <class Visit>
void for_lines(const Shape& s, int64_t k_begin, int64_t k_end, int64_t row_begin, int64_t row_end, int64_t gap, Visit visit) {
    const int64_t width = s.out[2], stride = s.stride[1];
    int64_t unrolled = 0;
    for (int64_t k = k_begin; k < k_end; ++k) {
        const int64_t channel = k / s.taps, tap = k % s.taps, tap1 = tap / s.kernel[2] % s.kernel[1];
        const int64_t tap0 = tap / (s.kernel[2] * s.kernel[1]), start = tap1 * s.dilation[1] - s.padding[1];
        for (int64_t row = row_begin; row < row_end;) {
            const int64_t x = row / s.out[1], y = row % s.out[1], rows = std::min(s.out[1] - y, row_end - row);
            const int64_t place0 = x * s.stride[0] - s.padding[0] + tap0 * s.dilation[0], top = start + y * stride;
            int64_t first = 0, last = 0;
            if (place0 >= 0 && place0 < s.in[0]) {
                first = std::min(top >= 0 ? 0 : (-top + stride - 1) / stride, rows);
                last = std::clamp(s.in[1] > top ? (s.in[1] - top + stride - 1) / stride : 0, first, rows);
            }
            visit(Lines{unrolled, rows, first, last, channel * s.in_space + (place0 * s.in[1] + top + first * stride) * s.in[2],
                        Span(s, tap % s.kernel[2])});
            row += rows, unrolled += rows * width;
        }
        unrolled += gap;
    }
}

template <class T>
void unroll(const Shape& s, const T* input, T* unrolled, int64_t k_begin, int64_t k_end, int64_t row_begin, int64_t row_end,
            int64_t gap = 0) {
    const int64_t width = s.out[2], stride = s.stride[2], row = s.stride[1] * s.in[2], item = sizeof(T);
    const PlaneCopy copy = find_plane_copy(static_cast<int>(item));
    for_lines(s, k_begin, k_end, row_begin, row_end, gap, [&](const Lines& l) {
        const int64_t rows = l.last - l.first, count = l.span.last - l.span.first;
        T* to = unrolled + l.unrolled;
        if (rows < l.rows || count < width) clear(to, l.rows * width);
        if (rows == 0 || count <= 0) return;
        to += l.first * width + l.span.first;
        const T* from = input + l.input + l.span.start + l.span.first * stride;
        if constexpr (sizeof(T) >= 4)
            if (stride == 1) return row_steps<T>().copy({1, rows, 0, width, 0, row}, count, to, from);
        copy({reinterpret_cast<char*>(to),
              reinterpret_cast<const char*>(from),
              {rows, count},
              {width * item, item},
              {row * item, stride * item}});
    });
}

// The transposed piece, a row per position: with large strides contiguous elements stay contiguous.
template <class T> void unroll_places(const Shape& s, const T* input, T* to, int64_t row_begin, int64_t row_end) {
    const int64_t run = s.kernel[2];
    for (int64_t row = row_begin; row < row_end; ++row)
        for (int64_t z = 0; z < s.out[2]; ++z)
            for (int64_t channel = 0; channel < s.in_channels; ++channel)
                for (int64_t tap0 = 0; tap0 < s.kernel[0]; ++tap0)
                    for (int64_t tap1 = 0; tap1 < s.kernel[1]; ++tap1, to += run) {
                        const int64_t place0 = row / s.out[1] * s.stride[0] - s.padding[0] + tap0 * s.dilation[0];
                        const int64_t place1 = row % s.out[1] * s.stride[1] - s.padding[1] + tap1 * s.dilation[1];
                        const int64_t start = z * s.stride[2] - s.padding[2];
                        const bool inside = place0 >= 0 && place0 < s.in[0] && place1 >= 0 && place1 < s.in[1];
                        const int64_t first = inside ? std::clamp<int64_t>(-start, 0, run) : run;
                        const int64_t last = inside ? std::clamp<int64_t>(s.in[2] - start, first, run) : run;
                        clear(to, first);
                        clear(to + last, run - last);
                        if (first < last)
                            copy_row(to + first, input + channel * s.in_space + (place0 * s.in[1] + place1) * s.in[2] + start + first,
                                     last - first);
                    }
}

// The reverse: adds the unrolled piece to the positions it was read from.
template <class T>
void roll(const Shape& s, T* input, const T* unrolled, int64_t k_begin, int64_t k_end, int64_t row_begin, int64_t row_end,
          int64_t gap = 0) {
    for_lines(s, k_begin, k_end, row_begin, row_end, gap, [&](const Lines& l) {
        const int64_t rows = l.last - l.first, count = l.span.last - l.span.first;
        if (rows > 0 && count > 0)
            row_steps<T>().add({1, rows, 0, s.stride[1] * s.in[2], 0, s.out[2]}, count, s.stride[2],
                               input + l.input + l.span.start + l.span.first * s.stride[2],
                               unrolled + l.unrolled + l.first * s.out[2] + l.span.first);
    });
}

// Initial values for all positions of some channels: zeros, or the channel's own.
template <class T> void start_channels(T* to, int64_t channels, int64_t space, const T* values) {
    if (!values) return clear(to, channels * space);
    for (int64_t c = 0; c < channels; ++c, to += space)
        for (int64_t done = 0; done < space; done = std::max<int64_t>(2 * done, 8))
            if (done == 0)
                for (int64_t i = 0; i < std::min<int64_t>(space, 8); ++i) to[i] = values[c];
            else // what is there once more
                memcpy(to + done, to, static_cast<size_t>(std::min(done, space - done)) * sizeof(T));
}

template <class T> Gemm product(int64_t m, int64_t n, int64_t k) {
    Gemm g{};
    g.dtype = dtype_of<T>;
    g.m = m;
    g.n = n;
    g.k = k;
    return g;
}

// Operands of T, a result of R: bfloat16 is accumulated in float, by tiles.
template <class T, class R> void multiply(const Gemm& g) {
    if constexpr (std::is_same_v<T, R>) return gemm(g);
    else
        gemm_tiles({.m = g.m,
                    .n = g.n,
                    .k = g.k,
                    .a = g.a,
                    .a_row = g.a_row,
                    .a_column = g.a_column,
                    .b = g.b,
                    .b_row = g.b_row,
                    .b_column = g.b_column,
                    .out = g.out,
                    .out_row = g.out_row,
                    .kind = TilesPart::Float,
                    .c = g.c,
                    .c_row = g.c_row,
                    .c_column = g.c_column});
}

// How many output rows to unroll at a time.
int64_t rows_at_once(const Shape& s, int64_t unrolled_rows) {
    constexpr int64_t room = 192 << 10; // elements
    int64_t columns = std::max<int64_t>(room / std::max<int64_t>(unrolled_rows, 1), 128);
    int64_t rows = std::max<int64_t>(columns / std::max<int64_t>(s.out[2], 1), 1), all = s.out[0] * s.out[1];
    int64_t parts = (all + rows - 1) / rows;
    return (all + parts - 1) / std::max<int64_t>(parts, 1);
}

// True if the kernel covers the whole input at one position: an image is then a row of the unrolled input, unchanged.
bool is_whole(const Shape& s) {
    bool whole = s.out_space == 1;
    for (int d = 0; d < 3; ++d) whole = whole && s.kernel[d] == s.in[d] && s.padding[d] == 0;
    return whole;
}

} // namespace

template <class T> bool run_whole(const Shape& s, const T* input, const T* weight, const T* bias, T* output) {
    if (!is_whole(s)) return false;
    const int64_t k = s.in_channels * s.taps;
    for (int64_t group = 0; group < s.groups; ++group) {
        Gemm g = product<T>(s.batch, s.out_channels, k);
        g.a = input + group * k;
        g.a_row = s.groups * k;
        g.a_column = 1;
        g.b = weight + group * s.out_channels * k;
        g.b_row = 1;
        g.b_column = k;
        g.out = output + group * s.out_channels;
        g.out_row = s.groups * s.out_channels;
        g.out_column = 1;
        if (bias) g.c = bias + group * s.out_channels, g.c_column = 1;
        gemm(g);
    }
    return true;
}

template <class T> bool run_whole_input(const Shape& s, const T* grad_output, const T* weight, const T* bias, T* grad_input) {
    if (!is_whole(s)) return false;
    const int64_t k = s.in_channels * s.taps;
    Scratch<T> all(bias ? k : 0);
    for (int64_t group = 0; group < s.groups; ++group) {
        Gemm g = product<T>(s.batch, k, s.out_channels);
        g.a = grad_output + group * s.out_channels;
        g.a_row = s.groups * s.out_channels;
        g.a_column = 1;
        g.b = weight + group * s.out_channels * k;
        g.b_row = k;
        g.b_column = 1;
        g.out = grad_input + group * k;
        g.out_row = s.groups * k;
        g.out_column = 1;
        if (bias) {
            start_channels(all.data, s.in_channels, s.taps, bias + group * s.in_channels);
            g.c = all.data, g.c_column = 1;
        }
        gemm(g);
    }
    return true;
}

template <class T> bool run_whole_weight(const Shape& s, const T* input, const T* grad_output, T* grad_weight) {
    if (!is_whole(s)) return false;
    const int64_t k = s.in_channels * s.taps;
    for (int64_t group = 0; group < s.groups; ++group) {
        Gemm g = product<T>(s.out_channels, k, s.batch);
        g.a = grad_output + group * s.out_channels;
        g.a_row = 1;
        g.a_column = s.groups * s.out_channels;
        g.b = input + group * k;
        g.b_row = s.groups * k;
        g.b_column = 1;
        g.out = grad_weight + group * s.out_channels * k;
        g.out_row = k;
        g.out_column = 1;
        gemm(g);
    }
    return true;
}

template <class T> void run_unrolled(const Shape& s, const T* input, const T* weight, const T* bias, T* output) {
    int64_t unrolled_rows = s.in_channels * s.taps, all_rows = s.out[0] * s.out[1], width = s.out[2];
    int64_t rows = s.direct ? all_rows : rows_at_once(s, unrolled_rows);
    int64_t parts = (all_rows + rows - 1) / rows;
    const bool by_place = s.stride[2] > 1 && s.kernel[2] >= 4 && s.dilation[2] == 1;
    auto task = [&](int64_t index) {
        int64_t image = index / parts, part = index % parts; // image counts (sample, group)
        int64_t row_begin = part * rows, row_end = std::min(row_begin + rows, all_rows);
        int64_t columns = (row_end - row_begin) * width;
        int64_t group = image % s.groups;
        const T* from = input + image * s.in_channels * s.in_space;
        T* to = output + image * s.out_channels * s.out_space + row_begin * width;
        Scratch<T> unrolled(s.direct ? 0 : unrolled_rows * columns);
        if (by_place) unroll_places(s, from, unrolled.data, row_begin, row_end);
        else if (!s.direct) unroll(s, from, unrolled.data, 0, unrolled_rows, row_begin, row_end);
        Gemm g = product<T>(s.out_channels, columns, unrolled_rows);
        g.a = weight + group * s.out_channels * unrolled_rows;
        g.a_row = unrolled_rows;
        g.a_column = 1;
        g.b = s.direct ? from : unrolled.data;
        g.b_row = s.direct ? s.in_space : by_place ? 1 : columns;
        g.b_column = by_place ? unrolled_rows : 1;
        g.out = to;
        g.out_row = s.out_space;
        g.out_column = 1;
        if (bias) {
            g.c = bias + group * s.out_channels;
            g.c_row = 1;
            g.c_column = 0;
        }
        gemm(g);
    };
    int64_t tasks = s.batch * s.groups * parts;
    if (tasks == 1) return task(0); // the product itself uses the threads
    double work = static_cast<double>(s.out_channels) * static_cast<double>(unrolled_rows) * static_cast<double>(rows * width);
    auto grain = std::max<int64_t>(1, static_cast<int64_t>(500e3 / (work + 1)));
    parallel_for(0, tasks, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            hear_signals();
            task(i);
        }
    });
}

// How many samples share a product: enough for the positions it needs, unless that is left to `gemm`.
template <class T, class R> int64_t samples_at_once(const Shape& s) {
    return std::is_same_v<T, R> ? 1 : std::clamp<int64_t>(128 / std::max<int64_t>(s.out_space, 1), 1, s.batch);
}
// Channels of several samples side by side: [channels, samples, space]. A copy is needed unless it is one sample.
template <class T> struct SideBySide {
    Scratch<T> copy;
    const T* at;
    SideBySide(const Shape& s, const T* from, int64_t samples) : copy(samples > 1 ? samples * s.out_channels * s.out_space : 0), at(from) {
        if (samples == 1) return;
        for (int64_t c = 0; c < s.out_channels; ++c)
            for (int64_t n = 0; n < samples; ++n)
                memcpy(copy.data + (c * samples + n) * s.out_space, from + (n * s.groups * s.out_channels + c) * s.out_space,
                       static_cast<size_t>(s.out_space) * sizeof(T));
        at = copy.data;
    }
};

template <class T, class R> void run_unrolled_input(const Shape& s, const T* grad_output, const T* weight, const R* bias, R* grad_input) {
    int64_t all_rows = s.out[0] * s.out[1], width = s.out[2], unrolled_rows = s.in_channels * s.taps;
    const int64_t together = samples_at_once<T, R>(s), chunks = (s.batch + together - 1) / together;
    // A task is a block of channels of one image: no other adds to its part of the result.
    int64_t images = chunks * s.groups;
    int64_t blocks = 1;
    if (images < 2 * num_threads())
        blocks = std::min<int64_t>(s.in_channels, (2 * num_threads() + images - 1) / std::max<int64_t>(images, 1));
    int64_t channels = (s.in_channels + blocks - 1) / blocks;
    channels = std::min((channels + 3) / 4 * 4, s.in_channels);
    blocks = (s.in_channels + channels - 1) / channels;
    int64_t rows = s.direct || together > 1 ? all_rows : rows_at_once(s, channels * s.taps);
    // Tiles read the transposed weight as it is.
    const bool turned = !std::is_same_v<T, R>;
    Scratch<T> turned_weight(turned ? s.groups * s.out_channels * unrolled_rows : 0);
    if (turned)
        for (int64_t group = 0; group < s.groups; ++group)
            find_plane_copy(sizeof(T))({reinterpret_cast<char*>(turned_weight.data + group * s.out_channels * unrolled_rows),
                                        reinterpret_cast<const char*>(weight + group * s.out_channels * unrolled_rows),
                                        {unrolled_rows, s.out_channels},
                                        {s.out_channels * static_cast<int64_t>(sizeof(T)), sizeof(T)},
                                        {sizeof(T), unrolled_rows * static_cast<int64_t>(sizeof(T))}});
    auto task = [&](int64_t index) {
        const int64_t chunk = index / blocks / s.groups, group = index / blocks % s.groups, sample = chunk * together;
        const int64_t samples = std::min(together, s.batch - sample), image = sample * s.groups + group;
        int64_t channel = index % blocks * channels, count = std::min(channels, s.in_channels - channel);
        R* to = grad_input + (image * s.in_channels + channel) * s.in_space;
        const int64_t next = s.groups * s.in_channels * s.in_space; // from a sample's part to the next one's
        const SideBySide<T> from(s, grad_output + image * s.out_channels * s.out_space, samples);
        const R* offset = bias ? bias + group * s.in_channels + channel : nullptr;
        const bool in_place = s.direct && samples == 1;
        Scratch<R> unrolled(in_place ? 0 : count * s.taps * rows * width * samples);
        if (!in_place)
            for (int64_t n = 0; n < samples; ++n) start_channels(to + n * next, count, s.in_space, offset);
        for (int64_t row = 0; row < all_rows; row += rows) {
            int64_t row_end = std::min(row + rows, all_rows), columns = (row_end - row) * width;
            Gemm g = product<T>(count * s.taps, columns * samples, s.out_channels);
            const int64_t first = group * s.out_channels * unrolled_rows;
            g.a = turned ? turned_weight.data + first + channel * s.taps * s.out_channels : weight + first + channel * s.taps;
            g.a_row = turned ? s.out_channels : 1;
            g.a_column = turned ? 1 : unrolled_rows;
            g.b = from.at + row * width;
            g.b_row = s.out_space * samples;
            g.b_column = 1;
            g.out = in_place ? to : unrolled.data;
            g.out_row = in_place ? s.in_space : columns * samples;
            g.out_column = 1;
            if (in_place && offset) {
                g.c = offset;
                g.c_row = 1;
            }
            multiply<T, R>(g);
            if (!in_place)
                for (int64_t n = 0; n < samples; ++n)
                    roll(s, to + n * next, unrolled.data + n * columns, 0, count * s.taps, row, row_end, (samples - 1) * columns);
        }
        if (in_place && (all_rows == 0 || width == 0)) start_channels(to, count, s.in_space, offset);
    };
    parallel_for(0, images * blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            hear_signals();
            task(i);
        }
    });
}

template <class T, class R> void run_unrolled_weight(const Shape& s, const T* input, const T* grad_output, R* grad_weight) {
    int64_t unrolled_rows = s.in_channels * s.taps, all_rows = s.out[0] * s.out[1], width = s.out[2];
    const int64_t together = samples_at_once<T, R>(s);
    // A task is a block of unrolled rows of one group, summed over all samples in order. Its size depends on the shape
    // alone, because the order of summation does.
    int64_t block = std::max<int64_t>((unrolled_rows + 15) / 16, 24);
    if (!std::is_same_v<T, R>) block = (block + 63) / 64 * 64; // whole tiles
    int64_t blocks = (unrolled_rows + block - 1) / block;
    int64_t rows = s.direct || together > 1 ? all_rows : rows_at_once(s, unrolled_rows);
    auto task = [&](int64_t index) {
        int64_t group = index / blocks, k_begin = index % blocks * block, k_end = std::min(k_begin + block, unrolled_rows);
        const bool in_place = s.direct && together == 1;
        Scratch<T> unrolled(in_place ? 0 : (k_end - k_begin) * rows * width * together);
        R* to = grad_weight + group * s.out_channels * unrolled_rows + k_begin;
        bool first = true;
        for (int64_t sample = 0; sample < s.batch; sample += together) {
            const int64_t image = sample * s.groups + group, samples = std::min(together, s.batch - sample);
            const T* from = input + image * s.in_channels * s.in_space;
            const SideBySide<T> grads(s, grad_output + image * s.out_channels * s.out_space, samples);
            for (int64_t row = 0; row < all_rows; row += rows) {
                int64_t row_end = std::min(row + rows, all_rows), columns = (row_end - row) * width;
                if (!in_place)
                    for (int64_t n = 0; n < samples; ++n)
                        unroll(s, from + n * s.groups * s.in_channels * s.in_space, unrolled.data + n * columns, k_begin, k_end, row,
                               row_end, (samples - 1) * columns);
                Gemm g = product<T>(s.out_channels, k_end - k_begin, columns * samples);
                g.a = grads.at + row * width;
                g.a_row = s.out_space * samples;
                g.a_column = 1;
                g.b = in_place ? from + k_begin * s.in_space : unrolled.data;
                g.b_row = 1;
                g.b_column = in_place ? s.in_space : columns * samples;
                g.out = to;
                g.out_row = unrolled_rows;
                g.out_column = 1;
                if (!first) {
                    g.c = to;
                    g.c_row = unrolled_rows;
                    g.c_column = 1;
                }
                multiply<T, R>(g);
                first = false;
            }
        }
    };
    if (s.groups * blocks == 1) return task(0);
    parallel_for(0, s.groups * blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            hear_signals();
            task(i);
        }
    });
}

template bool run_whole(const Shape&, const float*, const float*, const float*, float*);
template bool run_whole_input(const Shape&, const float*, const float*, const float*, float*);
template bool run_whole_weight(const Shape&, const float*, const float*, float*);
template void run_unrolled(const Shape&, const float*, const float*, const float*, float*);
template void run_unrolled_input(const Shape&, const float*, const float*, const float*, float*);
template void run_unrolled_weight(const Shape&, const float*, const float*, float*);
template bool run_whole(const Shape&, const double*, const double*, const double*, double*);
template bool run_whole_input(const Shape&, const double*, const double*, const double*, double*);
template bool run_whole_weight(const Shape&, const double*, const double*, double*);
template void run_unrolled(const Shape&, const double*, const double*, const double*, double*);
template void run_unrolled_input(const Shape&, const double*, const double*, const double*, double*);
template void run_unrolled_weight(const Shape&, const double*, const double*, double*);
template void run_unrolled(const Shape&, const BFloat16*, const BFloat16*, const BFloat16*, BFloat16*);
template void run_unrolled_input(const Shape&, const BFloat16*, const BFloat16*, const float*, float*);
template void run_unrolled_weight(const Shape&, const BFloat16*, const BFloat16*, float*);

} // namespace kindling::library
