// kernels/library/products/gemm_bf16.h: the bfloat16 matrix product by AVX512-BF16.
#pragma once
#include <cstdint>

namespace kindling::library {

/// Only if has_bf16_products(): out = a @ b on one thread, bits of bfloat16 to float. Strides count elements; out's
/// columns are contiguous.
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

} // namespace kindling::library
