// kernels/maths/vector.h: the native vector of an instruction set and loops over contiguous arrays. For *_isa.cpp files only.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/intrinsics.h"

#ifndef KINDLING_ISA_NAMESPACE
#define KINDLING_ISA_NAMESPACE isa_once
#endif

namespace kindling::KINDLING_ISA_NAMESPACE {

#if defined(__AVX512F__)
inline constexpr int width = 64;
#elif defined(__AVX2__)
inline constexpr int width = 32;
#else
inline constexpr int width = 16;
#endif

template <class T, int N> struct VectorOf {
    typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
template <class T, int N> using Vec = typename VectorOf<T, N>::type;

template <int Size> struct IntegerOf;
template <> struct IntegerOf<1> {
    using type = int8_t;
    using bits = uint8_t;
};
template <> struct IntegerOf<2> {
    using type = int16_t;
    using bits = uint16_t;
};
template <> struct IntegerOf<4> {
    using type = int32_t;
    using bits = uint32_t;
};
template <> struct IntegerOf<8> {
    using type = int64_t;
    using bits = uint64_t;
};

template <class V> struct Lanes {
    using Item = std::remove_cvref_t<decltype(V{}[0])>;
    static constexpr int count = sizeof(V) / sizeof(Item);
    using Mask = Vec<typename IntegerOf<sizeof(Item)>::type, count>;
    using Bits = Vec<typename IntegerOf<sizeof(Item)>::bits, count>;
};
template <class V> using Item = typename Lanes<V>::Item;
template <class V> using Mask = typename Lanes<V>::Mask;
template <class V> using Bits = typename Lanes<V>::Bits;

#ifndef KINDLING_INLINE
#define KINDLING_INLINE inline __attribute__((always_inline))
#endif

template <class V> KINDLING_INLINE V load(const void* from) {
    V value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
template <class V> KINDLING_INLINE void store(void* to, const V& value) { std::memcpy(to, &value, sizeof value); }
template <class V> KINDLING_INLINE V all(Item<V> value) { return value - V{}; }
template <class To, class V> KINDLING_INLINE To bit_cast(const V& value) {
    static_assert(sizeof(To) == sizeof(V));
    To result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}
template <class M, class V> KINDLING_INLINE V choose(const M& mask, const V& a, const V& b) { return mask ? a : b; }
#if defined(__AVX2__)
/// Widens bytes and 16-bit integers to 32 bits.
template <class V> KINDLING_INLINE auto to_words(const V& x) {
    constexpr int lanes = Lanes<V>::count;
    constexpr bool is_signed = std::is_signed_v<Item<V>>;
    __m128i bits;
    if constexpr (sizeof(V) == 16) bits = bit_cast<__m128i>(x);
    else if constexpr (sizeof(V) == 8) bits = _mm_cvtsi64_si128(bit_cast<int64_t>(x));
    else bits = _mm_cvtsi32_si128(bit_cast<int32_t>(x));
    using Words = Vec<int32_t, lanes>;
    if constexpr (sizeof(Item<V>) == 2) {
        if constexpr (lanes == 8) return bit_cast<Words>(is_signed ? _mm256_cvtepi16_epi32(bits) : _mm256_cvtepu16_epi32(bits));
        else return bit_cast<Words>(is_signed ? _mm_cvtepi16_epi32(bits) : _mm_cvtepu16_epi32(bits));
    }
#if defined(__AVX512F__)
    else if constexpr (lanes == 16)
        return bit_cast<Words>(is_signed ? _mm512_cvtepi8_epi32(bits) : _mm512_cvtepu8_epi32(bits));
#endif
    else if constexpr (lanes == 8) return bit_cast<Words>(is_signed ? _mm256_cvtepi8_epi32(bits) : _mm256_cvtepu8_epi32(bits));
    else return bit_cast<Words>(is_signed ? _mm_cvtepi8_epi32(bits) : _mm_cvtepu8_epi32(bits));
}
#endif
/// Converts each element to T. The compiler has instructions for twice and half the width only. Other conversions it
/// does element by element, at a tenth of the speed.
template <class T, class V> KINDLING_INLINE Vec<T, Lanes<V>::count> convert(const V& value) {
    using From = Item<V>;
    [[maybe_unused]] constexpr bool integers = std::is_integral_v<From> && std::is_integral_v<T>;
#if defined(__AVX2__)
    if constexpr (std::is_integral_v<From> && sizeof(V) >= 4 && sizeof(V) <= 16 && sizeof(From) < 4 &&
                  (sizeof(T) == 8 || (sizeof(T) == 4 && sizeof(From) == 1)))
        return __builtin_convertvector(to_words(value), Vec<T, Lanes<V>::count>);
#endif
#if defined(__AVX512F__)
    if constexpr (integers && sizeof(T) == 1 && sizeof(V) == 64 && sizeof(From) == 4)
        return bit_cast<Vec<T, 16>>(_mm512_cvtepi32_epi8(bit_cast<__m512i>(value)));
    if constexpr (integers && sizeof(T) == 1 && sizeof(V) == 64 && sizeof(From) == 8)
        return bit_cast<Vec<T, 8>>(_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(bit_cast<__m512i>(value))));
    if constexpr (std::is_same_v<From, float> && std::is_same_v<T, double> && sizeof(V) == 32)
        return bit_cast<Vec<T, 8>>(_mm512_cvtps_pd(bit_cast<__m256>(value))); // the compiler converts halves
#endif
#if defined(__AVX2__)
    if constexpr (std::is_same_v<From, float> && std::is_same_v<T, double> && sizeof(V) == 16)
        return bit_cast<Vec<T, 4>>(_mm256_cvtps_pd(bit_cast<__m128>(value)));
    if constexpr (integers && sizeof(T) == 1 && sizeof(From) >= 4 && sizeof(V) <= 32) { // the lowest byte of each: of masks, too
        const __m128i first = _mm_cvtsi32_si128(sizeof(From) == 4 ? 0x0C080400 : static_cast<int>(0x80800800));
        const __m128i low = _mm_shuffle_epi8(load<__m128i>(&value), first);
        if constexpr (sizeof(V) == 16) {
            if constexpr (sizeof(From) == 4) return bit_cast<Vec<T, 4>>(_mm_cvtsi128_si32(low));
            else return bit_cast<Vec<T, 2>>(static_cast<int16_t>(_mm_cvtsi128_si32(low)));
        } else {
            const __m128i high = _mm_shuffle_epi8(_mm256_extracti128_si256(bit_cast<__m256i>(value), 1), first);
            if constexpr (sizeof(From) == 4) return bit_cast<Vec<T, 8>>(_mm_cvtsi128_si64(_mm_unpacklo_epi32(low, high)));
            else return bit_cast<Vec<T, 4>>(_mm_cvtsi128_si32(_mm_unpacklo_epi16(low, high)));
        }
    }
#endif
    return __builtin_convertvector(value, Vec<T, Lanes<V>::count>);
}

/// Bytes of 1 where a mask holds, and of 0.
template <class V> KINDLING_INLINE auto truth_of(const V& mask) {
    if constexpr (sizeof(Item<V>) == 1) return bit_cast<Bits<V>>(V{} - mask); // needs no other constant
    else return convert<uint8_t>(mask) & static_cast<uint8_t>(1);
}

/// a * b + c of floats, rounded once, without an instruction for it. The product is exact as a double. The sum is
/// rounded to odd there, so that rounding it to a float gives the exact result rounded once.
template <class V> __attribute__((noinline)) V mul_add_in_doubles(V a, V b, V c) {
    static_assert(Lanes<V>::count % 2 == 0);
    using Wide = Vec<double, 2>;
    using Narrow = Vec<float, 2>;
    V result = a;
    for (int k = 0; k < Lanes<V>::count; k += 2) {
        auto two = [k](const V& v) { return convert<double>(Narrow{v[k], v[k + 1]}); };
        const Wide product = two(a) * two(b), other = two(c), sum = product + other;
        const Wide part = sum - product, lost = (product - (sum - part)) + (other - part);
        Bits<Wide> word = bit_cast<Bits<Wide>>(sum);
        const auto even = (word & 1) == 0, up = (lost > 0.0) == (sum > 0.0);
        const auto inexact = (lost > 0.0) | (lost < 0.0); // infinities and NaN lose nothing
        word = inexact & even ? (up ? word + 1 : word - 1) : word;
        const Narrow rounded = convert<float>(bit_cast<Wide>(word));
        result[k] = rounded[0];
        result[k + 1] = rounded[1];
    }
    return result;
}

/// The same for doubles (Boldo and Melquiond): exact product and sum, their errors rounded to odd. For numbers whose
/// squares and inverse squares are doubles.
template <class V> __attribute__((noinline)) V mul_add_of_doubles(V a, V b, V c) {
    auto sum_of = [](const V& x, const V& y, V& lost) {
        const V sum = x + y, part = sum - x;
        lost = (x - (sum - part)) + (y - part);
        return sum;
    };
    auto high_part = [](const V& x) {
        const V y = x * 134217729.0;
        return V(y - (y - x));
    }; // 2^27 + 1
    const V high = a * b, ah = high_part(a), bh = high_part(b), al = a - ah, bl = b - bh;
    const V low = ((ah * bh - high) + ah * bl + al * bh) + al * bl;
    V first, second, lost;
    const V inner = sum_of(c, low, first), outer = sum_of(high, inner, second);
    const V rest = sum_of(first, second, lost);
    Bits<V> word = bit_cast<Bits<V>>(rest);
    const auto even = (word & 1) == 0, up = (lost > 0.0) == (rest > 0.0), inexact = (lost > 0.0) | (lost < 0.0);
    word = inexact & even ? (up ? word + 1 : word - 1) : word;
    const V result = outer + bit_cast<V>(word), plain = high + c;
    // Infinities and NaN cannot be split, and a zero takes the sign of the plain result.
    return (plain < 1e300) & (plain > -1e300) & (result != 0.0) ? result : plain;
}

/// a * b + c, rounded once.
template <class V> KINDLING_INLINE V mul_add(const V& a, const V& b, const V& c) {
    if constexpr (sizeof(Item<V>) == 8) {
#if defined(__AVX512F__)
        if constexpr (sizeof(V) == 64)
            return bit_cast<V>(_mm512_fmadd_pd(bit_cast<__m512d>(a), bit_cast<__m512d>(b), bit_cast<__m512d>(c)));
#endif
#if defined(__FMA__)
        if constexpr (sizeof(V) == 32)
            return bit_cast<V>(_mm256_fmadd_pd(bit_cast<__m256d>(a), bit_cast<__m256d>(b), bit_cast<__m256d>(c)));
#endif
        return mul_add_of_doubles(a, b, c);
    } else {
#if defined(__AVX512F__)
        if constexpr (sizeof(V) == 64) return bit_cast<V>(_mm512_fmadd_ps(bit_cast<__m512>(a), bit_cast<__m512>(b), bit_cast<__m512>(c)));
#endif
#if defined(__FMA__)
        if constexpr (sizeof(V) == 32) return bit_cast<V>(_mm256_fmadd_ps(bit_cast<__m256>(a), bit_cast<__m256>(b), bit_cast<__m256>(c)));
        if constexpr (sizeof(V) == 16) return bit_cast<V>(_mm_fmadd_ps(bit_cast<__m128>(a), bit_cast<__m128>(b), bit_cast<__m128>(c)));
#endif
        return mul_add_in_doubles(a, b, c);
    }
}

/// True if a mask holds in some lane of 4 or 8 bytes.
template <class M> KINDLING_INLINE bool anywhere(const M& mask) {
    static_assert(sizeof(Item<M>) >= 4);
#if defined(__AVX512F__)
    if constexpr (sizeof(M) == 64 && sizeof(Item<M>) == 8) return _mm512_movepi64_mask(bit_cast<__m512i>(mask)) != 0;
    else if constexpr (sizeof(M) == 64) return _mm512_movepi32_mask(bit_cast<__m512i>(mask)) != 0;
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(M) == 32) return _mm256_movemask_epi8(bit_cast<__m256i>(mask)) != 0;
#endif
    if constexpr (sizeof(M) == 16) return _mm_movemask_epi8(bit_cast<__m128i>(mask)) != 0;
    bool holds = false;
    for (int i = 0; i < Lanes<M>::count; i++) holds |= mask[i] != 0;
    return holds;
}

/// True if some lane is above `most` (signed). (The compiler would make a vector of the mask above.)
template <class M> KINDLING_INLINE bool anywhere_above(const M& words, int32_t most) {
    static_assert(std::is_same_v<Item<M>, int32_t>);
#if defined(__AVX512F__)
    if constexpr (sizeof(M) == 64) return _mm512_cmpgt_epi32_mask(bit_cast<__m512i>(words), _mm512_set1_epi32(most)) != 0;
#endif
    return anywhere(words > most);
}

/// table[index] by the lowest bits of each lane: three for a table of eight numbers, four for sixteen.
template <int N, class B> KINDLING_INLINE auto lookup(const float (&table)[N], const B& index) {
    static_assert(N == 8 || N == 16);
    using V = Vec<float, Lanes<B>::count>;
#if defined(__AVX512F__)
    if constexpr (sizeof(B) == 64) {
        const __m512 all = N == 16 ? _mm512_loadu_ps(table) : _mm512_broadcast_f32x8(_mm256_loadu_ps(table));
        return bit_cast<V>(_mm512_permutexvar_ps(bit_cast<__m512i>(index), all));
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(B) == 32) {
        const __m256i which = bit_cast<__m256i>(index);
        const __m256 first = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), which);
        if constexpr (N == 8) return bit_cast<V>(first);
        else
            return bit_cast<V>(_mm256_blendv_ps(first, _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), which),
                                                _mm256_castsi256_ps(_mm256_slli_epi32(which, 28))));
    }
#endif
    V result{};
    for (int i = 0; i < Lanes<B>::count; i++) result[i] = table[index[i] & (N - 1)];
    return result;
}
/// True if a look-up among sixteen is as fast as among eight.
template <class V> KINDLING_INLINE constexpr bool looks_up_sixteen() { return sizeof(V) == 64; }
inline const float (&first_half(const float (&table)[16]))[8] { return *reinterpret_cast<const float (*)[8]>(&table); }

// out[i] = f(a[i], ...) by vectors. The partial last vector goes through local copies, so that `f` is compiled once.
// The step of an operand is 0 if it is broadcast (see TileFunction).
#if defined(__AVX2__) && !defined(__AVX512BW__)
/// Copies fewer than 32 bytes, in pieces that overlap. Where g++ optimises for size it would use a string instruction, which
/// takes 30 cycles to start on a Zen 3.
[[gnu::noinline]] inline void copy_part(char* to, const char* from, int64_t bytes) {
    const auto pieces = [&]<class Piece>(Piece) {
        if (bytes < static_cast<int64_t>(sizeof(Piece))) return false;
        const int64_t last = bytes - static_cast<int64_t>(sizeof(Piece));
        const Piece first = load<Piece>(from), second = load<Piece>(from + last);
        store(to, first);
        store(to + last, second);
        return true;
    };
    if (!pieces(Vec<uint8_t, 16>{}) && !pieces(uint64_t{}) && !pieces(uint32_t{}) && !pieces(uint16_t{}) && bytes) *to = *from;
}
#endif
/// The first n elements, then zeros, in `copy`.
template <class T> KINDLING_INLINE const char* partial(char* copy, const char* from, int64_t n) {
#if defined(__AVX512BW__)
    const __mmask64 first = (uint64_t{1} << n * static_cast<int64_t>(sizeof(T))) - 1;
    _mm512_store_si512(copy, _mm512_maskz_loadu_epi8(first, from));
#elif defined(__AVX2__)
    if constexpr (sizeof(T) >= 4) {
        constexpr int parts = static_cast<int>(sizeof(T)) / 4;
        const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256i first = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n) * parts), places);
        store(copy, _mm256_maskload_epi32(reinterpret_cast<const int*>(from), first));
    } else {
        store(copy, Vec<uint8_t, width>{});
        copy_part(copy, from, n * static_cast<int64_t>(sizeof(T)));
    }
#else
    std::memset(copy, 0, width);
    std::memcpy(copy, from, static_cast<size_t>(n) * sizeof(T));
#endif
    return copy;
}
/// Copies the first n elements, fewer than `width` bytes, out.
template <class T> KINDLING_INLINE void store_partial(char* to, const char* copy, int64_t n) {
#if defined(__AVX512BW__)
    const __mmask64 first = (uint64_t{1} << n * static_cast<int64_t>(sizeof(T))) - 1;
    _mm512_mask_storeu_epi8(to, first, _mm512_load_si512(copy));
#elif defined(__AVX2__)
    copy_part(to, copy, n * static_cast<int64_t>(sizeof(T)));
#else
    std::memcpy(to, copy, static_cast<size_t>(n) * sizeof(T));
#endif
}
constexpr int wider(int a, int b) { return a > b ? a : b; }

/// vzeroupper at the end of vector loops. The compiler leaves it out where it optimises for size. All other code is for
/// the oldest processors and takes up to three times as long while the upper halves of registers are in use.
KINDLING_INLINE void clear_upper_halves() {
#if defined(__AVX__)
    _mm256_zeroupper();
#endif
}

/// `Widest`: bytes of the widest value that f uses.
template <class O, class A, int Widest = wider(sizeof(O), sizeof(A)), class F>
KINDLING_INLINE void loop1(F f, void* out, const void* a, int64_t n) {
    constexpr int lanes = width / Widest;
    char* to = static_cast<char*>(out);
    const char* pa = static_cast<const char*>(a);
    alignas(64) char copy[2][width];
    for (; n > 0; n -= lanes) {
        bool last = n < lanes;
        const char* from = pa;
        if (last) [[unlikely]]
            from = partial<A>(copy[0], pa, n);
        Vec<O, lanes> result = f(load<Vec<A, lanes>>(from));
        if (last) [[unlikely]] {
            store(copy[1], result);
            store_partial<O>(to, copy[1], n);
            return clear_upper_halves();
        }
        store(to, result);
        pa += sizeof(A) * lanes;
        to += sizeof(O) * lanes;
    }
    clear_upper_halves();
}

template <class O, class A, int Widest = wider(sizeof(O), sizeof(A)), class F>
KINDLING_INLINE void loop2(F f, void* out, const void* a, const void* b, int64_t n, unsigned splat) {
    constexpr int lanes = width / Widest;
    const int64_t step_a = splat & 1 ? 0 : static_cast<int64_t>(sizeof(A)) * lanes;
    const int64_t step_b = splat & 2 ? 0 : static_cast<int64_t>(sizeof(A)) * lanes;
    char* to = static_cast<char*>(out);
    const char* pa = static_cast<const char*>(a);
    const char* pb = static_cast<const char*>(b);
    alignas(64) char copy[3][width];
    for (; n > 0; n -= lanes) {
        bool last = n < lanes;
        const char *from_a = pa, *from_b = pb;
        if (last) [[unlikely]]
            from_a = partial<A>(copy[0], pa, n), from_b = partial<A>(copy[1], pb, n);
        Vec<O, lanes> result = f(load<Vec<A, lanes>>(from_a), load<Vec<A, lanes>>(from_b));
        if (last) [[unlikely]] {
            store(copy[2], result);
            store_partial<O>(to, copy[2], n);
            return clear_upper_halves();
        }
        store(to, result);
        pa += step_a;
        pb += step_b;
        to += sizeof(O) * lanes;
    }
    clear_upper_halves();
}

/// The first operand may have its own element size (a condition).
template <class O, class A, class B, class F>
KINDLING_INLINE void loop3(F f, void* out, const void* a, const void* b, const void* c, int64_t n, unsigned splat) {
    constexpr int lanes = width / wider(sizeof(O), sizeof(A));
    const int64_t step_a = splat & 1 ? 0 : static_cast<int64_t>(sizeof(A)) * lanes;
    const int64_t step_b = splat & 2 ? 0 : static_cast<int64_t>(sizeof(B)) * lanes;
    const int64_t step_c = splat & 4 ? 0 : static_cast<int64_t>(sizeof(B)) * lanes;
    char* to = static_cast<char*>(out);
    const char* pa = static_cast<const char*>(a);
    const char* pb = static_cast<const char*>(b);
    const char* pc = static_cast<const char*>(c);
    alignas(64) char copy[4][width];
    for (; n > 0; n -= lanes) {
        bool last = n < lanes;
        const char *from_a = pa, *from_b = pb, *from_c = pc;
        if (last) [[unlikely]] {
            from_a = partial<A>(copy[0], pa, n);
            from_b = partial<B>(copy[1], pb, n);
            from_c = partial<B>(copy[2], pc, n);
        }
        Vec<O, lanes> result = f(load<Vec<A, lanes>>(from_a), load<Vec<B, lanes>>(from_b), load<Vec<B, lanes>>(from_c));
        if (last) [[unlikely]] {
            store(copy[3], result);
            store_partial<O>(to, copy[3], n);
            return clear_upper_halves();
        }
        store(to, result);
        pa += step_a;
        pb += step_b;
        pc += step_c;
        to += sizeof(O) * lanes;
    }
    clear_upper_halves();
}

/// The same for an `f` so cheap that the loop's overhead shows: the last vector runs through the same loop once more,
/// instead of a test in every turn. It is more code, with one copy per use.
template <class O, class... A> struct LongLoop {
    static constexpr int widest() {
        int most = sizeof(O);
        ((most = wider(most, sizeof(A))), ...);
        return most;
    }
    static constexpr int lanes = width / widest();
    template <class F, size_t... I>
    static KINDLING_INLINE void run(std::index_sequence<I...>, F f, void* out, const void* const (&given)[sizeof...(A)], int64_t n,
                                    unsigned splat) {
        char *to = static_cast<char*>(out), *target = nullptr;
        const char* from[] = {static_cast<const char*>(given[I])...};
        const int64_t steps[] = {(splat >> I & 1 ? 0 : static_cast<int64_t>(sizeof(A)) * lanes)...};
        alignas(64) char copy[sizeof...(A) + 1][width];
        // Unsigned, since g++ divides where it optimises for size, which takes as long as some rows. The test is at the end: it would
        // take two jumps a turn.
        const auto rest = static_cast<int64_t>(static_cast<uint64_t>(n) % lanes);
        for (uint64_t whole = static_cast<uint64_t>(n) / lanes;; whole = 1) {
            if (whole) do {
                    store(to, f(load<Vec<A, lanes>>(from[I])...));
                    to += sizeof(O) * lanes;
                    ((from[I] += steps[I]), ...);
                } while (--whole);
            if (rest == 0) return clear_upper_halves();
            if (target) break;
            ((from[I] = partial<A>(copy[I], from[I], rest)), ...);
            target = to, to = copy[sizeof...(A)];
        }
        store_partial<O>(target, copy[sizeof...(A)], rest);
        clear_upper_halves();
    }
};
#if defined(__AVX2__)
template <class O, class A, class F> KINDLING_INLINE void long_loop1(F f, void* out, const void* a, int64_t n) {
    LongLoop<O, A>::run(std::make_index_sequence<1>(), f, out, {a}, n, 0);
}
template <class O, class A, class F>
KINDLING_INLINE void long_loop2(F f, void* out, const void* a, const void* b, int64_t n, unsigned splat) {
    LongLoop<O, A, A>::run(std::make_index_sequence<2>(), f, out, {a, b}, n, splat);
}
#else
template <class O, class A, class F> KINDLING_INLINE void long_loop1(F f, void* out, const void* a, int64_t n) {
    loop1<O, A>(f, out, a, n);
}
template <class O, class A, class F>
KINDLING_INLINE void long_loop2(F f, void* out, const void* a, const void* b, int64_t n, unsigned splat) {
    loop2<O, A>(f, out, a, b, n, splat);
}
#endif

// Operators that generic vectors lack.
template <class V> KINDLING_INLINE Bits<V> bits_of(const V& x) { return bit_cast<Bits<V>>(x); }
template <class V> KINDLING_INLINE V from_bits(const Bits<V>& x) { return bit_cast<V>(x); }
template <class V>
inline constexpr typename IntegerOf<sizeof(Item<V>)>::bits sign_bit =
    static_cast<typename IntegerOf<sizeof(Item<V>)>::bits>(1ull << (8 * sizeof(Item<V>) - 1));
template <class V> KINDLING_INLINE V absolute(const V& x) { return from_bits<V>(bits_of(x) & ~sign_bit<V>); }
template <class V> KINDLING_INLINE V with_sign(const V& x, const V& sign) {
    return from_bits<V>((bits_of(x) & ~sign_bit<V>) | (bits_of(sign) & sign_bit<V>));
}

template <class V> KINDLING_INLINE V square_root(const V& x) {
#if defined(__x86_64__)
    if constexpr (sizeof(V) == 64) {
#if defined(__AVX512F__)
        if constexpr (sizeof(Item<V>) == 4) return bit_cast<V>(_mm512_sqrt_ps(bit_cast<__m512>(x)));
        else return bit_cast<V>(_mm512_sqrt_pd(bit_cast<__m512d>(x)));
#endif
    } else if constexpr (sizeof(V) == 32) {
#if defined(__AVX__)
        if constexpr (sizeof(Item<V>) == 4) return bit_cast<V>(_mm256_sqrt_ps(bit_cast<__m256>(x)));
        else return bit_cast<V>(_mm256_sqrt_pd(bit_cast<__m256d>(x)));
#endif
    } else if constexpr (sizeof(V) == 16) {
        if constexpr (sizeof(Item<V>) == 4) return bit_cast<V>(_mm_sqrt_ps(bit_cast<__m128>(x)));
        else return bit_cast<V>(_mm_sqrt_pd(bit_cast<__m128d>(x)));
    }
#endif
    V result = x;
    for (int i = 0; i < Lanes<V>::count; i++)
        result[i] = sizeof(Item<V>) == 4 ? static_cast<Item<V>>(__builtin_sqrtf(static_cast<float>(x[i])))
                                         : static_cast<Item<V>>(__builtin_sqrt(static_cast<double>(x[i])));
    return result;
}

/// The greater (the smaller) of two as maxps and minps: b if they are equal or unordered.
#define KINDLING_EXTREME(NAME, OPERATOR, OP)                                                                                               \
    template <class V> KINDLING_INLINE V NAME(const V& a, const V& b) {                                                                    \
        KINDLING_EXTREME_BY_WIDTH(OP)                                                                                                      \
        return a OPERATOR b ? a : b;                                                                                                       \
    }
#if defined(__AVX512F__)
#define KINDLING_EXTREME_BY_WIDTH(OP)                                                                                                      \
    if constexpr (sizeof(V) == 64 && std::is_same_v<Item<V>, float>)                                                                       \
        return bit_cast<V>(_mm512_##OP##_ps(bit_cast<__m512>(a), bit_cast<__m512>(b)));                                                    \
    if constexpr (sizeof(V) == 64 && std::is_same_v<Item<V>, double>)                                                                      \
        return bit_cast<V>(_mm512_##OP##_pd(bit_cast<__m512d>(a), bit_cast<__m512d>(b)));
#else
#define KINDLING_EXTREME_BY_WIDTH(OP)
#endif
KINDLING_EXTREME(greater, >, max)
KINDLING_EXTREME(smaller, <, min)
#undef KINDLING_EXTREME
#undef KINDLING_EXTREME_BY_WIDTH

enum class Rounding { Nearest = 0, Down = 1, Up = 2, Zero = 3 }; // the immediates of roundps
template <Rounding R, class V> KINDLING_INLINE V round_to(const V& x) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) {
        if constexpr (sizeof(Item<V>) == 4) return bit_cast<V>(_mm512_roundscale_ps(bit_cast<__m512>(x), static_cast<int>(R) | 8));
        else return bit_cast<V>(_mm512_roundscale_pd(bit_cast<__m512d>(x), static_cast<int>(R) | 8));
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) {
        if constexpr (sizeof(Item<V>) == 4) return bit_cast<V>(_mm256_round_ps(bit_cast<__m256>(x), static_cast<int>(R) | 8));
        else return bit_cast<V>(_mm256_round_pd(bit_cast<__m256d>(x), static_cast<int>(R) | 8));
    }
#endif
    using T = Item<V>;
    constexpr T magic = sizeof(T) == 4 ? T(8388608.0) : T(4503599627370496.0); // beyond it every number is an integer
    V size = absolute(x);
    V nearest = with_sign((size + magic) - magic, x);
    V result = nearest;
    if constexpr (R == Rounding::Down) result = nearest > x ? nearest - T(1) : nearest;
    if constexpr (R == Rounding::Up) result = nearest < x ? nearest + T(1) : nearest;
    if constexpr (R == Rounding::Zero) result = absolute(nearest) > size ? absolute(nearest) - T(1) : nearest;
    return size < magic ? with_sign(result, x) : x;
}

// Complex numbers as pairs of adjacent lanes.
template <class V, int... I> KINDLING_INLINE V even(const V& x, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(x, x, (I & ~1)...);
}
template <class V, int... I> KINDLING_INLINE V odd(const V& x, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(x, x, (I | 1)...);
}
template <class V, int... I> KINDLING_INLINE V swapped(const V& x, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(x, x, (I ^ 1)...);
}
template <class V, int... I> KINDLING_INLINE Bits<V> even_sign(std::integer_sequence<int, I...>) {
    return Bits<V>{(I & 1 ? 0 : sign_bit<V>)...};
}
template <class V> KINDLING_INLINE V complex_product(const V& x, const V& y) {
    constexpr auto lanes = std::make_integer_sequence<int, Lanes<V>::count>();
    V straight = even(x, lanes) * y, crossed = odd(x, lanes) * swapped(y, lanes);
    return straight + from_bits<V>(bits_of(crossed) ^ even_sign<V>(lanes));
}

} // namespace kindling::KINDLING_ISA_NAMESPACE
