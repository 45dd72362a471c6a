// kernels/library/convolution_isa.h: the inner loops of convolutions that unroll no input, built once for each
// instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// One plane, copied with its padding and with columns sorted by their place in the stride: row r, phase f (column
/// modulo stride) and place p (column over stride) at (r * stride + f) * pitch + p. Behind each phase lie lanes of
/// zeros, so that whole registers can be read. `lanes` is 16 for float and 8 for double.
struct DepthwisePlane {
    int64_t out_rows, out_columns;
    int64_t kernel_rows, kernel_columns;
    int64_t row_stride, column_stride;
    int64_t row_dilation, column_dilation;
    int64_t pitch;
};

struct ConvolutionTile {
    int rows;                    // channels of the output that a direct step does at once: once, twice or three times these
    int columns;                 // places of the output
    int products, product_taps;  // of a weight gradient: channels of the output, taps
};

struct ConvolutionSamples {
    int64_t count, grad_step, from_step;  // from one sample to the next
};

template <class T> struct DirectSteps {
    ConvolutionTile tile;
    /// sums[row][column] = bias[row] + the sum over p < k of a[p][row] * from[offsets[p] + column].
    void (*rows[3])(int64_t k, const T* a, const T* from, const int64_t* offsets, const T* bias, T* sums);
    /// sums[channel][tap] = the sum over p < count, and over the samples, of grad[channel * grad_step + p] *
    /// from[offsets[tap] + p]; count is a multiple of 64 bytes.
    void (*products)(const ConvolutionSamples& samples, int64_t count, const T* grad, int64_t grad_step, const T* from,
                     const int64_t* offsets, T* sums);
};

struct ConvolutionSteps {
    DirectSteps<float> direct_float;
    DirectSteps<double> direct_double;
    /// out [out_rows, out_columns] = bias + sum over taps of weight * plane.
    void (*depthwise_float)(const DepthwisePlane& p, const float* plane, const float* weight, float bias, float* out);
    void (*depthwise_double)(const DepthwisePlane& p, const double* plane, const double* weight, double bias,
                             double* out);
    /// grad_weight [kernel_rows, kernel_columns] += sums over the plane of grad * input. grad's rows are padded with
    /// zeros to `grad_pitch`, a multiple of the lanes.
    void (*depthwise_weight_float)(const DepthwisePlane& p, const float* plane, const float* grad, int64_t grad_pitch,
                                   float* grad_weight);
    void (*depthwise_weight_double)(const DepthwisePlane& p, const double* plane, const double* grad,
                                    int64_t grad_pitch, double* grad_weight);
};

namespace isa_baseline {
extern const ConvolutionSteps convolution_steps;
}
namespace isa_avx2 {
extern const ConvolutionSteps convolution_steps;
}
namespace isa_avx512 {
extern const ConvolutionSteps convolution_steps;
}

} // namespace kindling::library
