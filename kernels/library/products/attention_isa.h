// kernels/library/products/attention_isa.h: what attention does with rows of scores and of results, built once for each instruction set.
#pragma once
#include <cstdint>

namespace kindling::library {

/// A block of scores. Rows are `row` numbers apart, a multiple of 16, and what lies behind a row's keys is scratch.
template <class T> struct ScoreBlock {
    T* values;
    int64_t row, rows, keys;
    int64_t seen; // keys that the first row may attend to; each row `more` than the one before, 0 to `keys`
    int more;
    int64_t seen_by(int64_t r) const {
        const int64_t n = seen + r * more;
        return n < 0 ? 0 : n < keys ? n : keys;
    }
};

/// Sums are those of 16 lanes, halved until one is left, whatever the instruction set.
template <class T> struct AttentionSteps {
    /// Scores become exp(score - top), where `top` is the largest of the row so far; what is not seen becomes 0.
    /// total = total * factor + the sum of the row; `factor` is what the results so far have to be multiplied by.
    void (*weigh)(const ScoreBlock<T>& block, T* top, T* total, T* factor);
    /// Scores become exp(score - log) again, and slopes, in rows as far apart, (slope - inner) * weight.
    void (*weigh_again)(const ScoreBlock<T>& block, const T* log, T* slopes, const T* inner);
    /// to = from * factor, one factor a row.
    void (*scale)(T* to, int64_t to_row, const T* from, int64_t from_row, const T* factor, int64_t rows, int64_t n);
    /// The sum of a * b of each row.
    void (*dot)(T* to, const T* a, int64_t a_row, const T* b, int64_t b_row, int64_t rows, int64_t n);
};

namespace isa_baseline {
extern const AttentionSteps<float> attention_float;
extern const AttentionSteps<double> attention_double;
} // namespace isa_baseline
namespace isa_avx2 {
extern const AttentionSteps<float> attention_float;
extern const AttentionSteps<double> attention_double;
} // namespace isa_avx2
namespace isa_avx512 { extern const AttentionSteps<float> attention_float; }

} // namespace kindling::library
