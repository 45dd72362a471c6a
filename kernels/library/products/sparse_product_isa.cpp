// kernels/library/products/sparse_product_isa.cpp: rows of a sparse matrix times a strided one, for one instruction set.
#include "kernels/library/products/sparse_product_isa.h"

#include "kernels/library/vec.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

/// Columns [at, at + count * V::width) of one row: sums in registers, over all elements. Which row of the right matrix is next is not
/// seen by the hardware: it is prefetched `ahead` elements before, of these rows and of those after, up to element `end`.
template <class V, int count, class T>
[[gnu::always_inline]] inline void piece(const SparseRows<T>& r, int64_t row, int64_t at, int64_t end) {
    constexpr int64_t ahead = 8;
    V sums[count];
    for (int i = 0; i < count; ++i) sums[i] = V::all(0);
    for (int64_t e = r.starts[row]; e < r.starts[row + 1]; ++e) {
        const V value = V::all(r.values[e]);
        const T* from = r.right + r.columns[e] * r.width + at;
        if constexpr (count > 1) {
            const T* next = r.right + r.columns[e + ahead < end ? e + ahead : e] * r.width + at;
#pragma GCC unroll 8
            for (int i = 0; i < count; i += 64 / static_cast<int>(sizeof(V))) __builtin_prefetch(next + i * V::width);
        }
#pragma GCC unroll 8
        for (int i = 0; i < count; ++i) sums[i].add_product(value, V::load(from + i * V::width));
    }
    for (int i = 0; i < count; ++i) sums[i].store(r.result + row * r.width + at + i * V::width);
}

template <class T> void rows(const SparseRows<T>& r, int64_t first, int64_t last) {
    constexpr int W = Vec<T>::width;
    const int64_t end = r.starts[last];
    for (int64_t row = first; row < last; ++row) {
        int64_t at = 0;
        for (; at + 8 * W <= r.width; at += 8 * W) piece<Vec<T>, 8>(r, row, at, end);
        for (; at + 2 * W <= r.width; at += 2 * W) piece<Vec<T>, 2>(r, row, at, end);
        for (; at + W <= r.width; at += W) piece<Vec<T>, 1>(r, row, at, end);
        for (; at < r.width; ++at) piece<One<T>, 1>(r, row, at, end);
    }
}

} // namespace

const SparseProduct sparse_product = {rows<float>, rows<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
