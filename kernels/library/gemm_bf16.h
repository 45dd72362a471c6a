// kernels/library/gemm_bf16.h: the bfloat16 matrix product by the processor's own instruction for it.
#pragma once
#include <cstdint>

namespace kindling::library {

/// Where has_bf16_products(): out = a @ b on one thread, bits of bfloat16 to float. Strides count elements; out's columns lie one after the other.
struct Bf16Part {
    int64_t m, n, k;
    const uint16_t* a;
    int64_t a_row, a_column;
    const uint16_t* b;
    int64_t b_row, b_column;
    float* out;
    int64_t out_row;
};
void gemm_bf16(const Bf16Part& part);

}  // namespace kindling::library
