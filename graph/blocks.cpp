// graph/blocks.cpp: loops and steps that follow one another run block by block of rows, so that what one writes is still in the cache
// when the next reads it, and what nobody else reads never lies in memory as a whole: a product with what comes before and after it.
// Compiled for size.
#include <algorithm>

#include "core/dispatch.h"
#include "graph/plan.h"
#include "runtime/allocator.h"
#include "runtime/threads.h"

namespace kindling {
namespace {

/// Bytes of one block's rows, of all that is read and written by rows: most of a second-level cache of 1 MB.
constexpr int64_t block_bytes = 640 << 10;
/// Rows of a block of a step that many rows at once make faster, a product of matrices, and its tiles' rows.
constexpr int64_t product_rows = 192, tile_rows = 12;
/// What is saved has to be more than what a cache would have kept anyway.
constexpr int64_t least_saved = 4 << 20;
/// An operand that belongs to all rows stays in the cache from block to block, if it is no larger.
constexpr int64_t stays_in_cache = 256 << 10;

/// What a range of loops and steps does with one memory.
struct Use {
    int64_t pitch = 0, lowest = 0, end = 0; // bytes: from row to row, and where those of the first row lie
    bool seen = false, written = false, local = false;
};

class Finder {
public:
    Finder(const RecordedLoops& recorded, Plan& plan) : recorded_(recorded), plan_(plan), uses_(recorded.wanted.size()) {}

    void run() {
        for (size_t at = 0; at < plan_.steps.size(); at++) {
            if (plan_.steps[at].step < 0) continue;
            const size_t before = plan_.blocks.empty() ? 0 : plan_.blocks.back().first + plan_.blocks.back().count;
            size_t first = at, end = at + 1;
            int64_t rows = plan_.steps[at].numbers[0];
            if (at < before || !look(first, end, rows)) continue;
            while (end < plan_.steps.size() && takes(first, end + 1, end, rows)) end++;
            while (first > before && takes(first - 1, end, first - 1, rows)) first--;
            if (end - first > 1) take(first, end, rows);
        }
    }

private:
    /// Whether the range may begin or end with `next`: over the same rows, or over some of them at once, as one that has a dimension for
    /// batches has them.
    bool takes(size_t first, size_t end, size_t next, int64_t& rows) {
        if (look(first, end, rows)) return true;
        const int64_t fewer = plan_.steps[next].numbers[0];
        if (fewer < 2 || fewer >= rows || rows % fewer || !look(first, end, fewer) || row_bytes() > block_bytes) return false;
        rows = fewer;
        return true;
    }

    int64_t row_bytes() const {
        int64_t bytes = 1;
        for (const Use& use : uses_)
            if (use.pitch) bytes += use.end - use.lowest;
        return bytes;
    }

    /// Looks at what those in [first, end) do over so many rows. False if they can't run block by block.
    bool look(size_t first, size_t end, int64_t rows) {
        std::fill(uses_.begin(), uses_.end(), Use());
        for (size_t i = first; i < end; i++) {
            const PlannedLoop& loop = plan_.steps[i];
            if (loop.numbers[0] % rows || (loop.reduced | loop.row) & 1) return false;
            if (loop.expression)
                for (const Node& node : loop.expression->nodes)
                    if (node.primitive == Primitive::Index) return false;
            const size_t count = loop.operands.size(), outputs = static_cast<size_t>(loop.output_count);
            for (size_t k = 0; k < count; k++) { // what is read, then what is written
                const size_t which = (k + outputs) % count;
                if (!add(loop, which, which < outputs, rows)) return false;
            }
        }
        for (const Use& use : uses_)
            if (use.written && use.end - use.lowest > use.pitch) return false;
        return true;
    }

    /// What is written is written by rows, before it is read: then blocks know nothing of each other, and may run again after an error.
    bool add(const PlannedLoop& loop, size_t which, bool writes, int64_t rows) {
        const PlannedOperand& operand = loop.operands[which];
        const int64_t *sizes = loop.numbers.data(), *strides = sizes + operand.strides, inner = sizes[0] / rows;
        const int64_t pitch = strides[0] * inner;
        int64_t lowest = operand.offset, end = operand.offset + static_cast<int64_t>(item_size(operand.type));
        for (int d = 0; d < loop.ndim; d++) {
            const int64_t reach = ((d ? sizes[d] : inner) - 1) * strides[d];
            (reach < 0 ? lowest : end) += reach;
        }
        if (pitch < 0 || (writes && !pitch)) return false;
        Use& use = uses_[static_cast<size_t>(operand.slot)];
        if (use.seen && (writes || use.written) && (!use.written || pitch != use.pitch)) return false;
        use.lowest = use.seen ? std::min(use.lowest, lowest) : lowest;
        use.end = use.seen ? std::max(use.end, end) : end;
        use.pitch = std::max(use.pitch, pitch);
        use.seen = true;
        use.written |= writes;
        return true;
    }

    bool is_used_outside(int slot, size_t first, size_t end) const {
        for (size_t i = 0; i < plan_.steps.size(); i++)
            if (i < first || i >= end)
                for (const PlannedOperand& each : plan_.steps[i].operands)
                    if (each.slot == slot) return true;
        return false;
    }

    /// Whether loops from `first` on, or this one before, read or write the same.
    bool is_met(const PlannedOperand& mine, int64_t bytes, size_t first, size_t last) const {
        for (size_t i = first; i <= last; i++)
            for (const PlannedOperand& each : plan_.steps[i].operands) {
                if (&each == &mine) return false;
                if (each.slot == mine.slot && each.offset == mine.offset && plan_.steps[i].bytes_of(each) == bytes) return true;
            }
        return false;
    }

    /// Notes the range down, if it pays.
    void take(size_t first, size_t end, int64_t rows) {
        look(first, end, rows);
        Blocks made;
        made.first = first;
        made.count = end - first;
        made.rows = rows;
        int64_t saved = 0, shared = 0;
        for (size_t slot = 0; slot < uses_.size(); slot++) {
            Use& use = uses_[slot];
            use.local = use.written && !recorded_.wanted[slot] && !is_used_outside(static_cast<int>(slot), first, end);
            if (use.local) made.locals.push_back({static_cast<int>(slot), use.pitch, use.lowest & -64, 0});
        }
        const bool small_too = smallest_step() == 0;
        int64_t least = 1, fewest = 1;
        for (size_t i = first; i < end; i++) {
            const PlannedLoop& loop = plan_.steps[i];
            const int64_t inner = loop.numbers[0] / rows;
            const Step* step = loop.step < 0 ? nullptr : &recorded_.steps[static_cast<size_t>(loop.step)];
            for (const PlannedOperand& mine : loop.operands) {
                const int64_t bytes = loop.bytes_of(mine);
                const bool by_rows = loop.numbers[mine.strides] != 0;
                const bool again = by_rows && (uses_[static_cast<size_t>(mine.slot)].local || is_met(mine, bytes, first, i));
                made.cached.push_back(again);
                saved += again * bytes;
                if (!by_rows && step && !step->looks_up && bytes > stays_in_cache) shared += bytes;
            }
            if (!step) continue;
            made.packed += step->packed_bytes;
            if (step->least_rows == 1) continue;
            fewest = std::max(fewest, (step->least_rows + inner - 1) / inner);
            least = std::max(least, small_too ? fewest : (product_rows + inner - 1) / inner);
            if (inner == 1 && !small_too) made.unit = tile_rows;
        }
        made.block = std::max(least, small_too ? 1 : block_bytes / row_bytes());
        if (rows / 2 < made.block) return;
        if (saved < (small_too ? 1 : least_saved) || (!small_too && saved < (rows / made.block - 1) * shared + 2 * made.packed)) return;
        const int64_t count = rows / made.block;
        made.most = std::max(count, rows / (2 * fewest + made.unit));
        const int64_t most = rows / count + made.unit; // of rows, in a block of so many or more of them (Blocks::begin)
        for (Blocks::Local& each : made.locals) {
            each.place = made.scratch;
            const int64_t room = most * each.pitch + uses_[static_cast<size_t>(each.slot)].end - each.lowest;
            made.scratch += static_cast<size_t>((room + 127) & -64);
        }
        plan_.blocks.push_back(std::move(made));
    }

    const RecordedLoops& recorded_;
    Plan& plan_;
    std::vector<Use> uses_; // by slot
};

/// Memory of the allocator, given back at the end.
struct Room {
    explicit Room(size_t size) : bytes(size), data(static_cast<char*>(kindling::allocate(size))) {}
    Room(const Room&) = delete;
    ~Room() { deallocate(data, bytes); }
    size_t bytes;
    char* data;
};

} // namespace

void find_blocks(const RecordedLoops& recorded, Plan& plan) {
    if (!recorded.steps.empty()) Finder(recorded, plan).run();
}

/// The loops and steps of a range over some of their rows. Its addresses are known when it is made.
class Pending::BlockRun {
public:
    BlockRun(Pending& queue, const Plan& plan, const Blocks& blocks)
        : queue_(queue), loops_(plan.steps.data() + blocks.first, blocks.count), rows_(blocks.rows),
          packed_(static_cast<size_t>(blocks.packed)) {
        size_t at = 0, packed = 0;
        for (const PlannedLoop& loop : loops_) {
            for (const PlannedOperand& operand : loop.operands) {
                const Blocks::Local* local = nullptr;
                for (const Blocks::Local& each : blocks.locals)
                    if (each.slot == operand.slot && is_unallocated(operand.slot)) local = &each;
                if (!local) queue.allocate(operand.slot);
                places_.push_back({local ? nullptr : static_cast<char*>(queue.memory_of(operand)),
                                   local ? local->place + static_cast<size_t>(operand.offset - local->lowest) : 0,
                                   loop.numbers[operand.strides] * each(loop)});
            }
            for (uint32_t scalar : loop.scalars) scalars_.push_back(queue.recorded_.scalars[scalar]);
            if (loop.step >= 0 && step_of(loop).pack) {
                void* memory[Step::most_arrays];
                const Step& step = step_of(loop);
                place(step, at, 0, packed_.data, memory); // what lies in scratch memory is not looked at
                step.pack(step, memory, step.rows, packed_.data + packed);
                packed += static_cast<size_t>(step.packed_bytes);
            }
            at = places_.size();
        }
    }

    void run(int64_t first_row, int64_t rows, char* scratch) const {
        size_t at = 0, packed = 0;
        const Immediate* scalars = scalars_.data();
        for (const PlannedLoop& loop : loops_) {
            if (loop.step >= 0) {
                const Step& step = step_of(loop);
                void* memory[Step::most_arrays];
                place(step, at, first_row, scratch, memory);
                step.run(step, memory, rows * each(loop), step.pack ? packed_.data + packed : nullptr);
                packed += static_cast<size_t>(step.packed_bytes);
            } else {
                LoopOperand operands[max_loop_operands];
                int64_t sizes[max_loop_dims];
                for (size_t k = 0; k < loop.operands.size(); k++)
                    operands[k] = {address(at + k, first_row, scratch), loop.operands[k].type,
                                   loop.numbers.data() + loop.operands[k].strides};
                std::copy_n(loop.numbers.data(), loop.ndim, sizes);
                sizes[0] = rows * each(loop);
                LoopKernel kernel = loop.kernel(operands, scalars);
                kernel.sizes = sizes;
                kindling::run(kernel);
                scalars += loop.scalars.size();
            }
            at += loop.operands.size();
        }
    }

private:
    const Step& step_of(const PlannedLoop& loop) const { return queue_.recorded_.steps[static_cast<size_t>(loop.step)]; }
    /// How many indices of its first dimension a row is.
    int64_t each(const PlannedLoop& loop) const { return loop.numbers[0] / rows_; }
    /// What has memory already is written there.
    bool is_unallocated(int slot) const {
        return queue_.slots_[static_cast<size_t>(slot)].storage->state.load(std::memory_order_relaxed) & Storage::Unallocated;
    }
    void* address(size_t operand, int64_t first_row, char* scratch) const {
        const Where& place = places_[operand];
        return place.memory ? place.memory + first_row * place.pitch : scratch + place.local;
    }
    void place(const Step& step, size_t first_operand, int64_t first_row, char* scratch, void** memory) const {
        int of[Step::most_arrays];
        for (int k = step.operands(of); k-- > 0;) memory[of[k]] = address(first_operand + static_cast<size_t>(k), first_row, scratch);
    }

    struct Where {
        char* memory; // null: in the thread's scratch memory, at `local`
        size_t local;
        int64_t pitch; // bytes from row to row; 0: it belongs to all rows
    };
    const Pending& queue_;
    Span<PlannedLoop> loops_;
    int64_t rows_;
    std::vector<Where> places_; // of all operands
    std::vector<Immediate> scalars_;
    Room packed_;
};

void Pending::run_blocks(const Plan& plan, const Blocks& blocks) {
    Unlocked unlocked(true);
    const BlockRun run(*this, plan, blocks);
    const int64_t count = blocks.count_blocks(num_threads());
    parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
        const Room scratch(blocks.scratch);
        for (int64_t i = begin; i < end; i++)
            run.run(blocks.begin(i, count), blocks.begin(i + 1, count) - blocks.begin(i, count), scratch.data);
    });
}

} // namespace kindling
