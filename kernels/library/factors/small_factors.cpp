// kernels/library/factors/small_factors.cpp: a column at a time, so that inner loops run along memory.
// Compiled for size.
#include "kernels/library/factors/small_factors.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kindling::library::lapack {
namespace {

template <class T> void subtract(T* to, const T* from, T factor, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] -= from[i] * factor;
}

template <class T>
void getrs(bool transposed, int64_t n, int64_t nrhs, const T* lu, int64_t lda, const int32_t* pivots, T* b, int64_t ldb) {
    for (int64_t c = 0; c < nrhs; ++c, b += ldb) {
        if (transposed) {
            for (int64_t k = 0; k < n; ++k) {
                for (int64_t i = 0; i < k; ++i) b[k] -= lu[k * lda + i] * b[i];
                b[k] /= lu[k * lda + k];
            }
            for (int64_t k = n - 1; k >= 0; --k)
                for (int64_t i = k + 1; i < n; ++i) b[k] -= lu[k * lda + i] * b[i];
            for (int64_t k = n - 1; k >= 0; --k) std::swap(b[k], b[pivots[k] - 1]);
        } else {
            for (int64_t k = 0; k < n; ++k) std::swap(b[k], b[pivots[k] - 1]);
            for (int64_t k = 0; k < n; ++k) subtract(b, lu + k * lda, b[k], k + 1, n);
            for (int64_t k = n - 1; k >= 0; --k) {
                b[k] /= lu[k * lda + k];
                subtract(b, lu + k * lda, b[k], 0, k);
            }
        }
    }
}

template <class T> void getri(int64_t n, T* lu, int64_t lda, const int32_t* pivots) {
    T factors[small_inverse * small_inverse];
    for (int64_t j = 0; j < n; ++j) {
        std::copy_n(lu + j * lda, n, factors + j * n);
        std::fill_n(lu + j * lda, n, T{0});
        lu[j * lda + j] = 1;
    }
    getrs(false, n, n, factors, n, pivots, lu, lda);
}

template <class T> int potrf(bool upper, int64_t n, T* a, int64_t lda) {
    for (int64_t j = 0; j < n; ++j) {
        T* column = a + j * lda;
        if (upper) {
            for (int64_t i = 0; i < j; ++i) {
                const T* other = a + i * lda;
                for (int64_t k = 0; k < i; ++k) column[i] -= other[k] * column[k];
                column[i] /= other[i];
            }
            for (int64_t k = 0; k < j; ++k) column[j] -= column[k] * column[k];
        } else {
            for (int64_t k = 0; k < j; ++k) subtract(column, a + k * lda, a[k * lda + j], j, n);
        }
        if (!(column[j] > 0)) return static_cast<int>(j + 1);
        const T root = std::sqrt(column[j]);
        column[j] = root;
        if (!upper)
            for (int64_t i = j + 1; i < n; ++i) column[i] /= root;
    }
    return 0;
}

} // namespace

bool is_small(DType dtype, int64_t m, int64_t n) {
    return std::max(m, n) <= small_matrix && (dtype == DType::Float32 || dtype == DType::Float64);
}
void small_getrs(DType dtype, bool transposed, int64_t n, int64_t nrhs, const void* lu, int64_t lda, const int32_t* pivots, void* b,
                 int64_t ldb) {
    if (dtype == DType::Float32) return getrs(transposed, n, nrhs, static_cast<const float*>(lu), lda, pivots, static_cast<float*>(b), ldb);
    getrs(transposed, n, nrhs, static_cast<const double*>(lu), lda, pivots, static_cast<double*>(b), ldb);
}
void small_getri(DType dtype, int64_t n, void* lu, int64_t lda, const int32_t* pivots) {
    if (dtype == DType::Float32) return getri(n, static_cast<float*>(lu), lda, pivots);
    getri(n, static_cast<double*>(lu), lda, pivots);
}
int small_potrf(DType dtype, bool upper, int64_t n, void* a, int64_t lda) {
    if (dtype == DType::Float32) return potrf(upper, n, static_cast<float*>(a), lda);
    return potrf(upper, n, static_cast<double*>(a), lda);
}

} // namespace kindling::library::lapack
