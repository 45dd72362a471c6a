// kernels/fold.cpp: reductions: rows of contiguous values, columns of them, and what is done with the results.
#include "kernels/fold.h"

#include <limits>

#include "core/error.h"
#include "kernels/executor.h"
#include "kernels/isa.h"
#include "kernels/move.h"

namespace kindling {

RowFold find_row_fold(Combine combine, DType type) { return KINDLING_BY_ISA(find_row_fold, combine, type); }
ColumnBlockFold find_column_fold(Combine combine, DType type) {
    return KINDLING_BY_ISA(find_column_fold, combine, type);
}
LaneBlocksFold find_lane_fold(Combine combine, DType type) { return KINDLING_BY_ISA(find_lane_fold, combine, type); }

DType accumulate_type(Combine combine, DType type) {
    switch (combine) {
        case Combine::ArgMin: case Combine::ArgMax: return DType::Int64;
        case Combine::MeanVar: return DType::Float64;
        default: return value_type(type);
    }
}

namespace {

bool is_simple(Combine combine) { return combine <= Combine::All; }

Primitive primitive_of(Combine combine) {
    switch (combine) {
        case Combine::Sum: return Primitive::Add;
        case Combine::Prod: return Primitive::Mul;
        case Combine::Min: case Combine::All: case Combine::ArgMin: return Primitive::Min;
        default: return Primitive::Max;
    }
}

/// One output of the expression on its way into a fold. A state is what a part of the values has come to.
struct Folder {
    Combine combine;
    DType type;             // of the values in a tile
    int item;               // of one value
    int state_size;
    RowFold fold;           // simple ones and Arg
    ColumnBlockFold column_fold;  // or null
    TileCode merge_code;    // of two values
    TileCode test_code;     // Arg: Eq
    TileCode nan_code;      // Arg: IsNan, floats only
    TileCode cast_code;     // MeanVar: to double, if it is not
    TileFunction subtract;
    char* results[2];       // where the folded values go, one array or two

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
        Combine value_combine = combine == Combine::ArgMin   ? Combine::Min
                                : combine == Combine::ArgMax ? Combine::Max
                                                             : combine;
        fold = find_row_fold(value_combine, type);
        column_fold = find_column_fold(value_combine, type);
        merge_code = find_tile(primitive_of(combine), type);
        KINDLING_ASSERT(fold && merge_code.function);
        if (!is_simple(combine)) {
            test_code = find_tile(Primitive::Eq, type);
            if (is_floating(type)) nan_code = find_tile(Primitive::IsNan, type);
        }
    }

    struct Arg { uint64_t value; int64_t index; };
    struct Moments { double count, mean, squares; };

    /// States of `rows` rows of n values; the first value of each is number `first` of its fold.
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
        for (int i = item; i < splat_bytes; i += item) std::memcpy(splat + i, splat, static_cast<size_t>(item));
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

    /// As find_first, in rows of at most a block: as many of them at once as a pass takes.
    void find_in_rows(char* states, const char* values, int64_t rows, int64_t n, int64_t first) const {
        constexpr int64_t pass = 4 * fold_block;
        alignas(64) char best[8 * pass], repeated[8 * pass];
        uint8_t equal[pass + 8], is_nan[pass];
        for (int64_t some; rows > 0; rows -= some, values += some * n * item) {
            some = rows < pass / n ? rows : pass / n;
            fold(best, values, some, n);
            find_plane_copy(item)({repeated, best, {some, n}, {n * item, item}, {item, 0}});
            test_code.function(equal, values, repeated, nullptr, some * n, 0);
            if (nan_code.function) nan_code.function(is_nan, best, nullptr, nullptr, some, 0);
            for (int64_t r = 0; r < some; r++, states += state_size) {
                uint8_t* hit = equal + r * n;
                if (nan_code.function && is_nan[r])
                    nan_code.function(hit, values + r * n * item, nullptr, nullptr, n, 0);
                Arg arg{0, first};
                std::memcpy(&arg.value, best + r * item, 8);  // `item` bytes count
                for (uint64_t word;; arg.index += 8) {  // one of the row's is 1
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

    /// `into` comes before `later`.
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
            // The later one wins only by a value that the earlier is not: then merging gives something unequal to it.
            alignas(16) char value[16], earlier[16] = {};
            std::memcpy(earlier, into, static_cast<size_t>(item));
            merge_code.function(value, into, later, nullptr, 1, 0);
            uint8_t same = 0, nan = 0;
            test_code.function(&same, value, earlier, nullptr, 1, 0);
            if (nan_code.function) nan_code.function(&nan, earlier, nullptr, nullptr, 1, 0);
            if (!same && !nan) std::memcpy(into, later, 16);
        }
    }

    /// Simple ones: `count` values into those before them.
    void merge_values(char* to, const char* earlier, const char* later, int64_t count) const {
        merge_code.function(to, earlier, later, nullptr, count * merge_code.scale, 0);
    }
    void merge_values(char* into, const char* later, int64_t count) const { merge_values(into, into, later, count); }

    /// The sum of nothing but -0 is 0, as torch starts from 0.
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

    /// Of no values at all.
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
    LoopOrder order;      // of the whole space: kept dimensions outside for rows, inside for columns
    int64_t kept, reduced;
};

bool lies_in_order(const LoopOrder& order, const LoopOperand& operand) {
    int64_t expected = static_cast<int64_t>(item_size(operand.type));
    for (int d = order.ndim; d-- > 0;) {
        if (operand.strides[order.dims[d]] != expected) return false;
        expected *= order.sizes[d];
    }
    return true;
}

void finish_parts(const FoldPlan& plan, char* states, int64_t parts);
constexpr int64_t largest_part = 1 << 15;  // of a row: a power of two of blocks

/// Rows that lie one after the other, folded where they lie. False if this is something else.
bool fold_plain_rows(const FoldPlan& plan) {
    if (!plan.program.steps.empty() || plan.folder_count != 1 || !is_simple(plan.folders[0].combine)) return false;
    const TileSlot& slot = plan.program.slots[static_cast<size_t>(plan.program.outputs[0])];
    if (slot.kind != TileSlot::Input || !lies_in_order(plan.order, plan.inputs[slot.which])) return false;
    const Folder& folder = plan.folders[0];
    const char* values = static_cast<const char*>(plan.inputs[slot.which].data);
    const int64_t n = plan.reduced, parts = (n + largest_part - 1) / largest_part;
    const bool backwards = goes_backwards(plan.kept * n * folder.item);
    if (parts == 1) {
        parallel(plan.kept, 32768 / n + 1, [&](int64_t first, int64_t last) {
            in_direction(backwards, first, last, direction_piece / n + 1, [&](int64_t begin, int64_t end) {
                char* results = folder.results[0] + begin * folder.item;
                folder.fold(results, values + begin * n * folder.item, end - begin, n);
                folder.tidy(results, end - begin);
            });
        });
        return true;
    }
    RunArena arena;
    char* states = arena.take<char>(plan.kept * parts * 32);
    parallel(plan.kept * parts, 1, [&](int64_t begin, int64_t end) {
        in_direction(backwards, begin, end, 1, [&](int64_t task, int64_t stop) {
            for (; task < stop; task++) {
                const int64_t from = task % parts * largest_part;
                folder.fold(states + task * 32, values + (task / parts * n + from) * folder.item, 1,
                            n - from < largest_part ? n - from : largest_part);
            }
        });
    });
    finish_parts(plan, states, parts);
    return true;
}

/// Rows: the reduced dimensions are innermost. A task is one part of one row, or several whole rows.
void fold_rows(const FoldPlan& plan) {
    constexpr int64_t largest = 2048;
    const int64_t n = plan.reduced;
    if (fold_plain_rows(plan)) return;
    RunArena fold_arena;
    NativeFold* natively = fold_arena.take<NativeFold>(plan.folder_count);
    for (int f = 0; f < plan.folder_count; f++) natively[f] = {plan.folders[f].combine, plan.folders[f].type};
    // Machine code goes row by row: short ones cost it more than they cost tiles.
    if (n < 128 && !native_always()) natively = nullptr;
    if (n <= largest) {
        int64_t grain = 32768 / n + 1;
        parallel(plan.kept, grain, [&](int64_t begin, int64_t end) {
            RunArena arena;
            TileRunner runner(plan.program, plan.order, plan.inputs, plan.kernel.scalars, largest, false, arena,
                              n <= tile_size(plan.program, largest) ? natively : nullptr);
            runner.seek(begin * n);
            if (runner.folds_natively()) {
                char* folded = arena.take<char>(fold_result_bytes * plan.folder_count);
                for (int64_t m = begin; m < end; m++) {
                    runner.fold(n, folded);
                    for (int f = 0; f < plan.folder_count; f++) {
                        const int item = plan.folders[f].item;
                        std::memcpy(plan.folders[f].results[0] + m * item, folded + fold_result_bytes * f,
                                    static_cast<size_t>(item));
                    }
                }
                for (int f = 0; f < plan.folder_count; f++)
                    plan.folders[f].tidy(plan.folders[f].results[0] + begin * plan.folders[f].item, end - begin);
                return;
            }
            int64_t at_once = runner.tile() / n;
            char* states = arena.take<char>((at_once ? at_once : 1) * 32);
            char* whole = at_once ? nullptr : arena.take<char>(n * 16 * plan.folder_count);
            for (int64_t m = begin; m < end;) {
                int64_t rows = !at_once ? 1 : end - m < at_once ? end - m : at_once;
                if (at_once) {
                    runner.run(rows * n, nullptr);
                } else {  // a row is longer than this program's tile
                    for (int64_t at = 0; at < n; at += runner.tile()) {
                        int64_t some = n - at < runner.tile() ? n - at : runner.tile();
                        runner.run(some, nullptr);
                        for (int f = 0; f < plan.folder_count; f++) {
                            int item = plan.folders[f].item;
                            std::memcpy(whole + n * 16 * f + at * item, runner.output(f, some),
                                        static_cast<size_t>(some * item));
                        }
                    }
                }
                for (int f = 0; f < plan.folder_count; f++) {
                    const Folder& folder = plan.folders[f];
                    const char* values =
                        at_once ? static_cast<const char*>(runner.output(f, rows * n)) : whole + n * 16 * f;
                    if (is_simple(folder.combine)) {
                        folder.fold(folder.results[0] + m * folder.item, values, rows, n);
                        folder.tidy(folder.results[0] + m * folder.item, rows);
                        continue;
                    }
                    folder.fold_rows(states, values, rows, n, 0);
                    for (int64_t r = 0; r < rows; r++) folder.finish(states + r * folder.state_size, m + r);
                }
                m += rows;
            }
        });
        return;
    }
    // Long rows fall into parts of a power of two of blocks: each is a whole subtree of the pairwise order.
    int64_t part = largest_part;
    int64_t parts = (n + part - 1) / part;
    RunArena arena;
    int64_t stride = 32 * plan.folder_count;
    char* states = arena.take<char>(plan.kept * parts * stride);
    parallel(plan.kept * parts, 1, [&](int64_t begin, int64_t end) {
        RunArena own;
        TileRunner runner(plan.program, plan.order, plan.inputs, plan.kernel.scalars, largest, false, own, natively);
        int64_t tile = runner.tile();
        char* folded = own.take<char>(fold_result_bytes * plan.folder_count);
        struct State { char bytes[32]; };
        // One counter per folded output, kept by hand since they advance together.
        State* levels = own.take<State>(plan.folder_count * 64);
        for (int64_t task = begin; task < end; task++) {
            int64_t row = task / parts, from = task % parts * part, to = from + part < n ? from + part : n;
            runner.seek(row * n + from);
            int depth = 0;
            uint64_t count = 0;
            for (int64_t at = from; at < to; at += tile) {
                int64_t some = to - at < tile ? to - at : tile;
                if (runner.folds_natively()) runner.fold(some, folded);
                else runner.run(some, nullptr);
                int merges = __builtin_ctzll(~count);
                for (int f = 0; f < plan.folder_count; f++) {
                    const Folder& folder = plan.folders[f];
                    State* own_levels = levels + 64 * f;
                    if (runner.folds_natively())
                        std::memcpy(own_levels[depth].bytes, folded + fold_result_bytes * f, fold_result_bytes);
                    else
                        folder.fold_rows(own_levels[depth].bytes, static_cast<const char*>(runner.output(f, some)), 1,
                                         some, at);
                    for (int i = 0; i < merges; i++)
                        folder.merge(own_levels[depth - 1 - i].bytes, own_levels[depth - i].bytes);
                }
                depth += 1 - merges;
                count++;
            }
            for (int f = 0; f < plan.folder_count; f++) {
                State* own_levels = levels + 64 * f;
                for (int i = depth - 1; i > 0; i--) plan.folders[f].merge(own_levels[i - 1].bytes, own_levels[i].bytes);
                std::memcpy(states + task * stride + 32 * f, own_levels[0].bytes, 32);
            }
        }
    });
    finish_parts(plan, states, parts);
}

/// Folds the states of parts of rows into results.
void finish_parts(const FoldPlan& plan, char* states, int64_t parts) {
    const int64_t stride = 32 * plan.folder_count;
    for (int64_t row = 0; row < plan.kept; row++)
        for (int f = 0; f < plan.folder_count; f++) {
            const Folder& folder = plan.folders[f];
            char* first = states + row * parts * stride + 32 * f;
            // Merging in place, as the counter would: pairs, pairs of pairs, the rest from the smallest up.
            int64_t tops[64];
            int depth = 0;
            for (int64_t p = 0; p < parts; p++) {
                tops[depth++] = p;
                for (int64_t bit = p; bit & 1; bit >>= 1, depth--)
                    folder.merge(first + tops[depth - 2] * stride, first + tops[depth - 1] * stride);
            }
            for (; depth > 1; depth--) folder.merge(first + tops[depth - 2] * stride, first + tops[depth - 1] * stride);
            folder.finish(first, row);
        }
}

constexpr int64_t widest_in_registers = 256;  // bytes of a row up to which a block is folded column by column

/// Columns: the kept dimensions are innermost; whole rows of values are folded into one another.
void fold_columns(const FoldPlan& plan) {
    constexpr int64_t largest = 2048;
    const int64_t columns = plan.kept, n = plan.reduced, tile = tile_size(plan.program, largest);
    RunArena arena;
    // What is only folded is read where it lies.
    const char** plain = arena.take<const char*>(plan.folder_count);
    bool all_plain = plan.program.steps.empty();
    for (int f = 0; f < plan.folder_count && all_plain; f++) {
        const TileSlot& slot = plan.program.slots[static_cast<size_t>(plan.program.outputs[static_cast<size_t>(f)])];
        all_plain = slot.kind == TileSlot::Input && lies_in_order(plan.order, plan.inputs[slot.which]);
        if (all_plain) plain[f] = static_cast<const char*>(plan.inputs[slot.which].data);
    }
    // Columns at a time: 16 lanes of them stay near.
    const int64_t chunk = all_plain ? 16384 / plan.folders[0].item : tile < 1024 ? tile : 1024;
    const int64_t chunks = (columns + chunk - 1) / chunk;
    // Few columns and many rows: rows are cut too, into a power of two of blocks.
    int64_t part = n;
    if (chunks < 8 && n > 4 * fold_block) {
        part = fold_block;
        while (part * columns < 1 << 16) part *= 2;
    }
    const int64_t parts = (n + part - 1) / part;
    char* partial[max_loop_operands];
    for (int f = 0; f < plan.folder_count; f++)
        partial[f] = parts == 1 ? plan.folders[f].results[0] : arena.take<char>(parts * columns * plan.folders[f].item);
    const bool whole_rows = columns <= chunk;
    // Where 16 rows fit in a tile they lie as the 16 lanes do, and fold in one call.
    const int64_t width = columns < chunk ? columns : chunk;
    const int64_t at_once = !whole_rows                    ? 1
                            : all_plain                    ? fold_lanes
                            : tile / columns >= fold_lanes ? tile / columns / fold_lanes * fold_lanes
                                                           : tile / columns;
    const bool by_lanes = whole_rows && at_once >= fold_lanes;
    bool by_blocks = all_plain && whole_rows;
    for (int f = 0; f < plan.folder_count; f++)
        by_blocks &= plan.folders[f].column_fold && columns * plan.folders[f].item <= widest_in_registers;
    parallel(chunks * parts, 1 + 65536 / (part * width), [&](int64_t begin, int64_t end) {
        RunArena own;
        TileRunner runner(plan.program, plan.order, plan.inputs, plan.kernel.scalars, largest, false, own);
        char** lanes = own.take<char*>(plan.folder_count);
        for (int f = 0; f < plan.folder_count; f++)
            lanes[f] = own.take<char>(fold_lanes * width * plan.folders[f].item);
        const char** lane_sources = own.take<const char*>(plan.folder_count * fold_lanes);
        char** levels = own.take<char*>(plan.folder_count * 64);
        for (int i = 0; i < plan.folder_count * 64; i++) levels[i] = nullptr;
        for (int64_t task = begin; task < end; task++) {
            const int64_t first_column = task / parts * chunk;
            const int64_t some = columns - first_column < chunk ? columns - first_column : chunk;
            const int64_t from = task % parts * part, to = from + part < n ? from + part : n;
            if (whole_rows && !all_plain) runner.seek(from * columns);
            uint64_t blocks = 0;
            int depth = 0;
            // Where what the next block comes to is put for folder f.
            auto next_level = [&](int f) {
                char*& level = levels[64 * f + depth];
                if (!level) level = own.take<char>(width * plan.folders[f].item);
                return level;
            };
            auto merge_levels = [&](int f, int count) {
                for (int i = 0; i < count; i++)
                    plan.folders[f].merge_values(levels[64 * f + depth - 1 - i], levels[64 * f + depth - i], some);
            };
            for (int64_t k = from; k < to && by_blocks; k += fold_block, blocks++) {
                const int merges = __builtin_ctzll(~blocks);
                for (int f = 0; f < plan.folder_count; f++) {
                    const int64_t row_bytes = columns * plan.folders[f].item;
                    const int64_t rows = to - k < fold_block ? to - k : fold_block;
                    plan.folders[f].column_fold(next_level(f), plain[f] + k * row_bytes, rows, columns, row_bytes);
                    merge_levels(f, merges);
                }
                depth += 1 - merges;
            }
            for (int64_t k = by_blocks ? to : from; k < to;) {
                const int64_t rows = to - k < at_once ? to - k : at_once;
                if (!whole_rows && !all_plain) runner.seek(k * columns + first_column);
                if (!all_plain) runner.run(rows * some, nullptr);
                const int64_t first = k * columns + first_column;
                for (int64_t r = 0; r < rows;) {
                    const int64_t in_block = k % fold_block, lane = k % fold_lanes;
                    int64_t group = by_lanes && lane == 0 ? (rows - r < fold_lanes ? rows - r : fold_lanes) : 1;
                    const bool last = in_block + group == fold_block || k + group == to;
                    const int merges = last ? __builtin_ctzll(~blocks) : 0;
                    for (int f = 0; f < plan.folder_count; f++) {
                        const Folder& folder = plan.folders[f];
                        const int64_t row_bytes = some * folder.item;
                        const char* values = (all_plain ? plain[f] + first * folder.item
                                                        : static_cast<const char*>(runner.output(f, rows * some))) +
                                             r * row_bytes;
                        auto lane_at = [&](int64_t which) { return lanes[f] + which * row_bytes; };
                        // Rows one by one stay where they are until they meet another.
                        const char** sources = lane_sources + fold_lanes * f;
                        if (in_block >= fold_lanes) {
                            folder.merge_values(lane_at(lane), by_lanes ? lane_at(lane) : sources[lane], values, group * some);
                        } else if (by_lanes || !all_plain) {
                            std::memcpy(lane_at(lane), values, static_cast<size_t>(group * row_bytes));
                        }
                        sources[lane] = all_plain && in_block < fold_lanes ? values : lane_at(lane);
                        if (!last) continue;
                        int64_t used = in_block + group < fold_lanes ? in_block + group : fold_lanes;
                        for (int64_t half = fold_lanes / 2; half > 0; half /= 2) {
                            const int64_t both = used - half;
                            if (both > 0 && by_lanes) folder.merge_values(lane_at(0), lane_at(half), both * some);
                            for (int64_t j = 0; j < both && !by_lanes; j++) {
                                folder.merge_values(lane_at(j), sources[j], sources[j + half], some);
                                sources[j] = lane_at(j);
                            }
                            if (both > 0) used = half;
                        }
                        std::memcpy(next_level(f), by_lanes ? lane_at(0) : sources[0], static_cast<size_t>(row_bytes));
                        merge_levels(f, merges);
                    }
                    if (last) depth += 1 - merges, blocks++;
                    r += group;
                    k += group;
                }
            }
            for (int f = 0; f < plan.folder_count; f++) {
                const Folder& folder = plan.folders[f];
                char** own_levels = levels + 64 * f;
                for (int i = depth - 1; i > 0; i--)
                    folder.merge_values(own_levels[i - 1], own_levels[i], some);
                char* to_memory = partial[f] + (task % parts * columns + first_column) * folder.item;
                std::memcpy(to_memory, own_levels[0], static_cast<size_t>(some * folder.item));
                if (parts == 1) folder.tidy(to_memory, some);
            }
        }
    });
    if (parts == 1) return;
    for (int f = 0; f < plan.folder_count; f++) {
        const Folder& folder = plan.folders[f];
        int64_t tops[64], row_bytes = columns * folder.item;
        int depth = 0;
        auto merge = [&]() {
            folder.merge_values(partial[f] + tops[depth - 2] * row_bytes, partial[f] + tops[depth - 1] * row_bytes,
                                columns);
        };
        for (int64_t p = 0; p < parts; p++) {
            tops[depth++] = p;
            for (int64_t bit = p; bit & 1; bit >>= 1, depth--) merge();
        }
        for (; depth > 1; depth--) merge();
        std::memcpy(folder.results[0], partial[f], static_cast<size_t>(row_bytes));
        folder.tidy(folder.results[0], columns);
    }
}

/// Columns, where some of the folds give the place of an extreme: its value is found first, then the first row that has
/// it. So everything is read twice, but as it lies.
void fold_places_in_columns(FoldPlan& plan) {
    RunArena arena;
    Folder* wanted = plan.folders;
    plan.folders = arena.take<Folder>(plan.folder_count);
    for (int f = 0; f < plan.folder_count; f++) {
        plan.folders[f] = wanted[f];
        if (is_simple(wanted[f].combine)) continue;
        plan.folders[f].combine = wanted[f].combine == Combine::ArgMin ? Combine::Min : Combine::Max;
        plan.folders[f].results[0] = arena.take<char>(plan.kept * wanted[f].item);
    }
    fold_columns(plan);
    constexpr int64_t largest = 1024;
    const int64_t columns = plan.kept, n = plan.reduced, tile = tile_size(plan.program, largest);
    // Rows at a time, where several of them fit in a tile.
    const int64_t at_once = tile / columns < 1 ? 1 : tile / columns < n ? tile / columns : n;
    parallel((columns + tile - 1) / tile, 1 + 65536 / (n * tile), [&](int64_t begin, int64_t end) {
        RunArena own;
        TileRunner runner(plan.program, plan.order, plan.inputs, plan.kernel.scalars, tile, false, own);
        alignas(64) uint8_t hits[largest + 8], nan[largest];
        struct Search {
            int64_t missing;
            char* best;
            uint8_t* nan_best;
            bool any_nan;
        }; // of tiles: the best repeated
        Search* searches = own.take<Search>(plan.folder_count);
        for (int f = 0; f < plan.folder_count; f++)
            searches[f] = {0, own.take<char>(tile * plan.folders[f].item), own.take<uint8_t>(tile), false};
        for (int64_t first = begin * tile; first < columns && first < end * tile; first += tile) {
            const int64_t some = columns - first < tile ? columns - first : tile;
            int64_t left = 0;
            for (int f = 0; f < plan.folder_count; f++) {
                const Folder& folder = wanted[f];
                Search& search = searches[f];
                search.missing = is_simple(folder.combine) ? 0 : some;
                if (!search.missing) continue;
                left += search.missing;
                int64_t* places = reinterpret_cast<int64_t*>(folder.results[0]) + first;
                for (int64_t c = 0; c < some; c++)
                    places[c] = -1;
                for (int64_t r = 0; r < at_once; r++)
                    std::memcpy(search.best + r * some * folder.item, plan.folders[f].results[0] + first * folder.item,
                                static_cast<size_t>(some * folder.item));
                search.any_nan = false;
                if (!folder.nan_code.function) continue;
                folder.nan_code.function(search.nan_best, search.best, nullptr, nullptr, at_once * some, 0);
                search.any_nan = std::memchr(search.nan_best, 1, static_cast<size_t>(some)) != nullptr;
            }
            for (int64_t row = 0; row < n && left; row += at_once) {
                const int64_t count = (n - row < at_once ? n - row : at_once) * some;
                runner.seek(row * columns + first);
                runner.run(count, nullptr);
                for (int f = 0; f < plan.folder_count; f++) {
                    Search& search = searches[f];
                    if (!search.missing) continue;
                    const Folder& folder = wanted[f];
                    const char* values = static_cast<const char*>(runner.output(f, count));
                    folder.test_code.function(hits, values, search.best, nullptr, count, 0);
                    if (search.any_nan) {
                        folder.nan_code.function(nan, values, nullptr, nullptr, count, 0);
                        for (int64_t c = 0; c < count; c++)
                            hits[c] |= nan[c] & search.nan_best[c];
                    }
                    std::memset(hits + count, 0, 8);
                    int64_t* places = reinterpret_cast<int64_t*>(folder.results[0]) + first;
                    for (int64_t c = 0; c < count; c += 8) {
                        uint64_t word;
                        std::memcpy(&word, hits + c, 8);
                        for (; word; word &= word - 1) {  // a set byte is 1
                            const int64_t at = c + __builtin_ctzll(word) / 8;
                            int64_t& place = places[at % some];
                            if (place >= 0) continue;
                            place = row + at / some;
                            search.missing--, left--;
                        }
                    }
                }
            }
        }
    });
}

/// Columns if that is how the largest input lies in memory.
bool wants_columns(const LoopKernel& kernel, const LoopOperand* inputs, int input_count) {
    int best_dims = -1;
    bool columns = false;
    for (int i = 0; i < input_count; i++) {
        int dims = 0, nearest = -1;
        for (int d = 0; d < kernel.ndim; d++) {
            int64_t stride = inputs[i].strides[d];
            if (stride == 0 || kernel.sizes[d] == 1) continue;
            dims++;
            if (nearest < 0 || stride <= inputs[i].strides[nearest]) nearest = d;
        }
        if (dims <= best_dims || nearest < 0) continue;
        best_dims = dims;
        columns = !(kernel.reduced >> nearest & 1) && kernel.sizes[nearest] >= 4;
    }
    return columns;
}

/// Folded values to memory as they are, or as a half type.
void store_values(const LoopOperand& operand, const char* values, DType type, const LoopOrder& kept) {
    RunArena arena;
    int item = static_cast<int>(item_size(operand.type)), from_item = static_cast<int>(item_size(type));
    TileFunction convert = nullptr;
    if (operand.type != type) {
        KINDLING_ASSERT(is_half(operand.type) && type == DType::Float32);
        convert = find_move(operand.type == DType::Float16 ? TileMove::FloatToHalf : TileMove::FloatToBFloat16);
    }
    Stream stream;
    stream.set(operand.data, item, kept.ndim, kept.sizes, ordered_strides(kept, operand, arena),
               arena.take<int64_t>(3 * kept.ndim + 1));
    uint16_t halves[512];
    for (int64_t at = 0; at < kept.size; at += 512) {
        int64_t some = kept.size - at < 512 ? kept.size - at : 512;
        const void* from = values + at * from_item;
        if (convert) {
            convert(halves, from, nullptr, nullptr, some, 0);
            from = halves;
        }
        stream.scatter(from, some);
    }
}

/// Rows that lie one after the other, folded as they are: no order, no runner.
bool run_plain_fold(const LoopKernel& kernel, const TileProgram& program) {
    if (!program.steps.empty() || program.outputs.size() != 1 || kernel.finish || kernel.input_count != 1) return false;
    if (!is_simple(kernel.combines[0]) ||
        program.slots[static_cast<size_t>(program.outputs[0])].kind != TileSlot::Input)
        return false;
    const LoopOperand &output = kernel.operands[0], &input = kernel.operands[1];
    if (output.type != input.type) return false;
    int64_t kept = 1, reduced = 1, item = static_cast<int64_t>(item_size(input.type)), in = item, out = item;
    for (int d = kernel.ndim; d-- > 0;) {
        if (kernel.sizes[d] == 1) continue;
        if (input.strides[d] != in) return false;
        in *= kernel.sizes[d];
        if (kernel.reduced >> d & 1) {
            if (kept != 1) return false;
            reduced *= kernel.sizes[d];
        } else {
            if (output.strides[d] != out) return false;
            kept *= kernel.sizes[d];
            out *= kernel.sizes[d];
        }
    }
    if (reduced == 0 || kept * reduced > 32768) return false;
    Folder folder;
    folder.set(kernel.combines[0], kernel.expression->output_type(0));
    char* results = static_cast<char*>(output.data);
    folder.fold(results, input.data, kept, reduced);
    folder.tidy(results, kept);
    return true;
}

}  // namespace

void run_fold(const LoopKernel& kernel) {
    const TileProgram& program = kernel.expression->program();
    if (run_plain_fold(kernel, program)) return;
    const LoopOperand* inputs = kernel.operands + kernel.output_count;
    const int input_count = kernel.input_count - kernel.finish_input_count;
    const int folder_count = static_cast<int>(program.outputs.size());
    RunArena arena;
    Folder* folders = arena.take<Folder>(folder_count);
    bool simple = true, any_order = true, places = true;  // or the places of extremes
    for (int f = 0; f < folder_count; f++) {
        folders[f].set(kernel.combines[f], kernel.expression->output_type(f));
        simple &= is_simple(kernel.combines[f]);
        places &= kernel.combines[f] != Combine::MeanVar;
        any_order &= simple && (kernel.combines[f] >= Combine::Min || category(folders[f].type) < 2);
    }
    LoopOrder kept = order_dims(kernel, ~kernel.reduced, true, arena);
    LoopOrder reduced = order_dims(kernel, kernel.reduced, any_order, arena);
    if (kept.size == 0) return;

    // Where the folded values go: straight to the outputs if they lie that way.
    int values = 0;
    for (int f = 0; f < folder_count; f++)
        for (int part = 0; part < (kernel.combines[f] == Combine::MeanVar ? 2 : 1); part++, values++) {
            DType type = accumulate_type(kernel.combines[f], folders[f].type);
            bool direct =
                !kernel.finish && kernel.operands[values].type == type && lies_in_order(kept, kernel.operands[values]);
            folders[f].results[part] = direct ? static_cast<char*>(kernel.operands[values].data)
                                              : arena.take<char>(kept.size * static_cast<int64_t>(item_size(type)));
        }

    if (reduced.size == 0) {
        for (int f = 0; f < folder_count; f++) folders[f].fill_empty(kept.size);
    } else {
        places &= !simple && program.steps.size() <= 2;
        bool columns = (simple || places) && wants_columns(kernel, inputs, input_count);
        FoldPlan plan{kernel, program, inputs, folders, folder_count, {}, kept.size, reduced.size};
        plan.order.ndim = kept.ndim + reduced.ndim;
        plan.order.size = kept.size * reduced.size;
        plan.order.sizes = arena.take<int64_t>(plan.order.ndim + 1);
        plan.order.dims = arena.take<int>(plan.order.ndim + 1);
        const LoopOrder *outer = columns ? &reduced : &kept, *inner = columns ? &kept : &reduced;
        for (int d = 0; d < plan.order.ndim; d++) {
            const LoopOrder* from = d < outer->ndim ? outer : inner;
            int at = d < outer->ndim ? d : d - outer->ndim;
            plan.order.sizes[d] = from->sizes[at];
            plan.order.dims[d] = from->dims[at];
        }
        if (columns && simple) fold_columns(plan);
        else if (columns) fold_places_in_columns(plan);
        else fold_rows(plan);
    }

    if (kernel.finish) {
        LoopOperand* operands = arena.take<LoopOperand>(kernel.output_count + values + kernel.finish_input_count);
        for (int k = 0; k < kernel.output_count; k++)
            operands[k] = {kernel.operands[k].data, kernel.operands[k].type,
                           ordered_strides(kept, kernel.operands[k], arena)};
        int at = kernel.output_count;
        for (int f = 0; f < folder_count; f++)
            for (int part = 0; part < (kernel.combines[f] == Combine::MeanVar ? 2 : 1); part++) {
                DType type = accumulate_type(kernel.combines[f], folders[f].type);
                int64_t* strides = arena.take<int64_t>(kept.ndim + 1);
                int64_t stride = static_cast<int64_t>(item_size(type));
                for (int d = kept.ndim; d-- > 0; stride *= kept.sizes[d]) strides[d] = stride;
                operands[at++] = {folders[f].results[part], type, strides};
            }
        for (int k = 0; k < kernel.finish_input_count; k++) {
            const LoopOperand& from = inputs[input_count + k];
            operands[at++] = {from.data, from.type, ordered_strides(kept, from, arena)};
        }
        LoopKernel finish;
        finish.expression = kernel.finish;
        finish.ndim = kept.ndim;
        finish.sizes = kept.sizes;
        finish.output_count = kernel.output_count;
        finish.input_count = values + kernel.finish_input_count;
        finish.operands = operands;
        finish.scalars = kernel.scalars;
        run_pointwise(finish);
        return;
    }
    values = 0;
    for (int f = 0; f < folder_count; f++)
        for (int part = 0; part < (kernel.combines[f] == Combine::MeanVar ? 2 : 1); part++, values++)
            if (folders[f].results[part] != kernel.operands[values].data)
                store_values(kernel.operands[values], folders[f].results[part],
                             accumulate_type(kernel.combines[f], folders[f].type), kept);
}

}  // namespace kindling
