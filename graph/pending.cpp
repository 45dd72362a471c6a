// graph/pending.cpp: recording, and running what was recorded.
// Compiled for size.
#include "graph/pending.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/dispatch.h"
#include "core/error.h"
#include "core/opaque.h"
#include "graph/plan.h"
#include "runtime/threads.h"

namespace kindling {
namespace {

constinit std::mutex pool_lock, allocation_lock;
/// Queues of threads that have ended, and all that were ever made: a queue is never freed, so the list is read without a lock.
constinit std::vector<Pending*>* idle = nullptr;
struct Listed {
    Pending* queue;
    Listed* next;
};
constinit std::atomic<Listed*> all_queues{nullptr};
constinit std::atomic<int64_t> recorded_count{0}, ran_count{0}, plan_count{0}, flush_count{0};
constexpr size_t most_plans = 512, most_numbers = 1 << 20; // of all plans that a queue keeps, and of their keys
constexpr size_t loop_words = 6;                           // in front of the sizes of a loop

uint64_t hash_numbers(const std::vector<int64_t>& numbers) {
    uint64_t lanes[4] = {1, 2, 3, 4}; // side by side: one alone would wait for its multiplications
    for (size_t i = 0; i < numbers.size(); i++) {
        uint64_t& lane = lanes[i % 4];
        lane = (lane ^ static_cast<uint64_t>(numbers[i])) * 0xff51afd7ed558ccdu;
        lane ^= lane >> 32;
    }
    uint64_t hash = numbers.size();
    for (uint64_t lane : lanes) hash = (hash ^ lane) * 0x9e3779b97f4a7c15u;
    return hash;
}

double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

} // namespace

constinit std::atomic<int64_t> smallest_loop{4096};
bool (*is_held_outside)(const Storage&) = nullptr;
bool is_visible(const Storage& storage) {
    if (storage.shared || storage.exported.load(std::memory_order_relaxed)) return true;
    return storage.deleter && !storage.hidden && (!is_held_outside || is_held_outside(storage));
}

GraphCounts graph_counts() { return {recorded_count, ran_count, plan_count, flush_count}; }

void Pending::Gate::lock() {
    if (holder.load(std::memory_order_relaxed) == &thread_state) {
        depth++;
        return;
    }
    if (!mutex.try_lock()) { // who waits lets go of the interpreter's lock: the one that runs the queue may need that
        Unlocked unlocked(true);
        mutex.lock();
    }
    depth = 1;
    holder.store(&thread_state, std::memory_order_relaxed);
}
void Pending::Gate::unlock() {
    if (--depth) return;
    holder.store(nullptr, std::memory_order_relaxed);
    mutex.unlock();
}

/// Holds a queue's lock.
class Pending::Guard {
public:
    explicit Guard(Pending& queue) : queue_(queue) { lock(); }
    ~Guard() { unlock(); }
    Guard(const Guard&) = delete;
    void lock() {
        queue_.gate_->lock();
        held_ = true;
    }
    void unlock() {
        if (!held_) return;
        held_ = false;
        std::vector<Storage*> dropped;
        dropped.swap(queue_.dropped_);
        queue_.gate_->unlock();
        for (Storage* storage : dropped) release(storage); // may run code of the program: after the lock
    }

private:
    Pending& queue_;
    bool held_ = false;
};

// ---- slots

int64_t Pending::find(const Storage* storage) const {
    const uint32_t slot = storage->slot.load(std::memory_order_relaxed);
    if (slot < slots_.size() && slots_[slot].storage == storage) return slot;
    if (!(storage->state.load(std::memory_order_relaxed) & Storage::most_readers)) return -1; // no queue has it
    for (size_t i = 0; i < slots_.size(); i++)                                                // another has, or several have
        if (slots_[i].storage == storage) return static_cast<int64_t>(i);
    return -1;
}

int64_t Pending::slot_of(Storage* storage, bool written) {
    int64_t slot = find(storage);
    if (slot < 0) {
        slot = static_cast<int64_t>(slots_.size());
        slots_.push_back({storage, written});
        if (storage->memory) bytes_ += static_cast<int64_t>(storage->bytes);
        storage->slot.store(static_cast<uint32_t>(slot), std::memory_order_relaxed);
        const uint32_t more = written ? 1 + Storage::Written : 1;
        const uint32_t state = storage->state.load(std::memory_order_relaxed);
        if (written && state & Storage::Unallocated && storage->use_count() == 1) { // made for this loop: nobody else can see it
            storage->retain_alone();
            storage->state.store(state + more, std::memory_order_relaxed);
        } else {
            storage->retain();
            storage->state.fetch_add(more, std::memory_order_relaxed);
        }
    } else if (Slot& mine = slots_[static_cast<size_t>(slot)]; written && !mine.written) {
        mine.written = true;
        storage->state.fetch_or(Storage::Written, std::memory_order_relaxed);
    } else {
        return slot;
    }
    return slot;
}

bool Pending::touches(const Storage* storage) {
    Guard guard(*this);
    return find(storage) >= 0;
}

void Pending::drop() {
    for (Slot& slot : slots_) {
        if (!slot.storage) continue;
        // What nobody else holds goes with its last reference.
        if (slot.storage->use_count() > 1)
            slot.storage->state.fetch_sub(slot.written ? 1 + Storage::Written : 1, std::memory_order_release);
        dropped_.push_back(slot.storage);
    }
    slots_.clear();
    recorded_.numbers.clear();
    recorded_.loops.clear();
    recorded_.scalars.clear();
    recorded_.steps.clear();
    has_loops_.store(false, std::memory_order_release);
    bytes_ = 0;
    look_at_ = most_bytes;
    halted_ = nullptr;
    next_step_ = 0;
}

// ---- recording

/// Runs what other queues have to do with these storages first. False, and the lock is open, where a part of a run that failed waits here.
template <class StorageOf> bool Pending::make_way(Guard& guard, int count, int output_count, StorageOf&& storage_of) {
    if (halted_) [[unlikely]] {
        guard.unlock();
        return false;
    }
    for (int i = 0; i < count; i++) {
        Storage* storage = storage_of(i);
        const uint32_t state = storage->state.load(std::memory_order_acquire) & ~Storage::Unallocated;
        if (!state) continue;
        const int64_t slot = find(storage);
        const bool elsewhere = (state & Storage::most_readers) > (slot >= 0),
                   written = state & Storage::Written && !(slot >= 0 && slots_[static_cast<size_t>(slot)].written);
        if (!written && !(elsewhere && i < output_count)) continue;
        guard.unlock();
        settle(storage, i < output_count);
        guard.lock();
        i = -1;
    }
    return true;
}

/// While in scope, what is added to a recording goes again where it is not kept.
class Pending::Added {
public:
    explicit Added(RecordedLoops& to) : to_(to), numbers_(to.numbers.size()), scalars_(to.scalars.size()), steps_(to.steps.size()) {}
    ~Added() {
        if (kept_) return;
        to_.numbers.resize(numbers_);
        to_.scalars.resize(scalars_);
        to_.steps.resize(steps_);
    }
    Added(const Added&) = delete;
    /// Room for `count` more numbers.
    int64_t* numbers(size_t count) {
        to_.numbers.resize(numbers_ + count);
        return to_.numbers.data() + numbers_;
    }
    void keep(const RecordedLoop& loop) {
        to_.loops.push_back(loop);
        kept_ = true;
    }

private:
    RecordedLoops& to_;
    size_t numbers_, scalars_, steps_;
    bool kept_ = false;
};

void Pending::record(const LoopKernel& kernel, const Place* places) {
    const int count = kernel.output_count + kernel.input_count;
    Guard guard(*this);
    if (!make_way(guard, count, kernel.output_count, [&](int i) { return places[i].storage; })) [[unlikely]]
        return record_elsewhere([&](Pending& other) { other.record(kernel, places); });
    RecordedLoop loop;
    loop.expression = kernel.expression;
    loop.finish = kernel.finish;
    loop.step = -1;
    loop.ndim = kernel.ndim;
    loop.output_count = kernel.output_count;
    loop.input_count = kernel.input_count;
    loop.reduced = kernel.reduced;
    loop.row = kernel.row;
    uint64_t combines = 0;
    for (int i = 0; kernel.combines && i < static_cast<int>(kernel.expression->outputs.size()); i++) {
        loop.combines[i] = kernel.combines[i];
        combines = combines << 8 | (static_cast<uint64_t>(kernel.combines[i]) + 1);
    }
    const size_t n = static_cast<size_t>(kernel.ndim);
    bool at_once = false;
    Added added(recorded_);
    int64_t* at = added.numbers(loop_words + n + static_cast<size_t>(count) * (3 + n));
    *at++ = reinterpret_cast<intptr_t>(kernel.expression);
    *at++ = reinterpret_cast<intptr_t>(kernel.finish);
    *at++ = kernel.ndim | kernel.output_count << 8 | kernel.input_count << 16 | (kernel.combines != nullptr) << 24;
    *at++ = static_cast<int64_t>(kernel.reduced);
    *at++ = static_cast<int64_t>(kernel.row);
    *at++ = static_cast<int64_t>(combines);
    loop.sizes = static_cast<uint32_t>(at - recorded_.numbers.data());
    std::memcpy(at, kernel.sizes, n * sizeof(int64_t));
    at += n;
    loop.operands = static_cast<uint32_t>(at - recorded_.numbers.data());
    for (int i = 0; i < count; i++) {
        const Place& place = places[i];
        at_once |= is_visible(*place.storage);
        *at++ = slot_of(place.storage, i < kernel.output_count);
        *at++ = static_cast<int64_t>(place.type);
        *at++ = place.offset;
        std::memcpy(at, place.strides, n * sizeof(int64_t));
        at += n;
    }
    loop.scalars = static_cast<uint32_t>(recorded_.scalars.size());
    int scalar_count = kernel.expression->scalar_count;
    if (kernel.finish) scalar_count = std::max(scalar_count, kernel.finish->scalar_count);
    if (scalar_count) recorded_.scalars.insert(recorded_.scalars.end(), kernel.scalars, kernel.scalars + scalar_count);
    added.keep(loop);
    run_if_full(at_once);
}

void Pending::record(const Step& step, Storage* const* storages) {
    int of[Step::most_arrays];
    const int count = step.operands(of);
    Guard guard(*this);
    if (!make_way(guard, count, 1, [&](int i) { return storages[of[i]]; })) [[unlikely]]
        return record_elsewhere([&](Pending& other) { other.record(step, storages); });
    RecordedLoop loop{};
    loop.step = static_cast<int>(recorded_.steps.size());
    loop.output_count = 1;
    loop.input_count = count - 1;
    loop.ndim = 1;
    int64_t by_rows = 0, lazy = 0;
    for (int i = 0; i < count; i++) {
        const StepArray& array = step.arrays[of[i]];
        loop.ndim += array.ndim - array.by_rows;
        by_rows = by_rows << 1 | array.by_rows;
        lazy = lazy << 8 | (array.key & 0xff);
    }
    const size_t n = static_cast<size_t>(loop.ndim);
    bool at_once = false;
    Added added(recorded_);
    int64_t* at = added.numbers(loop_words + n + static_cast<size_t>(count) * (3 + n));
    *at++ = reinterpret_cast<intptr_t>(step.op);
    *at++ = step.packed_bytes;
    *at++ = loop.ndim | (count - 1) << 16 | 1 << 25;
    *at++ = by_rows;
    *at++ = lazy;
    *at++ = 0;
    loop.sizes = static_cast<uint32_t>(at - recorded_.numbers.data());
    int64_t* sizes = at;
    *sizes++ = step.rows;
    at += n;
    loop.operands = static_cast<uint32_t>(at - recorded_.numbers.data());
    for (int i = 0, d = 1; i < count; i++) {
        const StepArray& array = step.arrays[of[i]];
        const auto item = static_cast<int64_t>(item_size(array.type));
        at_once |= is_visible(*storages[of[i]]);
        *at++ = slot_of(storages[of[i]], i == 0);
        *at++ = static_cast<int64_t>(array.type);
        *at++ = array.offset;
        std::fill(at, at + n, 0);
        for (int k = 0; k < array.ndim; k++) {
            const int64_t stride = array.shape[array.ndim + k] * item;
            if (array.by_rows && k == 0) at[0] = stride;
            else at[d++] = stride, *sizes++ = array.shape[k];
        }
        at += n;
    }
    recorded_.steps.push_back(step);
    added.keep(loop);
    run_if_full(at_once || recorded_.steps.size() >= most_steps);
}

void Pending::run_if_full(bool at_once) {
    count_++;
    has_loops_.store(true, std::memory_order_relaxed);
    if (at_once || recorded_.loops.size() >= most_loops || (bytes_ >= look_at_ && is_full())) run_locked();
}

/// Whether the queue alone keeps that much memory. What was not computed yet costs nothing, but what it is computed from has to stay.
bool Pending::is_full() {
    int64_t kept = 0;
    for (const Slot& slot : slots_)
        if (slot.storage->memory && slot.storage->owners() == 0) kept += static_cast<int64_t>(slot.storage->bytes);
    look_at_ = bytes_ + std::max(most_bytes - kept, most_bytes / 16);
    return kept >= most_bytes;
}

// ---- explaining

static constinit thread_local std::vector<ExplainedRun>* explained __attribute__((tls_model("initial-exec"))) = nullptr;
std::string (*place_in_program)() = nullptr;

void begin_explaining() {
    delete explained;
    explained = new std::vector<ExplainedRun>;
}

std::vector<ExplainedRun> end_explaining() {
    std::unique_ptr<std::vector<ExplainedRun>> list(std::exchange(explained, nullptr));
    return list ? std::move(*list) : std::vector<ExplainedRun>();
}

// ---- running

void Pending::run(bool at_end) {
    Guard guard(*this);
    run_locked(at_end);
}

void Pending::run_locked(bool at_end) {
    if (recorded_.loops.empty()) return;
    const Plan* plan = halted_ ? halted_ : find_plan();
    if (explained) [[unlikely]]
        explain(*plan, at_end);
    else execute(*plan);
    drop();
}

const Plan* Pending::find_plan() {
    flush_count.fetch_add(1, std::memory_order_relaxed);
    recorded_count.fetch_add(static_cast<int64_t>(recorded_.loops.size()), std::memory_order_relaxed);
    recorded_.wanted.resize(slots_.size());
    std::vector<int64_t>& key = recorded_.numbers;
    const size_t length = key.size();
    for (size_t i = 0; i < slots_.size(); i++) {
        recorded_.wanted[i] = slots_[i].storage->owners() > 0;
        if (i % 62 == 0) key.push_back(0);
        key.back() = key.back() << 1 | recorded_.wanted[i];
    }
    const uint64_t hash = hash_numbers(key);
    const Plan* plan = nullptr;
    for (auto& each : plans_)
        if (each->hash == hash && each->key == key) {
            plan = each.get();
            break;
        }
    if (!plan) plan = add_plan(hash, length);
    key.resize(length);
    return plan;
}

/// Makes the plan of what is recorded, whose key was added behind `length` numbers.
const Plan* Pending::add_plan(uint64_t hash, size_t length) {
    std::vector<int64_t>& key = recorded_.numbers;
    std::vector<int64_t> whole = key;
    key.resize(length);
    auto fresh = make_plan(recorded_);
    trace_graph(recorded_, *fresh);
    fresh->hash = hash;
    fresh->key = std::move(whole);
    plan_count.fetch_add(1, std::memory_order_relaxed);
    plan_numbers_ += fresh->key.size();
    if (plans_.size() >= most_plans || plan_numbers_ > most_numbers) plans_.clear(), plan_numbers_ = fresh->key.size();
    plans_.push_back(std::move(fresh));
    return plans_.back().get();
}

void Pending::explain(const Plan& plan, bool at_end) {
    ExplainedRun run{recorded_.loops.size(), plan.steps.size(), bytes_of(recorded_), bytes_of(plan), 0, {}, recorded_.to_string(), {}};
    if (!at_end && place_in_program) run.where = place_in_program();
    std::vector<double> seconds;
    const double begin = now();
    execute(plan, &seconds);
    run.seconds = now() - begin;
    run.after = plan.to_string(seconds);
    explained->push_back(std::move(run));
}

void Pending::allocate(int slot) {
    Storage& storage = *slots_[static_cast<size_t>(slot)].storage;
    if (storage.state.load(std::memory_order_relaxed) & Storage::Unallocated) storage.allocate_now();
}

void* Pending::memory_of(const PlannedOperand& operand) const {
    return static_cast<char*>(slots_[static_cast<size_t>(operand.slot)].storage->memory) + operand.offset;
}

void Pending::run_loop(const PlannedLoop& loop) {
    LoopOperand operands[max_loop_operands];
    for (size_t i = 0; i < loop.operands.size(); i++)
        operands[i] = {memory_of(loop.operands[i]), loop.operands[i].type, loop.numbers.data() + loop.operands[i].strides};
    SmallVector<Immediate> scalars;
    for (uint32_t scalar : loop.scalars) scalars.push_back(recorded_.scalars[scalar]);
    Unlocked unlocked(loop.size > 65536);
    kindling::run(loop.kernel(operands, scalars.data()));
}

void Pending::run_step(const PlannedLoop& planned) {
    const Step& step = recorded_.steps[static_cast<size_t>(planned.step)];
    int of[Step::most_arrays];
    void* memory[Step::most_arrays];
    const int count = step.operands(of);
    for (int i = 0; i < count; i++) memory[of[i]] = memory_of(planned.operands[static_cast<size_t>(i)]);
    Unlocked unlocked(step.cost > 65536);
    step.run(step, memory, step.rows, nullptr);
}

void Pending::execute(const Plan& plan, std::vector<double>* seconds) {
    Deaf deaf; // a handler of signals is Python code, which may need what is just being run
    if (seconds) seconds->resize(next_step_);
    auto blocks = plan.blocks.begin();
    for (size_t which = next_step_, next; which < plan.steps.size(); which = next) {
        while (blocks != plan.blocks.end() && blocks->first < which) ++blocks;
        const bool in_blocks = blocks != plan.blocks.end() && blocks->first == which;
        next = which + (in_blocks ? blocks->count : 1);
        const PlannedLoop& step = plan.steps[which];
        bool in_place = false;
        try {
            for (size_t i = 0; i < step.operands.size() && !in_blocks; i++) {
                const PlannedOperand& operand = step.operands[i];
                allocate(operand.slot);
                for (size_t k = 0; k < i && static_cast<int>(k) < step.output_count; k++)
                    in_place |= step.operands[k].slot == operand.slot && step.operands[k].offset == operand.offset;
            }
            ran_count.fetch_add(static_cast<int64_t>(next - which), std::memory_order_relaxed);
            ran_.fetch_add(1, std::memory_order_relaxed);
            const double begin = seconds ? now() : 0;
            if (in_blocks) run_blocks(plan, *blocks);
            else if (step.step >= 0) run_step(step);
            else run_loop(step);
            if (seconds) seconds->push_back(now() - begin), seconds->resize(next, -1);
        } catch (...) {
            // What has not run is tried again by the next who needs it; but nothing is written in place a second time.
            halted_ = &plan;
            next_step_ = which + in_place;
            if (next_step_ == plan.steps.size()) drop();
            throw;
        }
        for (size_t each = which; each < next; each++)
            for (int last : plan.steps[each].last_use) {
                Slot& slot = slots_[static_cast<size_t>(last)];
                if (slot.storage->owners() > 0 || slot.storage->deleter) continue;
                slot.storage->state.fetch_sub(slot.written ? 1 + Storage::Written : 1, std::memory_order_relaxed);
                release(std::exchange(slot.storage, nullptr));
            }
    }
}

void settle(Storage* storage, bool is_written) {
    if (in_opaque_kernel) is_written = false;
    auto is_pending = [&] {
        const uint32_t state = storage->state.load(std::memory_order_acquire);
        return state & Storage::Written || (is_written && state & Storage::most_readers);
    };
    auto run_if = [&](Pending& queue) {
        Pending::Guard guard(queue);
        if (queue.find(storage) >= 0) queue.run_locked();
    };
    if (is_pending() && thread_state.recording) run_if(*thread_state.recording);
    if (is_pending())
        for (Listed* each = all_queues.load(std::memory_order_acquire); each; each = each->next) run_if(*each->queue);
    if (storage->state.load(std::memory_order_acquire) & Storage::Unallocated) {
        std::lock_guard<std::mutex> guard(allocation_lock);
        if (storage->state.load(std::memory_order_acquire) & Storage::Unallocated) storage->allocate_now();
    }
}

// ---- regions

static constinit thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;
static constinit thread_local Pending* mine __attribute__((tls_model("initial-exec"))) = nullptr;
static constinit thread_local uint64_t saved_before __attribute__((tls_model("initial-exec"))) = 0; // the region

/// Gives the thread's queue to others at its end.
struct QueueReturner {
    ~QueueReturner() {
        if (mine && mine->empty()) {
            std::lock_guard<std::mutex> guard(pool_lock);
            if (!idle) idle = new std::vector<Pending*>;
            idle->push_back(mine);
        }
        mine = nullptr;
    }
};

static void list(Pending* queue) {
    auto* listed = new Listed{queue, all_queues.load(std::memory_order_relaxed)};
    while (!all_queues.compare_exchange_weak(listed->next, listed, std::memory_order_release)) {}
}

[[gnu::cold]] static void take_queue() {
    static thread_local QueueReturner at_end;
    (void)at_end;
    std::lock_guard<std::mutex> guard(pool_lock);
    if (idle && !idle->empty()) {
        mine = idle->back();
        idle->pop_back();
        return;
    }
    mine = new Pending;
    list(mine);
}

template <class Record> void Pending::record_elsewhere(Record&& record) {
    take_queue();
    saved_before = ~uint64_t{0};
    thread_state.recording = mine;
    record(*mine);
}

void begin_recording() {
    if (depth) {
        depth++;
        return;
    }
    if (!mine || !mine->empty()) take_queue(); // what failed stays where it is, and is tried again by who reads it
    depth = 1;
    saved_before = mine->saved();
    thread_state.recording = mine;
    thread_state.include |= key::Deferred;
}

bool end_recording() {
    if (--depth) return false;
    Pending* queue = thread_state.recording;
    thread_state.recording = nullptr;
    thread_state.include &= ~static_cast<uint32_t>(key::Deferred);
    if (!queue->empty()) queue->run(true);
    return queue->saved() == saved_before;
}

// ---- what others put off

static constinit std::vector<Foreign*>* idle_foreign = nullptr;

Foreign::Foreign() {
    static constinit Gate one;
    gate_ = &one;
}
void Foreign::hold() { gate_->lock(); }
void Foreign::let_go() { gate_->unlock(); }

Foreign* take_foreign(void (*fill)(void*), void (*drop)(void*), void* context) {
    Foreign* queue = nullptr;
    {
        std::lock_guard<std::mutex> guard(pool_lock);
        if (idle_foreign && !idle_foreign->empty()) {
            queue = idle_foreign->back();
            idle_foreign->pop_back();
        }
    }
    if (!queue) list(queue = new Foreign);
    queue->fill_ = fill;
    queue->drop_ = drop;
    queue->context_ = context;
    return queue;
}

void give_back(Foreign* queue) {
    if (!queue->empty()) return;
    queue->drop_(queue->context_);
    std::lock_guard<std::mutex> guard(pool_lock);
    if (!idle_foreign) idle_foreign = new std::vector<Foreign*>;
    idle_foreign->push_back(queue);
}

int64_t Foreign::touch(Storage* storage, bool written, bool made) {
    if (slot(storage) < 0) written ? storage->data() : storage->data_to_read();
    Guard guard(*this);
    const int64_t slot = slot_of(storage, written);
    made_.resize(slots_.size());
    if (made) made_[static_cast<size_t>(slot)] = true;
    has_loops_.store(true, std::memory_order_relaxed);
    return slot;
}

int64_t Foreign::slot(const Storage* storage) {
    Guard guard(*this);
    return find(storage);
}

void Foreign::run() { Pending::run(); }

void Foreign::draw() {
    draws_.queue = this;
    draws_.draw = [](Generator::Waiting* draws) { static_cast<Draws*>(draws)->queue->run(); };
    default_generator().put_off(&draws_);
    has_loops_.store(true, std::memory_order_relaxed);
}

// The next two are for `fill`, which runs under the lock.
bool Foreign::is_wanted(int64_t slot) { return slots_.at(static_cast<size_t>(slot)).storage->owners() > 0; }

bool Foreign::fill(int64_t slot, Storage* from) {
    Storage* to = slots_.at(static_cast<size_t>(slot)).storage;
    if (from == to || from->use_count() > 1 || from->deleter || to->deleter || from->bytes != to->bytes || from->shared ||
        from->exported.load())
        return false;
    from->data();
    if (to->state.load(std::memory_order_relaxed) & Storage::Unallocated) to->allocate_now();
    std::swap(from->memory, to->memory);
    return true;
}

/// While it is filled, what it is computed from is as any other memory; what it fills stays pending for other threads.
void Foreign::mark(bool pending) {
    for (size_t i = 0; i < slots_.size(); i++) {
        const uint32_t mark = slots_[i].written ? 1 + Storage::Written : 1;
        if (made_[i] || !slots_[i].storage) continue;
        std::atomic<uint32_t>& state = slots_[i].storage->state;
        pending ? state.fetch_add(mark, std::memory_order_release) : state.fetch_sub(mark, std::memory_order_release);
    }
}

void Foreign::run_locked(bool) {
    if (empty()) return;
    KINDLING_CHECK(Runtime, runs_in_.load(std::memory_order_relaxed) != &thread_state,
                   "what a backend made of a compiled function reads a value that it is to compute itself");
    RunNow now;                                            // what it computes is not put off again
    if (draws_.queue) default_generator().forget(&draws_); // draws that fail are in nobody's way: they come later, if at all
    draws_.queue = nullptr;
    mark(false);
    runs_in_.store(&thread_state, std::memory_order_relaxed);
    try {
        fill_(context_);
    } catch (...) {
        runs_in_.store(nullptr, std::memory_order_relaxed);
        // What it was computed from is there to be read. What was to be filled stays pending, and who reads it is told.
        for (size_t i = 0; i < slots_.size(); i++)
            if (!made_[i] && slots_[i].storage) dropped_.push_back(std::exchange(slots_[i].storage, nullptr));
        throw;
    }
    runs_in_.store(nullptr, std::memory_order_relaxed);
    mark(true);
    made_.clear();
    drop();
}

} // namespace kindling
