// kernels/library/convolution_layout.h: the copy of the input that convolutions without an unrolled input read: padded,
// rows and columns sorted by their place in the stride, so that what a tap reads for neighbouring outputs lies side by
// side.
#pragma once
#include <algorithm>

#include "kernels/library/convolution_shape.h"
#include "kernels/move.h"

namespace kindling::library {

/// Channel c, row phase f, column phase g, row r, image n of those side by side, place p lie at
/// (((c * stride1 + f) * stride2 + g) * rows + r) * pitch + n * cell + p.
struct ConvolutionLayout {
    int64_t out_rows, most; // rows of the output at once, and how many at most
    int64_t columns, cell, pitch, rows, plane;
    /// Rows enough to fill `room` elements, of so many images side by side.
    ConvolutionLayout(const ConvolutionShape& s, int64_t channels, int64_t room, int64_t images = 1)
        : columns(columns_of(s)), cell(columns - shared(s, columns)), pitch(images * cell) {
        set(s, 1);
        const int64_t least = plane;
        set(s, 2);
        const int64_t each = std::max<int64_t>(channels * (plane - least), 1);
        most = std::min(std::max<int64_t>((room - channels * least) / each + 1, 1), s.out[1]);
        const int64_t bands = (s.out[1] + most - 1) / most;
        set(s, (s.out[1] + bands - 1) / bands);
    }
    /// All rows. Between them lie zeros, so that whole registers of so many lanes can be read for all outputs.
    ConvolutionLayout(const ConvolutionShape& s, int64_t lanes)
        : columns(columns_of(s)), cell(columns - s.out[2] + (s.out[2] + lanes - 1) / lanes * lanes), pitch(cell) {
        most = s.out[1];
        set(s, most);
    }
    static int64_t columns_of(const ConvolutionShape& s) {
        return s.out[2] + (s.kernel[2] - 1) * s.dilation[2] / s.stride[2];
    }
    /// The zeros behind a row that can be those before the next one.
    static int64_t shared(const ConvolutionShape& s, int64_t columns) {
        if (s.stride[2] != 1) return 0;
        return std::max<int64_t>(std::min({s.padding[2], columns - s.padding[2] - s.in[2], columns - s.out[2]}), 0);
    }
    void set(const ConvolutionShape& s, int64_t count) {
        out_rows = count;
        rows = (count - 1) + ((s.kernel[1] - 1) * s.dilation[1]) / s.stride[1] + 1;
        plane = s.stride[1] * s.stride[2] * rows * pitch;
    }
    /// Places of `count` rows of the output.
    int64_t places(const ConvolutionShape& s, int64_t count) const { return count * pitch - (cell - s.out[2]); }
    int64_t offset(const ConvolutionShape& s, int64_t channel, int64_t tap) const {
        const int64_t y = tap / s.kernel[2] * s.dilation[1], x = tap % s.kernel[2] * s.dilation[2];
        return channel * plane +
               (((y % s.stride[1]) * s.stride[2] + x % s.stride[2]) * rows + y / s.stride[1]) * pitch + x / s.stride[2];
    }
    /// Whether any of the taps falls on a place in the stride.
    static bool used(int64_t phase, int64_t kernel, int64_t dilation, int64_t stride) {
        for (int64_t tap = 0; tap < std::min(kernel, stride); ++tap)
            if (tap * dilation % stride == phase) return true;
        return false;
    }
};

/// Visits the phases of one channel that are read: visit(at, first, last, begin, end, from). Places [begin, end) of the
/// rows [first, last) of the phase, which begins at `at`, lie inside the input, the first of them at `from`.
template <class Visit>
void for_phases(const ConvolutionShape& s, const ConvolutionLayout& l, int64_t first_row, Visit visit) {
    const int64_t sy = s.stride[1], sx = s.stride[2];
    auto ceiling = [](int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; };
    for (int64_t f = 0, at = 0; f < sy; ++f)
        for (int64_t g = 0; g < sx; ++g, at += l.rows * l.pitch) {
            if (!l.used(f, s.kernel[1], s.dilation[1], sy) || !l.used(g, s.kernel[2], s.dilation[2], sx)) continue;
            const int64_t left = g - s.padding[2], top = first_row * sy + f - s.padding[1];
            const int64_t begin = std::min(ceiling(-left, sx), l.cell);
            const int64_t end = std::max(std::min({ceiling(s.in[2] - left, sx), l.columns, l.cell}), begin);
            const int64_t first = std::min(ceiling(-top, sy), l.rows);
            const int64_t last = std::max(std::min(ceiling(s.in[1] - top, sy), l.rows), first);
            visit(at, first, last, begin, end, (top + first * sy) * s.in[2] + left + begin * sx);
        }
}

/// The numbers of a row go to two places in turns, which is what stride 2 asks for: each is read once.
template <class T>
inline void split_row(T* __restrict even, int64_t evens, T* __restrict odd, int64_t odds, const T* __restrict from) {
    const int64_t both = std::min(evens, odds);
    for (int64_t p = 0; p < both; ++p) {
        even[p] = from[2 * p];
        odd[p] = from[2 * p + 1];
    }
    for (int64_t p = both; p < evens; ++p)
        even[p] = from[2 * p];
    for (int64_t p = both; p < odds; ++p)
        odd[p] = from[2 * p + 1];
}

/// What rows [first_row, ...) of the output read of `channels` channels, of the image at `side` among those side by
/// side. Places beside the input's columns are left as they are: zeros, from the beginning.
template <class T>
void fill_layout(const ConvolutionShape& s, const ConvolutionLayout& l, const T* input, int64_t channels,
                 int64_t first_row, T* to, int64_t side = 0) {
    const int64_t sy = s.stride[1], sx = s.stride[2], item = sizeof(T);
    const PlaneCopy copy = find_plane_copy(static_cast<int>(item));
    const bool split = sx == 2 && l.used(1, s.kernel[2], s.dilation[2], 2);
    struct {
        T* target;
        const T* from;
        int64_t count;
    } last_phase = {};
    for (int64_t c = 0; c < channels; ++c, input += s.in_space, to += l.plane)
        for_phases(s, l, first_row,
                   [&](int64_t at, int64_t first, int64_t last, int64_t begin, int64_t end, int64_t place) {
                       if (side == 0) { // of all of them
                           std::fill_n(to + at, first * l.pitch, T{0});
                           std::fill_n(to + at + last * l.pitch, (l.rows - last) * l.pitch, T{0});
                       }
                       const T* from = input + place;
                       T* target = to + at + first * l.pitch + side * l.cell + begin;
                       if (split) { // the phases of one row come one after the other
                           if (at / (l.rows * l.pitch) % 2 == 0) {
                               last_phase = {target, from, end - begin};
                               return;
                           }
                           const bool ahead = from < last_phase.from;
                           const T* both = ahead ? from : last_phase.from;
                           T *even = ahead ? target : last_phase.target, *odd = ahead ? last_phase.target : target;
                           const int64_t evens = ahead ? end - begin : last_phase.count,
                                         odds = ahead ? last_phase.count : end - begin;
                           for (int64_t r = first; r < last; ++r, both += sy * s.in[2], even += l.pitch, odd += l.pitch)
                               split_row(even, evens, odd, odds, both);
                           return;
                       }
                       if (begin == end || first == last) return;
                       if (sx != 1)
                           return copy({reinterpret_cast<char*>(target),
                                        reinterpret_cast<const char*>(from),
                                        {last - first, end - begin},
                                        {l.pitch * item, item},
                                        {sy * s.in[2] * item, sx * item}});
                       for (int64_t r = first; r < last; ++r, from += sy * s.in[2], target += l.pitch) {
                           // The next channel's rows are asked for a channel ahead.
                           if (c + 1 < channels) fetch_ahead(from + s.in_space, (end - begin) * item);
                           copy_row(target, from, end - begin);
                       }
                   });
}

} // namespace kindling::library
