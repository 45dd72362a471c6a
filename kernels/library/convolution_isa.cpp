#include "kernels/library/convolution_isa.h"

#include "kernels/library/vec.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

template <class T>
constexpr int lanes = 64 / sizeof(T);

// N registers of neighbouring columns of one row of the output.
template <class T, int N>
inline void block(const DepthwisePlane& p, const T* top, const T* weight, T bias, T* out, int64_t columns) {
    using V = Vec<T>;
    V sums[N];
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n)
        sums[n] = V::all(bias);
    int64_t row_step = p.row_dilation * p.column_stride * p.pitch;
    for (int64_t a = 0; a < p.kernel_rows; ++a, top += row_step) {
        int64_t phase = 0, place = 0;
        for (int64_t b = 0; b < p.kernel_columns; ++b) {
            const T* from = top + phase * p.pitch + place;
            V factor = V::all(*weight++);
#pragma GCC unroll 8
            for (int n = 0; n < N; ++n)
                sums[n].add_product(factor, V::load(from + n * V::width));
            phase += p.column_dilation;
            while (phase >= p.column_stride) {
                phase -= p.column_stride;
                ++place;
            }
        }
    }
    if (columns >= N * V::width) {
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n)
            sums[n].store(out + n * V::width);
        return;
    }
    T rest[N * V::width];
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n)
        sums[n].store(rest + n * V::width);
    for (int64_t l = 0; l < columns; ++l)
        out[l] = rest[l];
}

template <class T>
void depthwise(const DepthwisePlane& p, const T* plane, const T* weight, T bias, T* out) {
    constexpr int64_t W = Vec<T>::width;
    for (int64_t y = 0; y < p.out_rows; ++y, out += p.out_columns) {
        const T* top = plane + y * p.row_stride * p.column_stride * p.pitch;
        int64_t z = 0;
        for (; p.out_columns - z > 3 * W; z += 4 * W)
            block<T, 4>(p, top + z, weight, bias, out + z, p.out_columns - z);
        int64_t left = p.out_columns - z;
        if (left > 2 * W)
            block<T, 3>(p, top + z, weight, bias, out + z, left);
        else if (left > W)
            block<T, 2>(p, top + z, weight, bias, out + z, left);
        else if (left > 0)
            block<T, 1>(p, top + z, weight, bias, out + z, left);
    }
}

// The same number of partial sums whatever the register width.
template <class T>
void depthwise_weight(const DepthwisePlane& p, const T* plane, const T* grad, int64_t grad_pitch, T* grad_weight) {
    using V = Vec<T>;
    constexpr int L = lanes<T>, parts = L / V::width;
    int64_t row_pitch = p.column_stride * p.pitch;
    for (int64_t a = 0; a < p.kernel_rows; ++a)
        for (int64_t b = 0; b < p.kernel_columns; ++b) {
            int64_t column = b * p.column_dilation;
            const T* from = plane + a * p.row_dilation * row_pitch + (column % p.column_stride) * p.pitch +
                            column / p.column_stride;
            V sums[parts];
#pragma GCC unroll 8
            for (int v = 0; v < parts; ++v)
                sums[v] = V::zero();
            for (int64_t y = 0; y < p.out_rows; ++y) {
                const T *row = from + y * p.row_stride * row_pitch, *g = grad + y * grad_pitch;
                for (int64_t z = 0; z < grad_pitch; z += L)
#pragma GCC unroll 8
                    for (int v = 0; v < parts; ++v)
                        sums[v].add_product(V::load(g + z + v * V::width), V::load(row + z + v * V::width));
            }
            T partial[L];
            for (int v = 0; v < parts; ++v)
                sums[v].store(partial + v * V::width);
            for (int half = L / 2; half; half /= 2)
                for (int l = 0; l < half; ++l)
                    partial[l] += partial[l + half];
            grad_weight[a * p.kernel_columns + b] += partial[0];
        }
}

// Registers enough for the sums, one factor and two columns.
#if defined(__AVX512F__)
constexpr ConvolutionTile tile_sizes = {4, 2, 4, 6};
#elif defined(__AVX2__)
constexpr ConvolutionTile tile_sizes = {2, 2, 2, 3};
#else
constexpr ConvolutionTile tile_sizes = {2, 2, 1, 2};
#endif
template <class T>
constexpr ConvolutionTile tile_of() {
    ConvolutionTile tile = tile_sizes;
    tile.columns *= Vec<T>::width;
    return tile;
}

template <class T, int R>
void direct(int64_t k, const T* a, const T* from, const int64_t* offsets, const T* bias, T* sums) {
    using V = Vec<T>;
    constexpr int W = V::width;
    V low[R], high[R];
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
        low[i] = high[i] = V::all(bias[i]);
    for (int64_t p = 0; p < k; ++p, a += R) {
        const T* b = from + offsets[p];
        V b0 = V::load(b), b1 = V::load(b + W);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
            V factor = V::all(a[i]);
            low[i].add_product(factor, b0);
            high[i].add_product(factor, b1);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
        low[i].store(sums + 2 * W * i);
        high[i].store(sums + 2 * W * i + W);
    }
}

// As many partial sums whatever the register width.
template <class T>
void products(const ConvolutionSamples& samples, int64_t count, const T* grad, int64_t grad_step, const T* from,
              const int64_t* offsets, T* totals) {
    using V = Vec<T>;
    constexpr int L = lanes<T>, parts = L / V::width, O = tile_sizes.products, N = tile_sizes.product_taps;
    V sums[O][N][parts];
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o)
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
            for (int v = 0; v < parts; ++v)
                sums[o][n][v] = V::zero();
    for (int64_t sample = 0; sample < samples.count; ++sample, grad += samples.grad_step, from += samples.from_step)
        for (int64_t p = 0; p < count; p += L)
#pragma GCC unroll 8
            for (int v = 0; v < parts; ++v) {
                V g[O];
#pragma GCC unroll 8
                for (int o = 0; o < O; ++o)
                    g[o] = V::load(grad + o * grad_step + p + v * V::width);
#pragma GCC unroll 8
                for (int n = 0; n < N; ++n) {
                    V x = V::load(from + offsets[n] + p + v * V::width);
#pragma GCC unroll 8
                    for (int o = 0; o < O; ++o)
                        sums[o][n][v].add_product(g[o], x);
                }
            }
    alignas(64) T partial[(O * N + 3) / 4][4][L] = {};
#pragma GCC unroll 8
    for (int o = 0; o < O; ++o)
#pragma GCC unroll 8
        for (int n = 0; n < N; ++n)
#pragma GCC unroll 8
            for (int v = 0; v < parts; ++v)
                sums[o][n][v].store(partial[(o * N + n) / 4][(o * N + n) % 4] + v * V::width);
    for (int four = 0; four * 4 < O * N; ++four)
        fold(partial[four], totals + 4 * four);
}

template <class T>
constexpr DirectSteps<T> direct_steps = {
    tile_of<T>(), {direct<T, tile_sizes.rows>, direct<T, 2 * tile_sizes.rows>, direct<T, 3 * tile_sizes.rows>}, products<T>};

} // namespace

extern constexpr ConvolutionSteps convolution_steps = {direct_steps<float>, direct_steps<double>, depthwise<float>, depthwise<double>, depthwise_weight<float>,
                                                       depthwise_weight<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
