// kernels/library/convolution/convolution_isa.cpp: the inner loops of convolutions, for one instruction set.
#include "kernels/library/convolution/convolution_isa.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/library/turn.h"
#include "kernels/library/vec.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

template <class T> constexpr int lanes = 64 / sizeof(T);

template <class T> inline void store_first(Vec<T> value, T* to, int64_t count) {
    if (count >= Vec<T>::width) return value.store(to);
#if defined(__AVX512F__)
    return value.store(to, first_lanes<T>(count));
#endif
    T lane[Vec<T>::width];
    value.store(lane);
    if (count < 4) {
        for (int64_t l = 0; l < count; ++l) to[l] = lane[l];
        return;
    }
    std::memcpy(to, lane, 4 * sizeof(T)); // two pieces that overlap
    std::memcpy(to + count - 4, lane + count - 4, 4 * sizeof(T));
}

template <class T> void copy_rows(const PlaneRows& p, int64_t count, T* to, const T* from) {
    constexpr int64_t W = Vec<T>::width;
    for (int64_t c = 0; c < p.planes; ++c, to += p.to_plane, from += p.from_plane)
        for (int64_t r = 0; r < p.rows; ++r) {
            T* row = to + r * p.to_row;
            const T* source = from + r * p.from_row;
            // The next plane's rows are prefetched.
            if (c + 1 < p.planes)
                for (int64_t i = 0; i < count; i += lanes<T>) __builtin_prefetch(source + p.from_plane + i);
            if (count < W) {
                store_first(load_first(source, count), row, p.loose && r + 1 < p.rows ? W : count);
                continue;
            }
            int64_t i = 0;
            for (; i + W < count; i += W) Vec<T>::load(source + i).store(row + i);
            Vec<T>::load(source + count - W).store(row + count - W); // ends with the row
        }
}

template <class T> void split_rows(const PlaneRows& p, int64_t evens, int64_t odds, T* even, T* odd, const T* from) {
    for (int64_t c = 0; c < p.planes; ++c, even += p.to_plane, odd += p.to_plane, from += p.from_plane)
        for (int64_t r = 0; r < p.rows; ++r) {
            T *to_even = even + r * p.to_row, *to_odd = odd + r * p.to_row;
            const T* source = from + r * p.from_row;
#if defined(__AVX512F__)
            using V = Vec<T>;
            constexpr int64_t W = V::width;
            const int64_t last = 2 * odds > 2 * evens - 1 ? 2 * odds : 2 * evens - 1;
            for (int64_t i = 0; 2 * i < last; i += W) {
                const V low = load_first(source + 2 * i, last - 2 * i), high = load_first(source + 2 * i + W, last - 2 * i - W);
                V first, second;
                if constexpr (sizeof(T) == 4) {
                    const __m512i places = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
                    first = {_mm512_permutex2var_ps(low.v, places, high.v)};
                    second = {_mm512_permutex2var_ps(low.v, _mm512_add_epi32(places, _mm512_set1_epi32(1)), high.v)};
                } else {
                    const __m512i places = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
                    first = {_mm512_permutex2var_pd(low.v, places, high.v)};
                    second = {_mm512_permutex2var_pd(low.v, _mm512_add_epi64(places, _mm512_set1_epi64(1)), high.v)};
                }
                const bool loose = p.loose && r + 1 < p.rows;
                if (i < evens) store_first(first, to_even + i, loose ? W : evens - i);
                if (i < odds) store_first(second, to_odd + i, loose ? W : odds - i);
            }
#else
            int64_t i = 0;
#if defined(__AVX2__)
            using V = Vec<T>;
            for (; i + V::width <= std::min(evens, odds); i += V::width) {
                const V low = V::load(source + 2 * i), high = V::load(source + 2 * i + V::width);
                V first, second; // the halves of each come in turns
                if constexpr (sizeof(T) == 4) {
                    first = {_mm256_shuffle_ps(low.v, high.v, 0x88)}, second = {_mm256_shuffle_ps(low.v, high.v, 0xDD)};
                } else {
                    first = {_mm256_unpacklo_pd(low.v, high.v)}, second = {_mm256_unpackhi_pd(low.v, high.v)};
                }
                const auto in_order = [](V v) {
                    if constexpr (sizeof(T) == 4) return V{_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v.v), 0xD8))};
                    else return V{_mm256_permute4x64_pd(v.v, 0xD8)};
                };
                in_order(first).store(to_even + i);
                in_order(second).store(to_odd + i);
            }
#endif
            for (int64_t rest = i; rest < evens; ++rest) to_even[rest] = source[2 * rest];
            for (int64_t rest = i; rest < odds; ++rest) to_odd[rest] = source[2 * rest + 1];
#endif
        }
}

template <class T> void add_rows(const PlaneRows& p, int64_t count, int64_t stride, T* to, const T* from) {
    using V = Vec<T>;
    constexpr int64_t W = V::width;
    const V one = V::all(1);
    for (int64_t r = 0; r < p.rows; ++r, to += p.to_row, from += p.from_row) {
        // The next tap accumulates to the same positions. A load right after the store works for whole registers and
        // single values, but not for parts of registers (store forwarding).
        // registers not.
        int64_t i = 0;
        if (stride == 1)
            for (; i + W <= count; i += W) {
                V sum = V::load(to + i);
                sum.add_product(one, V::load(from + i));
                sum.store(to + i);
            }
#if defined(__AVX512F__)
        if constexpr (sizeof(T) == 4)
            if (stride == 2)
                for (; 2 * (count - i) > W; i += W / 2) { // inserts zeros between
                    V sum = V::load(to + 2 * i);
                    sum.add_product(one, {_mm512_maskz_expand_ps(0x5555, load_first(from + i, W / 2).v)});
                    sum.store(to + 2 * i);
                }
#endif
        for (; i < count; ++i) to[i * stride] += from[i];
    }
}

template <class T> bool all_finite(const T* values, int64_t count) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits exponent = sizeof(T) == 4 ? Bits{0x7F800000} : static_cast<Bits>(0x7FF0000000000000);
    Bits bad = 0;
    for (int64_t i = 0; i < count; ++i) {
        Bits bits;
        std::memcpy(&bits, values + i, sizeof bits);
        bad |= (bits & exponent) == exponent ? Bits{1} : Bits{0};
    }
    return !bad;
}

template <class T> constexpr RowSteps<T> row_steps = {copy_rows<T>, split_rows<T>, add_rows<T>, all_finite<T>};

// One register of some rows of outputs at once. If a tap is one row below the tap before, all rows but one are in
// registers already: an unaligned load costs more than a product. The last register of a row ends with the row, and the
// last rows with the plane, so some outputs are computed twice.
template <class T> void depthwise(const DepthwisePlane& p, const T* plane, const T* weight, T bias, T* out) {
    using V = Vec<T>;
    constexpr int W = V::width, R = DepthwisePlane::rows_at_once<64 / sizeof(T) / W>;
    const int64_t last = p.columns > W ? p.columns - W : 0, last_row = p.rows > R ? p.rows - R : 0;
    const int64_t count = p.rows < R ? p.rows : R;
    for (int64_t y = 0;; y = y + R < last_row ? y + R : last_row) {
        for (int64_t z = 0;; z = z + W < last ? z + W : last) {
            V sums[R], rows[R];
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) sums[r] = V::all(bias);
            for (int64_t t = 0; t < p.taps; ++t) {
                const T* at = plane + p.offsets[t] + y * p.pitch + z;
                if (t > 0 && p.offsets[t] == p.offsets[t - 1] + p.pitch) {
#pragma GCC unroll 8
                    for (int r = 0; r + 1 < R; ++r) rows[r] = rows[r + 1];
                    rows[R - 1] = V::load(at + (R - 1) * p.pitch);
                } else {
#pragma GCC unroll 8
                    for (int r = 0; r < R; ++r) rows[r] = V::load(at + r * p.pitch);
                }
                const V factor = V::all(weight[p.order[t]]);
#pragma GCC unroll 8
                for (int r = 0; r < R; ++r) sums[r].add_product(factor, rows[r]);
            }
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r)
                if (r < count) store_first(sums[r], out + (y + r) * p.columns + z, p.columns);
            if (z == last) break;
        }
        if (y == last_row) break;
    }
}

template <class T> void depthwise_scatter(const DepthwisePlane& p, const T* grad, const T* weight, T* plane) {
    using V = Vec<T>;
    for (int64_t y = 0; y < p.rows; ++y, grad += p.columns)
        for (int64_t t = 0; t < p.taps; ++t) {
            T* to = plane + p.offsets[t] + y * p.pitch;
            const T each = weight[p.order[t]];
            const V factor = V::all(each);
            int64_t z = 0;
            for (; z + V::width <= p.columns; z += V::width) {
                V sum = V::load(to + z);
                sum.add_product(factor, V::load(grad + z));
                sum.store(to + z);
            }
            for (; z < p.columns; ++z) to[z] += each * grad[z];
        }
}

// The same number of partial sums for every register width.
template <class T> void depthwise_weight(const DepthwisePlane& p, const T* plane, const T* grad, int64_t grad_pitch, T* grad_weight) {
    using V = Vec<T>;
    constexpr int L = lanes<T>, parts = L / V::width,
                  G = parts > 2 ? 2 : 5; // taps at once: 5 leave few over of 9, 25 or 49
    for (int64_t first = 0; first < p.taps; first += G) {
        const T* from[G];
        V sums[G][parts];
#pragma GCC unroll 8
        for (int i = 0; i < G; ++i) {
            from[i] = plane + p.offsets[first + i < p.taps ? first + i : first];
#pragma GCC unroll 8
            for (int v = 0; v < parts; ++v) sums[i][v] = V::zero();
        }
        for (int64_t y = 0; y < p.rows; ++y)
            for (int64_t z = 0; z < grad_pitch; z += L)
#pragma GCC unroll 8
                for (int v = 0; v < parts; ++v) {
                    const V g = V::load(grad + y * grad_pitch + z + v * V::width);
#pragma GCC unroll 8
                    for (int i = 0; i < G; ++i) sums[i][v].add_product(g, V::load(from[i] + y * p.pitch + z + v * V::width));
                }
        alignas(64) T partial[(G + 3) / 4][4][L] = {};
        T totals[(G + 3) / 4 * 4];
#pragma GCC unroll 8
        for (int i = 0; i < G; ++i)
#pragma GCC unroll 8
            for (int v = 0; v < parts; ++v) sums[i][v].store(partial[i / 4][i % 4] + v * V::width);
        for (int four = 0; four * 4 < G; ++four) fold(partial[four], totals + 4 * four);
        for (int i = 0; i < G && first + i < p.taps; ++i) grad_weight[p.order[first + i]] += totals[i];
    }
}

#if defined(__AVX512F__)
// Four registers of positions at once: as many independent sums.
void masked_forward(const MaskedPlane& p, const float* from, const float* weight, float bias, float* out) {
    constexpr int64_t W = 16, R = 4;
    const uint64_t* masks = p.masks;
    for (int64_t j = 0; j < p.places; j += R * W, masks += p.taps) {
        __m512 sums[R];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sums[r] = _mm512_set1_ps(bias);
        for (int64_t t = 0; t < p.taps; ++t) {
            const float* at = from + p.offsets[t] + j;
            const __m512 factor = _mm512_set1_ps(weight[t]);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                const auto mask = static_cast<__mmask16>(masks[t] >> (16 * r));
                sums[r] = _mm512_fmadd_ps(factor, _mm512_maskz_loadu_ps(mask, at + r * W), sums[r]);
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
            if (p.places > j + r * W) store_first(Vec<float>{sums[r]}, out + j + r * W, p.places - j - r * W);
    }
}

void masked_weight(const MaskedPlane& p, const ConvolutionSamples& samples, const float* from, const float* grad, float* grad_weight) {
    constexpr int64_t W = 16, G = 9; // taps at once
    for (int64_t first = 0; first < p.taps; first += G) {
        const int64_t count = p.taps - first < G ? p.taps - first : G;
        const float* at[G];
        __m512 sums[G + 3];
#pragma GCC unroll 12
        for (int i = 0; i < G + 3; ++i) sums[i] = _mm512_setzero_ps();
        for (int64_t n = 0; n < samples.count; ++n) {
#pragma GCC unroll 9
            for (int i = 0; i < G; ++i) at[i] = from + n * samples.from_step + p.offsets[i < count ? first + i : first];
            const float* g = grad + n * samples.grad_step;
            for (int64_t j = 0; j < p.places; j += W) {
                // The next sample is far away.
                __builtin_prefetch(g + samples.grad_step + j);
                __builtin_prefetch(from + (n + 1) * samples.from_step + j);
                const __m512 each = load_first(g + j, p.places - j).v;
                const uint64_t* masks = p.masks + j / 64 * p.taps + first;
#pragma GCC unroll 9
                for (int i = 0; i < G; ++i) {
                    const auto mask = static_cast<__mmask16>(masks[i < count ? i : 0] >> (j % 64));
                    sums[i] = _mm512_fmadd_ps(each, _mm512_maskz_loadu_ps(mask, at[i] + j), sums[i]);
                }
            }
        }
        alignas(64) float partial[(G + 3) / 4][4][W], totals[G + 3];
#pragma GCC unroll 12
        for (int i = 0; i < G + 3; ++i) _mm512_store_ps(partial[i / 4][i % 4], sums[i]);
        for (int64_t four = 0; four * 4 < G; ++four) fold(partial[four], totals + 4 * four);
        for (int64_t i = 0; i < count; ++i) grad_weight[first + i] += totals[i];
    }
}

void merge_rows(const PlaneRows& p, int64_t evens, int64_t odds, float* to, const float* even, const float* odd) {
    const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    for (int64_t r = 0; r < p.rows; ++r, to += p.to_row, even += p.from_row, odd += p.from_row)
        for (int64_t i = 0; i < evens; i += 16) {
            const __m512 a = load_first(even + i, evens - i).v, b = load_first(odd + i, odds - i).v;
            const int64_t left = evens + odds - 2 * i;
            store_first(Vec<float>{_mm512_permutex2var_ps(a, low, b)}, to + 2 * i, left);
            if (left > 16) store_first(Vec<float>{_mm512_permutex2var_ps(a, high, b)}, to + 2 * i + 16, left - 16);
        }
}
constexpr MaskedSteps masked_steps = {masked_forward, masked_weight, merge_rows};
#else
constexpr MaskedSteps masked_steps = {};
#endif

// Enough registers for the sums, one factor and two columns.
#if defined(__AVX512F__)
constexpr ConvolutionTile tile_sizes = {4, 2, 4, 6};
#elif defined(__AVX2__)
constexpr ConvolutionTile tile_sizes = {2, 2, 2, 3};
#else
constexpr ConvolutionTile tile_sizes = {2, 2, 1, 2};
#endif
template <class T> constexpr ConvolutionTile tile_of() {
    ConvolutionTile tile = tile_sizes;
    tile.columns *= Vec<T>::width;
    return tile;
}

template <class T, int R>
void direct(int64_t k, const T* a, const T* from, int64_t second, const int64_t* offsets, const T* bias, const T* before, T* to,
            int64_t to_step) {
    using V = Vec<T>;
    constexpr int W = V::width;
    V low[R], high[R];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
        low[i] = bias ? V::all(bias[i]) : V::load(before + 2 * W * i);
        high[i] = bias ? low[i] : V::load(before + 2 * W * i + W);
    }
    for (int64_t p = 0; p < k; ++p, a += R) {
        const T* b = from + offsets[p];
        V b0 = V::load(b), b1 = V::load(b + second);
        // One line of the results at each step: each row is in another page, so that a prefetch may wait for its translation.
        if (p < R) __builtin_prefetch(to + p * to_step, 1);
        else if (p < 2 * R) __builtin_prefetch(to + (p - R) * to_step + W, 1);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
            V factor = V::all(a[i]);
            low[i].add_product(factor, b0);
            high[i].add_product(factor, b1);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i, to += to_step) {
        low[i].store(to);
        high[i].store(to + W);
    }
}

#if defined(__AVX512F__)
template <class T, int L, int R>
void direct_runs(int64_t k, const T* a, const T* from, const int64_t* starts, const int64_t* offsets, const T* bias, T* sums) {
    using V = Vec<T>;
    constexpr int W = V::width;
    V low[L * R], high[L * R];
    const T* at[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) at[r] = from + starts[r];
#pragma GCC unroll 16
    for (int i = 0; i < L * R; ++i) {
        low[i] = V::load(bias ? bias : sums + 2 * W * i);
        high[i] = V::load((bias ? bias : sums + 2 * W * i) + W);
    }
    for (int64_t p = 0; p < k; ++p, a += 2 * W) {
        const V a0 = V::load(a), a1 = V::load(a + W);
        const int64_t offset = offsets[p];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
            for (int l = 0; l < L; ++l) {
                const V factor = V::all(at[r][offset + l]);
                low[r * L + l].add_product(factor, a0);
                high[r * L + l].add_product(factor, a1);
            }
    }
#pragma GCC unroll 16
    for (int i = 0; i < L * R; ++i) {
        low[i].store(sums + 2 * W * i);
        high[i].store(sums + 2 * W * i + W);
    }
}
#endif
/// The sums of 12 or 14 positions fill the registers. Most images' rows are a multiple of 4 or of 7 long.
template <class T> constexpr DirectSteps<T> with_runs(DirectSteps<T> steps) {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        steps.runs[0] = {7, 2, direct_runs<T, 7, 2>};
        steps.runs[1] = {4, 3, direct_runs<T, 4, 3>};
    }
#endif
    return steps;
}

template <class T> void put(int64_t rows, int64_t count, const T* sums, T* to, int64_t to_step) {
    using V = Vec<T>;
    constexpr int W = V::width;
    for (int64_t r = 0; r < rows; ++r, sums += 2 * W, to += to_step) {
        if (count <= W) {
            store_first(V::load(sums), to, count);
        } else { // the second register ends with the row
            V::load(sums).store(to);
            V::load(sums + count - W).store(to + count - W);
        }
    }
}

// The same number of partial sums for every register width.
template <class T>
void products(const ConvolutionSamples& samples, int64_t count, const T* grad, int64_t grad_step, const T* from, const int64_t* offsets,
              T* totals) {
    using V = Vec<T>;
    constexpr int L = lanes<T>, parts = L / V::width, O = tile_sizes.products, N = tile_sizes.product_taps;
    V sums[O][N][parts];
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o)
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
            for (int v = 0; v < parts; ++v) sums[o][n][v] = V::zero();
    for (int64_t sample = 0; sample < samples.count; ++sample, grad += samples.grad_step, from += samples.from_step)
        for (int64_t p = 0; p < count; p += L)
#pragma GCC unroll 8
            for (int v = 0; v < parts; ++v) {
                V g[O];
#pragma GCC unroll 8
                for (int o = 0; o < O; ++o) g[o] = V::load(grad + o * grad_step + p + v * V::width);
#pragma GCC unroll 8
                for (int n = 0; n < N; ++n) {
                    V x = V::load(from + offsets[n] + p + v * V::width);
#pragma GCC unroll 8
                    for (int o = 0; o < O; ++o) sums[o][n][v].add_product(g[o], x);
                }
            }
    alignas(64) T partial[(O * N + 3) / 4][4][L] = {};
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o)
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
            for (int v = 0; v < parts; ++v) sums[o][n][v].store(partial[(o * N + n) / 4][(o * N + n) % 4] + v * V::width);
    for (int four = 0; four * 4 < O * N; ++four) fold(partial[four], totals + 4 * four);
}

template <class T>
constexpr DirectSteps<T> direct_steps =
    with_runs<T>({tile_of<T>(),
                  {direct<T, tile_sizes.rows>, direct<T, 2 * tile_sizes.rows>, direct<T, 3 * tile_sizes.rows>},
                  products<T>,
                  put<T>,
                  turn<T>,
                  {}});

} // namespace

extern constexpr ConvolutionSteps convolution_steps = {row_steps<float>,
                                                       row_steps<double>,
                                                       direct_steps<float>,
                                                       direct_steps<double>,
                                                       {depthwise<float>, depthwise_scatter<float>, depthwise_weight<float>},
                                                       {depthwise<double>, depthwise_scatter<double>, depthwise_weight<double>},
                                                       masked_steps};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
