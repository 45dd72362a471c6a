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

} // namespace

extern constexpr ConvolutionSteps convolution_steps = {depthwise<float>, depthwise<double>, depthwise_weight<float>,
                                                       depthwise_weight<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
