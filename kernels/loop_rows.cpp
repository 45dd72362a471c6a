// kernels/loop_rows.cpp: pointwise loops over rows that do not follow each other in memory, by machine code that takes several rows at a
// call. Numbers that hold for a row are broadcast where they lie, and the remainder of a row is masked.
// Compiled for size.
#include <cstring>

#include "kernels/tile/executor.h"

namespace kindling {
namespace {

/// An operand's elements in the present row, and how far the next row is.
struct Cursor {
    int16_t slot;
    char* at;
    const int64_t* strides; // of the dimensions of `order`
};

/// Moves cursors to a row, and on to those after it.
class Rows {
public:
    Rows(const LoopOrder& order, Cursor* cursors, int count, int64_t row, RunArena& arena)
        : sizes_(order.sizes), inner_(order.ndim - 2), cursors_(cursors), count_(count), place_(arena.take<int64_t>(order.ndim)) {
        for (int d = inner_; d >= 0; row /= sizes_[d--]) {
            place_[d] = row % sizes_[d];
            for (int c = 0; c < count_; c++) cursors_[c].at += place_[d] * cursors_[c].strides[d];
        }
    }
    /// Writes where the next rows lie, at most so many, and goes on behind them. Returns how many.
    int64_t take(int64_t most, char** tables, int64_t table) {
        const int64_t left = sizes_[inner_] - place_[inner_], rows = left < most ? left : most;
        for (int c = 0; c < count_; c++) {
            const int64_t stride = cursors_[c].strides[inner_];
            char* at = cursors_[c].at;
            char** to = tables + cursors_[c].slot;
            for (int64_t r = 0; r < rows; r++, at += stride, to += table) *to = at;
            cursors_[c].at = at;
        }
        place_[inner_] += rows;
        for (int d = inner_; place_[d] == sizes_[d];) {
            for (int c = 0; c < count_; c++) cursors_[c].at -= cursors_[c].strides[d] * sizes_[d];
            place_[d] = 0;
            if (d-- == 0) break;
            place_[d]++;
            for (int c = 0; c < count_; c++) cursors_[c].at += cursors_[c].strides[d];
        }
        return rows;
    }

private:
    const int64_t* sizes_;
    int inner_; // the innermost dimension over rows
    Cursor* cursors_;
    int count_;
    int64_t* place_;
};

/// How short a row may be. One costs 3 ns here; tiles take 1.5 ns for each operand of a very short row that they gather or spread, and
/// more with its length, but compute functions in vectors that go on over the ends of rows.
int64_t shortest(const TileProgram& program, int gathered, int spread) {
    bool simple = true;
    for (const TileStep& step : program.steps)
        simple &= step.task.kind == TileTask::Compute && is_cheap(static_cast<Primitive>(step.task.which));
    if (simple && gathered + spread >= 6) return 16;
    return gathered >= 3 ? 40 : gathered == 2 && program.steps.size() == 1 ? 48 : 96;
}

} // namespace

bool run_by_rows(const LoopKernel& kernel, const TileProgram& program, const LoopOrder& order) {
    constexpr int64_t longest = 65536, longest_past_cache = 16384, fewest_rows = 8;
    if (order.ndim < 2) return false;
    const int last = order.ndim - 1, outputs = kernel.output_count;
    const int64_t n = order.sizes[last], rows = order.size / n;
    if (n > longest || rows < fewest_rows) return false;
    auto along = [&](const LoopOperand& operand) { return operand.strides[order.dims[last]]; };
    auto item = [](const LoopOperand& operand) { return static_cast<int64_t>(item_size(operand.type)); };
    bool strided = false;
    int gathered = 0, spread = 0; // operands that tiles would gather, or spread: tiles end within rows
    for (int k = 0; k < kernel.input_count; k++) {
        const LoopOperand& input = kernel.operands[outputs + k];
        const int64_t between = input.strides[order.dims[last - 1]];
        gathered += between != along(input) * n;
        strided |= along(input) && between && between != along(input) * n;
        if (along(input) != item(input) && (along(input) != 0 || (item(input) != 4 && item(input) != 8)))
            return false; // others are read as a whole register
    }
    for (int k = 0; k < outputs; k++) spread += kernel.operands[k].strides[order.dims[last - 1]] != along(kernel.operands[k]) * n;
    if (n < shortest(program, gathered, spread)) return false;
    int64_t written = 0;
    for (int k = 0; k < outputs; k++) {
        const LoopOperand& output = kernel.operands[k];
        if (along(output) != item(output) ||
            program.slots[static_cast<size_t>(program.outputs[static_cast<size_t>(k)])].kind != TileSlot::Buffer)
            return false;
        written += order.size * item(output);
        for (int other = 0; other < k; other++)
            if (program.outputs[static_cast<size_t>(other)] == program.outputs[static_cast<size_t>(k)]) return false;
        if (program.steps.back().out == program.outputs[static_cast<size_t>(k)]) continue;
        for (int i = 0; i < kernel.input_count; i++) // a store before the last must not overwrite what is still to be read
            if (kernel.operands[outputs + i].data == output.data) return false;
    }
    const int64_t read = read_bytes(kernel, order);
    // Streaming stores pay where rows are whole lines and follow each other, or are very long. Tiles have them as well, and read such rows
    // as fast, but for those of a single step: it would write a tile and copy that.
    bool lines = n % 64 == 0 && !spread && program.one_step;
    for (int k = 0; k < outputs; k++) lines &= reinterpret_cast<uintptr_t>(kernel.operands[k].data) % 64 == 0;
    const bool passes = passes_cache(written, read), past_cache = passes && lines;
    if (passes && !lines && (n > longest_past_cache || (n % 64 == 0 && !strided && !spread))) return false;

    RunArena arena;
    const size_t slots = program.slots.size();
    uint8_t* repeated = arena.take<uint8_t>(static_cast<int64_t>(slots));
    char** fixed = arena.take<char*>(static_cast<int64_t>(slots)); // what is the same for all rows
    Cursor* cursors = arena.take<Cursor>(static_cast<int64_t>(slots));
    int count = 0;
    int64_t widest = 1;
    for (size_t s = 0; s < slots; s++) {
        const TileSlot& slot = program.slots[s];
        repeated[s] = 0;
        fixed[s] = nullptr;
        if (slot.kind == TileSlot::Index) return false;
        if (slot.kind == TileSlot::Splat) {
            repeated[s] = 1;
            fixed[s] = arena.take<char>(splat_bytes);
            fill_splat(fixed[s], program.number(slot, kernel.scalars), slot.item_size);
        } else if (slot.kind == TileSlot::Input) {
            const LoopOperand& input = kernel.operands[outputs + slot.which];
            repeated[s] = along(input) == 0;
            cursors[count++] = {static_cast<int16_t>(s), static_cast<char*>(input.data), ordered_strides(order, input, arena)};
            widest = widest < item(input) ? item(input) : widest;
        }
    }
    for (int k = 0; k < outputs; k++) {
        const LoopOperand& output = kernel.operands[k];
        cursors[count++] = {program.outputs[static_cast<size_t>(k)], static_cast<char*>(output.data),
                            ordered_strides(order, output, arena)};
        widest = widest < item(output) ? item(output) : widest;
        if (past_cache) repeated[program.outputs[static_cast<size_t>(k)]] = native_past_cache;
    }
    const NativeKernel* native = find_native_short_rows(program, repeated, order.size);
    if (!native) return false;

    const int64_t at_once = native_rows_at_once(n, widest), table = static_cast<int64_t>(native_pointers(slots));
    const int64_t grain = 32768 / n / (1 + static_cast<int64_t>(program.steps.size()) / 4) + 1;
    const bool backwards = !past_cache && goes_backwards(written + read);
    parallel(rows, grain, [&](int64_t begin, int64_t end) {
        RunArena own;
        char* frame = own.take<char>(native_frame(*native, at_once));
        char** tables = own.take<char*>(at_once * table);
        for (int64_t g = 0; g < at_once; g++) std::memcpy(tables + g * table, fixed, slots * sizeof(char*));
        Cursor* here = own.take<Cursor>(count);
        auto run = [&](int64_t first, int64_t stop) {
            RunArena places;
            std::memcpy(static_cast<void*>(here), cursors, static_cast<size_t>(count) * sizeof(Cursor));
            Rows position(order, here, count, first, places);
            for (int64_t r = first; r < stop;) {
                const int64_t some = position.take(stop - r < at_once ? stop - r : at_once, tables, table);
                run_native_rows(*native, tables, some, n, frame, nullptr);
                r += some;
            }
        };
        in_direction(backwards, begin, end, direction_piece / n + 1, run);
        if (past_cache) end_past_cache();
    });
    return true;
}

} // namespace kindling
