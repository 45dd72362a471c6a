// script/fork.cpp: threads for forked calls. Each lives while there is something to do.
#include "script/fork.h"

#include <unistd.h>

#include <deque>

#include "core/dispatch.h"
#include "graph/pending.h"
#include "runtime/detached.h"
#include "runtime/threads.h"

namespace kindling::script {
namespace {

struct Queue {
    std::mutex lock;
    std::deque<Item> waiting;            // Futures; some may have been computed by who waited for them
    int threads = 0;
    pid_t process = 0;                   // whose threads these are: a child after fork has none
};
Queue& queue() {
    static Queue* made = new Queue;
    return *made;
}
Future& future_in(const Item& item) { return *static_cast<Future*>(item.object()); }

bool belongs_to_thread(const ThreadState& state) {
    return state.dispatch_modes || state.function_modes || state.transforms || state.levels || state.grads || (state.include & key::watching);
}

}  // namespace

bool Future::claim() {
    const std::lock_guard guard(lock_);
    if (state_ != Waiting) return false;
    state_ = Running;
    return true;
}

void Future::run(bool own_state) {
    const ThreadState before = thread_state;
    if (own_state) {                     // of the thread that started it, without what is this thread's
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
    } catch (...) {
        error = std::current_exception();
    }
    thread_state = before;
    body_ = nullptr;
    const std::lock_guard guard(lock_);
    result_ = std::move(result);
    error_ = error;
    state_ = Done;
    changed_.notify_all();
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
    if (all.process != getpid()) {
        all.process = getpid();
        all.threads = 0;
    }
    all.waiting.push_back(item);
    if (all.threads < num_threads() && start_detached(work, nullptr)) all.threads++;
    return item;
}

Item Future::wait() {
    if (claim()) run(true);
    std::unique_lock guard(lock_);
    while (state_ != Done) {
        changed_.wait_for(guard, std::chrono::milliseconds(50));
        guard.unlock();
        hear_signals();
        guard.lock();
    }
    if (error_) std::rethrow_exception(error_);
    return result_;
}

bool Future::done() const {
    const std::lock_guard guard(lock_);
    return state_ == Done;
}

}  // namespace kindling::script
