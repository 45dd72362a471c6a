// kernels/library/vec.h: one vector register, for files compiled once for each instruction set.
#pragma once
#include "kernels/intrinsics.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {

/// A register of floats or doubles of the instruction set being compiled for.
template <class T> struct Vec;
#if defined(__AVX512F__)
template <> struct Vec<float> {
    static constexpr int width = 16;
    __m512 v;
    static Vec zero() { return {_mm512_setzero_ps()}; }
    static Vec all(float x) { return {_mm512_set1_ps(x)}; }
    static Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
    static Vec load(const float* p, uint32_t lanes) { return {_mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes), p)}; }
    void store(float* p) const { _mm512_storeu_ps(p, v); }
    void store(float* p, uint32_t lanes) const { _mm512_mask_storeu_ps(p, static_cast<__mmask16>(lanes), v); }
    void add_product(Vec a, Vec b) { v = _mm512_fmadd_ps(a.v, b.v, v); }
};
template <> struct Vec<double> {
    static constexpr int width = 8;
    __m512d v;
    static Vec zero() { return {_mm512_setzero_pd()}; }
    static Vec all(double x) { return {_mm512_set1_pd(x)}; }
    static Vec load(const double* p) { return {_mm512_loadu_pd(p)}; }
    static Vec load(const double* p, uint32_t lanes) { return {_mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes), p)}; }
    void store(double* p) const { _mm512_storeu_pd(p, v); }
    void store(double* p, uint32_t lanes) const { _mm512_mask_storeu_pd(p, static_cast<__mmask8>(lanes), v); }
    void add_product(Vec a, Vec b) { v = _mm512_fmadd_pd(a.v, b.v, v); }
};
#elif defined(__AVX2__)
template <> struct Vec<float> {
    static constexpr int width = 8;
    __m256 v;
    static Vec zero() { return {_mm256_setzero_ps()}; }
    static Vec all(float x) { return {_mm256_set1_ps(x)}; }
    static Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
    void store(float* p) const { _mm256_storeu_ps(p, v); }
    void add_product(Vec a, Vec b) { v = _mm256_fmadd_ps(a.v, b.v, v); }
};
template <> struct Vec<double> {
    static constexpr int width = 4;
    __m256d v;
    static Vec zero() { return {_mm256_setzero_pd()}; }
    static Vec all(double x) { return {_mm256_set1_pd(x)}; }
    static Vec load(const double* p) { return {_mm256_loadu_pd(p)}; }
    void store(double* p) const { _mm256_storeu_pd(p, v); }
    void add_product(Vec a, Vec b) { v = _mm256_fmadd_pd(a.v, b.v, v); }
};
#else
template <> struct Vec<float> {
    static constexpr int width = 4;
    __m128 v;
    static Vec zero() { return {_mm_setzero_ps()}; }
    static Vec all(float x) { return {_mm_set1_ps(x)}; }
    static Vec load(const float* p) { return {_mm_loadu_ps(p)}; }
    void store(float* p) const { _mm_storeu_ps(p, v); }
    void add_product(Vec a, Vec b) { v = _mm_add_ps(_mm_mul_ps(a.v, b.v), v); }
};
template <> struct Vec<double> {
    static constexpr int width = 2;
    __m128d v;
    static Vec zero() { return {_mm_setzero_pd()}; }
    static Vec all(double x) { return {_mm_set1_pd(x)}; }
    static Vec load(const double* p) { return {_mm_loadu_pd(p)}; }
    void store(double* p) const { _mm_storeu_pd(p, v); }
    void add_product(Vec a, Vec b) { v = _mm_add_pd(_mm_mul_pd(a.v, b.v), v); }
};
#endif

/// The lanes of as many numbers as there are, at most a register's.
template <class T> inline uint32_t first_lanes(int64_t count) { return count >= Vec<T>::width ? ~0u : count > 0 ? (1u << count) - 1 : 0; }
/// The first `count` numbers of a register; the others are 0, and not read.
template <class T> inline Vec<T> load_first(const T* from, int64_t count) {
    if (count >= Vec<T>::width) return Vec<T>::load(from);
#if defined(__AVX512F__)
    return Vec<T>::load(from, first_lanes<T>(count));
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4) {
        const __m256i place = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        return {_mm256_maskload_ps(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), place))};
    } else {
        return {_mm256_maskload_pd(from, _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3)))};
    }
#else
    T some[Vec<T>::width] = {};
    for (int64_t l = 0; l < count; ++l) some[l] = from[l];
    return Vec<T>::load(some);
#endif
}

/// totals[i] = the sum of the lanes of partial[i], halved until one is left.
inline void fold(const float (&partial)[4][16], float* totals) {
    __m128 c[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const float* p = partial[i];
        c[i] = _mm_add_ps(_mm_add_ps(_mm_load_ps(p), _mm_load_ps(p + 8)), _mm_add_ps(_mm_load_ps(p + 4), _mm_load_ps(p + 12)));
    }
    _MM_TRANSPOSE4_PS(c[0], c[1], c[2], c[3]);
    _mm_storeu_ps(totals, _mm_add_ps(_mm_add_ps(c[0], c[2]), _mm_add_ps(c[1], c[3])));
}
template <int L> inline void fold(const double (&partial)[4][L], double* totals) {
    __m128d c[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        __m128d lane[L / 2];
#pragma GCC unroll 8
        for (int l = 0; l < L / 2; ++l) lane[l] = _mm_load_pd(partial[i] + 2 * l);
        for (int half = L / 4; half; half /= 2)
            for (int l = 0; l < half; ++l) lane[l] = _mm_add_pd(lane[l], lane[l + half]);
        c[i] = lane[0];
    }
    _mm_storeu_pd(totals, _mm_add_pd(_mm_unpacklo_pd(c[0], c[1]), _mm_unpackhi_pd(c[0], c[1])));
    _mm_storeu_pd(totals + 2, _mm_add_pd(_mm_unpacklo_pd(c[2], c[3]), _mm_unpackhi_pd(c[2], c[3])));
}

/// One number with the same interface, for remainders.
template <class T> struct One {
    static constexpr int width = 1;
    T v;
    static One all(T x) { return {x}; }
    static One load(const T* p) { return {*p}; }
    void store(T* p) const { *p = v; }
    void add_product(One a, One b) {
#if defined(__FMA__)
        if constexpr (sizeof(T) == 4) v = __builtin_fmaf(a.v, b.v, v);
        else v = __builtin_fma(a.v, b.v, v);
#else
        v += a.v * b.v;
#endif
    }
};

// gcc's vector types have the operators; each is rounded by itself.
template <class T> inline Vec<T> operator+(Vec<T> a, Vec<T> b) { return {a.v + b.v}; }
template <class T> inline Vec<T> operator-(Vec<T> a, Vec<T> b) { return {a.v - b.v}; }
template <class T> inline Vec<T> operator*(Vec<T> a, Vec<T> b) { return {a.v * b.v}; }
template <class T> inline One<T> operator+(One<T> a, One<T> b) { return {a.v + b.v}; }
template <class T> inline One<T> operator-(One<T> a, One<T> b) { return {a.v - b.v}; }
template <class T> inline One<T> operator*(One<T> a, One<T> b) { return {a.v * b.v}; }

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
