// kernels/library/images/pooling.h: maximum, average and adaptive pooling in one to three dimensions, and their gradients.
//
// Arrays are contiguous: input [planes, in...], output [planes, out...], where planes is batch times channels. Indices
// are positions within a plane of the input, as torch counts them.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

struct Pooling {
    DType dtype; // any real one but bool and the wide unsigned ones
    int dims;    // 1, 2 or 3
    int64_t planes;
    int64_t in[3], kernel[3], out[3], stride[3], padding[3], dilation[3];
    bool count_include_pad = true;
    int64_t divisor_override = 0; // 0: none
};

/// The size of one dimension of the result by torch's rule: with ceil_mode the last window may begin inside the input
/// or its left padding only.
int64_t pooling_out(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode);

void max_pool(const Pooling& shape, const void* input, void* output, int64_t* indices);
/// Overwrites grad_input. For max_pool, adaptive_max_pool and any other pooling with indices.
void max_pool_gradient(DType dtype, int64_t planes, int64_t in_space, int64_t out_space, const void* grad_output, const int64_t* indices,
                       void* grad_input);
void avg_pool(const Pooling& shape, const void* input, void* output);
void avg_pool_gradient(const Pooling& shape, const void* grad_output, void* grad_input);

// Of `shape` these use dtype, dims, planes, in and out.
void adaptive_avg_pool(const Pooling& shape, const void* input, void* output);
void adaptive_avg_pool_gradient(const Pooling& shape, const void* grad_output, void* grad_input);
void adaptive_max_pool(const Pooling& shape, const void* input, void* output, int64_t* indices);

} // namespace kindling::library
