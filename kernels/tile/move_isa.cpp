// kernels/tile/move_isa.cpp: copies of strided planes. The method depends on the strides alone, not on the values.
#include "kernels/maths/vector.h"
#include "kernels/tile/move.h"

namespace kindling::KINDLING_ISA_NAMESPACE {
namespace {

struct Sixteen {
    uint64_t halves[2];
};

template <class T> KINDLING_INLINE void put(char* to, const char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    std::memcpy(to, &value, sizeof value);
}

/// For at least one vector. The last one ends with the run.
template <class V> KINDLING_INLINE void copy_vectors(char* to, const char* from, int64_t bytes) {
    constexpr int64_t size = sizeof(V);
    for (int64_t at = 0; at < bytes - size; at += size) store(to + at, load<V>(from + at));
    store(to + bytes - size, load<V>(from + bytes - size));
}

/// Copies contiguous bytes; short runs without a call.
KINDLING_INLINE void copy_row(char* to, const char* from, int64_t bytes) {
    if (bytes > 512) return copy_bytes(to, from, bytes);
    if (bytes >= width) return copy_vectors<Vec<uint8_t, width>>(to, from, bytes);
    if (bytes >= 16) return copy_vectors<Vec<uint8_t, 16>>(to, from, bytes);
    if (bytes & 8) put<uint64_t>(to, from), to += 8, from += 8;
    if (bytes & 4) put<uint32_t>(to, from), to += 4, from += 4;
    if (bytes & 2) put<uint16_t>(to, from), to += 2, from += 2;
    if (bytes & 1) *to = *from;
}

[[gnu::noinline]] void copy_short(char* to, const char* from, int64_t bytes) { copy_row(to, from, bytes); }

[[gnu::noinline]] void copy_rows(const Plane& p, int64_t bytes) {
    char* to = p.to;
    const char* from = p.from;
    if (p.from_strides[0] == 0 && p.to_strides[0] == bytes && bytes <= 512 && p.sizes[0] > 4 && !p.past_cache) {
        // One short row again and again: what is there already is copied, twice as much each time.
        const int64_t all = p.sizes[0] * bytes;
        copy_row(to, from, bytes);
        for (int64_t done = bytes; done < all; done *= 2) copy_row(to + done, to, done < all - done ? done : all - done);
        return;
    }
    for (int64_t o = 0; o < p.sizes[0]; o++, to += p.to_strides[0], from += p.from_strides[0])
        if (p.past_cache) copy_past_cache(to, from, bytes);
        else copy_row(to, from, bytes);
}

KINDLING_INLINE void store_past_cache(char* to, const Vec<uint8_t, width>& value) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), bit_cast<__m512i>(value));
#elif defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), bit_cast<__m256i>(value));
#else
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), bit_cast<__m128i>(value));
#endif
}

template <class T> struct Mover {
    static constexpr int64_t item = sizeof(T);
    // A transpose works on square blocks: at most 16 rows of at most one vector.
    static constexpr int side = width / item < 16 ? static_cast<int>(width / item) : 16;
    static constexpr int lanes = static_cast<int>(width / item);
    // A Sixteen is moved as a whole, never in a vector.
    using Lane = std::conditional_t<sizeof(T) <= 8, T, uint64_t>;
    using V = Vec<Lane, side>;
    using W = Vec<Lane, lanes>;

    template <class U, int... I> static KINDLING_INLINE U low_half(const U& a, const U& b, std::integer_sequence<int, I...>) {
        constexpr int n = sizeof...(I);
        return __builtin_shufflevector(a, b, (I / 2 + (I & 1) * n)...);
    }
    template <class U, int... I> static KINDLING_INLINE U high_half(const U& a, const U& b, std::integer_sequence<int, I...>) {
        constexpr int n = sizeof...(I);
        return __builtin_shufflevector(a, b, (n / 2 + I / 2 + (I & 1) * n)...);
    }
    template <class U, int... I> static KINDLING_INLINE U turned(const U& a, std::integer_sequence<int, I...>) {
        constexpr int n = sizeof...(I);
        return __builtin_shufflevector(a, a, (n - 1 - I)...);
    }
    template <class U, int... I> static KINDLING_INLINE U evens(const U& a, const U& b, std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(a, b, (2 * I)...);
    }
    /// The same where b begins one element earlier, so that it ends with the last element selected.
    template <class U, int... I> static KINDLING_INLINE U last_evens(const U& a, const U& b, std::integer_sequence<int, I...>) {
        constexpr int n = sizeof...(I);
        return __builtin_shufflevector(a, b, (2 * I < n ? 2 * I : 2 * I + 1)...);
    }

    /// Every third element of a, b and c, in two shuffles of two operands.
    template <class U, int... I> static KINDLING_INLINE U thirds(const U& a, const U& b, const U& c, std::integer_sequence<int, I...>) {
        constexpr int n = sizeof...(I);
        const U first = __builtin_shufflevector(a, b, (3 * I < 2 * n ? 3 * I : 0)...);
        return __builtin_shufflevector(first, c, (3 * I < 2 * n ? I : 3 * I - n)...);
    }

    /// Transposes side x side elements: rows of `from` are columns of `to`.
    static KINDLING_INLINE void block(char* to, int64_t to_stride, const char* from, int64_t from_stride) {
        constexpr auto order = std::make_integer_sequence<int, side>();
        V rows[side], next[side];
#pragma GCC unroll 16
        for (int i = 0; i < side; i++) rows[i] = load<V>(from + i * from_stride);
        // Interleaving row i with row i + side / 2, log2(side) times, gives the transpose.
#pragma GCC unroll 4
        for (int round = 1; round < side; round *= 2) {
#pragma GCC unroll 8
            for (int i = 0; i < side / 2; i++) {
                next[2 * i] = low_half(rows[i], rows[i + side / 2], order);
                next[2 * i + 1] = high_half(rows[i], rows[i + side / 2], order);
            }
#pragma GCC unroll 16
            for (int i = 0; i < side; i++) rows[i] = next[i];
        }
#pragma GCC unroll 16
        for (int i = 0; i < side; i++) store(to + i * to_stride, rows[i]);
    }

    /// Consecutive blocks that make the target's rows whole cache lines.
    static constexpr int blocks = 64 / (side * item);

    static void anyhow(char* to, int64_t to_outer, int64_t to_inner, const char* from, int64_t from_outer, int64_t from_inner,
                       int64_t outer, int64_t inner) {
        for (int64_t o = 0; o < outer; o++, to += to_outer, from += from_outer) {
            char* target = to;
            const char* source = from;
            int64_t n = inner;
            for (; n >= 4; n -= 4, source += 4 * from_inner, target += 4 * to_inner) {
                T a, b, c, d;
                std::memcpy(&a, source, item), std::memcpy(&b, source + from_inner, item);
                std::memcpy(&c, source + 2 * from_inner, item), std::memcpy(&d, source + 3 * from_inner, item);
                std::memcpy(target, &a, item), std::memcpy(target + to_inner, &b, item);
                std::memcpy(target + 2 * to_inner, &c, item), std::memcpy(target + 3 * to_inner, &d, item);
            }
            for (; n > 0; n--, source += from_inner, target += to_inner) put<T>(target, source);
        }
    }

    /// `from` is contiguous along the rows' dimension, `to` along the elements'.
    static void transpose(const Plane& p) {
        constexpr int64_t near = 64; // rows and columns whose cache lines and pages are used up before going on
        const int64_t outer = p.sizes[0], inner = p.sizes[1], to_stride = p.to_strides[0], from_stride = p.from_strides[1];
        const int64_t whole_outer = outer / side * side, whole_inner = inner / side * side;
        const bool past_cache = p.past_cache && (reinterpret_cast<intptr_t>(p.to) | to_stride) % 64 == 0;
        // Lines are assembled in a tile. Narrow elements would touch each line many times, and streaming stores need
        // whole lines. (With more vectors per line the tile costs what it saves.)
        const bool by_lines = item <= 2 || (past_cache && blocks * item <= 8);
        alignas(64) char tile[side][64];
        for (int64_t i1 = 0; i1 < whole_inner; i1 += near)
            for (int64_t o1 = 0; o1 < whole_outer; o1 += near) {
                const int64_t i_end = i1 + near < whole_inner ? i1 + near : whole_inner;
                const int64_t o_end = o1 + near < whole_outer ? o1 + near : whole_outer;
                for (int64_t o = o1; o < o_end; o += side)
                    for (int64_t i = i1; i < i_end;) {
                        char* to = p.to + o * to_stride + i * item;
                        const bool lines = by_lines && i + blocks * side <= i_end;
                        for (int b = 0; b < (lines ? blocks : 1); b++, i += side) {
                            const char* from = p.from + i * from_stride + o * item;
                            block(lines ? &tile[0][b * side * item] : to, lines ? 64 : to_stride, from, from_stride);
                        }
                        if (!lines) continue;
                        for (int k = 0; k < side; k++)
                            for (int at = 0; at < 64; at += width) {
                                const auto part = load<Vec<uint8_t, width>>(&tile[k][at]);
                                if (past_cache) store_past_cache(to + k * to_stride + at, part);
                                else store(to + k * to_stride + at, part);
                            }
                    }
            }
        if (whole_inner < inner)
            anyhow(p.to + whole_inner * item, to_stride, item, p.from + whole_inner * from_stride, item, from_stride, outer,
                   inner - whole_inner);
        if (whole_outer < outer)
            anyhow(p.to + whole_outer * to_stride, to_stride, item, p.from + whole_outer * item, item, from_stride, outer - whole_outer,
                   whole_inner);
    }

    /// Reverses at least `lanes` elements. It starts at the end, so that the source is read in the direction that the
    /// hardware prefetches. The last vector begins with the row and rewrites some elements.
    static KINDLING_INLINE void turn_row(char* to, const char* from, int64_t n) {
        constexpr auto order = std::make_integer_sequence<int, lanes>();
#pragma GCC unroll 2
        for (int64_t at = n - lanes; at > 0; at -= lanes) store(to + at * item, turned(load<W>(from - (at + lanes - 1) * item), order));
        store(to, turned(load<W>(from - (lanes - 1) * item), order));
    }
    static KINDLING_INLINE void turn_row_past_cache(char* to, const char* from, int64_t n) {
        constexpr auto order = std::make_integer_sequence<int, lanes>();
        int64_t head = (-reinterpret_cast<intptr_t>(to) & 63) / item;
        if (head > n) head = n;
        int64_t at = n;
        for (; (at - head) % lanes; at--) put<T>(to + (at - 1) * item, from - (at - 1) * item);
        for (; at > head; at -= lanes)
            store_past_cache(to + (at - lanes) * item, bit_cast<Vec<uint8_t, width>>(turned(load<W>(from - (at - 1) * item), order)));
        for (; at > 0; at--) put<T>(to + (at - 1) * item, from - (at - 1) * item);
    }
    /// At least `lanes` times every second element of one row, or of two that are read in turns. Nothing is read behind the last.
    template <int rows> static KINDLING_INLINE void even_rows(char* to, int64_t to_next, const char* from, int64_t from_next, int64_t n) {
        constexpr auto order = std::make_integer_sequence<int, lanes>();
        for (int64_t at = 0; at < n - lanes; at += lanes)
#pragma GCC unroll 2
            for (int r = 0; r < rows; r++) {
                const char* source = from + r * from_next + 2 * at * item;
                store(to + r * to_next + at * item, evens(load<W>(source), load<W>(source + width), order));
            }
        for (int r = 0; r < rows; r++) {
            const char* source = from + r * from_next + 2 * (n - lanes) * item;
            store(to + r * to_next + (n - lanes) * item, last_evens(load<W>(source), load<W>(source + width - item), order));
        }
    }

    /// The same for every third. The remainder of the last vector is copied one by one.
    static KINDLING_INLINE void third_row(char* to, const char* from, int64_t n) {
        constexpr auto order = std::make_integer_sequence<int, lanes>();
        int64_t at = 0;
        for (; at < n - lanes; at += lanes) {
            const char* source = from + 3 * at * item;
            store(to + at * item, thirds(load<W>(source), load<W>(source + width), load<W>(source + 2 * width), order));
        }
        for (; at < n; at++) put<T>(to + at * item, from + 3 * at * item);
    }

    static void copy(const Plane& p) {
        const int64_t outer = p.sizes[0], inner = p.sizes[1], from_inner = p.from_strides[1];
        char* to = p.to;
        const char* from = p.from;
        if (p.to_strides[1] != item) {
            if (p.to_strides[0] == item && outer > 1) {
                Plane swapped{p.to, p.from, {inner, outer}, {p.to_strides[1], p.to_strides[0]}, {p.from_strides[1], p.from_strides[0]}};
                copy(swapped);
                return;
            }
        } else if (from_inner == item) {
            copy_rows(p, inner * item);
            return;
        } else if constexpr (sizeof(T) <= 8) {
            constexpr auto order = std::make_integer_sequence<int, lanes>();
            if (from_inner == 0) {
                int64_t o = 0;
                // Short rows side by side: whole vectors, of which the next row overwrites what is too much.
                if (inner <= 8 * lanes && p.to_strides[0] == inner * item)
                    for (; (outer - o - 1) * inner >= lanes; o++, to += inner * item, from += p.from_strides[0]) {
                        T value;
                        std::memcpy(&value, from, item);
                        for (int64_t at = 0; at < inner; at += lanes) store(to + at * item, all<W>(value));
                    }
                for (; o < outer; o++, to += p.to_strides[0], from += p.from_strides[0]) {
                    T value;
                    std::memcpy(&value, from, item);
                    W repeated = all<W>(value);
                    int64_t at = 0;
                    if (p.past_cache && reinterpret_cast<intptr_t>(to) % item == 0) {
                        for (; at < inner && reinterpret_cast<intptr_t>(to + at * item) % 64; at++)
                            std::memcpy(to + at * item, &value, item);
                        for (; at + lanes <= inner; at += lanes) store_past_cache(to + at * item, bit_cast<Vec<uint8_t, width>>(repeated));
                    }
                    for (; at + lanes <= inner; at += lanes) store(to + at * item, repeated);
                    for (; at < inner; at++) std::memcpy(to + at * item, &value, item);
                }
                return;
            }
            if ((from_inner == -item || from_inner == 2 * item) && inner >= lanes) {
                if constexpr ((item == 4 || item == 8) && lanes >= 4)
                    if (from_inner > 0 && outer == 2) return even_rows<2>(to, p.to_strides[0], from, p.from_strides[0], inner);
                for (int64_t o = 0; o < outer; o++, to += p.to_strides[0], from += p.from_strides[0])
                    if (from_inner > 0) even_rows<1>(to, 0, from, 0, inner);
                    else if (p.past_cache && reinterpret_cast<intptr_t>(to) % item == 0) turn_row_past_cache(to, from, inner);
                    else turn_row(to, from, inner);
                return;
            }
            if (p.from_strides[0] == item && outer >= side && inner >= side) {
                transpose(p);
                return;
            }
            if constexpr (item >= 4 && lanes >= 4)
                if (from_inner == 3 * item && inner > lanes) {
                    for (int64_t o = 0; o < outer; o++, to += p.to_strides[0], from += p.from_strides[0]) third_row(to, from, inner);
                    return;
                }
        }
        anyhow(to, p.to_strides[0], p.to_strides[1], from, p.from_strides[0], from_inner, outer, inner);
    }
};

} // namespace

void copy_bytes(void* target, const void* source, int64_t bytes) {
    using W = Vec<uint8_t, width>;
    char* to = static_cast<char*>(target);
    const char *from = static_cast<const char*>(source), *end = from + bytes;
    if (bytes < width) return copy_short(to, from, bytes);
    const W last = load<W>(end - width);
    char* last_to = to + bytes - width;
    for (; end - from >= 4 * width; from += 4 * width, to += 4 * width) {
        const W a = load<W>(from), b = load<W>(from + width), c = load<W>(from + 2 * width), d = load<W>(from + 3 * width);
        store(to, a), store(to + width, b), store(to + 2 * width, c), store(to + 3 * width, d);
    }
    for (; end - from >= width; from += width, to += width) store(to, load<W>(from));
    if (from != end) store(last_to, last);
}

void copy_past_cache(void* target, const void* source, int64_t bytes) {
    using W = Vec<uint8_t, width>;
    char* to = static_cast<char*>(target);
    const char* from = static_cast<const char*>(source);
    // Whole cache lines only: partial lines would be written one by one.
    const int64_t head = -reinterpret_cast<intptr_t>(to) & 63;
    if (bytes < 512 && (head | (bytes & 63))) return copy_short(to, from, bytes);
    copy_short(to, from, head);
    to += head, from += head, bytes -= head;
    for (; bytes >= 256; bytes -= 256, from += 256, to += 256) {
        W values[256 / width];
#pragma GCC unroll 16
        for (int i = 0; i < 256 / width; i++) values[i] = load<W>(from + i * width);
#pragma GCC unroll 16
        for (int i = 0; i < 256 / width; i++) store_past_cache(to + i * width, values[i]);
    }
    for (; bytes >= 64; bytes -= 64, from += 64, to += 64)
        for (int i = 0; i < 64; i += width) store_past_cache(to + i, load<W>(from + i));
    copy_short(to, from, bytes);
}

/// Rows of at least a vector. While one is copied, the next but one is prefetched line by line.
static void copy_lines_from_places(char* to, const char* from, const int64_t* places, int64_t n, int64_t step, int64_t bytes) {
    using V = Vec<uint8_t, width>;
    for (int64_t i = 0; i < n; i++, to += bytes) {
        const char *row = from + places[i] * step, *next = from + places[i + 2 < n ? i + 2 : n - 1] * step;
        for (int64_t at = 0; at < bytes - width; at += width) {
            if (at % 64 == 0) __builtin_prefetch(next + at);
            store(to + at, load<V>(row + at));
        }
        store(to + bytes - width, load<V>(row + bytes - width));
    }
}

void copy_from_places(char* to, const char* from, const int64_t* places, int64_t n, int64_t step, int64_t bytes) {
    if (bytes >= 512 && bytes <= 4096) return copy_lines_from_places(to, from, places, n, step, bytes);
    // The hardware cannot predict short rows. So many of them are prefetched that they fill some pages.
    const int64_t ahead = bytes >= 1024 ? 1 : 4, some = bytes < 1024 ? bytes : 1024;
    for (int64_t i = 0; i < n; i++, to += bytes) {
        if (i + ahead < n) fetch_ahead(from + places[i + ahead] * step, some);
        copy_row(to, from + places[i] * step, bytes);
    }
}

void count_up(int64_t* to, int64_t first, int64_t step, int64_t n) {
    constexpr int lanes = width / 8;
    using V = Vec<int64_t, lanes>;
    V next{};
    for (int i = 0; i < lanes; i++) next[i] = first + i * step;
    int64_t at = 0;
    for (; at + lanes <= n; at += lanes, next += lanes * step) store(to + at, next);
    // From the number, not from `next`: read lane by lane it would lie in memory during the loop, which takes ten times as long.
    for (; at < n; at++) to[at] = first + at * step;
    clear_upper_halves();
}

PlaneCopy find_plane_copy(int item) {
    switch (item) {
    case 1: return Mover<uint8_t>::copy;
    case 2: return Mover<uint16_t>::copy;
    case 4: return Mover<uint32_t>::copy;
    case 8: return Mover<uint64_t>::copy;
    default: return Mover<Sixteen>::copy;
    }
}

} // namespace kindling::KINDLING_ISA_NAMESPACE
