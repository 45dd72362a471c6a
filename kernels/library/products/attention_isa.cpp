// kernels/library/products/attention_isa.cpp: rows of scores by vectors.
// Compiled for sums.
#include "kernels/library/products/attention_isa.h"

#include "kernels/maths/maths.h"

namespace kindling::library::KINDLING_ISA_NAMESPACE {
namespace {

using namespace kindling::KINDLING_ISA_NAMESPACE;

constexpr int lanes = 16;
template <class T> using V = Vec<T, width / static_cast<int>(sizeof(T))>;
template <class T> constexpr int parts = lanes / Lanes<V<T>>::count;
template <class T> constexpr T infinity = static_cast<T>(__builtin_inf());

template <class T> KINDLING_INLINE V<T> exponential(const V<T>& x) {
    if constexpr (sizeof(T) == 4) return maths::expf(x);
    else return maths::exp(x);
}

/// Rows that are worked on together: the reductions across lanes between two passes are then done for four rows at once.
constexpr int64_t group = 4;
template <class T> using Lines = T[group][lanes];

struct Sum {
    template <class V> static KINDLING_INLINE V of(const V& a, const V& b) { return a + b; }
};
struct Greater {
    template <class V> static KINDLING_INLINE V of(const V& a, const V& b) {
        if constexpr (std::is_arithmetic_v<V>) return a > b ? a : b;
        else return greater(a, b);
    }
};

/// result[i] = the lanes of lines[i] as one number: halves are joined until one is left.
template <class By, class T> KINDLING_INLINE void join(Lines<T>& lines, T* result) {
    if constexpr (width < group * static_cast<int>(sizeof(T))) {
        for (int i = 0; i < group; i++) {
            for (int half = lanes / 2; half; half /= 2)
                for (int l = 0; l < half; l++) lines[i][l] = By::of(lines[i][l], lines[i][l + half]);
            result[i] = lines[i][0];
        }
    } else {
        using F = Vec<T, group>;
        F c[group];
        for (int i = 0; i < group; i++) {
            const T* at = lines[i];
            c[i] = By::of(By::of(load<F>(at), load<F>(at + 8)), By::of(load<F>(at + 4), load<F>(at + 12)));
        }
        const F a = __builtin_shufflevector(c[0], c[1], 0, 4, 1, 5), b = __builtin_shufflevector(c[2], c[3], 0, 4, 1, 5);
        const F d = __builtin_shufflevector(c[0], c[1], 2, 6, 3, 7), e = __builtin_shufflevector(c[2], c[3], 2, 6, 3, 7);
        const F even = By::of(F(__builtin_shufflevector(a, b, 0, 1, 4, 5)), F(__builtin_shufflevector(d, e, 0, 1, 4, 5)));
        const F odd = By::of(F(__builtin_shufflevector(a, b, 2, 3, 6, 7)), F(__builtin_shufflevector(d, e, 2, 3, 6, 7)));
        store(result, By::of(even, odd));
    }
}

/// Sixteen numbers in as many registers as that takes.
template <class T> struct Sixteen {
    V<T> part[parts<T>];
    KINDLING_INLINE explicit Sixteen(T value) {
        for (V<T>& each : part) each = all<V<T>>(value);
    }
    KINDLING_INLINE void put(T* line) const {
        for (int p = 0; p < parts<T>; p++) store(line + p * Lanes<V<T>>::count, part[p]);
    }
};

/// f(pointer, which part) for the registers of n numbers, a multiple of 16. One or two make the loop's body: all else is rare and kept
/// small.
template <class P, class F> KINDLING_INLINE void each_vector(P* line, int64_t n, F f) {
    using T = std::remove_const_t<P>;
    constexpr int count = Lanes<V<T>>::count;
    for (int64_t i = 0; i < n; i += lanes) {
        if constexpr (parts<T> <= 2) {
            f(line + i, 0);
            if constexpr (parts<T> == 2) f(line + i + count, 1);
        } else {
#pragma GCC unroll 1
            for (int p = 0; p < parts<T>; p++) f(line + i + p * count, p);
        }
    }
}

/// n, rounded up to whole sixteens. The rest of the last one becomes what has no weight, and what lies behind it 0. By vectors, since
/// what was stored one by one cannot be loaded as a vector at once.
template <class T> KINDLING_INLINE int64_t fill_behind(T* line, int64_t n, int64_t keys) {
    static constexpr T index[lanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int64_t rest = n % lanes, whole = n - rest + (rest ? lanes : 0);
    if (rest)
        each_vector(line + whole - lanes, lanes, [&](T* at, int p) {
            const V<T> place = load<V<T>>(index + p * Lanes<V<T>>::count);
            store(at, choose(place < all<V<T>>(static_cast<T>(rest)), load<V<T>>(at), all<V<T>>(-infinity<T>)));
        });
    each_vector(line + whole, keys - whole, [](T* at, int) { store(at, V<T>{}); });
    return whole;
}

template <class T> void weigh(const ScoreBlock<T>& block, T* top, T* total, T* factor) {
    for (int64_t first = 0; first < block.rows; first += group) {
        const int64_t count = block.rows - first < group ? block.rows - first : group;
        alignas(64) Lines<T> lines = {};
        alignas(64) T shift[lanes], down[lanes] = {};
        int64_t whole[group];
        for (int64_t r = 0; r < count; r++) {
            T* line = block.values + (first + r) * block.row;
            whole[r] = fill_behind(line, block.seen_by(first + r), block.keys);
            Sixteen<T> largest(-infinity<T>);
            each_vector(line, whole[r], [&](T* at, int p) { largest.part[p] = greater(load<V<T>>(at), largest.part[p]); });
            largest.put(lines[r]);
        }
        join<Greater>(lines, shift);
        for (int64_t r = 0; r < count; r++) {
            T& most = shift[r];
            // `greater` skips NaN, which counts if the row has nothing else.
            if (most == -infinity<T>) [[unlikely]]
                for (int64_t i = 0; i < whole[r]; i++) {
                    const T value = block.values[(first + r) * block.row + i];
                    if (value != value) most = value;
                }
            T& so_far = top[first + r];
            if (so_far > most || so_far != so_far) most = so_far;
            if (most == -infinity<T>) [[unlikely]] {
                most = 0; // which gives weights of 0
                continue;
            }
            down[r] = so_far - most;
            so_far = most;
        }
        for (int i = 0; i < group; i += Lanes<V<T>>::count) store(down + i, exponential<T>(load<V<T>>(down + i)));
        for (int64_t r = 0; r < count; r++) {
            Sixteen<T> sum(0);
            const V<T> less = all<V<T>>(shift[r]);
            each_vector(block.values + (first + r) * block.row, whole[r], [&](T* at, int p) {
                const V<T> weight = exponential<T>(load<V<T>>(at) - less);
                store(at, weight);
                sum.part[p] += weight;
            });
            sum.put(lines[r]);
        }
        T sums[group];
        join<Sum>(lines, sums);
        for (int64_t r = 0; r < count; r++) {
            factor[first + r] = down[r];
            total[first + r] = total[first + r] * down[r] + sums[r];
        }
    }
    clear_upper_halves();
}

template <class T> void weigh_again(const ScoreBlock<T>& block, const T* log, T* slopes, const T* inner) {
    for (int64_t r = 0; r < block.rows; r++) {
        T *line = block.values + r * block.row, *slope = slopes + r * block.row;
        const int64_t whole = fill_behind(line, log[r] == -infinity<T> ? 0 : block.seen_by(r), block.keys);
        const V<T> shift = all<V<T>>(log[r]), less = all<V<T>>(inner[r]);
        each_vector(line, whole, [&](T* at, int) {
            const V<T> weight = exponential<T>(load<V<T>>(at) - shift);
            store(at, weight);
            T* to = slope + (at - line);
            store(to, (load<V<T>>(to) - less) * weight);
        });
        for (int64_t i = whole; i < block.keys; i++) slope[i] = (slope[i] - inner[r]) * line[i]; // 0, or NaN of what is infinite
    }
    clear_upper_halves();
}

template <class T> void scale(T* to, int64_t to_row, const T* from, int64_t from_row, const T* factor, int64_t rows, int64_t n) {
    constexpr int count = Lanes<V<T>>::count;
    for (int64_t r = 0; r < rows; r++, to += to_row, from += from_row) {
        int64_t i = 0;
        for (; i + count <= n; i += count) store(to + i, load<V<T>>(from + i) * all<V<T>>(factor[r]));
        for (; i < n; i++) to[i] = from[i] * factor[r];
    }
    clear_upper_halves();
}

template <class T> void dot(T* to, const T* a, int64_t a_row, const T* b, int64_t b_row, int64_t rows, int64_t n) {
    const int64_t whole = n / lanes * lanes;
    for (int64_t first = 0; first < rows; first += group) {
        const int64_t count = rows - first < group ? rows - first : group;
        alignas(64) Lines<T> lines = {};
        for (int64_t r = 0; r < count; r++, a += a_row, b += b_row) {
            Sixteen<T> sum(0);
            each_vector(a, whole, [&](const T* at, int p) { sum.part[p] += load<V<T>>(at) * load<V<T>>(b + (at - a)); });
            sum.put(lines[r]);
            for (int64_t i = whole; i < n; i++) lines[r][i - whole] += a[i] * b[i];
        }
        T sums[group];
        join<Sum>(lines, sums);
        for (int64_t r = 0; r < count; r++) to[first + r] = sums[r];
    }
    clear_upper_halves();
}

} // namespace

extern constexpr AttentionSteps<float> attention_float = {weigh<float>, weigh_again<float>, scale<float>, dot<float>};
#if !defined(__AVX512F__)
extern constexpr AttentionSteps<double> attention_double = {weigh<double>, weigh_again<double>, scale<double>, dot<double>};
#endif

} // namespace kindling::library::KINDLING_ISA_NAMESPACE
