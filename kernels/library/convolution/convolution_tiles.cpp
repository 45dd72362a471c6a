// kernels/library/convolution/convolution_tiles.cpp: convolutions of bfloat16 by AMX tiles without an unrolled input, and input gradients
// of stride 1, which are such convolutions.
// Compiled for size.
#include "kernels/library/convolution/convolution_tiles.h"

#include <algorithm>

#include "kernels/library/convolution/convolution_layout.h"
#include "kernels/library/half.h"
#include "kernels/library/scratch.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

using Shape = ConvolutionShape;

constexpr int64_t wide = tiles_channels;

bool fits(const Shape& s) {
    return !s.direct && s.in[0] == 1 && s.kernel[0] == 1 && s.out[0] == 1 && s.padding[0] == 0 && s.in_channels >= wide / 2 &&
           s.out_channels >= wide / 2 && s.stride[1] <= 8 && s.stride[2] <= 2 && s.out_space > 0;
}

/// How weights lie: those of output channel o and input channel i begin at o * out + i * in.
struct Lie {
    int64_t group, out, in;
    bool reverse;
};

/// Copies what a block of images of one group reads for the rows of the output from first_row. What lies beside the input's columns
/// has been zero from the beginning.
void copy(const Shape& s, const ConvolutionLayout& l, const uint16_t* input, int64_t images, int64_t first_row, uint32_t* copied) {
    const bool bands = l.out_rows < s.out[1];
    for_phases(s, l, first_row, [&](int64_t at, int64_t first, int64_t last, int64_t begin, int64_t end, int64_t place) {
        for (int64_t pair = 0; 2 * pair < s.in_channels; ++pair) {
            uint32_t* plane = copied + pair * l.plane + at;
            if (bands) {
                clear(plane, first * l.pitch);
                clear(plane + last * l.pitch, (l.rows - last) * l.pitch);
            }
            for (int64_t n = 0; n < images; ++n) {
                const uint16_t* from = input + (n * s.groups * s.in_channels + 2 * pair) * s.in_space + place;
                if (begin < end)
                    copy_pairs({from, 2 * pair + 1 < s.in_channels ? from + s.in_space : nullptr,
                                plane + first * l.pitch + n * l.cell + begin, last - first, end - begin, s.stride[2], s.stride[1] * s.in[2],
                                l.pitch});
            }
        }
    });
}

bool run(const Shape& s, const BFloat16* input, const BFloat16* weight, const Lie& lie, const BFloat16* bias, BFloat16* output) {
    if (!fits(s)) return false;
    constexpr int64_t room = 128 << 10; // pairs of a copy
    const int64_t blocks_in = (s.in_channels + wide - 1) / wide, pairs = blocks_in * (wide / 2), steps = s.taps * blocks_in;
    const int64_t blocks_out = (s.out_channels + wide - 1) / wide;
    ConvolutionLayout layout(s, pairs, room);
    int64_t abreast = 1;
    if (layout.out_rows == s.out[1]) { // images side by side share tiles
        abreast = std::clamp<int64_t>(room / (pairs * layout.plane), 1, std::min<int64_t>(s.batch, 16));
        const int64_t blocks = (s.batch + abreast - 1) / abreast;
        abreast = (s.batch + blocks - 1) / blocks;
        layout = ConvolutionLayout(s, pairs, 2 * room, abreast);
        if (layout.out_rows < s.out[1]) abreast = 1, layout = ConvolutionLayout(s, pairs, room);
    }
    Scratch<int64_t> offsets(steps);
    for (int64_t tap = 0; tap < s.taps; ++tap)
        for (int64_t block = 0; block < blocks_in; ++block)
            offsets.data[tap * blocks_in + block] = layout.offset(s, block * (wide / 2), tap);

    const int64_t weights_size = steps * wide * 2 * wide; // bytes for 32 channels of the output
    Scratch<char> packed(s.groups * blocks_out * weights_size + 64);
    char* weights = packed.data + (64 - reinterpret_cast<uintptr_t>(packed.data) % 64) % 64;
    parallel_for(0, s.groups * blocks_out, 1 + 65536 / weights_size, [&](int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) {
            const int64_t group = index / blocks_out, o = index % blocks_out * wide;
            pack_tiles({reinterpret_cast<const uint16_t*>(weight) + group * lie.group + o * lie.out, std::min(wide, s.out_channels - o),
                        s.in_channels, s.taps, lie.out, lie.in, lie.reverse, weights + index * weights_size});
        }
    });
    Scratch<float> added(bias ? s.groups * s.out_channels : 0);
    for (int64_t c = 0; bias && c < s.groups * s.out_channels; ++c) added.data[c] = as_float(bias[c]);

    const int64_t blocks = (s.batch + abreast - 1) / abreast * s.groups, bands = (s.out[1] + layout.out_rows - 1) / layout.out_rows;
    const double work = static_cast<double>(steps * wide * s.out_channels) * static_cast<double>(layout.out_rows * s.out[2] * abreast);
    parallel_for(0, blocks * bands, std::max<int64_t>(1, static_cast<int64_t>(8e6 / (work + 1))), [&](int64_t begin, int64_t end) {
        const int64_t size = pairs * layout.plane + 2 * wide; // a tile reads behind the last place
        Scratch<uint32_t> copied(size);
        clear(copied.data, size);
        for (int64_t task = begin; task < end; ++task) {
            hear_signals();
            const int64_t block = task / bands, first_row = task % bands * layout.out_rows, group = block % s.groups;
            const int64_t first = block / s.groups * abreast, images = std::min(abreast, s.batch - first);
            Scratch<int64_t> places(images);
            for (int64_t n = 0; n < images; ++n) places[n] = n * s.groups * s.out_channels * s.out_space;
            const PositionRuns runs(s, layout, std::min(layout.out_rows, s.out[1] - first_row), images, wide, places.data);
            const int64_t image = first * s.groups + group;
            copy(s, layout, reinterpret_cast<const uint16_t*>(input) + image * s.in_channels * s.in_space, images, first_row, copied.data);
            auto* to = reinterpret_cast<uint16_t*>(output) + image * s.out_channels * s.out_space + first_row * s.out[2];
            convolve_tiles({weights + group * blocks_out * weights_size, s.out_channels, offsets.data, steps, copied.data, layout.plane,
                            runs.tiles, runs.list.data, runs.begin.data, to, s.out_space,
                            bias ? added.data + group * s.out_channels : nullptr});
        }
    });
    return true;
}

} // namespace

bool run_tiles(const Shape& s, const BFloat16* input, const BFloat16* weight, const BFloat16* bias, BFloat16* output) {
    const int64_t row = s.in_channels * s.taps;
    return run(s, input, weight, {s.out_channels * row, row, s.taps, false}, bias, output);
}

bool run_tiles_input(const Shape& s, const BFloat16* grad_output, const BFloat16* weight, const BFloat16* bias, BFloat16* grad_input) {
    Shape back = s;
    if (!back.turn_back()) return false;
    const int64_t row = s.in_channels * s.taps;
    return run(back, grad_output, weight, {s.out_channels * row, s.taps, row, true}, bias, grad_input);
}

} // namespace kindling::library
