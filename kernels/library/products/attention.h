// kernels/library/products/attention.h: attention that never stores all scores.
//
// Queries are processed in blocks of 64 (128 with AMX), keys in blocks of 256. The softmax of a row is carried from
// block to block. The result depends on shapes and dtype alone, not on threads. See Dao et al., "FlashAttention"
// (2022), for the idea.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// batch x heads x rows x columns; strides count elements.
struct Plane4 {
    void* data = nullptr;
    int64_t strides[4] = {0, 0, 0, 0};
};

struct Attention {
    DType dtype; // float32 or float64, for everything here
    int64_t batch, heads, queries, keys, depth, value_depth;
    Plane4 query, key, value;
    Plane4 mask; // added to the scaled scores; no data: none
    double scale;
    bool causal; // query i sees keys 0 to i
    Plane4 out;
    DType weights;   // products with values read weights rounded to this half type, if it is one
    void* logsumexp; // per row of scores, batch x heads x queries; -infinity where nothing is attended to
    // query, key, value and the gradient of `out` are bfloat16, the rest is float32. Weights are rounded for products
    // with them. Only if has_tiles(); the gradients' last dimension has stride 1.
    bool narrow = false;
};

void attention(const Attention& problem);
/// Gradients from that of `out`. They must be contiguous and zero.
void attention_backward(const Attention& problem, const Plane4& grad, const Plane4& grad_query, const Plane4& grad_key,
                        const Plane4& grad_value);

} // namespace kindling::library
