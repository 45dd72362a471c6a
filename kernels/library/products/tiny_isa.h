// kernels/library/products/tiny_isa.h: products of several small matrices at once, a lane for each. Built for AVX2 alone: see
// kernels/library/factors/lanes_isa.h. Tiles of AVX-512, which has masks, are faster but for the smallest.
#pragma once
#include <cstdint>

namespace kindling::library {

constexpr int64_t largest_tiny = 8; // rows and columns

template <class T> struct TinyMatrix {
    T* at;
    int64_t row, column, step; // `step`: from a matrix of the batch to the next
    TinyMatrix from(int64_t i) const { return {at + i * step, row, column, step}; }
};
/// out = alpha * (a @ b) for matrices [begin, end) of a batch; a is m x k. Summed in the order of k and fused, as other products
/// are.
template <class T>
using MultiplyTiny = void (*)(int64_t m, int64_t n, int64_t k, const TinyMatrix<const T>& a, const TinyMatrix<const T>& b,
                              const TinyMatrix<T>& out, T alpha, int64_t begin, int64_t end);

namespace isa_avx2 {
extern const MultiplyTiny<float> multiply_tiny_float;
extern const MultiplyTiny<double> multiply_tiny_double;
} // namespace isa_avx2

} // namespace kindling::library
