// graph/pending.h: loops that were put off, and kernels that run by rows. A thread that records hands them in here; whoever needs the
// memory that they write runs them, as few loops as they fuse to.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/ref.h"
#include "core/storage.h"
#include "core/thread_state.h"
#include "graph/step.h"
#include "kernels/loop.h"
#include "runtime/random.h"

namespace kindling {

/// An operand of a loop as memory that has no address yet.
struct Place {
    Storage* storage;
    int64_t offset; // bytes
    DType type;
    const int64_t* strides; // bytes, one per dimension of the iteration space
};

/// A loop that was put off, or a step: then it has no expression, and its space are the rows, then the other dimensions of each operand,
/// in which the others have stride 0. All lists lie in RecordedLoops::numbers, so that what was recorded is one list of numbers: the key of
/// its plan.
struct RecordedLoop {
    const Expression* expression;
    const Expression* finish;
    int step; // index in RecordedLoops::steps; -1: a loop
    int ndim, output_count, input_count;
    uint64_t reduced, row;
    Combine combines[5];
    uint32_t sizes;    // index of the first of `ndim` sizes
    uint32_t operands; // of the first operand: slot, dtype, offset, then `ndim` strides
    uint32_t scalars;  // index in RecordedLoops::scalars
    int operand_count() const { return output_count + input_count; }
};

/// What one queue holds. Memory is named by slots.
struct RecordedLoops {
    struct Operand {
        int64_t slot;
        DType type;
        int64_t offset;
        const int64_t* strides;
    };

    std::vector<int64_t> numbers;
    std::vector<RecordedLoop> loops;
    std::vector<Step> steps;
    std::vector<Immediate> scalars;
    std::vector<uint8_t> wanted; // for each slot: whether somebody but this queue still holds the memory

    const int64_t* sizes(const RecordedLoop& loop) const { return numbers.data() + loop.sizes; }
    Operand operand(const RecordedLoop& loop, int which) const {
        const int64_t* at = numbers.data() + loop.operands + static_cast<size_t>(which) * static_cast<size_t>(3 + loop.ndim);
        return {at[0], static_cast<DType>(at[1]), at[2], at + 3};
    }
    std::string to_string() const;
};

struct Plan;
struct PlannedLoop;
struct PlannedOperand;
struct Blocks;

/// The queue of one thread, with the plans of what it has run so far.
class Pending : public RefCounted {
public:
    /// A loop whose operands' addresses are not looked at. Runs all that is pending if a bound is reached, or if memory is
    /// visible outside, where anybody may write at any time.
    void record(const LoopKernel& kernel, const Place* places);
    /// The same of a step. `storages`: of each of its arrays.
    void record(const Step& step, Storage* const* storages);
    /// Runs what is pending.
    void run(bool at_end = false);
    bool touches(const Storage* storage);
    bool empty() const { return !has_loops_.load(std::memory_order_acquire); }
    /// How many loops were ever put off here, and how many fewer ran.
    uint64_t recorded() const { return count_; }
    uint64_t saved() const { return count_ - ran_.load(std::memory_order_relaxed); }

    /// At which the queue runs by itself: loops, and bytes that nobody else keeps.
    static constexpr size_t most_loops = 2000, most_steps = 32;
    static constexpr int64_t most_bytes = int64_t{1} << 30;

    /// Whether the loops of this thread are put off, however small they are.
    bool takes_all() const { return takes_all_; }

protected:
    friend void settle(Storage*, bool);
    friend class Replay;
    struct Slot {
        Storage* storage;
        bool written;
    };
    class Guard;
    class Added;
    class BlockRun;

    int64_t slot_of(Storage* storage, bool written);
    int64_t find(const Storage* storage) const;
    virtual void run_locked(bool at_end = false);
    void execute(const Plan& plan, std::vector<double>* seconds = nullptr);
    void run_loop(const PlannedLoop& loop);
    [[gnu::cold]] void run_step(const PlannedLoop& planned);
    [[gnu::cold]] void run_blocks(const Plan& plan, const Blocks& blocks);
    void allocate(int slot);
    void* memory_of(const PlannedOperand& operand) const;
    template <class StorageOf> bool make_way(Guard& guard, int count, int output_count, StorageOf&& storage_of);
    void run_if_full(bool at_once);
    template <class Record> [[gnu::cold]] void record_elsewhere(Record&& record);
    const Plan* find_plan();
    [[gnu::cold]] const Plan* add_plan(uint64_t hash, size_t length);
    [[gnu::cold]] void explain(const Plan& plan, bool at_end);
    void drop();
    bool is_full();

    /// A lock that its thread may take again: what it runs may need the queue.
    struct Gate {
        std::mutex mutex;
        std::atomic<const void*> holder{nullptr};
        int depth = 0;
        void lock();
        void unlock();
    };
    Gate own_gate_;
    Gate* gate_ = &own_gate_;
    std::atomic<bool> has_loops_{false};
    std::atomic<const void*> runs_in_{nullptr}; // the thread that runs what somebody else has put off
    RecordedLoops recorded_;
    std::vector<Slot> slots_;
    std::vector<Storage*> dropped_; // to be released when the lock is open
    uint64_t count_ = 0;
    std::atomic<uint64_t> ran_{0}; // others may run the queue
    int64_t bytes_ = 0;            // of the memory that loops touch, and at how much of it is_full looks again
    int64_t look_at_ = most_bytes;
    std::vector<std::unique_ptr<Plan>> plans_;
    size_t plan_numbers_ = 0;      // in the keys of them all
    const Plan* halted_ = nullptr; // that of a run which failed, and the loop to go on with
    size_t next_step_ = 0;
    bool takes_all_ = false;
};
inline void release(Pending*) {} // queues stay for the next thread

/// Memory that somebody else will fill: the backend of a compiled function, which knows what to compute. Loops that others put off
/// and that memory know of each other as the loops of two threads do.
///
/// All of them have one lock. Computing one may need another (random numbers come in turn), so with a lock each two threads could wait for
/// each other.
class KINDLING_VISIBLE Foreign : public Pending {
public:
    Foreign();
    /// From here on no other thread fills the memory, or notes something down, until as many `let_go`.
    [[gnu::cold]] void hold();
    [[gnu::cold]] void let_go();
    /// The slot of what is read or written there, or, where it was `made` for it, is to be filled. What others put off there runs first.
    [[gnu::cold]] int64_t touch(Storage* storage, bool written, bool made);
    [[gnu::cold]] int64_t slot(const Storage* storage);
    void run();
    /// Says that it draws random numbers, from the default generator: whoever uses that has them drawn first.
    [[gnu::cold]] void draw();
    /// Whether anybody but the queue holds it.
    [[gnu::cold]] bool is_wanted(int64_t slot);
    /// Exchanges its memory for that of `from`, and says whether it did: only where nobody else holds that, and it is as large.
    [[gnu::cold]] bool fill(int64_t slot, Storage* from);

private:
    friend Foreign* take_foreign(void (*)(void*), void (*)(void*), void*);
    friend void give_back(Foreign*);
    [[gnu::cold]] void run_locked(bool at_end) override;
    [[gnu::cold]] void mark(bool pending);

    struct Draws : Generator::Waiting {
        Foreign* queue;
    };
    std::vector<uint8_t> made_;
    Draws draws_{};
    void (*fill_)(void*) = nullptr; // fills all of it; holds the queue's lock
    void (*drop_)(void*) = nullptr;
    void* context_ = nullptr;
};
/// A queue that is filled by `fill(context)`; `drop(context)` says that it was given back. One with work left stays where it is:
/// who reads that tries again.
[[gnu::cold]] KINDLING_VISIBLE Foreign* take_foreign(void (*fill)(void*), void (*drop)(void*), void* context);
[[gnu::cold]] KINDLING_VISIBLE void give_back(Foreign* queue);

/// A loop over fewer elements runs at once, if all that it touches is there: to put it off costs more than it could save.
KINDLING_VISIBLE extern std::atomic<int64_t> smallest_loop;
/// And so does a step whose result has fewer bytes: what it writes stays in the cache anyway.
inline int64_t smallest_step() { return 320 * smallest_loop.load(std::memory_order_relaxed); }
/// Asked while the thread records. `storage(i)`: of the loop's operands, outputs first.
template <class Of> bool is_put_off(int64_t elements, int output_count, int count, Of&& storage) {
    if (elements >= smallest_loop.load(std::memory_order_relaxed) || thread_state.recording->takes_all()) return true;
    for (int i = 0; i < count; i++)
        if (!storage(i)->is_there(i < output_count)) return true;
    return false;
}

/// While in scope the thread's loops are put off. At the end of the outermost one, also by an exception, all that is pending has
/// run.
KINDLING_VISIBLE void begin_recording();
/// Returns whether this was the outermost region, and nothing was gained in it: as many loops ran as were put off, if any.
KINDLING_VISIBLE bool end_recording();
/// A region that may be opened late. Errors of what is run at its end come from `close`; where an exception ends it, they are lost.
class Recording {
public:
    Recording() = default;
    ~Recording() {
        if (!open_) return;
        try {
            end_recording();
        } catch (...) {}
    }
    Recording(const Recording&) = delete;
    void open() {
        if (!open_) begin_recording(), open_ = true;
    }
    void close() {
        if (open_) open_ = false, end_recording();
    }

private:
    bool open_ = false;
};

/// What one run of a queue did, for whoever asked for it.
struct ExplainedRun {
    size_t recorded, ran;
    int64_t bytes_apart, bytes_fused; // that the loops read and write, as recorded and as run
    double seconds;
    std::string where; // in the program, where a value was needed; empty: at the end
    std::string before, after;
};
/// From here on runs of queues in this thread are told of.
KINDLING_VISIBLE void begin_explaining();
KINDLING_VISIBLE std::vector<ExplainedRun> end_explaining();
/// Where the program is; set by bindings.
KINDLING_VISIBLE extern std::string (*place_in_program)();

/// Whether others may read or write the memory at any time, without a call of ours.
KINDLING_VISIBLE bool is_visible(const Storage& storage);
/// Whether memory that a tensor was made over (a NumPy array's) can be reached by others than tensors. Set by bindings; null: it can.
KINDLING_VISIBLE extern bool (*is_held_outside)(const Storage& storage);

/// How many loops were recorded, how many ran, and how many plans were made, since the process began.
struct GraphCounts {
    int64_t recorded, ran, plans, flushes;
};
KINDLING_VISIBLE GraphCounts graph_counts();

} // namespace kindling
