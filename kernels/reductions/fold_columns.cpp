// kernels/reductions/fold_columns.cpp: reductions down columns: whole rows of values are merged into one another.
// Compiled for size.
#include <optional>

#include "kernels/reductions/folder.h"

namespace kindling {

namespace {

/// The stride, in bytes, of dimensions [from, to) of the order merged into one; -1 if the operand's layout does not
/// allow it.
int64_t stride_of(const LoopOrder& order, int from, int to, const LoopOperand& operand) {
    for (int d = from; d + 1 < to; d++)
        if (order.sizes[d] != 1 && operand.strides[order.dims[d]] != operand.strides[order.dims[d + 1]] * order.sizes[d + 1]) return -1;
    return from < to ? operand.strides[order.dims[to - 1]] : 0;
}

/// Machine code for whole rows of a wide reduction. It computes some rows that go to the same lane and merges them
/// there. The lanes do not fit in the first cache; so they are read and written once for all these rows.
class LaneRows {
public:
    LaneRows(const FoldPlan& plan, RunArena& arena) : plan_(plan) {
        const int64_t least = plan.program.steps.empty() ? 512 : 192; // shorter rows cost less in tiles of many
        const size_t slots = plan.program.slots.size();
        if (plan.kept < least || plan.reduced < 2 * fold_lanes) return;
        sources_ = arena.take<Source>(static_cast<int64_t>(slots));
        uint8_t* repeated = arena.take<uint8_t>(static_cast<int64_t>(slots));
        int streams = 0;
        for (size_t s = 0; s < slots; s++) {
            const TileSlot& slot = plan.program.slots[s];
            repeated[s] = slot.kind == TileSlot::Splat;
            if (slot.kind == TileSlot::Index) return;
            if (slot.kind != TileSlot::Input) continue;
            const LoopOperand& input = plan.inputs[slot.which];
            const int64_t row = stride_of(plan.order, 0, plan.outer, input);
            const int64_t element = stride_of(plan.order, plan.outer, plan.order.ndim, input);
            if (row == -1 || (element != 0 && element != slot.item_size)) return;
            sources_[source_count_++] = {static_cast<const char*>(input.data), row, s, slot.item_size, element == 0};
            repeated[s] = element == 0;
            streams += row != 0 && element != 0;
        }
        NativeFold* folds = arena.take<NativeFold>(plan.folder_count);
        for (int f = 0; f < plan.folder_count; f++) folds[f] = {plan.folders[f].combine, plan.folders[f].type};
        count_ = streams < 2 ? 8 : streams < 3 ? 4 : 2; // the hardware prefetcher follows about eight streams
        while (count_ * fold_lanes > plan.reduced) count_ /= 2;
        one_ = find_native_lanes(plan.program, repeated, folds, 1, plan.order.size);
        if (one_.kernel) some_ = find_native_lanes(plan.program, repeated, folds, count_, plan.order.size);
    }
    explicit operator bool() const { return some_.kernel; }
    /// How many rows, fold_lanes apart, are processed at once.
    int count() const { return count_; }

    /// What a thread needs to run them.
    class Runner {
    public:
        Runner(const LaneRows& rows, RunArena& arena) : rows_(rows) {
            const TileProgram& program = rows.plan_.program;
            const int64_t slots = static_cast<int64_t>(program.slots.size());
            some_ = arena.take<char*>(static_cast<int64_t>(native_pointers(rows.some_.slots)));
            one_ = arena.take<char*>(static_cast<int64_t>(native_pointers(rows.one_.slots)));
            const int64_t a = native_frame(*rows.one_.kernel), b = native_frame(*rows.some_.kernel);
            frame_ = arena.take<char>(a < b ? b : a);
            char* numbers = arena.take<char>(splat_bytes * slots * rows.count_);
            for (int64_t i = 0; i < slots * rows.count_; i++) {
                const TileSlot& slot = program.slots[static_cast<size_t>(i % slots)];
                some_[i] = numbers + splat_bytes * i;
                if (i < slots) one_[i] = some_[i];
                if (slot.kind == TileSlot::Splat) fill_splat(some_[i], program.number(slot, rows.plan_.kernel.scalars), slot.item_size);
            }
        }
        /// Reduces one row or count() of them, of `n` columns, into lanes[f] + lane * their bytes.
        void run(int64_t first_row, int rows, int64_t first_column, int64_t n, char* const* lanes, int64_t lane) {
            const FoldPlan& plan = rows_.plan_;
            const size_t slots = plan.program.slots.size();
            char** pointers = rows == 1 ? one_ : some_;
            for (int k = 0; k < rows_.source_count_; k++) {
                const Source& source = rows_.sources_[k];
                const char* at = source.data + first_row * source.stride + (source.number ? 0 : first_column * source.item);
                size_t slot = source.slot;
                for (int r = 0; r < rows; r++, slot += slots, at += fold_lanes * source.stride)
                    if (source.number) fill_splat(pointers[slot], at, source.item);
                    else pointers[slot] = const_cast<char*>(at);
            }
            const NativeLanes& code = rows == 1 ? rows_.one_ : rows_.some_;
            for (int f = 0; f < plan.folder_count; f++) {
                char* place = lanes[f] + lane * n * plan.folders[f].item;
                pointers[code.read + static_cast<size_t>(f)] = pointers[code.written + static_cast<size_t>(f)] = place;
            }
            run_native(*code.kernel, pointers, n, frame_);
        }

    private:
        const LaneRows& rows_;
        char **some_, **one_, *frame_;
    };

private:
    struct Source {
        const char* data;
        int64_t stride;
        size_t slot;
        int item;
        bool number;
    };
    const FoldPlan& plan_;
    Source* sources_ = nullptr;
    int source_count_ = 0, count_ = 0;
    NativeLanes one_{}, some_{};
};

} // namespace

static constexpr int64_t widest_in_registers = 256; // widest row, in bytes, for which a block is reduced column by column in registers

/// Few rows, read once where they lie, by columns that threads share. False if they lie otherwise.
static bool fold_few_rows(const FoldPlan& plan) {
    const LoopOrder& order = plan.order;
    if (plan.reduced > few_rows || !plan.program.steps.empty()) return false;
    RunArena arena;
    struct Rows {
        const char* data;
        int64_t stride;
    };
    Rows* rows = arena.take<Rows>(plan.folder_count);
    for (int f = 0; f < plan.folder_count; f++) {
        const TileSlot& slot = plan.program.slots[static_cast<size_t>(plan.program.outputs[static_cast<size_t>(f)])];
        if (slot.kind != TileSlot::Input || !plan.folders[f].column_fold) return false;
        const LoopOperand& input = plan.inputs[slot.which];
        rows[f] = {static_cast<const char*>(input.data), stride_of(order, 0, plan.outer, input)};
        if (rows[f].stride == -1 || stride_of(order, plan.outer, order.ndim, input) != plan.folders[f].item) return false;
    }
    constexpr int64_t chunk = 1024;
    parallel((plan.kept + chunk - 1) / chunk, 1 + 65536 / (plan.reduced * chunk), [&](int64_t begin, int64_t end) {
        const int64_t first = begin * chunk, count = (end * chunk < plan.kept ? end * chunk : plan.kept) - first;
        for (int f = 0; f < plan.folder_count; f++) {
            const Folder& folder = plan.folders[f];
            char* to = folder.results[0] + first * folder.item;
            folder.column_fold(to, rows[f].data + first * folder.item, plan.reduced, count, rows[f].stride);
            folder.tidy(to, count);
        }
    });
    return true;
}

static void fold_one_block(const FoldPlan& plan) {
    if (fold_few_rows(plan)) return;
    constexpr int64_t largest = 2048;
    const int64_t columns = plan.kept, n = plan.reduced, tile = tile_size(plan.program, largest);
    RunArena arena;
    // An output without steps is read in place.
    const char** plain = arena.take<const char*>(plan.folder_count);
    bool all_plain = plan.program.steps.empty();
    for (int f = 0; f < plan.folder_count && all_plain; f++) {
        const TileSlot& slot = plan.program.slots[static_cast<size_t>(plan.program.outputs[static_cast<size_t>(f)])];
        all_plain = slot.kind == TileSlot::Input && lies_in_order(plan.order, plan.inputs[slot.which]);
        if (all_plain) plain[f] = static_cast<const char*>(plan.inputs[slot.which].data);
    }
    bool by_blocks = all_plain;
    for (int f = 0; f < plan.folder_count; f++)
        by_blocks &= plan.folders[f].column_fold && columns * plan.folders[f].item <= widest_in_registers;
    const LaneRows lane_rows(plan, arena);
    const bool natively = !by_blocks && lane_rows;
    // Columns per chunk, so that 16 lanes of them stay in the cache.
    int64_t chunk = all_plain ? 16384 / plan.folders[0].item : tile < 1024 ? tile : 1024;
    if (natively) {
        int64_t item = 0;
        for (int f = 0; f < plan.folder_count; f++) item += plan.folders[f].item;
        chunk = (1 << 14) / item & ~int64_t{63};
    }
    const int64_t chunks = (columns + chunk - 1) / chunk;
    // With few columns and many rows the rows are split as well, into parts of a power of two of blocks.
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
    // If 16 rows fit in a tile, they have the layout of the 16 lanes and are merged in one call.
    const int64_t width = columns < chunk ? columns : chunk;
    const int64_t at_once = !whole_rows                    ? 1
                            : all_plain                    ? fold_lanes
                            : tile / columns >= fold_lanes ? tile / columns / fold_lanes * fold_lanes
                                                           : tile / columns;
    const bool by_lanes = whole_rows && at_once >= fold_lanes;
    parallel(chunks * parts, 1 + 65536 / (part * width), [&](int64_t begin, int64_t end) {
        RunArena own;
        std::optional<TileRunner> runner;
        std::optional<LaneRows::Runner> lane_runner;
        if (natively) lane_runner.emplace(lane_rows, own);
        else if (!all_plain)
            runner.emplace(plan.program, plan.order, plan.inputs, plan.kernel.scalars, largest, TileRunner::AsTheyCome, own);
        char** lanes = own.take<char*>(plan.folder_count);
        for (int f = 0; f < plan.folder_count; f++) lanes[f] = own.take<char>(fold_lanes * width * plan.folders[f].item);
        const char** lane_sources = own.take<const char*>(plan.folder_count * fold_lanes);
        char** levels = own.take<char*>(plan.folder_count * 64);
        for (int i = 0; i < plan.folder_count * 64; i++) levels[i] = nullptr;
        for (int64_t task = begin; task < end; task++) {
            const int64_t first_column = task / parts * chunk;
            const int64_t some = columns - first_column < chunk ? columns - first_column : chunk;
            const int64_t from = task % parts * part, to = from + part < n ? from + part : n;
            if (whole_rows && runner) runner->seek(from * columns);
            uint64_t blocks = 0;
            int depth = 0;
            // Memory for the result of the next block, for output f.
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
            for (int64_t k = from; k < to && natively; k += fold_block, blocks++) {
                const int64_t rows = to - k < fold_block ? to - k : fold_block;
                int64_t used = rows < fold_lanes ? rows : fold_lanes;
                for (int f = 0; f < plan.folder_count; f++) {
                    const Folder& folder = plan.folders[f];
                    const Immediate identity = Immediate::of(folder.type, lane_identity(folder.combine));
                    alignas(64) char splat[splat_bytes];
                    fill_splat(splat, &identity, folder.item);
                    spread(lanes[f], splat, folder.item, used * some);
                }
                int64_t r = 0;
                const int64_t group = lane_rows.count() * fold_lanes;
                for (; r + group <= rows; r += group)
                    for (int64_t lane = 0; lane < fold_lanes; lane++)
                        lane_runner->run(k + r + lane, lane_rows.count(), first_column, some, lanes, lane);
                for (; r < rows; r++) lane_runner->run(k + r, 1, first_column, some, lanes, r % fold_lanes);
                const int merges = __builtin_ctzll(~blocks);
                for (int f = 0; f < plan.folder_count; f++) {
                    const int64_t row_bytes = some * plan.folders[f].item;
                    for (int64_t half = fold_lanes / 2, left = used; half > 0; half /= 2) {
                        if (left <= half) continue;
                        plan.folders[f].merge_values(lanes[f], lanes[f] + half * row_bytes, (left - half) * some);
                        left = half;
                    }
                    std::memcpy(next_level(f), lanes[f], static_cast<size_t>(row_bytes));
                    merge_levels(f, merges);
                }
                depth += 1 - merges;
            }
            for (int64_t k = by_blocks || natively ? to : from; k < to;) {
                const int64_t rows = to - k < at_once ? to - k : at_once;
                if (!whole_rows && runner) runner->seek(k * columns + first_column);
                if (runner) runner->run(rows * some, nullptr);
                const int64_t first = k * columns + first_column;
                for (int64_t r = 0; r < rows;) {
                    const int64_t in_block = k % fold_block, lane = k % fold_lanes;
                    int64_t group = by_lanes && lane == 0 ? (rows - r < fold_lanes ? rows - r : fold_lanes) : 1;
                    const bool last = in_block + group == fold_block || k + group == to;
                    const int merges = last ? __builtin_ctzll(~blocks) : 0;
                    for (int f = 0; f < plan.folder_count; f++) {
                        const Folder& folder = plan.folders[f];
                        const int64_t row_bytes = some * folder.item;
                        const char* values =
                            (all_plain ? plain[f] + first * folder.item : static_cast<const char*>(runner->output(f, rows * some))) +
                            r * row_bytes;
                        auto lane_at = [&](int64_t which) { return lanes[f] + which * row_bytes; };
                        // Single rows are not copied until they meet another of their lane.
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
                for (int i = depth - 1; i > 0; i--) folder.merge_values(own_levels[i - 1], own_levels[i], some);
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
            folder.merge_values(partial[f] + tops[depth - 2] * row_bytes, partial[f] + tops[depth - 1] * row_bytes, columns);
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

/// How many of the outermost kept dimensions are outside all reduced ones.
static int count_batch_dims(const FoldPlan& plan) {
    const LoopOrder& order = plan.order;
    const int input_count = plan.kernel.input_count - plan.kernel.finish_input_count;
    int d = plan.outer;
    for (; d < order.ndim; d++)
        for (int i = 0; i < input_count; i++) {
            const int64_t* strides = plan.inputs[i].strides;
            const int64_t stride = strides[order.dims[d]];
            for (int r = 0; r < plan.outer && stride != 0; r++)
                if (strides[order.dims[r]] >= stride) return d - plan.outer;
        }
    return d - plan.outer;
}

void fold_columns(const FoldPlan& plan) {
    constexpr int64_t least = 4096, large = 1 << 18; // elements of one reduction
    constexpr int64_t near = 1 << 16;                // bytes of one that is reduced column by column in registers
    const int batch_dims = count_batch_dims(plan);
    int64_t count = 1;
    for (int d = 0; d < batch_dims; d++) count *= plan.order.sizes[plan.outer + d];
    const int64_t elements = plan.order.size / count, kept = plan.kept / count;
    if (count == 1) return fold_one_block(plan);
    // A batch of reductions, each over memory in the order of its own dimensions.
    const int input_count = plan.kernel.input_count - plan.kernel.finish_input_count;
    auto offset_of = [&](const LoopOperand& input, int64_t k) {
        int64_t offset = 0;
        for (int d = plan.outer + batch_dims - 1; d >= plan.outer; k /= plan.order.sizes[d], d--)
            offset += k % plan.order.sizes[d] * input.strides[plan.order.dims[d]];
        return offset;
    };
    const Folder& first = plan.folders[0];
    const LoopOperand& input = plan.inputs[0];
    if (plan.program.steps.empty() && plan.folder_count == 1 && input_count == 1 && first.column_fold && plan.reduced <= fold_block &&
        elements * first.item <= near && kept > 1 && stride_of(plan.order, 0, plan.outer, input) == kept * first.item &&
        stride_of(plan.order, plan.outer + batch_dims, plan.order.ndim, input) == first.item) {
        parallel(count, 1 + 65536 / elements, [&](int64_t begin, int64_t end) {
            for (int64_t k = begin; k < end; k++)
                first.column_fold(first.results[0] + k * kept * first.item, static_cast<const char*>(input.data) + offset_of(input, k),
                                  plan.reduced, kept, kept * first.item);
            first.tidy(first.results[0] + begin * kept * first.item, (end - begin) * kept);
        });
        return;
    }
    if (kept < 4 || elements < least) return fold_one_block(plan);
    auto fold_some = [&](int64_t begin, int64_t end) {
        RunArena arena;
        FoldPlan one = plan;
        one.order.ndim -= batch_dims;
        one.order.size = elements;
        one.kept = kept;
        one.order.sizes = arena.take<int64_t>(one.order.ndim + 1);
        one.order.dims = arena.take<int>(one.order.ndim + 1);
        for (int d = 0; d < one.order.ndim; d++) {
            const int from = d < plan.outer ? d : d + batch_dims;
            one.order.sizes[d] = plan.order.sizes[from];
            one.order.dims[d] = plan.order.dims[from];
        }
        LoopOperand* inputs = arena.take<LoopOperand>(input_count);
        one.inputs = inputs;
        one.folders = arena.take<Folder>(plan.folder_count);
        for (int64_t k = begin; k < end; k++) {
            for (int i = 0; i < input_count; i++) {
                inputs[i] = plan.inputs[i];
                inputs[i].data = static_cast<char*>(inputs[i].data) + offset_of(plan.inputs[i], k);
            }
            for (int f = 0; f < plan.folder_count; f++) {
                one.folders[f] = plan.folders[f];
                one.folders[f].results[0] += k * kept * one.folders[f].item;
            }
            fold_one_block(one);
        }
    };
    if (elements >= large && count < 4) fold_some(0, count); // threads share each of them
    else parallel(count, 1 + 65536 / elements, [&](int64_t begin, int64_t end) { fold_some(begin, end); });
}

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
    // Several rows at a time, if they fit in a tile.
    const int64_t at_once = tile / columns < 1 ? 1 : tile / columns < n ? tile / columns : n;
    parallel((columns + tile - 1) / tile, 1 + 65536 / (n * tile), [&](int64_t begin, int64_t end) {
        RunArena own;
        TileRunner runner(plan.program, plan.order, plan.inputs, plan.kernel.scalars, tile, TileRunner::AsTheyCome, own);
        alignas(64) uint8_t hits[largest + 8], nan[largest];
        struct Search {
            int64_t missing;
            char* best;
            uint8_t* nan_best;
            bool any_nan;
        }; // of tiles: the extreme of each column, repeated
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
                for (int64_t c = 0; c < some; c++) places[c] = -1;
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
                        for (int64_t c = 0; c < count; c++) hits[c] |= nan[c] & search.nan_best[c];
                    }
                    std::memset(hits + count, 0, 8);
                    int64_t* places = reinterpret_cast<int64_t*>(folder.results[0]) + first;
                    for (int64_t c = 0; c < count; c += 8) {
                        uint64_t word;
                        std::memcpy(&word, hits + c, 8);
                        for (; word; word &= word - 1) { // one byte per value, 1 if it matches
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

} // namespace kindling
