// kernels/library/indexing/mask_isa.cpp: packs what a mask selects, for one instruction set.
#include "kernels/library/indexing/mask_isa.h"

// AVX2 has nothing to pack with: what is written for the baseline is as fast there.
#if !defined(__AVX2__) || defined(__AVX512F__)

#include <cstring>

#include "kernels/maths/vector.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

namespace vectors = ::kindling::KINDLING_ISA_NAMESPACE;

struct Sixteen {
    uint64_t halves[2];
};

/// Writes every element, but advances only behind selected ones: no branch depends on the mask, except that eight
/// unselected ones are skipped.
template <class T> void take_by_item(char* to, const char* end, const char* from, const char* mask, int64_t n) {
    constexpr int64_t item = sizeof(T);
    int64_t i = 0;
    for (; i + 8 <= n && end - to >= 8 * item; i += 8) {
        uint64_t eight;
        std::memcpy(&eight, mask + i, 8);
        if (!eight) continue;
#pragma GCC unroll 8
        for (int64_t k = 0; k < 8; k++) {
            std::memcpy(to, from + (i + k) * item, item);
            to += mask[i + k] ? item : 0;
        }
    }
    for (; i < n && to < end; i++)
        if (mask[i]) std::memcpy(to, from + i * item, item), to += item;
}

int64_t* put_place(int64_t* to, const int64_t* row, int outer, int64_t column) {
    for (int d = 0; d < outer; d++) to[d] = row[d];
    to[outer] = column;
    return to + outer + 1;
}

#if defined(__AVX512F__)

/// Calls f(i, bits) for each 64 elements from i onwards of which any is selected.
template <class F> KINDLING_INLINE void by_line(const char* mask, int64_t n, F f) {
    for (int64_t i = 0; i < n; i += 64) {
        const __m512i bytes = _mm512_maskz_loadu_epi8(_bzhi_u64(~uint64_t{0}, n - i < 64 ? static_cast<unsigned>(n - i) : 64), mask + i);
        if (const uint64_t bits = _mm512_test_epi8_mask(bytes, bytes)) f(i, bits);
    }
}

/// Stores up to `bytes` of the vector; all of it if nothing behind them is `end`.
KINDLING_INLINE void put_first(char* to, const char* end, __m512i values, int bytes) {
    if (end - to >= 64) return vectors::store(to, values);
    _mm512_mask_storeu_epi8(to, _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(bytes)), values);
}

template <int item> void take_by_vector(char* to, const char* end, const char* from, const char* mask, int64_t n) {
    constexpr int lanes = item == 8 ? 8 : 16;
    using Bits = std::conditional_t<item == 8, __mmask8, __mmask16>;
    by_line(mask, n, [&](int64_t i, uint64_t bits) {
        const char* at = from + i * item;
        char last[64 * item];
        if (n - i < 64) { // nothing is read behind the end
            std::memcpy(last, at, static_cast<size_t>((n - i) * item));
            at = last;
        }
        // Whole vectors are loaded, selected or not: the hardware does not prefetch lines that a mask leaves out.
        for (int k = 0; k < 64; k += lanes, bits >>= lanes, at += lanes * item) {
            const auto chosen = static_cast<Bits>(bits);
            __m512i packed; // narrow elements as words of 32 bits
            if constexpr (item == 8) packed = _mm512_maskz_compress_epi64(chosen, vectors::load<__m512i>(at));
            else if constexpr (item == 4) packed = _mm512_maskz_compress_epi32(chosen, vectors::load<__m512i>(at));
            else if constexpr (item == 2)
                packed = _mm512_zextsi256_si512(
                    _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(chosen, _mm512_cvtepu16_epi32(vectors::load<__m256i>(at)))));
            else
                packed = _mm512_zextsi128_si512(
                    _mm512_cvtepi32_epi8(_mm512_maskz_compress_epi32(chosen, _mm512_cvtepu8_epi32(vectors::load<__m128i>(at)))));
            const int count = __builtin_popcount(chosen);
            put_first(to, end, packed, count * item);
            to += count * item;
        }
    });
}

#endif

void take_chosen(char* to, const char* end, const char* from, const char* mask, int64_t n, int item) {
    switch (item) {
#if defined(__AVX512F__)
    case 1: return take_by_vector<1>(to, end, from, mask, n);
    case 2: return take_by_vector<2>(to, end, from, mask, n);
    case 4: return take_by_vector<4>(to, end, from, mask, n);
    case 8: return take_by_vector<8>(to, end, from, mask, n);
#else
    case 1: return take_by_item<uint8_t>(to, end, from, mask, n);
    case 2: return take_by_item<uint16_t>(to, end, from, mask, n);
    case 4: return take_by_item<uint32_t>(to, end, from, mask, n);
    case 8: return take_by_item<uint64_t>(to, end, from, mask, n);
#endif
    default: return take_by_item<Sixteen>(to, end, from, mask, n);
    }
}

int64_t* put_places(int64_t* to, const int64_t* end, const char* mask, int64_t n, const int64_t* row, int outer, int64_t column) {
#if defined(__AVX512F__)
    const __m512i eight = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), rows = _mm512_set1_epi64(outer == 1 ? row[0] : 0);
    by_line(mask, n, [&](int64_t i, uint64_t bits) {
        if (outer > 1) {
            for (; bits; bits &= bits - 1) to = put_place(to, row, outer, column + i + __builtin_ctzll(bits));
            return;
        }
        for (int64_t at = column + i, stop = at + 64; at < stop; bits >>= 8, at += 8) {
            const auto chosen = static_cast<__mmask8>(bits);
            const int count = __builtin_popcount(chosen);
            const __m512i columns = _mm512_maskz_compress_epi64(chosen, _mm512_add_epi64(eight, _mm512_set1_epi64(at)));
            char* out = reinterpret_cast<char*>(to);
            const char* limit = reinterpret_cast<const char*>(end);
            if (outer == 0) {
                put_first(out, limit, columns, count * 8);
                to += count;
                continue;
            }
            // Interleaves row and column. Both halves, since the second is needed as often as not.
            const __m512i low = _mm512_permutex2var_epi64(rows, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), columns);
            const __m512i high = _mm512_permutex2var_epi64(rows, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), columns);
            if (end - to >= 16) [[likely]] {
                vectors::store(out, low);
                vectors::store(out + 64, high);
            } else {
                put_first(out, limit, low, count < 4 ? count * 16 : 64);
                if (count > 4) put_first(out + 64, limit, high, count * 16 - 64);
            }
            to += 2 * count;
        }
    });
#else
    auto all_eight = [&](int64_t i, auto dims) {
        constexpr int64_t size = dims;
#pragma GCC unroll 8
        for (int64_t k = 0; k < 8; k++) {
            if (size == 2) to[0] = row[0];
            to[size - 1] = column + i + k;
            to += mask[i + k] ? size : 0;
        }
    };
    int64_t i = 0;
    if (outer > 1) { // more to write than to skip
        for (; i + 16 <= n; i += 16) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(mask + i));
            unsigned bits = ~static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()))) & 0xFFFF;
            for (; bits; bits &= bits - 1) to = put_place(to, row, outer, column + i + __builtin_ctz(bits));
        }
    } else {
        for (; i + 8 <= n && end - to >= 8 * (outer + 1); i += 8) { // as take_by_item
            uint64_t eight;
            std::memcpy(&eight, mask + i, 8);
            if (!eight) continue;
            if (outer == 0) all_eight(i, std::integral_constant<int, 1>());
            else all_eight(i, std::integral_constant<int, 2>());
        }
    }
    for (; i < n && to < end; i++)
        if (mask[i]) to = put_place(to, row, outer, column + i);
#endif
    return to;
}

} // namespace

const MaskSteps mask_steps = {take_chosen, put_places};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE

#endif
