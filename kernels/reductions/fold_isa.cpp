// kernels/reductions/fold_isa.cpp: reductions of contiguous rows by vectors, in the order that fold.h lays down.
// Compiled for sums.
#include "kernels/maths/vector.h"
#include "kernels/reductions/fold.h"

#include <limits>

namespace kindling::KINDLING_ISA_NAMESPACE {
namespace {

struct Add {
    static constexpr int parts = 1;
    static constexpr bool extreme = false;
    template <class T> static KINDLING_INLINE T apply(const T& a, const T& b) { return a + b; }
    template <class T> static constexpr T identity() { return static_cast<T>(-0.0); } // -0 is the identity that keeps a sum of -0
};
struct Multiply {
    static constexpr int parts = 1;
    static constexpr bool extreme = false;
    template <class T> static KINDLING_INLINE T apply(const T& a, const T& b) { return a * b; }
    template <class T> static constexpr T identity() { return 1; }
};
// a OP b ? a : b, also where one is NaN, as minps and maxps compute it.
#if defined(__AVX512F__)
#define KINDLING_IN_512(NAME)                                                                                                              \
    if constexpr (sizeof(V) == 64 && sizeof(Item<V>) == 4)                                                                                 \
        return bit_cast<V>(_mm512_##NAME##_ps(bit_cast<__m512>(a), bit_cast<__m512>(b)));                                                  \
    else if constexpr (sizeof(V) == 64) return bit_cast<V>(_mm512_##NAME##_pd(bit_cast<__m512d>(a), bit_cast<__m512d>(b)));
#else
#define KINDLING_IN_512(NAME)
#endif
#if defined(__AVX2__)
#define KINDLING_IN_256(NAME)                                                                                                              \
    if constexpr (sizeof(V) == 32 && sizeof(Item<V>) == 4)                                                                                 \
        return bit_cast<V>(_mm256_##NAME##_ps(bit_cast<__m256>(a), bit_cast<__m256>(b)));                                                  \
    else if constexpr (sizeof(V) == 32) return bit_cast<V>(_mm256_##NAME##_pd(bit_cast<__m256d>(a), bit_cast<__m256d>(b)));
#else
#define KINDLING_IN_256(NAME)
#endif
#define KINDLING_SECOND_IF_EQUAL(NAME, OP)                                                                                                 \
    template <class V> static KINDLING_INLINE V second_if_equal(const V& a, const V& b) {                                                  \
        KINDLING_IN_512(NAME) KINDLING_IN_256(NAME) return a OP b ? a : b;                                                                 \
    }
/// For single floats without a branch: which value is larger cannot be predicted.
template <class Op, class T> KINDLING_INLINE T in_vector(T a, T b) {
    using V = Vec<T, 16 / static_cast<int>(sizeof(T))>;
    return Op::apply(V{a}, V{b})[0];
}
struct Least {
    static constexpr int parts = 1;
    static constexpr bool extreme = true;
    KINDLING_SECOND_IF_EQUAL(min, <)
    template <class T> static KINDLING_INLINE T apply(const T& a, const T& b) {
        if constexpr (std::is_floating_point_v<T>) return in_vector<Least>(a, b);
        else return (a < b) | (a != a) ? a : b;
    }
    template <class T> static constexpr T identity() {
        return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
    }
};
struct Greatest {
    static constexpr int parts = 1;
    static constexpr bool extreme = true;
    KINDLING_SECOND_IF_EQUAL(max, >)
    template <class T> static KINDLING_INLINE T apply(const T& a, const T& b) {
        if constexpr (std::is_floating_point_v<T>) return in_vector<Greatest>(a, b);
        else return (a > b) | (a != a) ? a : b;
    }
    template <class T> static constexpr T identity() {
        return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    }
};
struct ComplexAdd : Add {
    static constexpr int parts = 2;
};
struct ComplexMultiply {
    static constexpr int parts = 2;
    static constexpr bool extreme = false;
    template <class V> static KINDLING_INLINE V apply(const V& a, const V& b) { return complex_product<V>(a, b); }
    template <class T> static constexpr T identity() { return 1; } // of the first part; see pad
};

template <class Op, class T> struct Fold {
    static constexpr int items = fold_lanes * Op::parts; // scalars in one round of the lanes
    static constexpr int in_vector = items < width / static_cast<int>(sizeof(T)) ? items : width / static_cast<int>(sizeof(T));
    static constexpr int vectors = items / in_vector;
    using V = Vec<T, in_vector>;

    /// Merges the lanes of a vector by halves down to one scalar.
    template <int N> static KINDLING_INLINE void halve(T* out, const Vec<T, N>& value) {
        if constexpr (N == Op::parts) store(out, value);
        else if constexpr (Op::parts == 1 && std::is_same_v<T, float> && N == 4) {
            const Vec<T, 4> two = Op::apply(value, Vec<T, 4>(__builtin_shufflevector(value, value, 2, 3, 0, 1)));
            out[0] = Op::apply(two, Vec<T, 4>(__builtin_shufflevector(two, two, 1, 0, 3, 2)))[0];
        } else if constexpr (Op::parts == 1 && std::is_same_v<T, double> && N == 2)
            out[0] = Op::apply(value, Vec<T, 2>(__builtin_shufflevector(value, value, 1, 0)))[0];
        else if constexpr (N == 2) out[0] = Op::apply(value[0], value[1]);
        else {
            struct Halves {
                Vec<T, N / 2> low, high;
            };
            Halves halves = bit_cast<Halves>(value);
            halve<N / 2>(out, Op::apply(halves.low, halves.high));
        }
    }

    // Vectors of which only the first lanes are loaded.
    static constexpr int whole_vector = width / static_cast<int>(sizeof(T));
    using Columns = Vec<T, whole_vector>;
#if defined(__AVX512F__)
    using ColumnMask = std::conditional_t<sizeof(T) == 4, __mmask16, __mmask8>;
    static KINDLING_INLINE ColumnMask first_columns(int64_t count) {
        return static_cast<ColumnMask>((1u << (count < 0 ? 0 : count < whole_vector ? count : whole_vector)) - 1);
    }
    static KINDLING_INLINE Columns load_columns(ColumnMask mask, const char* from) {
        if constexpr (sizeof(T) == 4) return bit_cast<Columns>(_mm512_maskz_loadu_ps(mask, from));
        else return bit_cast<Columns>(_mm512_maskz_loadu_pd(mask, from));
    }
    static KINDLING_INLINE void store_columns(ColumnMask mask, T* to, const Columns& value) {
        if constexpr (sizeof(T) == 4) _mm512_mask_storeu_ps(to, mask, bit_cast<__m512>(value));
        else _mm512_mask_storeu_pd(to, mask, bit_cast<__m512d>(value));
    }
#elif defined(__AVX2__)
    using ColumnMask = __m256i;
    static KINDLING_INLINE ColumnMask first_columns(int64_t count) {
        if constexpr (sizeof(T) == 4)
            return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count < 8 ? count : 8)),
                                      _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        else return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
    }
    static KINDLING_INLINE Columns load_columns(ColumnMask mask, const char* from) {
        if constexpr (sizeof(T) == 4) return bit_cast<Columns>(_mm256_maskload_ps(reinterpret_cast<const float*>(from), mask));
        else return bit_cast<Columns>(_mm256_maskload_pd(reinterpret_cast<const double*>(from), mask));
    }
    static KINDLING_INLINE void store_columns(ColumnMask mask, T* to, const Columns& value) {
        if constexpr (sizeof(T) == 4) _mm256_maskstore_ps(to, mask, bit_cast<__m256>(value));
        else _mm256_maskstore_pd(to, mask, bit_cast<__m256d>(value));
    }
#endif
    /// Loads the first `count` lanes (none if it is below 0); the others get the identity.
    static KINDLING_INLINE V load_some(const T* x, int64_t count) {
#if defined(__AVX2__)
        if constexpr (std::is_floating_point_v<T> && Op::parts == 1) {
            Mask<V> places;
            for (int i = 0; i < in_vector; i++) places[i] = i;
            using Place = Item<Mask<V>>;
            return places < all<Mask<V>>(static_cast<Place>(count)) ? load_columns(first_columns(count), reinterpret_cast<const char*>(x))
                                                                    : all<V>(Op::template identity<T>());
        }
#endif
        alignas(64) T padded[in_vector];
        for (int i = 0; i < in_vector; i++) padded[i] = std::is_same_v<Op, ComplexMultiply> && (i & 1) ? T(0) : Op::template identity<T>();
        if (count > 0) std::memcpy(padded, x, static_cast<size_t>(count < in_vector ? count : in_vector) * sizeof(T));
        return load<V>(padded);
    }

    static KINDLING_INLINE V fold_vectors(V* lanes) {
#pragma GCC unroll 4
        for (int half = vectors / 2; half > 0; half /= 2)
#pragma GCC unroll 8
            for (int k = 0; k < half; k++) lanes[k] = Op::apply(lanes[k], lanes[k + half]);
        return lanes[0];
    }

    /// Like `block_lanes`, for extremes of floats. NaN is looked for beside the chain of comparisons, which makes that
    /// chain short. Unrolled, since an array that is indexed at run time lies in memory, and each step waits for it.
    template <class Step> static KINDLING_INLINE V extreme_lanes(const T* x, int64_t n, Step step) {
        V lanes[vectors];
        Mask<V> bad[vectors];
#pragma GCC unroll 8
        for (int k = 0; k < vectors; k++) lanes[k] = load<V>(x + k * in_vector), bad[k] = lanes[k] != lanes[k];
        auto take = [&](int k, const V& next) {
            lanes[k] = step(lanes[k], next);
            bad[k] |= next != next;
        };
        // From the start: the first values, taken twice, change nothing, and the hardware's prefetcher sees every line. From memory that is
        // not enough: so many instructions a line leave too few lines in flight (doubles beyond the caches: half the time).
        constexpr int ahead = 6144;
        int64_t at = 0;
        for (; n - at >= items; at += items) {
#pragma GCC unroll 8
            for (int k = 0; k < vectors; k++) take(k, load<V>(x + at + k * in_vector));
#pragma GCC unroll 8
            for (int line = 0; line < items * static_cast<int>(sizeof(T)); line += 64)
                __builtin_prefetch(reinterpret_cast<const char*>(x + at) + ahead + line);
        }
        if (at < n)
#pragma GCC unroll 8
            for (int k = 0; k < vectors; k++) take(k, load_some(x + at + k * in_vector, n - at - k * in_vector));
        V merged[vectors]; // not the lanes themselves: those would lie in memory all along
#pragma GCC unroll 8
        for (int k = 0; k < vectors; k++) merged[k] = bad[k] ? all<V>(std::numeric_limits<T>::quiet_NaN()) : lanes[k];
        return fold_vectors(merged);
    }

    /// Reduces one block of 1 to 256 values to a vector. (Inlined at each use it would take 50 KB.)
    static __attribute__((noinline)) V block_lanes(const T* x, int64_t n) {
        if constexpr (Op::extreme && std::is_floating_point_v<T>)
            if (n > items) return extreme_lanes(x, n, [](const V& a, const V& b) { return Op::second_if_equal(a, b); });
        V lanes[vectors];
        const int64_t count = n * Op::parts;
        if (count < items) {
            for (int k = 0; k < vectors; k++) lanes[k] = load_some(x + k * in_vector, count - k * in_vector);
            return fold_vectors(lanes);
        }
        for (int k = 0; k < vectors; k++) lanes[k] = load<V>(x + k * in_vector);
        int64_t at = items;
        for (; count - at >= items; at += items)
            for (int k = 0; k < vectors; k++) lanes[k] = Op::apply(lanes[k], load<V>(x + at + k * in_vector));
        if (at < count)
            for (int k = 0; k < vectors; k++) lanes[k] = Op::apply(lanes[k], load_some(x + at + k * in_vector, count - at - k * in_vector));
        return fold_vectors(lanes);
    }
    static KINDLING_INLINE void block(T* out, const T* x, int64_t n) { halve<in_vector>(out, block_lanes(x, n)); }

    /// Floats: four blocks at once, whose lanes are merged together.
    static constexpr bool sums = std::is_same_v<Op, Add>;
    static constexpr bool lanes_by_four = std::is_floating_point_v<T> && Op::parts == 1 && (in_vector >= 8 || (sums && sizeof(V) == 32));
    static constexpr bool by_four = lanes_by_four && sums;
    /// Merges values of which none is NaN.
    static KINDLING_INLINE V merge_numbers_only(const V& a, const V& b) {
        if constexpr (Op::extreme) return Op::second_if_equal(a, b);
        else return Op::apply(a, b);
    }
    /// Merges lanes of a and then of b: each block's `part` lanes become half as many.
    template <int Part, int... I> static KINDLING_INLINE V halved(const V& a, const V& b, std::integer_sequence<int, I...>) {
        constexpr int half = Part / 2; // of block I / half
        return merge_numbers_only(V(__builtin_shufflevector(a, b, (I / half * Part + I % half)...)),
                                  V(__builtin_shufflevector(a, b, (I / half * Part + I % half + half)...)));
    }
    // One loop for all blocks, because the hardware prefetcher follows the address of the load instruction. The loop
    // contains only loads and additions, so that as many loads as possible are in flight.
    static KINDLING_INLINE void four_blocks(V* folded, const T* x) {
#pragma GCC unroll 1
        for (int b = 0; b < 4; b++, x += fold_block) {
            V lanes[vectors];
#pragma GCC unroll 4
            for (int k = 0; k < vectors; k++) lanes[k] = load<V>(x + k * in_vector);
#pragma GCC unroll 15
            for (int at = items; at < fold_block; at += items)
#pragma GCC unroll 4
                for (int k = 0; k < vectors; k++) lanes[k] = Op::apply(lanes[k], load<V>(x + at + k * in_vector));
            folded[b] = fold_vectors(lanes);
        }
    }
    static KINDLING_INLINE void finish_four(T* out, const V* folded) { store(out, first_four(four_numbers(folded))); }
    static KINDLING_INLINE Vec<T, 4> first_four(const V& numbers) { return __builtin_shufflevector(numbers, numbers, 0, 1, 2, 3); }
    /// A number of each of four blocks.
    static KINDLING_INLINE V four_numbers(const V* folded) {
        if constexpr (sums) return four_numbers_here(folded);
        else return four_numbers_called(folded);
    }
    static KINDLING_INLINE V four_numbers_here(const V* folded) {
        constexpr auto all_lanes = std::make_integer_sequence<int, in_vector>();
        V four = halved<in_vector / 2>(halved<in_vector>(folded[0], folded[1], all_lanes),
                                       halved<in_vector>(folded[2], folded[3], all_lanes), all_lanes);
        if constexpr (in_vector == 16) four = halved<4>(four, four, all_lanes);
        if constexpr (in_vector > 4) four = halved<2>(four, four, all_lanes);
        return four;
    }
    static __attribute__((noinline)) V four_numbers_called(const V* folded) { // five copies of it would take 14 KB
        V four = four_numbers_here(folded);
        if constexpr (Op::extreme) {
            const V all = folded[0] + folded[1] + (folded[2] + folded[3]); // NaN where one is, or where infinities meet
            if (anywhere(all != all)) [[unlikely]]
                for (int k = 0; k < 4; k++)
                    if (anywhere(folded[k] != folded[k])) four[k] = std::numeric_limits<T>::quiet_NaN();
        }
        return four;
    }

    /// Merges every lane with the one `apart` behind it.
    template <int Apart, int... I> static KINDLING_INLINE V neighbours(const V& a, std::integer_sequence<int, I...>) {
        return Op::apply(a, V(__builtin_shufflevector(a, a, ((I + Apart) % in_vector)...)));
    }
    static KINDLING_INLINE T merged_four_numbers(const V& numbers) {
        constexpr auto all_lanes = std::make_integer_sequence<int, in_vector>();
        return neighbours<2>(neighbours<1>(numbers, all_lanes), all_lanes)[0];
    }

    static KINDLING_INLINE void finish_lanes(T* out, const char* from) {
        V lanes[vectors];
        for (int k = 0; k < vectors; k++) lanes[k] = load<V>(from + k * static_cast<int>(sizeof(V)));
        for (int half = vectors / 2; half > 0; half /= 2)
            for (int k = 0; k < half; k++) lanes[k] = Op::apply(lanes[k], lanes[k + half]);
        halve<in_vector>(out, lanes[0]);
    }
    /// Four scalars, of as many blocks.
    static KINDLING_INLINE V finish_four_lanes(const char* from) {
        V folded[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            V lanes[vectors];
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) lanes[v] = load<V>(from + k * fold_lanes_bytes + v * static_cast<int>(sizeof(V)));
            folded[k] = fold_vectors(lanes);
        }
        return four_numbers(folded);
    }
    /// Rows of at most 16 blocks: neighbours are merged, then pairs of pairs, as PairwiseCounter does.
    static void lane_blocks(void* out, const void* from, int64_t rows, int64_t blocks) {
        T numbers[16] = {};
        char* to = static_cast<char*>(out);
        const char* lanes = static_cast<const char*>(from);
        if constexpr (lanes_by_four)
            for (; blocks == 1 && rows >= 4; rows -= 4, lanes += 4 * fold_lanes_bytes, to += 4 * fold_result_bytes) {
                store(numbers, first_four(finish_four_lanes(lanes)));
                for (int k = 0; k < 4; k++) std::memcpy(to + k * fold_result_bytes, numbers + k, sizeof *numbers);
            }
        for (; rows > 0; rows--, to += fold_result_bytes) {
            // Four blocks together give one scalar, and so does the remainder.
            int64_t count = 0, b = 0;
            if constexpr (lanes_by_four)
                for (; b + 4 <= blocks; b += 4, lanes += 4 * fold_lanes_bytes) {
                    numbers[count++] = merged_four_numbers(finish_four_lanes(lanes));
                }
            if (b < blocks) {
                T rest[16] = {};
                int64_t left = 0;
                for (; b < blocks; b++, lanes += fold_lanes_bytes) finish_lanes(rest + left++, lanes);
                numbers[count++] = merge_numbers(rest, left);
            }
            numbers[0] = merge_numbers(numbers, count);
            std::memcpy(to, numbers, sizeof *numbers);
        }
    }
    static KINDLING_INLINE T merge_numbers(T* numbers, int64_t count) {
        return merge_neighbours(numbers, count, [](const T& a, const T& b) { return Op::apply(a, b); });
    }
    /// Integers give the same in any order: whole vectors, several accumulators.
    static constexpr bool in_any_order = std::is_integral_v<T> && !std::is_same_v<Op, Multiply>;
    static void any_order(T* out, const T* x, int64_t n) {
        using W = Vec<T, whole_vector>;
        W lanes[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) lanes[k] = load<W>(x + k * whole_vector);
        int64_t at = 4 * whole_vector;
        for (; n - at >= 4 * whole_vector; at += 4 * whole_vector)
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) lanes[k] = Op::apply(lanes[k], load<W>(x + at + k * whole_vector));
        for (; n - at >= whole_vector; at += whole_vector) lanes[0] = Op::apply(lanes[0], load<W>(x + at));
        T numbers[whole_vector + 1];
        store(numbers, Op::apply(Op::apply(lanes[0], lanes[1]), Op::apply(lanes[2], lanes[3])));
        if (at < n) block(numbers + whole_vector, x + at, n - at);
        block(out, numbers, whole_vector + (at < n));
    }

#if defined(__AVX2__)
    /// As many columns as a line of the cache has numbers.
    struct Line {
        static constexpr int parts = 64 / width;
        Columns part[parts];
        static KINDLING_INLINE Line load(const char* from) {
            Line line;
            for (int i = 0; i < parts; i++) line.part[i] = kindling::KINDLING_ISA_NAMESPACE::load<Columns>(from + i * width);
            return line;
        }
        KINDLING_INLINE void store(char* to) const {
            for (int i = 0; i < parts; i++) kindling::KINDLING_ISA_NAMESPACE::store(to + i * width, part[i]);
        }
        KINDLING_INLINE void merge(const Line& other) {
            for (int i = 0; i < parts; i++) part[i] = Op::apply(part[i], other.part[i]);
        }
    };
    /// The first lane of a line, merged with the lanes that are Half, 2 * Half, ... behind it. Depth first, so that few lines are held
    /// at once; the lanes of 16 do not fit into registers.
    template <int Half> static KINDLING_INLINE Line merged_lanes(const char* from, int64_t rows, int64_t stride) {
        if constexpr (Half == fold_lanes) {
            Line lane = Line::load(from);
            while ((rows -= fold_lanes) > 0) lane.merge(Line::load(from += fold_lanes * stride));
            return lane;
        } else {
            Line lane = merged_lanes<2 * Half>(from, rows, stride);
            if (Half < rows) lane.merge(merged_lanes<2 * Half>(from + Half * stride, rows - Half, stride));
            return lane;
        }
    }
    /// Every fourth lane of some lines. (With all lanes inline this would take 30 KB.)
    static __attribute__((noinline)) void quarter(char* to, const char* from, int64_t rows, int64_t lines, int64_t stride) {
        for (; lines > 0; lines--, to += 64, from += 64) merged_lanes<4>(from, rows, stride).store(to);
    }
    /// Whole lines of few rows. Up to eight rows are lanes that lie further apart: fewer calls.
    static __attribute__((noinline)) void few(char* to, const char* from, int64_t rows, int64_t lines, int64_t stride) {
        constexpr int64_t most = 16; // lines at a time
        alignas(64) char lanes[3][most * 64];
        const int64_t apart = rows <= 4 ? 4 : rows <= 8 ? 2 : 1;
        for (; lines > 0; lines -= most, to += most * 64, from += most * 64) {
            const int64_t some = lines < most ? lines : most;
            for (int64_t k = 0; k < 4 / apart; k++)
                quarter(k ? lanes[k - 1] : to, from + k * stride, apart * (rows - k) - apart + 1, some, stride / apart);
            for (int64_t at = 0; at < some * 64 && apart < 4; at += 64) {
                Line all = Line::load(to + at), odd = Line::load(lanes[0] + at);
                if (apart == 1) all.merge(Line::load(lanes[1] + at)), odd.merge(Line::load(lanes[2] + at));
                all.merge(odd);
                all.store(to + at);
            }
        }
    }

    static constexpr int row_lines = 8; // of the lanes of a block, eight kilobytes
    /// At most so many lines of at least 16 rows. Rows are read one after the other, and the 16 lanes lie in the first cache: where all
    /// rows of one line are read first, those that lie a power of two apart push each other out.
    static __attribute__((noinline)) void columns_by_rows(char* to, const char* row, int64_t rows, int64_t bytes, int64_t stride) {
        alignas(64) char sums[fold_lanes - 1][row_lines * 64]; // a frame has 8 KB; the last lane lies in the result
        const char* lanes[fold_lanes];
        for (const char*& lane : lanes) lane = row, row += stride;
        for (int64_t r = fold_lanes; r < rows + fold_lanes - 1; r++, row += stride) {
            // Behind the last row the last lane left is merged with the one half of them before it.
            const int64_t left = rows + fold_lanes - 1 - r,
                          lane = r < rows ? r % fold_lanes : left - (int64_t{1} << (63 - __builtin_clzll(left)));
            const char *a = lanes[lane], *b = r < rows ? row : lanes[left];
            char* sum = lane == fold_lanes - 1 ? to : sums[lane];
            lanes[lane] = sum;
#pragma GCC unroll 1
            for (int64_t at = 0; at < bytes; at += width) store(sum + at, Op::apply(load<Columns>(a + at), load<Columns>(b + at)));
        }
        std::memcpy(to, lanes[0], static_cast<size_t>(bytes));
    }

    /// Reduces blocks down columns. Few rows are read a line of the cache at a time, and sums of more rows that lie far apart row by row.
    /// Of others, or where less than a line is left, as many columns go at once as a vector has lanes, or as the mask says. Then the 16
    /// lanes of every column stay in registers, and some rows are prefetched, since the hardware does not see a stream in 16 alternating
    /// loads.
    static void column_block(void* out, const void* values, int64_t rows, int64_t columns, int64_t stride) {
        T* to = static_cast<T*>(out);
        const char* from = static_cast<const char*>(values);
        constexpr int line = 64 / static_cast<int>(sizeof(T));
        if constexpr (sums) // of others, no rows that lie so far apart come here
            for (; stride >= 1024 && rows > few_rows && columns >= line;) {
                const int64_t lines = columns < row_lines * line ? columns / line : row_lines;
                columns_by_rows(reinterpret_cast<char*>(to), from, rows, lines * 64, stride);
                to += lines * line, from += lines * 64, columns -= lines * line;
            }
        if (rows <= few_rows && columns >= line) {
            few(reinterpret_cast<char*>(to), from, rows, columns / line, stride);
            to += columns / line * line, from += columns / line * 64, columns %= line;
        }
        for (; columns > 0; columns -= whole_vector, to += whole_vector, from += width) {
            const ColumnMask mask = first_columns(columns);
            Columns lanes[fold_lanes], each[fold_lanes];
#pragma GCC unroll 16
            for (Columns& lane : each) lane = all<Columns>(Op::template identity<T>());
            const char* at = from;
            int64_t left = rows;
            for (; left >= fold_lanes; left -= fold_lanes, at += fold_lanes * stride)
#pragma GCC unroll 16
                for (int j = 0; j < fold_lanes; j++) {
                    _mm_prefetch(at + (j + 48) * stride, _MM_HINT_T0);
                    each[j] = Op::apply(each[j], load_columns(mask, at + j * stride));
                }
            // The remainder is small and goes through memory.
#pragma GCC unroll 16
            for (int j = 0; j < fold_lanes; j++) lanes[j] = each[j];
#pragma GCC unroll 1
            for (int j = 0; j < left; j++) lanes[j] = Op::apply(lanes[j], load_columns(mask, at + j * stride));
#pragma GCC unroll 1
            for (int half = fold_lanes / 2; half > 0; half /= 2)
#pragma GCC unroll 1
                for (int j = 0; j < half; j++) lanes[j] = Op::apply(lanes[j], lanes[j + half]);
            store_columns(mask, to, lanes[0]);
        }
    }
#endif

    struct Number {
        T parts[Op::parts];
    };
    static Number merged(const Number& a, const Number& b) {
        Number result;
        if constexpr (Op::parts == 1) result.parts[0] = Op::apply(a.parts[0], b.parts[0]);
        else store(&result, Op::apply(load<Vec<T, 2>>(&a), load<Vec<T, 2>>(&b)));
        return result;
    }

    static void rows(void* out, const void* values, int64_t rows, int64_t n) {
        T* to = static_cast<T*>(out);
        const T* x = static_cast<const T*>(values);
        if constexpr (lanes_by_four) {
            // Rows of at most a block: four at once.
            V folded[4];
            for (; rows >= 4 && n <= fold_lanes; rows -= 4, to += 4, x += 4 * n) {
#pragma GCC unroll 4
                for (int r = 0; r < 4; r++) {
                    V lanes[vectors];
                    __builtin_prefetch(x + r * n + 4 * fold_block); // the hardware sees no stream in four alternating loads
                    for (int k = 0; k < vectors; k++) lanes[k] = load_some(x + r * n + k * in_vector, n - k * in_vector);
                    folded[r] = fold_vectors(lanes);
                }
                finish_four(to, folded);
            }
            for (; rows >= 4 && n <= fold_block; rows -= 4, to += 4) {
#pragma GCC unroll 1
                for (int r = 0; r < 4; r++, x += n) folded[r] = block_lanes(x, n);
                finish_four(to, folded);
            }
        } else if (n < fold_lanes && Op::parts == 1) {
            // Short rows: all 16 lanes are loaded at once, as long as that stays inside the memory. What belongs to the
            // next row is replaced by the identity.
            alignas(64) typename IntegerOf<sizeof(T)>::type numbers[items];
            for (int i = 0; i < items; i++) numbers[i] = static_cast<typename IntegerOf<sizeof(T)>::type>(i < n);
            V none = all<V>(Op::template identity<T>());
            for (; rows * n >= fold_lanes; rows--, to++, x += n) {
                V lanes[vectors];
                for (int k = 0; k < vectors; k++)
                    lanes[k] = load<Mask<V>>(numbers + k * in_vector) != 0 ? load<V>(x + k * in_vector) : none;
                for (int half = vectors / 2; half > 0; half /= 2)
                    for (int k = 0; k < half; k++) lanes[k] = Op::apply(lanes[k], lanes[k + half]);
                halve<in_vector>(to, lanes[0]);
            }
        }
        if constexpr (in_any_order)
            if (n >= 4 * whole_vector) {
                for (; rows > 0; rows--, to++, x += n) any_order(to, x, n);
                return;
            }
        for (; rows > 0; rows--, to += Op::parts, x += n * Op::parts) {
            if (n <= fold_block) {
                block(to, x, n);
                continue;
            }
            PairwiseCounter<Number, Number (*)(const Number&, const Number&)> counter(merged);
            int64_t at = 0;
            if constexpr (lanes_by_four)
                for (; n - at >= 4 * fold_block; at += 4 * fold_block) {
                    V folded[4];
                    if constexpr (by_four) {
                        four_blocks(folded, x + at);
                    } else {
#pragma GCC unroll 1
                        for (int b = 0; b < 4; b++) folded[b] = block_lanes(x + at + b * fold_block, fold_block);
                    }
                    counter.push_four({{merged_four_numbers(four_numbers(folded))}});
                }
            for (; at < n; at += fold_block) {
                Number number;
                block(number.parts, x + at * Op::parts, n - at < fold_block ? n - at : fold_block);
                counter.push(number);
            }
            Number total = counter.total();
            std::memcpy(to, &total, sizeof total);
        }
    }
};

template <class Op> RowFold any_sign(DType type) {
    switch (item_size(type)) {
    case 1: return Fold<Op, uint8_t>::rows;
    case 2: return Fold<Op, uint16_t>::rows;
    case 4: return Fold<Op, uint32_t>::rows;
    default: return Fold<Op, uint64_t>::rows;
    }
}
template <class Op> RowFold by_sign(DType type) {
    switch (type) {
    case DType::Int8: return Fold<Op, int8_t>::rows;
    case DType::Int16: return Fold<Op, int16_t>::rows;
    case DType::Int32: return Fold<Op, int32_t>::rows;
    case DType::Int64: return Fold<Op, int64_t>::rows;
    default: return any_sign<Op>(type);
    }
}

} // namespace

RowFold find_row_fold(Combine combine, DType type) {
    bool single = type == DType::Float32 || type == DType::Complex64, complex = is_complex(type), floating = is_floating(type);
#define KINDLING_FLOAT_FOLD(OP) single ? Fold<OP, float>::rows : Fold<OP, double>::rows
    if (combine == Combine::Prod && (complex || !floating)) {
        if constexpr (width == 64) return isa_avx2::find_row_fold(combine, type); // rare: 9 KB less
        else return complex ? (KINDLING_FLOAT_FOLD(ComplexMultiply)) : any_sign<Multiply>(type);
    }
    if (complex && combine != Combine::Sum) return nullptr;
    switch (combine) {
    case Combine::Sum: return complex ? (KINDLING_FLOAT_FOLD(ComplexAdd)) : floating ? (KINDLING_FLOAT_FOLD(Add)) : any_sign<Add>(type);
    case Combine::Prod: return KINDLING_FLOAT_FOLD(Multiply);
    case Combine::Min:
    case Combine::All: return floating ? (KINDLING_FLOAT_FOLD(Least)) : by_sign<Least>(type);
    case Combine::Max:
    case Combine::Any: return floating ? (KINDLING_FLOAT_FOLD(Greatest)) : by_sign<Greatest>(type);
    default: return nullptr;
    }
}

ColumnBlockFold find_column_fold([[maybe_unused]] Combine combine, [[maybe_unused]] DType type) {
#if defined(__AVX2__)
    const bool single = type == DType::Float32;
    if (!single && type != DType::Float64) return nullptr;
#define KINDLING_COLUMN_FOLD(OP) single ? Fold<OP, float>::column_block : Fold<OP, double>::column_block
    switch (combine) {
    case Combine::Sum: return KINDLING_COLUMN_FOLD(Add);
    case Combine::Min: return KINDLING_COLUMN_FOLD(Least);
    case Combine::Max: return KINDLING_COLUMN_FOLD(Greatest);
    default: return nullptr;
    }
#else
    return nullptr;
#endif
}

LaneBlocksFold find_lane_fold(Combine combine, DType type) {
    const bool single = type == DType::Float32;
    if (!single && type != DType::Float64) return nullptr;
#define KINDLING_LANE_FOLD(OP) single ? Fold<OP, float>::lane_blocks : Fold<OP, double>::lane_blocks
    switch (combine) {
    case Combine::Sum: return KINDLING_LANE_FOLD(Add);
    case Combine::Prod: return KINDLING_LANE_FOLD(Multiply);
    case Combine::Min: return KINDLING_LANE_FOLD(Least);
    case Combine::Max: return KINDLING_LANE_FOLD(Greatest);
    default: return nullptr;
    }
}

} // namespace kindling::KINDLING_ISA_NAMESPACE
