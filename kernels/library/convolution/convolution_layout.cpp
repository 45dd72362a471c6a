// kernels/library/convolution/convolution_layout.cpp: the sizes of the copy, and where its positions lie in the output.
// Compiled for size.
#include "kernels/library/convolution/convolution_layout.h"

namespace kindling::library {

ConvolutionLayout::ConvolutionLayout(const ConvolutionShape& s, int64_t channels, int64_t room, int64_t images)
    : columns(columns_of(s)), cell(columns - shared(s, columns)), pitch(images * cell) {
    set(s, 1);
    const int64_t least = plane;
    set(s, 2);
    const int64_t each = std::max<int64_t>(channels * (plane - least), 1);
    most = std::min(std::max<int64_t>((room - channels * least) / each + 1, 1), s.out[1]);
    const int64_t bands = (s.out[1] + most - 1) / most;
    set(s, (s.out[1] + bands - 1) / bands);
}

int64_t ConvolutionLayout::shared(const ConvolutionShape& s, int64_t columns) {
    int64_t zeros = columns - s.out[2];
    for (int64_t phase = 0; phase < s.stride[2]; ++phase)
        if (used(phase, s.kernel[2], s.dilation[2], s.stride[2])) {
            const int64_t left = phase - s.padding[2];
            zeros = std::min({zeros, ceiling(-left, s.stride[2]), columns - ceiling(s.in[2] - left, s.stride[2])});
        }
    return std::max<int64_t>(zeros, 0);
}

void ConvolutionLayout::set(const ConvolutionShape& s, int64_t count) {
    out_rows = count;
    rows = (count - 1) + ((s.kernel[1] - 1) * s.dilation[1]) / s.stride[1] + 1;
    plane = s.stride[1] * s.stride[2] * rows * pitch;
}

int64_t ConvolutionLayout::places(const ConvolutionShape& s, int64_t count) const {
    return lanes ? count * (pitch / cell) * s.out[2] : count * pitch - (cell - s.out[2]);
}

PositionRuns::PositionRuns(const ConvolutionShape& s, const ConvolutionLayout& l, int64_t rows, int64_t images, int64_t columns,
                           const int64_t* places_of_images)
    : list(l.places(s, rows) / (l.lanes ? l.lanes : l.cell) + l.places(s, rows) / columns + 2), begin(l.places(s, rows) / columns + 2),
      spots(2 * (l.places(s, rows) / columns + 2)) {
    const int64_t places = l.places(s, rows), abreast = l.pitch / l.cell;
    int64_t count = 0;
    for (int64_t j = 0; j < places; j += columns) {
        spots[2 * tiles] = j, spots[2 * tiles + 1] = j + columns / 2;
        begin[tiles++] = count;
        for (int64_t half = 0; half < 2 && l.lanes; ++half) {
            const int64_t from = half * l.lanes, row = (j + from) / s.out[2], x = (j + from) % s.out[2], image = row % abreast;
            int64_t& spot = spots[2 * tiles - 2 + half];
            spot = row / abreast * l.pitch + image * l.cell + x;
            if (j + from >= places) spot = spots[2 * tiles - 2]; // computed twice
            if (j + from >= places || image >= images) continue;
            const int64_t place = places_of_images[image] + row / abreast * s.out[2] + x;
            if (count > begin[tiles - 1] && list[count - 1].from + list[count - 1].count == from &&
                list[count - 1].place + l.lanes == place)
                list[count - 1].count += l.lanes;
            else list[count++] = {from, l.lanes, place};
        }
        if (l.lanes) continue;
        const int64_t stop = std::min(j + columns, places);
        for (int64_t at = j / l.cell * l.cell; at < stop; at += l.cell) {
            const int64_t from = std::max(at, j), length = std::min(at + s.out[2], stop) - from, image = at % l.pitch / l.cell;
            if (length > 0 && image < images)
                list[count++] = {from - j, length, places_of_images[image] + at / l.pitch * s.out[2] + (from - at)};
        }
    }
    begin[tiles] = count;
}

} // namespace kindling::library
