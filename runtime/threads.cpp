// runtime/threads.cpp: the thread pool, signals during long work, stacks.
#include "runtime/threads.h"

#include "runtime/detached.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "core/error.h"

namespace kindling {
namespace {

constexpr int most_threads = 1024;

void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected, const timespec* most = nullptr) {
    syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, most, nullptr, 0);
}
void futex_wake(const std::atomic<uint32_t>& word, int count) {
    syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}
inline void pause() { __builtin_ia32_pause(); }

// ---- how many threads the process may use ----

long read_file(const char* path, char* text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    long length = read(file, text, size - 1);
    close(file);
    if (length >= 0) text[length] = 0;
    return length;
}

int affinity_count() {
    for (size_t cpus = 1024; cpus <= (1u << 18); cpus *= 4) {
        cpu_set_t* set = CPU_ALLOC(cpus);
        if (!set) break;
        size_t size = CPU_ALLOC_SIZE(cpus);
        int status = sched_getaffinity(0, size, set);
        int count = status == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0) return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<int>(online) : 1;
}

int quota_of(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return INT_MAX;
    long long whole = (quota + period - 1) / period;
    return whole < 1 ? 1 : whole > INT_MAX ? INT_MAX : static_cast<int>(whole);
}

int quota_at(bool unified, const char* root, const char* path) {
    char name[1400], text[128];
    long long quota = 0, period = 0;
    if (unified) {
        snprintf(name, sizeof name, "%s%s/cpu.max", root, path);
        if (read_file(name, text, sizeof text) > 0 && sscanf(text, "%lld %lld", &quota, &period) == 2) return quota_of(quota, period);
        return INT_MAX;
    }
    snprintf(name, sizeof name, "%s%s/cpu.cfs_quota_us", root, path);
    if (read_file(name, text, sizeof text) <= 0) return INT_MAX;
    quota = atoll(text);
    snprintf(name, sizeof name, "%s%s/cpu.cfs_period_us", root, path);
    if (read_file(name, text, sizeof text) <= 0) return INT_MAX;
    return quota_of(quota, atoll(text));
}

// The tightest quota from the process's group up to the root (in a container the root stands for the group itself).
int cgroup_count() {
    char groups[4096];
    if (read_file("/proc/self/cgroup", groups, sizeof groups) <= 0) return INT_MAX;
    int best = INT_MAX;
    for (char* line = groups; line && *line;) {
        char* end = strchr(line, '\n');
        if (end) *end = 0;
        char* controllers = strchr(line, ':');
        char* path = controllers ? strchr(controllers + 1, ':') : nullptr;
        if (path) {
            *path++ = 0;
            ++controllers;
            bool unified = *controllers == 0;
            bool cpu = false;
            for (char* c = controllers; c && *c;) {
                char* comma = strchr(c, ',');
                size_t length = comma ? static_cast<size_t>(comma - c) : strlen(c);
                if (length == 3 && memcmp(c, "cpu", 3) == 0) cpu = true;
                c = comma ? comma + 1 : nullptr;
            }
            if ((unified || cpu) && strlen(path) < 1024) {
                const char* roots[] = {unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu",
                                       unified ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup/cpu,cpuacct"};
                for (const char* root : roots) {
                    char part[1024];
                    strcpy(part, path);
                    for (;;) {
                        if (strcmp(part, "/") == 0) part[0] = 0;
                        int here = quota_at(unified, root, part);
                        if (here < best) best = here;
                        char* slash = strrchr(part, '/');
                        if (!slash) break;
                        *slash = 0;
                    }
                }
            }
        }
        line = end ? end + 1 : nullptr;
    }
    return best;
}

int from_environment(const char* name) {
    const char* text = getenv(name);
    if (!text) return 0;
    char* end = nullptr;
    long value = strtol(text, &end, 10); // OMP_NUM_THREADS may be a list, by nesting level: the first counts
    if (end == text || value < 1) return 0;
    return value > most_threads ? most_threads : static_cast<int>(value);
}

// ---- the pool ----

// `state` packs what joining a loop needs to change at once: how many more may join (high half) and how many have.
constexpr uint32_t ticket = 1u << 16;

struct Job {
    detail::RangeFunction function = nullptr;
    void* context = nullptr;
    int64_t end = 0;
    int64_t chunk = 0;
    int64_t grain = 1;
    std::atomic<int64_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr* error = nullptr; // on the caller's stack
};

struct Pool {
    std::atomic<uint32_t> epoch{0}; // counts loops; sleepers wait for it to change
    std::atomic<uint32_t> state{0};
    std::atomic<uint32_t> busy{0}; // a loop is running
    std::atomic<int> threads{0};   // 0: not asked yet
    int started = 0;               // workers, changed only by the holder of `busy`
    bool refused = false;          // the system gave no (more) threads
    bool fork_handled = false;
    Job job;
};
constinit Pool pool;
constinit thread_local bool inside [[gnu::tls_model("initial-exec")]] = false;
constinit thread_local int deaf [[gnu::tls_model("initial-exec")]] = 0, alone [[gnu::tls_model("initial-exec")]] = 0;

int64_t milliseconds(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/// A range of a loop. How long its first part takes says whether it is long; if so, it goes on in pieces of less than 0.1 s, with an
/// ear for signals between them, and ends early where another range has failed.
void run_range(int64_t begin, int64_t end, int64_t grain, detail::RangeFunction function, void* context, const std::atomic<bool>* failed) {
    if (grain < 1) grain = 1;
    // Of less than 1,024 grains it is short, and is not divided; and narrow ranges cost reductions of columns half of their speed.
    const bool is_short = (end - begin) >> 10 < grain;
    int64_t step = is_short ? end - begin : (end - begin) / grain / 256 * grain;
    for (int64_t before = step < end - begin ? milliseconds(CLOCK_MONOTONIC) : 0;;) {
        if (end - begin < step) step = end - begin;
        function(context, begin, begin + step);
        begin += step;
        if (begin == end || (failed && failed->load(std::memory_order_relaxed))) return;
        hear_signals();
        const int64_t now = milliseconds(CLOCK_MONOTONIC), took = now - before;
        before = now;
        if (took < 5) step = step > (end - begin) / 8 ? end - begin : step * 8;
        else if (took > 100 && step / 2 >= grain) step = step / 2 / grain * grain;
    }
}

void work(Job& job) {
    for (;;) {
        int64_t begin = job.next.fetch_add(job.chunk, std::memory_order_relaxed);
        if (begin >= job.end) return;
        int64_t end = job.end - begin < job.chunk ? job.end : begin + job.chunk;
        try {
            hear_signals();
            run_range(begin, end, job.grain, job.function, job.context, &job.failed);
        } catch (...) {
            if (!job.failed.exchange(true)) *job.error = std::current_exception();
            job.next.store(job.end, std::memory_order_relaxed); // drop what nobody has begun
            return;
        }
    }
}

void* worker(void*) {
    inside = true;
    for (;;) {
        uint32_t seen = pool.epoch.load(std::memory_order_acquire);
        uint32_t state = pool.state.load(std::memory_order_acquire);
        while (state >= ticket) {
            if (pool.state.compare_exchange_weak(state, state - ticket + 1, std::memory_order_acq_rel)) {
                work(pool.job);
                // The caller sleeps on the state once it has closed the loop; the last to leave wakes it.
                if (pool.state.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake(pool.state, 1);
                state = 0;
            }
        }
        // Some 25 us (80 where the instruction takes longer): a program that runs one loop after the other would pay for
        // waking a thread with every one of them, which costs as much as half a loop of 100 us.
        for (int i = 0; i < 2000 && pool.epoch.load(std::memory_order_relaxed) == seen; ++i) pause();
        if (pool.epoch.load(std::memory_order_acquire) == seen) futex_wait(pool.epoch, seen);
    }
    return nullptr;
}

void after_fork() {
    pool.epoch.store(0);
    pool.state.store(0);
    pool.busy.store(0);
    pool.started = 0;
    pool.refused = false;
    inside = false;
}

// A thread with the stack that ours have and no signals: they are for the threads that the program knows.
bool start_thread(pthread_t* thread, int detached, void* (*body)(void*), void* context) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setdetachstate(&attributes, detached);
    pthread_attr_setstacksize(&attributes, thread_stack_bytes);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread, &attributes, body, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return started;
}

void start_workers(int wanted) {
    if (!pool.fork_handled) {
        pool.fork_handled = true;
        pthread_atfork(nullptr, nullptr, after_fork);
    }
    for (pthread_t thread; pool.started < wanted && !pool.refused;) {
        if (start_thread(&thread, PTHREAD_CREATE_DETACHED, worker, nullptr)) ++pool.started;
        else pool.refused = true;
    }
}

// The calling thread's stack: asked of the system once, which reads a file for the first thread.
constinit thread_local struct {
    char *low, *high;
} stack [[gnu::tls_model("initial-exec")]] = {};

} // namespace

int default_num_threads() {
    if (int given = from_environment("OMP_NUM_THREADS")) return given;
    if (int given = from_environment("MKL_NUM_THREADS")) return given;
    int count = affinity_count(), quota = cgroup_count();
    if (quota < count) count = quota;
    return count < 1 ? 1 : count > most_threads ? most_threads : count;
}

int num_threads() { return inside || alone ? 1 : threads_at_work(); }

int threads_at_work() {
    int count = pool.threads.load(std::memory_order_relaxed);
    if (count) return count;
    count = default_num_threads();
    pool.threads.store(count, std::memory_order_relaxed);
    return count;
}

void set_num_threads(int count) {
    pool.threads.store(count < 1 ? 1 : count > most_threads ? most_threads : count, std::memory_order_relaxed);
}

bool in_parallel_region() { return inside; }

void (*handle_signals)() = nullptr;
Alone::Alone(bool wanted) : wanted_(wanted) { alone += wanted_; }
Alone::~Alone() { alone -= wanted_; }
Deaf::Deaf() { deaf++; }
Deaf::~Deaf() { deaf--; }
void hear_signals() {
    static constinit std::atomic<int64_t> heard{0};
    if (!handle_signals || deaf) return;
    if (inside && pool.job.failed.load(std::memory_order_relaxed))
        fail(ErrorKind::Runtime, "a part of a parallel loop failed"); // its other parts end early
    const int64_t now = milliseconds(CLOCK_MONOTONIC_COARSE);
    if (now - heard.load(std::memory_order_relaxed) < 100 || syscall(SYS_gettid) != getpid()) return;
    heard.store(now, std::memory_order_relaxed);
    handle_signals();
}

size_t stack_left() {
    if (!stack.high) {
        pthread_attr_t attributes;
        void* low = nullptr;
        size_t bytes = 0;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            pthread_attr_getstack(&attributes, &low, &bytes);
            pthread_attr_destroy(&attributes);
        }
        stack.low = static_cast<char*>(low);
        stack.high = stack.low + (bytes ? bytes : 1);
    }
    char* here = static_cast<char*>(__builtin_frame_address(0));
    return here > stack.low && here < stack.high ? static_cast<size_t>(here - stack.low) : 0;
}

bool run_on_thread(void (*body)(void*), void* context) {
    struct Call {
        void (*body)(void*);
        void* context;
    } call{body, context};
    pthread_t thread;
    auto run = [](void* argument) -> void* {
        auto* c = static_cast<Call*>(argument);
        c->body(c->context);
        return nullptr;
    };
    if (!start_thread(&thread, PTHREAD_CREATE_JOINABLE, run, &call)) return false;
    pthread_join(thread, nullptr);
    return true;
}

bool start_detached(void (*body)(void*), void* context) {
    struct Call {
        void (*body)(void*);
        void* context;
    };
    auto* call = new Call{body, context};
    pthread_t thread;
    const auto run = [](void* argument) -> void* {
        const Call given = *static_cast<Call*>(argument);
        delete static_cast<Call*>(argument);
        given.body(given.context);
        return nullptr;
    };
    if (start_thread(&thread, PTHREAD_CREATE_DETACHED, run, call)) return true;
    delete call;
    return false;
}

void detail::run_parallel(int64_t begin, int64_t end, int64_t grain, RangeFunction function, void* context) {
    int threads = num_threads();
    if (threads == 1 || inside || alone || pool.busy.exchange(1, std::memory_order_acquire) != 0) {
        inside ? function(context, begin, end) : run_range(begin, end, grain, function, context, nullptr);
        return;
    }
    if (pool.started < threads - 1) start_workers(threads - 1);
    if (grain < 1) grain = 1;
    int64_t count = end - begin, helpers = pool.started < threads - 1 ? pool.started : threads - 1;
    int64_t pieces = (count + grain - 1) / grain;
    if (pieces - 1 < helpers) helpers = pieces - 1;
    if (helpers == 0) {
        pool.busy.store(0, std::memory_order_release);
        run_range(begin, end, grain, function, context, nullptr);
        return;
    }
    Job& job = pool.job;
    job.function = function;
    job.context = context;
    job.end = end;
    job.grain = grain;
    int64_t ranges = (helpers + 1) * ranges_each, share = (count + ranges - 1) / ranges;
    job.chunk = (share + grain - 1) / grain * grain;
    job.next.store(begin, std::memory_order_relaxed);
    job.failed.store(false, std::memory_order_relaxed);
    std::exception_ptr error;
    job.error = &error;
    pool.state.store(static_cast<uint32_t>(helpers) * ticket, std::memory_order_release);
    pool.epoch.fetch_add(1, std::memory_order_release);
    futex_wake(pool.epoch, static_cast<int>(helpers));

    inside = true;
    work(job);
    inside = false;
    // Close the loop to those who have not joined, then wait for those who have.
    uint32_t state = pool.state.fetch_and(ticket - 1, std::memory_order_acq_rel) & (ticket - 1);
    // Theirs may be long: signals are heard meanwhile.
    constexpr timespec tenth{0, 100000000};
    for (int i = 0; state != 0; ++i) {
        if (i < 500) pause();
        else futex_wait(pool.state, state, &tenth);
        state = pool.state.load(std::memory_order_acquire);
        if (i < 500 || state == 0 || job.failed.load(std::memory_order_relaxed)) continue;
        try {
            hear_signals();
        } catch (...) {
            if (!job.failed.exchange(true)) error = std::current_exception();
            job.next.store(job.end, std::memory_order_relaxed);
        }
    }
    pool.busy.store(0, std::memory_order_release);
    if (error) std::rethrow_exception(error);
}

} // namespace kindling
