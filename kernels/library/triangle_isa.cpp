// kernels/library/triangle_isa.cpp: substitution, a lane for each right-hand side, LU of few columns, reflections. Multiplications and
// sums are not fused, so these parts have the same bits on every instruction set.
#include "kernels/library/triangle_isa.h"

#include "kernels/library/vec.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

template <class T>
void substitute(const Triangle<T>& t, int64_t size, T* x, int64_t step, int64_t count) {
    const int64_t from = t.forward ? 0 : size - 1, next = t.forward ? 1 : -1;
    for (int64_t c = 0; c < count; c += triangle_lanes<T>) {
        int64_t i = from;
        for (int64_t left = size - 1; left >= 0; --left, i += next) {
            auto* known = reinterpret_cast<Lanes<T>*>(x + i * step + c);
            Lanes<T> value = *known;
            const T* factor = t.a + i * (t.row + t.column);
            if (!t.unit) *known = value /= *factor;
            T* other = x + i * step + c;
            for (int64_t k = 0; k < left; ++k) {    // what is known now leaves the equations behind
                factor += next * t.row;
                other += next * step;
                *reinterpret_cast<Lanes<T>*>(other) -= *factor * value;
            }
        }
    }
}

/// run(a vector or a number, where) for [i, end).
template <class T, class F>
void each(int64_t i, int64_t end, F run) {
    for (; i + triangle_lanes<T> <= end; i += triangle_lanes<T>) run(Lanes<T>{}, i);
    for (; i < end; ++i) run(T{}, i);
}

template <class T>
T magnitude(T x) { return x < 0 ? -x : x; }

/// The first place of the largest magnitude; 0 if the first is NaN.
template <class T>
int64_t largest(const T* x, int64_t count) {
    if (*x != *x) return 0;
    Lanes<T> top{};
    int64_t i = 0;
    for (; i + triangle_lanes<T> <= count; i += triangle_lanes<T>) {
        const Lanes<T> value = *reinterpret_cast<const Lanes<T>*>(x + i), size = value < 0 ? -value : value;
        top = size > top ? size : top;
    }
    T most = 0;
    for (int lane = 0; lane < triangle_lanes<T>; ++lane) most = top[lane] > most ? top[lane] : most;
    for (; i < count; ++i) most = magnitude(x[i]) > most ? magnitude(x[i]) : most;
    for (i = 0; i < count; ++i)
        if (magnitude(x[i]) == most) return i;
    return 0;
}

template <class T>
int factor(int64_t m, int64_t n, T* a, int64_t lda, int32_t* pivots) {
    int info = 0;
    for (int64_t k = 0; k < (m < n ? m : n); ++k) {
        T* column = a + k * lda;
        const int64_t best = k + largest(column + k, m - k);
        pivots[k] = static_cast<int32_t>(best + 1);
        if (column[best] == 0) {
            if (!info) info = static_cast<int>(k + 1);
            continue;
        }
        if (best != k)
            for (int64_t j = 0; j < n; ++j) {
                const T moved = a[j * lda + k];
                a[j * lda + k] = a[j * lda + best];
                a[j * lda + best] = moved;
            }
        const T pivot = column[k];
        each<T>(k + 1, m, [&](auto type, int64_t i) {
            using V = decltype(type);
            *reinterpret_cast<V*>(column + i) /= pivot;
        });
        for (int64_t j = k + 1; j < n; ++j) {
            T* other = a + j * lda;
            const T times = other[k];
            each<T>(k + 1, m, [&](auto type, int64_t i) {
                using V = decltype(type);
                *reinterpret_cast<V*>(other + i) -= *reinterpret_cast<const V*>(column + i) * times;
            });
        }
    }
    return info;
}

#if defined(__AVX2__)
constexpr int unrolled = 4;
#else
constexpr int unrolled = 1;     // four sums are sixteen registers, which there are not: smaller code is as fast
#endif

template <class T>
void reflect(const T* v, T tau, int64_t rows, T* x, int64_t step, int64_t count) {
    constexpr int64_t lanes = triangle_lanes<T>;
    constexpr int few = 4;      // columns at a time, so that v is read for all and their sums do not wait for one another
    for (const T* end = x + count * step; x != end; x += few * step) {
        Lanes<T> sums[few] = {};
        for (int64_t i = 0; i < rows; i += lanes) {
            const Lanes<T> factor = *reinterpret_cast<const Lanes<T>*>(v + i);
#pragma GCC unroll unrolled
            for (int c = 0; c < few; ++c) sums[c] += factor * *reinterpret_cast<const Lanes<T>*>(x + c * step + i);
        }
        alignas(64) T partial[few][lanes], times[few];
#pragma GCC unroll unrolled
        for (int c = 0; c < few; ++c) *reinterpret_cast<Lanes<T>*>(partial[c]) = sums[c];
        fold(partial, times);
        for (T& number : times) number *= tau;
        for (int64_t i = 0; i < rows; i += lanes) {
            const Lanes<T> factor = *reinterpret_cast<const Lanes<T>*>(v + i);
#pragma GCC unroll unrolled
            for (int c = 0; c < few; ++c) *reinterpret_cast<Lanes<T>*>(x + c * step + i) -= factor * times[c];
        }
    }
}

template <class T>
T scale(T* x, int64_t count, T times) {
    Lanes<T> sums = {};
    for (const T* end = x + count; x != end; x += triangle_lanes<T>) {
        auto& numbers = *reinterpret_cast<Lanes<T>*>(x);
        const Lanes<T> scaled = numbers * times;
        numbers = scaled;
        sums += scaled * scaled;
    }
    alignas(64) T partial[4][triangle_lanes<T>] = {}, totals[4];
    *reinterpret_cast<Lanes<T>*>(partial[0]) = sums;
    fold(partial, totals);
    return totals[0];
}

} // namespace

const TriangleLoops triangle_loops = {substitute<float>, substitute<double>, factor<float>, factor<double>, reflect<float>, reflect<double>, scale<float>, scale<double>};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
