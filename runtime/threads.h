// runtime/threads.h: the one thread pool, and parallel_for over it.
//
// The pool starts at the first loop that is worth it, with as many threads as the process may use (affinity, cgroup
// quota, OMP_NUM_THREADS). One parallel loop runs at a time: a loop met inside another, or while another thread's loop
// holds the pool, runs in its caller. Idle threads sleep. After fork the child starts a pool of its own; where no
// thread can be started, loops run in their caller.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/export.h"

namespace KINDLING_VISIBLE kindling {

/// How many threads a parallel loop may use, the caller's included. 1 in what runs inside of one.
int num_threads();
/// How many share the work and the caches while a parallel loop runs, also where the caller is one of them.
int threads_at_work();
/// At least 1; takes effect at the next loop.
void set_num_threads(int count);
/// What num_threads() starts from: affinity, cgroup quota and OMP_NUM_THREADS.
int default_num_threads();
/// Whether the caller runs inside a parallel loop.
bool in_parallel_region();

/// The stack of every thread that is started here.
inline constexpr size_t thread_stack_bytes = 4 << 20;
/// How many bytes of the calling thread's stack lie below its caller's frame; 0 where it runs on another stack than the
/// thread's own. The threads of a program may have as little as 64 KB: our own frames are short (the build holds that), and
/// what calls code that is not ours asks here for an ample stack, and runs on a thread of its own where that is not left.
size_t stack_left();
inline constexpr size_t ample_stack_bytes = 128 << 10;
/// Runs body(context) on a thread of its own and waits for its end. False if no thread could be started.
bool run_on_thread(void (*body)(void* context), void* context);

/// Where the grain allows, a loop is cut into so many ranges for each thread: some to spare for the quicker threads.
constexpr int ranges_each = 4;

/// Called between the pieces of long work, by run-away loops and by parallel loops themselves: in the program's first thread, every
/// tenth of a second, it lets the host program handle the signals that have come (Python's Ctrl-C), which may throw.
void hear_signals();
/// While in scope this thread does not: Python code must not run where a lock is held.
class Deaf {
public:
    Deaf();
    ~Deaf();
    Deaf(const Deaf&) = delete;
};
extern void (*handle_signals)(); // the host program's

/// While in scope this thread's loops run in it alone: for a chain of loops so short that to wake the others takes longer.
class Alone {
public:
    explicit Alone(bool wanted);
    ~Alone();
    Alone(const Alone&) = delete;

private:
    bool wanted_;
};

namespace detail {
using RangeFunction = void (*)(void* context, int64_t begin, int64_t end);
void run_parallel(int64_t begin, int64_t end, int64_t grain, RangeFunction function, void* context);
} // namespace detail

/// Calls f(b, e) for disjoint ranges that make up [begin, end), all but the last a multiple of `grain` long, possibly at
/// the same time. An exception thrown by f is thrown here after the other ranges have ended or been dropped.
/// Results must not depend on where the ranges are cut.
template <class F> inline void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
    if (end <= begin) return;
    if (end - begin <= grain) {
        f(begin, end);
        return;
    }
    using Function = std::remove_reference_t<F>;
    detail::run_parallel(
        begin, end, grain, [](void* context, int64_t b, int64_t e) { (*static_cast<Function*>(context))(b, e); },
        const_cast<void*>(static_cast<const void*>(&f)));
}

} // namespace kindling
