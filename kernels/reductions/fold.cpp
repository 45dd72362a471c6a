// kernels/reductions/fold.cpp: runs reductions: rows of contiguous values, the choice between rows and columns, and the epilogue.
// Compiled for size.
#include "kernels/reductions/fold.h"

#include "core/error.h"
#include "kernels/isa.h"
#include "kernels/reductions/folder.h"
#include "kernels/tile/executor.h"
#include "kernels/tile/move.h"

namespace kindling {

RowFold find_row_fold(Combine combine, DType type) { return KINDLING_BY_ISA(find_row_fold, combine, type); }
ColumnBlockFold find_column_fold(Combine combine, DType type) { return KINDLING_BY_ISA(find_column_fold, combine, type); }
LaneBlocksFold find_lane_fold(Combine combine, DType type) { return KINDLING_BY_ISA(find_lane_fold, combine, type); }

DType accumulate_type(Combine combine, DType type) {
    switch (combine) {
    case Combine::ArgMin:
    case Combine::ArgMax: return DType::Int64;
    case Combine::MeanVar: return DType::Float64;
    default: return value_type(type);
    }
}

namespace {

void finish_parts(const FoldPlan& plan, char* states, int64_t parts);
constexpr int64_t largest_part = 1 << 15; // elements of a row in one task: a power of two of blocks

/// Reduces contiguous rows in place. False if this is another kernel.
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

/// Adds up transposed rows of whole blocks: blocks of neighbouring rows are columns. False if this is another kernel.
bool fold_turned_rows(const FoldPlan& plan) {
    const Folder& folder = plan.folders[0];
    const LoopOrder& order = plan.order;
    if (plan.folder_count != 1 || folder.combine != Combine::Sum || !folder.column_fold || order.ndim == 0) return false;
    // The nearest dimensions of all inputs: a line of neighbouring rows, and their common length.
    const int input_count = plan.kernel.input_count - plan.kernel.finish_input_count, last = order.ndim - 1;
    int first = last; // the rows are dimensions [first, last)
    const auto between = [&](int input, int d) { return plan.inputs[input].strides[order.dims[d]]; };
    for (bool together = true; first > 0 && together; first -= together)
        for (int i = 0; i < input_count && together; i++) {
            const int64_t item = static_cast<int64_t>(item_size(plan.inputs[i].type));
            together = first == last ? between(i, last - 1) == item : between(i, first - 1) == between(i, first) * order.sizes[first];
        }
    int64_t rows = 1, outer = 1;
    for (int d = first; d < last; d++) rows *= order.sizes[d];
    for (int d = 0; d < first; d++) outer *= order.sizes[d];
    const int64_t length = order.sizes[last], blocks = length / fold_block;
    if (!input_count || rows < fold_lanes || length % fold_block || plan.reduced % (rows * length)) return false;
    const TileSlot& output = plan.program.slots[static_cast<size_t>(plan.program.outputs[0])];
    const bool plain = plan.program.steps.empty() && output.kind == TileSlot::Input, near = order.size < (plain ? 1 << 21 : 1 << 15);
    if (near && !plain) return false; // it would cost more than it gains
    for (const TileSlot& slot : plan.program.slots)
        if (slot.kind == TileSlot::Index) return false;
    // Down the columns of each block: the dimensions outside, blocks and rows are kept.
    RunArena arena;
    const int ndim = first + 3, input_dims = ndim * input_count;
    FoldPlan down = plan;
    int64_t* strides = arena.take<int64_t>(input_dims);
    LoopOperand* inputs = arena.take<LoopOperand>(input_count);
    for (int i = 0; i < input_count; i++, strides += ndim) {
        inputs[i] = {plan.inputs[i].data, plan.inputs[i].type, strides};
        strides[0] = between(i, last);
        for (int d = 0; d < first; d++) strides[1 + d] = between(i, d);
        strides[first + 1] = fold_block * strides[0];
        strides[first + 2] = between(i, last - 1);
    }
    down.inputs = inputs;
    down.order = {ndim, order.size, arena.take<int64_t>(ndim), arena.take<int>(ndim)};
    for (int d = 0; d < ndim; d++) {
        down.order.dims[d] = d;
        down.order.sizes[d] = d == 0 ? fold_block : d <= first ? order.sizes[d - 1] : d == first + 1 ? blocks : rows;
    }
    down.outer = 1;
    down.reduced = fold_block;
    down.kept = order.size / fold_block;
    Folder own = folder;
    own.results[0] = arena.take<char>(down.kept * folder.item);
    down.folders = &own;
    if (near) {
        const LoopOperand& input = inputs[output.which];
        parallel(outer * blocks, 1 + 32768 / (rows * fold_block), [&](int64_t begin, int64_t end) {
            for (; begin < end; begin++) {
                const char* at = static_cast<const char*>(input.data) + begin % blocks * input.strides[first + 1];
                for (int64_t d = first, left = begin / blocks; d > 0; left /= down.order.sizes[d], d--)
                    at += left % down.order.sizes[d] * input.strides[d];
                folder.column_fold(own.results[0] + begin * rows * folder.item, at, fold_block, rows, input.strides[0]);
            }
        });
    } else fold_columns(down);
    char* sums = arena.take<char>(down.kept * folder.item); // of the blocks, in the order of the reduction
    const int64_t plane = rows * blocks * folder.item;
    for (int64_t k = 0; k < outer; k++)
        find_plane_copy(folder.item)({sums + k * plane,
                                      own.results[0] + k * plane,
                                      {blocks, rows},
                                      {folder.item, blocks * folder.item},
                                      {rows * folder.item, folder.item}});
    const auto finish = [&](auto zero) {
        using T = decltype(zero);
        T* each = reinterpret_cast<T*>(sums);
        const int64_t count = plan.reduced / fold_block;
        for (int64_t row = 0; row < plan.kept; row++, each += count)
            reinterpret_cast<T*>(folder.results[0])[row] = merge_neighbours(each, count, [](T a, T b) { return a + b; });
        folder.tidy(folder.results[0], plan.kept);
    };
    if (folder.item == 4) finish(float{});
    else finish(double{});
    return true;
}

/// Reduces rows: the reduced dimensions are innermost. A task is one part of one row, or several whole rows.
void fold_rows(const FoldPlan& plan) {
    constexpr int64_t largest = 2048;
    const int64_t n = plan.reduced;
    if (fold_plain_rows(plan) || fold_turned_rows(plan)) return;
    RunArena fold_arena;
    NativeFold* natively = fold_arena.take<NativeFold>(plan.folder_count);
    for (int f = 0; f < plan.folder_count; f++) natively[f] = {plan.folders[f].combine, plan.folders[f].type};
    // Machine code runs row by row. For short rows that costs more than tiles do.
    if (n < 128 && !native_always()) natively = nullptr;
    // What does not vary along these rows is broadcast, where a run is a row or a part of it.
    const auto reading = n < 128 ? TileRunner::Across : TileRunner::InRows;
    if (n <= largest && (n <= tile_size(plan.program, largest) || !natively)) {
        int64_t grain = 32768 / n + 1;
        parallel(plan.kept, grain, [&](int64_t begin, int64_t end) {
            RunArena arena;
            TileRunner runner(plan.program, plan.order, plan.inputs, plan.kernel.scalars, largest, reading, arena,
                              n <= tile_size(plan.program, largest) ? natively : nullptr, false, n);
            runner.seek(begin * n);
            if (runner.folds_natively()) {
                char* folded = arena.take<char>(fold_result_bytes * plan.folder_count);
                for (int64_t m = begin; m < end; m++) {
                    runner.fold(n, folded);
                    for (int f = 0; f < plan.folder_count; f++) {
                        const int item = plan.folders[f].item;
                        char *to = plan.folders[f].results[0] + m * item, *from = folded + fold_result_bytes * f;
                        if (item == 4) std::memcpy(to, from, 4); // copies of a variable size take longer
                        else if (item == 8) std::memcpy(to, from, 8);
                        else std::memcpy(to, from, static_cast<size_t>(item));
                    }
                }
                for (int f = 0; f < plan.folder_count; f++)
                    plan.folders[f].tidy(plan.folders[f].results[0] + begin * plan.folders[f].item, end - begin);
                return;
            }
            int64_t at_once = runner.by_rows() && runner.tile() >= n ? 1 : runner.tile() / n;
            char* states = arena.take<char>((at_once ? at_once : 1) * 32);
            char* whole = at_once ? nullptr : arena.take<char>(n * 16 * plan.folder_count);
            for (int64_t m = begin; m < end;) {
                int64_t rows = !at_once ? 1 : end - m < at_once ? end - m : at_once;
                if (at_once) {
                    runner.run(rows * n, nullptr);
                } else { // a row is longer than this program's tile
                    for (int64_t at = 0; at < n; at += runner.tile()) {
                        int64_t some = n - at < runner.tile() ? n - at : runner.tile();
                        runner.run(some, nullptr);
                        for (int f = 0; f < plan.folder_count; f++) {
                            int item = plan.folders[f].item;
                            std::memcpy(whole + n * 16 * f + at * item, runner.output(f, some), static_cast<size_t>(some * item));
                        }
                    }
                }
                for (int f = 0; f < plan.folder_count; f++) {
                    const Folder& folder = plan.folders[f];
                    const char* values = at_once ? static_cast<const char*>(runner.output(f, rows * n)) : whole + n * 16 * f;
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
    // Long rows are split into parts of a power of two of blocks. Each part is a whole subtree of the pairwise order.
    int64_t part = largest_part;
    int64_t parts = (n + part - 1) / part;
    RunArena arena;
    int64_t stride = 32 * plan.folder_count;
    char* states = arena.take<char>(plan.kept * parts * stride);
    parallel(plan.kept * parts, n < part ? 32768 / n + 1 : 1, [&](int64_t begin, int64_t end) {
        RunArena own;
        TileRunner runner(plan.program, plan.order, plan.inputs, plan.kernel.scalars, largest, reading, own, natively, false, n);
        int64_t tile = runner.tile();
        char* folded = own.take<char>(fold_result_bytes * plan.folder_count);
        struct State {
            char bytes[32];
        };
        // One counter per output, written out here because they advance together.
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
                    if (runner.folds_natively()) std::memcpy(own_levels[depth].bytes, folded + fold_result_bytes * f, fold_result_bytes);
                    else folder.fold_rows(own_levels[depth].bytes, static_cast<const char*>(runner.output(f, some)), 1, some, at);
                    for (int i = 0; i < merges; i++) folder.merge(own_levels[depth - 1 - i].bytes, own_levels[depth - i].bytes);
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

/// Merges the states of a row's parts into its result.
void finish_parts(const FoldPlan& plan, char* states, int64_t parts) {
    const int64_t stride = 32 * plan.folder_count;
    for (int64_t row = 0; row < plan.kept; row++)
        for (int f = 0; f < plan.folder_count; f++) {
            const Folder& folder = plan.folders[f];
            char* first = states + row * parts * stride + 32 * f;
            // Merges in place, in the order of PairwiseCounter: pairs, pairs of pairs, the rest from the smallest up.
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

/// True if the largest input is laid out so that reducing columns reads it in memory order.
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

/// Stores reduced values as they are, or rounded to a half type.
void store_values(const LoopOperand& operand, const char* values, DType type, const LoopOrder& kept) {
    RunArena arena;
    int item = static_cast<int>(item_size(operand.type)), from_item = static_cast<int>(item_size(type));
    TileFunction convert = nullptr;
    if (operand.type != type) {
        KINDLING_ASSERT(is_narrow(operand.type) && type == DType::Float32);
        convert = find_move(move_from_float(operand.type));
    }
    Stream stream;
    stream.set(operand.data, item, kept.ndim, kept.sizes, ordered_strides(kept, operand, arena), arena.take<int64_t>(3 * kept.ndim + 1));
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

/// Reduces contiguous rows directly, without ordering dimensions and without a runner. False if this is another kernel.
bool run_plain_fold(const LoopKernel& kernel, const TileProgram& program) {
    if (!program.steps.empty() || program.outputs.size() != 1 || kernel.finish || kernel.input_count != 1) return false;
    if (!is_simple(kernel.combines[0]) || program.slots[static_cast<size_t>(program.outputs[0])].kind != TileSlot::Input) return false;
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

} // namespace

void run_fold(const LoopKernel& kernel) {
    const TileProgram& program = kernel.expression->program();
    if (run_plain_fold(kernel, program)) return;
    const LoopOperand* inputs = kernel.operands + kernel.output_count;
    const int input_count = kernel.input_count - kernel.finish_input_count;
    const int folder_count = static_cast<int>(program.outputs.size());
    RunArena arena;
    Folder* folders = arena.take<Folder>(folder_count);
    bool simple = true, any_order = true, places = true; // all outputs are simple, or positions of extremes
    for (int f = 0; f < folder_count; f++) {
        folders[f].set(kernel.combines[f], kernel.expression->output_type(f));
        simple &= is_simple(kernel.combines[f]);
        places &= kernel.combines[f] != Combine::MeanVar;
        any_order &= simple && (kernel.combines[f] >= Combine::Min || category(folders[f].type) < 2);
    }
    // The dimensions follow the memory order of the inputs. Results, which are fewer, are scattered at the end.
    LoopKernel read = kernel;
    read.operands = inputs, read.output_count = 0, read.input_count = input_count;
    LoopOrder kept = order_dims(read, ~kernel.reduced, true, arena);
    LoopOrder reduced = order_dims(kernel, kernel.reduced, any_order, arena);
    if (kept.size == 0) return;

    // Reduced values are written straight to the outputs if their layout allows it.
    int values = 0;
    for (int f = 0; f < folder_count; f++)
        for (int part = 0; part < (kernel.combines[f] == Combine::MeanVar ? 2 : 1); part++, values++) {
            DType type = accumulate_type(kernel.combines[f], folders[f].type);
            bool direct = !kernel.finish && kernel.operands[values].type == type && lies_in_order(kept, kernel.operands[values]);
            folders[f].results[part] = direct ? static_cast<char*>(kernel.operands[values].data)
                                              : arena.take<char>(kept.size * static_cast<int64_t>(item_size(type)));
        }

    if (reduced.size == 0) {
        for (int f = 0; f < folder_count; f++) folders[f].fill_empty(kept.size);
    } else {
        places &= !simple && program.steps.size() <= 2;
        bool columns = (simple || places) && wants_columns(kernel, inputs, input_count);
        FoldPlan plan{kernel, program, inputs, folders, folder_count, {}, 0, kept.size, reduced.size};
        plan.order.ndim = kept.ndim + reduced.ndim;
        plan.order.size = kept.size * reduced.size;
        plan.order.sizes = arena.take<int64_t>(plan.order.ndim + 1);
        plan.order.dims = arena.take<int>(plan.order.ndim + 1);
        const LoopOrder *outer = columns ? &reduced : &kept, *inner = columns ? &kept : &reduced;
        plan.outer = outer->ndim;
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
            operands[k] = {kernel.operands[k].data, kernel.operands[k].type, ordered_strides(kept, kernel.operands[k], arena)};
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
                store_values(kernel.operands[values], folders[f].results[part], accumulate_type(kernel.combines[f], folders[f].type), kept);
}

} // namespace kindling
