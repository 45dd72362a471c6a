#include "kernels/library/attention.h"

#include <limits>

#include "kernels/fold.h"
#include "kernels/library/gemm.h"
#include "kernels/library/scratch.h"
#include "kernels/move.h"
#include "kernels/tile.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr int64_t query_block = 64, key_block = 256;

template <class T> T* row_of(const Plane4& plane, int64_t batch, int64_t head, int64_t row) {
    return static_cast<T*>(plane.data) + batch * plane.strides[0] + head * plane.strides[1] + row * plane.strides[2];
}

/// What both directions do with a block of scores: one row of them at a time, by the tiles' vector code.
template <class T> struct Scores {
    static constexpr DType type = sizeof(T) == 4 ? DType::Float32 : DType::Float64;
    static constexpr T infinity = std::numeric_limits<T>::infinity();
    const Attention& a;
    TileFunction subtract = find_tile(Primitive::Sub, type).function, add = find_tile(Primitive::Add, type).function;
    TileFunction multiply = find_tile(Primitive::Mul, type).function, exponential = find_tile(Primitive::Exp, type).function;
    TileFunction logarithm = find_tile(Primitive::Log, type).function;
    RowFold largest = find_row_fold(Combine::Max, type), sum = find_row_fold(Combine::Sum, type);
    TileFunction round = a.weights == DType::BFloat16 ? find_move(TileMove::RoundBFloat16) : a.weights == DType::Float16 ? find_move(TileMove::RoundHalf) : nullptr;
    PlaneCopy copy = find_plane_copy(sizeof(T));
    T mask_row[key_block];

    explicit Scores(const Attention& problem) : a(problem) {}

    static void splat(T* to, T value) {
        for (size_t i = 0; i < splat_bytes / sizeof(T); i++) to[i] = value;
    }
    void apply(TileFunction function, T* values, T number, int64_t n) const {
        alignas(64) T repeated[splat_bytes / sizeof(T)];
        splat(repeated, number);
        function(values, values, repeated, nullptr, n, 2);
    }

    /// How many keys of the block at `first` query `row` may see.
    int64_t seen(int64_t row, int64_t first, int64_t keys) const {
        if (!a.causal) return keys;
        const int64_t n = row - first + 1;
        return n < 0 ? 0 : n < keys ? n : keys;
    }

    /// scale * query @ key.T, and the mask.
    void compute(T* scores, int64_t batch, int64_t head, int64_t row, int64_t rows, int64_t first, int64_t keys) {
        Gemm product{type, rows, keys, a.depth, row_of<T>(a.query, batch, head, row), a.query.strides[2], a.query.strides[3],
                     row_of<T>(a.key, batch, head, first), a.key.strides[3], a.key.strides[2], scores, key_block, 1};
        product.alpha = a.scale;
        gemm(product);
        if (!a.mask.data) return;
        for (int64_t r = 0; r < rows; r++) {
            const T* mask = row_of<T>(a.mask, batch, head, row + r) + first * a.mask.strides[3];
            if (a.mask.strides[3] != 1) {
                const int64_t item = sizeof(T), stride = a.mask.strides[3] * item;
                copy({reinterpret_cast<char*>(mask_row), reinterpret_cast<const char*>(mask), {1, keys}, {0, item}, {0, stride}});
                mask = mask_row;
            }
            T* values = scores + r * key_block;
            add(values, values, mask, nullptr, keys, 0);
        }
    }
};

template <class T> void forward(const Attention& a) {
    const int64_t blocks = (a.queries + query_block - 1) / query_block, depth = a.value_depth;
    parallel_for(0, a.batch * a.heads * blocks, 1, [&](int64_t begin, int64_t end) {
        Scratch<T> memory(query_block * (key_block + depth));
        T *values = memory.data, *out = values + query_block * key_block;
        Scores<T> scores(a);
        T top[query_block], total[query_block], fresh[query_block], factor[query_block];
        for (int64_t task = begin; task < end; task++) {
            const int64_t row = task % blocks * query_block, head = task / blocks % a.heads, batch = task / blocks / a.heads;
            const int64_t rows = a.queries - row < query_block ? a.queries - row : query_block;
            for (int64_t r = 0; r < rows; r++) top[r] = -Scores<T>::infinity, total[r] = 0;
            const int64_t visible = a.causal && row + rows < a.keys ? row + rows : a.keys;
            for (int64_t first = 0; first < visible; first += key_block) {
                const int64_t keys = visible - first < key_block ? visible - first : key_block;
                scores.compute(values, batch, head, row, rows, first, keys);
                for (int64_t r = 0; r < rows; r++) {
                    T *line = values + r * key_block, most = -Scores<T>::infinity;
                    int64_t n = scores.seen(row + r, first, keys);
                    if (n) scores.largest(&most, line, 1, n);
                    if (top[r] > most || top[r] != top[r]) most = top[r];
                    fresh[r] = 0;
                    factor[r] = 0;  // its exponential is 1
                    if (most == -Scores<T>::infinity) n = 0;
                    if (n) {
                        factor[r] = top[r] - most;
                        top[r] = most;
                        scores.apply(scores.subtract, line, most, n);
                        scores.exponential(line, line, nullptr, nullptr, n, 0);
                        scores.sum(&fresh[r], line, 1, n);
                        if (scores.round) scores.round(line, line, nullptr, nullptr, n, 0);
                    }
                    for (int64_t i = n; i < keys; i++) line[i] = 0;
                }
                scores.exponential(factor, factor, nullptr, nullptr, rows, 0);
                for (int64_t r = 0; r < rows; r++) {
                    total[r] = total[r] * factor[r] + fresh[r];
                    if (first && factor[r] != 1) scores.apply(scores.multiply, out + r * depth, factor[r], depth);
                }
                Gemm product{Scores<T>::type, rows, depth, keys, values, key_block, 1, row_of<T>(a.value, batch, head, first),
                             a.value.strides[2], a.value.strides[3], out, depth, 1};
                if (first) product.c = out, product.c_row = depth, product.c_column = 1;
                gemm(product);
            }
            T* logs = static_cast<T*>(a.logsumexp) + (batch * a.heads + head) * a.queries + row;
            scores.logarithm(logs, total, nullptr, nullptr, rows, 0);
            for (int64_t r = 0; r < rows; r++) {
                logs[r] = total[r] == 0 ? -Scores<T>::infinity : logs[r] + top[r];
                scores.apply(scores.multiply, out + r * depth, total[r] == 0 ? 0 : 1 / total[r], depth);
                const int64_t item = sizeof(T);
                scores.copy({reinterpret_cast<char*>(row_of<T>(a.out, batch, head, row + r)),
                             reinterpret_cast<const char*>(out + r * depth), {1, depth}, {0, a.out.strides[3] * item}, {0, item}});
            }
        }
    });
}

template <class T>
void backward(const Attention& a, const Plane4& grad, const Plane4& grad_query, const Plane4& grad_key, const Plane4& grad_value) {
    constexpr DType type = Scores<T>::type;
    parallel_for(0, a.batch * a.heads, 1, [&](int64_t begin, int64_t end) {
        Scratch<T> memory(query_block * 2 * key_block + 2 * a.value_depth);
        T *weights = memory.data, *slopes = weights + query_block * key_block;
        T *line = slopes + query_block * key_block, *other = line + a.value_depth;
        Scores<T> scores(a);
        T inner[query_block];
        for (int64_t task = begin; task < end; task++) {
            const int64_t head = task % a.heads, batch = task / a.heads;
            const T* logs = static_cast<const T*>(a.logsumexp) + task * a.queries;
            for (int64_t row = 0; row < a.queries; row += query_block) {
                const int64_t rows = a.queries - row < query_block ? a.queries - row : query_block;
                const T* g = row_of<T>(grad, batch, head, row);
                const int64_t item = sizeof(T);
                for (int64_t r = 0; r < rows; r++) {  // the sum of out * grad of each row
                    auto read = [&](T* to, const Plane4& from) {
                        scores.copy({reinterpret_cast<char*>(to), reinterpret_cast<const char*>(row_of<T>(from, batch, head, row + r)),
                                     {1, a.value_depth}, {0, item}, {0, from.strides[3] * item}});
                    };
                    read(line, grad);
                    read(other, a.out);
                    scores.multiply(line, line, other, nullptr, a.value_depth, 0);
                    scores.sum(&inner[r], line, 1, a.value_depth);
                }
                const int64_t visible = a.causal && row + rows < a.keys ? row + rows : a.keys;
                for (int64_t first = 0; first < visible; first += key_block) {
                    const int64_t keys = visible - first < key_block ? visible - first : key_block;
                    scores.compute(weights, batch, head, row, rows, first, keys);
                    for (int64_t r = 0; r < rows; r++) {
                        T* values = weights + r * key_block;
                        const T log = logs[row + r];
                        const int64_t n = log == -Scores<T>::infinity ? 0 : scores.seen(row + r, first, keys);
                        if (n) {
                            scores.apply(scores.subtract, values, log, n);
                            scores.exponential(values, values, nullptr, nullptr, n, 0);
                        }
                        for (int64_t i = n; i < keys; i++) values[i] = 0;
                    }
                    auto accumulate = [&](const T* left, int64_t left_row, int64_t left_column, int64_t m, int64_t k, const T* right,
                                          const Plane4& shape, int64_t n, const Plane4& to, int64_t to_row, double alpha) {
                        T* target = row_of<T>(to, batch, head, to_row);
                        Gemm product{type, m, n, k, left, left_row, left_column, right, shape.strides[2], shape.strides[3], target,
                                     to.strides[2], to.strides[3]};
                        product.alpha = alpha;
                        product.c = target, product.c_row = to.strides[2], product.c_column = to.strides[3];
                        gemm(product);
                    };
                    accumulate(weights, 1, key_block, keys, rows, g, grad, a.value_depth, grad_value, first, 1);
                    Gemm product{type, rows, keys, a.value_depth, g, grad.strides[2], grad.strides[3],
                                 row_of<T>(a.value, batch, head, first), a.value.strides[3], a.value.strides[2], slopes, key_block, 1};
                    gemm(product);
                    for (int64_t r = 0; r < rows; r++) {
                        T *values = weights + r * key_block, *slope = slopes + r * key_block;
                        scores.apply(scores.subtract, slope, inner[r], keys);
                        scores.multiply(slope, slope, values, nullptr, keys, 0);
                    }
                    accumulate(slopes, key_block, 1, rows, keys, row_of<T>(a.key, batch, head, first), a.key, a.depth, grad_query, row, a.scale);
                    accumulate(slopes, 1, key_block, keys, rows, row_of<T>(a.query, batch, head, row), a.query, a.depth, grad_key, first, a.scale);
                }
            }
        }
    });
}

}  // namespace

void attention(const Attention& problem) {
    if (problem.dtype == DType::Float32) forward<float>(problem);
    else forward<double>(problem);
}

void attention_backward(const Attention& problem, const Plane4& grad, const Plane4& grad_query, const Plane4& grad_key,
                        const Plane4& grad_value) {
    if (problem.dtype == DType::Float32) backward<float>(problem, grad, grad_query, grad_key, grad_value);
    else backward<double>(problem, grad, grad_query, grad_key, grad_value);
}

}  // namespace kindling::library
