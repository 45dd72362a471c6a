// core/profile.cpp: records what a thread does while a profiler is on.
// Compiled for size.
#include "core/profile.h"

#include <ctime>

#include "core/dispatch.h"

namespace kindling {

constinit thread_local Profile* profile __attribute__((tls_model("initial-exec"))) = nullptr;
void* (*profile_stack)() = nullptr;

static int64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

void start_profile(bool shapes, bool memory, bool stacks) {
    KINDLING_CHECK(Runtime, !profile, "Profiler is already enabled on this thread.");
    profile = new Profile;
    profile->shapes = shapes;
    profile->memory = memory;
    profile->stacks = stacks;
    profile->events.reserve(1024);
    thread_state.include |= key::Profile;
}

Profile* stop_profile() {
    thread_state.include &= ~static_cast<uint32_t>(key::Profile);
    Profile* done = profile;
    profile = nullptr;
    if (done)
        for (ProfileEvent& event : done->events)
            if (!event.end) event.end = now();
    return done;
}

static int32_t push(ProfileEvent&& event) {
    Profile& p = *profile;
    event.parent = p.open;
    event.bytes = -p.bytes;
    if (p.stacks && profile_stack) event.stack = profile_stack();
    p.open = static_cast<int32_t>(p.events.size());
    p.events.push_back(std::move(event));
    p.events.back().begin = now();
    return p.open;
}

int32_t begin_event(std::string name, ProfileEvent::Kind kind, int64_t sequence) {
    if (!profile) return -1;
    ProfileEvent event;
    event.name = std::move(name);
    event.kind = kind;
    event.sequence = sequence;
    return push(std::move(event));
}

void end_event(int32_t number) {
    if (!profile || number < 0 || static_cast<size_t>(number) >= profile->events.size()) return;
    ProfileEvent& event = profile->events[static_cast<size_t>(number)];
    if (event.end) return;
    event.end = now();
    event.bytes += profile->bytes;
    profile->open = event.parent;
}

static void note_shapes(ProfileEvent& event, const Operator& op, const Value* arguments) {
    auto note = [&](const TensorImpl* impl) {
        event.shapes.push_back(impl->ndim);
        for (int64_t size : impl->sizes()) event.shapes.push_back(size);
    };
    for (size_t i = 0; i < op.argument_count(); i++) {
        const Value& v = arguments[i];
        if (v.tag == Value::Tag::Tensor) note(v.tensor);
        else event.shapes.push_back(-1);
    }
}

void call_profiled(const Operator& op, uint32_t word, Value* arguments, Value* results) {
    word &= ~static_cast<uint32_t>(key::Profile);
    auto go_on = [&] {
        if (word == 0) op.kernel(op, arguments, results);
        else call_layers(op, word, arguments, results);
    };
    // A layer that has done its part calls the operator again: the same call.
    if (!profile || profile->dispatching == &op) return go_on();
    struct Restore {
        const Operator* before;
        int32_t event;
        ~Restore() {
            if (profile) profile->dispatching = before;
            end_event(event);
        }
    };
    ProfileEvent event;
    event.op = &op;
    if (profile->shapes) note_shapes(event, op, arguments);
    Restore restore{profile->dispatching, push(std::move(event))};
    profile->dispatching = &op;
    go_on();
}

} // namespace kindling
