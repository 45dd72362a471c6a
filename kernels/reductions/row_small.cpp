// kernels/reductions/row_small.cpp: row kernels of few contiguous elements: one tile, and nothing to plan.
#include "kernels/tile/executor.h"
#include "kernels/tile/move.h"

namespace kindling {

namespace {

constexpr int most_slots = 40;
constexpr int64_t most_elements = 512;

/// Layout of an operand: one value per element, the same for every row, one per row, or anything else.
enum class Lies : uint8_t { InOrder, AlongRows, AcrossRows, Otherwise };

class SmallRows {
public:
    SmallRows(const LoopKernel& kernel, const TileProgram& program) : kernel_(kernel), program_(program) {}

    bool run() {
        if (program_.slots.size() > most_slots || !measure() || !classify()) return false;
        take_memory();
        for (const TileStep& step : program_.steps) run_step(step);
        for (int k = 0; k < kernel_.output_count; k++) {
            const int16_t s = program_.outputs[static_cast<size_t>(k)];
            const char* from = extents_[s] == Extent::Element ? elements_[s] : numbers_[s];
            const int64_t count = extents_[s] == Extent::Element ? rows_ * n_ : rows_;
            char* to = static_cast<char*>(kernel_.operands[k].data);
            if (to != from) std::memcpy(to, from, static_cast<size_t>(count) * item_size(kernel_.operands[k].type));
        }
        return true;
    }

private:
    const LoopKernel& kernel_;
    const TileProgram& program_;
    int64_t rows_ = 1, n_ = 1;
    Extent extents_[most_slots];
    char* elements_[most_slots]; // one per slot: a tile; for a row-invariant slot its expanded copy, or null
    char* numbers_[most_slots];  // one per row-invariant slot: a scalar per row, or a splat
    RunArena arena_;

    /// False if rows are not the outer dimensions, or if the kernel is too large.
    bool measure() {
        for (int d = 0; d < kernel_.ndim; d++) {
            if (kernel_.sizes[d] == 1) continue;
            if (kernel_.row >> d & 1) n_ *= kernel_.sizes[d];
            else if (n_ != 1) return false;
            else rows_ *= kernel_.sizes[d];
            if (kernel_.sizes[d] > most_elements || rows_ * n_ > most_elements) return false;
        }
        return n_ > 1 && rows_ > 0;
    }

    Lies lie(const LoopOperand& operand) const {
        const int64_t item = static_cast<int64_t>(item_size(operand.type));
        int64_t along = item, across = item;
        bool in_order = true, along_rows = true, across_rows = true;
        for (int d = kernel_.ndim; d-- > 0;) {
            const int64_t size = kernel_.sizes[d], stride = operand.strides[d];
            if (size == 1) continue;
            const bool in_row = kernel_.row >> d & 1;
            in_order &= stride == along;
            along_rows &= stride == (in_row ? along : 0);
            across_rows &= stride == (in_row ? 0 : across);
            along *= size;
            if (!in_row) across *= size;
        }
        return in_order ? Lies::InOrder : along_rows ? Lies::AlongRows : across_rows ? Lies::AcrossRows : Lies::Otherwise;
    }

    bool classify() {
        for (size_t s = 0; s < program_.slots.size(); s++) {
            const TileSlot& slot = program_.slots[s];
            extents_[s] = Extent::Once;
            elements_[s] = numbers_[s] = nullptr;
            if (slot.kind != TileSlot::Input) continue;
            const LoopOperand& operand = kernel_.operands[kernel_.output_count + slot.which];
            const Lies how = lie(operand);
            if (how == Lies::Otherwise) return false;
            extents_[s] = how == Lies::AcrossRows ? Extent::Row : Extent::Element;
            char* data = static_cast<char*>(operand.data);
            if (how == Lies::InOrder) elements_[s] = data;
            else if (how == Lies::AcrossRows) numbers_[s] = data;
            else elements_[s] = repeat_rows(data, slot.item_size);
        }
        for (const TileStep& step : program_.steps) {
            Extent extent = Extent::Once;
            for (int k = 0; k < step.operand_count; k++)
                if (extents_[step.operands[k]] > extent) extent = extents_[step.operands[k]];
            if (extent == Extent::Once || (step.fold && extent != Extent::Element)) return false;
            extents_[step.out] = step.fold ? Extent::Row : extent;
        }
        for (int k = 0; k < kernel_.output_count; k++) {
            const int16_t s = program_.outputs[static_cast<size_t>(k)];
            const Lies wanted = extents_[s] == Extent::Element ? Lies::InOrder : Lies::AcrossRows;
            if (extents_[s] == Extent::Once || lie(kernel_.operands[k]) != wanted) return false;
        }
        return true;
    }
    char* repeat_rows(const char* row, int item) {
        char* all = arena_.take<char>(rows_ * n_ * item);
        find_plane_copy(item)({all, row, {rows_, n_}, {n_ * item, item}, {0, item}});
        return all;
    }

    void take_memory() {
        // As long as buffers of elements, since a row-invariant slot may need one as well.
        const int64_t bytes = (rows_ * n_ * program_.buffer_item + 63) & ~int64_t{63};
        char* buffers = arena_.take<char>(bytes * program_.buffer_count);
        for (size_t s = 0; s < program_.slots.size(); s++) {
            const TileSlot& slot = program_.slots[s];
            if (slot.kind == TileSlot::Splat) {
                numbers_[s] = arena_.take<char>(splat_bytes);
                fill_splat(numbers_[s], program_.number(slot, kernel_.scalars), slot.item_size);
            } else if (slot.kind == TileSlot::Buffer) {
                (extents_[s] == Extent::Element ? elements_[s] : numbers_[s]) = buffers + slot.which * bytes;
            }
        }
        for (int k = 0; k < kernel_.output_count; k++) {
            const int16_t s = program_.outputs[static_cast<size_t>(k)];
            if (program_.slots[static_cast<size_t>(s)].kind != TileSlot::Buffer) continue;
            (extents_[s] == Extent::Element ? elements_[s] : numbers_[s]) = static_cast<char*>(kernel_.operands[k].data);
        }
    }

    /// Expands a row-invariant value to every element.
    const char* widened(int16_t s) {
        if (elements_[s]) return elements_[s];
        const int item = program_.slots[static_cast<size_t>(s)].item_size;
        elements_[s] = arena_.take<char>(rows_ == 1 ? splat_bytes : rows_ * n_ * item);
        if (rows_ == 1) fill_splat(elements_[s], numbers_[s], item);
        else find_plane_copy(item)({elements_[s], numbers_[s], {rows_, n_}, {n_ * item, item}, {item, 0}});
        return elements_[s];
    }

    void run_step(const TileStep& step) {
        if (step.fold) {
            step.fold(numbers_[step.out], elements_[step.operands[0]], rows_, n_);
            return;
        }
        const bool of_elements = extents_[step.out] == Extent::Element;
        const char* from[3] = {};
        unsigned splats = 0;
        for (int k = 0; k < step.operand_count; k++) {
            const int16_t s = step.operands[k];
            const bool repeats = extents_[s] == Extent::Row && of_elements;
            from[k] = repeats ? widened(s) : extents_[s] == Extent::Element ? elements_[s] : numbers_[s];
            splats |= static_cast<unsigned>(extents_[s] == Extent::Once || (repeats && rows_ == 1)) << k;
        }
        step.function(of_elements ? elements_[step.out] : numbers_[step.out], from[0], from[1], from[2],
                      (of_elements ? rows_ * n_ : rows_) * step.scale, splats);
    }
};

} // namespace

bool run_small_rows(const LoopKernel& kernel, const TileProgram& program) { return SmallRows(kernel, program).run(); }

} // namespace kindling
