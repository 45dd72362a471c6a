// kernels/library/products/sparse_product.cpp: distributes rows of a sparse matrix over threads.
#include "kernels/library/products/sparse_product.h"

#include <algorithm>

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/library/products/sparse_product_isa.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

template <class T>
void multiply(void (*run)(const SparseRows<T>&, int64_t, int64_t), int64_t rows, const int64_t* starts, const int64_t* columns,
              const void* values, const void* right, int64_t width, void* result) {
    static constexpr T one = 1;
    const SparseRows<T> given{starts,
                              columns,
                              values ? static_cast<const T*>(values) : &one,
                              values ? -1 : 0,
                              static_cast<const T*>(right),
                              width,
                              static_cast<T*>(result)};
    const int64_t work = starts[rows] * width;
    parallel_for(0, rows, std::max<int64_t>(rows * 65536 / std::max<int64_t>(work, 1), 1),
                 [&](int64_t first, int64_t last) { run(given, first, last); });
}

} // namespace

void sparse_times_strided(DType dtype, int64_t rows, const int64_t* starts, const int64_t* columns, const void* values, const void* right,
                          int64_t width, void* result) {
    KINDLING_ASSERT(dtype == DType::Float32 || dtype == DType::Float64);
    const SparseProduct& product = KINDLING_OF_ISA(sparse_product);
    if (dtype == DType::Float32) multiply(product.floats, rows, starts, columns, values, right, width, result);
    else multiply(product.doubles, rows, starts, columns, values, right, width, result);
}

} // namespace kindling::library
