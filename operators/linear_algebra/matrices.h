// operators/linear_algebra/matrices.h: what the families of linear algebra share: batches of matrices that lie by columns, as LAPACK
// wants them, checks in torch's words, and the few products that derivatives are written in.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/batch.h"
#include "core/dispatch.h"
#include "generated/functions.h"
#include "kernels/library/factors/batches.h"
#include "kernels/library/factors/lapack.h"
#include "operators/forms.h"
#include "operators/kernel.h"

namespace kindling::matrices {

inline Tensor number(double value) { return wrap_number(Scalar(value)); }
inline Tensor T(const Tensor& t) { return transpose(t, -2, -1); }
/// The conjugate transpose.
inline Tensor H(const Tensor& t) { return t.is_complex() ? conj(T(t)) : T(t); }
inline Tensor diagonals(const Tensor& t) { return diagonal(t, 0, -2, -1); }
inline int64_t eye_size(const Tensor& t) { return std::min(t.size(-2), t.size(-1)); }

inline IntList batch_of(const Tensor& t, size_t behind = 2) {
    KINDLING_CHECK(Runtime, t.sizes().size() >= behind, "expected a tensor with at least %zu dimensions, got %s", behind,
                   str(t.sizes()).c_str());
    return IntList(t.sizes().data(), t.sizes().size() - behind);
}
inline Sizes with(IntList batch, std::initializer_list<int64_t> more) {
    Sizes sizes = batch;
    for (int64_t size : more) sizes.push_back(size);
    return sizes;
}

/// A fresh batch of m x n matrices, each by columns.
inline Tensor empty_by_columns(IntList batch, int64_t m, int64_t n, DType dtype, Device device = {}) {
    Sizes sizes = with(batch, {m, n}), strides = contiguous_strides(sizes);
    size_t last = sizes.size() - 1;
    strides[last] = std::max<int64_t>(m, 1);
    strides[last - 1] = 1;
    return make_tensor(sizes, strides, dtype, device);
}
/// A copy of `t` by columns, with `rows` rows of which the surplus is not set; t broadcasts over `batch`.
inline Tensor by_columns(const Tensor& t, IntList batch, DType dtype) {
    Tensor copy = empty_by_columns(batch, t.size(-2), t.size(-1), dtype, t.device());
    if (!copy.is_meta() && copy.numel()) copy_into(copy, resolve_lazy_bits(t));
    return copy;
}
inline Tensor by_columns(const Tensor& t) { return by_columns(t, batch_of(t), t.dtype()); }

/// How many matrices (or, with behind = 1, vectors) a tensor holds, and where each starts.
inline int64_t count_of(const Tensor& t, size_t behind = 2) {
    int64_t count = 1;
    for (int64_t size : batch_of(t, behind)) count *= size;
    return count;
}
template <class A> void* matrix_at(const A& t, int64_t i) {
    return static_cast<char*>(t.data()) + i * t.size(-2) * t.size(-1) * static_cast<int64_t>(t.element_size());
}
template <class A> void* vector_at(const A& t, int64_t i) {
    return static_cast<char*>(t.data()) + i * t.size(-1) * static_cast<int64_t>(t.element_size());
}

// ---- what kernels compute with: batches of matrices by columns

/// How many matrices that have elements.
inline int64_t count_of(const Array& t) { return t.numel() ? t.numel() / (t.size(-2) * t.size(-1)) : 0; }
using library::each_matrix;
inline void fill_identity(const Array& t) {
    std::memset(t.data(), 0, static_cast<size_t>(t.numel()) * t.element_size());
    const int64_t m = t.size(-2), n = t.size(-1);
    for (int64_t i = 0; i < count_of(t); i++)
        for (int64_t j = 0; j < std::min(m, n); j++) {
            char* at = static_cast<char*>(matrix_at(t, i)) + (j * m + j) * static_cast<int64_t>(t.element_size());
            if (to_real(t.dtype()) == DType::Float32) *reinterpret_cast<float*>(at) = 1; // of complex numbers the real part
            else *reinterpret_cast<double*>(at) = 1;
        }
}
inline bool all_finite(const Array& t) {
    const int64_t count = t.numel() * (t.is_complex() ? 2 : 1);
    bool finite = true;
    for (int64_t i = 0; i < count; i++)
        finite &= to_real(t.dtype()) == DType::Float32 ? std::isfinite(t.data_ptr<float>()[i]) : std::isfinite(t.data_ptr<double>()[i]);
    return finite;
}

// ---- checks

inline void need_matrix(const Tensor& t, const char* name, const char* argument = "A") {
    KINDLING_CHECK(Runtime, t.dim() >= 2, "%s: The input tensor %s must have at least 2 dimensions.", name, argument);
}
inline void need_square(const Tensor& t, const char* name, const char* argument = "A") {
    need_matrix(t, name, argument);
    KINDLING_CHECK(Runtime, t.size(-1) == t.size(-2), "%s: %s must be batches of square matrices, but they are %ld by %ld matrices", name,
                   argument, t.size(-2), t.size(-1));
}
/// NotImplementedError for what LAPACK has no routine for.
inline void need_kernel(const Tensor& t, const char* kernel) {
    KINDLING_CHECK(NotImplemented, is_differentiable(t.dtype()) && !is_half(t.dtype()), "\"%s\" not implemented for '%s'", kernel,
                   scalar_type_name(t.dtype()));
}
/// Half types have no `kernel`, or, if that is null, are refused by the operator.
inline void need_field(const Tensor& t, const char* name, const char* kernel = nullptr) {
    KINDLING_CHECK(Runtime, is_differentiable(t.dtype()), "%s: Expected a floating point or complex tensor as input. Got %s", name,
                   scalar_type_name(t.dtype()));
    if (kernel) return need_kernel(t, kernel);
    KINDLING_CHECK(Runtime, !is_half(t.dtype()), "%s: Low precision dtypes not supported. Got %s", name, scalar_type_name(t.dtype()));
}
inline void need_same(const Tensor& a, const Tensor& b, const char* name) {
    KINDLING_CHECK(Runtime, a.dtype() == b.dtype(),
                   "%s: Expected A and B to have the same dtype, but found A of type %s and B of type %s instead", name,
                   scalar_type_name(a.dtype()), scalar_type_name(b.dtype()));
}

enum class Failure : uint8_t { Singular, Solver, NotPositive, Eigenvalues, SingularValues, Factor, LeastSquares, Indefinite };
/// torch.linalg.LinAlgError for the first info that is not zero.
inline void raise_on(const int32_t* infos, int64_t count, bool batched, const char* name, Failure failure) {
    for (int64_t i = 0; i < count; i++) {
        int code = infos[i];
        if (!code) continue;
        std::string where = batched ? format(": (Batch element %ld)", static_cast<long>(i)) : std::string();
        const char* batch = where.c_str();
        switch (failure) {
        case Failure::Singular:
            fail(ErrorKind::LinAlg,
                 "%s%s: The diagonal element %d is zero, the inversion could not be completed because the input matrix is singular.", name,
                 batch, code);
        case Failure::Solver: fail(ErrorKind::LinAlg, "%s%s: The solver failed because the input matrix is singular.", name, batch);
        case Failure::NotPositive:
            fail(ErrorKind::LinAlg,
                 "%s%s: The factorization could not be completed because the input is not positive-definite (the leading minor of order %d "
                 "is not positive-definite).",
                 name, batch, code);
        case Failure::Eigenvalues:
            fail(ErrorKind::LinAlg,
                 "%s%s: The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues "
                 "(error code: %d).",
                 name, batch, code);
        case Failure::SingularValues:
            fail(ErrorKind::LinAlg,
                 "%s%s: The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated singular "
                 "values (error code: %d).",
                 name, batch, code);
        case Failure::Factor:
            fail(ErrorKind::LinAlg,
                 "%s%s: U[%d,%d] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
                 "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
                 name, batch, code, code);
        case Failure::LeastSquares:
            fail(
                ErrorKind::LinAlg,
                "%s%s: The least squares solution could not be computed because the input matrix does not have full rank (error code: %d).",
                name, batch, code);
        case Failure::Indefinite:
            fail(ErrorKind::LinAlg,
                 "%s%s: The factorization could not be completed because the input is singular (the diagonal element %d is zero).", name,
                 batch, code);
        }
    }
}

inline void raise_on(const Tensor& info, const char* name, Failure failure) {
    const Tensor all = all_slices(info);
    if (!all.is_meta()) raise_on(all.data_ptr<int32_t>(), all.numel(), all.dim(), name, failure);
}
inline void raise_on(const Array& info, const char* name, Failure failure) {
    raise_on(info.data_ptr<int32_t>(), info.numel(), info.dim(), name, failure);
}

// ---- solvers' second argument

/// Whether B stands for one vector for each matrix, not for matrices: numpy's rule.
inline bool is_vector(const Tensor& A, const Tensor& B) {
    if (B.dim() == 1) return true;
    if (A.dim() - 1 != B.dim()) return false;
    return batch_of(A, 1) == B.sizes();
}

} // namespace kindling::matrices
