// kernels/reductions/folder.h: how one output is reduced, and the plan of a reduction. Internal to the tile executor.
#pragma once
#include <cstring>
#include <limits>

#include "core/error.h"
#include "kernels/reductions/fold.h"
#include "kernels/tile/executor.h"
#include "kernels/tile/move.h"

namespace kindling {

inline bool is_simple(Combine combine) { return combine <= Combine::All; }

inline Primitive primitive_of(Combine combine) {
    switch (combine) {
    case Combine::Sum: return Primitive::Add;
    case Combine::Prod: return Primitive::Mul;
    case Combine::Min:
    case Combine::All:
    case Combine::ArgMin: return Primitive::Min;
    default: return Primitive::Max;
    }
}

/// Reduces one output of the expression. A state is the partial result of some values.
struct Folder {
    Combine combine;
    DType type; // of the values in a tile
    int item;   // bytes of one value
    int state_size;
    RowFold fold;                // for simple reductions and Arg
    ColumnBlockFold column_fold; // or null
    TileCode merge_code;         // of two values
    TileCode test_code;          // Arg: Eq
    TileCode nan_code;           // Arg: IsNan, floats only
    TileCode cast_code;          // MeanVar: to double, if it is not
    TileFunction subtract;
    char* results[2]; // where the reduced values are written: one array, or two for MeanVar

    void set(Combine which, DType value) {
        combine = which;
        type = value_type(value);
        item = static_cast<int>(item_size(type));
        state_size = combine == Combine::MeanVar ? 24 : combine >= Combine::ArgMin ? 16 : item;
        nan_code = cast_code = {};
        column_fold = nullptr;
        if (combine == Combine::MeanVar) {
            KINDLING_ASSERT(is_floating(type));
            fold = find_row_fold(Combine::Sum, DType::Float64);
            subtract = find_tile(Primitive::Sub, DType::Float64).function;
            merge_code = find_tile(Primitive::Mul, DType::Float64);
            if (type != DType::Float64) cast_code = find_cast(type, DType::Float64);
            return;
        }
        Combine value_combine = combine == Combine::ArgMin ? Combine::Min : combine == Combine::ArgMax ? Combine::Max : combine;
        fold = find_row_fold(value_combine, type);
        column_fold = find_column_fold(value_combine, type);
        merge_code = find_tile(primitive_of(combine), type);
        KINDLING_ASSERT(fold && merge_code.function);
        if (!is_simple(combine)) {
            test_code = find_tile(Primitive::Eq, type);
            if (is_floating(type)) nan_code = find_tile(Primitive::IsNan, type);
        }
    }

    struct Arg {
        uint64_t value;
        int64_t index;
    };
    struct Moments {
        double count, mean, squares;
    };

    /// Reduces `rows` rows of n values to states. `first` is the position, within its reduction, of each row's first
    /// value.
    void fold_rows(char* states, const char* values, int64_t rows, int64_t n, int64_t first) const {
        if (is_simple(combine)) {
            fold(states, values, rows, n);
            return;
        }
        if (combine != Combine::MeanVar && n <= fold_block && rows > 1) {
            find_in_rows(states, values, rows, n, first);
            return;
        }
        for (int64_t r = 0; r < rows; r++, values += n * item, states += state_size) {
            if (combine == Combine::MeanVar) {
                Moments moments = fold_moments(values, n);
                std::memcpy(states, &moments, sizeof moments);
            } else {
                Arg arg = find_first(values, n);
                arg.index += first;
                std::memcpy(states, &arg, sizeof arg);
            }
        }
    }

    Arg find_first(const char* values, int64_t n) const {
        Arg best{0, 0};
        alignas(64) char splat[splat_bytes];
        uint8_t equal[fold_block];
        fold(splat, values, 1, n);
        std::memcpy(&best.value, splat, static_cast<size_t>(item));
        fill_splat(splat, &best.value, item);
        uint8_t is_nan = 0;
        if (nan_code.function) nan_code.function(&is_nan, splat, nullptr, nullptr, 1, 0);
        for (int64_t at = 0; at < n; at += fold_block) {
            int64_t some = n - at < fold_block ? n - at : fold_block;
            if (is_nan) nan_code.function(equal, values + at * item, nullptr, nullptr, some, 0);
            else test_code.function(equal, values + at * item, splat, nullptr, some, 2);
            if (const void* hit = std::memchr(equal, 1, static_cast<size_t>(some))) {
                best.index = at + (static_cast<const uint8_t*>(hit) - equal);
                return best;
            }
        }
        return best;
    }

    /// Like find_first, for rows of at most a block: as many of them at once as one call takes.
    void find_in_rows(char* states, const char* values, int64_t rows, int64_t n, int64_t first) const {
        constexpr int64_t pass = 4 * fold_block;
        RunArena arena;
        char *best = arena.take<char>(8 * pass), *repeated = arena.take<char>(8 * pass);
        uint8_t *equal = arena.take<uint8_t>(pass + 8), *is_nan = arena.take<uint8_t>(pass);
        for (int64_t some; rows > 0; rows -= some, values += some * n * item) {
            some = rows < pass / n ? rows : pass / n;
            fold(best, values, some, n);
            find_plane_copy(item)({repeated, best, {some, n}, {n * item, item}, {item, 0}});
            test_code.function(equal, values, repeated, nullptr, some * n, 0);
            if (nan_code.function) nan_code.function(is_nan, best, nullptr, nullptr, some, 0);
            for (int64_t r = 0; r < some; r++, states += state_size) {
                uint8_t* hit = equal + r * n;
                if (nan_code.function && is_nan[r]) nan_code.function(hit, values + r * n * item, nullptr, nullptr, n, 0);
                Arg arg{0, first};
                std::memcpy(&arg.value, best + r * item, 8); // `item` bytes are used
                for (uint64_t word;; arg.index += 8) {       // one byte per value, 1 if it matches
                    std::memcpy(&word, hit + (arg.index - first), 8);
                    if (!word) continue;
                    arg.index += __builtin_ctzll(word) / 8;
                    break;
                }
                std::memcpy(states, &arg, sizeof arg);
            }
        }
    }

    Moments fold_moments(const char* values, int64_t n) const {
        PairwiseCounter<Moments, Moments (*)(const Moments&, const Moments&)> counter(merged);
        alignas(64) double wide[fold_block], difference[fold_block], splat[splat_bytes / 8];
        for (int64_t at = 0; at < n; at += fold_block) {
            int64_t some = n - at < fold_block ? n - at : fold_block;
            const double* x = reinterpret_cast<const double*>(values + at * item);
            if (cast_code.function) {
                cast_code.function(wide, values + at * item, nullptr, nullptr, some, 0);
                x = wide;
            }
            Moments part{static_cast<double>(some), 0, 0};
            fold(&part.mean, x, 1, some);
            part.mean /= part.count;
            for (double& repeated : splat) repeated = part.mean;
            subtract(difference, x, splat, nullptr, some, 2);
            merge_code.function(difference, difference, difference, nullptr, some, 0);
            fold(&part.squares, difference, 1, some);
            counter.push(part);
        }
        return counter.total();
    }
    static Moments merged(const Moments& a, const Moments& b) {
        double count = a.count + b.count, difference = b.mean - a.mean;
        return {count, a.mean + difference * (b.count / count),
                a.squares + b.squares + difference * difference * (a.count * b.count / count)};
    }

    /// `into` comes before `later` in the order of the reduction.
    void merge(char* into, const char* later) const {
        if (is_simple(combine)) {
            merge_code.function(into, into, later, nullptr, merge_code.scale, 0);
        } else if (combine == Combine::MeanVar) {
            Moments a, b;
            std::memcpy(&a, into, sizeof a);
            std::memcpy(&b, later, sizeof b);
            a = merged(a, b);
            std::memcpy(into, &a, sizeof a);
        } else {
            // The later one wins only if the merged value differs from the earlier one, and the earlier one is not NaN.
            alignas(16) char value[16], earlier[16] = {};
            std::memcpy(earlier, into, static_cast<size_t>(item));
            merge_code.function(value, into, later, nullptr, 1, 0);
            uint8_t same = 0, nan = 0;
            test_code.function(&same, value, earlier, nullptr, 1, 0);
            if (nan_code.function) nan_code.function(&nan, earlier, nullptr, nullptr, 1, 0);
            if (!same && !nan) std::memcpy(into, later, 16);
        }
    }

    /// For simple reductions: merges `count` values into those before them.
    void merge_values(char* to, const char* earlier, const char* later, int64_t count) const {
        merge_code.function(to, earlier, later, nullptr, count * merge_code.scale, 0);
    }
    void merge_values(char* into, const char* later, int64_t count) const { merge_values(into, into, later, count); }

    /// A sum of nothing but -0 is 0, since torch starts from 0.
    void tidy(char* values, int64_t count) const {
        if (combine != Combine::Sum || category(type) < 2) return;
        alignas(64) static constexpr char zeros[splat_bytes] = {};
        merge_code.function(values, values, zeros, nullptr, count * merge_code.scale, 2);
    }

    void finish(const char* state, int64_t at) const {
        if (combine == Combine::MeanVar) {
            std::memcpy(results[0] + 8 * at, state + 8, 8);
            std::memcpy(results[1] + 8 * at, state + 16, 8);
        } else if (is_simple(combine)) {
            std::memcpy(results[0] + item * at, state, static_cast<size_t>(item));
            tidy(results[0] + item * at, 1);
        } else {
            std::memcpy(results[0] + 8 * at, state + 8, 8);
        }
    }

    /// The result of a reduction over no values.
    void fill_empty(int64_t count) const {
        if (combine == Combine::MeanVar) {
            for (int64_t i = 0; i < count; i++) {
                double mean = std::numeric_limits<double>::quiet_NaN(), squares = 0;
                std::memcpy(results[0] + 8 * i, &mean, 8);
                std::memcpy(results[1] + 8 * i, &squares, 8);
            }
            return;
        }
        Immediate value = Immediate::of(type, combine == Combine::Prod || combine == Combine::All ? 1 : 0);
        if ((combine == Combine::Min || combine == Combine::Max) && is_floating(type)) {
            double infinity = std::numeric_limits<double>::infinity();
            value = Immediate::of(type, combine == Combine::Min ? infinity : -infinity);
        }
        int size = is_simple(combine) ? item : 8;
        for (int64_t i = 0; i < count; i++) std::memcpy(results[0] + i * size, &value, static_cast<size_t>(size));
    }
};

struct FoldPlan {
    const LoopKernel& kernel;
    const TileProgram& program;
    const LoopOperand* inputs;
    Folder* folders;
    int folder_count;
    LoopOrder order; // of the whole space: kept dimensions are outermost for rows, innermost for columns
    int outer;       // how many dimensions are outermost
    int64_t kept, reduced;
};

inline bool lies_in_order(const LoopOrder& order, const LoopOperand& operand) {
    int64_t expected = static_cast<int64_t>(item_size(operand.type));
    for (int d = order.ndim; d-- > 0;) {
        if (operand.strides[order.dims[d]] != expected) return false;
        expected *= order.sizes[d];
    }
    return true;
}

/// Reduces columns: the kept dimensions are innermost, and whole rows of values are merged into one another.
void fold_columns(const FoldPlan& plan);
/// Reduces columns where some outputs are positions of extremes. The value is found first, then the first row that has
/// it. So everything is read twice, but in memory order.
void fold_places_in_columns(FoldPlan& plan);

} // namespace kindling
