// core/dispatch.h: the call path. One word per tensor, one per thread; the straight path costs an OR and a jump.
#pragma once
#include "core/export.h"
#include "core/operator.h"

namespace KINDLING_VISIBLE kindling {

/// The thread's state. constinit and initial-exec: reading it is one instruction.
struct ThreadState {
    uint32_t include = 0;        // key bits added to every call (active modes, autocast)
    uint32_t exclude = 0;        // key bits ignored (inside autograd's own kernels; inference mode)
    bool grad_mode = true;
    bool inference_mode = false;
    bool forward_grad_mode = true;
    bool anomaly = false;
    bool anomaly_check_nan = true;
    bool multithreaded_backward = true;
    uint8_t autocast_dtype = static_cast<uint8_t>(DType::BFloat16);
    int dispatch_modes = 0;      // how many TorchDispatchModes are on the stack
    int function_modes = 0;
    int skip_torch_function = 0; // DisableTorchFunction(Subclass)
};
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

/// OR of the key words of all tensor arguments.
uint32_t key_word(const Operator& op, const Value* arguments);

/// A call that some layer wants to see first: autocast, autograd, modes and subclasses, conj/neg, layouts, plug-ins.
void call_layers(const Operator& op, uint32_t word, Value* arguments, Value* results);

inline void call(const Operator& op, Value* arguments, Value* results) {
    uint32_t word = (key_word(op, arguments) | thread_state.include) & ~thread_state.exclude & key::slow;
    if (word == 0) [[likely]] return op.kernel(op, arguments, results);
    call_layers(op, word, arguments, results);
}

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
struct NoGradGuard : GradMode { NoGradGuard() : GradMode(false) {} };

/// The layers, each set by the part that implements it; they call `call` again with their own bit excluded.
/// autograd/: records the call. Runs `op` (already known to have a differentiable argument or an in-place effect).
void call_autograd(const Operator& op, Value* arguments, Value* results);
/// bindings/: __torch_dispatch__ of modes and subclasses.
extern void (*call_python_dispatch)(const Operator& op, Value* arguments, Value* results);

/// Gives the interpreter lock away around long work: bindings set the two functions. Every storage in use is held by the
/// caller's references.
extern void* (*release_lock)();
extern void (*retake_lock)(void*);
class Unlocked {
public:
    explicit Unlocked(bool worth_it) : state_(worth_it && release_lock ? release_lock() : nullptr) {}
    ~Unlocked() { if (state_) retake_lock(state_); }
    Unlocked(const Unlocked&) = delete;

private:
    void* state_;
};

// Typed calls used by the generated C++ functions.
Tensor call_tensor(uint16_t index, Value* arguments);
void call_many(uint16_t index, Value* arguments, Tensor* results, int count);
std::vector<Tensor> call_list(uint16_t index, Value* arguments);
Value call_value(uint16_t index, Value* arguments);
void call_void(uint16_t index, Value* arguments);

}  // namespace kindling
