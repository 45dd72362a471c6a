// kernels/library/factors/lanes_isa.h: factorisations of several small matrices at once. Built for AVX2 alone: processors with AVX-512 run
// that too, and others factor matrices one by one, with the same results.
#pragma once
#include <cstdint>
#include <limits>

#include "kernels/library/factors/small_factors.h"

namespace kindling::library {

/// Squares of numbers beyond 2 to this power, or to its negative, are not exact enough for a reflector: it is made of scaled numbers.
template <class T> constexpr int reflector_range = std::numeric_limits<T>::max_exponent / 32 * 25;

constexpr int64_t largest_in_lanes = lapack::small_matrix; // rows and columns

/// Of at most `lanes` matrices of at most 16 rows and columns, stored by columns one behind the other. Multiplications and sums are those
/// of the routines for one matrix, in the same order, and not fused: the results have the same bits. `work` has lane_room bytes. False,
/// with nothing written, if a matrix is one for which that routine leaves its usual way (a pivot of zero, no positive number
/// on the diagonal, numbers whose squares overflow).
struct LaneFactors {
    int64_t lanes;
    /// LAPACK's getrf. The pivots of two matrices are min(m, n) apart. `rows`, if not null, has the matrices by rows, and a is only
    /// written.
    bool (*lu)(int64_t count, int64_t m, int64_t n, const void* rows, void* a, int32_t* pivots, void* work);
    /// getrs, of `right` sides.
    bool (*solve)(int64_t count, int64_t n, int64_t right, const void* lu, const int32_t* pivots, const void* rows, void* x, void* work);
    /// A matrix becomes its inverse.
    bool (*inverse)(int64_t count, int64_t n, const void* rows, void* a, void* work);
    /// potrf; the other triangle becomes 0.
    bool (*cholesky)(int64_t count, bool upper, int64_t n, void* a, void* work);
    /// geqrf and orgqr: q of m x width, r of width x n with zeros below its diagonal. No q if that is null.
    bool (*qr)(int64_t count, int64_t m, int64_t n, int64_t width, const void* a, void* q, void* r, void* work);
};
/// A matrix, right-hand sides or Q, and a vector or two.
constexpr int64_t lane_room = (2 * largest_in_lanes + 2) * largest_in_lanes * 32;

/// Of float, of double.
namespace isa_avx2 { extern const LaneFactors lane_factors[2]; }

} // namespace kindling::library
