// kernels/library/products/gemm_tiles.h: products of bfloat16 and of int8 by AMX tiles.
#pragma once
#include <cstdint>

namespace kindling::library {

/// out = alpha * (a @ b) + beta * c on one thread, for each of `batch` matrices. Steps count elements; out's columns
/// are contiguous. Sums are floats, or int32 where a and b are int8. They are rounded once.
struct TilesPart {
    enum Kind : uint8_t { BFloat16, Float, Int32 }; // of out; Int32: a and b are int8, and there is no alpha, beta or c
    int64_t m, n, k;
    const void* a;
    int64_t a_row, a_column;
    const void* b;
    int64_t b_row, b_column;
    void* out;
    int64_t out_row;
    Kind kind = BFloat16;
    const void* c = nullptr; // of out's dtype
    int64_t c_row = 0, c_column = 0;
    float alpha = 1, beta = 1;
    int64_t batch = 1, a_batch = 0, b_batch = 0, out_batch = 0, c_batch = 0;
};

/// Only if has_tiles().
void gemm_tiles(const TilesPart& part);

} // namespace kindling::library
