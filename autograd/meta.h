// autograd/meta.h: what a tensor's header keeps for autograd, and the questions asked of it.
#pragma once
#include "autograd/node.h"

#pragma GCC visibility push(default)
namespace kindling {

struct Tangents;

struct AutogradMeta {
    Tensor grad;
    Ref<Tangents> tangents; // autograd/forward.h
    Ref<GradNode> grad_fn;
    GradNode* accumulator = nullptr; // weak: the one AccumulateGrad of a leaf while any graph uses it
    Ref<GradNode> stands_for;        // of a leaf's stand-in (unpacked by hooks): the accumulator of the leaf itself
    TensorImpl* owner = nullptr;
    uint32_t output = 0; // which result of grad_fn this tensor is
    bool retains_grad = false;
    Ref<GradNode> retained_at;   // where the gradient is kept if not at grad_fn: squeeze_ and its kin leave that where it was
    GradNode* left_at = nullptr; // where it is kept after detach_(), which alone must not keep the graph; see forget_left()
    bool grad_dtype_set = false;
    DType grad_dtype = DType::None;
    std::vector<Ref<GradHook>> hooks;            // of leaves; a result's hooks are in its grad_fn
    std::vector<Ref<GradHook>> accumulated;      // run after a leaf's gradient was added up
    void* python_hooks = nullptr;                // `_backward_hooks`, an owned Python dict
    const GradNode* python_hooks_node = nullptr; // the grad_fn they were registered with, for comparing only
    void* python_accumulated = nullptr;          // `_post_accumulate_grad_hooks`
    std::string name;
    SpinLock lock;
};

AutogradMeta& need_meta(TensorImpl* impl);
/// A node goes: the detached tensors whose gradients it would have kept must not look for it.
void forget_left(const NodeHooks& hooks);

inline bool requires_grad(const TensorImpl* impl) { return key_of(impl) & key::Autograd; }

/// The node that made this tensor, brought up to date for views of what was written to; null for leaves.
Ref<GradNode> grad_fn(TensorImpl* impl);
/// The node that adds up a leaf's gradient, made at first need and shared; null when it does not require grad.
Ref<GradNode> grad_accumulator(TensorImpl* impl);
/// Where this tensor's gradient goes: grad_fn, or the accumulator of a leaf.
Edge gradient_edge(TensorImpl* impl);
bool is_leaf(TensorImpl* impl);
/// Whether its gradient would go anywhere: that of a view which nobody recorded goes nowhere, though it requires grad as its base does.
inline bool leads_on(TensorImpl* impl) {
    return requires_grad(impl) && (!impl->base || impl->requires_grad || (impl->autograd && impl->autograd->grad_fn) || grad_fn(impl));
}

/// Makes `node` the history of a fresh result.
void set_history(TensorImpl* impl, GradNode* node);
/// The same after an in-place write; rewrites the base's history for a view. node->edges[0] belongs to the old value.
void rebase_history(TensorImpl* impl, Ref<GradNode> node);
/// torch's checks before an in-place write that is recorded: leaves, views of leaves, views that must not be written.
void check_inplace(TensorImpl* impl, bool any_requires_grad);
/// Changes where a tensor's gradient goes without asking anything. What `retain_grad` asked for goes along, or stays (`retaining`)
/// with the gradient of the old history.
void set_gradient_edge(TensorImpl* impl, Edge edge, bool retaining = false);

/// A view of the same memory without history; shares the version counter, or (`.data`) has its own.
Tensor detached(const Tensor& tensor, bool own_version = false);
void detach_in_place(const Tensor& tensor);
/// `tensor.data = value`: takes over value's memory and shape, keeps its own history, hooks and version counter.
void set_data(const Tensor& tensor, const Tensor& value);
void set_requires_grad(const Tensor& tensor, bool value);
void retain_grad(const Tensor& tensor);
Ref<GradHook> add_tensor_hook(const Tensor& tensor, Ref<GradHook> hook);
Tensor base_of(const Tensor& tensor);
/// torch's checks of `x.grad = value`.
void check_grad(const TensorImpl* impl, const Tensor& grad);

} // namespace kindling
#pragma GCC visibility pop
