// script/run/fork.h: calls of scripts that run in another thread while their caller goes on.
#pragma once
#include <atomic>
#include <exception>
#include <functional>

#include "core/thread_state.h"
#include "script/graph/value.h"

namespace kindling::script {

/// How many forks of the process led to this one, since the first call.
uint32_t forks();

/// What a fork gives: its result comes later. Whoever waits for one that no thread has begun computes it.
struct KINDLING_VISIBLE Future final : Item::Object {
    /// Begins `body`, in a thread of its own if there are fewer of these than the pool has. With modes, transforms or a watcher on,
    /// which belong to this thread, it is run here and now.
    static Item start(std::function<Item()> body);
    /// The result, or the error of the body. Signals are heard. In a child of a fork of the process, RuntimeError for what a thread
    /// of the parent had begun.
    Item wait();
    bool done() const { return state_.load(std::memory_order_acquire) == Done; }

private:
    bool claim();
    void run(bool own_state);
    static void work(void*);
    static constexpr uint32_t Waiting = 0, Done = 1, Running = 2;
    std::atomic<uint32_t> state_{Waiting}; // or Running + how many forks led to the process that runs it
    std::function<Item()> body_;
    ThreadState thread_; // grad mode and the like, of who started it
    Item result_;
    std::exception_ptr error_;
};

} // namespace kindling::script
