// kernels/tile/tile_cast_isa.cpp: conversions between element types, half types included.
// Compiled for vectors.
#include "kernels/maths/arithmetic.h"
#include "kernels/tile/tile.h"

namespace kindling::KINDLING_ISA_NAMESPACE {
namespace {

#if defined(__AVX2__) && !defined(__AVX512F__)
/// Four integers as doubles, rounded once. No instruction does it: the upper and the lower halves become parts of doubles of a known
/// exponent, which are added.
KINDLING_INLINE __m256d doubles_of(__m256i x) {
    const __m256d high_unit = _mm256_set1_pd(0x1.8p68), low_unit = _mm256_set1_pd(0x1p52), both = _mm256_set1_pd(0x1.8p68 + 0x1p52);
    const __m256i high = _mm256_blend_epi16(_mm256_srai_epi32(x, 16), _mm256_setzero_si256(), 0x33);
    const __m256i upper = _mm256_add_epi64(high, _mm256_castpd_si256(high_unit));
    const __m256i lower = _mm256_blend_epi16(x, _mm256_castpd_si256(low_unit), 0x88);
    return _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(upper), both), _mm256_castsi256_pd(lower));
}
/// Where doubles hold all four exactly, floats are rounded from these.
template <class To> void cast_long(void* out, const void* a, int64_t n) {
    const auto* from = static_cast<const long long*>(a);
    auto* to = static_cast<To*>(out);
    int64_t i = 0;
    // The zero is there since the instruction leaves the rest of its target as it was: each would wait for the one before.
    const auto one = [&](int64_t k) __attribute__((always_inline)) {
        if constexpr (sizeof(To) == 4) to[k] = _mm_cvtss_f32(_mm_cvtsi64_ss(_mm_setzero_ps(), from[k]));
        else to[k] = _mm_cvtsd_f64(_mm_cvtsi64_sd(_mm_setzero_pd(), from[k]));
    };
    for (; i + 4 <= n; i += 4) {
        const __m256d x = doubles_of(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
        if constexpr (sizeof(To) == 8) _mm256_storeu_pd(to + i, x);
        else {
            const __m256d size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
            if (_mm256_movemask_pd(_mm256_cmp_pd(size, _mm256_set1_pd(0x1p53), _CMP_GE_OQ))) [[unlikely]]
                one(i), one(i + 1), one(i + 2), one(i + 3);
            else _mm_storeu_ps(to + i, _mm256_cvtpd_ps(x));
        }
    }
    for (; i < n; i++) one(i);
    clear_upper_halves();
}
/// Bytes, 32 at a time: `make(from, x)` gives them as four vectors of eight integers, or eight of four, each 0 to 255, which are packed.
/// Where it says no, and behind the last 32, `rest(to, from, n)` gives them.
template <class From, class V, class Make, class Rest>
KINDLING_INLINE void many_bytes(Make make, Rest rest, void* out, const void* a, int64_t n) {
    constexpr int count = sizeof(Item<V>);
    auto* to = static_cast<uint8_t*>(out);
    const auto* from = static_cast<const From*>(a);
    for (; n >= 32; n -= 32, to += 32, from += 32) {
        V x[count];
        if (!make(from, x)) [[unlikely]] {
            rest(to, from, 32);
            continue;
        }
        __m256i part[count];
#pragma GCC unroll 8
        for (int k = 0; k < count; k++) part[k] = bit_cast<__m256i>(x[k]);
#pragma GCC unroll 4
        for (int left = count / 2; left > 1; left /= 2)
#pragma GCC unroll 4
            for (int k = 0; k < left; k++) part[k] = _mm256_packus_epi32(part[2 * k], part[2 * k + 1]);
        // Packing has put the lower halves of all vectors into one half, and the upper ones into the other.
        const __m256i bytes = _mm256_packus_epi16(part[0], part[1]);
        const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
        store(to, count == 8 ? _mm_unpacklo_epi16(low, high) : _mm_unpacklo_epi32(low, high));
        store(to + 16, count == 8 ? _mm_unpackhi_epi16(low, high) : _mm_unpackhi_epi32(low, high));
    }
    rest(to, from, n);
}
#endif
template <class To, class From> void cast(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    const auto rest = [](void* to, const void* from, int64_t left) {
        loop1<To, From>([](auto x) { return convert<To>(x); }, to, from, left);
    };
#if defined(__AVX2__) && !defined(__AVX512F__)
    if constexpr (std::is_same_v<From, int64_t> && std::is_floating_point_v<To>) return cast_long<To>(out, a, n);
    if constexpr (sizeof(To) == 1 && sizeof(From) >= 4) {
        using V = Vec<From, width / static_cast<int>(sizeof(From))>;
        return many_bytes<From, V>(
            [](const From* from, V* x) {
#pragma GCC unroll 8
                for (size_t k = 0; k < sizeof(From); k++) x[k] = load<V>(from + k * Lanes<V>::count) & 255;
                return true;
            },
            rest, out, a, n);
    }
    if constexpr (std::is_same_v<To, uint32_t> && sizeof(From) == 8) {
        auto* to = static_cast<char*>(out);
        const auto* from = static_cast<const float*>(a);
        for (; n >= 8; n -= 8, to += width, from += 16) // the lower halves of both vectors
            store(to,
                  _mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8), 0x88)), 0xD8));
        out = to, a = from;
    }
#endif
    rest(out, a, n);
}
/// To 8 or 16 bits by way of 64, whose lowest count. Numbers that fit 32 bits are quicker.
template <class To, class From> void cast_short(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
#if defined(__AVX512F__)
    using V = Vec<int32_t, 16>;
    auto* to = static_cast<To*>(out);
    const auto* from = static_cast<const From*>(a);
    while (n > 0) {
        for (; n >= 16; n -= 16, to += 16, from += 16) {
            V words;
            if constexpr (sizeof(From) == 4) words = convert<int32_t>(load<Vec<From, 16>>(from));
            else
                words = bit_cast<V>(_mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvttpd_epi32(_mm512_loadu_pd(from))),
                                                       _mm512_cvttpd_epi32(_mm512_loadu_pd(from + 8)), 1));
            if (_mm512_cmpeq_epi32_mask(bit_cast<__m512i>(words), _mm512_set1_epi32(INT32_MIN))) [[unlikely]]
                break;
            store(to, convert<To>(words));
        }
        // One by one what does not fit, and the rest.
        for (const auto* end = from + (n < 16 ? n : 16); from < end; n--) *to++ = static_cast<To>(static_cast<int64_t>(*from++));
    }
    clear_upper_halves();
#else
    const auto rest = [](void* to, const void* from, int64_t left) {
        loop1<To, From>(
            [](auto x) {
                const auto words = convert<int32_t>(x);
                auto result = convert<To>(words);
                if (anywhere(words == INT32_MIN)) [[unlikely]]
                    for (int i = 0; i < Lanes<decltype(x)>::count; i++) result[i] = static_cast<To>(static_cast<int64_t>(x[i]));
                return result;
            },
            to, from, left);
    };
#if defined(__AVX2__)
    if constexpr (sizeof(To) == 1) {
        using V = Vec<int32_t, 8>;
        return many_bytes<From, V>(
            [](const From* from, V* x) {
                V unfit{};
#pragma GCC unroll 4
                for (int k = 0; k < 4; k++) {
                    V words;
                    if constexpr (sizeof(From) == 4) words = convert<int32_t>(load<Vec<From, 8>>(from + 8 * k));
                    else {
                        const auto half = [&](int i) { return bit_cast<__m128i>(convert<int32_t>(load<Vec<From, 4>>(from + 8 * k + i))); };
                        words = bit_cast<V>(_mm256_set_m128i(half(4), half(0)));
                    }
                    unfit |= words == INT32_MIN;
                    x[k] = words & 255;
                }
                return !anywhere(unfit);
            },
            rest, out, a, n);
    }
#endif
    rest(out, a, n);
#endif
}
template <class From> TileFunction find_short(DType to) {
    if (category(to) >= 2 || item_size(to) > 2) return nullptr;
    return item_size(to) == 1 ? cast_short<uint8_t, From> : cast_short<uint16_t, From>;
}
template <class From> void truth(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    const auto rest = [](void* to, const void* from, int64_t left) {
        loop1<uint8_t, From>([](auto x) { return truth_of(x != 0); }, to, from, left);
    };
#if defined(__AVX2__) && !defined(__AVX512F__)
    if constexpr (sizeof(From) >= 4) {
        using V = Vec<From, width / static_cast<int>(sizeof(From))>;
        return many_bytes<From, Mask<V>>(
            [](const From* from, Mask<V>* x) {
#pragma GCC unroll 8
                for (size_t k = 0; k < sizeof(From); k++) x[k] = (load<V>(from + k * Lanes<V>::count) == 0) + 1;
                return true;
            },
            rest, out, a, n);
    }
#endif
    rest(out, a, n);
}
template <class From> void complex_truth(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    const From* x = static_cast<const From*>(a);
    for (int64_t i = 0; i < n; i++) static_cast<uint8_t*>(out)[i] = (x[2 * i] != 0) | (x[2 * i + 1] != 0);
}
// Beyond int64 the upper half is shifted down first; below zero wraps, as conversion through int64 does.
template <class From> void to_uint64(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    loop1<uint64_t, From>(
        [](auto x) {
            constexpr From top = static_cast<From>(9223372036854775808.0);
            auto high = x >= top;
            return convert<uint64_t>(convert<int64_t>(choose(high, x - top, x))) ^ (convert<uint64_t>(high) & 0x8000000000000000u);
        },
        out, a, n);
}
template <class T> void to_complex(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    T* to = static_cast<T*>(out);
    for (int64_t i = 0; i < n; i++) {
        T value = static_cast<const T*>(a)[i];
        to[2 * i] = value;
        to[2 * i + 1] = 0;
    }
}

// Half types, by vectors of floats.
using F = Vec<float, width / 4>;
using W = Vec<uint32_t, width / 4>;
using H = Vec<uint16_t, width / 4>;

KINDLING_INLINE F half_to_float(const H& half) {
#if defined(__AVX512F__)
    return bit_cast<F>(_mm512_cvtph_ps(bit_cast<__m256i>(half)));
#elif defined(__F16C__)
    return bit_cast<F>(_mm256_cvtph_ps(bit_cast<__m128i>(half)));
#else
    W word = convert<uint32_t>(half);
    W size = (word & 0x7FFF) << 13;
    W normal = size + (112u << 23);
    W special = size + (224u << 23); // infinity and NaN
    W small = bit_cast<W>(bit_cast<F>(size + (113u << 23)) - 6.103515625e-05f);
    W result = size >= (31u << 23) ? special : (size < (1u << 23) ? small : normal);
    return bit_cast<F>(result | (word & 0x8000) << 16);
#endif
}
KINDLING_INLINE H float_to_half(const F& x) {
#if defined(__AVX512F__)
    return bit_cast<H>(_mm512_cvtps_ph(bit_cast<__m512>(x), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    return bit_cast<H>(_mm256_cvtps_ph(bit_cast<__m256>(x), _MM_FROUND_TO_NEAREST_INT));
#else
    W word = bit_cast<W>(x), size = word & 0x7FFFFFFF;
    constexpr uint32_t magic = 126u << 23; // 0.5: its last place is half's smallest number
    W small = bit_cast<W>(bit_cast<F>(size) + 0.5f) - magic;
    W normal = (size - (112u << 23) + 0xFFF + (size >> 13 & 1)) >> 13;
    W result = size > 0x7F800000 ? W{} + 0x7E00u : size >= 0x477FF000 ? W{} + 0x7C00u : size < (113u << 23) ? small : normal;
    return convert<uint16_t>(result | (word >> 16 & 0x8000));
#endif
}
KINDLING_INLINE F bfloat16_to_float(const H& x) { return bit_cast<F>(convert<uint32_t>(x) << 16); }
KINDLING_INLINE H float_to_bfloat16(const F& x) { return convert<uint16_t>(bfloat16_bits(x)); }

void move_half_to_float(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    loop1<float, uint16_t>([](auto x) { return half_to_float(x); }, out, a, n);
}
void move_bfloat16_to_float(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    loop1<float, uint16_t>([](auto x) { return bfloat16_to_float(x); }, out, a, n);
}
void move_float_to_half(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    loop1<uint16_t, float>([](auto x) { return float_to_half(x); }, out, a, n);
}
void move_float_to_bfloat16(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    // Two registers into one: packing one alone would take as many instructions again.
    auto* to = static_cast<uint16_t*>(out);
    const auto* from = static_cast<const float*>(a);
    for (; n >= 16; n -= 16, to += 16, from += 16) {
        const W low = bfloat16_bits(load<F>(from)), high = bfloat16_bits(load<F>(from + 8));
        store(to, _mm256_permute4x64_epi64(_mm256_packus_epi32(bit_cast<__m256i>(low), bit_cast<__m256i>(high)), 0xD8));
    }
    out = to, a = from;
#endif
    loop1<uint16_t, float>([](auto x) { return float_to_bfloat16(x); }, out, a, n);
}
void move_round_half(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    loop1<float, float>([](auto x) { return half_to_float(float_to_half(x)); }, out, a, n);
}
void move_round_bfloat16(void* out, const void* a, const void*, const void*, int64_t n, unsigned) {
    loop1<float, float>([](auto x) { return bit_cast<F>(rounded_to_bfloat16(x)); }, out, a, n);
}

template <class From> TileFunction from_integer(DType to) {
    switch (to) {
    case DType::Float32: return cast<float, From>;
    case DType::Float64: return cast<double, From>;
    default: break;
    }
    switch (item_size(to)) {
    case 1:
        if constexpr (sizeof(From) > 1) return cast<uint8_t, From>;
        else return nullptr;
    case 2:
        if constexpr (sizeof(From) != 2) return cast<uint16_t, From>;
        else return nullptr;
    case 4:
        if constexpr (sizeof(From) != 4) return cast<uint32_t, From>;
        else return nullptr;
    default:
        if constexpr (sizeof(From) != 8) return cast<uint64_t, From>;
        else return nullptr;
    }
}
/// To narrower types the sign makes no difference: one function serves both.
template <class Signed, class Unsigned> TileFunction from_either(DType from, DType to) {
    bool narrower = category(to) < 2 && item_size(to) < sizeof(Signed);
    return is_unsigned(from) || from == DType::Bool || narrower ? from_integer<Unsigned>(to) : from_integer<Signed>(to);
}

} // namespace

TileFunction find_cast(DType from, DType to) {
    if (to == DType::Bool) {
        switch (from) {
        case DType::Float32: return truth<float>;
        case DType::Float64: return truth<double>;
        case DType::Complex64: return complex_truth<float>;
        case DType::Complex128: return complex_truth<double>;
        default: break;
        }
        switch (item_size(from)) {
        case 1: return truth<uint8_t>;
        case 2: return truth<uint16_t>;
        case 4: return truth<uint32_t>;
        default: return truth<uint64_t>;
        }
    }
    if (is_complex(to)) return to_real(to) != from ? nullptr : to == DType::Complex64 ? to_complex<float> : to_complex<double>;
    switch (from) {
    case DType::Complex64:
    case DType::Complex128: return nullptr;
    case DType::Float32:
        return to == DType::Float64  ? cast<double, float>
               : to == DType::Int32  ? cast<int32_t, float>
               : to == DType::Int64  ? cast<int64_t, float>
               : to == DType::UInt64 ? to_uint64<float>
                                     : find_short<float>(to);
    case DType::Float64:
        return to == DType::Float32  ? cast<float, double>
               : to == DType::Int32  ? cast<int32_t, double>
               : to == DType::Int64  ? cast<int64_t, double>
               : to == DType::UInt64 ? to_uint64<double>
                                     : find_short<double>(to);
    default: break;
    }
    switch (item_size(from)) {
    case 1: return from_either<int8_t, uint8_t>(from, to);
    case 2: return from_either<int16_t, uint16_t>(from, to);
    case 4: return from_either<int32_t, uint32_t>(from, to);
    default: return from_either<int64_t, uint64_t>(from, to);
    }
}

TileFunction find_move(TileMove move) {
    switch (move) {
    case TileMove::HalfToFloat: return move_half_to_float;
    case TileMove::BFloat16ToFloat: return move_bfloat16_to_float;
    case TileMove::FloatToHalf: return move_float_to_half;
    case TileMove::FloatToBFloat16: return move_float_to_bfloat16;
    case TileMove::RoundHalf: return move_round_half;
    case TileMove::RoundBFloat16: return move_round_bfloat16;
    default: return nullptr; // kernels/maths/float8.cpp
    }
}

} // namespace kindling::KINDLING_ISA_NAMESPACE
