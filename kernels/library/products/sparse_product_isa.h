// kernels/library/products/sparse_product_isa.h: rows of a sparse matrix times a strided one, built once for each instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// Row r of the sparse matrix has the elements [starts[r], starts[r + 1]). `right` has `width` contiguous elements per
/// row.
template <class T> struct SparseRows {
    const int64_t* starts;
    const int64_t* columns;
    const T* values;
    int64_t different; // -1, or 0 if they are one number
    const T* right;
    int64_t width;
    T* result;
};

/// Rows [first, last) of the result.
struct SparseProduct {
    void (*floats)(const SparseRows<float>& rows, int64_t first, int64_t last);
    void (*doubles)(const SparseRows<double>& rows, int64_t first, int64_t last);
};

namespace isa_baseline { extern const SparseProduct sparse_product; }
namespace isa_avx2 { extern const SparseProduct sparse_product; }
namespace isa_avx512 { extern const SparseProduct sparse_product; }

} // namespace kindling::library
