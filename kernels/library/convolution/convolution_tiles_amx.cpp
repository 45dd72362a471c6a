// kernels/library/convolution/convolution_tiles_amx.cpp: products of tiles, and what is copied for them. Compiled for processors that
// have AMX; not to be called on others.
#include "kernels/library/convolution/convolution_tiles.h"

#include "kernels/intrinsics.h"
#include "kernels/library/amx.h"

namespace kindling::library {
namespace {

constexpr int64_t wide = tiles_channels;

__mmask16 first(int64_t count) { return count >= side ? 0xFFFF : static_cast<__mmask16>((1 << count) - 1); }

// Sixteen numbers of a row, as the low halves of 32 bits. No byte behind the last one is read.
__m512i load_row(const uint16_t* from, int64_t count, int64_t stride) {
    if (stride == 1) return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(first(count), from));
    const int64_t elements = least(2 * count - 1, 31);
    const __m512i both = _mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << elements) - 1), from);
    return _mm512_and_si512(both, _mm512_set1_epi32(0xFFFF));
}

inline void turn_eight(const __m128i* row, __m128i* turned) {
    __m128i pairs[8], fours[8];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
        pairs[r] = _mm_unpacklo_epi16(row[2 * r], row[2 * r + 1]); // columns 0 to 3 of two rows
        pairs[r + 4] = _mm_unpackhi_epi16(row[2 * r], row[2 * r + 1]);
    }
#pragma GCC unroll 2
    for (int half = 0; half < 8; half += 4)
#pragma GCC unroll 2
        for (int r = 0; r < 2; ++r) {
            fours[half + r] = _mm_unpacklo_epi32(pairs[half + 2 * r], pairs[half + 2 * r + 1]); // columns 0 and 1 of four rows
            fours[half + r + 2] = _mm_unpackhi_epi32(pairs[half + 2 * r], pairs[half + 2 * r + 1]);
        }
#pragma GCC unroll 4
    for (int two = 0; two < 4; ++two) {
        const __m128i top = fours[two / 2 * 4 + two % 2 * 2], low = fours[two / 2 * 4 + two % 2 * 2 + 1];
        turned[2 * two] = _mm_unpacklo_epi64(top, low);
        turned[2 * two + 1] = _mm_unpackhi_epi64(top, low);
    }
}

// The sums of 32 (or 16) channels and 32 positions, a row a channel.
[[gnu::noinline]] void sum(const TilesBlock& b, const char* weights, const uint32_t* at, bool tall, float* sums) {
    const int64_t row = b.plane * static_cast<int64_t>(sizeof(uint32_t)), to_row = wide * static_cast<int64_t>(sizeof(float));
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t step = 0; step < b.steps; ++step, weights += wide * line) {
        const uint32_t* from = at + b.offsets[step];
        _tile_loadd(6, from, row);
        _tile_loadd(4, weights, line);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, from + side, row);
        _tile_dpbf16ps(1, 4, 7);
        if (!tall) continue;
        _tile_loadd(5, weights + side * line, line);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, to_row);
    _tile_stored(1, sums + side, to_row);
    if (!tall) return;
    _tile_stored(2, sums + side * wide, to_row);
    _tile_stored(3, sums + side * wide + side, to_row);
}

} // namespace

void copy_pairs(const PairRows& p) {
    for (int64_t r = 0; r < p.rows; ++r)
        for (int64_t i = 0; i < p.count; i += side) {
            const int64_t at = r * p.from_row + i * p.stride, count = p.count - i;
            __m512i pair = load_row(p.low + at, count, p.stride);
            if (p.high) pair = _mm512_or_si512(pair, _mm512_slli_epi32(load_row(p.high + at, count, p.stride), 16));
            _mm512_mask_storeu_epi32(p.to + r * p.to_row + i, first(count), pair);
        }
}

void pack_tiles(const PackedWeights& w) {
    const int64_t blocks = (w.inputs + wide - 1) / wide, size = w.taps * blocks * wide * line;
    if (w.channels < wide || w.inputs % wide)
        for (int64_t i = 0; i < size; i += line) _mm512_store_si512(w.to + i, _mm512_setzero_si512());
    for (int64_t c = 0; c < w.channels; ++c) {
        const uint16_t* from = w.from + c * w.channel_step;
        const auto place = [&](int64_t tap, int64_t input) {
            const int64_t step = (w.reverse ? w.taps - 1 - tap : tap) * blocks + input / wide;
            return reinterpret_cast<uint16_t*>(w.to + (step * wide + c) * line) + input % wide;
        };
        for (int64_t i = 0; i < w.inputs; i += 8) {
            const int64_t inputs = least(8, w.inputs - i);
            int64_t tap = 0;
            for (; inputs == 8 && tap + 8 <= w.taps; tap += 8) { // eight by eight, transposed in registers
                __m128i row[8], turned[8];
#pragma GCC unroll 8
                for (int r = 0; r < 8; ++r) row[r] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + (i + r) * w.input_step + tap));
                turn_eight(row, turned);
#pragma GCC unroll 8
                for (int t = 0; t < 8; ++t) _mm_storeu_si128(reinterpret_cast<__m128i*>(place(tap + t, i)), turned[t]);
            }
            for (; tap < w.taps; ++tap)
                for (int64_t r = 0; r < inputs; ++r) place(tap, i)[r] = from[(i + r) * w.input_step + tap];
        }
    }
}

void convolve_tiles(const TilesBlock& b) {
    alignas(64) float sums[wide * wide];
    const TileShapes shapes;
    _tile_loadconfig(&shapes);
    for (int64_t tile = 0; tile < b.tiles; ++tile)
        for (int64_t channel = 0; channel < b.channels; channel += wide) { // what a tile reads stays in the first cache
            const int64_t there = least(wide, b.channels - channel);
            sum(b, b.weights + channel / wide * b.steps * wide * line, b.copied + tile * wide, there > side, sums);
            for (const PositionRun* run = b.runs + b.begin[tile]; run < b.runs + b.begin[tile + 1]; ++run)
                for (int64_t c = 0; c < there; ++c) {
                    const float* from = sums + c * wide + run->from;
                    uint16_t* to = b.out + (channel + c) * b.out_channel + run->place;
                    const __m512 more = _mm512_set1_ps(b.bias ? b.bias[channel + c] : 0.0f);
                    for (int64_t i = 0; i < run->count; i += side) {
                        const __mmask16 mask = first(run->count - i);
                        const __m512 value = _mm512_maskz_loadu_ps(mask, from + i);
                        _mm256_mask_storeu_epi16(
                            to + i, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(b.bias ? _mm512_add_ps(value, more) : value)));
                    }
                }
        }
    _tile_release();
}

} // namespace kindling::library
