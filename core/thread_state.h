// core/thread_state.h: what is on and off in this thread, and guards for it.
#pragma once
#include <optional>

#include "core/dtype.h"
#include "core/export.h"
#include "core/storage.h"
#include "core/tensor_impl.h"

namespace KINDLING_VISIBLE kindling {

struct BatchLevel;
struct GradLevel;
class Pending;
class SizeRecorder;

/// The thread's state. constinit and initial-exec: reading it is one instruction.
struct ThreadState {
    uint32_t include = 0; // key bits added to every call (active modes, autocast)
    uint32_t exclude = 0; // key bits ignored (inside autograd's own kernels; inference mode)
    bool grad_mode = true;
    bool inference_mode = false;
    bool forward_grad_mode = true;
    bool anomaly = false;
    bool anomaly_check_nan = true;
    bool multithreaded_backward = true;
    uint8_t autocast_dtype = static_cast<uint8_t>(DType::BFloat16);
    bool autocast_cache = true;
    DeviceType made_on = DeviceType::CPU; // where operators make a tensor when no device is given
    uint64_t forward_cap = ~uint64_t{0};  // tangents of levels above it are not looked at
    int dispatch_modes = 0;               // how many TorchDispatchModes are on the stack
    int function_modes = 0;
    int skip_torch_function = 0;    // DisableTorchFunction(Subclass)
    int transforms = 0;             // how many transforms of torch.func are open, and vmaps (core/batch.h)
    bool may_require_grad = false;  // inside of them: a tensor may be told that it requires grad
    BatchLevel* levels = nullptr;   // the innermost vmap that is open
    GradLevel* grads = nullptr;     // the innermost other transform that is open
    Pending* recording = nullptr;   // where loops are put off (graph/pending.h); null: they run at once
    SizeRecorder* sizes = nullptr;  // who records sizes as symbols (core/size.h)
    TensorImpl* reusable = nullptr; // an argument of the call to come whose memory a scalar body's result may take
};
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

/// Leaves out key bits while in scope: `Exclude guard(key::Autograd)`.
class Exclude {
public:
    explicit Exclude(uint32_t bits) : before_(thread_state.exclude) { thread_state.exclude |= bits; }
    ~Exclude() { thread_state.exclude = before_; }
    Exclude(const Exclude&) = delete;

private:
    uint32_t before_;
};
struct GradMode {
    explicit GradMode(bool on) : before(thread_state.grad_mode) { thread_state.grad_mode = on; }
    ~GradMode() { thread_state.grad_mode = before; }
    GradMode(const GradMode&) = delete;
    bool before;
};
/// While operators and derivatives work on meta tensors, what they make on the way (zeros, arange, ...) is meta as well. In
/// Python code called from there, and in calls with tensors of the CPU alone (which the key bit finds), it is not.
class MadeOn {
public:
    explicit MadeOn(DeviceType type) : before_(thread_state.made_on) { set(type); }
    ~MadeOn() { set(before_); }
    MadeOn(const MadeOn&) = delete;

private:
    static void set(DeviceType type) {
        thread_state.made_on = type;
        constexpr uint32_t bit = key::Made;
        thread_state.include = type == DeviceType::Meta ? thread_state.include | bit : thread_state.include & ~bit;
    }
    DeviceType before_;
};
inline Device or_default(const std::optional<Device>& device) { return device.value_or(Device{thread_state.made_on}); }

/// The number of the outermost level of forward mode that is open, 0 if none is (autograd/tangents.cpp).
extern std::atomic<uint64_t> outermost_forward_level;
/// Whether what a derivative computes may be differentiated again, backward or forward: then it is made of operators that can be.
inline bool differentiates_again() {
    if (thread_state.grad_mode) return true;
    uint64_t level = outermost_forward_level.load(std::memory_order_relaxed);
    return level && level <= thread_state.forward_cap;
}

/// While in scope nobody records this thread's sizes: what asks for them is no part of the program.
class SizesUnrecorded {
public:
    SizesUnrecorded() : before_(thread_state.sizes) { thread_state.sizes = nullptr; }
    ~SizesUnrecorded() { thread_state.sizes = before_; }
    SizesUnrecorded(const SizesUnrecorded&) = delete;

private:
    SizeRecorder* before_;
};

/// While in scope loops of this thread run at once, also where it puts them off (graph/pending.h).
class RunNow {
public:
    explicit RunNow(bool now = true) : before_(now ? thread_state.recording : nullptr) {
        if (!before_) return;
        thread_state.recording = nullptr;
        thread_state.include &= ~static_cast<uint32_t>(key::Deferred);
    }
    ~RunNow() {
        if (!before_) return;
        thread_state.recording = before_;
        thread_state.include |= key::Deferred;
    }
    RunNow(const RunNow&) = delete;

private:
    Pending* before_;
};

struct NoGradGuard : GradMode {
    NoGradGuard() : GradMode(false) {}
};

} // namespace kindling
