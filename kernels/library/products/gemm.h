// kernels/library/products/gemm.h: matrix products of every dtype, with any strides, in batches.
//
// An element of the result has the same bits whatever the thread count, the batch or the rest of the matrix. Products
// are summed in the order of k (fused for float and double), in blocks whose size depends on the dtype alone. Products
// with few rows or columns have a fixed order of their own. Half types are accumulated in float.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace kindling::library {

/// out = alpha * (a @ b) + beta * c for each of `batch` matrices. Strides count elements.
struct Gemm {
    DType dtype;
    int64_t m, n, k; // a is m x k, b is k x n, out and c are m x n
    const void* a;
    int64_t a_row, a_column;
    const void* b;
    int64_t b_row, b_column;
    void* out;
    int64_t out_row, out_column;
    // Added to the product; null for none. May be `out` itself. A row vector has c_row 0.
    const void* c = nullptr;
    int64_t c_row = 0, c_column = 0;
    double alpha = 1, beta = 1; // with a complex dtype these are the real parts
    double alpha_imaginary = 0, beta_imaginary = 0;
    int64_t integer_alpha = 1, integer_beta = 1; // for the integer dtypes
    bool a_conjugate = false, b_conjugate = false;
    int64_t batch = 1;
    int64_t a_batch = 0, b_batch = 0, out_batch = 0, c_batch = 0;
    int64_t b_panel = 0; // not 0: b is packed in panels (below), so far apart; b_row and b_column are theirs
};

/// All dtypes but bool. With beta 0 the values of c are not read.
void gemm(const Gemm& problem);
/// a @ b of int8 matrices into int32, by AMX tiles; false if there are none or they do not pay. Only shapes, operands
/// and `out` of the problem are read. The columns of `out` must be contiguous.
bool gemm_bytes(const Gemm& problem);

/// A matrix b of float or double that many products read, packed in the order in which they read it: panels of
/// `panel_columns` columns, with the rows of a panel consecutive. The last panel is padded with zeros.
int64_t panel_columns(DType dtype);
/// `to` has room for k times n numbers, n rounded up to whole panels.
void pack_panels(DType dtype, void* to, const void* b, int64_t b_row, int64_t b_column, int64_t k, int64_t n);

/// to[k * to_stride + r] = from[r * from_stride + k] for `rows` rows of `count` numbers of float or double.
void turn_numbers(DType dtype, void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t rows, int64_t count);

} // namespace kindling::library
