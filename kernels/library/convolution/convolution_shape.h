// kernels/library/convolution/convolution_shape.h: what the files of the convolution share.
#pragma once
#include <cstring>
#include <utility>

#include "kernels/isa.h"
#include "kernels/library/convolution/convolution.h"
#include "kernels/library/convolution/convolution_isa.h"

namespace kindling::library {

/// The shape with three dimensions, missing ones in front as ones.
struct ConvolutionShape {
    int64_t batch, groups, in_channels, out_channels; // channels of one group
    int64_t in[3], kernel[3], out[3], stride[3], padding[3], dilation[3];
    int64_t in_space, out_space, taps;
    bool direct; // the unrolled input is the input itself

    explicit ConvolutionShape(const Convolution& c)
        : batch(c.batch), groups(c.groups), in_channels(c.in_channels / c.groups), out_channels(c.out_channels / c.groups) {
        for (int d = 0; d < 3; ++d) {
            int from = d - (3 - c.dims);
            bool there = from >= 0;
            in[d] = there ? c.in[from] : 1;
            kernel[d] = there ? c.kernel[from] : 1;
            out[d] = there ? c.out[from] : 1;
            stride[d] = there ? c.stride[from] : 1;
            padding[d] = there ? c.padding[from] : 0;
            dilation[d] = there ? c.dilation[from] : 1;
        }
        in_space = in[0] * in[1] * in[2];
        out_space = out[0] * out[1] * out[2];
        taps = kernel[0] * kernel[1] * kernel[2];
        direct = taps == 1;
        for (int d = 0; d < 3; ++d) direct = direct && stride[d] == 1 && padding[d] == 0;
    }
    /// Becomes the convolution with the flipped kernel that is the input's gradient, for stride 1; false if there is none.
    bool turn_back() {
        if (out_space == 0) return false;
        for (int d = 0; d < 3; ++d) {
            std::swap(in[d], out[d]);
            padding[d] = dilation[d] * (kernel[d] - 1) - padding[d];
            if (stride[d] != 1 || padding[d] < 0) return false;
        }
        std::swap(in_space, out_space);
        std::swap(in_channels, out_channels);
        return true;
    }
};

inline const ConvolutionSteps& convolution_steps() { return KINDLING_OF_ISA(convolution_steps); }
template <class T> const DirectSteps<T>& direct_steps() {
    if constexpr (sizeof(T) == 4) return convolution_steps().direct_float;
    else return convolution_steps().direct_double;
}

template <class T> const RowSteps<T>& row_steps() {
    if constexpr (sizeof(T) == 4) return convolution_steps().rows_float;
    else return convolution_steps().rows_double;
}

template <class T> inline void clear(T* values, int64_t count) {
    if (count > 0) memset(values, 0, static_cast<size_t>(count) * sizeof(T));
}

/// Rows are mostly short: fixed-size moves, the last one overlapping, instead of a call.
template <class T> inline void copy_row(T* to, const T* from, int64_t count) {
    constexpr int64_t step = 32 / sizeof(T);
    if (count < step) {
        for (int64_t i = 0; i < count; ++i) to[i] = from[i];
        return;
    }
    for (int64_t i = 0; i + step <= count; i += step) memcpy(to + i, from + i, 32);
    memcpy(to + count - step, from + count - step, 32);
}

/// Any shape; see convolution_unrolled.cpp. For bfloat16 if there are AMX tiles; gradients are then floats.
template <class T> void run_unrolled(const ConvolutionShape& s, const T* input, const T* weight, const T* bias, T* output);
template <class T, class R>
void run_unrolled_input(const ConvolutionShape& s, const T* grad_output, const T* weight, const R* bias, R* grad_input);
template <class T, class R> void run_unrolled_weight(const ConvolutionShape& s, const T* input, const T* grad_output, R* grad_weight);

/// For a kernel that covers the whole input at one position; false if it does not.
template <class T> bool run_whole(const ConvolutionShape& s, const T* input, const T* weight, const T* bias, T* output);
template <class T> bool run_whole_input(const ConvolutionShape& s, const T* grad_output, const T* weight, const T* bias, T* grad_input);
template <class T> bool run_whole_weight(const ConvolutionShape& s, const T* input, const T* grad_output, T* grad_weight);

/// For a kernel of one tap, small images or a stride; false if the shape is not for it. See convolution_points.cpp.
template <class T> bool run_points(const ConvolutionShape& s, const T* input, const T* weight, const T* bias, T* output);
template <class T> bool run_points_input(const ConvolutionShape& s, const T* grad_output, const T* weight, const T* bias, T* grad_input);

/// For one channel per group; false if the shape is not for it. See convolution_depthwise.cpp.
template <class T> bool run_depthwise(const ConvolutionShape& s, const T* input, const T* weight, const T* bias, T* output);
template <class T> bool run_depthwise_input(const ConvolutionShape& s, const T* grad_output, const T* weight, T* grad_input);
template <class T> bool run_depthwise_weight(const ConvolutionShape& s, const T* input, const T* grad_output, T* grad_weight);

/// Without an unrolled input, for any stride; false if the shape is not for it. See convolution_direct.cpp.
template <class T> bool run_direct(const ConvolutionShape& s, const T* input, const T* weight, const T* bias, T* output);
template <class T> bool run_direct_input(const ConvolutionShape& s, const T* grad_output, const T* weight, const T* bias, T* grad_input);
template <class T> bool run_direct_weight(const ConvolutionShape& s, const T* input, const T* grad_output, T* grad_weight);

/// With a stride, phase by phase; false if the shape is not for it. See convolution_strided.cpp.
bool run_strided_input(const ConvolutionShape& s, const float* grad_output, const float* weight, const float* bias, float* grad_input);

/// bfloat16 by AMX tiles, if has_tiles(); false if the shape is not for it. See convolution_tiles.cpp.
bool run_tiles(const ConvolutionShape& s, const BFloat16* input, const BFloat16* weight, const BFloat16* bias, BFloat16* output);
bool run_tiles_input(const ConvolutionShape& s, const BFloat16* grad_output, const BFloat16* weight, const BFloat16* bias,
                     BFloat16* grad_input);

/// For any shape with enough channels to fill registers; see convolution_weight.cpp.
bool run_weight(const ConvolutionShape& s, const float* input, const float* grad_output, float* grad_weight);

} // namespace kindling::library
