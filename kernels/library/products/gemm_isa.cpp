// kernels/library/products/gemm_isa.cpp: the matrix product on one thread, after Goto and van de Geijn. Blocks of b and of a are
// packed into the order in which a small register-tiled kernel reads them. Products of few rows skip the packing.
// Compiled for products.
#include "kernels/library/products/gemm_isa.h"

#include <cstring>
#include <utility>

#include "kernels/library/isa_buffer.h"
#include "kernels/library/turn.h"
#include "kernels/library/vec.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

// How many terms are summed before a tile goes back to memory: equal parts of k, at most 512. The same on every instruction
// set, since the order of the sums follows from it.
constexpr int64_t most_terms = 512;
int64_t k_block_of(int64_t k) {
    const int64_t parts = (k + most_terms - 1) / most_terms;
    return ((k + parts - 1) / parts + 15) / 16 * 16;
}

// rows of the register tile, which is two registers wide
#if defined(__AVX512F__)
template <class T> constexpr int tile_rows = 12;
#elif defined(__AVX2__)
template <class T> constexpr int tile_rows = 6;
#else
template <class T> constexpr int tile_rows = 4;
#endif

// Whether a tile prefetches beside its sums. A step of AVX-512 has 24 products and room for it; in one of AVX2, which has
// 12, the prefetches cost more than they save.
template <class T> constexpr bool prefetches_beside = tile_rows<T> == 12;

// What is done with a tile of sums.
template <class T> struct Target {
    T* out;
    int64_t out_row, out_column;
    const T* c; // null: nothing is added
    int64_t c_row, c_column;
    T alpha, beta;
    Target at(int64_t row, int64_t column) const {
        Target moved = *this;
        moved.out += row * out_row + column * out_column;
        if (c) moved.c += row * c_row + column * c_column;
        return moved;
    }
};

template <class T> inline void put(const Target<T>& target, int64_t i, int64_t j, T sum) {
    T value = target.alpha * sum;
    if (target.c) value += target.beta * target.c[i * target.c_row + j * target.c_column];
    target.out[i * target.out_row + j * target.out_column] = value;
}

// A tile of sums that is not stored directly: at an edge, transposed, or added to something scaled.
template <class T>
[[gnu::noinline, gnu::noclone]] void put_tile(const Target<T>& target, const T* sums, int64_t step, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows; ++i, sums += step) {
        T* out = target.out + i * target.out_row;
        const T *c = target.c + (target.c ? i * target.c_row : 0), alpha = target.alpha, beta = target.beta;
        if (target.out_column != 1 || (c && target.c_column > 1))
            for (int64_t j = 0; j < columns; ++j) put(target, i, j, sums[j]);
        else if (c && target.c_column == 0) { // a bias of the row
            const T added = beta * *c;
#pragma GCC ivdep
            for (int64_t j = 0; j < columns; ++j) out[j] = alpha * sums[j] + added;
        } else if (c) // which is `out`, or does not overlap it
#pragma GCC ivdep
            for (int64_t j = 0; j < columns; ++j) out[j] = alpha * sums[j] + beta * c[j];
        else
#pragma GCC ivdep
            for (int64_t j = 0; j < columns; ++j) out[j] = alpha * sums[j];
    }
}

// Rows of memory that will be read soon, prefetched a slice at a time: one slice for each tile. A row that does not begin with a line
// of the cache ends in one more, which is prefetched by its last byte: without it products of odd sizes waited at each row.
struct Ahead {
    const char* at = nullptr;
    int64_t rows = 0, row = 0, row_lines = 0; // `row`: bytes from one to the next
    // A whole slice, between tiles.
    void slice(int64_t index, int64_t slices) const {
        int64_t begin = rows * index / slices, end = rows * (index + 1) / slices;
        for (int64_t r = begin; r < end; ++r) {
            for (int64_t l = 0; l < row_lines; ++l) __builtin_prefetch(at + r * row + l * 64, 0, 2);
            __builtin_prefetch(at + r * row + row_lines * 64 - 1, 0, 2);
        }
    }
};

// Rows as wide as a panel that are prefetched while a tile is summed: row p >> shift at step p.
struct Beside {
    const char* at;
    int64_t row;
    int shift;
    // A slice of the next panel. Where there is none, `place` again and again. Where its rows lie along k, they are
    // longer than a step can prefetch: the slice is prefetched at once.
    static Beside of(const Ahead& next, const void* place, int64_t index, int64_t slices, int64_t panel_lines) {
        if (!next.at || next.row_lines != panel_lines) {
            next.slice(index, slices);
            return {static_cast<const char*>(place), 0, 0};
        }
        return {next.at + next.rows * index / slices * next.row, next.row, 63 - __builtin_clzll(static_cast<uint64_t>(slices))};
    }
    template <int Lines, int Write> [[gnu::always_inline]] void fetch(int64_t p) const {
        const char* from = at + (p >> shift) * row;
#pragma GCC unroll 2
        for (int l = 0; l < Lines; ++l) __builtin_prefetch(from + l * 64, Write, Write ? 3 : 2);
        __builtin_prefetch(from + Lines * 64 - 1, Write, Write ? 3 : 2);
    }
};

// Whether a register can be loaded and stored in part. Then a tile that has fewer columns reads b where it is, is as narrow as one
// register if that is enough, and is stored directly.
#if defined(__AVX512F__)
constexpr bool has_masks = true;
#else
constexpr bool has_masks = false;
#endif
/// As many lanes of a register as there are columns.
template <class T> struct Lanes {
    uint32_t mask;
    explicit Lanes(int64_t columns) : mask(first_lanes<T>(columns)) {}
    Vec<T> load(const T* from) const {
        if constexpr (has_masks) return Vec<T>::load(from, mask);
        else return Vec<T>::load(from);
    }
    void store(Vec<T> x, T* to) const {
        if constexpr (has_masks) x.store(to, mask);
        else x.store(to);
    }
};

// R rows of a times C registers of columns of b. Row i of a starts at a + i * a_row; b's rows are b_row apart.
// If `Prefetch`, rows of `out` and of the next panel are prefetched beside the sums, in turns, one row a step: all at once
// they would take the line buffers that loads of a and b need. If `Pack`, b's rows are copied to `packed` on the way. If `Part`, b has
// no more columns than the tile.
template <class T, int R, int C, bool Part, bool Prefetch = false, bool Pack = false>
[[gnu::always_inline]] inline void tile(int64_t k, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row,
                                        const Target<T>& target, int64_t columns, Beside next = {}, T* packed = nullptr) {
    using V = Vec<T>;
    constexpr int W = V::width;
    const Lanes<T> left(columns), right(columns - W);
    V low[R], high[R];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) low[i] = high[i] = V::zero();
    const auto step = [&]() __attribute__((always_inline)) {
        V b0 = Part ? left.load(b) : V::load(b), b1 = C == 1 ? V::zero() : Part ? right.load(b + W) : V::load(b + W);
        if constexpr (Pack) {
            b0.store(packed);
            b1.store(packed + W);
            packed += 2 * W;
        }
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
            V factor = V::all(a[i * a_row]);
            low[i].add_product(factor, b0);
            if (C == 2) high[i].add_product(factor, b1);
        }
        a += a_column;
        b += b_row;
    };
    int64_t p = 0;
    if constexpr (Prefetch) {
        constexpr int lines = 2 * W * static_cast<int>(sizeof(T)) / 64;
        const int shift = k < 32 ? 0 : 63 - __builtin_clzll(static_cast<uint64_t>(k)) - 4; // 16 to 31 rows in k steps, from 32 steps on
        const Beside out{reinterpret_cast<const char*>(target.out), target.out_row * static_cast<int64_t>(sizeof(T)), shift};
        for (; p + 1 < k; p += 2) {
            out.fetch<lines, 1>(p);
            step();
            next.fetch<lines, 0>(p);
            step();
        }
        if (p < k) step();
    } else {
        do step();
        while (++p < k);
    }
    if ((has_masks || columns == 2 * W) && target.out_column == 1 && (!target.c || (target.c_column == 1 && target.beta == 1))) {
        const V alpha = V::all(target.alpha);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) low[i] = low[i] * alpha, high[i] = high[i] * alpha; // costs less than to ask whether it is 1
        if (const T* c = target.c) {
            const V one = V::all(1); // times one: the sum, rounded once
#pragma GCC unroll 16
            for (int i = 0; i < R; ++i, c += target.c_row) {
                V added = left.load(c);
                added.add_product(low[i], one);
                low[i] = added;
                if (C == 1) continue;
                added = right.load(c + W);
                added.add_product(high[i], one);
                high[i] = added;
            }
        }
        T* out = target.out;
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i, out += target.out_row) {
            left.store(low[i], out);
            if (C == 2) right.store(high[i], out + W);
        }
        return;
    }
    T sums[R][2 * W];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
        low[i].store(sums[i]);
        if (C == 2) high[i].store(sums[i] + W);
    }
    put_tile(target, sums[0], 2 * W, R, columns);
}

// The whole tile with a known layout of a and b, so that addresses are cheap.
template <class T>
[[gnu::noinline]] void tile_packed(int64_t k, const T* a, const T* b, const Target<T>& target, int64_t columns, Beside next) {
    tile<T, tile_rows<T>, 2, false, prefetches_beside<T>>(k, a, 1, tile_rows<T>, b, 2 * Vec<T>::width, target, columns, next);
}
// The first of a panel: b lies where it is and is packed on the way, for the tiles that follow.
template <class T>
[[gnu::noinline]] void tile_packing(int64_t k, const T* a, const T* b, int64_t b_row, const Target<T>& target, Beside next, T* packed) {
    tile<T, tile_rows<T>, 2, false, prefetches_beside<T>, true>(k, a, 1, tile_rows<T>, b, b_row, target, 2 * Vec<T>::width, next, packed);
}
template <class T, int R, int C>
[[gnu::noinline]] void tile_plain(int64_t k, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row,
                                  const Target<T>& target, int64_t columns) {
    tile<T, R, C, has_masks>(k, a, a_row, a_column, b, b_row, target, columns);
}

template <class T>
using PlainTile = void (*)(int64_t k, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row, const Target<T>& target,
                           int64_t columns);
template <class T, int C, int... R> PlainTile<T> plain_tile_of(std::integer_sequence<int, R...>, int rows) {
    static constexpr PlainTile<T> tiles[] = {tile_plain<T, R + 1, C>...};
    return tiles[rows - 1];
}
template <class T> PlainTile<T> plain_tile(int64_t rows, int64_t columns) {
    using Rows = std::make_integer_sequence<int, tile_rows<T>>;
    const bool narrow = has_masks && columns <= Vec<T>::width;
    return narrow ? plain_tile_of<T, 1>(Rows{}, static_cast<int>(rows)) : plain_tile_of<T, 2>(Rows{}, static_cast<int>(rows));
}

// Packs columns [0, n) of k rows of b in panels of two registers, each panel's rows consecutive; padded with zeros.
template <class T> [[gnu::noinline, gnu::noclone]] void pack_b(T* to, const T* b, int64_t b_row, int64_t b_column, int64_t k, int64_t n) {
    constexpr int64_t N = 2 * Vec<T>::width;
    for (int64_t j = 0; j < n; j += N, to += N * k) {
        int64_t columns = n - j < N ? n - j : N;
        const T* from = b + j * b_column;
        if (columns < N) memset(static_cast<void*>(to), 0, sizeof(T) * static_cast<size_t>(N * k));
        if (b_column == 1) {
            if (columns == N)
                for (int64_t p = 0; p < k; ++p) memcpy(to + p * N, from + p * b_row, sizeof(T) * N);
            else
                for (int64_t p = 0; p < k; ++p)
                    for (int64_t c = 0; c < columns; ++c) to[p * N + c] = from[p * b_row + c];
        } else if (b_row == 1) {
            turn(to, N, from, b_column, columns, k);
        } else {
            // In small squares, so that neither side's cache lines are read or written many times.
            for (int64_t p0 = 0; p0 < k; p0 += 16) {
                int64_t p1 = p0 + 16 < k ? p0 + 16 : k;
                for (int64_t c = 0; c < columns; ++c) {
                    const T* column = from + c * b_column;
                    for (int64_t p = p0; p < p1; ++p) to[p * N + c] = column[p * b_row];
                }
            }
        }
    }
}

// Rows of the tile that begins at row i of m. The last two are of equal height, but for the first: one of few rows would
// wait for b.
template <class T> int64_t rows_from(int64_t i, int64_t m) {
    constexpr int64_t M = tile_rows<T>;
    const int64_t left = m - i;
    return left <= M ? left : i == 0 || left >= 2 * M ? M : (left + 1) / 2;
}

// The same for the rows of a: a panel for each tile, its rows side by side for each k.
template <class T> [[gnu::noinline, gnu::noclone]] void pack_a(T* to, const T* a, int64_t a_row, int64_t a_column, int64_t m, int64_t k) {
    constexpr int64_t M = tile_rows<T>;
    for (int64_t i = 0, rows; i < m; i += rows, to += M * k) {
        rows = rows_from<T>(i, m);
        const T* from = a + i * a_row;
        if (a_row == 1 && rows == M) {
            for (int64_t p = 0; p < k; ++p) memcpy(to + p * M, from + p * a_column, sizeof(T) * M);
        } else if (a_row == 1) {
            for (int64_t p = 0; p < k; ++p)
                for (int64_t r = 0; r < rows; ++r) to[p * M + r] = from[p * a_column + r];
        } else if (a_column == 1) {
            turn(to, M, from, a_row, rows, k);
        } else {
            for (int64_t p0 = 0; p0 < k; p0 += 16) {
                int64_t p1 = p0 + 16 < k ? p0 + 16 : k;
                for (int64_t r = 0; r < rows; ++r) {
                    const T* row = from + r * a_row;
                    for (int64_t p = p0; p < p1; ++p) to[p * M + r] = row[p * a_column];
                }
            }
        }
    }
}

// Sixteen lanes as four sums: the first halving of `fold`, in registers.
inline __m128 quarter(const Vec<float>* sums) {
#if defined(__AVX512F__)
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(sums->v), _mm512_extractf32x8_ps(sums->v, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
#elif defined(__AVX2__)
    const __m256 half = _mm256_add_ps(sums[0].v, sums[1].v);
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
#else
    return _mm_add_ps(_mm_add_ps(sums[0].v, sums[2].v), _mm_add_ps(sums[1].v, sums[3].v));
#endif
}

// Rows, b's columns contiguous along k (a weight kept as [out, in]): dot products of R rows and four columns at once, in 16
// interleaved partial sums whatever the register width. Nothing is packed, which would cost more than the sums of few rows.
template <class T, int R> [[gnu::noinline]] void dots(const GemmPart<T>& part, int64_t row, int64_t column, const Target<T>& target) {
    constexpr int lanes = 16, C = 4;
    using V = Vec<T>;
    constexpr int parts = lanes / V::width;
    const int64_t whole = part.k & ~int64_t{lanes - 1}, rest = part.k - whole;
    const T *a = part.a + row * part.a_row, *b[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) b[c] = part.b + (column + c < part.n ? column + c : part.n - 1) * part.b_column;
    V sums[R][C][parts];
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c)
#pragma GCC unroll 8
            for (int v = 0; v < parts; ++v) sums[r][c][v] = V::zero();
    const auto add = [&](int64_t p, auto load) __attribute__((always_inline)) {
#pragma GCC unroll 8
        for (int v = 0; v < parts; ++v) {
            V factors[R];
#pragma GCC unroll 2
            for (int r = 0; r < R; ++r) factors[r] = load(a + r * part.a_row + p, v);
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) {
                const V other = load(b[c] + p, v);
#pragma GCC unroll 2
                for (int r = 0; r < R; ++r) sums[r][c][v].add_product(factors[r], other);
            }
        }
    };
    for (int64_t p = 0; p < whole; p += lanes)
        add(p, [](const T* from, int v) __attribute__((always_inline)) { return V::load(from + v * V::width); });
    if (rest)
        add(whole,
            [&](const T* from, int v) __attribute__((always_inline)) { return load_first(from + v * V::width, rest - v * V::width); });
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) { // lanes are halved until one is left
        alignas(64) T partial[C][lanes], totals[C];
        if constexpr (sizeof(T) == 4) {
            __m128 q[C];
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) q[c] = quarter(sums[r][c]);
            _MM_TRANSPOSE4_PS(q[0], q[1], q[2], q[3]);
            _mm_store_ps(totals, _mm_add_ps(_mm_add_ps(q[0], q[2]), _mm_add_ps(q[1], q[3])));
        } else {
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c)
#pragma GCC unroll 8
                for (int v = 0; v < parts; ++v) sums[r][c][v].store(partial[c] + v * V::width);
            fold(partial, totals);
        }
        const int64_t there = part.n - column < C ? part.n - column : C;
        for (int c = 0; c < there; ++c) put(target, row + r, column + c, totals[c]);
    }
}
// One number after the other where there are few: the order of small matrices in batches (tiny_isa.cpp).
template <class T> void short_dots(const GemmPart<T>& part, const Target<T>& target) {
    for (int64_t j = 0; j < part.n; ++j)
        for (int64_t i = 0; i < part.m; ++i) {
            One<T> total{0};
            for (int64_t p = 0; p < part.k; ++p) total.add_product({part.a[i * part.a_row + p]}, {part.b[j * part.b_column + p]});
            put(target, i, j, total.v);
        }
}
template <class T> void dots(const GemmPart<T>& part, const Target<T>& target) {
    if (part.k < 16) return short_dots(part, target);
    constexpr int R = Vec<T>::width == 16 ? 2 : 1; // as many as there are registers for
    for (int64_t column = 0; column < part.n; column += 4) {
        int64_t row = 0;
        for (; row + R <= part.m; row += R) dots<T, R>(part, row, column, target);
        if (row < part.m) dots<T, 1>(part, row, column, target);
    }
}

// sums[j] += a's P numbers times P rows of b, one after the other; whole registers.
template <class T, int P> [[gnu::noinline]] void add_rows(const T* a, int64_t a_column, const T* b, int64_t b_row, T* sums, int64_t n) {
    using V = Vec<T>;
    V factors[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) factors[p] = V::all(a[p * a_column]);
    for (int64_t j = 0; j < n; j += V::width) {
        V sum = V::load(sums + j);
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p) sum.add_product(factors[p], V::load(b + p * b_row + j));
        sum.store(sums + j);
    }
}

// Few rows read every number of a large b once or a few times, so memory decides: b is read along its rows, eight of
// them side by side, and the sums of a stretch of columns stay in the first cache. Each sum has the order of a tile's.
template <class T> void few_rows(const GemmPart<T>& part, const Target<T>& target) {
    constexpr int64_t stretch = 2048, at_once = 8, W = Vec<T>::width;
    const int64_t room = part.n < stretch ? (part.n + W - 1) / W * W : stretch, k_block = k_block_of(part.k);
    Buffer<T> sums(part.m * room), rest(at_once * W);
    for (int64_t j0 = 0; j0 < part.n; j0 += stretch) {
        const int64_t n = part.n - j0 < stretch ? part.n - j0 : stretch, whole = n / W * W;
        for (int64_t p0 = 0; p0 < part.k; p0 += k_block) {
            const int64_t k = part.k - p0 < k_block ? part.k - p0 : k_block;
            memset(static_cast<void*>(sums.data), 0, sizeof(T) * static_cast<size_t>(part.m * room));
            for (int64_t p = 0, count; p < k; p += count) {
                count = k - p < at_once ? 1 : at_once;
                const T* b = part.b + (p0 + p) * part.b_row + j0;
                if (whole < n) {
                    memset(static_cast<void*>(rest.data), 0, sizeof(T) * at_once * W);
                    for (int64_t row = 0; row < count; ++row)
                        memcpy(rest.data + row * W, b + row * part.b_row + whole, sizeof(T) * static_cast<size_t>(n - whole));
                }
                for (int64_t i = 0; i < part.m; ++i) {
                    const T* a = part.a + i * part.a_row + (p0 + p) * part.a_column;
                    const auto add = count == 1 ? add_rows<T, 1> : add_rows<T, at_once>;
                    add(a, part.a_column, b, part.b_row, sums.data + i * room, whole);
                    if (whole < n) add(a, part.a_column, rest.data, W, sums.data + i * room + whole, W);
                }
            }
            Target<T> block = target.at(0, j0);
            if (p0 > 0) block.c = block.out, block.c_row = block.out_row, block.c_column = block.out_column, block.beta = 1;
            put_tile(block, sums.data, room, part.m, n);
        }
    }
}

template <class T> void run(const GemmPart<T>& part) {
    constexpr int64_t M = tile_rows<T>, N = 2 * Vec<T>::width, item = sizeof(T);
    Target<T> target{part.out, part.out_row, part.out_column, part.c, part.c_row, part.c_column, part.alpha, part.beta};
    if (part.k == 0) {
        for (int64_t i = 0; i < part.m; ++i)
            for (int64_t j = 0; j < part.n; ++j) put(target, i, j, T{0});
        return;
    }
    if (part.may_dot && !part.b_panel && part.b_row == 1 && part.a_column == 1) return dots(part, target);
    if (part.m <= (prefetches_beside<T> ? 1 : 4) && !part.b_panel && part.b_column == 1 && part.n >= 4 * N &&
        part.k * part.n * item >= 128 << 10)
        return few_rows(part, target);

    // A block of a stays in the second cache. If it is all of a, each panel of b is packed into the same place and used
    // up. Otherwise a block of panels is kept for the following blocks of a.
    constexpr int64_t m_block = 16 * M * 4 / item;
    const int64_t k_block = k_block_of(part.k);
    const bool once = part.m <= m_block;
    // b's rows are read in place where that costs nothing: few rows of a, or a b small enough to stay in cache.
    const bool plain_b = part.b_panel || (part.b_column == 1 && (part.m < M || (part.k * part.n <= 4096 && (has_masks || part.n >= N))));
    const bool plain_a = part.n <= 2 * N || (part.m * part.k <= 4096 && part.m * part.n <= 8192);
    const int64_t n_block = once || plain_b || part.n < 2048 ? part.n : 2048;
    const bool one_panel = once || plain_b;
    Buffer<T> packed_b(part.b_panel || (plain_b && (has_masks || part.n % N == 0)) ? 0
                                                                                   : (one_panel ? N : (n_block + N - 1) / N * N) * k_block);
    Buffer<T> packed_a(plain_a ? 0 : (once ? (part.m + M - 1) / M * M : m_block) * k_block);
    // What does not stay in the second cache from one use to the next is prefetched.
    constexpr int64_t far = (512 << 10) / item;
    const bool far_b = part.k * part.n > far, far_out = part.m * part.n > far && part.out_column == 1;

    for (int64_t j0 = 0; j0 < part.n; j0 += n_block) {
        int64_t n = part.n - j0 < n_block ? part.n - j0 : n_block;
        for (int64_t p0 = 0; p0 < part.k; p0 += k_block) {
            int64_t k = part.k - p0 < k_block ? part.k - p0 : k_block;
            Target<T> block = target.at(0, j0);
            if (p0 > 0) { // later blocks of k accumulate
                block.c = block.out;
                block.c_row = block.out_row;
                block.c_column = block.out_column;
                block.beta = 1;
            }
            const T* b = part.b + p0 * part.b_row + j0 * part.b_column;
            for (int64_t i0 = 0; i0 < part.m; i0 += m_block) {
                int64_t m = part.m - i0 < m_block ? part.m - i0 : m_block, tiles = (m + M - 1) / M;
                // Rows that are not packed make tiles of equal height.
                const int64_t high = (m + tiles - 1) / tiles;
                const T* a = part.a + i0 * part.a_row + p0 * part.a_column;
                if (!plain_a) pack_a(packed_a.data, a, part.a_row, part.a_column, m, k);
                for (int64_t j = 0; j < n; j += N) {
                    int64_t columns = n - j < N ? n - j : N;
                    const bool in_place = plain_b && (has_masks || columns == N || part.b_panel);
                    T* packed = packed_b.data + (one_panel ? 0 : j * k);
                    // Packed by the first tile, if it can.
                    const bool packing = i0 == 0 && !in_place && !plain_a && part.b_column == 1 && columns == N && m >= M;
                    if (i0 == 0 && !in_place && !packing) pack_b(packed, b + j * part.b_column, part.b_row, part.b_column, k, columns);
                    const T* panel = part.b_panel ? b + j / N * part.b_panel : in_place ? b + j : packed;
                    int64_t b_row = in_place ? part.b_row : N;
                    Ahead next;
                    if (far_b && n - j >= 2 * N && part.b_panel) {
                        next = {reinterpret_cast<const char*>(panel + part.b_panel), k, N * item, N * item / 64};
                    } else if (far_b && n - j >= 2 * N && !plain_b) {
                        auto* from = reinterpret_cast<const char*>(b + (j + N) * part.b_column);
                        if (i0 > 0) next = {reinterpret_cast<const char*>(packed + N * k), k, N * item, N * item / 64};
                        else if (part.b_column == 1) next = {from, k, part.b_row * item, N * item / 64};
                        else if (part.b_row == 1) next = {from, N, part.b_column * item, k * item / 64};
                    }
                    for (int64_t i = 0, index = 0, rows; i < m; i += rows, ++index) {
                        rows = plain_a ? (m - i < high ? m - i : high) : rows_from<T>(i, m);
                        Target<T> place = block.at(i0 + i, j);
                        const T* packed_rows = packed_a.data + index * M * k;
                        const bool whole = !plain_a && b_row == N && rows == M && (!has_masks || columns > N / 2),
                                   first = packing && index == 0;
                        Beside beside{};
                        if (prefetches_beside<T> && whole) {
                            beside = Beside::of(next, packed_rows, index, tiles, N * item / 64);
                        } else {
                            next.slice(index, tiles);
                            if (far_out)
                                for (int64_t r = 0; r < rows; ++r) {
                                    const char* row = reinterpret_cast<char*>(place.out + r * place.out_row);
                                    for (int64_t l = 0; l < N * item; l += 64) __builtin_prefetch(row + l, 1);
                                    __builtin_prefetch(row + N * item - 1, 1);
                                }
                        }
                        if (first) tile_packing<T>(k, packed_rows, b + j, part.b_row, place, beside, packed);
                        else if (whole) tile_packed<T>(k, packed_rows, panel, place, columns, beside);
                        else
                            plain_tile<T>(rows, columns)(k, plain_a ? a + i * part.a_row : packed_rows, plain_a ? part.a_row : 1,
                                                         plain_a ? part.a_column : M, panel, b_row, place, columns);
                    }
                }
            }
        }
    }
}

/// Matrices so small that nothing is packed but a b by columns. `room` is for that.
template <class T> [[gnu::noinline, gnu::noclone]] void run_small(const GemmPart<T>& part, T* room) {
    constexpr int64_t M = tile_rows<T>, N = 2 * Vec<T>::width;
    const Target<T> target{part.out, part.out_row, part.out_column, part.c, part.c_row, part.c_column, part.alpha, part.beta};
    const int64_t tiles = (part.m + M - 1) / M, high = (part.m + tiles - 1) / tiles;
    if (room) pack_b(room, part.b, part.b_row, part.b_column, part.k, part.n);
    for (int64_t j = 0; j < part.n; j += N) {
        const int64_t columns = part.n - j < N ? part.n - j : N;
        const T* b = room ? room + j * part.k : part.b + j;
        for (int64_t i = 0, rows; i < part.m; i += rows) {
            rows = part.m - i < high ? part.m - i : high;
            plain_tile<T>(rows, columns)(part.k, part.a + i * part.a_row, part.a_row, part.a_column, b, room ? N : part.b_row,
                                         target.at(i, j), columns);
        }
    }
}

template <class T> void run_all(const GemmPart<T>& first, const GemmBatch& batch) {
    if (batch.count == 1) return run(first);
    GemmPart<T> part = first;
    constexpr int64_t N = 2 * Vec<T>::width;
    constexpr bool pays = tile_rows<T> > 4; // the baseline stays small
    const bool dotted = part.k >= 16 && part.may_dot && part.b_row == 1 && part.a_column == 1;
    const bool small = pays && !part.b_panel && !dotted && part.k > 0 && part.k <= most_terms && part.k * part.n <= 4096 &&
                       (part.n <= 2 * N || (part.m * part.k <= 4096 && part.m * part.n <= 8192));
    const bool packs = small && (part.b_column != 1 || !(has_masks || part.n % N == 0));
    Buffer<T> room(packs ? (part.n + N - 1) / N * N * part.k : 0);
    for (int64_t i = 0; i < batch.count; ++i) {
        if (small) run_small(part, packs ? room.data : nullptr);
        else run(part);
        part.a += batch.a;
        part.b += batch.b;
        part.out += batch.out;
        if (part.c) part.c += batch.c;
    }
}

template <class T> void pack(void* to, const void* b, int64_t b_row, int64_t b_column, int64_t k, int64_t n) {
    pack_b(static_cast<T*>(to), static_cast<const T*>(b), b_row, b_column, k, n);
}
template <class T> void turn_all(void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t rows, int64_t count) {
    turn(static_cast<T*>(to), to_stride, static_cast<const T*>(from), from_stride, rows, count);
}
void gemm_float(const GemmPart<float>& part, const GemmBatch& batch) { run_all(part, batch); }
void gemm_double(const GemmPart<double>& part, const GemmBatch& batch) { run_all(part, batch); }

} // namespace

extern constexpr GemmSteps gemm_steps = {
    gemm_float, gemm_double, 2 * sizeof(Vec<float>), {pack<float>, pack<double>}, {turn_all<float>, turn_all<double>}};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
