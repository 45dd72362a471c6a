// kernels/library/turn.h: transposes in registers; for files compiled once for each instruction set.
#pragma once
#include <cstdint>

#include "kernels/intrinsics.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {

// Four by four, two by two in double.
inline void turn_square(float* to, int64_t to_stride, const float* from, int64_t from_stride) {
    __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + from_stride), c = _mm_loadu_ps(from + 2 * from_stride),
           d = _mm_loadu_ps(from + 3 * from_stride);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + to_stride, b);
    _mm_storeu_ps(to + 2 * to_stride, c);
    _mm_storeu_ps(to + 3 * to_stride, d);
}
inline void turn_square(double* to, int64_t to_stride, const double* from, int64_t from_stride) {
    __m128d a = _mm_loadu_pd(from), b = _mm_loadu_pd(from + from_stride);
    _mm_storeu_pd(to, _mm_unpacklo_pd(a, b));
    _mm_storeu_pd(to + to_stride, _mm_unpackhi_pd(a, b));
}
#if defined(__AVX512F__)
// The same for a cache line of each row: each line is read once, whatever the distance of the rows.
constexpr int64_t line_bytes = 64;
inline void turn_lines(float* to, int64_t to_stride, const float* from, int64_t from_stride) {
    __m512 a = _mm512_loadu_ps(from), b = _mm512_loadu_ps(from + from_stride), c = _mm512_loadu_ps(from + 2 * from_stride),
           d = _mm512_loadu_ps(from + 3 * from_stride);
    __m512 ab = _mm512_unpacklo_ps(a, b), cd = _mm512_unpacklo_ps(c, d), ab_high = _mm512_unpackhi_ps(a, b),
           cd_high = _mm512_unpackhi_ps(c, d);
    const __m512 turned[4] = {_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xEE), _mm512_shuffle_ps(ab_high, cd_high, 0x44),
                              _mm512_shuffle_ps(ab_high, cd_high, 0xEE)};
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        _mm_storeu_ps(to + i * to_stride, _mm512_castps512_ps128(turned[i]));
        _mm_storeu_ps(to + (i + 4) * to_stride, _mm512_extractf32x4_ps(turned[i], 1));
        _mm_storeu_ps(to + (i + 8) * to_stride, _mm512_extractf32x4_ps(turned[i], 2));
        _mm_storeu_ps(to + (i + 12) * to_stride, _mm512_extractf32x4_ps(turned[i], 3));
    }
}
inline void turn_lines(double* to, int64_t to_stride, const double* from, int64_t from_stride) {
    __m512d a = _mm512_loadu_pd(from), b = _mm512_loadu_pd(from + from_stride);
    const __m512d turned[2] = {_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b)};
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
        _mm_storeu_pd(to + i * to_stride, _mm512_castpd512_pd128(turned[i]));
        _mm_storeu_pd(to + (i + 2) * to_stride, _mm512_extractf64x2_pd(turned[i], 1));
        _mm_storeu_pd(to + (i + 4) * to_stride, _mm512_extractf64x2_pd(turned[i], 2));
        _mm_storeu_pd(to + (i + 6) * to_stride, _mm512_extractf64x2_pd(turned[i], 3));
    }
}
#else
constexpr int64_t line_bytes = 16;
template <class T> inline void turn_lines(T* to, int64_t to_stride, const T* from, int64_t from_stride) {
    turn_square(to, to_stride, from, from_stride);
}
#endif
// Two rows, which tiles of six have left.
inline void turn_pair(float* to, int64_t to_stride, const float* from, int64_t from_stride) {
    const __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + from_stride), low = _mm_unpacklo_ps(a, b), high = _mm_unpackhi_ps(a, b);
    _mm_storel_pi(reinterpret_cast<__m64*>(to), low);
    _mm_storeh_pi(reinterpret_cast<__m64*>(to + to_stride), low);
    _mm_storel_pi(reinterpret_cast<__m64*>(to + 2 * to_stride), high);
    _mm_storeh_pi(reinterpret_cast<__m64*>(to + 3 * to_stride), high);
}
/// to[p * to_stride + r] = from[r * from_stride + p] for r < rows, p < k. Not copied into its callers: it is long.
template <class T>
[[gnu::noinline, gnu::noclone]] void turn(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t k) {
    constexpr int64_t side = 16 / sizeof(T), line = line_bytes / sizeof(T);
    int64_t row_end = rows / side * side, k_end = k / side * side, p = 0;
    for (; p + line <= k; p += line)
        for (int64_t r = 0; r < row_end; r += side) turn_lines(to + p * to_stride + r, to_stride, from + r * from_stride + p, from_stride);
    for (; p < k_end; p += side)
        for (int64_t r = 0; r < row_end; r += side) turn_square(to + p * to_stride + r, to_stride, from + r * from_stride + p, from_stride);
    if constexpr (sizeof(T) == 4)
        if (rows - row_end >= 2) {
            for (p = 0; p < k_end; p += side)
                turn_pair(to + p * to_stride + row_end, to_stride, from + row_end * from_stride + p, from_stride);
            row_end += 2;
        }
    for (int64_t r = row_end; r < rows; ++r)
        for (p = 0; p < k_end; ++p) to[p * to_stride + r] = from[r * from_stride + p];
    for (p = k_end; p < k; ++p)
        for (int64_t r = 0; r < rows; ++r) to[p * to_stride + r] = from[r * from_stride + p];
}

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
