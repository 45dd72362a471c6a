// kernels/library/factors/triangle_isa.cpp: substitution, a lane for each right-hand side, LU of few columns, reflections. Multiplications
// and sums are not fused, so these parts have the same bits on every instruction set.
// Compiled for vectors.
#include "kernels/library/factors/triangle_isa.h"

#include <type_traits>

#include "kernels/library/turn.h"
#include "kernels/library/vec.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

// Registers that the instruction set has: g++ keeps wider vectors in memory.
#if defined(__AVX512F__)
constexpr int own_bytes = 64;
#elif defined(__AVX2__)
constexpr int own_bytes = 32;
#else
constexpr int own_bytes = 16;
#endif
// Registers of right-hand sides that are solved together: what is known of one does not wait for another.
#if defined(__AVX512F__)
constexpr int together = 4;
#else
constexpr int together = own_bytes / 16;
#endif
template <class T> using Own [[gnu::vector_size(own_bytes), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;
template <class T> constexpr int64_t own_lanes = own_bytes / static_cast<int64_t>(sizeof(T));
template <class T> Own<T>& own(T* x) { return *reinterpret_cast<Own<T>*>(x); }
template <class T> const Own<T>& own(const T* x) { return *reinterpret_cast<const Own<T>*>(x); }

/// A triangle and right-hand sides, from the first unknown that is solved on.
template <class T> struct Substitution {
    const T* a;
    int64_t row, column;
    T* x;
    int64_t step;
    bool unit;
    /// Solves for U unknowns from number i on and C registers of right-hand sides: those known before leave their equations one after the
    /// other, in registers, then the first of them leaves the others'.
    template <int U, int C> [[gnu::always_inline]] void solve(int64_t i) const {
        Own<T> value[U][C];
        const T* factors = a + i * row;
        T *to = x + i * step, *known = x;
#pragma GCC unroll 4
        for (int u = 0; u < U; ++u)
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) value[u][c] = own(to + u * step + c * own_lanes<T>);
        for (int64_t k = 0; k < i; ++k, factors += column, known += step)
#pragma GCC unroll 4
            for (int u = 0; u < U; ++u)
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c) value[u][c] -= factors[u * row] * own(known + c * own_lanes<T>);
#pragma GCC unroll 4
        for (int u = 0; u < U; ++u, factors += column) {
            if (!unit)
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c) value[u][c] /= factors[u * row];
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) own(to + u * step + c * own_lanes<T>) = value[u][c];
#pragma GCC unroll 4
            for (int other = u + 1; other < U; ++other)
#pragma GCC unroll 4
                for (int c = 0; c < C; ++c) value[other][c] -= factors[other * row] * value[u][c];
        }
    }
    template <int C> [[gnu::noinline]] void solve_all(int64_t size) const {
        int64_t i = 0;
        for (; i + 4 <= size; i += 4) solve<4, C>(i);
        for (; i < size; ++i) solve<1, C>(i);
    }
};

template <class T> void substitute(const Triangle& t, int64_t size, void* right, int64_t step, int64_t count) {
    const int64_t first = t.forward ? 0 : size - 1, next = t.forward ? 1 : -1;
    Substitution<T> s{static_cast<const T*>(t.a) + first * (t.row + t.column),
                      next * t.row,
                      next * t.column,
                      static_cast<T*>(right) + first * step,
                      next * step,
                      t.unit};
    constexpr int64_t several = together * own_lanes<T>;
    for (; count >= several; count -= several, s.x += several) s.template solve_all<together>(size);
    for (; count > 0; count -= own_lanes<T>, s.x += own_lanes<T>) s.template solve_all<1>(size);
}

template <class T> constexpr T numbered[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/// The first place from k on of the largest magnitude of `rows` numbers; k if that is NaN. `i` is where k's register begins, and zeros fill
/// the last one.
template <class T> int64_t largest(const T* x, int64_t k, int64_t i, int64_t rows) {
    using Integer = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    using Integers [[gnu::vector_size(own_bytes)]] = Integer;
    T most = x[k] < 0 ? -x[k] : x[k];
    int64_t best = k;
    if (most != most) return k;
    if (rows - i <= own_lanes<T>) { // to compare lanes takes longer
        for (; ++k < rows;)
            if (const T size = x[k] < 0 ? -x[k] : x[k]; size > most) most = size, best = k;
        return best;
    }
    Integers where = {};
    Own<T> top = {};
    auto from = static_cast<T>(k - i); // rows before k share its register
    for (; i < rows; i += own_lanes<T>, from = 0) {
        const Own<T> size = own(x + i) < 0 ? -own(x + i) : own(x + i);
        const auto larger = (size > top) & (own(numbered<T>) >= from);
        top = larger ? size : top;
        where = larger ? Integers{} + static_cast<Integer>(i) : where;
    }
    for (int lane = 0; lane < own_lanes<T>; ++lane)
        if (const int64_t place = where[lane] + lane; top[lane] > most || (top[lane] == most && place > k && place < best))
            most = top[lane], best = place;
    return best;
}

template <class T> int factor(int64_t m, int64_t n, void* matrix, int64_t step, int32_t* pivots) {
    constexpr int64_t lanes = own_lanes<T>;
    T *a = static_cast<T*>(matrix), *end = a + n * step;
    int info = 0;
    for (int64_t k = 0; k < (m < n ? m : n); ++k) {
        const int64_t begin = k / lanes * lanes;
        T* column = a + k * step;
        const int64_t best = largest(column, k, begin, m);
        pivots[k] = static_cast<int32_t>(best + 1);
        const T pivot = column[best];
        if (pivot == 0) {
            if (!info) info = static_cast<int>(k + 1);
            continue;
        }
        if (best != k)
            for (T* at = a; at != end; at += step) {
                const T moved = at[k];
                at[k] = at[best];
                at[best] = moved;
            }
        // Rows up to k stay as they are; they may share a register with those below.
        const auto below = own(numbered<T>) > static_cast<T>(k - begin);
        own(column + begin) = below ? own(column + begin) / pivot : own(column + begin);
        for (int64_t i = begin + lanes; i < step; i += lanes) own(column + i) /= pivot;
        for (T* other = column + step; other != end; other += step) {
            const T times = other[k];
            own(other + begin) = below ? own(other + begin) - own(column + begin) * times : own(other + begin);
            for (int64_t i = begin + lanes; i < step; i += lanes) own(other + i) -= own(column + i) * times;
        }
    }
    return info;
}

void exchange(int64_t n, const int32_t* pivots, bool forward, char* rows, int64_t step, int64_t bytes) {
    for (int64_t k = 0; k < n; ++k) {
        const int64_t i = forward ? k : n - 1 - k, other = pivots[i] - 1;
        if (i == other) continue;
        char *one = rows + i * step, *two = rows + other * step;
        for (int64_t at = 0; at < bytes; at += own_bytes) {
            auto &first = *reinterpret_cast<Own<float>*>(one + at), &second = *reinterpret_cast<Own<float>*>(two + at);
            const Own<float> kept = first;
            first = second;
            second = kept;
        }
    }
}

#if defined(__AVX2__)
constexpr int unrolled = 4;
#else
constexpr int unrolled = 1; // four sums are sixteen registers, which there are not: smaller code is as fast
#endif

template <class T> void reflect(const T* v, T tau, int64_t rows, T* x, int64_t step, int64_t count) {
    constexpr int64_t lanes = triangle_lanes<T>, own_step = own_lanes<T>;
    constexpr int few = 4; // columns at a time, so that v is read for all and their sums do not wait for one another
    constexpr int parts = 64 / own_bytes;
    for (const T* end = x + count * step; x != end; x += few * step) {
        Own<T> sums[few][parts] = {};
        for (int64_t i = 0; i < rows; i += lanes)
#pragma GCC unroll unrolled
            for (int part = 0; part < parts; ++part) {
                const Own<T> factor = own(v + i + part * own_step);
#pragma GCC unroll unrolled
                for (int c = 0; c < few; ++c) sums[c][part] += factor * own(x + c * step + i + part * own_step);
            }
        alignas(64) T partial[few][lanes], times[few];
#pragma GCC unroll unrolled
        for (int c = 0; c < few; ++c)
#pragma GCC unroll unrolled
            for (int part = 0; part < parts; ++part) own(partial[c] + part * own_step) = sums[c][part];
        fold(partial, times);
        for (T& number : times) number *= tau;
        for (int64_t i = 0; i < rows; i += own_step) {
            const Own<T> factor = own(v + i);
#pragma GCC unroll unrolled
            for (int c = 0; c < few; ++c) own(x + c * step + i) -= factor * times[c];
        }
    }
}

template <class T> T scale(T* x, int64_t count, T times) {
    constexpr int parts = 64 / own_bytes;
    Own<T> sums[parts] = {};
    for (const T* end = x + count; x != end;)
#pragma GCC unroll unrolled
        for (int part = 0; part < parts; ++part, x += own_lanes<T>) {
            const Own<T> scaled = own(x) * times;
            own(x) = scaled;
            sums[part] += scaled * scaled;
        }
    alignas(64) T partial[4][triangle_lanes<T>] = {}, totals[4];
#pragma GCC unroll unrolled
    for (int part = 0; part < parts; ++part) own(partial[0] + part * own_lanes<T>) = sums[part];
    fold(partial, totals);
    return totals[0];
}

template <class T> void turn_all(void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t rows, int64_t count) {
    turn(static_cast<T*>(to), to_stride, static_cast<const T*>(from), from_stride, rows, count);
}

} // namespace

const TriangleLoops triangle_loops = {{substitute<float>, substitute<double>},
                                      {factor<float>, factor<double>},
                                      exchange,
                                      reflect<float>,
                                      reflect<double>,
                                      scale<float>,
                                      scale<double>,
                                      {turn_all<float>, turn_all<double>}};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
