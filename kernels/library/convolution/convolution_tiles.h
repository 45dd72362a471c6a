// kernels/library/convolution/convolution_tiles.h: the inner loops of bfloat16 convolutions by AMX tiles. Channels of the input lie in
// pairs, a pair of numbers in 32 bits. A tile of the input is 16 pairs of channels times 16 positions of the output, which are
// read where they lie: for every tap they are contiguous (convolution_layout.h). A tile of the weights is 16 channels of the
// output times 32 of the input.
#pragma once
#include <cstdint>

#include "kernels/library/convolution/convolution_isa.h"

namespace kindling::library {

constexpr int64_t tiles_channels = 32; // of the input at once, and of the output; positions too

/// Rows of a plane of pairs: to[i] = low[i * stride] beside high[i * stride], or beside 0 without `high`. The stride is 1 or 2.
struct PairRows {
    const uint16_t *low, *high;
    uint32_t* to;
    int64_t rows, count, stride, from_row, to_row;
};

/// Weights of 32 channels of the output, for all steps, a tap and 32 channels of the input each. to[step][channel][input channel]; those
/// that there are not become 0. Steps count elements.
struct PackedWeights {
    const uint16_t* from;
    int64_t channels, inputs, taps;            // that there are
    int64_t channel_step, input_step, reverse; // `reverse`: the last tap is the first
    char* to;
};

struct TilesBlock {
    const char* weights;    // of all channels of the output
    int64_t channels;       // of the output
    const int64_t* offsets; // of each step, in `copied`
    int64_t steps;
    const uint32_t* copied;
    int64_t plane; // pairs from one pair of channels to the next
    int64_t tiles; // of 32 positions
    const PositionRun* runs;
    const int64_t* begin; // the runs of tile t are [begin[t], begin[t + 1])
    uint16_t* out;
    int64_t out_channel;
    const float* bias; // or null
};

/// Only if has_tiles().
void copy_pairs(const PairRows& rows);
void pack_tiles(const PackedWeights& weights);
void convolve_tiles(const TilesBlock& block);

} // namespace kindling::library
