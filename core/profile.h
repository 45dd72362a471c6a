// core/profile.h: what a thread does, written down while a profiler is on. Off, a call pays nothing: a key bit brings it here.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/operator.h"
#include "core/thread_state.h"

namespace KINDLING_VISIBLE kindling {

struct ProfileEvent {
    enum class Kind : uint8_t { Operator, Node, User, Step };
    const Operator* op = nullptr; // else `name`
    std::string name;
    Kind kind = Kind::Operator;
    int64_t begin = 0, end = 0;  // nanoseconds of the monotonic clock
    int32_t parent = -1;         // the event this one is inside of
    int64_t sequence = -1;       // of nodes and of what made them
    int64_t bytes = 0;           // allocated less given back, in this event and those inside
    std::vector<int64_t> shapes; // per argument: -1 for none, else the number of dimensions and the sizes
    void* stack = nullptr;       // a Python list, owned
};

/// What a thread has written down so far.
struct Profile {
    std::vector<ProfileEvent> events;
    int32_t open = -1; // the innermost event that has not ended
    int64_t bytes = 0;
    bool shapes = false, memory = false, stacks = false;
    const Operator* dispatching = nullptr; // passed on from layer to layer, not called anew
};
extern constinit thread_local Profile* profile __attribute__((tls_model("initial-exec")));

/// On and off, in this thread. `stop_profile` hands the notes over; the caller deletes them.
void start_profile(bool shapes, bool memory, bool stacks);
Profile* stop_profile();
/// An event of one's own; returns its number (-1 when off).
int32_t begin_event(std::string name, ProfileEvent::Kind kind, int64_t sequence = -1);
void end_event(int32_t event);
/// The Python stack at this place; set by bindings.
extern void* (*profile_stack)();

/// Memory taken (or given back, negative).
inline void profile_memory(int64_t bytes) {
    if (profile) [[unlikely]]
        profile->bytes += bytes;
}

void call_profiled(const Operator& op, uint32_t word, Value* arguments, Value* results);

} // namespace kindling
