// kernels/library/convolution/convolution_layout.h: the copy of the input that convolutions without an unrolled input read. It is
// padded, and rows and columns are sorted by their phase in the stride, so that what a tap reads for neighbouring
// outputs is contiguous.
#pragma once
#include <algorithm>

#include "kernels/library/convolution/convolution_shape.h"
#include "kernels/library/scratch.h"
#include "kernels/tile/move.h"

namespace kindling::library {

/// Channel c, row phase f, column phase g, row r, image n of those side by side, position p are at (((c * stride1 + f)
/// * stride2 + g) * rows + r) * pitch + n * cell + p.
struct ConvolutionLayout {
    int64_t out_rows, most; // rows of the output at once, and the most that there are
    int64_t columns, cell, pitch, rows, plane;
    int64_t lanes = 0; // rows are so many registers long that each lies in one row; else registers go on behind the end of a row
    /// As many rows as fill `room` elements, for so many images side by side.
    ConvolutionLayout(const ConvolutionShape& s, int64_t channels, int64_t room, int64_t images = 1);
    /// All rows. Zeros between them let whole registers of so many lanes be read for all outputs.
    ConvolutionLayout(const ConvolutionShape& s, int64_t lanes)
        : columns(columns_of(s)), cell(columns - s.out[2] + (s.out[2] + lanes - 1) / lanes * lanes), pitch(cell) {
        most = s.out[1];
        set(s, most);
    }
    static int64_t columns_of(const ConvolutionShape& s) { return s.out[2] + (s.kernel[2] - 1) * s.dilation[2] / s.stride[2]; }
    /// The zeros behind a row that can serve as those before the next one.
    static int64_t shared(const ConvolutionShape& s, int64_t columns);
    void set(const ConvolutionShape& s, int64_t count);
    /// Positions of `count` rows of the output.
    int64_t places(const ConvolutionShape& s, int64_t count) const;
    int64_t offset(const ConvolutionShape& s, int64_t channel, int64_t tap) const {
        const int64_t y = tap / s.kernel[2] * s.dilation[1], x = tap % s.kernel[2] * s.dilation[2];
        return channel * plane + (((y % s.stride[1]) * s.stride[2] + x % s.stride[2]) * rows + y / s.stride[1]) * pitch + x / s.stride[2];
    }
    /// a / b, rounded up; 0 for a below 0.
    static int64_t ceiling(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }
    /// True if any tap has this phase of the stride.
    static bool used(int64_t phase, int64_t kernel, int64_t dilation, int64_t stride) {
        for (int64_t tap = 0; tap < std::min(kernel, stride); ++tap)
            if (tap * dilation % stride == phase) return true;
        return false;
    }
};

/// The runs of all tiles of `columns` positions, over some rows of the images side by side. They are the same for all channels.
struct PositionRuns {
    Scratch<PositionRun> list;
    Scratch<int64_t> begin; // of each tile's, and the end
    Scratch<int64_t> spots; // where each half of a tile begins in the copy
    int64_t tiles = 0;
    /// places_of_images: where each image begins in the output.
    PositionRuns(const ConvolutionShape& s, const ConvolutionLayout& l, int64_t rows, int64_t images, int64_t columns,
                 const int64_t* places_of_images);
};

/// Visits the phases of one channel that are read: visit(at, first, last, begin, end, from). Positions [begin, end) of
/// the rows [first, last) of the phase, which begins at `at`, are inside the input; the first of them is at `from`.
template <class Visit> void for_phases(const ConvolutionShape& s, const ConvolutionLayout& l, int64_t first_row, Visit visit) {
    const int64_t sy = s.stride[1], sx = s.stride[2];
    for (int64_t f = 0, at = 0; f < sy; ++f)
        for (int64_t g = 0; g < sx; ++g, at += l.rows * l.pitch) {
            if (!l.used(f, s.kernel[1], s.dilation[1], sy) || !l.used(g, s.kernel[2], s.dilation[2], sx)) continue;
            const int64_t left = g - s.padding[2], top = first_row * sy + f - s.padding[1];
            const int64_t begin = std::min(l.ceiling(-left, sx), l.cell);
            const int64_t end = std::max(std::min({l.ceiling(s.in[2] - left, sx), l.columns, l.cell}), begin);
            const int64_t first = std::min(l.ceiling(-top, sy), l.rows);
            const int64_t last = std::max(std::min(l.ceiling(s.in[1] - top, sy), l.rows), first);
            visit(at, first, last, begin, end, (top + first * sy) * s.in[2] + left + begin * sx);
        }
}

/// Steps from one channel to the next, in the input and in the copy.
struct ChannelSteps {
    int64_t from, to;
};

/// Copies what rows [first_row, ...) of the output read, for `channels` channels of the image at `side` among those
/// side by side. Positions beside the input's columns are not written; nor are rows outside it, if all rows are copied
/// at once. They have been zero from the beginning.
template <class T>
void fill_layout(const ConvolutionShape& s, const ConvolutionLayout& l, const T* input, int64_t channels, int64_t first_row, T* to,
                 int64_t side, ChannelSteps channel) {
    const int64_t sy = s.stride[1], sx = s.stride[2], item = sizeof(T);
    const RowSteps<T>& steps = row_steps<T>();
    const bool split = sx == 2 && l.used(1, s.kernel[2], s.dilation[2], 2), bands = l.out_rows < s.out[1];
    struct {
        T* target;
        const T* from;
        int64_t count;
    } last_phase = {};
    for_phases(s, l, first_row, [&](int64_t at, int64_t first, int64_t last, int64_t begin, int64_t end, int64_t place) {
        if (bands && side == 0) // of all of them
            for (int64_t c = 0; c < channels; ++c) {
                clear(to + c * channel.to + at, first * l.pitch);
                clear(to + c * channel.to + at + last * l.pitch, (l.rows - last) * l.pitch);
            }
        const T* from = input + place;
        T* target = to + at + first * l.pitch + side * l.cell + begin;
        const PlaneRows rows = {channels, last - first, channel.to, l.pitch, channel.from, sy * s.in[2]};
        if (split) { // the phases of one row are consecutive
            if (at / (l.rows * l.pitch) % 2 == 0) {
                last_phase = {target, from, end - begin};
                return;
            }
            if (from < last_phase.from) steps.split(rows, end - begin, last_phase.count, target, last_phase.target, from);
            else steps.split(rows, last_phase.count, end - begin, last_phase.target, target, last_phase.from);
            return;
        }
        if (begin == end || first == last) return;
        if (sx == 1) return steps.copy(rows, end - begin, target, from);
        const PlaneCopy copy = find_plane_copy(static_cast<int>(item));
        for (int64_t c = 0; c < channels; ++c)
            copy({reinterpret_cast<char*>(target + c * channel.to),
                  reinterpret_cast<const char*>(from + c * channel.from),
                  {last - first, end - begin},
                  {l.pitch * item, item},
                  {sy * s.in[2] * item, sx * item}});
    });
}

template <class T>
void fill_layout(const ConvolutionShape& s, const ConvolutionLayout& l, const T* input, int64_t channels, int64_t first_row, T* to) {
    fill_layout(s, l, input, channels, first_row, to, 0, {s.in_space, l.plane});
}

} // namespace kindling::library
