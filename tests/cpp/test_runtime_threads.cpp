// The thread pool: every index once, exceptions, nesting, many callers, fork, and no threads to be had.
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"
#include "core/error.h"
#include "runtime/threads.h"

using namespace kindling;

static bool covers(int64_t count, int64_t grain) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
    parallel_for(0, count, grain, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) ++seen[static_cast<size_t>(i)];
    });
    for (auto& s : seen)
        if (s != 1) return false;
    return true;
}

static void* caller(void* result) {
    for (int i = 0; i < 300; ++i)
        if (!covers(1000, 10)) *static_cast<bool*>(result) = false;
    return nullptr;
}

// Whether a thread with a stack of `bytes` sees about so much of it left (the system may hand out a larger one that an ended
// thread had), and one of ours below it about what ours have.
[[maybe_unused]] static bool sees_stack(size_t bytes) {
    struct Seen {
        size_t own = 0, ours = 0;
    } seen;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_t thread;
    auto body = [](void* context) -> void* {
        auto* s = static_cast<Seen*>(context);
        s->own = stack_left();
        run_on_thread([](void* c) { static_cast<Seen*>(c)->ours = stack_left(); }, s);
        return nullptr;
    };
    pthread_create(&thread, &attributes, body, &seen);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    return seen.own < 5 * bytes && seen.own + (32 << 10) > bytes && seen.ours <= thread_stack_bytes &&
           seen.ours + (32 << 10) > thread_stack_bytes;
}

int main() {
    CHECK(stack_left() > (64 << 10));
#ifndef __SANITIZE_THREAD__ // which gives threads larger stacks than were asked for
    for (size_t kilobytes : {64, 256, 1024}) CHECK(sees_stack(kilobytes << 10));
#endif
    CHECK(default_num_threads() >= 1);
    for (int threads : {1, 2, 3, 8}) {
        set_num_threads(threads);
        CHECK(num_threads() == threads);
        for (int64_t count : {0, 1, 7, 1000, 4096})
            for (int64_t grain : {1, 3, 1000}) CHECK(covers(count, grain));
    }
    set_num_threads(4);
    for (int round = 0; round < 20000; ++round) {
        std::atomic<int64_t> sum{0};
        parallel_for(0, 64, 1, [&](int64_t b, int64_t e) {
            int64_t part = 0;
            for (int64_t i = b; i < e; ++i) part += i;
            sum += part;
        });
        if (sum != 2016) {
            CHECK(sum == 2016);
            break;
        }
    }
    for (int64_t bad : {0, 17, 999}) {
        bool caught = false;
        try {
            parallel_for(0, 1000, 1, [&](int64_t b, int64_t e) {
                if (b <= bad && bad < e) throw std::runtime_error("at " + std::to_string(bad));
            });
        } catch (const std::runtime_error& error) { caught = std::string(error.what()) == "at " + std::to_string(bad); }
        CHECK(caught);
        CHECK(covers(1000, 1));
    }
    std::atomic<int> inner{0};
    CHECK(!in_parallel_region());
    parallel_for(0, 16, 1, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i)
            parallel_for(0, 16, 1, [&](int64_t ib, int64_t ie) {
                if (!in_parallel_region()) inner += 1000;
                inner += static_cast<int>(ie - ib);
            });
    });
    CHECK(inner == 256);

    bool good = true;
    pthread_t callers[4];
    for (auto& c : callers) pthread_create(&c, nullptr, caller, &good);
    for (auto& c : callers) pthread_join(c, nullptr);
    CHECK(good);

#if !defined(__SANITIZE_THREAD__) // which does not allow threads after a fork
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(covers(1000, 1) && covers(5000, 7) ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);

    child = fork();
    if (child == 0) { // no threads to be had
        alarm(20);
        rlimit none{0, 0};
        setrlimit(RLIMIT_NPROC, &none);
        if (getuid() == 0 && setuid(65534) != 0) _exit(2);
        _exit(covers(1000, 1) ? 0 : 1);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0);
#endif
    return finish("threads");
}
