// kernels/library/images/channel_sums_isa.cpp: sums over images, channel by channel, for one instruction set.
// Compiled for vectors.
#include "kernels/library/images/channel_sums_isa.h"

#include "kernels/maths/vector.h"

#if !defined(__AVX512F__)
namespace kindling::library::KINDLING_ISA_NAMESPACE {

void sum_some_channels(const ChannelSums& s, int64_t first, int64_t last) {
    using namespace kindling::KINDLING_ISA_NAMESPACE;
    using V = Vec<float, width / 4>;
    constexpr int64_t lanes = 16, block = 256, parts = lanes / Lanes<V>::count;
    alignas(64) static constexpr int32_t kept[2 * lanes] = {0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
                                                            -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    for (int64_t c = first; c < last; ++c) {
        const V mean = all<V>(s.mean[c]);
        V total[2][parts] = {};
        for (int64_t n = 0; n < s.samples; ++n) {
            const int64_t image = (n * s.channels + c) * s.places;
            for (int64_t begin = 0, end; begin < s.places; begin = end) {
                end = s.places - begin < block ? s.places : begin + block;
                V some[2][parts] = {};
                for (int64_t at = begin; at < end; at += lanes) {
                    // The last lanes end with the image; what they have again is cleared.
                    const int64_t back = at + lanes > end ? at + lanes - end : 0, from = image + at - back;
#pragma GCC unroll 2
                    for (int64_t p = 0; p < parts; ++p) {
                        const int64_t lane = p * Lanes<V>::count;
                        const V grad = from_bits<V>(load<Bits<V>>(s.grad + from + lane) & load<Bits<V>>(kept + lanes - back + lane));
                        some[0][p] += grad * (load<V>(s.input + from + lane) - mean);
                        some[1][p] += grad;
                    }
                }
#pragma GCC unroll 2
                for (int64_t p = 0; p < parts; ++p) total[0][p] += some[0][p], total[1][p] += some[1][p];
            }
        }
        float sums[2][lanes];
        std::memcpy(sums, total, sizeof sums);
        for (int64_t half = lanes / 2; half; half /= 2)
            for (int64_t l = 0; l < half; ++l) sums[0][l] += sums[0][l + half], sums[1][l] += sums[1][l + half];
        s.hats[c] = sums[0][0] * s.rstd[c];
        s.sums[c] = sums[1][0];
    }
    clear_upper_halves();
}

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
#endif
