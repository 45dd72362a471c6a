// kernels/library/images/channel_sums_isa.h: sums over images, for the oldest processors and for AVX2: what waits for memory gains nothing
// from wider registers.
#pragma once
#include "kernels/library/images/channel_sums.h"

namespace kindling::library {

/// Of channels [first, last).
namespace isa_baseline { void sum_some_channels(const ChannelSums& s, int64_t first, int64_t last); }
namespace isa_avx2 { void sum_some_channels(const ChannelSums& s, int64_t first, int64_t last); }

} // namespace kindling::library
