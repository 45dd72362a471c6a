// kernels/library/products/sparse_product_isa.cpp: rows of a sparse matrix times a strided one, for one instruction set.
#include "kernels/library/products/sparse_product_isa.h"

#include "kernels/library/vec.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

/// Columns [at, at + count * V::width) of one row: sums in registers, over all elements. Which row of the right matrix is next is not
/// seen by the hardware: it is prefetched `ahead` elements before, of these rows and of those after, up to element `end`.
template <class V, int count, class T>
[[gnu::always_inline]] inline void piece(const SparseRows<T>& r, int64_t row, int64_t at, int64_t end,
                                         [[maybe_unused]] uint32_t lanes = 0) {
    constexpr int64_t ahead = 16;
    constexpr bool masked = sizeof(V) == 64 && count == 1; // of one register these lanes
    V sums[count];
    for (int i = 0; i < count; ++i) sums[i] = V::all(0);
    for (int64_t e = r.starts[row]; e < r.starts[row + 1]; ++e) {
        const V value = V::all(r.values[e & r.different]);
        const T* from = r.right + r.columns[e] * r.width + at;
        if constexpr (count > 1) {
            const T* next = r.right + r.columns[e + ahead < end ? e + ahead : e] * r.width + at;
#pragma GCC unroll 8
            for (int i = 0; i < count; i += 64 / static_cast<int>(sizeof(V))) __builtin_prefetch(next + i * V::width);
        }
#pragma GCC unroll 8
        for (int i = 0; i < count; ++i) {
            if constexpr (masked) sums[i].add_product(value, V::load(from, lanes));
            else sums[i].add_product(value, V::load(from + i * V::width));
        }
    }
    const auto put = [&](int i) __attribute__((always_inline)) {
        T* to = r.result + row * r.width + at + i * V::width;
        if constexpr (masked) sums[i].store(to, lanes);
        else sums[i].store(to);
    };
    if constexpr (sizeof(V) == 16) // a loop takes less room
        for (int i = 0; i < count; ++i) put(i);
    else
#pragma GCC unroll 8
        for (int i = 0; i < count; ++i) put(i);
}

template <class T> void rows(const SparseRows<T>& r, int64_t first, int64_t last) {
    constexpr int W = Vec<T>::width, most = sizeof(Vec<T>) == 64 ? 4 : 8; // registers at once
    const int64_t end = r.starts[last];
    for (int64_t row = first; row < last; ++row) {
        int64_t at = 0;
        for (; at + most * W <= r.width; at += most * W) piece<Vec<T>, most>(r, row, at, end);
        for (; at + 2 * W <= r.width; at += 2 * W) piece<Vec<T>, 2>(r, row, at, end);
#if defined(__AVX512F__)
        for (; at < r.width; at += W) piece<Vec<T>, 1>(r, row, at, end, first_lanes<T>(r.width - at));
#else
        for (; at + W <= r.width; at += W) piece<Vec<T>, 1>(r, row, at, end);
        for (; at < r.width; ++at) piece<One<T>, 1>(r, row, at, end);
#endif
    }
}

} // namespace

const SparseProduct sparse_product = {rows<float>, rows<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
