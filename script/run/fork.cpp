// script/run/fork.cpp: threads for forked calls. Each lives while there is something to do.
#include "script/run/fork.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <deque>
#include <mutex>

#include "core/dispatch.h"
#include "graph/pending.h"
#include "runtime/detached.h"
#include "runtime/threads.h"

namespace kindling::script {
namespace {

struct Queue {
    std::mutex lock;
    std::deque<Item> waiting; // Futures; some may have been computed by who waited for them
    int threads = 0;
    uint32_t forks = 0; // that led to this process
};
/// A child after fork has none of the threads, so nobody else may hold the lock while the process forks.
Queue& queue() {
    static Queue* made = [] {
        pthread_atfork([] { queue().lock.lock(); }, [] { queue().lock.unlock(); },
                       [] {
                           queue().threads = 0;
                           queue().forks++;
                           queue().lock.unlock();
                       });
        return new Queue;
    }();
    return *made;
}
Future& future_in(const Item& item) { return *static_cast<Future*>(item.object()); }

bool belongs_to_thread(const ThreadState& state) {
    return state.dispatch_modes || state.function_modes || state.transforms || state.levels || state.grads ||
           (state.include & key::watching);
}

} // namespace

uint32_t forks() { return queue().forks; }

bool Future::claim() {
    uint32_t waiting = Waiting;
    return state_.compare_exchange_strong(waiting, Running + forks(), std::memory_order_acquire);
}

void Future::run(bool own_state) {
    const ThreadState before = thread_state;
    if (own_state) { // of the thread that started it, without what is this thread's
        thread_state = thread_;
        thread_state.recording = before.recording;
        thread_state.reusable = nullptr;
        thread_state.include = (thread_.include & ~static_cast<uint32_t>(key::Deferred)) | (before.include & key::Deferred);
    }
    Item result;
    std::exception_ptr error;
    try {
        Recording recording;
        recording.open();
        result = body_();
        recording.close();
    } catch (...) { error = std::current_exception(); }
    thread_state = before;
    body_ = nullptr;
    result_ = std::move(result);
    error_ = error;
    state_.store(Done, std::memory_order_release);
    syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Future::work(void*) {
    for (;;) {
        Item next;
        {
            Queue& all = queue();
            const std::lock_guard guard(all.lock);
            if (all.waiting.empty()) {
                all.threads--;
                return;
            }
            next = std::move(all.waiting.front());
            all.waiting.pop_front();
        }
        if (Future& future = future_in(next); future.claim()) future.run(true);
    }
}

Item Future::start(std::function<Item()> body) {
    auto* made = new Future;
    Item item = Item::adopt(Item::Tag::Future, made);
    made->body_ = std::move(body);
    made->thread_ = thread_state;
    if (belongs_to_thread(thread_state)) {
        made->claim();
        made->run(false);
        return item;
    }
    Queue& all = queue();
    const std::lock_guard guard(all.lock);
    all.waiting.push_back(item);
    if (all.threads < num_threads() && start_detached(work, nullptr)) all.threads++;
    return item;
}

Item Future::wait() {
    if (claim()) run(true);
    for (uint32_t state; (state = state_.load(std::memory_order_acquire)) != Done; hear_signals()) {
        KINDLING_CHECK(Runtime, state == Running + forks(),
                       "a forked call that was running when the process was forked has no result in the child");
        const timespec some{0, 50'000'000};
        syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, state, &some, nullptr, 0);
    }
    if (error_) std::rethrow_exception(error_);
    return result_;
}

} // namespace kindling::script
