// kernels/library/factors/triangle_isa.cpp: substitution, a lane for each right-hand side, LU of few columns, reflections. Multiplications
// and sums are not fused, so these parts have the same bits on every instruction set.
// Compiled for vectors.
#include "kernels/library/factors/triangle_isa.h"

#include <cmath>
#include <type_traits>

#include "kernels/library/factors/lanes_isa.h"
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
        if constexpr (own_bytes > 16)
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

/// Rows from `first` on of C columns: what four eliminated columns have to do with them, one after the other.
template <int C, class T> void subtract_four(const T* eliminated, int64_t step, int64_t first, T* others, const T (*times)[4]) {
    constexpr int64_t lanes = own_lanes<T>;
    int64_t i = first / lanes * lanes;
    auto kept = own(numbered<T>) < static_cast<T>(first - i); // what shares a register with those above
    for (; i < step; i += lanes) {
        Own<T> column[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) column[k] = own(eliminated + k * step + i);
#pragma GCC unroll 2
        for (int c = 0; c < C; ++c) {
            Own<T>& other = own(others + c * step + i);
            Own<T> value = other;
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) value -= column[k] * times[c][k];
            other = kept ? other : value;
        }
        kept = own(numbered<T>) < T{0};
    }
}

template <class T> int factor(int64_t m, int64_t n, void* matrix, int64_t step, int32_t* pivots) {
    constexpr int64_t lanes = own_lanes<T>;
    const int64_t steps = m < n ? m : n;
    T *a = static_cast<T*>(matrix), *end = a + n * step;
    int info = 0;
    // Rows up to k stay as they are; they may share a register with those below.
    const auto subtract = [&](int64_t k, T* other, const T* last) __attribute__((always_inline)) {
        const int64_t begin = k / lanes * lanes;
        const T* column = a + k * step;
        const auto below = own(numbered<T>) > static_cast<T>(k - begin);
        for (; other != last; other += step) {
            const T times = other[k];
            own(other + begin) = below ? own(other + begin) - own(column + begin) * times : own(other + begin);
            for (int64_t i = begin + lanes; i < step; i += lanes) own(other + i) -= own(column + i) * times;
        }
    };
    // Four long columns are eliminated among themselves, then from all others at once: these go through memory a quarter of the times.
    constexpr bool pays = own_bytes > 16; // the baseline stays small
    const int64_t few = pays && step > 64 ? 4 : n;
    for (int64_t first = 0; first < steps; first += few) {
        T *block = a + first * step, *rest = first + few < n ? block + few * step : end;
        uint32_t none = 0; // of these have a pivot
        for (int64_t k = first; k < steps && k < first + few; ++k) {
            const int64_t begin = k / lanes * lanes;
            T* column = a + k * step;
            const int64_t best = largest(column, k, begin, m);
            pivots[k] = static_cast<int32_t>(best + 1);
            const T pivot = column[best];
            if (pivot == 0) {
                if (!info) info = static_cast<int>(k + 1);
                none |= 1u << (k - first);
                continue;
            }
            if (best != k)
                for (T* at = a; at != end; at += step) {
                    const T moved = at[k];
                    at[k] = at[best];
                    at[best] = moved;
                }
            const auto below = own(numbered<T>) > static_cast<T>(k - begin);
            own(column + begin) = below ? own(column + begin) / pivot : own(column + begin);
            for (int64_t i = begin + lanes; i < step; i += lanes) own(column + i) /= pivot;
            subtract(k, column + step, rest);
        }
        T* other = rest;
        if (pays && first + 4 <= steps && !none) {
            while (other != end) {
                T times[2][4];
                const int count = end - other > step ? 2 : 1;
                for (int c = 0; c < count; ++c) // what the first do to the rows of the others
                    for (int row = 0; row < 4; ++row) {
                        T value = other[c * step + first + row];
                        for (int k = 0; k < row; ++k) value -= block[k * step + first + row] * times[c][k];
                        times[c][row] = value;
                    }
                if (count == 2) subtract_four<2>(block, step, first + 4, other, times);
                else subtract_four<1>(block, step, first + 4, other, times);
                for (int c = 0; c < count; ++c)
                    for (int row = 1; row < 4; ++row) other[c * step + first + row] = times[c][row];
                other += count * step;
            }
        }
        for (int64_t k = first; pays && other != end && k < steps && k < first + few; ++k)
            if (!(none >> (k - first) & 1)) subtract(k, other, end);
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

/// x -= tau v (v'x) for `count` columns x, a multiple of four: of `rows` numbers, a multiple of the lanes, and `step` apart.
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

/// Multiplies numbers, a multiple of the lanes, and returns the sum of their squares.
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

/// LAPACK's larfg: makes v, without its 1, of the numbers below alpha, which becomes an element of R. Returns tau.
template <class T> T make_reflector(T& alpha, T* x, int64_t count) {
    constexpr auto large = static_cast<T>(__builtin_ldexp(1, reflector_range<T>)),
                   small = static_cast<T>(__builtin_ldexp(1, -reflector_range<T>));
    T sum = scale(x, count, T{1}), scaled = 1, size = std::sqrt(sum + alpha * alpha);
    if (!(sum >= small && sum + alpha * alpha <= large)) {
        scaled = sum < small ? large : small;
        sum = scale(x, count, scaled);
        if (sum == 0) return 0; // nothing to reflect
        size = std::hypot(alpha, std::sqrt(sum) / scaled);
    }
    const T beta = -std::copysign(size, alpha), tau = (beta - alpha) / beta;
    const T times = 1 / ((alpha - beta) * scaled);
    for (const T* end = x + count; x != end; x += own_lanes<T>) own(x) *= times;
    alpha = beta;
    return tau;
}

template <class T> void copy_numbers(T* to, const T* from, int64_t count) {
    for (; count >= own_lanes<T>; count -= own_lanes<T>, to += own_lanes<T>, from += own_lanes<T>) own(to) = own(from);
    for (; count > 0; --count) *to++ = *from++;
}
template <class T> void clear_numbers(T* to, const T* end) {
    for (; end - to >= own_lanes<T>; to += own_lanes<T>) own(to) = Own<T>{};
    while (to < end) *to++ = 0;
}
/// Where the register begins that row j is in: a reflector has zeros before.
template <class T> int64_t register_of(int64_t j) { return j / triangle_lanes<T> * triangle_lanes<T>; }
/// Number j of a column, by whole registers: a vector that is loaded next would wait for a single number.
template <class T> void set_number(T* column, int64_t j, T value) {
    const int64_t i = j / own_lanes<T> * own_lanes<T>;
    own(column + i) = own(numbered<T>) == static_cast<T>(j - i) ? Own<T>{} + value : own(column + i);
}
/// What comes before row j in its register becomes 0, and number j.
template <class T> void clear_to(T* column, int64_t j) {
    for (int64_t i = register_of<T>(j); i <= j; i += own_lanes<T>)
        own(column + i) = own(numbered<T>) > static_cast<T>(j - i) ? own(column + i) : Own<T>{};
}
template <class T> void reflect_behind(const T* v, int64_t j, T tau, int64_t rows, int64_t columns) {
    const int64_t begin = register_of<T>(j);
    reflect(v + begin, tau, rows - begin, const_cast<T*>(v) + rows + begin, rows, (columns + 3) / 4 * 4);
}

template <class T> void factor_reflectors(int64_t m, int64_t n, void* matrix, int64_t lda, void* taus, void* room) {
    constexpr int64_t lanes = triangle_lanes<T>;
    const int64_t rows = (m + lanes - 1) / lanes * lanes;
    T *a = static_cast<T*>(matrix), *tau = static_cast<T*>(taus), *x = static_cast<T*>(room);
    for (int64_t j = 0; j < n; ++j) {
        copy_numbers(x + j * rows, a + j * lda, m);
        clear_numbers(x + j * rows + m, x + (j + 1) * rows);
    }
    clear_numbers(x + n * rows, x + (n + 3) * rows);
    for (int64_t j = 0; j < n; ++j, a += lda, x += rows) {
        copy_numbers(a, x, j < m ? j + 1 : m); // what is R's already, and what it will make of the diagonal
        if (j >= m) continue;
        clear_to(x, j);
        const int64_t begin = register_of<T>(j);
        tau[j] = make_reflector(a[j], x + begin, rows - begin);
        copy_numbers(a + j + 1, x + j + 1, m - j - 1);
        set_number(x, j, T{1});
        if (tau[j] != 0) reflect_behind(x, j, tau[j], rows, n - j - 1);
    }
}

template <class T> void form_reflectors(int64_t m, int64_t n, int64_t k, void* matrix, int64_t lda, const void* taus, void* room) {
    constexpr int64_t lanes = triangle_lanes<T>;
    const int64_t rows = (m + lanes - 1) / lanes * lanes;
    T *a = static_cast<T*>(matrix), *x = static_cast<T*>(room);
    clear_numbers(x + k * rows, x + (n + 3) * rows);
    for (int64_t j = k; j < n; ++j) x[j * rows + j] = 1;
    for (int64_t j = k - 1; j >= 0; --j) {
        T* v = x + j * rows;
        const int64_t begin = register_of<T>(j);
        const T tau = static_cast<const T*>(taus)[j];
        clear_numbers(v, v + begin);
        copy_numbers(v + begin, a + j * lda + begin, m - begin);
        clear_numbers(v + m, v + rows);
        clear_to(v, j);
        set_number(v, j, T{1});
        reflect_behind(v, j, tau, rows, n - j - 1);
        for (int64_t i = begin; i < rows; i += own_lanes<T>) own(v + i) *= -tau;
        set_number(v, j, 1 - tau);
    }
    for (int64_t j = 0; j < n; ++j) copy_numbers(a + j * lda, x + j * rows, m);
}

} // namespace

const TriangleLoops triangle_loops = {{substitute<float>, substitute<double>},
                                      {factor<float>, factor<double>},
                                      exchange,
                                      {factor_reflectors<float>, factor_reflectors<double>},
                                      {form_reflectors<float>, form_reflectors<double>}};

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
