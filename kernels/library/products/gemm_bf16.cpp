// kernels/library/products/gemm_bf16.cpp: bfloat16 products by AVX512-BF16. One instruction adds two products to a float. So the
// unit of everything here is a pair: elements 2p and 2p + 1 along k, side by side in 32 bits. With pairs for numbers
// this is the blocked product of gemm_isa.cpp. Compiled for processors with that instruction; not to be called on
// others.
#include "kernels/library/products/gemm_bf16.h"

#include <cstring>

#include "kernels/intrinsics.h"
#include "kernels/library/isa_buffer.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr int64_t M = 12, N = 32, W = 16; // rows and columns of a tile of sums
constexpr int64_t k_block = 192, m_block = 144, n_block = 512;

inline uint32_t pair_at(const uint16_t* from, int64_t step, bool both) {
    return from[0] | (both ? static_cast<uint32_t>(from[step]) << 16 : 0);
}

// to[p * to_step + r] = pair p of row r, whose elements are contiguous; four rows and pairs at a time.
void turn_pairs(uint32_t* to, int64_t to_step, const uint16_t* from, int64_t row, int64_t rows, int64_t k) {
    const int64_t pairs = k / 2, whole = pairs / 4 * 4;
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4)
        for (int64_t p = 0; p < whole; p += 4) {
            const uint16_t* at = from + r * row + 2 * p;
            __m128 a = _mm_loadu_ps(reinterpret_cast<const float*>(at)), b = _mm_loadu_ps(reinterpret_cast<const float*>(at + row)),
                   c = _mm_loadu_ps(reinterpret_cast<const float*>(at + 2 * row)),
                   d = _mm_loadu_ps(reinterpret_cast<const float*>(at + 3 * row));
            _MM_TRANSPOSE4_PS(a, b, c, d);
            float* target = reinterpret_cast<float*>(to + p * to_step + r);
            _mm_storeu_ps(target, a);
            _mm_storeu_ps(target + to_step, b);
            _mm_storeu_ps(target + 2 * to_step, c);
            _mm_storeu_ps(target + 3 * to_step, d);
        }
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t p = i < r ? whole : 0; 2 * p < k; ++p) to[p * to_step + i] = pair_at(from + i * row + 2 * p, 1, 2 * p + 1 < k);
}

// Any strides: lines (rows of a, columns of b) are `line` apart, elements along k are `step` apart.
void pack_anyhow(uint32_t* to, int64_t to_step, const uint16_t* from, int64_t line, int64_t step, int64_t lines, int64_t k) {
    for (int64_t p = 0; 2 * p < k; ++p)
        for (int64_t i = 0; i < lines; ++i) to[p * to_step + i] = pair_at(from + i * line + 2 * p * step, step, 2 * p + 1 < k);
}

// The same for 32 adjacent columns: two rows are interleaved.
void interleave(uint32_t* to, const uint16_t* from, int64_t step, int64_t k) {
    const __m512i low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3,
                                         34, 2, 33, 1, 32, 0);
    const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
    for (int64_t p = 0; 2 * p < k; ++p, to += N, from += 2 * step) {
        __m512i even = _mm512_loadu_si512(from);
        __m512i odd = 2 * p + 1 < k ? _mm512_loadu_si512(from + step) : _mm512_setzero_si512();
        _mm512_storeu_si512(to, _mm512_permutex2var_epi16(even, low, odd));
        _mm512_storeu_si512(to + W, _mm512_permutex2var_epi16(even, high, odd));
    }
}

// Packs panels of `panel` lines, each panel's pairs consecutive; padded with zeros.
void pack(uint32_t* to, int64_t panel, const uint16_t* from, int64_t line, int64_t step, int64_t lines, int64_t k) {
    const int64_t pairs = (k + 1) / 2;
    for (int64_t i = 0; i < lines; i += panel, to += panel * pairs, from += panel * line) {
        const int64_t some = lines - i < panel ? lines - i : panel;
        if (some < panel) memset(to, 0, sizeof(uint32_t) * static_cast<size_t>(panel * pairs));
        if (step == 1) turn_pairs(to, panel, from, line, some, k);
        else if (line == 1 && some == N) interleave(to, from, step, k);
        else pack_anyhow(to, panel, from, line, step, some, k);
    }
}

[[gnu::noinline]] void tile(int64_t pairs, const uint32_t* a, const uint32_t* b, float* out, int64_t out_row, int64_t rows, int64_t columns,
                            bool add) {
    __m512 low[M], high[M];
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) low[i] = high[i] = _mm512_setzero_ps();
    for (int64_t p = 0; p < pairs; ++p, a += M, b += N) {
        const auto b0 = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b)), b1 = reinterpret_cast<__m512bh>(_mm512_loadu_si512(b + W));
#pragma GCC unroll 16
        for (int i = 0; i < M; ++i) {
            const auto factor = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a[i])));
            low[i] = _mm512_dpbf16_ps(low[i], factor, b0);
            high[i] = _mm512_dpbf16_ps(high[i], factor, b1);
        }
    }
    const auto ones = (uint32_t{1} << (columns < W ? columns : W)) - 1;
    const auto low_mask = static_cast<__mmask16>(ones);
    const auto high_mask = static_cast<__mmask16>(columns > W ? (uint32_t{1} << (columns - W)) - 1 : 0);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
        if (i >= rows) break;
        float* to = out + i * out_row;
        if (add) {
            low[i] = _mm512_add_ps(low[i], _mm512_maskz_loadu_ps(low_mask, to));
            high[i] = _mm512_add_ps(high[i], _mm512_maskz_loadu_ps(high_mask, to + W));
        }
        _mm512_mask_storeu_ps(to, low_mask, low[i]);
        _mm512_mask_storeu_ps(to + W, high_mask, high[i]);
    }
}

// Few rows times columns that are contiguous along k (a weight kept as [out, in]): dot products, four columns at once.
void dots(const Bf16Part& part) {
    const int64_t whole = part.k & ~int64_t{31};
    const auto rest = static_cast<__mmask32>((uint32_t{1} << (part.k - whole)) - 1);
    auto load = [](const uint16_t* p) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(p)); };
    auto load_rest = [&](const uint16_t* p) { return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(rest, p)); };
    for (int64_t j = 0; j < part.n; j += 4) {
        const int64_t columns = part.n - j < 4 ? part.n - j : 4;
        const uint16_t* b[4];
        for (int64_t c = 0; c < 4; ++c) b[c] = part.b + (j + (c < columns ? c : 0)) * part.b_column;
        for (int64_t i = 0; i < part.m; ++i) {
            const uint16_t* a = part.a + i * part.a_row;
            __m512 sums[4];
#pragma GCC unroll 4
            for (int c = 0; c < 4; ++c) sums[c] = _mm512_setzero_ps();
            for (int64_t p = 0; p < whole; p += 32)
#pragma GCC unroll 4
                for (int c = 0; c < 4; ++c) sums[c] = _mm512_dpbf16_ps(sums[c], load(a + p), load(b[c] + p));
            if (whole < part.k)
#pragma GCC unroll 4
                for (int c = 0; c < 4; ++c) sums[c] = _mm512_dpbf16_ps(sums[c], load_rest(a + whole), load_rest(b[c] + whole));
            for (int64_t c = 0; c < columns; ++c) part.out[i * part.out_row + j + c] = _mm512_reduce_add_ps(sums[c]);
        }
    }
}

} // namespace

void gemm_bf16(const Bf16Part& part) {
    if (part.m <= 4 && part.a_column == 1 && part.b_row == 1) return dots(part);
    const int64_t columns = part.n < n_block ? (part.n + N - 1) / N * N : n_block;
    const int64_t rows = part.m < m_block ? (part.m + M - 1) / M * M : m_block;
    const int64_t depth = part.k < 2 * k_block ? (part.k + 1) / 2 : k_block;
    Buffer<uint32_t> packed_a(rows * depth), packed_b(columns * depth);
    for (int64_t j0 = 0; j0 < part.n; j0 += n_block) {
        const int64_t n = part.n - j0 < n_block ? part.n - j0 : n_block;
        for (int64_t p0 = 0; p0 < part.k; p0 += 2 * k_block) {
            const int64_t k = part.k - p0 < 2 * k_block ? part.k - p0 : 2 * k_block, pairs = (k + 1) / 2;
            pack(packed_b.data, N, part.b + p0 * part.b_row + j0 * part.b_column, part.b_column, part.b_row, n, k);
            for (int64_t i0 = 0; i0 < part.m; i0 += m_block) {
                if (i0 + p0 + j0 > 0) hear_signals();
                const int64_t m = part.m - i0 < m_block ? part.m - i0 : m_block;
                pack(packed_a.data, M, part.a + i0 * part.a_row + p0 * part.a_column, part.a_row, part.a_column, m, k);
                for (int64_t j = 0; j < n; j += N)
                    for (int64_t i = 0; i < m; i += M)
                        tile(pairs, packed_a.data + i * pairs, packed_b.data + j * pairs, part.out + (i0 + i) * part.out_row + j0 + j,
                             part.out_row, m - i < M ? m - i : M, n - j < N ? n - j : N, p0 > 0);
            }
        }
    }
}

} // namespace kindling::library
