// kernels/library/images/channel_sums.h: what batch normalisation's gradients need, of images that lie one behind the other.
#pragma once
#include <cstdint>

namespace kindling::library {

/// Contiguous images of at least 16 places: samples x channels x places.
struct ChannelSums {
    int64_t samples, channels, places;
    const float *grad, *input, *mean, *rstd; // a mean and 1 / deviation for each channel
    float *hats, *sums;                      // of grad (input - mean) rstd, and of grad
};

/// Blocks of up to 256 places of an image are summed in 16 lanes, and so are the blocks. The same bits whatever the threads.
void sum_channels(const ChannelSums& given);

} // namespace kindling::library
