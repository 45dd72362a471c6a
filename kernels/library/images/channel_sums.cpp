// kernels/library/images/channel_sums.cpp: channels are shared out to threads.
// Compiled for size.
#include "kernels/library/images/channel_sums.h"

#include <algorithm>

#include "kernels/isa.h"
#include "kernels/library/images/channel_sums_isa.h"
#include "runtime/threads.h"

namespace kindling::library {

void sum_channels(const ChannelSums& given) {
    const auto some = isa() == Isa::Baseline ? isa_baseline::sum_some_channels : isa_avx2::sum_some_channels;
    const int64_t each = std::max<int64_t>(given.samples * given.places, 1);
    parallel_for(0, given.channels, 1 + (1 << 16) / each, [&](int64_t first, int64_t last) { some(given, first, last); });
}

} // namespace kindling::library
