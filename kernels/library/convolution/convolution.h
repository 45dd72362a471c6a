// kernels/library/convolution/convolution.h: convolutions in one to three dimensions, and their gradients.
//
// All arrays are contiguous: input [batch, in_channels, in...], weight [out_channels, in_channels / groups, kernel...],
// output [batch, out_channels, out...], bias [out_channels]. A transposed convolution is the input gradient of the
// convolution in the other direction: its input is `grad_output`, its output `grad_input`, and its weight [in, out /
// groups, ...] is the weight of that convolution unchanged. Values do not depend on the thread count.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

struct Convolution {
    DType dtype; // floating or complex
    int dims;    // 1, 2 or 3
    int64_t batch, in_channels, out_channels, groups;
    int64_t in[3], kernel[3], out[3], stride[3], padding[3], dilation[3];
};

/// The size of one dimension of the result, or less than 1 where the kernel does not fit.
constexpr int64_t convolution_out(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
    int64_t room = in + 2 * padding - (dilation * (kernel - 1) + 1);
    return room < 0 ? 0 : room / stride + 1;
}

/// bias may be null.
void convolution(const Convolution& shape, const void* input, const void* weight, const void* bias, void* output);
/// bias (one value per channel of grad_input) is for the transposed convolution; null for a gradient.
void convolution_input_gradient(const Convolution& shape, const void* grad_output, const void* weight, const void* bias, void* grad_input);
void convolution_weight_gradient(const Convolution& shape, const void* input, const void* grad_output, void* grad_weight);
/// Sums over batch and space: any [batch, channels, space] array.
void convolution_bias_gradient(DType dtype, int64_t batch, int64_t channels, int64_t space, const void* grad_output, void* grad_bias);

} // namespace kindling::library
