// kernels/library/products/attention.cpp: blocks of queries and keys, forward and backward.
// Compiled for size.
#include "kernels/library/products/attention.h"

#include <limits>

#include "kernels/isa.h"
#include "kernels/library/products/attention_isa.h"
#include "kernels/library/products/gemm.h"
#include "kernels/library/products/gemm_tiles.h"
#include "kernels/library/scratch.h"
#include "kernels/tile/move.h"
#include "kernels/tile/tile.h"
#include "runtime/threads.h"

namespace kindling::library {
namespace {

constexpr int64_t key_block = 256, most_queries = 128;

/// Queries per block: they share a packed block of keys. Under a causal mask more of what a block computes is masked.
int64_t queries_at_once(const Attention& a) { return a.narrow || !a.causal ? most_queries : 64; }

template <class T> T* row_of(const Plane4& plane, int64_t batch, int64_t head, int64_t row) {
    return static_cast<T*>(plane.data) + batch * plane.strides[0] + head * plane.strides[1] + row * plane.strides[2];
}

using Bits = uint16_t; // of a bfloat16

/// The left operand of a product with one of the planes.
struct Side {
    const void* at;
    int64_t row, column;
};

template <class T> const AttentionSteps<T>& attention_steps() {
    if constexpr (sizeof(T) == 4) return KINDLING_OF_ISA(attention_float);
    else return isa() == Isa::Baseline ? isa_baseline::attention_double : isa_avx2::attention_double; // doubles are rare
}

/// What both directions do with a block of scores.
template <class T> struct Scores {
    static constexpr DType type = sizeof(T) == 4 ? DType::Float32 : DType::Float64;
    static constexpr T infinity = std::numeric_limits<T>::infinity();
    const Attention& a;
    const AttentionSteps<T>& steps = attention_steps<T>();
    TileFunction add = find_tile(Primitive::Add, type).function, logarithm = find_tile(Primitive::Log, type).function;
    TileFunction round = a.weights == DType::BFloat16  ? find_move(TileMove::RoundBFloat16)
                         : a.weights == DType::Float16 ? find_move(TileMove::RoundHalf)
                                                       : nullptr;
    PlaneCopy copy = find_plane_copy(sizeof(T));
    TileFunction widen = find_move(TileMove::BFloat16ToFloat), narrow = find_move(TileMove::FloatToBFloat16);
    T mask_row[key_block];

    explicit Scores(const Attention& problem) : a(problem) {}

    /// Rows of scores, and which keys they may attend to.
    ScoreBlock<T> block(T* values, int64_t row, int64_t rows, int64_t first, int64_t keys) const {
        return {values, key_block, rows, keys, a.causal ? row - first + 1 : keys, a.causal};
    }

    /// A row of query, key, value or of the gradient of `out`.
    const void* operand(const Plane4& plane, int64_t batch, int64_t head, int64_t row) const {
        if (a.narrow) return row_of<Bits>(plane, batch, head, row);
        return row_of<T>(plane, batch, head, row);
    }
    /// to = alpha * left @ right (+ to), where right has m x k rows of such a plane.
    void product(int64_t m, int64_t n, int64_t k, const Side& left, const Side& right, T* to, int64_t to_row, int64_t to_column,
                 double alpha, bool add) const {
        if (a.narrow) { // the result is contiguous by rows: see attention.h
            TilesPart part{m, n, k, left.at, left.row, left.column, right.at, right.row, right.column, to, to_row, TilesPart::Float};
            part.alpha = static_cast<float>(alpha);
            if (add) part.c = to, part.c_row = to_row, part.c_column = 1;
            return gemm_tiles(part);
        }
        Gemm product{type, m, n, k, left.at, left.row, left.column, right.at, right.row, right.column, to, to_row, to_column};
        product.alpha = alpha;
        if (add) product.c = to, product.c_row = to_row, product.c_column = to_column;
        gemm(product);
    }
    /// Rows of weights as products with the planes read them: as they are, or rounded to `rounded`.
    const void* weights(const T* values, int64_t rows, int64_t keys, Bits* rounded) const {
        if constexpr (sizeof(T) == 4)
            if (a.narrow) {
                for (int64_t r = 0; r < rows; r++) narrow(rounded + r * key_block, values + r * key_block, nullptr, nullptr, keys, 0);
                return rounded;
            }
        return values;
    }

    /// scale * query @ key.T, and the mask.
    void compute(T* scores, int64_t batch, int64_t head, int64_t row, int64_t rows, int64_t first, int64_t keys) {
        product(rows, keys, a.depth, {operand(a.query, batch, head, row), a.query.strides[2], a.query.strides[3]},
                {operand(a.key, batch, head, first), a.key.strides[3], a.key.strides[2]}, scores, key_block, 1, a.scale, false);
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
    const int64_t query_block = queries_at_once(a), blocks = (a.queries + query_block - 1) / query_block, depth = a.value_depth;
    parallel_for(0, a.batch * a.heads * blocks, 1, [&](int64_t begin, int64_t end) {
        Scratch<T> memory(query_block * (key_block + depth + 3));
        Scratch<Bits> rounded(a.narrow ? query_block * key_block : 0);
        T *values = memory.data, *out = values + query_block * key_block;
        Scores<T> scores(a);
        T *top = out + query_block * depth, *total = top + query_block, *factor = total + query_block;
        for (int64_t task = begin; task < end; task++) {
            const int64_t row = task % blocks * query_block, head = task / blocks % a.heads, batch = task / blocks / a.heads;
            const int64_t rows = a.queries - row < query_block ? a.queries - row : query_block;
            for (int64_t r = 0; r < rows; r++) top[r] = -Scores<T>::infinity, total[r] = 0;
            const int64_t visible = a.causal && row + rows < a.keys ? row + rows : a.keys;
            for (int64_t first = 0; first < visible; first += key_block) {
                const int64_t keys = visible - first < key_block ? visible - first : key_block;
                scores.compute(values, batch, head, row, rows, first, keys);
                scores.steps.weigh(scores.block(values, row, rows, first, keys), top, total, factor);
                if (scores.round)
                    for (int64_t r = 0; r < rows; r++)
                        scores.round(values + r * key_block, values + r * key_block, nullptr, nullptr, keys, 0);
                if (first) scores.steps.scale(out, depth, out, depth, factor, rows, depth);
                scores.product(rows, depth, keys, {scores.weights(values, rows, keys, rounded.data), key_block, 1},
                               {scores.operand(a.value, batch, head, first), a.value.strides[2], a.value.strides[3]}, out, depth, 1, 1,
                               first > 0);
            }
            T* logs = static_cast<T*>(a.logsumexp) + (batch * a.heads + head) * a.queries + row;
            scores.logarithm(logs, total, nullptr, nullptr, rows, 0);
            for (int64_t r = 0; r < rows; r++) {
                logs[r] = total[r] == 0 ? -Scores<T>::infinity : logs[r] + top[r];
                factor[r] = total[r] == 0 ? 0 : 1 / total[r];
            }
            T* results = row_of<T>(a.out, batch, head, row);
            const int64_t item = sizeof(T), step = a.out.strides[2];
            if (a.out.strides[3] == 1) {
                scores.steps.scale(results, step, out, depth, factor, rows, depth);
            } else {
                scores.steps.scale(out, depth, out, depth, factor, rows, depth);
                scores.copy({reinterpret_cast<char*>(results),
                             reinterpret_cast<const char*>(out),
                             {rows, depth},
                             {step * item, a.out.strides[3] * item},
                             {depth * item, item}});
            }
        }
    });
}

template <class T>
void backward(const Attention& a, const Plane4& grad, const Plane4& grad_query, const Plane4& grad_key, const Plane4& grad_value) {
    const int64_t query_block = queries_at_once(a);
    parallel_for(0, a.batch * a.heads, 1, [&](int64_t begin, int64_t end) {
        Scratch<T> memory(query_block * 2 * key_block + 2 * a.value_depth);
        Scratch<Bits> rounded(a.narrow ? query_block * key_block + a.value_depth : 0);
        T *weights = memory.data, *slopes = weights + query_block * key_block;
        T *line = slopes + query_block * key_block, *other = line + a.value_depth;
        Scores<T> scores(a);
        T inner[most_queries];
        for (int64_t task = begin; task < end; task++) {
            const int64_t head = task % a.heads, batch = task / a.heads;
            const T* logs = static_cast<const T*>(a.logsumexp) + task * a.queries;
            for (int64_t row = 0; row < a.queries; row += query_block) {
                const int64_t rows = a.queries - row < query_block ? a.queries - row : query_block;
                const void* g = scores.operand(grad, batch, head, row);
                const int64_t item = sizeof(T);
                const bool plain = !a.narrow && grad.strides[3] == 1 && a.out.strides[3] == 1;
                if (plain)
                    scores.steps.dot(inner, static_cast<const T*>(g), grad.strides[2], row_of<T>(a.out, batch, head, row), a.out.strides[2],
                                     rows, a.value_depth);
                for (int64_t r = 0; r < rows && !plain; r++) {
                    auto read = [&](PlaneCopy copy, int64_t size, void* to, const void* from, int64_t step) {
                        copy({static_cast<char*>(to), static_cast<const char*>(from), {1, a.value_depth}, {0, size}, {0, step * size}});
                    };
                    const void* slope = scores.operand(grad, batch, head, row + r);
                    if (a.narrow) {
                        Bits* bits = rounded.data + query_block * key_block;
                        read(find_plane_copy(sizeof(Bits)), sizeof(Bits), bits, slope, grad.strides[3]);
                        scores.widen(line, bits, nullptr, nullptr, a.value_depth, 0);
                    } else {
                        read(scores.copy, item, line, slope, grad.strides[3]);
                    }
                    read(scores.copy, item, other, row_of<T>(a.out, batch, head, row + r), a.out.strides[3]);
                    scores.steps.dot(&inner[r], line, 0, other, 0, 1, a.value_depth);
                }
                const int64_t visible = a.causal && row + rows < a.keys ? row + rows : a.keys;
                for (int64_t first = 0; first < visible; first += key_block) {
                    const int64_t keys = visible - first < key_block ? visible - first : key_block;
                    scores.compute(weights, batch, head, row, rows, first, keys);
                    scores.product(rows, keys, a.value_depth, {g, grad.strides[2], grad.strides[3]},
                                   {scores.operand(a.value, batch, head, first), a.value.strides[3], a.value.strides[2]}, slopes, key_block,
                                   1, 1, false);
                    scores.steps.weigh_again(scores.block(weights, row, rows, first, keys), logs + row, slopes, inner);
                    auto accumulate = [&](const void* left, bool turned, const void* right, const Plane4& shape, int64_t n,
                                          const Plane4& to, int64_t to_row, double alpha) {
                        const int64_t row_step = turned ? 1 : key_block, column_step = turned ? key_block : 1;
                        scores.product(turned ? keys : rows, n, turned ? rows : keys, {left, row_step, column_step},
                                       {right, shape.strides[2], shape.strides[3]}, row_of<T>(to, batch, head, to_row), to.strides[2],
                                       to.strides[3], alpha, true);
                    };
                    accumulate(scores.weights(weights, rows, keys, rounded.data), true, g, grad, a.value_depth, grad_value, first, 1);
                    const void* slope = scores.weights(slopes, rows, keys, rounded.data);
                    const void *keyed = scores.operand(a.key, batch, head, first), *asked = scores.operand(a.query, batch, head, row);
                    accumulate(slope, false, keyed, a.key, a.depth, grad_query, row, a.scale);
                    accumulate(slope, true, asked, a.query, a.depth, grad_key, first, a.scale);
                }
            }
        }
    });
}

} // namespace

void attention(const Attention& problem) {
    if (problem.dtype == DType::Float32) forward<float>(problem);
    else forward<double>(problem);
}

void attention_backward(const Attention& problem, const Plane4& grad, const Plane4& grad_query, const Plane4& grad_key,
                        const Plane4& grad_value) {
    if (problem.dtype == DType::Float32) backward<float>(problem, grad, grad_query, grad_key, grad_value);
    else backward<double>(problem, grad, grad_query, grad_key, grad_value);
}

} // namespace kindling::library
