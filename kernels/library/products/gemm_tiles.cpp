// kernels/library/products/gemm_tiles.cpp: products of bfloat16 and int8 by AMX. A tile is 16 rows of 64 bytes; one instruction
// adds the product of two tiles to a third. A row of the left one is 32 bfloat16 (64 int8) along k. A row of the right
// one has 16 columns with 2 (4) neighbours along k side by side. So everything here moves groups of 32 bits. Blocked
// after Goto: panels of b, 32 columns wide, are packed in the second cache, 32 rows of a in the first; four tiles of
// sums run over them.
//
// Compiled for processors that have AMX; not to be called on others.
#include "kernels/library/products/gemm_tiles.h"

#include "kernels/intrinsics.h"
#include "kernels/library/amx.h"
#include "kernels/library/isa_buffer.h"

namespace kindling::library {
namespace {

constexpr int64_t tile_bytes = side * line;
constexpr int64_t wide = 2 * side;     // rows and columns of a block of four tiles
constexpr int64_t k_block = 1024;      // bytes along k: 32 rows of a stay in the first cache, panels of b are loaded past it
constexpr int64_t depth = 4 * k_block; // bytes along k that are packed at once
constexpr int64_t b_room = 1 << 20;    // bytes of packed b, half the second cache of all processors that have AMX

int64_t up(int64_t a, int64_t to) { return (a + to - 1) / to * to; }
__mmask64 ones(int64_t count) { return count >= 64 ? ~__mmask64{0} : count <= 0 ? 0 : (__mmask64{1} << count) - 1; }

struct Operand {
    const char* at;
    int64_t line, step; // bytes from one row (of a) or column (of b) to the next, and from one element along k to the next
    int64_t item;
    Operand moved(int64_t lines, int64_t bytes) const { return {at + lines * line + bytes / item * step, line, step, item}; }
};

// Transposes sixteen rows of sixteen groups. Row r is at from + r * step. Of the first `rows`, so many bytes are read.
[[gnu::noinline]] void turn_tile(char* to, const char* from, int64_t step, int64_t rows, int64_t bytes) {
    __m512i x[16], y[16];
    const __mmask64 mask = ones(bytes);
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) x[r] = _mm512_maskz_loadu_epi8(r < rows ? mask : 0, from + r * step);
#pragma GCC unroll 8
    for (int r = 0; r < 16; r += 2) {
        y[r] = _mm512_unpacklo_epi32(x[r], x[r + 1]);
        y[r + 1] = _mm512_unpackhi_epi32(x[r], x[r + 1]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < 16; r += 4) { // four by four in each quarter of a register
        x[r] = _mm512_unpacklo_epi64(y[r], y[r + 2]);
        x[r + 1] = _mm512_unpackhi_epi64(y[r], y[r + 2]);
        x[r + 2] = _mm512_unpacklo_epi64(y[r + 1], y[r + 3]);
        x[r + 3] = _mm512_unpackhi_epi64(y[r + 1], y[r + 3]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) { // then the quarters among themselves
        const __m512i a = _mm512_shuffle_i32x4(x[r], x[r + 4], 0x88), b = _mm512_shuffle_i32x4(x[r], x[r + 4], 0xDD);
        const __m512i c = _mm512_shuffle_i32x4(x[r + 8], x[r + 12], 0x88), d = _mm512_shuffle_i32x4(x[r + 8], x[r + 12], 0xDD);
        _mm512_storeu_si512(to + r * line, _mm512_shuffle_i32x4(a, c, 0x88));
        _mm512_storeu_si512(to + (r + 4) * line, _mm512_shuffle_i32x4(b, d, 0x88));
        _mm512_storeu_si512(to + (r + 8) * line, _mm512_shuffle_i32x4(a, c, 0xDD));
        _mm512_storeu_si512(to + (r + 12) * line, _mm512_shuffle_i32x4(b, d, 0xDD));
    }
}

// Interleaves neighbours along k, for up to 32 contiguous lines: two tiles. `bytes` along k are read.
void interleave(char* to, const Operand& from, int64_t lines, int64_t bytes) {
    alignas(64) static constexpr uint8_t pairs[64] = {
        0,  1,  64, 65, 2,  3,  66, 67, 4,  5,  68, 69, 6,  7,  70, 71, 8,  9,  72, 73, 10, 11, 74, 75, 12, 13, 76, 77, 14, 15, 78, 79,
        16, 17, 80, 81, 18, 19, 82, 83, 20, 21, 84, 85, 22, 23, 86, 87, 24, 25, 88, 89, 26, 27, 90, 91, 28, 29, 92, 93, 30, 31, 94, 95};
    alignas(64) static constexpr uint8_t fours[64] = {0,  32, 64, 96,  1,  33, 65, 97,  2,  34, 66, 98,  3,  35, 67, 99,
                                                      4,  36, 68, 100, 5,  37, 69, 101, 6,  38, 70, 102, 7,  39, 71, 103,
                                                      8,  40, 72, 104, 9,  41, 73, 105, 10, 42, 74, 106, 11, 43, 75, 107,
                                                      12, 44, 76, 108, 13, 45, 77, 109, 14, 46, 78, 110, 15, 47, 79, 111};
    const bool two = from.item == 2;
    const __m512i low = _mm512_load_si512(two ? pairs : fours), high = _mm512_add_epi8(low, _mm512_set1_epi8(two ? 32 : 16));
    const __mmask64 all = ones(lines * from.item);
    const char* at = from.at;
    for (int64_t p = 0; p < side; ++p, to += line, at += from.step * (4 / from.item)) {
        const int64_t there = bytes - 4 * p;
        auto row = [&](int64_t index) { return _mm512_maskz_loadu_epi8(there > index * from.item ? all : 0, at + index * from.step); };
        __m512i x = row(0), y = row(1);
        if (!two) {
            x = _mm512_inserti64x4(x, _mm512_castsi512_si256(y), 1);
            y = _mm512_inserti64x4(row(2), _mm512_castsi512_si256(row(3)), 1);
        }
        _mm512_store_si512(to, _mm512_permutex2var_epi8(x, low, y));
        _mm512_store_si512(to + tile_bytes, _mm512_permutex2var_epi8(x, high, y));
    }
}

// Any steps: packs one tile of the left kind, rows along k.
void gather_tile(char* to, const Operand& from, int64_t lines, int64_t bytes) {
    for (int64_t r = 0; r < side; ++r)
        for (int64_t i = 0; i < line; i += from.item) {
            const char* at = from.at + r * from.line + i / from.item * from.step;
            for (int64_t byte = 0; byte < from.item; ++byte) to[r * line + i + byte] = r < lines && i < bytes ? at[byte] : 0;
        }
}

// Packs two tiles of the right kind for each 64 bytes along k: up to 32 columns.
void pack_panel(char* to, const Operand& b, int64_t columns, int64_t bytes) {
    if (b.line == b.item) {
        for (int64_t p = 0; p < bytes; p += line) interleave(to + p * wide, b.moved(0, p), columns, bytes - p);
        return;
    }
    alignas(64) char rows[tile_bytes];
    for (int64_t half = 0; half < wide; half += side) // few lines at once, each as it is stored
        for (int64_t p = 0; p < bytes; p += line) {
            const Operand from = b.moved(half, p);
            char* tile = to + p * wide + half * line;
            if (b.step == b.item) {
                turn_tile(tile, from.at, from.line, columns - half, bytes - p);
            } else {
                gather_tile(rows, from, columns - half, bytes - p);
                turn_tile(tile, rows, line, side, line);
            }
        }
}

// Packs two tiles of the left kind for each 64 bytes along k: up to 32 rows.
void pack_rows(char* to, const Operand& a, int64_t rows, int64_t bytes) {
    if (a.step == a.item) {
        for (int64_t r = 0; r < up(rows, side); ++r)
            for (int64_t p = 0; p < bytes; p += line)
                _mm512_store_si512(to + (p / line * wide + r) * line,
                                   _mm512_maskz_loadu_epi8(r < rows ? ones(bytes - p) : 0, a.at + r * a.line + p));
        return;
    }
    for (int64_t p = 0; p < bytes; p += line, to += 2 * tile_bytes) {
        const Operand from = a.moved(0, p);
        if (a.line == a.item) {
            alignas(64) char columns[2 * tile_bytes];
            interleave(columns, from, rows, bytes - p);
            turn_tile(to, columns, line, side, line);
            turn_tile(to + tile_bytes, columns + tile_bytes, line, side, line);
        } else {
            gather_tile(to, from, rows, bytes - p);
            gather_tile(to + tile_bytes, from.moved(side, 0), rows - side, bytes - p);
        }
    }
}

// A block of sums: 32 rows and columns, or 16 if no more are needed. The last sums of whole blocks go where the result is.
struct Block {
    bool bytes, tall, broad, add;
    char* to;
    int64_t to_row; // bytes
};

// `a` holds tiles, with the steps from one row to the next and from one tile along k to the next; the lower ones are at
// `a_low`. Panels of b are loaded past the first cache, as far as that can be asked for.
[[gnu::noinline]] void multiply(const Block& what, int64_t steps, const char* a, const char* a_low, int64_t a_row, int64_t a_step,
                                const char* b, float* sums) {
    constexpr int64_t row = 2 * wide * sizeof(float);
    const bool bytes = what.bytes, tall = what.tall, broad = what.broad;
    if (what.add) {
        _tile_loadd(0, sums, row);
        _tile_loadd(1, sums + side, row);
        _tile_loadd(2, sums + side * 2 * wide, row);
        _tile_loadd(3, sums + side * 2 * wide + side, row);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    if (tall && broad && !bytes) {
        for (; steps > 0; --steps, a += a_step, a_low += a_step, b += 2 * tile_bytes) {
            _tile_loadd(4, a, a_row);
            _tile_stream_loadd(6, b, line);
            _tile_dpbf16ps(0, 4, 6);
            _tile_stream_loadd(7, b + tile_bytes, line);
            _tile_dpbf16ps(1, 4, 7);
            _tile_loadd(5, a_low, a_row);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
    for (; steps > 0; --steps, a += a_step, a_low += a_step, b += 2 * tile_bytes) {
        _tile_loadd(4, a, a_row);
        _tile_stream_loadd(6, b, line);
        if (broad) _tile_stream_loadd(7, b + tile_bytes, line);
        if (tall) _tile_loadd(5, a_low, a_row);
        if (bytes) {
            _tile_dpbssd(0, 4, 6);
            if (broad) _tile_dpbssd(1, 4, 7);
            if (tall) _tile_dpbssd(2, 5, 6);
            if (tall && broad) _tile_dpbssd(3, 5, 7);
        } else {
            _tile_dpbf16ps(0, 4, 6);
            if (broad) _tile_dpbf16ps(1, 4, 7);
            if (tall) _tile_dpbf16ps(2, 5, 6);
        }
    }
    char *to = what.to ? what.to : reinterpret_cast<char*>(sums), *low = to + side * (what.to ? what.to_row : row);
    const int64_t to_row = what.to ? what.to_row : row;
    _tile_stored(0, to, to_row);
    if (broad) _tile_stored(1, to + line, to_row);
    if (!tall) return;
    _tile_stored(2, low, to_row);
    if (broad) _tile_stored(3, low + line, to_row);
}

// Converts sums to elements of out: up to 64 columns.
[[gnu::noinline]] void put(const TilesPart& part, const float* sums, int64_t i, int64_t j, int64_t rows, int64_t columns) {
    const int64_t item = part.kind == TilesPart::BFloat16 ? 2 : 4;
    char* to = static_cast<char*>(part.out) + (i * part.out_row + j) * item;
    const char* c = part.c ? static_cast<const char*>(part.c) + (i * part.c_row + j * part.c_column) * item : nullptr;
    const bool scaled = c || part.alpha != 1;
    const __mmask64 all = ones(columns);
    if (part.kind == TilesPart::BFloat16 && !scaled) {
        const auto low = static_cast<__mmask32>(all), high = static_cast<__mmask32>(all >> 32);
        for (int64_t r = 0; r < rows; ++r, sums += 2 * wide, to += part.out_row * item) {
            _mm512_mask_storeu_epi16(to, low,
                                     reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_load_ps(sums + side), _mm512_load_ps(sums))));
            if (high)
                _mm512_mask_storeu_epi16(
                    to + line, high,
                    reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_load_ps(sums + 3 * side), _mm512_load_ps(sums + 2 * side))));
        }
        return;
    }
    const __m512 alpha = _mm512_set1_ps(part.alpha), beta = _mm512_set1_ps(part.beta);
    const __m512i places = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                              _mm512_set1_epi32(static_cast<int>(part.c_column)));
    for (int64_t r = 0; r < rows; ++r, sums += 2 * wide, to += part.out_row * item) {
        for (int64_t h = 0; h < columns; h += side) {
            const auto mask = static_cast<__mmask16>(all >> h);
            __m512 x = _mm512_load_ps(sums + h);
            if (scaled) x = _mm512_mul_ps(x, alpha);
            if (c) {
                const char* from = c + h * part.c_column * item;
                __m512 added;
                if (part.kind != TilesPart::BFloat16) {
                    added = part.c_column == 1 ? _mm512_maskz_loadu_ps(mask, from) : _mm512_mask_i32gather_ps(alpha, mask, places, from, 4);
                } else {
                    alignas(32) uint16_t some[side];
                    if (part.c_column != 1)
                        for (int64_t n = 0; n < side; ++n)
                            some[n] = mask >> n & 1 ? reinterpret_cast<const uint16_t*>(from)[n * part.c_column] : uint16_t{0};
                    const __m256i bits = part.c_column == 1 ? _mm256_maskz_loadu_epi16(mask, from)
                                                            : _mm256_load_si256(reinterpret_cast<const __m256i*>(some));
                    added = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
                }
                x = _mm512_add_ps(x, _mm512_mul_ps(added, beta));
            }
            if (part.kind == TilesPart::BFloat16)
                _mm256_mask_storeu_epi16(to + h * item, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
            else _mm512_mask_storeu_ps(to + h * item, mask, x);
        }
        if (c) c += part.c_row * item;
    }
}

} // namespace

void gemm_tiles(const TilesPart& given) {
    TilesPart part = given;
    const int64_t item = part.kind == TilesPart::Int32 ? 1 : 2, out_item = part.kind == TilesPart::BFloat16 ? 2 : 4;
    const int64_t length = part.k * item, all = up(length, line);
    Operand a{static_cast<const char*>(part.a), part.a_row * item, part.a_column * item, item};
    Operand b{static_cast<const char*>(part.b), part.b_column * item, part.b_row * item, item};
    // Parts of k of equal size, in whole tiles.
    const int64_t deep = least(all, depth), blocks = (deep + k_block - 1) / k_block, some = up((deep + blocks - 1) / blocks, line);
    const int64_t room = part.m <= 2 * wide ? b_room / 8 : b_room, n_up = up(part.n, 2 * wide); // few rows use it up at once
    const int64_t n_block = least(room / deep < 2 * wide ? 2 * wide : room / deep / (2 * wide) * (2 * wide), n_up);
    const bool few = part.m <= wide; // a is packed once
    const bool kept = deep < all;    // sums of all rows
    const bool plain = part.kind != TilesPart::BFloat16 && !part.c && part.alpha == 1;
    Buffer<char> packed_b(n_block * deep), packed_a(wide * (few ? all : some));
    Buffer<float> sums((kept ? up(part.m, wide) : wide) * n_block);

    const TileShapes shapes;
    _tile_loadconfig(&shapes);
    for (int64_t index = 0; index < part.batch; ++index) {
        for (int64_t j0 = 0; j0 < part.n; j0 += n_block) {
            const int64_t n = least(part.n - j0, n_block);
            for (int64_t d0 = 0; d0 < length; d0 += deep) {
                const int64_t d = least(length - d0, deep);
                // For each part of k, its panels consecutively.
                auto panel_at = [&](int64_t p, int64_t j) { return packed_b.data + p * up(n, wide) + j * up(least(d - p, some), line); };
                // Columns contiguous along k are packed a few at a time; of rows, two panels read whole lines.
                const int64_t group = b.step == item ? wide : 2 * wide, run = b.step == item ? some : line;
                for (int64_t p = 0; p < d; p += some) {
                    const int64_t bytes = least(d - p, some);
                    for (int64_t j = 0; j < n; j += group)
                        for (int64_t q = 0; q < bytes; q += run)
                            for (int64_t h = j; h < least(n, j + group); h += wide)
                                pack_panel(panel_at(p, h) + q * wide, b.moved(j0 + h, d0 + p + q), least(n - h, wide),
                                           least(bytes - q, run));
                }
                for (int64_t i = 0; i < part.m; i += wide) {
                    const int64_t rows = least(part.m - i, wide);
                    float* strip = sums.data + (kept ? i * n_block : 0); // 64 columns after the other
                    for (int64_t p = 0; p < d; p += some) {
                        const int64_t bytes = least(d - p, some), there = up(bytes, line);
                        const Operand from = a.moved(i, d0 + p);
                        const bool in_place = a.step == item && bytes == there && rows % side == 0;
                        char* packed = packed_a.data + (few ? (d0 + p) * wide : 0);
                        if (!in_place && (!few || j0 == 0)) pack_rows(packed, from, rows, bytes);
                        const char* left = in_place ? from.at : packed;
                        const int64_t left_row = in_place ? from.line : line;
                        for (int64_t j = 0; j < n; j += wide) {
                            const int64_t columns = least(n - j, wide), second = j & wide;
                            float* block = strip + (j - second) * wide + second;
                            const bool last = d0 + p + bytes == length, whole = plain && last && rows == wide && columns == wide;
                            char* to = whole ? static_cast<char*>(part.out) + (i * part.out_row + j0 + j) * out_item : nullptr;
                            multiply({item == 1, rows > side, columns > side, d0 + p > 0, to, part.out_row * out_item}, there / line, left,
                                     left + side * left_row, left_row, in_place ? line : 2 * tile_bytes, panel_at(p, j), block);
                            if (!last || whole) continue;
                            // Two blocks at once, unless the first was stored.
                            const int64_t before = plain && rows == wide ? 0 : second;
                            if (before || second || j + wide >= n) put(part, block - before, i, j0 + j - before, rows, columns + before);
                        }
                    }
                }
            }
        }
        a.at += part.a_batch * item;
        b.at += part.b_batch * item;
        part.out = static_cast<char*>(part.out) + part.out_batch * out_item;
        if (part.c) part.c = static_cast<const char*>(part.c) + part.c_batch * out_item;
    }
    _tile_release();
}

} // namespace kindling::library
