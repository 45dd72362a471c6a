// core/dispatch.h: the call path. One word per tensor, one per thread; the straight path costs an OR and a jump.
#pragma once
#include "core/export.h"
#include "core/operator.h"
#include "core/thread_state.h"

namespace KINDLING_VISIBLE kindling {

/// Whether `test` holds for a tensor among the arguments and in their lists; the others are not asked.
template <class Test> inline bool any_tensor(const Operator& op, const Value* arguments, Test test) {
    for (int i = 0; i < op.tensor_count; i++) {
        const Value& v = arguments[op.tensor_positions[i]];
        if (v.tag == Value::Tag::Tensor && test(v.tensor)) return true;
    }
    for (int i = 0; i < op.list_count; i++) {
        const Value& v = arguments[op.list_positions[i]];
        if (v.tag != Value::Tag::TensorList) continue;
        for (uint32_t j = 0; j < v.size; j++)
            if (v.tensors[j].defined() && test(v.tensors[j].impl())) return true;
    }
    return false;
}

template <class Visit> inline void each_tensor(const Operator& op, const Value* arguments, Visit visit) {
    any_tensor(op, arguments, [&](TensorImpl* tensor) {
        visit(tensor);
        return false;
    });
}

/// The dtype and the layout that a call of a factory and its like names.
inline DType asked_dtype(const Operator& op, const Value* arguments) {
    const Value* v = op.dtype_position == 0xff ? nullptr : arguments + op.dtype_position;
    return v && v->tag == Value::Tag::DType ? v->dtype : DType::None;
}
inline Layout asked_layout(const Operator& op, const Value* arguments) {
    const Value* v = op.layout_position == 0xff ? nullptr : arguments + op.layout_position;
    return v && v->tag == Value::Tag::Layout ? v->layout : Layout::Strided;
}

/// OR of the key words of all tensor arguments.
uint32_t key_word(const Operator& op, const Value* arguments);

/// A call that some layer wants to see first: autocast, autograd, modes and subclasses, conj/neg, layouts, plug-ins.
void call_layers(const Operator& op, uint32_t word, Value* arguments, Value* results);

inline void call(const Operator& op, Value* arguments, Value* results) {
    uint32_t word = (key_word(op, arguments) | thread_state.include) & ~thread_state.exclude & key::slow;
    if (word == 0) [[likely]]
        return op.kernel(op, arguments, results);
    call_layers(op, word, arguments, results);
}

/// Whether a call with these tensors goes straight to the kernel, and so would every call within: a composition may then
/// do at once what it is made of.
bool kernels_were_added();
inline bool runs_plainly(std::initializer_list<const Tensor*> tensors) {
    uint32_t word = thread_state.include;
    for (const Tensor* tensor : tensors)
        if (tensor->defined()) word |= key_of(tensor->impl());
    return !(word & ~thread_state.exclude & key::watching) && !kernels_were_added();
}

/// autograd/: the highest level of forward mode at or below `cap` at which a tensor has a tangent, 0 if there is none.
uint64_t level_of(TensorImpl* impl, uint64_t cap);
bool is_followed_below(const Tensor& tensor); // of a batched tensor: at some level below
/// Whether the tape records what comes of a tensor, or forward mode follows it.
inline bool is_followed(const Tensor& tensor) {
    if (!tensor.defined()) return false;
    uint32_t word = key_of(tensor.impl());
    if (word & key::Wrapped && is_followed_below(tensor)) return true;
    return (thread_state.grad_mode && word & key::Autograd) || (word & key::Dual && level_of(tensor.impl(), thread_state.forward_cap));
}

/// The layers, each set by the part that implements it; they call `call` again with their own bit excluded.
/// autograd/: records the call. Runs `op` (already known to have a differentiable argument or an in-place effect).
void call_autograd(const Operator& op, Value* arguments, Value* results);
/// autograd/: a call with tensors that carry tangents, and the tangents of its results. False where none of them counts here.
bool call_forward(const Operator& op, Value* arguments, Value* results);
/// script/trace/trace.cpp: writes the call down in a graph, and runs it.
extern void (*call_traced)(const Operator& op, uint32_t word, Value* arguments, Value* results);
/// Whether calls of this thread are written down just now.
inline bool is_traced() { return thread_state.include & ~thread_state.exclude & key::Trace; }
/// bindings/: __torch_dispatch__ of modes and subclasses.
extern void (*call_python_dispatch)(const Operator& op, Value* arguments, Value* results);

/// operators/sparse/kernels.cpp: calls with sparse tensors, or whose result is to be one. The first serves those whose parts
/// autograd sees, if this is one of them.
bool call_sparse_parts(const Operator& op, Value* arguments, Value* results);
void call_sparse(const Operator& op, Value* arguments, Value* results);
/// The kernel added for a layer, if there is one, runs.
bool run_added(const Operator& op, Layer layer, Value* arguments, Value* results);

/// core/private.cpp: calls with tensors of a plug-in's device, or whose result is to lie there.
void call_private(const Operator& op, Value* arguments, Value* results);
/// The values of `source`, at least one of the two on such a device.
void copy_between_devices(const Tensor& target, const Tensor& source);
/// The kernel of an operator that has kernels added at run time: the one of the right layer, else the original.
void call_added(const Operator& op, Value* arguments, Value* results);
/// Adds one (null takes it away again). A straight call costs nothing more for it.
void add_kernel(Operator& op, Layer layer, Kernel kernel, void* context);

/// Gives the interpreter lock away around long work: bindings set the two functions. Every storage in use is held by the
/// caller's references.
extern void* (*release_lock)();
extern void (*retake_lock)(void*);
class Unlocked {
public:
    explicit Unlocked(bool worth_it) : state_(worth_it && release_lock ? release_lock() : nullptr) {}
    ~Unlocked() {
        if (state_) retake_lock(state_);
    }
    Unlocked(const Unlocked&) = delete;

private:
    void* state_;
};

} // namespace kindling
